"""Each rule against a specification that breaks it in one place: exact place and message."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.specgen.lint.rules import lint
from tools.specgen.loader import load

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SAMPLE = (HERE / "good" / "sample.ksy").read_text(encoding="utf-8")

MESSAGE = "sample.ksy#/types/message"

# Rule, text of the sample, text that replaces it, and all problems that follow.
CASES: list[tuple[str, str, str, list[str]]] = [
    (
        "S1",
        "      - id: content\n",
        "      - id: content\n        process: zlib\n",
        [
            "sample.ksy#/types/choice/seq/0: S1: process: zlib hides bytes from the specification; "
            "write size-eos: true and leave decompression to the library",
            "sample.ksy#/types/choice/seq/0: order: write the keys in the order id, type, process",
        ],
    ),
    (
        "S2 position",
        "        pos: 8\n",
        "        pos: 4 + 4\n",
        [
            "sample.ksy#/types/choice/instances/magic: S2: pos must be a constant; "
            "write the number of bytes from the start",
        ],
    ),
    (
        "S2 unsized",
        "        size: len_body\n",
        "",
        [
            "sample.ksy#/types/choice/instances/magic: S2: pos counts from the start of the whole "
            "file unless choice is sized; give each field of this type a size",
            "sample.ksy#/types/frame/seq/0: derive: body has no size: that could use it; "
            "write size: len_body",
        ],
    ),
    (
        "S2 type",
        "        pos: 8\n        type: u1\n        valid:\n          max: 1\n          min: 0\n",
        "        pos: 8\n        type: nullable\n",
        [
            "sample.ksy#/types/choice/instances/magic: S2: only an integer can be read ahead; "
            "write its type",
            "sample.ksy#/types/choice/seq/0: S6: content has no case for every value of its switch;"
            " write a case _ or let valid: of the switch allow the cases only",
        ],
    ),
    (
        "S3 size",
        "          min: 9\n",
        "          max: 9\n",
        [
            "sample.ksy#/types/frame/seq/0: S3: len_body is the size of body and may be too small; "
            "write valid: {min: 0}",
        ],
    ),
    (
        "S3 count that starts at one",
        "          expr: _.value >= 1 and",
        "          expr: _.value >= 0 and",
        [
            f"{MESSAGE}/seq/7: S3: num_items is the repeat-expr of items and may be too small; "
            "write valid: {expr: _.value >= 1}",
        ],
    ),
    (
        "S3 arithmetic",
        "        size: len_body\n",
        "        size: len_body * 2\n",
        [
            "sample.ksy#/types/frame/seq/1: S3: size must be a field, field.value or "
            "parameter.field, less a number if need be, so that its bounds can be checked",
        ],
    ),
    (
        "S3 null without if",
        "        if: len_value >= 0\n",
        "",
        [
            "sample.ksy#/types/nullable/seq/0: S3: len_value is the size of value and may be too "
            "small; write valid: {min: 0}",
        ],
    ),
    (
        "S4 sized type",
        "      - id: end\n        size: 0\n        valid:\n          expr: _io.eof\n",
        "",
        [
            "sample.ksy#/types/choice: S4: bytes behind the last field of choice go unnoticed; "
            "end it with {id: end, size: 0, valid: {expr: _io.eof}} or a size-eos field",
        ],
    ),
    (
        "S4 file",
        "    type: frame\n    repeat: eos\n",
        "    type: frame\n    repeat: expr\n    repeat-expr: 2\n",
        [
            "sample.ksy#/: S4: bytes behind the last field of sample go unnoticed; "
            "end it with {id: end, size: 0, valid: {expr: _io.eof}} or a size-eos field",
            "sample.ksy#/seq/0: S3: repeat-expr must be a field, field.value or parameter.field, "
            "less a number if need be, so that its bounds can be checked",
        ],
    ),
    (
        "S4 guard in the middle",
        "      - id: kind\n        type: s1\n        valid: 7\n",
        "      - id: kind\n        size: 0\n        valid:\n          expr: _io.eof\n",
        [f"{MESSAGE}/seq/6: S4: kind demands the end; make it the last field"],
    ),
    (
        "S4 rest in the middle",
        "      - id: kind\n        type: s1\n        valid: 7\n",
        "      - id: kind\n        size-eos: true\n",
        [
            f"{MESSAGE}/seq/6: S4: kind takes all that is left, nothing can follow; "
            "move it to the end"
        ],
    ),
    (
        "S5 bound",
        "        repeat-until: _ < 0x80 or _index == 4\n",
        "        repeat-until: _ < 0x80\n",
        [
            "sample.ksy#/types/varint/seq/0: S5: type unsigned_varint32 ends after 5 bytes; "
            "write repeat-until: _ < 0x80 or _index == 4",
        ],
    ),
    (
        "S5 continued",
        "          expr: _index < 4 or _ < 0x80\n",
        "          expr: _index < 5 or _ < 0x80\n",
        [
            "sample.ksy#/types/varint/seq/0: S5: the last byte may not be continued; "
            "write valid: {expr: _index < 4 or _ < 0x80}",
        ],
    ),
    (
        "S5 mask",
        "(groups[4] & 0x0f)",
        "(groups[4] & 0x7f)",
        [
            "sample.ksy#/types/varint/instances/value: S5: bits of groups[4] that do not count "
            "must be dropped; write groups[4] & 0x0f",
        ],
    ),
    (
        "S5 unbounded array",
        "    repeat: eos\n",
        "    repeat: until\n    repeat-until: _.len_body == 0\n",
        [
            "sample.ksy#/: S4: bytes behind the last field of sample go unnoticed; "
            "end it with {id: end, size: 0, valid: {expr: _io.eof}} or a size-eos field",
            "sample.ksy#/seq/0: S5: repeat: until has no bound; only types with a varint -scalar "
            "may use it, write repeat: expr",
        ],
    ),
    (
        "S6",
        "            1: message(magic)\n",
        "",
        [
            "sample.ksy#/types/choice/seq/0: S6: content has no case for 1; "
            "write a case _ or let valid: of the switch allow the cases only",
        ],
    ),
    (
        "S7 root",
        "        value: epoch + 1\n",
        "        value: _root.epoch + 1\n",
        [
            f"{MESSAGE}/instances/next_epoch: S7: value: no _root; "
            "hand over what is needed as a parameter",
        ],
    ),
    (
        "S7 cast",
        "        value: epoch + 1\n",
        "        value: epoch.as + 1\n",
        [f"{MESSAGE}/instances/next_epoch: S7: value: no casts; give the field its type"],
    ),
    (
        "S7 opaque types",
        "  endian: be\n",
        "  endian: be\n  ks-opaque-types: true\n",
        ["sample.ksy#/meta: S7: ks-opaque-types hides missing types; describe every type"],
    ),
    (
        "S8 condition",
        "        if: magic == 1\n",
        "        if: epoch > crc\n",
        [
            f"{MESSAGE}/seq/5: S8: if: may test whether the size of a nullable payload is "
            "negative, or an earlier field with valid: against numbers, nothing else; "
            "make a type of its own",
        ],
    ),
    (
        "S8 use of an optional field",
        "        valid: 7\n",
        "        valid:\n          min: timestamp\n",
        [
            f"{MESSAGE}/seq/6: S8: valid uses timestamp, which may be absent; "
            "use a field that always is there"
        ],
    ),
    (
        "S9 gap",
        "    1:\n      id: blue\n",
        "    2:\n      id: blue\n",
        [
            "sample.ksy#/enums/color: S9: values of an enum count from 0 without a gap; "
            "write the others as plain integers",
            f"{MESSAGE}/seq/4: S9: 2 of color does not fit the field; write a wider type",
        ],
    ),
    (
        "S9 in-enum",
        "        enum: color\n",
        "        enum: color\n        valid:\n          in-enum: true\n",
        [
            f"{MESSAGE}/seq/4: S9: in-enum is for values that Kafka refuses; say in doc that "
            "Kafka refuses others, or drop in-enum",
        ],
    ),
    (
        "S9 no such enum",
        "        enum: color\n",
        "        enum: colour\n",
        [f"{MESSAGE}/seq/4: S9: there is no enum colour in this file"],
    ),
    (
        "S10 typo in a key of ours",
        "        -derive: len(body)\n",
        "        -dervie: len(body)\n",
        [
            "sample.ksy#/types/frame/seq/0: S10: unknown key -dervie; write -derive",
            "sample.ksy#/types/frame/seq/0: derive: it is the size of body; "
            "write -derive: len(body)",
            "sample.ksy#/types/frame/seq/0: naming: len_body is named like a size or a count; "
            "write its -derive or another name",
        ],
    ),
    (
        "S10 in meta",
        "  license: CC0-1.0\n",
        "  license: CC0-1.0\n  -author: me\n",
        [
            "sample.ksy#/meta: S10: unknown key -author; the keys here are id, title, application,"
            " file-extension, xref, tags, license, ks-version, imports, encoding, endian, "
            "bit-endian"
        ],
    ),
    (
        "S10 in a value of an enum",
        "      id: red\n",
        "      id: red\n      -since: '1'\n",
        ["sample.ksy#/enums/color/0: S10: unknown key -since; the keys here are id, -orig-id, doc"],
    ),
    (
        "name of a later field",
        "        if: magic == 1\n",
        "        if: kind == 1\n",
        [f"{MESSAGE}/seq/5: name: if: kind is neither an earlier field nor a parameter of message"],
    ),
    (
        "name of a member",
        "        value: epoch + 1\n",
        "        value: 'color == color::green ? 1 : 0'\n",
        [f"{MESSAGE}/instances/next_epoch: name: value: there is no color::green"],
    ),
    (
        "name twice",
        "      next_epoch:\n",
        "      epoch:\n",
        [
            f"{MESSAGE}/instances/epoch: name: message has epoch twice; rename one of them",
        ],
    ),
    (
        "bits",
        "        type: b7\n",
        "        type: b6\n",
        [
            f"{MESSAGE}/seq/5: bits: 7 bits stand before timestamp; "
            "fill them up to whole bytes with a reserved field",
        ],
    ),
    (
        "recursion",
        "      - id: end\n        size: 0\n        valid:\n          expr: _io.eof\n",
        "      - id: frames\n        type: frame\n        repeat: eos\n",
        [
            f"sample.ksy#/types/{name}: recursion: {name} contains itself, which hostile bytes "
            "could nest without end; write the levels out or leave them to the library"
            for name in ("choice", "frame", "message")
        ],
    ),
    (
        "derive: sibling",
        "        -derive: len(body)\n",
        "        -derive: len(boddy)\n",
        [
            "sample.ksy#/types/frame/seq/0: derive: frame has no field boddy; "
            "write the id of a sibling",
            "sample.ksy#/types/frame/seq/0: derive: it is the size of body; "
            "write -derive: len(body)",
            "sample.ksy#/types/frame/seq/0: naming: len_body is the len of boddy; "
            "call it len_boddy",
        ],
    ),
    (
        "derive: missing number",
        "        -derive: count(items) + 1\n",
        "        -derive: count(items)\n",
        [
            f"{MESSAGE}/seq/7: derive: it is the number of items; write -derive: count(items) + 1",
        ],
    ),
    (
        "derive: checksum of a part",
        "        -derive: crc32(magic..)\n",
        "        -derive: crc32(magic..kind)\n",
        [
            f"{MESSAGE}/seq/1: derive: a checksum covers all up to the end of its type; "
            "write crc32(magic..)",
        ],
    ),
    (
        "derive: checksum of itself",
        "        -derive: crc32(magic..)\n",
        "        -derive: crc32(epoch..)\n",
        [
            f"{MESSAGE}/seq/1: derive: crc is derived from itself; "
            "end the span before it or start it behind",
        ],
    ),
    (
        "derive: checksum at no fixed place",
        "        -derive: crc32(magic..)\n",
        "        -derive: crc32(items..)\n",
        [
            f"{MESSAGE}/seq/1: derive: timestamp has no fixed size, so checksum and span have no "
            "fixed place; move it behind both",
        ],
    ),
    (
        "derive: width of a checksum",
        "        type: u4\n        doc: CRC-32",
        "        type: s8\n        doc: CRC-32",
        [f"{MESSAGE}/seq/1: derive: crc32 has 32 bits without sign; write type: u4"],
    ),
    (
        "derive and default",
        "        -derive: len(body)\n",
        "        -derive: len(body)\n        -default: '9'\n",
        [
            "sample.ksy#/types/frame/seq/0: derive: a derived field has no -default; "
            "leave one of the two out"
        ],
    ),
    (
        "default beyond valid",
        "        -default: '-1'\n        type: s4\n",
        "        -default: '-2'\n        type: s4\n",
        [f"{MESSAGE}/seq/0: default: -2 is not a value that the field may have; write one that is"],
    ),
    (
        "default of a constant",
        "      - id: kind\n",
        "      - id: kind\n        -default: '7'\n",
        [
            f"{MESSAGE}/seq/6: default: valid: allows one value, which is written anyway; "
            "leave -default out"
        ],
    ),
    (
        "default of an array",
        "        -default: '[]'\n",
        "        -default: '3'\n",
        [f"{MESSAGE}/seq/8: default: a number is for integers; write 'null' or '[]'"],
    ),
    (
        "constant",
        "        valid: 7\n",
        "        valid: magic + 7\n",
        [
            f"{MESSAGE}/seq/6: constant: a writer must know the constant; write a number, or "
            "-derive what depends on others",
        ],
    ),
    (
        "valid beyond the type",
        "        valid: 7\n",
        "        valid: 700\n",
        [
            f"{MESSAGE}/seq/6: valid: 700 does not fit the type, which holds -128 to 127; "
            "write a bound inside or a wider type",
        ],
    ),
    (
        "naming of an array",
        "  - id: frames\n",
        "  - id: frame\n",
        ["sample.ksy#/seq/0: naming: frame is an array; write the plural"],
    ),
    (
        "naming in Java's way",
        "      - id: kind\n",
        "      - id: messageKind\n",
        [f"{MESSAGE}/seq/6: naming: messageKind is no id; write lower_case words joined by _"],
    ),
    (
        "naming of the original",
        "        -orig-id: bodyLength\n",
        "        -orig-id: len_body\n",
        [
            "sample.ksy#/types/frame/seq/0: naming: -orig-id repeats the id len_body; leave it out",
        ],
    ),
    (
        "order",
        "        -orig-id: bodyLength\n        -derive: len(body)\n",
        "        -derive: len(body)\n        -orig-id: bodyLength\n",
        [
            "sample.ksy#/types/frame/seq/0: order: write the keys in the order "
            "id, -orig-id, -derive, type, valid, doc",
        ],
    ),
    (
        "meta: licence",
        "  license: CC0-1.0\n",
        "  license: MIT\n",
        ["sample.ksy#/meta: meta: license is MIT; write license: CC0-1.0"],
    ),
    (
        "meta: version that YAML takes for a number",
        "  ks-version: '0.11'\n",
        "  ks-version: 0.11\n",
        ["sample.ksy#/meta: meta: ks-version is a number; write ks-version: '0.11'"],
    ),
    (
        "meta: byte order",
        "  endian: be\n",
        "",
        ["sample.ksy#/meta: meta: endian is missing; write endian: be"],
    ),
    (
        "meta: bit order",
        "  bit-endian: be\n",
        "",
        ["sample.ksy#/meta: meta: there are bit fields; write bit-endian: be"],
    ),
    (
        "doc missing",
        "        doc: Paint.\n",
        "",
        [f"{MESSAGE}/seq/4: doc: color has no doc; say what it means and its unit"],
    ),
    (
        "doc that repeats the id",
        "        doc: Epoch of the leader, -1 for none.\n",
        "        doc: The epoch.\n",
        [
            f"{MESSAGE}/seq/0: doc: the doc of epoch repeats its name; "
            "say what it means or for what",
        ],
    ),
    (
        "doc without a stop",
        "        doc: Paint.\n",
        "        doc: Paint\n",
        [f"{MESSAGE}/seq/4: doc: the doc of color does not end in a full stop"],
    ),
    (
        "doc too wide",
        "        doc: Paint.\n",
        f"        doc: {'Paint and more ' * 5}paint.\n",
        [
            f"{MESSAGE}/seq/4: doc: the doc of color is 94 columns wide; "
            "write doc: | and wrap it at 80",
        ],
    ),
    (
        "doc-ref missing",
        "    doc-ref: https://github.com/apache/kafka/blob/4.1.0/a/Frame.java Frame\n",
        "",
        [
            "sample.ksy#/types/frame: doc: frame has no doc-ref; write the URL of Kafka's source "
            "at a release, a blank and the name of the class",
        ],
    ),
    (
        "doc-ref that moves",
        "blob/4.1.0/a/Frame.java Frame",
        "blob/trunk/a/Frame.java Frame",
        [
            "sample.ksy#/types/frame: doc: doc-ref https://github.com/apache/kafka/blob/trunk/a/"
            "Frame.java Frame may change under us; write "
            "https://github.com/apache/kafka/blob/<release>/<path> <name of the class>",
        ],
    ),
]


def problems(directory: Path) -> list[str]:
    return [
        f"{problem.location}: {problem.rule}: {problem.message}"
        for problem in lint(load(directory))
    ]


def test_the_specification_is_clean() -> None:
    assert problems(ROOT / "spec") == []


def test_the_sample_is_clean() -> None:
    assert problems(HERE / "good") == []


@pytest.mark.parametrize(
    ("old", "new", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_rule(tmp_path: Path, old: str, new: str, expected: list[str]) -> None:
    assert SAMPLE.count(old) == 1, "the sample has changed: mend the case"
    (tmp_path / "sample.ksy").write_text(SAMPLE.replace(old, new), encoding="utf-8")
    assert problems(tmp_path) == expected


def test_s7_stream(tmp_path: Path) -> None:
    (tmp_path / "sample.ksy").write_text(SAMPLE.replace("_io.eof", "_io.end"), encoding="utf-8")
    assert f"{MESSAGE}/seq/9: S7: valid: of _io only eof, pos and size may be used" in problems(
        tmp_path
    )


def test_s7_parameters_across_files(tmp_path: Path) -> None:
    (tmp_path / "sample.ksy").write_text(SAMPLE, encoding="utf-8")
    other = (
        SAMPLE.replace("id: sample\n", "id: other\n")
        .replace("  endian: be\n", "  imports:\n    - sample\n  endian: be\n", 1)
        .replace("message(magic)", "sample::message(magic)")
        .replace(
            "        type: u1\n        doc: Version that",
            "        type: sample::frame\n        doc: X",
        )
    )
    (tmp_path / "other.ksy").write_text(other, encoding="utf-8")
    assert problems(tmp_path) == [
        "other.ksy#/types/choice/seq/0: S7: message of another file takes parameters; "
        "move the types together",
        "other.ksy#/types/message: S7: parameter version is a type of another file; "
        "move the types together",
    ]


def test_every_rule_has_a_case() -> None:
    tested = {message.split(": ")[1] for case in CASES for message in case[3]}
    documented = {
        line.split("|")[1].strip()
        for line in (ROOT / "spec" / "README.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("|") and re.search(r"`[a-z]+\.py`", line)
    }
    assert tested == documented
