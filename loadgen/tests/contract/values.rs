//! What is wrong with the values of a job, and that the examples of the contract show every maker.

use super::cases::Case;
use super::{files, harness};
use std::collections::BTreeSet;

/// As those of the whole job.
pub(crate) const CASES: &[Case] = &[
    (
        "values",
        "/values/3/zipf/exponent",
        "-1",
        "values[3].zipf.exponent",
        "0 to 1000",
    ),
    (
        "values",
        "/values/3/zipf/exponent",
        "1e4",
        "values[3].zipf.exponent",
        "0 to 1000",
    ),
    (
        "values",
        "/values/3/zipf/range",
        "[2, 1]",
        "values[3].zipf.range",
        "above the upper",
    ),
    (
        "values",
        "/values/3/zipf/range",
        "[1, 9223372036854775808]",
        "values[3].zipf.range[1]",
        "i64",
    ),
    (
        "values",
        "/values/3/zipf/skew",
        "1",
        "values[3].zipf.skew",
        "unknown field",
    ),
    (
        "values",
        "/values/3/constant",
        "1",
        "values[3]",
        "exactly one of",
    ),
    (
        "values",
        "/values/5/special/percent",
        "101",
        "values[5].special.percent",
        "0 to 100",
    ),
    (
        "values",
        "/values/5/special/share",
        "-1",
        "values[5].special.share",
        "0 to 100",
    ),
    (
        "values",
        "/values/5/special/iterations",
        "0",
        "values[5].special.iterations",
        "1 to 1000",
    ),
    (
        "values",
        "/values/6/bates/iterations",
        "1001",
        "values[6].bates.iterations",
        "1 to 1000",
    ),
    (
        "values",
        "/values/7/gaussian/parameter",
        "1.9",
        "values[7].gaussian.parameter",
        "from 2",
    ),
    (
        "values",
        "/values/8/exponential/parameter",
        "0",
        "values[8].exponential.parameter",
        "above 0",
    ),
    (
        "values",
        "/values/9/pareto/h",
        "1",
        "values[9].pareto.h",
        "below 1",
    ),
    (
        "values",
        "/values/9/pareto/h",
        "0",
        "values[9].pareto.h",
        "above 0",
    ),
    (
        "values",
        "/values/1/permutation/range",
        "[2, 1]",
        "values[1].permutation.range",
        "above the upper",
    ),
    (
        "values",
        "/values/1/permutation/value",
        "1",
        "values[1].permutation",
        "itself",
    ),
    (
        "values",
        "/values/1/permutation/value",
        "12",
        "values[1].permutation.value",
        "which has 12",
    ),
    (
        "values",
        "/values/1/permutation/value",
        "2",
        "values[1].permutation.range",
        "runs from -9223372036854775808",
    ),
    (
        "values",
        "/values/0/per",
        r#""x""#,
        "values[0].per",
        "unknown variant",
    ),
    (
        "values",
        "/statements/0/pieces/3",
        r#"{"repeat": 2, "separator": ",", "pieces": [{"value": 1}]}"#,
        "statements[0].pieces[3].pieces[0]",
        "counts operations",
    ),
    (
        "tables",
        "/values/5/sequence/each",
        "0",
        "values[5].sequence.each",
        "at least 1",
    ),
    (
        "tables",
        "/values/6/per",
        r#""statement""#,
        "values[6].per",
        "counts the items",
    ),
    (
        "tables",
        "/values/6/item/step",
        "2",
        "values[6].item.step",
        "unknown field",
    ),
    (
        "tables",
        "/values/8/add/plus",
        "2",
        "values[8]",
        "`plus` or `other`",
    ),
    (
        "tables",
        "/values/8/add/other",
        "8",
        "values[8].add",
        "itself",
    ),
    (
        "tables",
        "/values/8/add/other",
        "9",
        "values[8].add.other",
        "which has 9",
    ),
    (
        "tables",
        "/values/8/add/other",
        "3",
        "values[8].add",
        "`c`, which is a text",
    ),
    (
        "tables",
        "/values/8/per",
        r#""statement""#,
        "values[8].add",
        "changes more often",
    ),
    (
        "tables",
        "/values/5/per",
        r#""item""#,
        "statements[7].pieces[3].pieces[1]",
        "`block` counts operations",
    ),
    (
        "tables",
        "/statements/5/class",
        r#""""#,
        "statements[5].class",
        "is empty",
    ),
    (
        "tables",
        "/roles/0/table/by",
        r#""random""#,
        "roles[0].table.by",
        "unknown variant",
    ),
    (
        "l.i1",
        "/roles/1/table/by",
        r#""uniform""#,
        "roles[1].table.by",
        "has a cursor",
    ),
    (
        "fill",
        "/values/1",
        r#"{"name": "k", "per": "item", "format": "integer", "item": {"first": 1}}"#,
        "fills[0].columns[1].value",
        "use `row`",
    ),
    (
        "fill",
        "/values/1",
        r#"{"name": "k", "per": "item", "format": "integer", "client": {"first": 0, "step": 1}}"#,
        "fills[0].columns[1].value",
        "the client",
    ),
    (
        "fill",
        "/values/1",
        r#"{"name": "k", "per": "item", "format": "integer", "sequence": {"first": 1}}"#,
        "fills[0].columns[1].value",
        "use `row`",
    ),
    (
        "fill",
        "/values/1",
        r#"{"name": "k", "per": "item", "format": "integer", "permutation": {"value": 0, "range": [1, 999999]}}"#,
        "values[1].permutation.range",
        "`id` runs from 1 to 1000000",
    ),
];

#[test]
fn the_examples_show_every_maker() {
    let mut shown = BTreeSet::new();
    for name in files("job-", ".json") {
        let job: serde_json::Value = serde_json::from_str(&harness::text(&name)).unwrap();
        for value in job["values"].as_array().unwrap() {
            shown.extend(value.as_object().unwrap().keys().cloned());
        }
    }
    let makers = [
        "uniform",
        "zipf",
        "pareto",
        "special",
        "bates",
        "gaussian",
        "exponential",
        "add",
        "permutation",
        "sequence",
        "item",
        "client",
        "text",
        "pattern",
        "clock",
        "constant",
        "row",
    ];
    let all = makers.iter().chain(&["name", "per", "format"]);
    assert_eq!(shown, all.map(|key| (*key).to_owned()).collect());
}
