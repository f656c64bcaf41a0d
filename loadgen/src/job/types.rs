//! The SQL types that a statement may declare for its parameters.

/// Their names, in SQL and in the server's catalogue, with their OIDs (pg_type.dat of PostgreSQL).
const DECLARED: [(&str, u32); 59] = [
    ("smallint", 21),
    ("int", 23),
    ("integer", 23),
    ("bigint", 20),
    ("real", 700),
    ("double precision", 701),
    ("boolean", 16),
    ("character varying", 1043),
    ("timestamp with time zone", 1184),
    ("timestamp without time zone", 1114),
    ("bool", 16),
    ("bytea", 17),
    ("char", 18),
    ("name", 19),
    ("int8", 20),
    ("int2", 21),
    ("int4", 23),
    ("text", 25),
    ("oid", 26),
    ("json", 114),
    ("xml", 142),
    ("point", 600),
    ("float4", 700),
    ("float8", 701),
    ("money", 790),
    ("macaddr", 829),
    ("cidr", 650),
    ("inet", 869),
    ("bpchar", 1042),
    ("varchar", 1043),
    ("date", 1082),
    ("time", 1083),
    ("timestamp", 1114),
    ("timestamptz", 1184),
    ("interval", 1186),
    ("timetz", 1266),
    ("bit", 1560),
    ("varbit", 1562),
    ("numeric", 1700),
    ("regclass", 2205),
    ("uuid", 2950),
    ("tsvector", 3614),
    ("tsquery", 3615),
    ("jsonb", 3802),
    ("_bool", 1000),
    ("_bytea", 1001),
    ("_int2", 1005),
    ("_int4", 1007),
    ("_text", 1009),
    ("_varchar", 1015),
    ("_int8", 1016),
    ("_float4", 1021),
    ("_float8", 1022),
    ("_timestamp", 1115),
    ("_date", 1182),
    ("_timestamptz", 1185),
    ("_numeric", 1231),
    ("_uuid", 2951),
    ("_jsonb", 3807),
];

/// Returns the OID of a type that a statement may declare: by its name, or by the OID itself; 0 for an empty name, by which
/// the server infers the type.
///
/// # Errors
/// Returns the names that are known.
pub fn declared_oid(name: &str) -> Result<u32, String> {
    if name.is_empty() {
        return Ok(0);
    }
    let mut declared = DECLARED.iter();
    if let Some((_, oid)) = declared.find(|(known, _)| *known == name) {
        return Ok(*oid);
    }
    name.parse()
        .map_err(|_| DECLARED.map(|(known, _)| format!("`{known}`")).join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_has_a_name_a_number_or_neither() {
        for (name, oid) in [
            ("", 0),
            ("int4", 23),
            ("_int4", 1007),
            ("varchar", 1043),
            ("16385", 16385),
        ] {
            assert_eq!(declared_oid(name), Ok(oid));
        }
        assert!(declared_oid("mood").unwrap_err().contains("`timestamptz`"));
    }

    #[test]
    fn no_name_stands_twice() {
        let names: std::collections::BTreeSet<_> = DECLARED.iter().map(|(name, _)| name).collect();
        assert_eq!(names.len(), DECLARED.len());
    }
}
