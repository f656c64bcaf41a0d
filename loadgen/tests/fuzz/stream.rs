//! A server's bytes: messages that a real server sent (PostgreSQL 18.6, in `answers/`), whole or damaged, and made-up ones.

pub(crate) use crate::wire::message;
use bolero::TypeGenerator;

/// What a real server sent, by what it was an answer to.
pub(crate) const ANSWERS: [&[u8]; 18] = [
    include_bytes!("answers/copy_failed.bin"),
    include_bytes!("answers/copy_in.bin"),
    include_bytes!("answers/copy_out.bin"),
    include_bytes!("answers/create.bin"),
    include_bytes!("answers/described.bin"),
    include_bytes!("answers/empty.bin"),
    include_bytes!("answers/error.bin"),
    include_bytes!("answers/executed.bin"),
    include_bytes!("answers/explain.bin"),
    include_bytes!("answers/insert.bin"),
    include_bytes!("answers/no_role.bin"),
    include_bytes!("answers/notice.bin"),
    include_bytes!("answers/refused.bin"),
    include_bytes!("answers/scram_offer.bin"),
    include_bytes!("answers/select.bin"),
    include_bytes!("answers/setting.bin"),
    include_bytes!("answers/several.bin"),
    include_bytes!("answers/welcome.bin"),
];

/// The types of messages that mean something to a client.
const TAGS: &[u8] = b"123ACDEGHIKNRSTWZcdnstv";

/// A part of what a server sends.
#[derive(Debug, Clone, TypeGenerator)]
pub(crate) enum Part {
    /// What a real server sent.
    Real(u8),
    /// The same with a byte replaced.
    Damaged { answer: u8, place: u16, byte: u8 },
    /// The same, cut.
    Cut { answer: u8, end: u16 },
    /// A message of a known type with any body.
    Known { tag: u8, body: Vec<u8> },
    /// A message of any type.
    Unknown { tag: u8, body: Vec<u8> },
    /// The head of a message that claims any length.
    Claim { tag: u8, length: i32 },
    /// Any bytes.
    Junk(Vec<u8>),
}

fn answer(index: u8) -> &'static [u8] {
    ANSWERS[usize::from(index) % ANSWERS.len()]
}

fn known(tag: u8) -> u8 {
    TAGS[usize::from(tag) % TAGS.len()]
}

impl Part {
    /// The bytes of the part.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Real(index) => answer(*index).to_vec(),
            Self::Damaged {
                answer: index,
                place,
                byte,
            } => {
                let mut bytes = answer(*index).to_vec();
                let place = usize::from(*place) % bytes.len();
                bytes[place] = *byte;
                bytes
            }
            Self::Cut { answer: index, end } => {
                let bytes = answer(*index);
                bytes[..usize::from(*end) % bytes.len()].to_vec()
            }
            Self::Known { tag, body } => message(known(*tag), body),
            Self::Unknown { tag, body } => message(*tag, body),
            Self::Claim { tag, length } => [&[known(*tag)], &length.to_be_bytes()[..]].concat(),
            Self::Junk(bytes) => bytes.clone(),
        }
    }
}

/// A stream of parts, and the sizes of the reads that it comes in.
#[derive(Debug, Clone, TypeGenerator)]
pub(crate) struct Stream {
    pub(crate) parts: Vec<Part>,
    pub(crate) sizes: Vec<u8>,
}

impl Stream {
    /// All bytes.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.parts.iter().flat_map(Part::bytes).collect()
    }

    /// The bytes in reads of the stream's sizes, one after the other and again.
    pub(crate) fn reads<'a>(&self, bytes: &'a [u8]) -> Vec<&'a [u8]> {
        reads(&self.sizes, bytes)
    }
}

/// Bytes in reads of those sizes, one after the other and again.
pub(crate) fn reads<'a>(sizes: &[u8], bytes: &'a [u8]) -> Vec<&'a [u8]> {
    let sizes = if sizes.is_empty() { &[1] } else { sizes };
    let mut sizes = sizes.iter().map(|size| usize::from(*size).max(1)).cycle();
    let (mut rest, mut reads) = (bytes, Vec::new());
    while let (false, Some(size)) = (rest.is_empty(), sizes.next()) {
        let (front, after) = rest.split_at(size.min(rest.len()));
        reads.push(front);
        rest = after;
    }
    reads
}
