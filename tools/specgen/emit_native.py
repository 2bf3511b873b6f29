"""Emits ``generated/native``: plain C99 that scans, decodes and encodes segments by columns."""

from __future__ import annotations

from pathlib import Path

from tools.specgen import native_arrays
from tools.specgen.model import Model, Type
from tools.specgen.native_decode import (
    Numbers,
    RecordDecoder,
    emit_message_columns,
    used_members,
)
from tools.specgen.native_encode import MessageEncoder, RecordEncoder, emit_finish, header_size
from tools.specgen.native_headers import (
    cases_of,
    checksum,
    emit_entry,
    emit_reader,
    emit_structure,
    kind_arguments,
    structure_name,
)
from tools.specgen.native_shapes import INTEGER, LIST, Batch, Segment, members, segments
from tools.specgen.output import Output
from tools.specgen.writer import CodeWriter

TEMPLATES = Path(__file__).with_name("native_c")


def emit(model: Model) -> list[Output]:
    """Two fixed headers, the codec of the one segment type, and the arrays of all files."""
    found = segments(model)
    if len(found) != 1:
        raise ValueError(f"the native codec needs one type of segment, there are {len(found)}")
    every = tuple(spec.id for spec in model.specs)
    fixed = [
        Output(f"native/{name}", every, (TEMPLATES / name).read_text(encoding="utf-8"))
        for name in ("abi.h", "runtime.h")
    ]
    segment = found[0]
    return [
        *fixed,
        Output("native/segment.c", (segment.type.spec_id,), _Module(segment).text()),
        Output("native/arrays.c", every, native_arrays.text(model)),
    ]


