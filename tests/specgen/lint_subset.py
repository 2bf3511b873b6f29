"""Specifications with what the subset of Kaitai Struct leaves out (rules S1 to S10)."""

from __future__ import annotations

MESSAGE = "sample.ksy#/types/message"

# Rule, text of the sample, text that replaces it, and all problems that follow.
SUBSET: list[tuple[str, str, str, list[str]]] = [
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
            "sample.ksy#/types/choice: S4: bytes after the last field of choice go unnoticed; "
            "end it with {id: end, size: 0, valid: {expr: _io.eof}} or a size-eos field",
        ],
    ),
    (
        "S4 file",
        "    type: frame\n    repeat: eos\n",
        "    type: frame\n    repeat: expr\n    repeat-expr: 2\n",
        [
            "sample.ksy#/: S4: bytes after the last field of sample go unnoticed; "
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
            f"{MESSAGE}/seq/6: S4: kind takes all bytes left, so nothing can follow; "
            "move it to the end"
        ],
    ),
    (
        "S5 bound",
        "        repeat-until: _ < 0x80\n",
        "        repeat-until: _ < 0x80 or _index == 4\n",
        [
            "sample.ksy#/types/varint/seq/0: S5: the last byte is the first without the "
            "continuation bit; write repeat-until: _ < 0x80",
        ],
    ),
    (
        "S5 continued",
        "          max: '_index < 4 ? 0xff : 0x7f'\n",
        "          max: '_index < 5 ? 0xff : 0x7f'\n",
        [
            "sample.ksy#/types/varint/seq/0: S5: type unsigned_varint32 ends after 5 bytes; "
            "write valid: {max: '_index < 4 ? 0xff : 0x7f'}",
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
            "sample.ksy#/: S4: bytes after the last field of sample go unnoticed; "
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
            f"{MESSAGE}/instances/next_epoch: S7: value: no _root; pass the value as a parameter",
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
            f"{MESSAGE}/seq/5: S8: if: may test whether the size of a nullable payload, or the "
            "count of a nullable array, is negative, or a parameter or an earlier field with "
            "valid: against numbers, nothing else; make a separate type",
        ],
    ),
    (
        "S8 use of an optional field",
        "        valid: 7\n",
        "        valid:\n          min: timestamp\n",
        [
            f"{MESSAGE}/seq/6: S8: valid uses timestamp, which may be absent; "
            "use a field that is always present"
        ],
    ),
    (
        "S9 gap",
        "    1:\n      id: blue\n",
        "    2:\n      id: blue\n",
        [f"{MESSAGE}/seq/4: S9: 2 of color does not fit the field; write a wider type"],
    ),
    (
        "S9 order",
        "    1:\n      id: blue\n",
        "    -1:\n      id: blue\n",
        [
            "sample.ksy#/enums/color: S9: values of an enum ascend; write them in this order",
            f"{MESSAGE}/seq/4: S9: -1 of color does not fit the field; write a wider type",
        ],
    ),
    (
        "S9 enum of another file",
        "        enum: color\n",
        "        enum: paint::color\n",
        [f"{MESSAGE}/seq/4: S9: paint is not in meta/imports; write it there"],
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
        [f"{MESSAGE}/seq/4: S9: there is no enum colour in this file; write the id of one"],
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
]
