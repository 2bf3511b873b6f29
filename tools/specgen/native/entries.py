"""Emit the C that goes from entry to entry: scans of headers, runs of messages, batches."""

from __future__ import annotations

from tools.specgen.facts.segments import KIND, Batch, Segment, members
from tools.specgen.model import Type
from tools.specgen.native.contracts import contract
from tools.specgen.native.decode import Numbers
from tools.specgen.native.headers import cases_of, checksum, kind_arguments, structure_name
from tools.specgen.writer import CodeWriter


class EntryEmitter:
    """Writer of ``ks_scan``, ``decode_entries`` and ``decode_batch``."""

    def __init__(self, segment: Segment, numbers: Numbers, out: CodeWriter) -> None:
        self.segment, self.numbers, self.out = segment, numbers, out
        self.model = segment.model

    def emit(self) -> None:
        """Write all of them."""
        self._scan()
        for kind in self.segment.kinds:
            self._fill(kind)
        self._run()
        self._batch()

    def _scan(self) -> None:
        out = self.out
        names = self.segment.scan_columns
        width = len(names)
        contract(
            out,
            "requires 0 <= start <= end && ks_readable(bytes + start, bytes + end);",
            f"requires 0 <= capacity <= INT64_MAX / {8 * width};",
            f"requires \\valid(columns + (0 .. {width} * capacity - 1));",
            "requires \\valid(present + (0 .. capacity - 1));",
            "requires \\valid(count) && \\valid(position) && \\separated(count, position);",
            f"assigns columns[0 .. {width} * capacity - 1], present[0 .. capacity - 1];",
            "assigns *count, *position;",
            "ensures 0 <= *count <= capacity && start <= *position <= end;",
        )
        out.line("int ks_scan(const uint8_t *bytes, int64_t start, int64_t end, int64_t *columns,")
        with out.block(
            "            int64_t capacity, uint64_t *present, int64_t *count,\n"
            "            int64_t *position)\n{",
            "}",
        ):
            out.line("const uint8_t *p = bytes + start;")
            out.line("const uint8_t *const stop = bytes + end;")
            out.line("int64_t i = 0;")
            out.line("int status = KS_OK;")
            contract(
                out,
                "loop invariant 0 <= i <= capacity && ks_between(bytes + start, p, stop);",
                f"loop assigns i, p, status, columns[0 .. {width} * capacity - 1];",
                "loop assigns present[0 .. capacity - 1];",
                "loop variant stop - p;",
            )
            with out.block("for (; p < stop; i++) {", "}"):
                with out.block("if (i == capacity) {", "}"):
                    out.lines("status = KS_GROW;", "break;")
                out.line("struct frame frame;")
                out.line("status = read_frame(p, stop, &frame);")
                out.when("status != KS_OK", "break;")
                # The place of a header depends on the length before it. Entries of a log are often
                # about as long as their neighbours, so the next but one can be prefetched.
                out.line("const uintptr_t ahead = (uintptr_t)p + 2 * (uintptr_t)(frame.end - p);")
                out.lines("KS_PREFETCH(ahead);", "KS_PREFETCH(ahead + 64);")
                out.line("int64_t *const row = columns + i;")
                self._put(names.index("position"), "p - bytes")
                self._put(names.index("size"), "frame.end - p")
                bits = 0b111
                for member in members(self.model, self.segment.entry):
                    self._put(names.index(member.path), f"frame.{member.identifier}")
                    bits |= 1 << names.index(member.path)
                out.line(f"uint64_t have = {hex(bits)};")
                for number, kind in enumerate(self.segment.kinds):
                    self._scan_kind(number, kind, "if" if number == 0 else "else if")
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

    def _scan_kind(self, place: int, kind: Type, word: str) -> None:
        out = self.out
        names = self.segment.scan_columns
        with out.block(f"{word} ({cases_of(self.segment, kind)}) {{", "}"):
            out.line(f"{structure_name(kind)} h;")
            self._read_kind(kind, "status = KS_IRREGULAR; break;")
            self._put(names.index(KIND), str(place))
            bits = 0
            for number, member in enumerate(members(self.model, kind)):
                column = names.index(member.path)
                self._put(column, f"h.{member.identifier}")
                if member.condition is None:
                    bits |= 1 << column
                else:
                    out.line(f"have |= (h.present >> {number} & 1) << {column};")
            out.line(f"have |= UINT64_C({hex(bits)});")

    def _fill(self, kind: Type) -> None:
        """Write ``fill_<kind>``, which repeats the header for each of its records."""
        out = self.out
        own = {m.path: f"h->{m.identifier}" for m in members(self.model, kind)}
        entry = {m.path: f"frame->{m.identifier}" for m in members(self.model, self.segment.entry)}
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
        """Write ``decode_entries``, which reads a run of entries that are one record each."""
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
                out.when("read_frame(p, stop, &frame) != KS_OK", "return KS_IRREGULAR;")
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
        out.when("out->rows == out->capacity", "return KS_GROW;")
        for layout, word in (("KS_VIEW", "if"), ("KS_BINARY", "else if"), ("KS_SPAN", "else")):
            test = f" (out->layout == {layout})" if word != "else" else ""
            out.line(f"{'int status; ' if word == 'if' else ''}{word}{test}")
            out.line(f"    status = put_{kind.name}(&h, buffer, number, out, {layout});")
        out.when("status != KS_OK", "return status;")
        with out.block("if (own)"):
            arguments = "&frame, &h, out, out->rows - 1, p - bytes, frame.end - p"
            out.line(f"fill_{kind.name}({arguments});")

    def _verify(self, kind: Type, fail: str) -> None:
        test = checksum(self.model, kind, "frame.body", "frame.end")
        if test is not None:
            with self.out.block(f"if ((flags & KS_F_CHECKSUM) && !({test})) {{", "}"):
                self.out.line(fail)

    def _batch(self) -> None:
        """Write ``decode_batch``, which reads one item of the list passed to ks_decode."""
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
                out.line(
                    "                      (int32_t)own, b[KS_B_ROWS], flags, 1, out, position);"
                )
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
        out.when(f"h.{batch.count.id} != b[KS_B_ROWS]", "return KS_IRREGULAR;")
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
        """Write the case of a message: a record, or the wrapper of decompressed entries."""
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
