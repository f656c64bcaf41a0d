//! What makes the sessions of a role valid: the SQL that they begin with, and the limit of their statements.

use super::{Check, DAY_S, ensure};
use crate::job::Role;

/// The shortest limit of a statement, in seconds: servers count milliseconds, and 0 is none.
const LIMIT_S_MIN: f64 = 0.001;

/// Refuses SQL of sessions that is none, and limits that are no time.
pub(super) fn check(role: &Role, key: &str) -> Check {
    for (index, sql) in role.session.iter().enumerate() {
        ensure(
            !sql.trim().is_empty() && !sql.contains('\0'),
            format!("{key}.session[{index}]"),
            "give SQL, without NUL",
        )?;
    }
    role.statement_limit_s.map_or(Ok(()), |limit_s| {
        let key = format!("{key}.statement_limit_s");
        ensure(
            (LIMIT_S_MIN..=DAY_S).contains(&limit_s),
            key,
            format!("{limit_s} s; give {LIMIT_S_MIN} to {DAY_S}, a day"),
        )
    })
}