class _Module:
    """``segment.c``."""

    def __init__(self, segment: Segment) -> None:
        self.segment = segment
        self.model = segment.model
        self.numbers = Numbers(segment)
        self.out = CodeWriter()

    def text(self) -> str:
        out = self.out
        out.line("/* Entries, batches and records, read into columns and written from them. */")
        out.line('#include "runtime.h"')
        out.line()
        for kind in self.segment.kinds:
            emit_structure(self.model, kind, out)
            emit_reader(self.model, kind, out)
        emit_entry(self.segment, out)
        for batch in self.segment.batches:
            RecordDecoder(self.segment, batch, self.numbers, out).emit()
            self._dispatch(batch)
            RecordEncoder(self.segment, batch, self.numbers, out).emit()
            emit_finish(self.segment, batch, out)
        for kind in self.segment.messages:
            emit_message_columns(self.segment, kind, self.numbers, out)
            MessageEncoder(self.segment, kind, self.numbers, out).emit()
        self._scan()
        for kind in self.segment.kinds:
            self._fill(kind)
        self._run()
        self._batch()
        self._decode()
        self._tables()
        return out.text()

    def _dispatch(self, batch: Batch) -> None:
        """One copy of the loop for each layout, with and without the rarely wanted columns."""
        out, name = self.out, batch.record_set.name
        raw = [c for c in self.numbers.records if c.kind == INTEGER]
        record = {i.id for i in self._record(batch).value_instances}
        extra = [self.numbers[c.path] for c in raw if c.path not in record]
        test = " || ".join(f"out->integers[{number}] != NULL" for number in extra) or "0"
        out.line(f"static int columns_{name}(const {structure_name(batch.type)} *h,")
        with out.block(
            "        const ks_buffer *buffer, int64_t start, int64_t size, int32_t number,\n"
            "        ks_out *out, int64_t *position)\n{",
            "}",
        ):
            out.line(f"const int extra = {test};")
            call = f"decode_{name}(h, buffer, start, size, number, out, "
            for layout in ("KS_VIEW", "KS_BINARY"):
                with out.block(f"if (out->layout == {layout} && !extra)"):
                    out.line(f"return {call}{layout}, 0, position);")
            with out.block("if (out->layout == KS_SPAN && !extra)"):
                out.line(f"return {call}KS_SPAN, 0, position);")
            out.line(f"return {call}out->layout, 1, position);")
        out.line()
        out.line(f"static int payload_{name}(const int64_t *header, const ks_buffer *payload,")
        with out.block("        ks_out *out, int64_t *position)\n{", "}"):
            out.line(f"{structure_name(batch.type)} h;")
            out.line("memcpy(&h, header, sizeof h - sizeof h.present);")
            out.line("h.present = 0;")
            out.line(f"return columns_{name}(&h, payload, 0, payload->size, 0, out, position);")
        out.line()

    def _record(self, batch: Batch) -> Type:
        from tools.specgen.native_shapes import resolved

        reference = batch.items.type
        return resolved(self.model, reference)  # type: ignore[arg-type]

    def _scan(self) -> None:
        out = self.out
        names = self.segment.scan_columns
        if len(names) > 64:
            raise ValueError("a scan has 64 columns at most")
        out.line("int ks_scan(const uint8_t *bytes, int64_t start, int64_t end, int64_t *columns,")
        with out.block(
            "            int64_t capacity, uint64_t *present, int64_t *count, int64_t *position)\n{",
            "}",
        ):
            out.line("const uint8_t *p = bytes + start;")
            out.line("const uint8_t *const stop = bytes + end;")
            out.line("int64_t i = 0;")
            out.line("int status = KS_OK;")
            with out.block("for (; p < stop; i++) {", "}"):
                with out.block("if (i == capacity) {", "}"):
                    out.lines("status = KS_GROW;", "break;")
                out.line("struct frame frame;")
                out.line("status = read_frame(p, stop, &frame);")
                with out.block("if (status != KS_OK)"):
                    out.line("break;")
                out.line("int64_t *const row = columns + i;")
                self._put(names.index("position"), "p - bytes")
                self._put(names.index("size"), "frame.end - p")
                bits = 0b11
                for member in members(self.model, self.segment.entry):
                    self._put(names.index(member.path), f"frame.{member.c_name}")
                    bits |= 1 << names.index(member.path)
                out.line(f"uint64_t have = {hex(bits)};")
                for number, kind in enumerate(self.segment.kinds):
                    self._scan_kind(kind, "if" if number == 0 else "else if")
                out.line("present[i] = have;")
                out.line("p = frame.end;")
            out.line("*count = i;")
            out.line("*position = p - bytes;")
            out.line("return status;")
        out.line()

    def _put(self, column: int, value: str) -> None:
        at = f"row[{column} * capacity]" if column else "row[0]"
        self.out.line(f"{at} = {value};")

    def _read_kind(self, kind: Type, fail: str) -> None:
        arguments = "".join(f", {text}" for text in kind_arguments(self.segment, kind, "frame"))
        call = f"read_{kind.name}(frame.body, frame.end, bytes{arguments}, &h)"
        with self.out.block(f"if (!{call}) {{", "}"):
            self.out.line(fail)

    def _scan_kind(self, kind: Type, word: str) -> None:
        out = self.out
        names = self.segment.scan_columns
        with out.block(f"{word} ({cases_of(self.segment, kind)}) {{", "}"):
            out.line(f"{structure_name(kind)} h;")
            self._read_kind(kind, "status = KS_IRREGULAR; break;")
            bits = 0
            for number, member in enumerate(members(self.model, kind)):
                column = names.index(member.path)
                self._put(column, f"h.{member.c_name}")
                if member.condition is None:
                    bits |= 1 << column
                else:
                    out.line(f"have |= (h.present >> {number} & 1) << {column};")
            out.line(f"have |= UINT64_C({hex(bits)});")

    def _fill(self, kind: Type) -> None:
        """``fill_<kind>``: what the header says, for each record of it."""
        out = self.out
        own = {m.path: f"h->{m.c_name}" for m in members(self.model, kind)}
        entry = {m.path: f"frame->{m.c_name}" for m in members(self.model, self.segment.entry)}
        out.line(f"static void fill_{kind.name}(const struct frame *frame,")
        with out.block(
            f"        const {structure_name(kind)} *h, ks_out *out, int64_t first,"
            " int64_t position,\n        int64_t size)\n{",
            "}",
        ):
            values = {"position": "position", "size": "size", **own, **entry}
            out.line("const int64_t values[] = {")
            columns = self.numbers.batches
            for column in columns:
                out.line(f"    {values.get(column.path.removeprefix('batch.'), '-1')},")
            out.line("};")
            start = self.numbers[columns[0].path]
            with out.block(f"for (int column = 0; column < {len(columns)}; column++) {{", "}"):
                out.line(f"int64_t *const values_out = out->integers[{start} + column];")
                with out.block("if (values_out)"):
                    head = "for (int64_t row = first; row < out->rows; row++)"
                    with out.block(head):
                        out.line("values_out[row] = values[column];")
        out.line()

    def _run(self) -> None:
        """``decode_entries``: a run of entries that are one record each."""
        out = self.out
        out.line("static int decode_entries(const ks_buffer *buffer, int64_t start, int64_t size,")
        with out.block(
            "        int32_t number, int64_t rows, int64_t flags, int own, ks_out *out,\n"
            "        int64_t *position)\n{",
            "}",
        ):
            out.line("const uint8_t *const bytes = buffer->bytes;")
            out.line("const uint8_t *p = bytes + start;")
            out.line("const uint8_t *const stop = p + size;")
            with out.block("for (int64_t row = 0; row < rows; row++) {", "}"):
                out.line("struct frame frame;")
                out.line("*position = p - bytes;")
                with out.block("if (read_frame(p, stop, &frame) != KS_OK)"):
                    out.line("return KS_IRREGULAR;")
                for count, kind in enumerate(self.segment.messages):
                    word = "else if" if count else "if"
                    with out.block(f"{word} ({cases_of(self.segment, kind)}) {{", "}"):
                        self._run_kind(kind)
                out.line("else")
                out.line("    return KS_IRREGULAR;")
                out.line("p = frame.end;")
            out.line("*position = p - bytes;")
            out.line("return p == stop ? KS_OK : KS_IRREGULAR;")
        out.line()

    def _run_kind(self, kind: Type) -> None:
        out = self.out
        out.line(f"{structure_name(kind)} h;")
        self._read_kind(kind, "return KS_IRREGULAR;")
        self._verify(kind, "return KS_CHECKSUM;")
        with out.block("if (out->rows == out->capacity)"):
            out.line("return KS_GROW;")
        for layout, word in (("KS_VIEW", "if"), ("KS_BINARY", "else if"), ("KS_SPAN", "else")):
            test = f" (out->layout == {layout})" if word != "else" else ""
            out.line(f"{'int status; ' if word == 'if' else ''}{word}{test}")
            out.line(f"    status = put_{kind.name}(&h, buffer, number, out, {layout});")
        with out.block("if (status != KS_OK)"):
            out.line("return status;")
        with out.block("if (own)"):
            arguments = "&frame, &h, out, out->rows - 1, p - bytes, frame.end - p"
            out.line(f"fill_{kind.name}({arguments});")

    def _verify(self, kind: Type, fail: str) -> None:
        test = checksum(self.model, kind, "frame.body", "frame.end")
        if test is not None:
            with self.out.block(f"if ((flags & KS_F_CHECKSUM) && !({test})) {{", "}"):
                self.out.line(fail)

    def _batch(self) -> None:
        """``decode_batch``: one item of the list that ks_decode is given."""
        out = self.out
        out.line("static int inside(const ks_buffer *buffer, int64_t position, int64_t size)")
        with out.block("{", "}"):
            out.line("return position >= 0 && size >= 0 && position <= buffer->size &&")
            out.line("       size <= buffer->size - position;")
        out.line()
        out.line("static int decode_batch(const ks_buffer *buffers, int count, const int64_t *b,")
        with out.block("        ks_out *out, int64_t *position)\n{", "}"):
            out.line("const int64_t own = b[KS_B_BUFFER], other = b[KS_B_PAYLOAD];")
            out.line("const int64_t flags = b[KS_B_FLAGS], first = out->rows;")
            out.line("*position = b[KS_B_POSITION];")
            with out.block(
                "if (own < 0 || own >= count || other < -1 || other >= count ||\n"
                "        !inside(&buffers[own], b[KS_B_POSITION], b[KS_B_SIZE]) ||\n"
                "        (other >= 0 && !inside(&buffers[other], b[KS_B_PAYLOAD_POSITION],\n"
                "                               b[KS_B_PAYLOAD_SIZE])))"
            ):
                out.line("return KS_IRREGULAR;")
            with out.block("if ((flags & KS_F_ENTRIES) && other < 0)"):
                out.line("return decode_entries(&buffers[own], b[KS_B_POSITION], b[KS_B_SIZE],")
                out.line("                      (int32_t)own, b[KS_B_ROWS], flags, 1, out, position);")
            out.line("const uint8_t *const bytes = buffers[own].bytes;")
            out.line("const uint8_t *const start = bytes + b[KS_B_POSITION];")
            out.line("struct frame frame;")
            with out.block(
                "if (read_frame(start, start + b[KS_B_SIZE], &frame) != KS_OK ||\n"
                "        frame.end != start + b[KS_B_SIZE])"
            ):
                out.line("return KS_IRREGULAR;")
            for batch in self.segment.batches:
                with out.block(f"if ({cases_of(self.segment, batch.type)}) {{", "}"):
                    self._batch_kind(batch)
            for kind in self.segment.messages:
                with out.block(f"if ({cases_of(self.segment, kind)}) {{", "}"):
                    self._wrapper_kind(kind)
            out.line("return KS_IRREGULAR;")
        out.line()

    def _batch_kind(self, batch: Batch) -> None:
        out = self.out
        payload = batch.payload.id
        out.line(f"{structure_name(batch.type)} h;")
        self._read_kind(batch.type, "return KS_IRREGULAR;")
        self._verify(batch.type, "return KS_CHECKSUM;")
        with out.block(f"if (h.{batch.count.id} != b[KS_B_ROWS])"):
            out.line("return KS_IRREGULAR;")
        out.line(f"const int64_t at = other < 0 ? h.{payload}_position : b[KS_B_PAYLOAD_POSITION];")
        out.line(f"const int64_t size = other < 0 ? h.{payload}_size : b[KS_B_PAYLOAD_SIZE];")
        out.line("const int32_t number = (int32_t)(other < 0 ? own : other);")
        call = f"columns_{batch.record_set.name}(&h, &buffers[number], at, size, number, out,"
        out.line(f"int status = {call} position);")
        with out.block("if (status == KS_OK)"):
            arguments = "&frame, &h, out, first, b[KS_B_POSITION], b[KS_B_SIZE]"
            out.line(f"fill_{batch.type.name}({arguments});")
        out.line("return status;")

    def _wrapper_kind(self, kind: Type) -> None:
        """A message: a record of its own, or around entries that were decompressed."""
        out = self.out
        with out.block("if (other < 0)"):
            out.line("return decode_entries(&buffers[own], b[KS_B_POSITION], b[KS_B_SIZE],")
            out.line("                      (int32_t)own, b[KS_B_ROWS], flags, 1, out, position);")
        out.line(f"{structure_name(kind)} h;")
        self._read_kind(kind, "return KS_IRREGULAR;")
        self._verify(kind, "return KS_CHECKSUM;")
        out.line("int status = decode_entries(&buffers[other], b[KS_B_PAYLOAD_POSITION],")
        out.line("                            b[KS_B_PAYLOAD_SIZE], (int32_t)other, b[KS_B_ROWS],")
        out.line("                            flags, 0, out, position);")
        with out.block("if (status == KS_OK)"):
            arguments = "&frame, &h, out, first, b[KS_B_POSITION], b[KS_B_SIZE]"
            out.line(f"fill_{kind.name}({arguments});")
        out.line("return status;")

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
                out.line(f'{{"{c.path}", {c.kind}, {numbers[c.path]}, {owner}}},')
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
        used = used_members(self.segment, batch) if batch else (1 << count) - 1
        parts = [f'"{kind.key}"', str(count), f"names_{kind.name}", f"UINT64_C({hex(used)})"]
        if batch is None:
            parts += ["0", "0", "NULL", f"encode_{kind.name}", "NULL"]
        else:
            name = batch.record_set.name
            parts += ["1", str(header_size(self.segment, batch)), f"payload_{name}"]
            parts += [f"encode_{name}", f"finish_{kind.name}"]
        self.out.line(f"{{{', '.join(parts)}}},")
