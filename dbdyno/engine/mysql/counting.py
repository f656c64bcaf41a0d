"""How threads of MySQL and MariaDB are counted, and what they ask around a window."""

from dbdyno.engine.counting import Background, CountMethod
from dbdyno.engine.mysql import connection

COUNTED_MARIADB = {
    "innodb_use_native_aio": "0",  # with it, 10.11 hangs at its start under Valgrind
    "ssl": "0",  # else 11.4 makes itself a key at each start, which takes minutes under Valgrind
    "loose_innodb_buffer_pool_size_max": "32G",  # else newer ones reserve more than there is
}
COUNTERS = (
    "SHOW GLOBAL STATUS WHERE Variable_name IN ('Innodb_lsn_current', "
    "'Innodb_redo_log_current_lsn', 'Innodb_buffer_pool_read_requests', "
    "'Innodb_buffer_pool_reads', 'Innodb_buffer_pool_write_requests')"
)
"""An engine has those that it knows."""

BACKGROUND = Background(
    kinds={
        "buf_flush_page_cleaner": "page cleaner",
        "buf_flush_page_cleaner_coordinator": "page cleaner",
        "buf_flush_page_cleaner_thread": "page cleaner",
        "buf_flush_page_cleaner_worker": "page cleaner",
        "buf_flush_page_coordinator_thread": "page cleaner",
        "srv_purge_coordinator_thread": "purge",
        "srv_worker_thread": "purge",
        "srv_master_thread": "master",
        "log_checkpointer": "checkpointer",
        "log_files_governor": "log",
        "log_flush_notifier": "log",
        "log_flusher": "log",
        "log_write_notifier": "log",
        "log_writer": "log",
        "Clone_persist_gtid::periodic_write": "GTID writer",
        "LinuxAIOHandler::poll": "I/O",
        "io_handler_thread": "I/O",
        "dict_stats_thread": "statistics",
        "lock_wait_timeout_thread": "monitor",
        "srv_error_monitor_thread": "monitor",
        "srv_monitor_thread": "monitor",
        "tpool::thread_pool_generic::worker_main": "pool of threads",
    },
    sessions=frozenset({
        "do_handle_one_connection", "handle_connection", "handle_one_connection", "main",
        "mysqld_main",
    }),
)  # fmt: skip
"""MariaDB's purge, log and I/O are tasks of a pool of threads since 10.5. A package has no names of
functions that no other file calls, so that its page cleaner is among the others."""

COUNTED_S = 0.5
"""More than elsewhere: counts of few operations scatter by 0.1 %."""


def of(name: str) -> CountMethod:
    """How an engine of the family is counted."""
    maria = name == "mariadb"
    return CountMethod(
        mark="SELECT CONNECTION_ID()",
        function="Item_func_connection_id::fix_fields*",
        left_out=("recv", "poll", "ppoll"),  # is the next request there yet
        settings=COUNTED_MARIADB if maria else {},
        refused={"innodb_use_native_aio": "1", "large_pages": "1"},
        unlimited=(
            "/*!50708 SET SESSION max_execution_time = 0 */",
            "/*M!100101 SET SESSION max_statement_time = 0 */",
        ),
        timeouts={
            "innodb_lock_wait_timeout": 1.0,
            "max_statement_time" if maria else "max_execution_time": 1.0 if maria else 1e-3,
            "wait_timeout": 1.0,
            "connect_timeout": 1.0,
        },
        start_s=12.0 if maria else 50.0,
        counted_s=COUNTED_S,
        counted_writes_s=1.0,
        warmup_writes=300,  # the first ones take new pages, of undo and of the table
        threads=True,
        counters=lambda version_num: (COUNTERS,),
        log_bytes="innodb_lsn_current" if maria else "innodb_redo_log_current_lsn",
        pages_asked="innodb_buffer_pool_read_requests",
        pages_read="innodb_buffer_pool_reads",
        pages_dirtied="innodb_buffer_pool_write_requests",
        background=BACKGROUND,
        margin_of_writes=0.003,
        hold=connection.snapshot_held,
    )
