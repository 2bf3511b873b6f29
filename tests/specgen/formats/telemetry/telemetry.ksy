meta:
  id: telemetry
  title: Telemetry of a weather station
  file-extension: tlm
  endian: le
doc: Blocks of samples, each with a checksum.
seq:
  - id: magic
    type: u4
    valid: 0x4d4c4554
  - id: version
    type: u2
    valid: {min: 1, max: 3}
  - id: station
    -default: '0'
    type: s8
  - id: blocks
    type: framed_block
    repeat: eos
types:
  framed_block:
    seq:
      - id: len_block
        -derive: len(block)
        type: u4
        valid: {min: 4}
      - id: block
        size: len_block
        type: block
  block:
    doc: Samples of one minute.
    seq:
      - id: crc
        -derive: crc32c(sequence..)
        type: u4
      - id: sequence
        type: varint
      - id: start
        type: u8
        doc: Nanoseconds since 1970.
      - id: num_samples
        -derive: count(samples)
        type: natural
        valid: {expr: _.value <= _io.size - _io.pos}
      - id: samples
        type: sample
        repeat: expr
        repeat-expr: num_samples.value
      - id: end
        size: 0
        valid: {expr: _io.eof}
  sample:
    seq:
      - id: delta
        type: varint
      - id: celsius
        type: f8
      - id: wind
        type: s2be
        doc: Centimetres per second, from an instrument with the high byte first.
      - id: sensor
        type: text
      - id: remark
        -default: 'null'
        type: remark
      - id: num_codes
        -derive: count(codes)
        type: u1
      - id: codes
        type: u2
        repeat: expr
        repeat-expr: num_codes
    instances:
      is_frost:
        value: wind < 0
  text:
    -scalar: bytes
    seq:
      - id: len_value
        -derive: len(value)
        type: natural
        valid: {expr: _.value <= 255}
      - id: value
        size: len_value.value
  remark:
    -scalar: nullable_bytes
    seq:
      - id: len_value
        -derive: len(value)
        type: s2
      - id: value
        size: len_value
        if: len_value >= 0
  natural:
    -scalar: unsigned_varint32
    seq:
      - id: groups
        type: u1
        repeat: until
        repeat-until: _ < 0x80
        valid: {max: '_index < 4 ? 0xff : 0x7f'}
    instances:
      value:
        value: >-
          (groups[0] & 0x7f)
          | (groups.size > 1 ? (groups[1] & 0x7f) << 7 : 0)
          | (groups.size > 2 ? (groups[2] & 0x7f) << 14 : 0)
          | (groups.size > 3 ? (groups[3] & 0x7f) << 21 : 0)
          | (groups.size > 4 ? (groups[4] & 0x0f) << 28 : 0)
  varint:
    -scalar: varint32
    seq:
      - id: groups
        type: u1
        repeat: until
        repeat-until: _ < 0x80
        valid: {max: '_index < 4 ? 0xff : 0x7f'}
    instances:
      raw:
        value: >-
          (groups[0] & 0x7f)
          | (groups.size > 1 ? (groups[1] & 0x7f) << 7 : 0)
          | (groups.size > 2 ? (groups[2] & 0x7f) << 14 : 0)
          | (groups.size > 3 ? (groups[3] & 0x7f) << 21 : 0)
          | (groups.size > 4 ? (groups[4] & 0x0f) << 28 : 0)
      value:
        value: (raw >> 1) ^ -(raw & 1)
