//! What makes a job's fills valid.

use super::load::STREAMS_MAX;
use super::{Check, ensure, ensure_index};
use crate::job::{Bound, Children, ColumnType, Fill, FillColumn, Job, Maker};

/// The most decimals of a number: what 64 bits hold.
const SCALE_MAX: u32 = 18;

impl Job {
    pub(super) fn check_fills(&self) -> Check {
        ensure(
            self.segment.of == 1,
            "segment",
            "fills are not shared by processes; use more `streams`",
        )?;
        for (index, fill) in self.fills.iter().enumerate() {
            let key = format!("fills[{index}]");
            ensure(
                self.tables.contains_key(&fill.table),
                format!("{key}.table"),
                format!("`tables` has no `{}`; add its count", fill.table),
            )?;
            ensure(
                fill.streams <= STREAMS_MAX,
                format!("{key}.streams"),
                format!("{}; at most {STREAMS_MAX}", fill.streams),
            )?;
            for (place, sql) in fill.after.iter().enumerate() {
                ensure(
                    !sql.trim().is_empty() && !sql.contains('\0'),
                    format!("{key}.after[{place}]"),
                    "give one statement, without NUL",
                )?;
            }
            ensure(
                fill.rows >= 1,
                format!("{key}.rows"),
                "is 0; leave the fill out",
            )?;
            if let Some(source) = &fill.from {
                source.check(self.tables[&fill.table], &format!("{key}.from"))?;
            }
            ensure(
                fill.columns.is_empty() == fill.from.is_some(),
                format!("{key}.columns"),
                "give at least one, or `from`",
            )?;
            ensure(
                fill.per.is_none() || fill.from.is_none(),
                format!("{key}.per"),
                "rows that come `from` elsewhere are nobody's children; remove one",
            )?;
            let rows = (fill.per.is_none()).then_some(fill.rows);
            self.check_columns(&fill.columns, rows, &key)?;
            if let Some(per) = &fill.per {
                self.check_children(fill, per, &format!("{key}.per"))?;
            }
        }
        Ok(())
    }

    /// Checks columns of a table of so many rows; none: of children.
    fn check_columns(&self, columns: &[FillColumn], rows: Option<u64>, key: &str) -> Check {
        for (place, column) in columns.iter().enumerate() {
            let key = format!("{key}.columns[{place}]");
            let values = [("value", Some(column.value)), ("null_if", column.null_if)];
            for (name, value) in values {
                let Some(value) = value else { continue };
                ensure_index(value, self.values.len(), format!("{key}.{name}"), "values")?;
            }
            ensure(
                column.each >= 1 && (column.each == 1 || rows.is_some()),
                format!("{key}.each"),
                "is at least 1, and of children 1",
            )?;
            ensure(
                column.scale == 0 || column.type_ == ColumnType::Numeric,
                format!("{key}.scale"),
                "only a `numeric` has decimals; leave it out",
            )?;
            ensure(
                column.scale <= SCALE_MAX,
                format!("{key}.scale"),
                format!("at most {SCALE_MAX}"),
            )?;
            let key = format!("{key}.value");
            let rows = rows.map(|rows| rows.div_ceil(column.each));
            let text = self.values[column.value].maker.is_text();
            ensure(
                !text || column.type_ == ColumnType::Text,
                &key,
                format!(
                    "`{}` is a text; give the column the type `text`",
                    self.values[column.value].name
                ),
            )?;
            for value in std::iter::once(column.value).chain(column.null_if) {
                self.check_fill_value(value, rows, &key)?;
            }
        }
        Ok(())
    }

    fn check_children(&self, fill: &Fill, per: &Children, key: &str) -> Check {
        let tables = self.tables.get(&per.table);
        ensure(
            tables.is_some() && tables == self.tables.get(&fill.table),
            format!("{key}.table"),
            format!(
                "`tables` has to have as many `{}` as `{}`",
                per.table, fill.table
            ),
        )?;
        ensure(
            per.most >= 1 && per.least <= per.most && fill.rows.is_multiple_of(per.most),
            format!("{key}.most"),
            "has to be at least 1 and `least`, and a divisor of `rows`",
        )?;
        self.check_columns(&per.columns, Some(fill.rows / per.most), key)?;
        ensure_index(
            per.count,
            self.values.len(),
            format!("{key}.count"),
            "values",
        )?;
        self.check_fill_value(per.count, None, &format!("{key}.count"))
    }

    /// Checks that a value is a function of the row; without rows it is one of children.
    fn check_fill_value(&self, value: usize, rows: Option<u64>, key: &str) -> Check {
        for index in std::iter::once(value).chain(self.bases(value).unwrap_or_default()) {
            let (name, pure) = match &self.values[index].maker {
                Maker::Uniform(low, high) => (
                    "a cursor",
                    matches!((low, high), (Bound::Integer(_), Bound::Integer(_))),
                ),
                Maker::Clock => ("the clock", false),
                Maker::Item(_) => ("a parent", rows.is_none()),
                Maker::Sequence(_) => ("operations; use `row`", false),
                Maker::Client(_) => ("the client", false),
                Maker::Sample(_) => ("a file of samples", false),
                _ => ("", true),
            };
            ensure(
                pure,
                key,
                format!(
                    "`{}` depends on {name}, but a fill has to be repeatable",
                    self.values[index].name
                ),
            )?;
            self.check_permuted(index, rows)?;
        }
        Ok(())
    }
}
