meta: {id: vlq}
types:
  text:
    -scalar: bytes
    seq:
      - {id: len_value, -derive: len(value), type: natural}
      - {id: value, size: len_value.value}
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
          (groups[0] & 0x7f) | (groups.size > 1 ? (groups[1] & 0x7f) << 7 : 0)
          | (groups.size > 2 ? (groups[2] & 0x7f) << 14 : 0)
          | (groups.size > 3 ? (groups[3] & 0x7f) << 21 : 0)
          | (groups.size > 4 ? (groups[4] & 0x0f) << 28 : 0)
