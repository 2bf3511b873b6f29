meta: {id: nest, endian: le, imports: [vlq]}
seq:
  - {id: boxes, type: box, repeat: eos}
types:
  box:
    seq:
      - {id: len_outer, -derive: len(outer), type: 'vlq::natural'}
      - {id: outer, size: len_outer.value, type: outer}
  outer:
    seq:
      - {id: crc, -derive: crc32(stamp..), type: u4be}
      - {id: stamp, type: u8, valid: {min: 3}}
      - {id: len_inner, -derive: len(inner) + 1, type: 'vlq::natural', valid: {expr: _.value >= 1}}
      - {id: inner, size: len_inner.value - 1, type: inner}
      - {id: tail, size-eos: true}
  inner:
    seq:
      - {id: crc, -derive: crc32c(num_items..), type: u4}
      - {id: num_items, -derive: count(items), type: 'vlq::natural', valid: {expr: _.value <= _io.size - _io.pos}}
      - {id: items, type: item, repeat: expr, repeat-expr: num_items.value, -ascending: key}
      - {id: end, size: 0, valid: {expr: _io.eof}}
  item:
    seq:
      - {id: key, type: u2}
      - {id: len_part, -derive: len(part), type: u1}
      - {id: part, size: len_part, type: some}
      - {id: num_fs, -derive: count(fs), type: u1}
      - {id: fs, type: f4be, repeat: expr, repeat-expr: num_fs}
      - {id: num_ts, -derive: count(ts), type: u1}
      - {id: ts, type: 'vlq::text', repeat: expr, repeat-expr: num_ts}
      - {id: num_ks, -derive: count(ks), type: u1}
      - {id: ks, size: 3, repeat: expr, repeat-expr: num_ks}
  some:
    instances:
      tag: {pos: 1, type: s1, valid: {min: -1, max: 1}}
    seq:
      - id: content
        type: {switch-on: tag, cases: {-1: minus, 0: zero, 1: zero}}
  minus:
    seq:
      - {id: lead, type: u1}
      - {id: tag, type: s1, valid: -1}
      - {id: rest, size-eos: true}
  zero:
    seq:
      - {id: lead, type: u1}
      - {id: tag, type: s1, valid: {any-of: [0, 1]}}
      - {id: n, type: 'vlq::natural'}
      - {id: end, size: 0, valid: {expr: _io.eof}}
