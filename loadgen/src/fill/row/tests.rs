//! Values of rows, as COPY's binary form has them.

use super::*;
use crate::fill::binary;
use crate::job::{Children, Computed, FillColumn, ItemNumber, JoinValue, Permuted, Scope};
use crate::value::Distribution;
use crate::value::zipf::Zipf;
use std::collections::BTreeSet;

/// Returns a whole number of each row, by that maker.
pub(in crate::fill) fn value(name: &str, maker: Maker) -> Value {
    Value {
        name: name.to_owned(),
        per: Scope::Item,
        format: Format::Integer,
        maker,
    }
}

/// Returns a fill of columns, each a type and the index of its value.
pub(in crate::fill) fn fill(columns: &[(ColumnType, usize)]) -> Fill {
    let column = |(index, &(type_, value)): (usize, &(ColumnType, usize))| FillColumn {
        name: format!("c{index}"),
        type_,
        value,
        scale: 0,
        null_if: None,
        each: 1,
    };
    let columns = columns.iter().enumerate().map(column).collect();
    Fill {
        table: "t".to_owned(),
        streams: 1,
        rows: 1000,
        per: None,
        columns,
        from: None,
        frozen: false,
        after: Vec::new(),
    }
}

/// The fields of a row on the wire.
fn fields(fill: &Fill, values: &[Value], row: u64) -> Vec<Vec<u8>> {
    let rows = Rows::new(fill, values, 1, "t1", binary::RANGES).expect("valid");
    let mut out = Vec::new();
    binary::write(&mut out, &rows, row);
    let (count, mut rest) = out.split_at(2);
    let mut fields = Vec::new();
    while !rest.is_empty() {
        let (length, after) = rest.split_at(4);
        let length = u32::from_be_bytes(length.try_into().expect("four bytes")) as usize;
        let (field, after) = after.split_at(length);
        fields.push(field.to_vec());
        rest = after;
    }
    assert_eq!(
        usize::from(u16::from_be_bytes([count[0], count[1]])),
        fields.len()
    );
    fields
}

#[test]
fn numbers_are_written_in_the_form_of_their_column() {
    let mut cents = value("price", Maker::Constant(7));
    cents.format = Format::Decimal2;
    let mut hundredths = value("price", Maker::Constant(12_345));
    hundredths.format = Format::Hundredths;
    let values = [
        value("id", Maker::Row(1)),
        value("least", Maker::Constant(i64::MIN)),
        cents,
        hundredths,
    ];
    let types = [
        (ColumnType::Int4, 0),
        (ColumnType::Int8, 1),
        (ColumnType::Text, 0),
        (ColumnType::Text, 1),
        (ColumnType::Text, 2),
        (ColumnType::Timestamp, 0),
        (ColumnType::Text, 3),
        (ColumnType::Float4, 3),
        (ColumnType::Float4, 0),
    ];
    let expected: [&[u8]; 9] = [
        &[0, 0, 0, 10],
        &i64::MIN.to_be_bytes(),
        b"10",
        b"-9223372036854775808",
        b"7.00",
        &(-(946_684_800 - 10) * 1_000_000_i64).to_be_bytes(),
        b"123.45",
        &123.45_f32.to_be_bytes(),
        &10_f32.to_be_bytes(),
    ];
    assert_eq!(fields(&fill(&types), &values, 9), expected);
}

#[test]
fn columns_of_one_value_differ_and_a_sum_follows_the_column_that_shows_its_base() {
    let uniform = Maker::Uniform(Bound::Integer(0), Bound::Integer(1 << 40));
    let values = [
        value("a", uniform),
        value(
            "sum",
            Maker::Add {
                value: 0,
                plus: 100,
            },
        ),
    ];
    let int8 = ColumnType::Int8;
    let fields = fields(&fill(&[(int8, 1), (int8, 0), (int8, 0)]), &values, 5);
    let number = |field: &[u8]| i64::from_be_bytes(field.try_into().expect("eight bytes"));
    assert_eq!(number(&fields[0]), number(&fields[1]) + 100);
    assert_ne!(fields[1], fields[2]);
}

