//! The elements of certificates and keys: tag, length, content (ITU-T X.690).

/// The content of the DER element at the front, which has that tag, and what follows it.
pub(super) fn element(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&[found, length], rest) = bytes.split_first_chunk()?;
    if found != tag {
        return None;
    }
    let (length, rest) = match length {
        0..=0x7f => (usize::from(length), rest),
        0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(length & 0x7f))?;
            let length = digits
                .iter()
                .fold(0, |length, &digit| length << 8 | usize::from(digit));
            (length, rest)
        }
        _ => return None,
    };
    rest.split_at_checked(length)
}
