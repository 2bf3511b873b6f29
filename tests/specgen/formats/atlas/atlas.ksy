meta:
  id: atlas
  title: Index of tiles
  endian: le
  bit-endian: be
doc-ref: https://example.org/atlas Atlas
seq:
  - id: header
    type: header
  - id: tiles
    type: tile
    repeat: eos
types:
  header:
    seq:
      - id: magic
        type: u2be
        valid: 0x4154
      - id: zoom
        type: u1
        valid: {max: 22}
      - id: scale
        type: f8le
  tile:
    doc: A tile, of 28 bytes.
    seq:
      - id: x
        type: u4
      - id: y
        type: u4
      - id: position
        type: s8
        valid: {min: 0}
      - id: size
        type: u4
        valid: {max: 0x1000000}
      - id: compression
        type: u1
        enum: compression
        valid: {in-enum: true}
      - id: is_empty
        -default: '0'
        type: b1
      - id: checked
        -default: '0'
        type: b15
      - id: pad
        size: 1
        -default: '0'
      - id: height
        type: f4
    instances:
      end:
        value: position + size
enums:
  compression:
    0: none
    1: gzip
    7: brotli
