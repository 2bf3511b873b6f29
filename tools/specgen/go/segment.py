"""Emit the reader of a log: headers of entries as numbers, and records as columns.

Numbers of a header are those that readers by columns have in every target. What a reader asks for
by name has methods with the names of ``kafkaspec.layout.names``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kafkaspec.layout import names
from tools.specgen import expression as ex
from tools.specgen.facts.columns import INTEGER, LIST, Column, record_columns
from tools.specgen.facts.fields import is_bytes
from tools.specgen.facts.kinds import entry_kinds
from tools.specgen.facts.segments import Batch, Segment, members
from tools.specgen.facts.sizes import checksum_of, fixed_size, minimum_size
from tools.specgen.go.expressions import UnsupportedError
from tools.specgen.go.loads import load
from tools.specgen.go.names import exported, type_name
from tools.specgen.go.walk import GoWalk, Scope
from tools.specgen.model import Field, IntegerType, Model, Type, TypeReference
from tools.specgen.writer import GoWriter

ROLES = {
    name: getattr(names, name)
    for name in (
        "BASE_OFFSET", "MAGIC", "COMPRESSION", "TIMESTAMP_TYPE", "LEADER_EPOCH",
        "IS_CONTROL", "IS_TRANSACTIONAL", "LAST_OFFSET", "MAX_TIMESTAMP", "PRODUCER_ID",
        "PRODUCER_EPOCH", "BASE_SEQUENCE", "LAST_SEQUENCE", "NUM_RECORDS", "TIMESTAMP", "OFFSET",
    )
}  # fmt: skip
"""Numbers of headers that the reader around the generated code asks for, by their names there."""


def field_of(path: str) -> str:
    """Return the name of a number in ``Header``, which is not exported."""
    return f"n{exported(path)}"


def emit_segment(segment: Segment) -> str:
    """Return ``segment.go``."""
    return _Segment(segment).text()


class _Header(GoWalk):
    """Reader of a structure into ``h``."""

    def place(self, scope: Scope, path: str) -> tuple[str, str]:
        scope.names[path] = f"h.{field_of(scope.prefix + path)}"
        return scope.names[path], "="

    def on_bytes(self, scope: Scope, field: Field, start: str, size: str) -> None:
        path = scope.prefix + field.id
        self.out.line(f"h.{field_of(f'{path}.position')} = int64({start})")
        self.out.line(f"h.{field_of(f'{path}.size')} = max({size}, -1)")


class _Segment:
    """Writer of the file."""

    def __init__(self, segment: Segment) -> None:
        self.segment, self.model, self.out = segment, segment.model, GoWriter()
        self.numbers = [
            name for name in segment.scan_columns if name not in ("position", "size", "entry.kind")
        ]
        self.columns = record_columns(segment)

    def text(self) -> str:
        self._structure()
        self._accessors()
        self._read()
        for kind in self.segment.kinds:
            self._unit(f"read{type_name(kind)}", partial(self._kind, kind))
        self._facts()
        self._column_structure()
        self._message()
        self._decode()
        for batch in self.segment.batches:
            name = f"decode{type_name(batch.record_set)}"
            self._unit(name, partial(self._records, batch))
        body = self.out.text().rstrip("\n")
        return f"package format\n\n{body}\n"

    def _records(self, batch: Batch) -> None:
        _Records(self.segment, batch, self.columns, self.out).emit()

    def _unit(self, name: str, emit: Callable[[], None]) -> None:
        """Write a function, or one that refuses everything where it has no place for a shape."""
        file, self.out = self.out, GoWriter()
        try:
            emit()
            text = self.out.text()
        except UnsupportedError as reason:
            head = next(line for line in self.out.text().split("\n") if f"func {name}(" in line)
            text = f"// {name} refuses all: {reason}.\n{head}\n\treturn false\n}}\n\n"
        self.out = file
        self.out.lines(*text.removesuffix("\n").split("\n"))

    def _structure(self) -> None:
        out = self.out
        out.lines(
            "// Header has the numbers of an entry of any kind; one that its kind does not have is",
            "// -1, and so is the size of a null. Positions count from the start of the bytes.",
        )
        with out.block("type Header struct {", "}"):
            out.lines("// Position is where the entry begins.", "Position int", "")
            out.lines("// Size of the entry in bytes.", "Size int", "")
            out.lines("// Kind is the number of the type of the entry in KindKeys.", "Kind int")
            for name in self.numbers:
                out.lines("", f"{field_of(name)} int64")
        out.line()
        with out.block("var noHeader = Header{", "}"):
            for number, name in enumerate(self.numbers):
                if number:  # a blank line keeps gofmt from aligning the values
                    out.line()
                out.line(f"{field_of(name)}: -1,")
        out.line()

    def _accessors(self) -> None:
        out = self.out
        made = {exported(name): name for name in self.numbers}
        for role, name in ROLES.items():
            if name in self.numbers:
                made.setdefault(exported(role.lower()), name)
        for method, name in made.items():
            out.line(f"// {method} returns {name}.")
            with out.block(f"func (h *Header) {method}() int64 {{", "}"):
                out.line(f"return h.{field_of(name)}")
            out.line()

    def _read(self) -> None:
        out, segment = self.out, self.segment
        out.lines(
            "// ReadHeader reads the header of the entry at a position; false if it is cut or",
            f"// wrong. Parse{type_name(segment.entry)} says why.",
        )
        with out.block("func ReadHeader(data []byte, pos int, h *Header) bool {", "}"):
            out.line("*h = noHeader")
            out.line("h.Position = pos")
            out.line("end := len(data)")
            walk = _Header(self.model, out)
            entry = segment.entry
            framing = Type(entry.name, entry.spec_id, entry.location, segment.framing)
            scope = Scope(framing)
            walk.read(scope)
            reference = segment.body.type
            assert isinstance(reference, TypeReference)
            assert reference.size is not None
            out.line(f"size := {walk.translator(scope).text(reference.size)}")
            out.when("size < 0 || size > int64(end-pos)", "return false")
            out.line("end = pos + int(size)")
            out.line("h.Size = end - h.Position")
            self._peek(walk)
            self._cases(scope, walk)
        out.line()

    def _peek(self, walk: GoWalk) -> None:
        peek, out = self.segment.peek, self.out
        assert isinstance(peek.type, IntegerType)
        assert isinstance(peek.position, ex.Int)
        start = peek.position.value
        out.when(f"end-pos < {start + peek.type.size}", "return false")
        out.line(f"selector := int64({load(peek.type, f'pos+{start}' if start else 'pos')})")
        for test in walk.translator(Scope(self.segment.choice), "selector").violated(peek):
            out.when(test, "return false")

    def _cases(self, scope: Scope, walk: GoWalk) -> None:
        out, segment = self.out, self.segment
        known = {**scope.names, segment.peek.id: "selector"}
        outer = Scope(segment.entry, names=known)
        default = False
        out.line("switch selector {")
        for number, kind in enumerate(segment.kinds):
            values = [n for n, ref in segment.switch.cases if self.model.type(ref) == kind]
            listed = [str(value) for value in values if value is not None]
            default = default or None in values
            out.line(f"case {', '.join(listed)}:" if listed else "default:")
            given = [
                walk.translator(outer).text(value, 2) for value in segment.arguments(kind).values()
            ]
            with out.indented():
                out.line(f"h.Kind = {number}")
                passed = "".join(f", {text}" for text in given)
                out.line(f"return read{type_name(kind)}(data, pos, end{passed}, h)")
        out.line("}")
        out.line("return false")

    def _kind(self, kind: Type) -> None:
        out = self.out
        given = [p.id for p in kind.parameters if isinstance(p.type, IntegerType)]
        head = "".join(f", p{exported(name)} int64" for name in given)
        out.line(f"func read{type_name(kind)}(data []byte, pos, end int{head}, h *Header) bool {{")
        with out.indented():
            scope = Scope(kind)
            for name in given:
                out.line(f"h.{field_of(name)} = p{exported(name)}")
                scope.names[name] = f"h.{field_of(name)}"
            walk = _Header(self.model, out)
            walk.read(scope)
            go = walk.translator(scope)
            for instance in kind.value_instances:
                target = f"h.{field_of(instance.id)}"
                if instance.condition is not None:
                    with out.block(f"if {go.text(instance.condition)} {{", "}"):
                        out.line(f"{target} = {go.text(instance.value)}")
                else:
                    out.line(f"{target} = {go.text(instance.value)}")
                scope.names[instance.id] = target
            out.line("return pos <= end")
        out.lines("}", "")

    def _facts(self) -> None:
        out, segment = self.out, self.segment
        out.line("// KindKeys has the keys of the types of entries.")
        with out.block("var KindKeys = []string{", "}"):
            out.lines(*[f'"{kind.key}",' for kind in segment.kinds])
        out.line()
        batches = {batch.type.key: batch for batch in segment.batches}
        self._switch(
            "IsBatch",
            "bool",
            "says whether records are in a payload; otherwise the entry is one message.",
            {kind.key: f"{str(kind.key in batches).lower()}" for kind in segment.kinds},
        )
        timed = entry_kinds(self.model)[segment.entry.key]
        untimed = [str(n) for n, kind in timed.items() if not kind.has_timestamps]
        out.line("// HasTimestamps says whether entries of a magic have timestamps.")
        with out.block("func HasTimestamps(magic int64) bool {", "}"):
            out.line("switch magic {")
            if untimed:
                out.line(f"case {', '.join(untimed)}:")
                with out.indented():
                    out.line("return false")
            out.lines("}", "return true")
        out.line()
        out.line("// Payload returns where the bytes are that may be compressed, and their size.")
        with out.block("func (h *Header) Payload() (int, int) {", "}"):
            out.line("switch h.Kind {")
            for number, kind in enumerate(segment.kinds):
                name = batches[kind.key].payload.id if kind.key in batches else names.VALUE
                out.line(f"case {number}:")
                with out.indented():
                    position, size = (
                        f"int(h.{field_of(f'{name}.{part}')})" for part in ("position", "size")
                    )
                    out.line(f"return {position}, {size}")
            out.lines("}", "return 0, -1")
        out.line()
        self._payload_path(batches)
        self._ends()
        self._entry_size()
        self._unknown_magic()
        self._known_codecs()
        self._checksums()
        self._explain()

    def _ends(self) -> None:
        """Write the last offset and the largest timestamp of an entry, whatever its kind."""
        for method, doc, first, second in (
            ("EndOffset", "returns the last offset of the entry.", names.LAST_OFFSET, names.OFFSET),
            (
                "LargestTimestamp",
                "returns the largest timestamp that the header says, -1 for none.",
                names.MAX_TIMESTAMP,
                names.TIMESTAMP,
            ),
        ):
            values = {}
            for kind in self.segment.kinds:
                own = {member.path for member in members(self.model, kind)}
                path = first if first in own else second
                values[kind.key] = f"h.{field_of(path)}" if path in own else "-1"
            self._switch(method, "int64", doc, values)

    def _entry_size(self) -> None:
        out, segment = self.out, self.segment
        out.line("// EntrySize returns the size that an entry claims; -1 if it is cut or wrong.")
        with out.block("func EntrySize(data []byte, pos int) int64 {", "}"):
            out.line("begin, end := pos, len(data)")
            out.line("var h Header")
            walk = _Header(self.model, out)
            walk.fail = "return -1"
            entry = segment.entry
            scope = Scope(Type(entry.name, entry.spec_id, entry.location, segment.framing))
            walk.read(scope)
            assert isinstance(segment.body.type, TypeReference)
            assert segment.body.type.size is not None
            size = walk.translator(scope).text(segment.body.type.size)
            out.line(f"return {size} + int64(pos-begin)")
        out.line()

    def _payload_path(self, batches: dict[str, Batch]) -> None:
        _out, segment = self.out, self.segment
        paths = {
            kind.key: batches[kind.key].payload.id if kind.key in batches else names.VALUE
            for kind in segment.kinds
        }
        above = f"/{segment.body.id}/{segment.choice.fields[0].id}"
        self._switch(
            "PayloadPath",
            "string",
            "returns the path of what may be compressed.",
            {key: f'"{above}/{name}"' for key, name in paths.items()},
        )

    def _unknown_magic(self) -> None:
        """Write what reads messages of any magic, as Kafka does inside a wrapper."""
        out, segment = self.out, self.segment
        kinds = {type_.key for type_ in segment.messages}
        magics = [
            number
            for number, reference in segment.switch.cases
            if number is not None and self.model.type(reference).key in kinds
        ]
        before = sum(fixed_size(self.model, field) or 0 for field in segment.framing)
        assert isinstance(segment.peek.position, ex.Int)
        at = before + segment.peek.position.value
        tests = [f"data[pos+{at}] == {number}" for number in magics]
        out.line("// IsMessage says whether an entry has the magic of a message, or none.")
        with out.block("func IsMessage(data []byte, pos int) bool {", "}"):
            out.line(f"return len(data)-pos <= {at} || {' || '.join(tests) or 'false'}")
        out.line()
        out.line("// NewestMessage is the magic of the newest message.")
        out.lines(f"const NewestMessage = {max(magics, default=0)}", "")
        out.line(
            "// SetMagic changes the magic of the entry at a position, and returns the former one."
        )
        with out.block("func SetMagic(data []byte, pos int, magic byte) byte {", "}"):
            out.line(f"former := data[pos+{at}]")
            out.line(f"data[pos+{at}] = magic")
            out.line("return former")
        out.line()

    def _known_codecs(self) -> None:
        """Write which numbers of compressions an entry may have."""
        out, segment = self.out, self.segment
        tests = {}
        for kind in segment.kinds:
            field = _field_at(self.model, kind, names.COMPRESSION)
            low, high = field.known or (0, (1 << 63) - 1) if field else (0, 0)
            tests[kind.key] = f"number >= {low} && number <= {high}" if field else "false"
        out.line("// MayHave says whether a compression has a meaning in an entry of this kind.")
        with out.block("func (h *Header) MayHave(number int64) bool {", "}"):
            out.line("switch h.Kind {")
            for number, kind in enumerate(segment.kinds):
                out.line(f"case {number}:")
                with out.indented():
                    out.line(f"return {tests[kind.key]}")
            out.lines("}", "return false")
        out.line()

    def _switch(self, name: str, kind: str, doc: str, values: dict[str, str]) -> None:
        out = self.out
        out.line(f"// {name} {doc}")
        with out.block(f"func (h *Header) {name}() {kind} {{", "}"):
            out.line("switch h.Kind {")
            for number, each in enumerate(self.segment.kinds):
                out.line(f"case {number}:")
                with out.indented():
                    out.line(f"return {values[each.key]}")
            nothing = {"bool": "false", "string": '""'}.get(kind, "0")
            out.lines("}", f"return {nothing}")
        out.line()

    def _checksums(self) -> None:
        """Write the function that verifies the checksum of an entry."""
        out, segment = self.out, self.segment
        before = sum(fixed_size(self.model, field) or 0 for field in segment.framing)
        out.line("// VerifyChecksum compares the checksum in an entry with that of its bytes.")
        with out.block("func (h *Header) VerifyChecksum(data []byte) *Error {", "}"):
            out.line("end := h.Position + h.Size")
            out.line("switch h.Kind {")
            for number, kind in enumerate(segment.kinds):
                found = checksum_of(self.model, kind)
                if found is None:
                    continue
                path = f"/{segment.body.id}/{segment.choice.fields[0].id}/{found.field.id}"
                out.line(f"case {number}:")
                with out.indented():
                    out.line(f"stored := h.{field_of(found.field.id)}")
                    covered = f"data[h.Position+{before + found.start} : end]"
                    out.line(f"computed := int64({found.function}({covered}))")
                    error = f'mismatch(h.Position+{before + found.position}, stored, computed, "{path}", "{found.field.location}")'  # noqa: E501
                    out.when("stored != computed", f"return {error}")
            out.lines("}", "return nil")
        out.line()

    def _explain(self) -> None:
        """Write the functions that say why bytes are refused."""
        out, segment = self.out, self.segment
        entry = type_name(segment.entry)
        out.line("// ExplainEntry returns the error of an entry; nil if there is none.")
        with out.block("func ExplainEntry(data []byte, pos int, complete bool) *Error {", "}"):
            out.line(f"_, err := parse{entry}(data, pos, len(data), complete, new({entry}))")
            out.line("return err")
        out.line()
        out.line("// ExplainRecords returns the error of the records in a payload of an entry.")
        with out.block(
            "func (h *Header) ExplainRecords(data, payload []byte, pos, end int) *Error {", "}"
        ):
            out.line(f"v := new({entry})")
            with out.block(
                f"if _, err := parse{entry}(data, h.Position, h.Position+h.Size, true, v); "
                "err != nil {",
                "}",
            ):
                out.line("return err")
            chosen = f"v.{exported(segment.body.id)}"
            out.line(f"switch batch := {chosen}.(type) {{")
            for batch in segment.batches:
                out.line(f"case *{type_name(batch.type)}:")
                with out.indented():
                    made = type_name(batch.record_set)
                    call = f"parse{made}(payload, pos, end, true, batch, new({made}))"
                    out.line(f"_, err := {call}")
                    out.line("return err")
            out.lines("}", "return nil")
        out.line()

    def _column_structure(self) -> None:
        out = self.out
        out.lines(
            "// Columns of records. One that is not wanted is nil. Spans are in Bytes, and their",
            "// size is negative for null. Where a format has no such number, it is -1.",
        )
        with out.block("type Columns struct {", "}"):
            out.lines("// Rows is the number of records.", "Rows int", "")
            out.lines("// Bytes is what spans count from.", "Bytes []byte")
            for column in self.columns:
                kind = {INTEGER: "[]int64", LIST: "[]int32"}.get(column.kind, "[]Span")
                out.line()
                if column.kind == LIST:
                    out.line("// Items of a record are those from its number up to the next.")
                out.line(f"{exported(column.path)} {kind}")
            out.lines("", "wanted Wanted")
        out.line()
        out.lines("// Wanted is a set of columns.", "type Wanted uint64", "")
        for number, column in enumerate(self.columns):
            out.line(f"// Want{exported(column.path)} is the column {column.path}.")
            out.lines(f"const Want{exported(column.path)} Wanted = 1 << {number}", "")
        usual = [c for c in self.columns if c.path in names.RECORD_NAMES and not self._is_raw(c)]
        out.line("// WantRecords has the columns that say what a record is.")
        listed = " | ".join(f"Want{exported(column.path)}" for column in usual)
        out.lines(f"const WantRecords = {listed}", "")
        out.line("// ColumnNames has the names of the columns in the order of Wanted.")
        with out.block("var ColumnNames = []string{", "}"):
            out.lines(*[f'"{column.path}",' for column in self.columns])
        out.line()
        self._reset()
        self._grow()

    def _is_raw(self, column: Column) -> bool:
        instances = {
            instance.id
            for batch in self.segment.batches
            for instance in batch.record(self.model).value_instances
        }
        return column.kind == INTEGER and column.path not in instances

    def _reset(self) -> None:
        out = self.out
        out.line("// Reset empties the columns, and says which are wanted from now on.")
        with out.block("func (c *Columns) Reset(wanted Wanted) {", "}"):
            out.lines("c.Rows = 0", "c.Bytes = nil", "c.wanted = wanted")
            for column in self.columns:
                name = exported(column.path)
                out.line(f"c.{name} = emptied(c.{name}, wanted&Want{name} != 0)")
                if column.kind == LIST:
                    with out.block(f"if c.{name} != nil {{", "}"):
                        out.line(f"c.{name} = append(c.{name}, 0)")
        out.line()

    def _grow(self) -> None:
        out = self.out
        out.line("// grow adds rows to the wanted columns that have one value for each record.")
        with out.block("func (c *Columns) grow(rows int) {", "}"):
            out.line("c.Rows += rows")
            for column in self.columns:
                if column.list_path is None:
                    name = exported(column.path)
                    out.line(f"c.{name} = extended(c.{name}, rows)")
        out.line()
        out.line(
            "// Shift adds to the offsets of all records, and replaces timestamps that are not -1"
        )
        out.line("// where the row has one; that is what a wrapper does to its messages.")
        offset, timestamp = exported(names.OFFSET), exported(names.TIMESTAMP)
        with out.block(
            "func (c *Columns) Shift(offset int64, replace bool, timestamp int64, timed []bool) {",
            "}",
        ):
            with out.block(f"for i := range c.{offset} {{", "}"):
                out.line(f"c.{offset}[i] += offset")
            with (
                out.block("if replace {", "}"),
                out.block(f"for i := range c.{timestamp} {{", "}"),
                out.block("if timed[i] {", "}"),
            ):
                out.line(f"c.{timestamp}[i] = timestamp")
        out.line()

    def _message(self) -> None:
        out = self.out
        out.line(
            "// AppendMessage adds a record that is an entry; its bytes are those of the header."
        )
        with out.block("func (c *Columns) AppendMessage(h *Header) {", "}"):
            out.line("row := c.Rows")
            out.line("c.grow(1)")
            out.line("switch h.Kind {")
            for number, kind in enumerate(self.segment.kinds):
                if kind not in self.segment.messages:
                    continue
                own = {member.path for member in members(self.model, kind)}
                strings = {field.id for field in kind.fields if is_bytes(self.model, field)}
                out.line(f"case {number}:")
                with out.indented():
                    for column in self.columns:
                        self._message_column(column, own, strings)
            out.line("}")
        out.line()

    def _message_column(self, column: Column, own: set[str], strings: set[str]) -> None:
        if column.list_path is not None:
            return
        out, name, path = self.out, exported(column.path), column.path
        if column.kind == LIST:
            with out.block(f"if c.{name} != nil {{", "}"):
                out.line(f"c.{name}[row+1] = c.{name}[row]")
            return
        if column.kind == INTEGER:
            value = f"h.{field_of(path)}" if path in own else "-1"
        elif path in strings:
            position, size = (field_of(f"{path}.{part}") for part in ("position", "size"))
            value = f"Span{{int32(h.{position}), int32(h.{size})}}"
        else:
            value = "Span{0, -1}"
        with out.block(f"if c.{name} != nil {{", "}"):
            out.line(f"c.{name}[row] = {value}")

    def _decode(self) -> None:
        out = self.out
        out.lines(
            "// Decode adds the records in payload[pos:end] to the columns; false if they are",
            "// wrong. ExplainRecords says why.",
        )
        with out.block(
            "func (h *Header) Decode(payload []byte, pos, end int, c *Columns) bool {", "}"
        ):
            out.line("switch h.Kind {")
            for number, kind in enumerate(self.segment.kinds):
                for batch in self.segment.batches:
                    if batch.type == kind:
                        out.line(f"case {number}:")
                        with out.indented():
                            made = type_name(batch.record_set)
                            out.line(f"return decode{made}(h, payload, pos, end, c)")
            out.lines("}", "return false")
        out.line()


def _field_at(model: Model, type_: Type, path: str) -> Field | None:
    """Return the field of a structure at a dotted path, None if it has none there."""
    *above, last = path.split(".")
    for name in above:
        field = type_.field_by_id.get(name)
        if field is None or not isinstance(field.type, TypeReference):
            return None
        type_ = model.type(field.type)
    return type_.field_by_id.get(last)


class _Records(GoWalk):
    """Writer of the loop over the records of a batch."""

    def __init__(
        self, segment: Segment, batch: Batch, columns: tuple[Column, ...], out: GoWriter
    ) -> None:
        super().__init__(segment.model, out)
        self.segment, self.batch, self.columns = segment, batch, columns
        self.row = ""
        self.have: set[str] = set()
        self.raw = {c.path for c in columns if c.kind == INTEGER}

    def emit(self) -> None:
        """Write the function."""
        out, name = self.out, type_name(self.batch.record_set)
        out.line(f"func decode{name}(h *Header, data []byte, pos, end int, c *Columns) bool {{")
        with out.indented():
            out.line("data = data[:end]")
            scope, parameter = Scope(self.batch.record_set), self.batch.parameter.id
            for member in members(self.model, self.batch.type):
                scope.names[f"{parameter}.{member.path}"] = f"h.{field_of(member.path)}"
            self.read(scope)
            self._absent()
            out.line("return true")
        out.lines("}", "")

    def _absent(self) -> None:
        for column in self.columns:
            if column.path in self.have or column.list_path:
                continue
            name = exported(column.path)
            nothing = {INTEGER: f"c.{name}[i] = -1", LIST: f"c.{name}[i+1] = c.{name}[i]"}
            with (
                self.out.block(f"if c.{name} != nil {{", "}"),
                self.out.block("for i := first; i < c.Rows; i++ {", "}"),
            ):
                self.out.line(nothing.get(column.kind, f"c.{name}[i] = Span{{0, -1}}"))

    def place(self, scope: Scope, path: str) -> tuple[str, str]:
        variable = f"v{exported(scope.prefix + path)}"
        scope.names[path] = variable
        return variable, ":="

    def on_bytes(self, scope: Scope, field: Field, start: str, size: str) -> None:
        path = scope.prefix + field.id
        self.have.add(path)
        name = f"c{exported(path)}"
        span = f"Span{{int32({start}), int32({size})}}"
        if self.row == "i":
            self.out.when(f"{name} != nil", f"{name}[i] = {span}")
        else:
            self.out.when(f"{name} != nil", f"{name} = append({name}, {span})")

    def on_read(self, scope: Scope, ids: tuple[str, ...]) -> None:
        if not self.row or scope.type.is_frame or scope.type.scalar:
            return
        stored = []
        for path, value in list(scope.names.items()):
            column = scope.prefix + path
            if path.split(".")[0] in ids and column in self.raw and column not in self.have:
                self.have.add(column)
                stored.append((column, value))
        if stored:
            with self.out.block("if extra {", "}"):
                for column, value in stored:
                    self._store(column, value)
        if scope.prefix:
            return
        for instance in scope.type.value_instances:
            known = {path.split(".")[0] for path in scope.names}
            if instance.id in self.have or not ex.names(instance.value) <= known:
                continue
            if instance.condition is not None:
                raise UnsupportedError(f"{instance.location}: a column may not have a condition")
            self.have.add(instance.id)
            self._instance(scope, instance.id, instance.value)

    def _instance(self, scope: Scope, name: str, value: ex.Expression) -> None:
        go, column = self.translator(scope), f"c{exported(name)}"
        with self.out.block(f"if {column} != nil {{", "}"):
            if isinstance(value, ex.Ternary):
                with self.out.block(f"if {go.text(value.condition)} {{"):
                    self.out.line(f"{column}[i] = {go.text(value.then)}")
                with self.out.block("} else {", "}"):
                    self.out.line(f"{column}[i] = {go.text(value.otherwise)}")
            else:
                self.out.line(f"{column}[i] = {go.text(value)}")

    def _store(self, path: str, value: str) -> None:
        name = f"c{exported(path)}"
        stored = f"{name} = append({name}, {value})" if self.row != "i" else f"{name}[i] = {value}"
        self.out.when(f"{name} != nil", stored)

    def on_array(self, scope: Scope, field: Field) -> None:
        assert field.repeat is not None
        if field.repeat.count is None or not isinstance(field.type, TypeReference):
            raise UnsupportedError(f"{field.location}: columns are of counted structures")
        count = self.translator(scope).text(field.repeat.count)
        least = max(1, minimum_size(self.model, self.model.type(field.type)))
        if self.row:
            self._items(scope, field, field.type, count, least)
        else:
            self._rows(scope, field, field.type, count, least)

    def _rows(
        self, scope: Scope, field: Field, reference: TypeReference, count: str, least: int
    ) -> None:
        out = self.out
        out.line(f"rows := {count}")
        out.when(f"rows < 0 || rows > int64((end-pos)/{least})", self.fail)
        out.line("first := c.Rows")
        out.line("c.grow(int(rows))")
        extra = [c for c in self.columns if c.kind == INTEGER and self._is_raw(c)]
        for column in self.columns:
            name = exported(column.path)
            out.line(f"c{name} := c.{name}")
        tests = " || ".join(f"c{exported(column.path)} != nil" for column in extra)
        out.line(f"extra := {tests or 'false'}")
        self.row = "i"
        with out.block("for i := first; i < first+int(rows); i++ {", "}"):
            self._item(scope, reference, "")
        self.row = ""
        for column in self.columns:
            if column.list_path is not None:
                out.line(f"c.{exported(column.path)} = c{exported(column.path)}")
            elif column.path not in self.have:
                out.line(f"_ = c{exported(column.path)}")

    def _is_raw(self, column: Column) -> bool:
        instances = self.batch.record(self.model).value_instances
        return column.path not in {instance.id for instance in instances}

    def _items(
        self, scope: Scope, field: Field, reference: TypeReference, count: str, least: int
    ) -> None:
        if scope.prefix:
            raise UnsupportedError(f"{field.location}: columns have no lists of lists")
        out, name = self.out, f"c{exported(field.id)}"
        items = f"items{exported(field.id)}"
        self.have.add(field.id)
        out.line(f"{items} := {count}")
        with out.block(f"if {items} != 0 {{", "}"):
            test = f"{items} < 0 || {items} > int64(({scope.end}-pos)/{least})"
            out.when(test, self.fail)
            self.row = "item"
            with out.block(f"for item := int64(0); item < {items}; item++ {{", "}"):
                self._item(scope, reference, f"{field.id}.")
            self.row = "i"
        out.when(f"{name} != nil", f"{name}[i+1] = {name}[i] + int32({items})")

    def _item(self, scope: Scope, reference: TypeReference, prefix: str) -> None:
        inner = self.model.type(reference)
        given = self.arguments(scope, inner, reference)
        self.read(Scope(inner, prefix, given, scope.end))
