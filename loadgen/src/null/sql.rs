//! So much of SQL as an answer needs: words, `;`, names, and where quoted texts and comments end.

mod name;
mod scan;

pub(super) use name::Name;
pub(super) use scan::{Dialect, Words};
