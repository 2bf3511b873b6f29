meta:
  id: chat
  title: Log of a chat server
  endian: be
  bit-endian: be
seq:
  - id: messages
    type: envelope
    repeat: eos
types:
  envelope:
    seq:
      - id: time
        type: u4
      - id: kind
        type: u1
        enum: kind
      - id: len_message
        -derive: len(message)
        type: u2
      - id: message
        size: len_message
        type: message(kind.to_i)
  message:
    params:
      - id: kind
        type: u1
    seq:
      - id: content
        type:
          switch-on: kind
          cases:
            1: joined
            2: said
            3: left
            _: unknown
  joined:
    seq:
      - id: version
        type: u1
        valid: {min: 1, max: 2}
      - id: user
        type: u8
      - id: port
        -default: '6667'
        type: u2
        if: version >= 2
      - id: flags
        type: flags
      - id: end
        size: 0
        valid: {expr: _io.eof}
  flags:
    seq:
      - id: is_admin
        -default: '0'
        type: b1
      - id: level
        -default: '0'
        type: b4
      - id: reserved
        -default: '0'
        type: b3
  said:
    seq:
      - id: user
        type: u8
      - id: num_mentions
        -derive: count(mentions)
        type: s2
        valid: {min: -1}
      - id: mentions
        -default: 'null'
        type: mention
        repeat: expr
        repeat-expr: num_mentions
        if: num_mentions >= 0
      - id: text
        size-eos: true
  mention:
    seq:
      - id: user
        type: u8
      - id: num_ranges
        -derive: count(ranges)
        type: u1
      - id: ranges
        type: range
        repeat: expr
        repeat-expr: num_ranges
  range:
    seq:
      - id: first
        type: u2
      - id: last
        type: u2
  left:
    seq:
      - id: user
        type: u8
      - id: has_reason
        -derive: present(reason)
        type: s1
      - id: reason
        -default: 'null'
        type: reason
        if: has_reason >= 0
      - id: end
        size: 0
        valid: {expr: _io.eof}
  reason:
    seq:
      - id: code
        type: u2
      - id: len_text
        -derive: len(text)
        type: u1
      - id: text
        size: len_text
  unknown:
    seq:
      - id: data
        size-eos: true
enums:
  kind:
    1: joined
    2: said
    3: left
