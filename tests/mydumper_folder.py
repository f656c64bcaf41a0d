"""A folder as mydumper writes it: a table, its rows, a view, a trigger, a routine and an event."""

import gzip
from pathlib import Path

ROWS = 300
FILES = {
    "metadata": "Started dump at: 2026-11-20 10:00:00\n",
    "shop-schema-create.sql": "CREATE DATABASE `shop` /*!40100 DEFAULT CHARACTER SET utf8mb4 */;\n",
    "shop.orders-schema.sql": "/*!40101 SET NAMES binary*/;\n\n"
    "CREATE TABLE `orders` (\n  `id` int(11) NOT NULL,\n  `who` varchar(20),\n  `note` text,\n"
    "  PRIMARY KEY (`id`)\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;\n",
    "shop.orders.00000.sql": "/*!40101 SET NAMES binary*/;\nINSERT INTO `orders` VALUES\n"
    + ",\n".join(f"({number},'c{number % 7}','ü; \\n--')" for number in range(ROWS))
    + ";\n",
    "shop.c-schema.sql": "CREATE TABLE IF NOT EXISTS `c` (\n`who` int,\n`n` int\n);\n",
    "shop.c-schema-view.sql": "DROP TABLE IF EXISTS `c`;\nDROP VIEW IF EXISTS `c`;\n"
    "CREATE DEFINER=`app`@`localhost` VIEW `c` AS select `who`, count(0) AS `n` from `orders`"
    " group by `who`;\n",
    "shop.orders-schema-triggers.sql": "CREATE DEFINER=`app`@`localhost` TRIGGER t BEFORE INSERT"
    " ON orders FOR EACH ROW BEGIN SET NEW.note = 'noted'; \nSET NEW.who = 'x'; \nEND;\n",
    "shop-schema-post.sql": "CREATE DEFINER=`app`@`localhost` EVENT e ON SCHEDULE EVERY 1 SECOND"
    " DO DELETE FROM orders;\n",
}
"""The text of each file, by its name."""


def write(folder: Path, *, packed: bool = False) -> Path:
    """Writes the folder; `packed`: by gzip."""
    folder.mkdir()
    for name, text in FILES.items():
        if packed and name.endswith(".sql"):
            (folder / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
        else:
            (folder / name).write_text(text, encoding="utf-8")
    return folder
