//! The log of operations, as a job asks for it.

use serde::{Deserialize, Serialize};

/// A log of operations, a file for each role.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Log {
    /// How the files' paths begin; a point and the role's name follow.
    pub prefix: String,
    /// The share of operations that is logged, above 0 and at most 1.
    pub share: f64,
}

impl Log {
    /// The path of a role's file.
    #[must_use]
    pub fn path(&self, role: &str) -> String {
        format!("{}.{role}", self.prefix)
    }
}
