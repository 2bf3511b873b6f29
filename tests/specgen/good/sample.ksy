meta:
  id: sample
  title: Sample of all that the linter looks at
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  endian: be
  bit-endian: be
doc: A file that follows every rule; tests spoil it in one place each.
doc-ref: https://github.com/apache/kafka/blob/4.1.0/a/Sample.java Sample
seq:
  - id: frames
    type: frame
    repeat: eos
types:
  frame:
    doc: A size and what has it.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/a/Frame.java Frame
    seq:
      - id: len_body
        -orig-id: bodyLength
        -derive: len(body)
        type: s4
        valid:
          min: 9
        doc: Bytes behind it.
      - id: body
        size: len_body
        type: choice
  choice:
    doc: One of the versions.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/a/Choice.java Choice
    seq:
      - id: content
        type:
          switch-on: magic
          cases:
            0: message(magic)
            1: message(magic)
    instances:
      magic:
        pos: 8
        type: u1
        valid:
          max: 1
          min: 0
        doc: Version of the content.
  message:
    doc: A message with a checksum.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/a/Message.java Message
    params:
      - id: version
        type: u1
        doc: Version that the size promised.
    seq:
      - id: epoch
        -default: '-1'
        type: s4
        valid:
          min: -1
        doc: Epoch of the leader, -1 for none.
      - id: crc
        -derive: crc32(magic..)
        type: u4
        doc: CRC-32 of the bytes behind it.
      - id: magic
        type: u1
        valid:
          any-of:
            - 0
            - 1
        doc: Version again, under the checksum.
      - id: reserved
        -default: '0'
        type: b7
        doc: Written as 0.
      - id: color
        -default: '0'
        type: b1
        enum: color
        doc: Paint.
      - id: timestamp
        -default: '-1'
        type: s8
        if: magic == 1
        doc: Milliseconds.
      - id: kind
        type: s1
        valid: 7
        doc: Always the same.
      - id: num_items
        -derive: count(items) + 1
        type: varint
        valid:
          expr: _.value >= 1 and _.value - 1 <= _io.size - _io.pos
        doc: Items plus one.
      - id: items
        -default: '[]'
        type: nullable
        repeat: expr
        repeat-expr: num_items.value - 1
        doc: Things.
      - id: end
        size: 0
        valid:
          expr: _io.eof
    instances:
      next_epoch:
        value: epoch + 1
        doc: The one after.
  nullable:
    -scalar: nullable_bytes
    doc: Bytes or null.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/a/Nullable.java Nullable
    seq:
      - id: len_value
        -derive: len(value)
        type: s4
        doc: Bytes that follow, negative for null.
      - id: value
        size: len_value
        if: len_value >= 0
  varint:
    -scalar: unsigned_varint32
    doc: Unsigned integer of at most five bytes.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/a/Varint.java Varint
    seq:
      - id: groups
        type: u1
        valid:
          max: '_index < 4 ? 0xff : 0x7f'
        repeat: until
        repeat-until: _ < 0x80
        doc: Seven bits each, low group first.
    instances:
      value:
        value: >-
          (groups[0] & 0x7f)
          | (groups.size > 1 ? (groups[1] & 0x7f) << 7 : 0)
          | (groups.size > 2 ? (groups[2] & 0x7f) << 14 : 0)
          | (groups.size > 3 ? (groups[3] & 0x7f) << 21 : 0)
          | (groups.size > 4 ? (groups[4] & 0x0f) << 28 : 0)
        doc: The integer.
enums:
  color:
    0:
      id: red
      doc: Like roses.
    1:
      id: blue
      doc: Like the sky.
