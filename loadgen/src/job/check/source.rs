//! What makes the programs and files valid that a fill's rows come from.

use super::{Check, ensure};
use crate::job::{Source, SourcePart};

impl Source {
    /// Refuses what cannot be read, and what would be read for several `tables`.
    pub(super) fn check(&self, tables: u32, key: &str) -> Check {
        ensure(
            tables <= 1,
            key,
            "gives the rows of one table; leave out the other tables",
        )?;
        ensure(
            !self.parts.is_empty(),
            format!("{key}.parts"),
            "is empty; give at least one",
        )?;
        for (index, part) in self.parts.iter().enumerate() {
            let (text, nul) = match part {
                SourcePart::Command(words) => {
                    let nul = words.iter().any(|word| word.contains('\0'));
                    (words.first().map_or("", String::as_str), nul)
                }
                SourcePart::File(path) => (path.as_str(), path.contains('\0')),
            };
            ensure(
                !text.is_empty() && !nul,
                format!("{key}.parts[{index}]"),
                "names nothing; give a program or a file, without NUL",
            )?;
        }
        Ok(())
    }
}