#[test]
fn distributions_and_permutations_of_the_row_fill_columns() {
    let range = (1, 1000).into();
    let zipf = Maker::Skewed(Distribution::Zipf(Zipf {
        range,
        exponent: 1.0,
        scattered: false,
    }));
    let values = [
        value("id", Maker::Row(1)),
        value("key", Maker::Permutation(Permuted { value: 0, range })),
        value("ranked", zipf),
        value("moved", Maker::Permutation(Permuted { value: 2, range })),
    ];
    let int8 = ColumnType::Int8;
    let fill = fill(&[(int8, 1), (int8, 2), (int8, 3)]);
    let permutation = Permutation::new(1, range);
    let mut keys = BTreeSet::new();
    let mut firsts = 0;
    for row in 0..1000 {
        let fields = fields(&fill, &values, row);
        let number = |field: usize| i64::from_be_bytes(fields[field][..].try_into().unwrap());
        assert_eq!(number(0), permutation.number(row.cast_signed() + 1));
        assert_eq!(
            number(2),
            permutation.number(number(1)),
            "of the column that shows it"
        );
        keys.insert(number(0));
        firsts += u32::from(number(1) == 1);
    }
    assert_eq!(keys, (1..=1000).collect(), "each key once");
    // 1 / H(1000) = 13.4 % of the rows, with a standard deviation of 11.
    assert!((100..170).contains(&firsts), "{firsts}");
}

#[test]
fn a_sum_of_two_values_has_the_one_of_its_column_and_another_of_its_own() {
    let uniform = |high| Maker::Uniform(Bound::Integer(0), Bound::Integer(high));
    let sum = Maker::Sum { value: 0, other: 1 };
    let values = [
        value("customer", uniform(99_999)),
        value("part", uniform(499)),
        value("price", sum),
    ];
    let fill = fill(&[(ColumnType::Int4, 0), (ColumnType::Int4, 2)]);
    let mut parts = BTreeSet::new();
    for row in 0..1000 {
        let row = fields(&fill, &values, row);
        let [customer, price] =
            [0, 1].map(|field: usize| i32::from_be_bytes(row[field][..].try_into().unwrap()));
        assert!((0..500).contains(&(price - customer)), "{customer} {price}");
        parts.insert(price - customer);
    }
    // Of 500 numbers a thousand draws miss 1 in e².
    assert!((400..470).contains(&parts.len()), "{}", parts.len());
}

/// What an expression makes of values.
fn computed(expression: &str, low: i64, high: i64) -> Maker {
    Maker::Compute(Computed {
        expression: serde_json::from_str(expression).expect("an expression"),
        range: (low, high).into(),
    })
}

#[test]
fn columns_are_computed_and_joined_from_the_row_and_from_other_columns() {
    let uniform = Maker::Uniform(Bound::Integer(1), Bound::Integer(10));
    let syllables = ["BAR", "OUGHT", "ABLE"].map(str::to_owned).to_vec();
    let parts = vec![
        JoinPart::Text("it's ".to_owned()),
        JoinPart::Word(JoinWord {
            of: syllables,
            at: 0,
            when: None,
        }),
        JoinPart::Value(JoinValue {
            value: 2,
            when: None,
        }),
        JoinPart::Value(JoinValue {
            value: 3,
            when: None,
        }),
    ];
    let values = [
        value("row", Maker::Row(1)),
        value("drawn", uniform),
        value(
            "district",
            computed(
                r#"["add",["remainder",["variable",0],["integer",10]],["variable",1]]"#,
                1,
                19,
            ),
        ),
        value("pair", Maker::Pattern("##".to_owned())),
        value("name", Maker::Join(parts)),
    ];
    let (int4, text) = (ColumnType::Int4, ColumnType::Text);
    let fill = fill(&[(text, 4), (int4, 2), (int4, 1)]);
    let mut pairs = BTreeSet::new();
    for row in 0..1000 {
        let row_fields = fields(&fill, &values, row);
        let [district, drawn] = [1, 2]
            .map(|field: usize| i32::from_be_bytes(row_fields[field][..].try_into().unwrap()));
        let number = i32::try_from(row).unwrap() + 1;
        assert_eq!(district, number % 10 + drawn, "of the column that shows it");
        let word = ["BAR", "OUGHT", "ABLE"][usize::try_from(number % 3).unwrap()];
        let name = str::from_utf8(&row_fields[0]).unwrap();
        let pair = name.strip_prefix(&format!("it's {word}{district}"));
        pairs.insert(pair.expect(name).to_owned());
    }
    assert_eq!(pairs.len(), 100, "two digits of each row");
}

