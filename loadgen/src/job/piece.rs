//! The pieces that a statement's SQL consists of.

use serde::de::{Error, MapAccess, Visitor, value::MapAccessDeserializer};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// One piece of a statement's SQL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Text as it is.
    Text(String),
    /// A value, by its index.
    Value(usize),
    /// The name of the role's table, by the tables' name without a number.
    Table(String),
    /// The number in that name, by the same.
    Number(String),
    /// A cursor's value, by its index.
    Cursor(usize),
    /// What a variable holds, by its index; in a text as it is, without quotes.
    Variable(usize),
    /// Pieces that are repeated, with values of scope `item` drawn anew.
    Repeat {
        /// How often.
        repeat: u32,
        /// What stands between two.
        separator: String,
        /// What is repeated.
        pieces: Vec<Piece>,
    },
}

impl Piece {
    /// How many parameters it is, where values are bound.
    #[must_use]
    pub fn parameters(&self) -> usize {
        match self {
            Self::Text(_) | Self::Table(_) | Self::Number(_) => 0,
            Self::Value(_) | Self::Cursor(_) | Self::Variable(_) => 1,
            Self::Repeat { repeat, pieces, .. } => {
                let each = pieces.iter().map(Self::parameters);
                each.fold(0, usize::saturating_add)
                    .saturating_mul(*repeat as usize)
            }
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPiece {
    value: Option<usize>,
    table: Option<String>,
    number: Option<String>,
    cursor: Option<usize>,
    variable: Option<usize>,
    repeat: Option<u32>,
    separator: Option<String>,
    pieces: Option<Vec<Piece>>,
}

impl RawPiece {
    fn piece(self) -> Result<Piece, &'static str> {
        match self {
            Self {
                repeat: Some(repeat),
                separator,
                pieces: Some(pieces),
                value: None,
                table: None,
                number: None,
                cursor: None,
                variable: None,
            } => Ok(Piece::Repeat {
                repeat,
                separator: separator.unwrap_or_default(),
                pieces,
            }),
            Self {
                value,
                table,
                number,
                cursor,
                variable,
                repeat: None,
                separator: None,
                pieces: None,
            } => match (value, table, number, cursor, variable) {
                (Some(index), None, None, None, None) => Ok(Piece::Value(index)),
                (None, Some(name), None, None, None) => Ok(Piece::Table(name)),
                (None, None, Some(name), None, None) => Ok(Piece::Number(name)),
                (None, None, None, Some(index), None) => Ok(Piece::Cursor(index)),
                (None, None, None, None, Some(index)) => Ok(Piece::Variable(index)),
                _ => Err(
                    "a piece needs exactly one of `value`, `table`, `number`, `cursor`, `variable`, `repeat`",
                ),
            },
            _ => Err("a piece with `repeat` has `separator` and `pieces` and nothing else"),
        }
    }
}

impl<'de> Deserialize<'de> for Piece {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PieceVisitor;

        impl<'de> Visitor<'de> for PieceVisitor {
            type Value = Piece;

            fn expecting(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
                formatter.write_str(
                    "a text or an object with `value`, `table`, `number`, `cursor`, `variable` or `repeat`",
                )
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Piece, E> {
                Ok(Piece::Text(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Piece, A::Error> {
                RawPiece::deserialize(MapAccessDeserializer::new(map))?
                    .piece()
                    .map_err(A::Error::custom)
            }
        }

        deserializer.deserialize_any(PieceVisitor)
    }
}

impl Serialize for Piece {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Value(index) => entry(serializer, "value", index),
            Self::Cursor(index) => entry(serializer, "cursor", index),
            Self::Variable(index) => entry(serializer, "variable", index),
            Self::Table(name) => entry(serializer, "table", name),
            Self::Number(name) => entry(serializer, "number", name),
            Self::Repeat {
                repeat,
                separator,
                pieces,
            } => {
                let mut map = serializer.serialize_map(Some(3))?;
                map.serialize_entry("repeat", repeat)?;
                map.serialize_entry("separator", separator)?;
                map.serialize_entry("pieces", pieces)?;
                map.end()
            }
        }
    }
}

fn entry<S: Serializer>(
    serializer: S,
    key: &str,
    value: &impl Serialize,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(1))?;
    map.serialize_entry(key, value)?;
    map.end()
}
