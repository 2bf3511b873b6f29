"""Specifications that break a rule about names, derived fields, documentation or style."""

from __future__ import annotations

from tests.specgen.lint_subset import MESSAGE

# Rule, text of the sample, text that replaces it, and all problems that follow.
CONVENTIONS: list[tuple[str, str, str, list[str]]] = [
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
            f"sample.ksy#/types/{name}: recursion: {name} contains itself, so that hostile bytes "
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
            f"{MESSAGE}/seq/1: derive: a checksum covers everything up to the end of its type; "
            "write crc32(magic..)",
        ],
    ),
    (
        "derive: checksum of itself",
        "        -derive: crc32(magic..)\n",
        "        -derive: crc32(epoch..)\n",
        [
            f"{MESSAGE}/seq/1: derive: crc is derived from itself; "
            "end the span before it or start it after crc",
        ],
    ),
    (
        "derive: checksum at no fixed place",
        "        -derive: crc32(magic..)\n",
        "        -derive: crc32(items..)\n",
        [
            f"{MESSAGE}/seq/1: derive: timestamp has no fixed size, so checksum and span have no "
            "fixed place; move it after both",
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
        "ascending",
        "      - id: reserved\n        -default: '0'\n",
        "      - id: reserved\n        -default: '0'\n        -ascending: tag\n",
        [f"{MESSAGE}/seq/3: ascending: -ascending is for arrays of structures; leave it out"],
    ),
    (
        "known without an enum",
        "      - id: reserved\n        -default: '0'\n",
        "      - id: reserved\n        -default: '0'\n        -known: 0..3\n",
        [f"{MESSAGE}/seq/3: S9: -known is for fields with an enum; leave it out"],
    ),
    (
        "offsets of no entry",
        "      - id: reserved\n        -default: '0'\n",
        "      - id: reserved\n        -default: '0'\n        -offsets: elsewhere\n",
        [
            f"{MESSAGE}/seq/3: offsets: -offsets is for the entries of a log that a file ends "
            "with; leave it out"
        ],
    ),
    (
        "offsets in an unknown place",
        "  - id: frames\n",
        "  - id: frames\n    -offsets: nowhere\n",
        ["sample.ksy#/seq/0: offsets: there is no -offsets: nowhere; write elsewhere"],
    ),
    (
        "releases",
        "doc: A file that follows every rule;",
        "-releases: 4.0..4.1\ndoc: A file that follows every rule;",
        ["sample.ksy#/: message: -releases is for messages; leave it out"],
    ),
    (
        "since",
        "doc: A file that follows every rule;",
        "-since: '4.1'\ndoc: A file that follows every rule;",
        ["sample.ksy#/: message: -since is for messages; leave it out"],
    ),
    (
        "identity",
        "doc: A file that follows every rule;",
        "-identity: name\ndoc: A file that follows every rule;",
        ["sample.ksy#/: message: -identity is for messages; leave it out"],
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
            f"{MESSAGE}/seq/6: default: valid: allows one value only, the default anyway; "
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
            "-derive it",
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
        [f"{MESSAGE}/seq/6: naming: messageKind is not an id; write lower_case words joined by _"],
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
            f"{MESSAGE}/seq/0: doc: the doc of epoch repeats its name; say what it means",
        ],
    ),
    (
        "doc without a stop",
        "        doc: Paint.\n",
        "        doc: Paint\n",
        [f"{MESSAGE}/seq/4: doc: the doc of color does not end in a full stop"],
    ),
    *(
        (
            f"doc with {part}",
            "        doc: Paint.\n",
            f"        doc: Paint {part} paint.\n",
            [
                f"{MESSAGE}/seq/4: doc: the doc of color has {part}, which ends or changes a "
                "comment in generated code; reword it"
            ],
        )
        for part in ('"""', "*/", "\\")
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
            "Frame.java Frame does not name a release and may change; write "
            "https://github.com/apache/kafka/blob/<release>/<path> <name of the class>",
        ],
    ),
]
