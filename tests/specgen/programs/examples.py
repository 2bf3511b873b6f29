"""Write the records that a draft gives as examples, and see what it says that commands show.

Run by test_drafts.py with the name of a draft. An example has

* ``logs``: records by the name of their directory, each with ``key`` and ``value``: text, null,
  ``{hex: ...}``, or the name of a message with its fields; fields that are not named have some
  value, null or none. ``batch`` has further arguments of ``ks.encode``.
* ``files``: the content of other files by name.
* ``commands``: what to ``run``, with ``{}`` for the directory; the ``exit`` code, 0 if not given;
  ``lines`` of JSON that are among its own, each perhaps with further members; ``text`` that is in
  its output; ``absent``: text that is not.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from click.testing import CliRunner

import kafkaspec as ks
from kafkaspec.arrow.messages.arrays import array_type, decode_array, encode_array
from kafkaspec.cli.main import main
from kafkaspec.files.checkpoints import kafka_uuid
from kafkaspec.layout.names import TAGGED_FIELDS
from kafkaspec.messages.lookup import by_name
from tests.specgen.programs.checks import run
from tests.specgen.programs.draft import base
from tools.drafts.overlay import drafts

TIME = 1_700_000_000_000


def part(given: Any) -> bytes | None:
    """The bytes of a key or value."""
    if given is None or isinstance(given, str):
        return None if given is None else given.encode()
    ((name, fields),) = given.items()
    if name == "hex":
        return bytes.fromhex(fields)
    kind = array_type(name)
    (some,) = decode_array(name, pa.array([base(by_name(name)[0].id)])).to_pylist()
    (made,) = encode_array(name, pa.array([filled(kind, some | fields)], kind))
    found: bytes = made.as_py()
    return found


def filled(kind: pa.DataType, value: Any) -> Any:
    """A value with all fields of its type: tagged fields that nobody knows are left out."""
    if value is None:
        return None
    if pa.types.is_struct(kind):
        return {
            each.name: [] if each.name == TAGGED_FIELDS else filled(each.type, value.get(each.name))
            for each in kind
        }
    if pa.types.is_list(kind):
        return [filled(kind.value_type, item) for item in value]
    if pa.types.is_fixed_size_binary(kind) and isinstance(value, str):
        found = kafka_uuid.from_text(value)
        assert found is not None, value
        return found.bytes
    return value.encode() if pa.types.is_binary(kind) and isinstance(value, str) else value


def has(line: Any, wanted: Any) -> bool:
    """Whether a line has all that is wanted."""
    if isinstance(wanted, Mapping):
        return isinstance(line, Mapping) and all(
            name in line and has(line[name], item) for name, item in wanted.items()
        )
    if isinstance(wanted, list):
        return len(line) == len(wanted) and all(map(has, line, wanted))
    return bool(line == wanted)


def write(example: Mapping[str, Any], home: Path) -> None:
    for name, records in example.get("logs", {}).items():
        place = home / name
        place.mkdir()
        made = [
            ks.Record(n, TIME + n, part(each.get("key")), part(each["value"]))
            for n, each in enumerate(records)
        ]
        data = ks.encode(made, **example.get("batch", {}))
        (place / f"{0:020d}.log").write_bytes(data)
    for name, text in example.get("files", {}).items():
        (home / name).write_text(text, encoding="utf-8")


def examples_show_what_they_say(root: Path) -> None:
    (draft,) = [each for each in drafts() if each.name == sys.argv[1]]
    for number, example in enumerate(draft.examples):
        home = root / str(number)
        home.mkdir()
        write(example, home)
        for command in example["commands"]:
            words = command["run"].replace("{}", str(home)).split()
            if "lines" in command:
                words += ["--format", "json"]
            done = CliRunner().invoke(main, words)
            if done.exception and not isinstance(done.exception, SystemExit):
                raise done.exception
            assert done.exit_code == command.get("exit", 0), (words, done.output)
            shown = [json.loads(line) for line in done.stdout.splitlines()] if (
                "lines" in command
            ) else []  # fmt: skip
            for wanted in command.get("lines", ()):
                assert any(has(line, wanted) for line in shown), (words, wanted, done.output)
            for text in command.get("text", ()):
                assert text in done.output, (words, text, done.output)
            for text in command.get("absent", ()):
                assert text not in done.output, (words, text, done.output)


if __name__ == "__main__":
    run((examples_show_what_they_say,))
