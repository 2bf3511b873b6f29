"""Build the fuzz target and run it for a while: libFuzzer, address and undefined sanitizers.

    python -m tools.native.fuzz.run [--seconds N] [--mode bytes|structure|messages|reader]
                                    [--keep DIRECTORY] [--seeds-only]

Without ``--mode`` each of the four has a quarter of the time: ``bytes`` changes any bytes,
``structure`` changes fields of headers and of records, and mends lengths and checksums,
``messages`` changes bytes of Kafka's messages, from their vectors, ``reader`` those of logs for the
reader in C that needs no Python. Other seeds are the golden
segments, cut to batches, and their payloads after decompression; words of the dictionary come from
the specification. Needs clang with libFuzzer (Debian: ``clang`` and ``libclang-rt-14-dev``).
Findings lie in the directory; the exit status is 1 if there are any.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from itertools import islice
from pathlib import Path

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.arrow.messages.arrays import message_table
from kafkaspec.codecs.python import PythonCodec
from kafkaspec.compression import NAMES
from kafkaspec.extension import GLUE
from kafkaspec.layout import EntryKind, TypeLayout
from kafkaspec.layout.framing import ENTRY, Framing, checksum_of, field_position
from kafkaspec.layout.kinds import KINDS
from kafkaspec.libraries import LOADER, libraries
from kafkaspec.log.batch import Batch
from kafkaspec.log.segment import Segment
from kafkaspec.messages.tables import COLUMN_WIDTH, LOWEST, WIDTH
from tools.native.single import JUDGED, SOURCE, files, form

ROOT = Path(__file__).resolve().parents[3]
HERE = Path(__file__).parent
CORE = ROOT / "generated" / "native"
COMPILER = (
    "clang", "-std=gnu99", "-O1", "-g",
    "-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=all",
)  # fmt: skip
MODES = ["bytes", "structure", "messages", "reader"]
LONGEST = 4096


def compile_target(into: Path, mode: str) -> Path:
    """Compile the target; ``CalledProcessError`` says that there is no clang with libFuzzer."""
    target = into / mode
    if mode == "reader":
        for name, text in files().items():
            (into / name).write_text(text, encoding="utf-8")
        objects = _objects(into, mode, [JUDGED, into / SOURCE], "-DFUZZ")
    elif mode == "messages":
        (into / "tables.h").write_text(tables_header(), encoding="ascii")
        objects = _objects(into, "messages", [HERE / "fuzz_messages.c", GLUE / "messages.c"])
    else:
        (into / "forms.h").write_text(forms_header(), encoding="ascii")
        glue = [GLUE / "crc.c", GLUE / "compression.c", GLUE / "libraries.c"]
        objects = _objects(into, "core", [HERE / "fuzz_core.c", *CORE.glob("*.c"), *glue])
    if mode == "structure":
        (into / "layout.h").write_text(layout_header(), encoding="ascii")
        objects += _objects(into, "structure", [HERE / "structure.c"])
    linked = [f"-l{name}" for name in (*(found.name for found in libraries(["clang"])), *LOADER)]
    subprocess.run([*COMPILER, *objects, *linked, "-o", str(target)], check=True)
    return target


def _objects(into: Path, name: str, sources: Sequence[Path], *options: str) -> list[str]:
    """Compile files, once for all modes that need them."""
    folder = into / f"objects-{name}"
    if not folder.is_dir():
        folder.mkdir()
        command = [
            *COMPILER,
            f"-I{into}",
            f"-I{CORE}",
            f"-I{GLUE}",
            "-c",
            *options,
            *map(str, sources),
        ]
        command += [f"-D{library.macro}=1" for library in libraries(["clang"])]
        subprocess.run(command, check=True, cwd=folder)
    return sorted(map(str, folder.glob("*.o")))


def forms_header() -> str:
    """Return the forms of payloads that the extension decompresses, as C."""
    rows = [
        f'{{"{name}", {form(import_module(f"kafkaspec.compression.{name}").READ)}}}'
        for name in NAMES[1:]
    ]
    fields = "const char *name; ks_framing framing;"
    return f"static const struct {{ {fields} }} forms[] = {{{', '.join(rows)}}};\n"


def message_names() -> list[str]:
    """Return the ids of all messages, in the order of their numbers in inputs."""
    return sorted(path.stem for path in (ROOT / "generated" / "messages").glob("*.json"))


def tables_header() -> str:
    """Return the tables of all messages as C."""
    lines, tables = [], []
    for number, name in enumerate(message_names()):
        columns, program = message_table(name).engine
        for kind, what, width, numbers in (
            ("km_column", "columns", COLUMN_WIDTH, columns), ("km_line", "lines", WIDTH, program)
        ):  # fmt: skip
            rows = ", ".join(
                f"{{{', '.join(map(_literal, numbers[at : at + width]))}}}"
                for at in range(0, len(numbers), width)
            )
            lines.append(f"static const {kind} {what}_{number}[] = {{{rows}}};")
        sizes = len(program) // WIDTH, len(columns) // COLUMN_WIDTH
        tables.append(f"{{lines_{number}, {sizes[0]}, columns_{number}, {sizes[1]}}}")
    lines.append(f"static const km_table tables[] = {{{', '.join(tables)}}};")
    return "\n".join(lines) + "\n"


def _literal(number: int) -> str:
    return "INT64_MIN" if number == LOWEST else f"INT64_C({number})"


def write_messages(into: Path) -> int:
    """Write the vectors of all messages, each after its number; return the number of seeds."""
    for number, name in enumerate(message_names()):
        text = (ROOT / "generated" / "vectors" / f"{name}.json").read_text(encoding="utf-8")
        for vector in json.loads(text)["vectors"]:
            if vector["type"] == f"{name}.{name}":
                _seed(into, (bytes([number]) + bytes.fromhex(vector["hex"]))[:LONGEST])
    return len(list(into.iterdir()))


def layout_header() -> str:
    """Return what the mutator of the mode ``structure`` knows of the specification, as C."""
    framing, frame = Framing.of(ENTRY), LAYOUTS[ENTRY]
    length = next(field for field in frame.fields if field.derive == "len")
    lines = [
        "typedef struct { size_t at; int size; } layout_field;",
        "typedef struct { uint8_t magic; size_t header, checksum, checked; int castagnoli, count;",
        "                 const layout_field *fields; } layout_kind;",
        f"enum {{ LAYOUT_FRAME = {framing.size}, LAYOUT_UP_TO_MAGIC = {framing.up_to_magic},",
        f"       LAYOUT_LENGTH = {field_position(frame, length.id)},",
        f"       LAYOUT_LENGTH_SIZE = {length.size} }};",
    ]
    kinds = []
    for magic, kind in KINDS.items():
        fields = _fixed_fields(frame, kind, 0)
        fields += _fixed_fields(LAYOUTS[kind.key], kind, framing.size)
        checksum = checksum_of(kind.key)
        places = ", ".join(f"{{{at}, {size}}}" for at, size in fields)
        lines.append(f"static const layout_field layout_fields_{magic}[] = {{{places}}};")
        numbers = (
            magic, sum(fields[-1]), framing.size + checksum.position, framing.size + checksum.start,
            int(checksum.algorithm == "crc32c"), len(fields),
        )  # fmt: skip
        kinds.append(f"{{{', '.join(map(str, numbers))}, layout_fields_{magic}}}")
    lines.append(f"static const layout_kind layout_kinds[] = {{{', '.join(kinds)}}};")
    return "\n".join(lines) + "\n"


def _fixed_fields(layout: TypeLayout, kind: EntryKind, start: int) -> list[tuple[int, int]]:
    """Return place and size of the fields up to the first whose size varies."""
    found = []
    for field in layout.fields:
        if field.optional and field.id not in kind.header:
            continue
        size = field.size or (LAYOUTS[field.type].fixed_size if field.type else None)
        if not size:
            break
        found.append((start, size))
        start += size
    return found


def write_seeds(into: Path, mode: str) -> int:
    """Write the first entries of golden segments; return the number of seeds.

    The modes ``structure`` and ``reader`` need them one after another, ``bytes`` one by one, with
    their payloads after decompression and with indexes.
    """
    if mode == "messages":
        return write_messages(into)
    for path in sorted((ROOT / "tests/golden").glob("*/logs/*/*")):
        if mode == "bytes" and path.suffix in (".index", ".timeindex", ".txnindex"):
            _seed(into, path.read_bytes()[:340])
    for batches in _golden_batches():
        if mode in ("structure", "reader"):
            data = b""
            for batch in batches:
                data += batch.data if len(data) + batch.size <= LONGEST else b""
            _seed(into, data)
            continue
        for batch in batches:
            _seed(into, bytes(batch.data)[:LONGEST])
            if batch.is_compressed or batch.magic == 2:
                _seed(into, bytes(batch.decompressed())[:LONGEST])
            if batch.is_compressed:
                form = import_module(f"kafkaspec.compression.{NAMES[batch.compression]}").READ
                _seed(into, bytes(batch.payload or b"")[len(form.start) : LONGEST])
    return len(list(into.iterdir()))


@cache
def _golden_batches() -> list[list[Batch]]:
    """Return the first batches of golden segments, those of the same bytes once."""
    contents = {path.read_bytes() for path in (ROOT / "tests/golden").glob("*/logs/*/*.log")}
    return [
        list(islice(Segment(data, codec=PythonCodec()).batches(), 3)) for data in sorted(contents)
    ]


def _seed(into: Path, data: bytes) -> None:
    if data:
        (into / hashlib.sha1(data).hexdigest()).write_bytes(data)


def write_dictionary(path: Path) -> None:
    """Write edges of varints, and constants and bounds of fields."""
    words = {b"\x80\x00", b"\xff\xff\xff\xff\x0f", b"\xff\xff\xff\xff\x7f", b"\xff" * 9 + b"\x01"}
    words |= {b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", bytes(4), b"\x01", b"\x03"}
    for layout in LAYOUTS.values():
        for field in layout.fields:
            if field.constant is not None and field.size:
                words.add(field.constant.to_bytes(field.size, "big", signed=field.signed))
        if layout.minimum_size:
            words.add(layout.minimum_size.to_bytes(4, "big"))
    lines = ['"' + "".join(f"\\x{byte:02x}" for byte in word) + '"' for word in sorted(words)]
    path.write_text("\n".join(lines) + "\n", encoding="ascii")


def run(mode: str, work: Path, limit: str) -> bool:
    """Run one mode from the seeds; return whether it found nothing."""
    corpus, found = work / f"corpus-{mode}", work / f"found-{mode}"
    for folder in (corpus, found):
        folder.mkdir(parents=True, exist_ok=True)
    target = compile_target(work, mode)
    print(f"mode {mode}: {write_seeds(corpus, mode)} seeds", flush=True)
    write_dictionary(work / "dictionary")
    command = [str(target), limit, f"-max_len={LONGEST}", f"-artifact_prefix={found}/"]
    command += [f"-dict={work / 'dictionary'}", "-print_final_stats=1", "-verbosity=0"]
    status = subprocess.run([*command, str(corpus)]).returncode
    for path in sorted(found.iterdir()):
        print(f"found: {path.name} {path.read_bytes().hex()}")
    return status == 0


def main() -> int:
    """Build, seed, run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--mode", choices=MODES, action="append")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--seeds-only", action="store_true")
    options = parser.parse_args()
    modes = options.mode or MODES
    seconds = max(1, options.seconds // len(modes))
    limit = "-runs=0" if options.seeds_only else f"-max_total_time={seconds}"
    with tempfile.TemporaryDirectory() as temporary:
        work = options.keep or Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        clean = [run(mode, work, limit) for mode in modes]
        return 0 if all(clean) else 1


if __name__ == "__main__":
    sys.exit(main())
