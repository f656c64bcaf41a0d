//! A name or a tag of SQL.

/// The longest name or tag; PostgreSQL cuts names there too (NAMEDATALEN).
const NAME_BYTES_MAX: usize = 63;

/// A short text that lies where it is stored, so that keeping one allocates nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::null) struct Name {
    bytes: [u8; NAME_BYTES_MAX],
    length: u8,
}

impl Name {
    /// The text, cut where it is too long.
    pub(in crate::null) fn new(text: &[u8]) -> Self {
        let mut name = Self {
            bytes: [0; NAME_BYTES_MAX],
            length: 0,
        };
        name.push(text);
        name
    }

    /// A name as SQL has it: in lower case.
    pub(super) fn folded(text: &[u8]) -> Self {
        let mut name = Self::new(text);
        name.bytes.make_ascii_lowercase();
        name
    }

    /// Appends a text, cut where it is too long.
    pub(in crate::null) fn push(&mut self, text: &[u8]) {
        let at = usize::from(self.length);
        let taken = text.len().min(NAME_BYTES_MAX - at);
        self.bytes[at..at + taken].copy_from_slice(&text[..taken]);
        self.length = u8::try_from(at + taken).unwrap_or(u8::MAX);
    }

    /// Makes a tag of it: in upper case, and what is no ASCII as `?`.
    pub(super) fn raise(&mut self) {
        self.bytes.make_ascii_uppercase();
        for byte in &mut self.bytes {
            *byte = if byte.is_ascii() { *byte } else { b'?' };
        }
    }

    /// The text.
    pub(in crate::null) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_cut_where_postgresql_cuts_it() {
        assert_eq!(Name::new(&[b'x'; 64]), Name::new(&[b'x'; 63]));
        assert_ne!(Name::new(&[b'x'; 63]), Name::new(&[b'x'; 62]));
    }
}
