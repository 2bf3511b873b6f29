"""Build the fuzz target and run it for a while: libFuzzer, address and undefined sanitizers.

    python -m tools.native.fuzz.run [--seconds N] [--keep DIRECTORY] [--seeds-only]

Seeds are the golden segments, cut to batches, and their payloads after decompression; words of the
dictionary come from the specification. Needs clang with libFuzzer (Debian: ``clang`` and
``libclang-rt-14-dev``). Findings lie in the directory; the exit status is 1 if there are any.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tempfile
from pathlib import Path

from kafkaspec._generated.layout import LAYOUTS
from kafkaspec.codecs.python import PythonCodec
from kafkaspec.log.segment import Segment

ROOT = Path(__file__).resolve().parents[3]
HERE = Path(__file__).parent
SANITIZERS = "fuzzer,address,undefined"


def compile_target(into: Path) -> Path:
    """Compile the target; ``CalledProcessError`` says that there is no clang with libFuzzer."""
    core = ROOT / "generated" / "native"
    target = into / "fuzz_core"
    files = [HERE / "fuzz_core.c", *core.glob("*.c"), ROOT / "kafkaspec/codecs/native/crc.c"]
    command = ["clang", "-std=gnu99", "-O1", "-g", f"-fsanitize={SANITIZERS}"]
    command += ["-fno-sanitize-recover=all", f"-I{core}", *map(str, files), "-o", str(target)]
    subprocess.run(command, check=True)
    return target


def write_seeds(into: Path) -> int:
    """Write entries of golden segments, and payloads of compressed ones; return their number."""
    count = 0
    for path in sorted((ROOT / "tests/golden").glob("*/logs/*/*")):
        if path.suffix in (".index", ".timeindex", ".txnindex") and path.stat().st_size:
            count += _seed(into, path.read_bytes()[:340])
        if path.suffix != ".log" or not path.stat().st_size:
            continue
        for number, batch in enumerate(Segment(path, codec=PythonCodec()).batches()):
            if number == 3:
                break
            count += _seed(into, bytes(batch.data)[:4096])
            if batch.is_compressed or batch.magic == 2:
                count += _seed(into, bytes(batch.decompressed())[:4096])
    return count


def _seed(into: Path, data: bytes) -> int:
    (into / hashlib.sha1(data).hexdigest()).write_bytes(data)
    return 1


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


def main() -> int:
    """Build, seed, run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--seeds-only", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = options.keep or Path(temporary)
        corpus, found = work / "corpus", work / "found"
        for folder in (corpus, found):
            folder.mkdir(parents=True, exist_ok=True)
        target = compile_target(work)
        print(f"{write_seeds(corpus)} seeds", flush=True)
        write_dictionary(work / "dictionary")
        limit = ["-runs=0"] if options.seeds_only else [f"-max_total_time={options.seconds}"]
        command = [str(target), *limit, "-max_len=4096", f"-artifact_prefix={found}/"]
        command += [f"-dict={work / 'dictionary'}", "-print_final_stats=1", "-verbosity=0"]
        status = subprocess.run([*command, str(corpus)]).returncode
        for path in sorted(found.iterdir()):
            print(f"found: {path.name} {path.read_bytes().hex()}")
        return 1 if status else 0


if __name__ == "__main__":
    sys.exit(main())
