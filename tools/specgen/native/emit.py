"""Emit ``generated/native``: plain C99 that scans, decodes and encodes segments by columns."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tools.specgen.facts.columns import INTEGER, LIST
from tools.specgen.facts.segments import Batch, Segment, members, segments
from tools.specgen.model import Model, Type
from tools.specgen.native import tables
from tools.specgen.native.decode import (
    LAYOUTS,
    Numbers,
    RecordDecoder,
    emit_message_columns,
    record_size,
)
from tools.specgen.native.encode_entries import HeaderEncoder, MessageEncoder, header_size
from tools.specgen.native.encode_records import RecordEncoder
from tools.specgen.native.entries import EntryEmitter
from tools.specgen.native.expressions import Unsupported
from tools.specgen.native.headers import (
    FRAME_HEAD,
    emit_entry,
    emit_frame_structure,
    emit_hop,
    emit_reader,
    emit_structure,
    reader_head,
    structure_name,
)
from tools.specgen.output import Output
from tools.specgen.writer import CodeWriter, CWriter

TEMPLATES = Path(__file__).with_name("c")


def emit(model: Model) -> list[Output]:
    """Return fixed headers, and the codec of the log; tables where no library knows logs."""
    if not model.house.library:
        return tables.emit(model)
    every = tuple(spec.id for spec in model.specs)
    fixed = [
        Output(f"native/{name}", every, (TEMPLATES / name).read_text(encoding="utf-8"))
        for name in ("abi.h", "numbers.h", "runtime.h")
    ]
    log = [
        Output("native/segment.c", (segment.type.spec_id,), _Module(segment).text())
        for segment in segments(model)[:1]
    ]
    return [*fixed, *log]


_ENCODE_HEAD = """\
static int encode_{}(const int64_t *header, const ks_in *in, int64_t first,
        int64_t rows, uint8_t *out, int64_t capacity, int64_t *used)"""
_DECODE_HEAD = """\
KS_INLINE int decode_{}(const {} *header, const ks_buffer *buffer,
        int64_t start, int64_t size, int32_t number, ks_out *out, const int layout,
        const int extra, const int strings, int64_t *position)"""


class _Module:
    """Writer of ``segment.c``."""

    def __init__(self, segment: Segment) -> None:
        self.segment = segment
        self.model = segment.model
        self.numbers = Numbers(segment)
        self.out = CWriter()
        self.used: dict[str, int] = {}
        self.finished: set[str] = set()

    def text(self) -> str:
        out = self.out
        out.line("/* Entries, batches and records, read into columns and written from them. */")
        out.line('#include "runtime.h"')
        out.line()
        for kind in self.segment.kinds:
            emit_structure(self.model, kind, out)
            self._unit(
                lambda part, kind=kind: emit_reader(self.model, kind, part),  # type: ignore[misc]
                reader_head(kind),
                "NULL",
            )
        emit_frame_structure(self.segment, out)
        self._unit(lambda part: emit_entry(self.segment, part), FRAME_HEAD, "KS_IRREGULAR")
        for batch in self.segment.batches:
            self._batch(batch)
        for kind in self.segment.messages:
            emit_message_columns(self.segment, kind, self.numbers, out)
            self._unit(
                lambda part, kind=kind: MessageEncoder(  # type: ignore[misc]
                    self.segment, kind, self.numbers, part
                ).emit(),
                _ENCODE_HEAD.format(kind.name),
                "KS_RANGE",
            )
        EntryEmitter(self.segment, self.numbers, out).emit()
        self._decode()
        self._tables()
        return out.text()

    def _unit(self, emit: Callable[[CodeWriter], None], head: str, refusal: str) -> None:
        """Write a function, or one that refuses everything if C does not support its shape."""
        part = CWriter()
        try:
            emit(part)
        except Unsupported as reason:
            self.out.line(f"/* {reason}: left to the Python codec. */")
            with self.out.block(f"{head}\n{{", "}"):
                for name in re.findall(r"(\w+)[,)]", head):
                    self.out.line(f"(void){name};")
                self.out.line(f"return {refusal};")
            self.out.line()
            return
        self.out.lines(*part.text().rstrip("\n").split("\n"), "")

    def _batch(self, batch: Batch) -> None:
        name, finish = batch.record_set.name, CWriter()
        structure = structure_name(batch.type)

        def decode(part: CodeWriter) -> None:
            decoder = RecordDecoder(self.segment, batch, self.numbers, part)
            decoder.emit()
            self.used[batch.type.key] = decoder.used()

        def encode(part: CodeWriter) -> None:
            RecordEncoder(self.segment, batch, self.numbers, part).emit()

        self._unit(decode, _DECODE_HEAD.format(name, structure), "KS_IRREGULAR")
        self._dispatch(batch)
        self._unit(encode, _ENCODE_HEAD.format(name), "KS_RANGE")
        with suppress(Unsupported):
            HeaderEncoder(self.segment, batch, finish).emit()
            emit_hop(self.segment, batch.type, header_size(self.segment, batch), finish)
            self.finished.add(batch.type.key)
            self.out.lines(*finish.text().rstrip("\n").split("\n"), "")

    def _dispatch(self, batch: Batch) -> None:
        """Write a copy of the loop for integers alone, for each layout, and for rare columns."""
        out, name = self.out, batch.record_set.name
        raw = [c for c in self.numbers.records if c.kind == INTEGER]
        record = {i.id for i in batch.record(self.model).value_instances}
        extra = [self.numbers[c.path] for c in raw if c.path not in record]
        test = " || ".join(f"out->integers[{number}] != NULL" for number in extra) or "0"
        others = [c for c in self.numbers.records if c.kind != INTEGER]
        kinds = [(("lists" if c.kind == LIST else "bytes"), self.numbers[c.path]) for c in others]
        wanted = " || ".join(f"out->{kind}[{number}].wanted" for kind, number in kinds) or "0"
        out.line(f"static int columns_{name}(const {structure_name(batch.type)} *h,")
        with out.block(
            "        const ks_buffer *buffer, int64_t start, int64_t size, int32_t number,\n"
            "        ks_out *out, int64_t *position)\n{",
            "}",
        ):
            out.line(f"const int extra = {test};")
            out.line(f"const int strings = {wanted};")
            call = f"decode_{name}(h, buffer, start, size, number, out, "
            with out.block("if (!strings && !extra)"):
                out.line(f"return {call}KS_VIEW, 0, 0, position);")
            for layout in LAYOUTS:
                with out.block(f"if (out->layout == KS_{layout} && !extra)"):
                    out.line(f"return {call}KS_{layout}, 0, 1, position);")
            out.line(f"return {call}out->layout, 1, 1, position);")
        out.line()
        out.line(f"static int payload_{name}(const int64_t *header, const ks_buffer *payload,")
        with out.block("        ks_out *out, int64_t *position)\n{", "}"):
            out.line(f"{structure_name(batch.type)} h;")
            out.line("memcpy(&h, header, sizeof h - sizeof h.present);")
            out.line("h.present = 0;")
            out.line(f"return columns_{name}(&h, payload, 0, payload->size, 0, out, position);")
        out.line()

    def _decode(self) -> None:
        lists = sum(1 for c in self.numbers.records if c.kind == LIST)
        strings = sum(1 for c in self.numbers.records if c.kind.endswith("BYTES"))
        text = (TEMPLATES / "decode.c").read_text(encoding="utf-8")
        text = text.replace("@BYTES@", str(max(strings, 1))).replace("@LISTS@", str(max(lists, 1)))
        lists_of = ", ".join(
            str(self.numbers[c.list_path]) if c.list_path else "-1"
            for c in self.numbers.records
            if c.kind.endswith("BYTES")
        )
        self.out.line("/* The list that holds each byte column, -1 for none. */")
        self.out.line(f"static const int ks_bytes_list[] = {{{lists_of or '-1'}}};")
        self.out.line()
        self.out.lines(*text.rstrip("\n").split("\n"))
        self.out.line()

    def _tables(self) -> None:
        out, numbers = self.out, self.numbers
        columns = (*numbers.records, *numbers.batches)
        with out.block("const ks_column ks_columns[] = {", "};"):
            for c in columns:
                owner = numbers[c.list_path] if c.list_path else -1
                out.line(f'{{"{c.path}", KS_{c.kind}, {numbers[c.path]}, {owner}}},')
        counts = {
            "integers": sum(c.kind == INTEGER for c in columns),
            "bytes": sum(c.kind.endswith("BYTES") for c in columns),
            "lists": sum(c.kind == LIST for c in columns),
        }
        out.line(f"const int ks_columns_count = {len(columns)};")
        for name, count in counts.items():
            out.line(f"const int ks_{name}_count = {count};")
        out.line()
        with out.block("const char *const ks_scan_names[] = {", "};"):
            out.lines(*[f'"{name}",' for name in self.segment.scan_columns])
        out.line(f"const int ks_scan_count = {len(self.segment.scan_columns)};")
        out.line()
        for kind in self.segment.kinds:
            with out.block(f"static const char *const names_{kind.name}[] = {{", "};"):
                out.lines(*[f'"{member.path}",' for member in members(self.model, kind)])
        batches = {batch.type.key: batch for batch in self.segment.batches}
        with out.block("const ks_kind ks_kinds[] = {", "};"):
            for kind in self.segment.kinds:
                self._kind(kind, batches.get(kind.key))
        out.line(f"const int ks_kinds_count = {len(self.segment.kinds)};")

    def _kind(self, kind: Type, batch: Batch | None) -> None:
        count = len(members(self.model, kind))
        used = self.used.get(kind.key, (1 << count) - 1)
        parts = [f'"{kind.key}"', str(count), f"names_{kind.name}", f"UINT64_C({hex(used)})"]
        if batch is None:
            parts += ["0", "0", "0", "NULL", f"encode_{kind.name}", "NULL", "NULL"]
        else:
            name = batch.record_set.name
            own = kind.key in self.finished
            size = header_size(self.segment, batch) if own else 0
            parts += ["1", str(record_size(self.model, batch)), str(size), f"payload_{name}"]
            parts += [f"encode_{name}"]
            parts += [f"{what}_{kind.name}" if own else "NULL" for what in ("finish", "hop")]
        self.out.line(f"{{{', '.join(parts)}}},")
