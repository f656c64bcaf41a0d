"""The content of a job: values, cursors, statements and programs, each once and numbered.

A job holds only what its roles use. Everything is entered when it is first used; what it needs
itself is entered before it, so that a number always points back.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from msgspec.structs import replace

from dbdyno.model.document import suggestion
from dbdyno.model.job import statements, values
from dbdyno.model.job.programs import Instruction, Program
from dbdyno.model.job.statements import Piece
from dbdyno.workload import (
    distribution,
    explain_literals,
    items,
    joined,
    own_text,
    sending,
    sql,
    transaction,
)
from dbdyno.workload.computed import ValueInputs
from dbdyno.workload.flow import Flow
from dbdyno.workload.maker_schema import Maker, SampleForm
from dbdyno.workload.samples import Samples
from dbdyno.workload.schema import CursorForm, StatementForm, Transaction, WorkloadFile
from dbdyno.workload.scope import TABLE_MARK, Scope
from dbdyno.workload.script.files import StepScripts
from dbdyno.workload.script.sql import named, token_of
from dbdyno.workload.tables import names
from dbdyno.workload.value import (
    ITEM,
    MAKERS,
    NO_ROW,
    ROW,
    SCOPES,
    FillRow,
    base_names,
    check_permutation,
    cursor_names,
    like,
    made,
)

Item = TypeVar("Item")

TRANSACTION_CONTROL = ("BEGIN", "COMMIT", "ROLLBACK")
"""Statements that a transaction names without their being in [statements]."""


class Content:
    """The lists of one job while it is being made."""

    def __init__(self, file: WorkloadFile, scope: Scope) -> None:
        self.file = file
        self.scope = scope
        self.values: list[values.Value] = []
        self.cursors: list[statements.Cursor] = []
        self.statements: list[statements.Statement] = []
        self.programs: list[Program] = []
        self.explain: dict[str, str] = {}
        self.children: set[int] = set()  # values that are the numbers of children
        self.named: frozenset[str] = frozenset()  # kinds of table that SQL calls by their names
        self._numbers: dict[tuple[str, str], int] = {}
        self._used: dict[str, set[int]] = {}  # statement -> values that it draws
        self._bound: set[str] = set()  # statements that need a cursor
        self._tables: dict[str, str | None] = {}  # statement -> the kind of table it names
        self._entering: list[str] = []
        self.scripts = StepScripts(file, scope, self)
        self.kept = transaction.kept(file)
        self.samples = Samples()

    def value(self, name: str) -> int:
        """The number of a value of the file."""
        _find(self.file.values, name, self.scope.root("values"), "value")

        def enter(scope: Scope) -> int:
            model, maker = self._model(name, ())
            return self.add_value(name, maker, scope.root("values", model))

        return self._once("value", name, enter)

    def _model(self, name: str, above: tuple[str, ...]) -> tuple[str, Maker]:
        """The value whose maker a value has, by name, and that maker with what is its own."""
        scope = self.scope.root("values", name)
        maker = self.file.values[name]
        if maker.value is None:
            return name, maker
        others = [maker_name for maker_name in MAKERS if getattr(maker, maker_name) is not None]
        if others:
            raise scope.error(f"has the maker of another value; remove `{others[0]}` or `value`")
        if name in above:
            raise scope.error("is made as itself: " + " → ".join((*above, name)))
        other = scope.at("value").text(maker.value)
        _find(self.file.values, other, scope.at("value"), "value")
        model, theirs = self._model(other, (*above, name))
        return model, like(maker, theirs)

    def add_value(self, name: str, maker: Maker, scope: Scope, row: FillRow = NO_ROW) -> int:
        """Enters a value; those that it is computed from come before it.

        `row` is that of the fill that it is for.
        """
        numbers = {}
        for base in base_names(maker, scope):
            numbers[base] = self._base(name, base, row)
            self._check_base(base, self.values[numbers[base]], maker, scope)
        for own, inner, place in joined.expressions(name, maker, scope):
            numbers[own] = self.add_value(own, inner, place, row)
        for cursor in cursor_names(maker, scope):
            numbers[f"cursor:{cursor}"] = self.cursor(cursor)
        needed = ValueInputs(numbers, self.values, row.rows, row.items)
        self.values.append(made(name, maker, scope, needed, self.samples))
        check_permutation(len(self.values) - 1, scope, needed)
        return len(self.values) - 1

    def _base(self, name: str, base: str, row: FillRow) -> int:
        """The number of what a value is computed from: a column of the row, or a value."""
        if base in row.columns:
            return row.columns[base]
        if base == ROW and row.rows is not None and row.items is None:
            return self.add_row(f"row of {name}", 1)
        if base == ITEM and row.items is not None:
            return self.add_item(f"item of {name}")
        return self.value(base)

    def _check_base(self, name: str, base: values.Value, maker: Maker, scope: Scope) -> None:
        """Refuses to compute a value from a text, or from one that is drawn more often."""
        if maker.join is not None and base.sample is not None:
            raise scope.error(f"`{name}` is a sample, which can be NULL; a sample stands alone")
        if maker.join is None and base.is_text:
            raise scope.error(f"nothing can be computed from `{name}`, which is a text")
        if SCOPES.index(base.per) < SCOPES.index(maker.per):
            raise scope.error(
                f"is drawn once per {maker.per}, but `{name}` more often; "
                f'give `{name}` the key per = "{maker.per}"'
            )

    def free_name(self, column: str) -> str:
        """How a column's own value is called: as the column, or so with a number."""
        taken = {value.name for value in self.values}
        count = sum(name == column or name.startswith(f"{column} (") for name in taken)
        return f"{column} ({count + 1})" if count else column

    def add_row(self, name: str, first: int) -> int:
        """Enters a fill's number of the row, counted from `first`."""
        self.values.append(values.Value(name=name, per="item", format="integer", row=first))
        return len(self.values) - 1

    def add_item(self, name: str) -> int:
        """Enters the number of a child among its parent's, from 1."""
        item = values.Item(1)
        self.values.append(values.Value(name=name, per="item", format="integer", item=item))
        self.children.add(len(self.values) - 1)
        return len(self.values) - 1

    def cursor(self, name: str) -> int:
        """The number of a cursor of the file; `on` is filled in by `finish`."""
        cursor = _find(self.file.cursors, name, self.scope.root("cursors"), "cursor")
        return self._once("cursor", name, lambda scope: self._add_cursor(name, cursor, scope))

    def _add_cursor(self, name: str, cursor: CursorForm, scope: Scope) -> int:
        for mover in cursor.on:
            _find(self.file.statements, mover, scope.at("on"), "statement")
        start = scope.at("start").knowing({"t": TABLE_MARK}).text(cursor.start)
        self.cursors.append(
            statements.Cursor(
                name=name,
                start=start.replace(TABLE_MARK, "{t}"),
                advance=scope.at("advance").integer(cursor.advance),
                resync_every=sending.resync_every(cursor, scope.at("resync_every")),
                connect=sending.connect(cursor.connect, scope.at("connect")),
            )
        )
        return len(self.cursors) - 1

    def statement(self, name: str) -> int:
        """The number of a statement of the file, or of BEGIN, COMMIT or ROLLBACK."""
        if name in TRANSACTION_CONTROL and name not in self.file.statements:
            form = StatementForm(any=name)
        else:
            form = _find(self.file.statements, name, self.scope.root("statements"), "statement")
        return self._once("statement", name, lambda scope: self.add_statement(name, form, scope))

    def add_statement(self, name: str, form: StatementForm, scope: Scope) -> int:
        """Enters a statement, with the values and cursors that it uses."""
        if form.values is None:
            text = scope.statement(form)
            return self._add_cut(name, text, sql.cut(text, scope), form, scope)
        text = scope.verbatim(form)
        return self._add_cut(name, text, own_text.placed(text, form.values, scope), form, scope)

    def _add_cut(
        self, name: str, text: str, pieces: tuple[sql.Piece, ...], form: StatementForm, scope: Scope
    ) -> int:
        """Enters a statement that has been cut into pieces."""
        pieces = sql.with_variables(pieces, self.kept - self.file.values.keys())
        self.named |= named(self._unnumbered(), text, token_of(scope.engine))
        written = sending.protocol(form, self.file, scope)
        protocol = sending.preparable(written, text.split(maxsplit=1)[:1], scope.engine)
        number = len(self.statements)
        used, tables = set(), set()
        for piece in sql.walk(pieces):
            if isinstance(piece, sql.ValuePlace):
                used |= distribution.with_bases(self.values, self.value(piece.name))
            elif isinstance(piece, sql.CursorPlace):
                self.cursor(piece.name)
                self._bound.add(name)
            elif isinstance(piece, (sql.TablePlace, sql.NumberPlace)):
                tables.add(self.table(scope))
        if any(self._is_bound(number) for number in used):
            self._bound.add(name)
        items.check(self.values, [self.value(name) for name in items.names(pieces)], scope)
        self._used[name] = used
        self._tables[name] = next(iter(tables), None)
        samples = self._samples(pieces)
        pieces = sending.with_casts(pieces, samples, protocol, scope.engine)
        bound = sql.bound(pieces, samples)
        types = sending.types(form, protocol, bound, scope) or sending.sample_types(
            bound, samples, protocol, scope.engine
        )
        if sending.as_sysbench(self.file, protocol, scope):
            formats = {value.name: value.format for value in self.values}
            types = sending.sysbench_types(bound, formats, scope)
        rows = sql.nominal_rows(text, pieces)
        if form.rows is not None:
            rows = scope.at("rows").integer(form.rows, low=0)
        statement = sending.formed(
            statements.Statement(
                name=name,
                protocol=protocol,
                pieces=tuple(self._piece(piece, scope) for piece in pieces),
                types=tuple(types),
                rows=rows,
                class_=scope.at("class").text(form.class_) if form.class_ else None,
                progress=sending.progress(form, scope),
            ),
            self.file,
            scope,
        )
        variables = any(isinstance(piece, sql.VariablePlace) for piece in sql.walk(pieces))
        if form.keep or variables:
            columns = {name: self.scripts.shared.number(name) for name in form.keep}
            statement = sending.with_variables(statement, columns, scope)
        if samples:
            statement = sending.answered_in_text(statement, scope.engine)
        self.statements.append(statement)
        if sql.explainable(text) and (self.scope.engine.placeholders or not (samples or variables)):
            self.explain[name] = self._explained(bound, self._first_table(name), types)
        return number

    def _samples(self, pieces: tuple[sql.Piece, ...]) -> dict[str, SampleForm]:
        """The values of a statement that are drawn from files, by their names."""
        names = [piece.name for piece in sql.walk(pieces) if isinstance(piece, sql.ValuePlace)]
        samples = {name: self.sample(name) for name in names}
        return {name: sample for name, sample in samples.items() if sample is not None}

    def sample(self, name: str) -> SampleForm | None:
        """Where a value of the file is drawn from, if from a file of tuples."""
        return self._model(name, ())[1].sample

    def _piece(self, piece: sql.Piece, scope: Scope) -> Piece | str:
        match piece:
            case sql.ValuePlace(name=name):
                return Piece(value=self.value(name))
            case sql.VariablePlace(name=name):
                return Piece(variable=self.scripts.shared.number(name))
            case sql.CursorPlace(name=name):
                return Piece(cursor=self.cursor(name))
            case sql.TablePlace():
                return Piece(table=self.table(scope))
            case sql.NumberPlace():
                return Piece(number=self._numbered(scope))
            case sql.RepeatedPieces(count=count, pieces=pieces, separator=separator):
                inner = tuple(self._piece(part, scope) for part in pieces)
                return Piece(repeat=count, separator=separator, pieces=inner)
            case str():
                return piece

    def _explained(self, pieces: tuple[sql.Piece, ...], table: str, types: Sequence[str]) -> str:
        """The statement as its engine's EXPLAIN takes it."""
        if self.scope.engine.placeholders:
            return sql.numbered(pieces, table, types)
        return explain_literals.statement(pieces, table, self.values, self.value)

    def table(self, scope: Scope) -> str:
        """The one kind of table that `{t}` can mean."""
        kinds = list(self.file.tables)
        if len(kinds) != 1:
            there = ", ".join(kinds) or "none"
            raise scope.error(
                f"`{{t}}` needs exactly one kind of table under [tables], not {there}"
            )
        return kinds[0]

    def _numbered(self, scope: Scope) -> str:
        """The kind of table that `{number}` means; it must be numbered."""
        base = self.table(scope)
        if base in self._unnumbered():
            raise scope.error(f"`{{number}}`: tables of `{base}` have none")
        return base

    def _unnumbered(self) -> frozenset[str]:
        return frozenset(k for k, table in self.file.tables.items() if not table.numbered)

    def _first_table(self, statement: str) -> str:
        """The name of the first table that a statement goes to."""
        base = self._tables[statement]
        return names(self.file, self.scope)[base][0] if base else ""

    def add_part(self, name: str, texts: Sequence[str], scope: Scope) -> int:
        """Enters SQL that stands in a step itself, and the program that sends one by one."""
        form = StatementForm(protocol="simple")
        names = [name] if len(texts) == 1 else [f"{name}-{n + 1}" for n in range(len(texts))]
        code = [
            Instruction("send", self._add_cut(part, text, sql.cut(text, scope), form, scope))
            for part, text in zip(names, texts, strict=True)
        ]
        self.programs.append(Program(name, tuple(code)))
        return len(self.programs) - 1

    def program(self, name: str, scope: Scope) -> int:
        """The number of a statement's or transaction's program; `scope` is where it is named."""
        forms: dict[str, StatementForm | Transaction] = {}
        forms |= self.file.statements
        forms |= self.file.transactions
        if name in self.file.statements and name in self.file.transactions:
            raise scope.error(f"`{name}` is a statement and a transaction; rename one")
        form = _find(forms, name, scope, "statement or transaction")
        return self._once("program", name, lambda _: self.add_program(name, form))

    def add_program(self, name: str, form: StatementForm | Transaction) -> int:
        """Enters a program: what is drawn once for all of it, then its statements."""
        if isinstance(form, Transaction) and form.script is not None:
            return self._add_script(name)
        code: list[Instruction] = []
        listed: set[int] = set()
        first: set[int] = set()
        anew: set[int] = set()  # what repetitions draw
        if isinstance(form, Transaction):
            scope = self.scope.root("transactions", name)
            listed = self._listed(form.draw, scope.at("draw"))
            flow = Flow(self.scripts.shared, self._computable, code)
            for part in transaction.parts(form, scope):
                drawn = self._anew(part)
                anew |= set(drawn)
                turn = [Instruction("draw", number) for number in drawn]
                if part.computes:
                    for number in range(part.times):
                        code += turn
                        flow.turn(part, number, self._instructions)
                else:
                    code += (turn + self._instructions(part.sends)) * part.times
            bases = (distribution.with_bases(self.values, number) for number in flow.drawn)
            first |= set().union(*bases)
        else:
            code = self._instructions([name])
        sent = [self.statements[number].name for verb, number in code if verb == "send"]
        first |= {number for statement in sent for number in self._wide(statement)}
        begins = [Instruction("draw", number) for number in sorted(listed | first - anew)]
        code = self.scripts.moved(begins, code)
        self._check_drawn(name, code)
        self.programs.append(Program(name, tuple(code)))
        return len(self.programs) - 1

    def _add_script(self, name: str) -> int:
        """Enters the program of a script, with its statements."""
        begin = len(self.statements)
        code = self.scripts.program(name, self.statements)
        token = token_of(self.scope.engine)
        for statement in self.statements[begin:]:
            self.named |= named(self.file.tables, " ".join(statement.texts), token)
            self._tables[statement.name] = None
        self.programs.append(Program(name, tuple(code)))
        return len(self.programs) - 1

    def _computable(self, name: str, scope: Scope) -> int | None:
        """The value of an expression in a transaction; None where the name is a variable's."""
        if name not in self.file.values:
            if name in self.kept:
                return None
            raise scope.error(f"neither a value nor a kept column is called `{name}`")
        number = self.value(name)
        if not self._is_wide(number):
            raise scope.error(f'`{name}` is computed with; give it the key per = "transaction"')
        if self.values[number].is_text:
            raise scope.error(f"nothing can be computed from `{name}`, which is a text")
        return number

    def _instructions(self, does: Sequence[str | int]) -> list[Instruction]:
        """An item that sends these statements, and sleeps so many microseconds."""
        return [
            Instruction("send", self.statement(doe))
            if isinstance(doe, str)
            else Instruction("sleep", doe)
            for doe in does
        ]

    def _listed(self, names: Sequence[str], scope: Scope) -> set[int]:
        """The values that a transaction or repetition lists under `draw`."""
        numbers = {name: self.value(name) for name in names}
        for name, number in numbers.items():
            if not self._is_wide(number):
                raise scope.error(f'`{name}` is listed; give it the key per = "transaction"')
        return set(numbers.values())

    def _anew(self, part: transaction.TransactionPart) -> list[int]:
        """The values that a repetition draws for each turn: its list, and those made from it."""
        listed = self._listed(part.draw, part.scope.at("draw"))
        self._instructions(part.sends)  # enters the statements, so that their values are known
        used = {n for doe in part.sends if isinstance(doe, str) for n in self._wide(doe)}
        return sorted(
            listed
            | {number for number in used if distribution.with_bases(self.values, number) & listed}
        )

    def _wide(self, statement: str) -> set[int]:
        """The values of a statement that are drawn once for a transaction or turn."""
        return {number for number in self._used[statement] if self._is_wide(number)}

    def _check_drawn(self, name: str, code: Sequence[Instruction]) -> None:
        """Refuses a value that only a later repetition draws."""
        drawn: set[int] = set()
        for verb, number in code:
            if verb == "draw":
                drawn.add(number)
            elif verb == "send":
                statement = self.statements[number].name
                for value in sorted(self._wide(statement) - drawn):
                    raise self.scope.root("transactions", name).error(
                        f"`{statement}` uses `{self.values[value].name}`, which a repetition "
                        "behind it draws; list it under the transaction's `draw`, too"
                    )

    def rows_of(self, program: int) -> int:
        """The nominal rows of one operation."""
        return sum(self.statements[number].rows or 0 for number in self.programs[program].sends)

    def table_of(self, program: int) -> str | None:
        """The kind of table that a program names, itself or through its cursors."""
        tables = (self._tables[self.statements[n].name] for n in self.programs[program].sends)
        return next((table for table in tables if table), None)

    def bound_by_cursor(self, program: int) -> str | None:
        """The first statement of a program that needs a cursor or moves one."""
        for number in self.programs[program].sends:
            name = self.statements[number].name
            if name in self._bound or any(cursor.on == number for cursor in self.cursors):
                return name
        return None

    def finish(self) -> None:
        """Points the cursors at the statements that move them, where the job has these."""
        for place, cursor in enumerate(self.cursors):
            name = cursor.name
            written = self.file.cursors[name]
            movers = [mover for mover in written.on if ("statement", mover) in self._numbers]
            if len(movers) > 1:
                raise self.scope.root("cursors", name, "on").error(
                    f"only one statement of a step may move a cursor, not {' and '.join(movers)}"
                )
            if movers:
                queued = self.scope.root("cursors", name, "queued").number(written.queued)
                on = self._numbers["statement", movers[0]]
                self.cursors[place] = replace(cursor, on=on, queued=bool(queued))

    def _is_wide(self, number: int) -> bool:
        return self.values[number].per == "transaction"

    def _is_bound(self, number: int) -> bool:
        """Whether a cursor bounds a value."""
        bounds = self.values[number].uniform or ()
        return any(isinstance(bound, values.CursorBound) for bound in bounds)

    def _once(self, section: str, name: str, enter: Callable[[Scope], int]) -> int:
        """The number under which something is entered; enters it when it is new."""
        if (section, name) not in self._numbers:
            place = f"{section} {name}"
            scope = self.scope.root(f"{section}s", name)
            if place in self._entering:
                raise scope.error("is computed from itself")
            self._entering.append(place)
            self._numbers[section, name] = enter(scope)
            self._entering.pop()
        return self._numbers[section, name]


def _find(there: Mapping[str, Item], name: str, scope: Scope, what: str) -> Item:
    if name not in there:
        raise scope.error(f"no {what} `{name}`; {suggestion(name, there)}")
    return there[name]
