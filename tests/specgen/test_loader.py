"""The loader: what it makes of a file, and the exact error for what it cannot read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.specgen.document import SpecError
from tools.specgen.expression import Name
from tools.specgen.expression import parse as expression
from tools.specgen.loader import load
from tools.specgen.model import (
    BitsType,
    BytesType,
    Default,
    Derive,
    DeriveFunction,
    IntegerType,
    Repeat,
    Scalar,
    SwitchType,
    TypeReference,
    Valid,
)

SAMPLE = (Path(__file__).parent / "good" / "sample.ksy").read_text(encoding="utf-8")


def test_sample(tmp_path: Path) -> None:
    (tmp_path / "sample.ksy").write_text(SAMPLE, encoding="utf-8")
    model = load(tmp_path)
    spec = model.spec("sample")
    assert (spec.license, spec.endian, spec.bit_endian, spec.ks_version) == (
        "CC0-1.0",
        "be",
        "be",
        "0.11",
    )
    assert [type_.name for type_ in spec.types] == [
        "sample", "frame", "choice", "message", "nullable", "varint",
    ]  # fmt: skip
    frame, choice, message, nullable = spec.types[1:5]
    assert (frame.is_frame, choice.is_choice, message.is_transparent) == (True, True, False)
    assert nullable.scalar is Scalar.NULLABLE_BYTES

    size, body = frame.fields
    assert size.derive == Derive(DeriveFunction.LEN, "body")
    assert size.valid == Valid(minimum=expression("9"))
    assert size.original_id == "bodyLength"
    assert size.location == "sample.ksy#/types/frame/seq/0"
    assert size.key_order == ("id", "-orig-id", "-derive", "type", "valid", "doc")
    assert body.type == TypeReference("sample", "choice", size=Name("len_body"))

    content = choice.fields[0].type
    assert isinstance(content, SwitchType)
    assert content.cases == (
        (0, TypeReference("sample", "message", (Name("magic"),))),
        (1, TypeReference("sample", "message", (Name("magic"),))),
    )
    assert choice.peek_instances[0].position == expression("8")

    fields = message.field_by_id
    assert fields["epoch"].default == Default(-1)
    assert fields["crc"].derive == Derive(DeriveFunction.CRC32, "magic", open_end=True)
    assert fields["magic"].valid == Valid(any_of=(expression("0"), expression("1")))
    assert fields["reserved"].type == BitsType(7)
    assert fields["timestamp"].condition == expression("magic == 1")
    assert fields["kind"].constant == 7
    assert fields["num_items"].derive == Derive(DeriveFunction.COUNT, "items", plus=1)
    assert fields["items"].repeat == Repeat(count=expression("num_items.value - 1"))
    assert fields["items"].default == Default(())
    assert (fields["end"].type, fields["end"].is_guard) == (BytesType(expression("0")), True)
    assert message.parameters[0].type == IntegerType(1, signed=False)


ERRORS = [
    ("id: sample\n", "id: simple\n", "sample.ksy#/meta/id: must be sample, the name of the file"),
    ("  - id: frames\n", "  - name: frames\n", "sample.ksy#/seq/0: a field needs an id"),
    ("    type: frame\n", "    type: fram\n", "sample.ksy#/seq/0: no type sample::fram"),
    (
        "    type: frame\n    rep",
        "    type: other::frame\n    rep",
        "sample.ksy#/seq/0: other is not in meta/imports",
    ),
    (
        "    type: frame\n    rep",
        "    type: frame(1)\n    rep",
        "sample.ksy#/seq/0: frame takes 0 parameters, not 1",
    ),
    (
        "    repeat: eos\n",
        "    repeat: forever\n",
        "sample.ksy#/seq/0/repeat: must be eos, expr or until, not 'forever'",
    ),
    (
        "-derive: len(body)\n",
        "-derive: sum(body)\n",
        "sample.ksy#/types/frame/seq/0/-derive: cannot read 'sum(body)'; write f(x), f(x..) or "
        "f(x..y), + a number if need be, with f one of len, count, present, crc32, crc32c",
    ),
    (
        "          min: 9\n",
        "          least: 9\n",
        "sample.ksy#/types/frame/seq/0/valid: valid has no part least",
    ),
    (
        "          min: 9\n",
        "          min: 9 +\n",
        "sample.ksy#/types/frame/seq/0/valid: cannot read the expression '9 +' at column ",
    ),
    (
        "        size: len_body\n        type: choice\n",
        "",
        "sample.ksy#/types/frame/seq/1: a field without type needs size or size-eos",
    ),
    (
        "            0: message(magic)\n",
        "            zero: message(magic)\n",
        "sample.ksy#/types/choice/seq/0/type/cases: a case is an integer or _, not 'zero'",
    ),
    (
        "        pos: 8\n",
        "",
        "sample.ksy#/types/choice/instances/magic: an instance needs value or pos",
    ),
    (
        "    -scalar: nullable_bytes\n",
        "    -scalar: string\n",
        "sample.ksy#/types/nullable/-scalar: must be one of varint32, varint64, "
        "unsigned_varint32, nullable_bytes, bytes",
    ),
    (
        "        -default: '[]'\n",
        "        -default: empty\n",
        "sample.ksy#/types/message/seq/8/-default: must be a quoted integer, 'null' or '[]', "
        "not 'empty'",
    ),
    ("  endian: be\n", "  endian: be\n  imports:\n    - gone\n",
     "sample.ksy#/meta/imports: no file gone.ksy"),
    ("seq:\n  - id: frames\n", "seq:\n  - [\n", "sample.ksy: not valid YAML: line 15: "),
    ("  endian: be\n", "  endian: be\n  endian: be\n",
     "sample.ksy: not valid YAML: line 9: the key endian is here twice; leave one of them out"),
    ("meta:\n", "meta: &meta\n  <<: *meta\n",
     "sample.ksy: not valid YAML: line 2: no aliases; write it out"),
    ("  title: Sample of all that the linter looks at\n", "  title: 2020-99-99\n",
     "sample.ksy: not valid YAML: month must be in 1..12"),
    ("  endian: be\n", "  endian: be\n  imports:\n    - sample\n",
     "sample.ksy#/meta/imports: sample imports itself, perhaps through others; "),
    ("          min: 9\n", "          min: 0x1_0000_0000_0000_0000\n",
     "sample.ksy#/types/frame/seq/0/valid: 18446744073709551616 does not fit 64 bits"),
    ("            0: message(magic)\n", "            0x1_0000_0000_0000_0000: message(magic)\n",
     "sample.ksy#/types/choice/seq/0/type/cases: 18446744073709551616 does not fit 64 bits"),
    ("        doc: Paint.\n", "        doc: 7\n",
     "sample.ksy#/types/message/seq/4/doc: expected text, not 7"),
    ("seq:\n  - id: frames\n    type: frame\n    repeat: eos\n", "seq: frames\n",
     "sample.ksy#/seq: expected a list"),
    ("    params:\n      - id: version\n", "    params:\n      - version\n      - id: version\n",
     "sample.ksy#/types/message/params/0: expected a mapping"),
    ("        size: len_body\n", "        size: [len_body]\n",
     "sample.ksy#/types/frame/seq/1/size: expected an expression, not ['len_body']"),
    ("        size: len_body\n", "        size: len_body\n        size-eos: true\n",
     "sample.ksy#/types/frame/seq/1: size and size-eos exclude each other; leave one out"),
    ("        value: epoch + 1\n", f"        value: {'(' * 400}epoch{')' * 400} + 007\n",
     "sample.ksy#/types/message/instances/next_epoch/value: cannot read the expression"),
    ("      - id: color\n", "      - id: yes\n",
     "sample.ksy#/types/message/seq/4/id: expected text, not True; write another id"),
    ("  endian: be\n", "  endian: be\n  yes: 1\n",
     "sample.ksy: not valid YAML: line 9: a key is text or a number; quote it"),
    ("          min: 9\n", f"          min: {'9' * 5000}\n",
     "sample.ksy: not valid YAML: Exceeds the limit (4300 digits) for integer string conversion; "),
    ("          min: 9\n", f"          min: '{'9' * 5000}'\n",
     f"sample.ksy#/types/frame/seq/0/valid: cannot read the expression '{'9' * 76}...; "),
    ("      - id: color\n", "      - id: color\n        -known: '3'\n",
     "sample.ksy#/types/message/seq/4/-known: cannot read '3'; write 0..3"),
    (SAMPLE, "# Nothing.\n",
     "sample.ksy: the file is empty; write meta, doc and seq, or remove it"),
    ("meta:\n", "--- {}\n--- {}\nmeta:\n",
     "sample.ksy: not valid YAML: line 2: expected a single document in the stream, but found "),
    (SAMPLE, "#" * 262145, "sample.ksy: has 262145 bytes, more than 262144; split the file"),
    ("        value: epoch + 1\n", f"        value: {'1 + ' * 200}epoch\n",
     "sample.ksy#/types/message/instances/next_epoch/value: the expression "),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message"), ERRORS)
def test_error(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in SAMPLE
    (tmp_path / "sample.ksy").write_text(SAMPLE.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        load(tmp_path)
    assert str(caught.value).startswith(message)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"no \.ksy file here"):
        load(tmp_path)


def test_not_utf_8(tmp_path: Path) -> None:
    (tmp_path / "sample.ksy").write_bytes(SAMPLE.encode().replace(b"Paint", b"P\xe4int"))
    with pytest.raises(SpecError, match=r"sample\.ksy: byte \d+ is not UTF-8; save the file as"):
        load(tmp_path)


def test_a_directory_in_place_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "sample.ksy").mkdir()
    with pytest.raises(SpecError, match=r"sample\.ksy: cannot be read: Is a directory"):
        load(tmp_path)


def place(directory: Path, name: str, *imports: str) -> None:
    """Write the sample under a path, with other files that it imports."""
    path = directory / f"{name}.ksy"
    path.parent.mkdir(parents=True, exist_ok=True)
    listed = "".join(f"    - {other}\n" for other in imports)
    text = SAMPLE.replace("id: sample\n", f"id: {path.stem}\n", 1)
    if imports:
        text = text.replace("  endian: be\n", f"  imports:\n{listed}  endian: be\n", 1)
    path.write_text(text, encoding="utf-8")


def test_files_in_folders(tmp_path: Path) -> None:
    place(tmp_path, "drafts/groups/offset", "../../sample", "../member")
    place(tmp_path, "drafts/member")
    place(tmp_path, "sample")
    model = load(tmp_path)
    assert [spec.id for spec in model.specs] == ["member", "offset", "sample"]
    offset = model.spec("offset")
    assert offset.imports == ("sample", "member")
    assert offset.root.location == "drafts/groups/offset.ksy#/"


def test_two_files_of_one_id(tmp_path: Path) -> None:
    place(tmp_path, "one/sample")
    place(tmp_path, "two/sample")
    with pytest.raises(SpecError, match=r"^two/sample\.ksy: one/sample\.ksy has the same id; ren"):
        load(tmp_path)


@pytest.mark.parametrize("path", ["sample", "../groups/sample", "../../../sample", "/sample"])
def test_a_path_that_leads_nowhere(tmp_path: Path, path: str) -> None:
    place(tmp_path, "drafts/groups/offset", path)
    place(tmp_path, "sample")
    place(tmp_path.parent, "sample")
    with pytest.raises(SpecError, match=r"^drafts/groups/offset\.ksy#/meta/imports: no file "):
        load(tmp_path)


def test_files_that_import_each_other(tmp_path: Path) -> None:
    for name, other in (("sample", "second"), ("second", "sample")):
        text = SAMPLE.replace("id: sample\n", f"id: {name}\n", 1)
        text = text.replace("  endian: be\n", f"  imports:\n    - {other}\n  endian: be\n", 1)
        (tmp_path / f"{name}.ksy").write_text(text, encoding="utf-8")
    with pytest.raises(SpecError, match=r"sample\.ksy#/meta/imports: sample imports itself"):
        load(tmp_path)
