"""Specifications whose shape no codec can be made of."""

from __future__ import annotations

# Rule, text of the sample, text that replaces it, and all problems that follow.
SHAPES: list[tuple[str, str, str, list[str]]] = [
    (
        "type of a value",
        "        value: epoch + 1\n",
        "        value: items\n",
        [
            "sample.ksy#/types/message/instances/next_epoch: type: value: it is an array; "
            "write a number or a test"
        ],
    ),
    (
        "type of a shift",
        "        value: epoch + 1\n",
        "        value: epoch << 64\n",
        [
            "sample.ksy#/types/message/instances/next_epoch: type: value: << takes a constant"
            " from 0 to 63; write one"
        ],
    ),
    (
        "type of a division",
        "        value: epoch + 1\n",
        "        value: epoch / kind\n",
        [
            "sample.ksy#/types/message/instances/next_epoch: type: value: / takes a constant "
            "from 1 on; write one"
        ],
    ),
    (
        "type of a member",
        "        value: epoch + 1\n",
        "        value: num_items.low\n",
        [
            "sample.ksy#/types/message/instances/next_epoch: type: value: of varint only an "
            "integer .value may be used"
        ],
    ),
    (
        "type of an index",
        "        value: epoch + 1\n",
        "        value: items[0]\n",
        [
            "sample.ksy#/types/message/instances/next_epoch: type: value: only the bytes of a"
            " varint have an index; write a field"
        ],
    ),
    (
        "S7 stream without an end",
        "_.value - 1 <= _io.size - _io.pos",
        "_.value - 1 <= _io.size",
        [
            "sample.ksy#/types/message/seq/7: S7: valid: of _io only eof and _io.size - "
            "_io.pos may be used; write one of them"
        ],
    ),
    (
        "size beyond reason",
        "        size: len_body\n        type: choice\n",
        "        size: 8\n        type: choice\n",
        [
            "sample.ksy#/types/frame/seq/1: size: choice has at least 12 bytes, not 8; write a"
            " size that fits"
        ],
    ),
    (
        "size of a default",
        "      - id: num_items\n",
        (
            "      - id: blob\n"
            "        -default: '[]'\n"
            "        size: 4\n"
            "        doc: Things.\n"
            "      - id: num_items\n"
        ),
        [
            "sample.ksy#/types/message/seq/7: size: '[]' is empty, the field has 4 bytes; "
            "leave -default out"
        ],
    ),
    (
        "size that is negative",
        "      - id: num_items\n",
        "      - id: blob\n        size: -4\n        doc: Things.\n      - id: num_items\n",
        [
            "sample.ksy#/types/message/seq/7: size: a size of -4 bytes is impossible; "
            "write 0 to 65536"
        ],
    ),
    (
        "S2 place",
        "        pos: 8\n",
        "        pos: 9\n",
        [
            "sample.ksy#/types/choice/instances/magic: S2: message has magic at byte 8, pos "
            "says 9; make both the same"
        ],
    ),
    (
        "S2 other type",
        "        pos: 8\n        type: u1\n",
        "        pos: 8\n        type: u2\n",
        [
            "sample.ksy#/types/choice/instances/magic: S2: message has another type for "
            "magic; make both the same"
        ],
    ),
    (
        "S6 switch beside a field",
        "      - id: content\n        type:\n",
        (
            "      - id: extra\n"
            "        type: u1\n"
            "        doc: Things.\n"
            "      - id: content\n"
            "        type:\n"
        ),
        [
            "sample.ksy#/types/choice/seq/1: S6: a switch is the only field of its type; make"
            " a separate type for it"
        ],
    ),
    (
        "reserved word",
        "      - id: kind\n",
        "      - id: class\n",
        [
            "sample.ksy#/types/message/seq/6: reserved: class is reserved in Python, C or Java;"
            " write another id"
        ],
    ),
    (
        "reserved parameter",
        "      - id: version\n        type: u1\n        doc: Version that",
        "      - id: data\n        type: u1\n        doc: Version that",
        [
            "sample.ksy#/types/message: reserved: generated code uses data; give the "
            "parameter another id"
        ],
    ),
    (
        "clash of classes",
        "  color:\n    0:",
        "  choice:\n    0:",
        [
            "sample.ksy#/enums/choice: clash: choice is a type and an enum of one class, Choice;"
            " rename one of them",
            "sample.ksy#/types/message/seq/4: S9: there is no enum color in this file; "
            "write the id of one",
        ],
    ),
    (
        "clash of values",
        "      id: blue\n",
        "      id: red\n",
        ["sample.ksy#/enums/color: clash: red is here twice; rename one of them"],
    ),
    (
        "clash of parts",
        "      - id: kind\n",
        "      - id: items_size\n",
        [
            "sample.ksy#/types/message/seq/6: clash: items_size: generated code uses it for a part "
            "of items; rename one of them"
        ],
    ),
    (
        "shape of bytes",
        "        if: len_value >= 0\n",
        "        if: len_value >= 0\n      - id: more\n        type: u1\n        doc: Things.\n",
        [
            "sample.ksy#/types/nullable: shape: -scalar: nullable_bytes is a size and the "
            "bytes that have it; write both"
        ],
    ),
    (
        "null by a number without a sign",
        "        type: s4\n        doc: Bytes that follow, negative for null.\n",
        "        type: u4\n        doc: Bytes that follow, negative for null.\n",
        [
            "sample.ksy#/types/nullable: shape: -scalar: nullable_bytes is null where len_value is "
            "negative; give it a signed type"
        ],
    ),
    (
        "S2 field that the other case lacks",
        (
            "            1: message(magic)\n"
            "    instances:\n"
            "      magic:\n"
            "        pos: 8\n"
            "        type: u1\n"
            "        valid:\n"
            "          max: 1\n"
            "          min: 0\n"
            "        doc: Version of the content.\n"
        ),
        (
            "            _: plain\n"
            "    instances:\n"
            "      magic:\n"
            "        pos: 8\n"
            "        type: u1\n"
            "        doc: Version of the content.\n"
            "  plain:\n"
            "    doc: Any bytes.\n"
            "    doc-ref: https://github.com/apache/kafka/blob/4.1.0/a/Plain.java Plain\n"
            "    seq:\n"
            "      - id: rest\n"
            "        size-eos: true\n"
            "        doc: They.\n"
        ),
        [
            "sample.ksy#/types/choice/instances/magic: S2: message must not hold magic 1, as "
            "another case would read it; write valid: 0",
            "sample.ksy#/types/choice/instances/magic: S2: plain has no magic; write it at pos 8",
            "sample.ksy#/types/plain: shape: plain has no checksums; readers verify one, "
            "-derive it",
        ],
    ),
    (
        "bits as one number",
        "        type: b7\n",
        "        type: b23\n",
        [
            "sample.ksy#/types/message/seq/4: bits: 24 bits are read as one number; fill them"
            " up to 8, 16, 32 or 64"
        ],
    ),
    (
        "S8 optional array",
        "        repeat: expr\n        repeat-expr: num_items.value - 1\n",
        (
            "        repeat: expr\n"
            "        repeat-expr: num_items.value - 1\n"
            "        if: magic == 1\n"
        ),
        [
            "sample.ksy#/types/message/seq/8: S8: an array is optional only by its count; "
            "make a type of both, with if:"
        ],
    ),
    (
        "valid of a structure",
        "        size: len_body\n        type: choice\n",
        "        size: len_body\n        type: choice\n        valid: 3\n",
        [
            "sample.ksy#/types/frame/seq/1: valid: valid: is for numbers; write it at a "
            "number inside, or -derive"
        ],
    ),
    (
        "name in a circle",
        "        value: epoch + 1\n        doc: The one after.\n",
        (
            "        value: other\n"
            "        doc: The one after.\n"
            "      other:\n"
            "        value: next_epoch\n"
            "        doc: Again.\n"
        ),
        [
            "sample.ksy#/types/message/instances/next_epoch: name: next_epoch is computed "
            "from itself; write it over fields",
            "sample.ksy#/types/message/instances/other: name: other is computed from itself; "
            "write it over fields",
        ],
    ),
    (
        "reserved value of an enum",
        "      id: red\n",
        "      id: class\n",
        [
            "sample.ksy#/enums/color/0: reserved: class is reserved in Python, C or Java; write "
            "another id"
        ],
    ),
    (
        "reserved macro of C",
        "      - id: color\n",
        "      - id: unix\n",
        [
            "sample.ksy#/types/message/seq/4: reserved: unix is reserved in Python, C or Java; "
            "write another id"
        ],
    ),
    (
        "reserved constant of Python",
        "      - id: color\n",
        "      - id: None\n",
        [
            "sample.ksy#/types/message/seq/4: naming: None is not an id; write lower_case words "
            "joined by _"
        ],
    ),
    (
        "reserved argument",
        "      - id: version\n",
        "      - id: base\n",
        [
            "sample.ksy#/types/message: reserved: generated code uses base; give the parameter "
            "another id"
        ],
    ),
    (
        "clash of fields in CamelCase",
        "      - id: num_items\n",
        (
            "      - id: spare_1\n        type: u1\n        doc: Things.\n"
            "      - id: spare1\n        type: u1\n        doc: Things.\n"
            "      - id: num_items\n"
        ),
        [
            "sample.ksy#/types/message/seq/8: clash: spare1 and spare_1 are both Spare1 elsewhere; "
            "rename one of them"
        ],
    ),
    (
        "clash with a member of C",
        "      - id: color\n",
        "      - id: present\n",
        ["sample.ksy#/types/message/seq/4: clash: present is a name of generated code; rename it"],
    ),
    (
        "size of an unknown name, reported once",
        "        size: len_body\n",
        "        size: length\n",
        [
            "sample.ksy#/types/frame/seq/1: name: size: length is neither an earlier field nor a "
            "parameter of frame",
        ],
    ),
    (
        "meta title",
        "  title: Sample of all that the linter looks at\n",
        '  title: \'A """ in it\'\n',
        [
            "sample.ksy#/meta: meta: the title is a heading; write one line without quotation "
            "marks and backslashes"
        ],
    ),
]
