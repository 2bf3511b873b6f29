"""Print what the public API and the command say about golden logs. Run by test_public.py."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from click.testing import CliRunner

import kafkaspec as ks
from kafkaspec.cli.main import main
from kafkaspec.codecs import codec_names

GOLDEN = Path(__file__).parents[2] / "golden"
PARTITIONS = [
    "0.9.0.1/logs/plain-0",
    "0.10.2.2/logs/codec-gzip-0",
    "2.8.2/logs/transactions-0",
    "2.8.2/logs/segments-0",
    "4.3.1/logs/headers-0",
]


def command(*arguments: object) -> None:
    done = CliRunner().invoke(main, [str(item) for item in arguments])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    print(json.dumps([arguments[0], done.exit_code, done.stdout]))


def show(directory: Path) -> None:
    for path in sorted(item for item in directory.rglob("*") if item.is_file()):
        print(path.name, path.read_bytes().hex())


def look(partition: Path, place: Path) -> None:
    for codec in codec_names():
        log = ks.open(partition, codec=codec)
        print(log.batch_table().to_pylist())
        print(log.to_arrow(include_control=True).to_pylist())
    command("verify", "--codec", "all", "--format", "json", partition)
    command("dump", "--format", "json", partition)
    command("dump", "--batches", "--format", "json", partition)
    command("find", "--max-timestamp", partition)
    for magic in (0, 1, 2):
        for options in ((), ("--batch-bytes", "2000")):
            out = place / f"{magic}{len(options)}"
            command(
                "convert", partition, "-o", out, "--magic", magic, "--aborted", "drop", *options
            )
            show(out)
    command("index", partition, "-o", place / "index")
    show(place / "index")


for name in PARTITIONS:
    with tempfile.TemporaryDirectory() as place:
        look(GOLDEN / name, Path(place))