#[test]
fn a_value_that_no_column_shows_is_one_for_all_that_is_computed_from_it_in_a_row() {
    let drawn = Maker::Uniform(Bound::Integer(0), Bound::Integer(999));
    let values = [
        value("drawn", drawn),
        value("same", computed(r#"["variable",0]"#, 0, 999)),
        value(
            "text",
            Maker::Join(vec![JoinPart::Value(JoinValue {
                value: 1,
                when: None,
            })]),
        ),
    ];
    let fill = fill(&[(ColumnType::Int4, 1), (ColumnType::Text, 2)]);
    for row in 0..100 {
        let fields = fields(&fill, &values, row);
        let number = i32::from_be_bytes(fields[0][..].try_into().unwrap());
        assert_eq!(fields[1], number.to_string().into_bytes());
    }
}

#[test]
fn a_part_stands_where_its_condition_is_not_0() {
    let even = r#"["case",["eq",["remainder",["variable",0],["integer",2]],["integer",0]],["integer",1],["integer",0]]"#;
    let parts = vec![
        JoinPart::Text("<".to_owned()),
        JoinPart::Word(JoinWord {
            of: vec!["even".to_owned()],
            at: 0,
            when: Some(1),
        }),
        JoinPart::Value(JoinValue {
            value: 0,
            when: Some(1),
        }),
        JoinPart::Text(">".to_owned()),
    ];
    let values = [
        value("row", Maker::Row(0)),
        value("is_even", computed(even, 0, 1)),
        value("text", Maker::Join(parts)),
    ];
    let fill = fill(&[(ColumnType::Text, 2)]);
    assert_eq!(fields(&fill, &values, 4), [b"<even4>".to_vec()]);
    assert_eq!(fields(&fill, &values, 5), [b"<>".to_vec()]);
}

#[test]
fn a_column_is_null_where_its_value_says_so() {
    let mut fill = fill(&[(ColumnType::Int2, 0), (ColumnType::Numeric, 0)]);
    fill.columns[1].scale = 2;
    fill.columns[1].null_if = Some(1);
    let values = [
        value("row", Maker::Row(0)),
        value(
            "odd",
            computed(r#"["remainder",["variable",0],["integer",2]]"#, 0, 1),
        ),
    ];
    let rows = Rows::new(&fill, &values, 1, "t1", binary::RANGES).expect("valid");
    let written = |row| {
        let mut out = Vec::new();
        binary::write(&mut out, &rows, row);
        out
    };
    assert_eq!(written(3), [0, 2, 0, 0, 0, 2, 0, 3, 0xff, 0xff, 0xff, 0xff]);
    assert_eq!(written(2)[8..12], [0, 0, 0, 10], "not null");
}

/// Orders of 2 to 4 lines, and their lines: (parent, number, how many the parent has).
#[test]
fn children_are_as_many_as_their_parent_says_and_take_its_numbers() {
    let values = [
        value("order", Maker::Row(1)),
        value(
            "lines",
            Maker::Uniform(Bound::Integer(2), Bound::Integer(4)),
        ),
        value("number", Maker::Item(ItemNumber { first: 1 })),
        value(
            "amount",
            Maker::Uniform(Bound::Integer(0), Bound::Integer(1 << 30)),
        ),
    ];
    let int4 = ColumnType::Int4;
    let orders = Fill {
        table: "orders".to_owned(),
        rows: 50,
        ..fill(&[(int4, 0), (int4, 1)])
    };
    let lines = Fill {
        table: "lines".to_owned(),
        rows: 200,
        per: Some(Children {
            table: "orders".to_owned(),
            columns: orders.columns.clone(),
            count: 1,
            least: 2,
            most: 4,
        }),
        ..fill(&[(int4, 0), (int4, 2), (int4, 1), (int4, 3)])
    };
    let numbers = |fill: &Fill, table, row| {
        let rows = Rows::new(fill, &values, 1, table, binary::RANGES).expect("valid");
        rows.is_there(row).then(|| {
            let mut out = Vec::new();
            binary::write(&mut out, &rows, row);
            let fields = out[2..].chunks(8);
            fields
                .map(|field| i32::from_be_bytes(field[4..].try_into().unwrap()))
                .collect::<Vec<_>>()
        })
    };
    let made: Vec<_> = (0..200)
        .filter_map(|row| numbers(&lines, "lines1", row))
        .collect();
    let mut expected = Vec::new();
    for row in 0..50 {
        let order = numbers(&orders, "orders1", row).expect("an order");
        expected.extend((1..=order[1]).map(|number| [order[0], number, order[1]]));
    }
    let shown: Vec<_> = made
        .iter()
        .map(|line| [line[0], line[1], line[2]])
        .collect();
    assert_eq!(shown, expected);
    let amounts: BTreeSet<_> = made.iter().map(|line| line[3]).collect();
    assert!(amounts.len() > expected.len() - 3, "drawn for each line");
    let rows = Rows::new(&lines, &values, 1, "lines1", binary::RANGES).expect("valid");
    assert_eq!(rows.there(200), expected.len() as u64);
    assert_ne!(expected.len(), 150, "drawn, not half of the places");
}

#[test]
fn two_values_that_no_column_shows_are_drawn_apart() {
    let uniform = || Maker::Uniform(Bound::Integer(0), Bound::Integer(99));
    let values = [
        value("one", uniform()),
        value("two", uniform()),
        value(
            "difference",
            computed(r#"["subtract",["variable",0],["variable",1]]"#, -99, 99),
        ),
    ];
    let fill = fill(&[(ColumnType::Int4, 2)]);
    let different = (0..1000).filter(|row| fields(&fill, &values, *row)[0] != [0; 4]);
    assert!(
        different.count() > 950,
        "of a hundred numbers two are alike once"
    );
}

#[test]
fn a_column_that_changes_every_so_many_rows_holds_its_value_between() {
    let mut fill = fill(&[(ColumnType::Int4, 0), (ColumnType::Int4, 1)]);
    for column in &mut fill.columns {
        column.each = 300;
    }
    let uniform = Maker::Uniform(Bound::Integer(0), Bound::Integer(1 << 30));
    // Of 1,000 rows there are 4 numbers: a fifth would not fit.
    let first = i64::from(i32::MAX) - 3;
    let values = [value("row", Maker::Row(first)), value("random", uniform)];
    let rows = [0, 299, 300, 999].map(|row| fields(&fill, &values, row));
    assert_eq!(rows[0], rows[1]);
    assert_ne!(rows[0][1], rows[2][1]);
    let number =
        |row: &[Vec<u8>]| i32::from_be_bytes(row[0].as_slice().try_into().expect("four bytes"));
    let numbers: Vec<_> = rows.iter().map(|row| i32::MAX - number(row)).collect();
    assert_eq!(numbers, [3, 3, 2, 0]);
}

#[test]
fn rows_and_tables_differ_and_a_row_is_the_same_every_time() {
    let fill = fill(&[(ColumnType::Text, 0)]);
    let values = [value("c", Maker::Pattern("###########-@@@@".to_owned()))];
    let row = |seed, table, row| {
        let mut out = Vec::new();
        let rows = Rows::new(&fill, &values, seed, table, binary::RANGES).expect("valid");
        binary::write(&mut out, &rows, row);
        out
    };
    assert_eq!(row(1, "t1", 7), row(1, "t1", 7));
    assert_ne!(row(1, "t1", 7), row(1, "t1", 8));
    assert_ne!(row(1, "t1", 7), row(1, "t2", 7));
    assert_ne!(row(1, "t1", 7), row(2, "t1", 7));
}

#[test]
fn a_value_that_its_column_cannot_hold_is_refused_before_the_first_row() {
    let big = Maker::Uniform(Bound::Integer(0), Bound::Integer(1 << 31));
    for (type_, maker, word) in [
        (ColumnType::Int4, big, "2147483648"),
        (
            ColumnType::Int4,
            Maker::Row(i64::from(i32::MAX) - 500),
            "2147484146",
        ),
        (
            ColumnType::Timestamp,
            Maker::Constant(i64::MAX),
            "9223372036854775807",
        ),
        (ColumnType::Int8, Maker::Pattern("#".to_owned()), "`text`"),
        (ColumnType::Int8, Maker::Clock, "no cursor, clock"),
        (ColumnType::Int8, Maker::Add { value: 0, plus: 1 }, "sums"),
        (ColumnType::Float4, Maker::Constant(16_777_217), "16777216"),
    ] {
        let (fill, values) = (fill(&[(type_, 0)]), [value("v", maker)]);
        let refused = Rows::new(&fill, &values, 1, "t1", binary::RANGES).expect_err("refused");
        assert!(
            refused.contains(word) && refused.contains("`c0`"),
            "{refused}"
        );
    }
    let uniform = || Maker::Uniform(Bound::Integer(0), Bound::Integer(9));
    let values = [
        value("one", uniform()),
        value("two", uniform()),
        value("sum", Maker::Sum { value: 0, other: 1 }),
    ];
    let fill = fill(&[(ColumnType::Int4, 2)]);
    let refused = Rows::new(&fill, &values, 1, "t1", binary::RANGES).expect_err("both alike");
    assert!(refused.contains("in a column of its own"), "{refused}");
}
