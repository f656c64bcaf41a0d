"""Functions by what an answer that they stand in depends on; names in lower case."""

CLOCK = frozenset(
    {
        *("clock_timestamp", "curdate", "current_date", "current_time", "current_timestamp"),
        *("curtime", "localtime", "localtimestamp", "now", "statement_timestamp", "sysdate"),
        *("timeofday", "transaction_timestamp", "utc_date", "utc_time", "utc_timestamp"),
    }
)
"""Functions, and words without brackets, that ask for the time."""
CLOCK_BY_ARGUMENTS = {"unix_timestamp": 0, "age": 1}
"""Functions that ask for the time where they have so many arguments."""
MOMENTS = frozenset({"now", "today", "tomorrow", "yesterday"})
"""Texts that PostgreSQL takes for moments."""
SESSION = frozenset(
    {
        *("connection_id", "current_catalog", "current_database", "current_role"),
        *("current_schema", "current_schemas", "current_setting", "current_user", "database"),
        *("found_rows", "get_lock", "inet_client_addr", "inet_client_port", "inet_server_addr"),
        *("inet_server_port", "is_free_lock", "is_used_lock", "last_insert_id", "lastval"),
        *("pg_backend_pid", "pg_conf_load_time", "pg_current_snapshot", "pg_current_xact_id"),
        *("pg_current_xact_id_if_assigned", "pg_is_in_recovery", "pg_my_temp_schema"),
        *("pg_postmaster_start_time", "ps_current_thread_id", "ps_thread_id", "release_lock"),
        *("row_count", "schema", "session_user", "system_user", "txid_current"),
        *("txid_current_if_assigned", "txid_current_snapshot", "user", "version"),
    }
)
"""Functions, and words without brackets, that tell of the session or the server."""
DRAWN = frozenset(
    {
        *("benchmark", "gen_random_uuid", "nextval", "nextval_oracle", "rand", "random"),
        *("random_bytes", "sleep", "sys_guid", "uuid", "uuid_short", "uuid_v4", "uuid_v7"),
    }
)
"""Functions that give another value each time."""
LISTING = frozenset(
    {
        *("array_agg", "array_concat_agg", "group_concat", "json_agg", "json_array_agg"),
        *("json_arrayagg", "json_object_agg", "json_objectagg", "json_object_agg_strict"),
        *("json_object_agg_unique", "json_object_agg_unique_strict", "json_agg_strict"),
        *("jsonb_agg", "jsonb_agg_strict", "jsonb_object_agg", "jsonb_object_agg_strict"),
        *("jsonb_object_agg_unique", "jsonb_object_agg_unique_strict", "string_agg", "xmlagg"),
    }
)
"""Aggregates of rows in the order in which they come."""
ADDING = frozenset(
    {
        *("avg", "corr", "covar_pop", "covar_samp", "regr_avgx", "regr_avgy", "regr_intercept"),
        *("regr_r2", "regr_slope", "regr_sxx", "regr_sxy", "regr_syy", "std", "stddev"),
        *("stddev_pop", "stddev_samp", "sum", "var_pop", "var_samp", "variance"),
    }
)
"""Aggregates that add numbers up."""
ALWAYS_FLOATING = frozenset(
    {"corr", "covar_pop", "covar_samp", *(name for name in ADDING if name.startswith("regr_"))}
)
SPREADS = frozenset(
    {"std", "stddev", "stddev_pop", "stddev_samp", "var_pop", "var_samp", "variance"}
)
"""Aggregates that MySQL computes in floating-point numbers, whatever it is given."""
LEAST = frozenset({"max", "min", "percentile_disc"})
"""Aggregates that give one of several equal values."""
PICKING = frozenset({"any_value", "first", "last", "mode"})
"""Aggregates that give any of the values."""
COUNTING = frozenset(
    {
        *("bit_and", "bit_or", "bit_xor", "bool_and", "bool_or", "count", "every"),
        *("percentile_cont", "range_agg", "range_intersect_agg"),
    }
)
"""Aggregates for which no order counts."""
AGGREGATES = LISTING | ADDING | LEAST | PICKING | COUNTING
TAKING = frozenset({"first_value", "last_value", "nth_value"})
"""Window functions that take the value of a row."""
RANKING = frozenset({"rank", "dense_rank", "percent_rank", "cume_dist"})
FLOATING = frozenset(
    {
        *("acos", "asin", "atan", "atan2", "cbrt", "cos", "cot", "date_part"),
        *("degrees", "exp", "extract", "ln", "log", "log10", "log2", "percentile_cont"),
        *("pi", "pow", "power", "radians", "rand", "random", "similarity", "sin", "sqrt", "tan"),
        *("ts_rank", "ts_rank_cd"),
    }
)
"""Functions that give floating-point numbers for some of their arguments."""
EXACT = frozenset(
    {"bit_length", "char_length", "character_length", "count", "length", "octet_length"}
)
"""Functions that give whole numbers, whatever they are given."""
