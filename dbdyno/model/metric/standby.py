"""Rows of the table of metrics: standbys of an arm's server."""

from dbdyno.model.metric import row
from dbdyno.model.metric.row import Metric

STANDBY: tuple[Metric, ...] = tuple(
    row.postgres(metric)
    for metric in (
        row.own(
            "replay_lag_s_mean", "s", "lower", 3,
            """replay lag | mean of the readings of each second in the window: time since the commit
            that the standby replayed last, 0 if it has replayed all that the primary has sent; of
            several standbys all readings""",
        ),
        row.own(
            "replay_lag_s_max", "s", "lower", 3,
            """longest replay lag | the greatest of these readings""", over="largest",
        ),
        row.own(
            "replay_lag_mb_max", "MB", "lower", 2,
            """most WAL not replayed yet | as replay_lag_s_max: WAL between what the standby has
            replayed and the end of the primary's WAL as it told the standby last""",
            over="largest",
        ),
        row.own(
            "catch_up_s", "s", "lower", 2,
            """time to catch up | from the end of the step until the standby had replayed all of its
            changes""",
        ),
    )
)  # fmt: skip
