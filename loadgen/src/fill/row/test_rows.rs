//! Fills for tests.

use crate::job::{ColumnType, Fill, FillColumn, Format, Maker, Scope, Value};

pub(in crate::fill) fn value(name: &str, maker: Maker) -> Value {
    Value {
        name: name.to_owned(),
        per: Scope::Item,
        format: Format::Integer,
        maker,
    }
}

pub(in crate::fill) fn fill(columns: &[(ColumnType, usize)]) -> Fill {
    let column = |(index, &(type_, value)): (usize, &(ColumnType, usize))| FillColumn {
        name: format!("c{index}"),
        type_,
        value,
        each: 1,
    };
    let columns = columns.iter().enumerate().map(column).collect();
    Fill {
        table: "t".to_owned(),
        streams: 1,
        rows: 1000,
        columns,
        after: Vec::new(),
    }
}
