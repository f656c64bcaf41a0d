//! What the server told a connection about the parameters of a statement.

use std::fmt;

/// How the server wants a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterKind {
    /// Two bytes.
    Int2,
    /// Four bytes.
    Int4,
    /// Eight bytes.
    Int8,
    /// Text form, of whatever type.
    Text,
    /// Text form, or NULL.
    Sample,
}

impl ParameterKind {
    /// Returns the kind of a type by its OID (pg_type.dat of PostgreSQL).
    #[must_use]
    pub fn of_oid(oid: u32) -> Self {
        match oid {
            21 => Self::Int2,
            23 => Self::Int4,
            20 => Self::Int8,
            _ => Self::Text,
        }
    }
}

/// What the server told one connection about a statement: the kinds of its parameters, or its numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parameters {
    pub(super) kinds: Box<[ParameterKind]>,
    pub(super) binary: Box<[bool]>,
    /// MySQL's numbers of the prepared statement: of the connection's own table, or by the table's number.
    numbers: Box<[u32]>,
    /// Whether PostgreSQL is asked to parse the statement with its first execution.
    late: bool,
    /// Which of a connection's flags, that tell what has been executed, is the statement's first.
    first_flag: usize,
    /// Whether a backslash stands for itself in the literals of MySQL's session.
    pub(super) plain_backslashes: bool,
}

/// A prepared statement of MySQL on one connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Handle {
    /// The server's number of it.
    pub(super) id: u32,
    /// Whether the types of its parameters have to be declared, or in PostgreSQL the whole of it, as nothing has executed it yet.
    pub(super) declares: bool,
}

/// What a connection knows of a statement when it sends it.
#[derive(Debug, Clone, Copy)]
pub struct Bound<'a> {
    pub(super) parameters: &'a Parameters,
    pub(super) handle: Handle,
}

impl<'a> From<&'a Parameters> for Bound<'a> {
    fn from(parameters: &'a Parameters) -> Self {
        Self {
            parameters,
            handle: Handle::default(),
        }
    }
}

impl Parameters {
    /// Takes the kinds of parameters.
    #[must_use]
    pub fn new(kinds: Vec<ParameterKind>) -> Self {
        Self {
            binary: kinds
                .iter()
                .map(|kind| !matches!(kind, ParameterKind::Text | ParameterKind::Sample))
                .collect(),
            kinds: kinds.into_boxed_slice(),
            ..Self::default()
        }
    }

    /// Takes the numbers, by table, of a statement that MySQL has prepared; `first_flag` counts the statements that were
    /// prepared before it on the connection.
    #[must_use]
    pub fn numbered(numbers: Vec<u32>, first_flag: usize) -> Self {
        Self {
            numbers: numbers.into_boxed_slice(),
            first_flag,
            ..Self::default()
        }
    }

    /// Says what a backslash is in the literals of MySQL's session: whether it stands for itself.
    #[must_use]
    pub fn with_backslashes(self, plain: bool) -> Self {
        Self {
            plain_backslashes: plain,
            ..self
        }
    }

    /// Takes so many parameters, all of them texts, of a statement that PostgreSQL parses with its first execution;
    /// `first_flag` counts those before it on the connection.
    #[must_use]
    pub fn late(count: usize, first_flag: usize) -> Self {
        Self {
            late: true,
            first_flag,
            ..Self::new(vec![ParameterKind::Text; count])
        }
    }

    /// Returns how many flags a connection needs for it: one for each statement that MySQL has prepared, or for the one
    /// that PostgreSQL has not parsed yet.
    #[must_use]
    pub fn prepared(&self) -> usize {
        self.numbers.len() + usize::from(self.late)
    }

    /// Returns the statement for a table's number, and marks it as executed: `executed` has a flag for each of the
    /// connection's prepared statements.
    #[inline]
    pub fn bound(&self, table: u32, executed: &mut [bool]) -> Bound<'_> {
        let table = if self.numbers.len() > 1 {
            table as usize
        } else {
            0
        };
        let id = match self.numbers.get(table) {
            Some(id) => id,
            None if self.late => &0,
            None => return self.into(),
        };
        let before = std::mem::replace(&mut executed[self.first_flag + table], true);
        Bound {
            parameters: self,
            handle: Handle {
                id: *id,
                declares: !before,
            },
        }
    }
}

/// A number that the type of its parameter cannot hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overflow {
    /// The number.
    pub number: i64,
    /// The parameter's number, from 1.
    pub parameter: usize,
}

impl fmt::Display for Overflow {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} does not fit the integer type of parameter ${}; cast it to bigint in the SQL",
            self.number, self.parameter
        )
    }
}
