meta:
  id: varint
  title: Variable-length integers of Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  endian: be
doc: |
  Base-128 integers, low group first: seven bits a byte, the top bit says that
  another byte follows.

  Fields of a record are signed and zig-zag coded (`varint32`, `varint64`).
  Messages that Kafka generates from its schemas, control record bodies for
  instance, use plain unsigned ones (`unsigned_varint32`). Mixing up the two
  is the most frequent mistake in readers of Kafka's records.

  Readers accept an encoding longer than needed (`80 00` is 0); writers never
  produce one. Bits of the last possible byte that do not fit the integer are
  dropped, as Kafka drops them.
doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/java/org/apache/kafka/common/utils/ByteUtils.java ByteUtils
types:
  varint32:
    -orig-id: readVarint
    -scalar: varint32
    -webide-representation: '{value:dec}'
    doc: Signed 32-bit integer, zig-zag coded, at most five bytes.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/java/org/apache/kafka/common/utils/ByteUtils.java ByteUtils.readVarint
    seq:
      - id: groups
        type: u1
        valid:
          max: '_index < 4 ? 0xff : 0x7f'
        repeat: until
        repeat-until: _ < 0x80
        doc: Seven bits each, low group first. A fifth byte ends the integer.
    instances:
      low:
        value: >-
          ((groups[0].as<s4> & 0x7f)
          | ((groups.size > 1 ? groups[1] : 0).as<s4> & 0x7f) << 7
          | ((groups.size > 2 ? groups[2] : 0).as<s4> & 0x7f) << 14
          | ((groups.size > 3 ? groups[3] : 0).as<s4> & 0x7f) << 21).as<s4>
        doc: Bits 0 to 27 of the zig-zag code.
      high:
        value: '((groups.size > 4 ? groups[4] : 0).as<s4> & 0x0f).as<s4>'
        doc: Bits 28 to 31 of the zig-zag code.
      magnitude:
        value: ((low >> 1) + high * 0x800_0000).as<s4>
        doc: The code without its lowest bit, 0 to 2^31 - 1.
      value:
        value: '(low & 1) == 0 ? magnitude : (-magnitude - 1).as<s4>'
        doc: The signed integer.
  varint64:
    -orig-id: readVarlong
    -scalar: varint64
    -webide-representation: '{value:dec}'
    doc: Signed 64-bit integer, zig-zag coded, at most ten bytes.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/java/org/apache/kafka/common/utils/ByteUtils.java ByteUtils.readVarlong
    seq:
      - id: groups
        type: u1
        valid:
          max: '_index < 9 ? 0xff : 0x7f'
        repeat: until
        repeat-until: _ < 0x80
        doc: Seven bits each, low group first. A tenth byte ends the integer.
    instances:
      low:
        value: >-
          ((groups[0].as<s4> & 0x7f)
          | ((groups.size > 1 ? groups[1] : 0).as<s4> & 0x7f) << 7
          | ((groups.size > 2 ? groups[2] : 0).as<s4> & 0x7f) << 14
          | ((groups.size > 3 ? groups[3] : 0).as<s4> & 0x7f) << 21).as<s4>
        doc: Bits 0 to 27 of the zig-zag code.
      middle:
        value: >-
          (((groups.size > 4 ? groups[4] : 0).as<s4> & 0x7f)
          | ((groups.size > 5 ? groups[5] : 0).as<s4> & 0x7f) << 7
          | ((groups.size > 6 ? groups[6] : 0).as<s4> & 0x7f) << 14
          | ((groups.size > 7 ? groups[7] : 0).as<s4> & 0x7f) << 21).as<s4>
        doc: Bits 28 to 55 of the zig-zag code.
      high:
        value: >-
          (((groups.size > 8 ? groups[8] : 0).as<s4> & 0x7f)
          | ((groups.size > 9 ? groups[9] : 0).as<s4> & 0x01) << 7).as<s4>
        doc: Bits 56 to 63 of the zig-zag code.
      magnitude:
        value: >-
          ((low.as<s8> >> 1) + middle.as<s8> * 0x800_0000
          + high.as<s8> * 0x80_0000_0000_0000).as<s8>
        doc: The code without its lowest bit, 0 to 2^63 - 1.
      value:
        value: '(low & 1) == 0 ? magnitude : (-magnitude - 1).as<s8>'
        doc: The signed integer.
  unsigned_varint32:
    -orig-id: readUnsignedVarint
    -scalar: unsigned_varint32
    -webide-representation: '{value:dec}'
    doc: |
      Unsigned integer of at most five bytes. Kafka holds it in a signed 32-bit
      integer, so that codes from 2^31 on are negative there.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/java/org/apache/kafka/common/utils/ByteUtils.java ByteUtils.readUnsignedVarint
    seq:
      - id: groups
        type: u1
        valid:
          max: '_index < 4 ? 0xff : 0x7f'
        repeat: until
        repeat-until: _ < 0x80
        doc: Seven bits each, low group first. A fifth byte ends the integer.
    instances:
      low:
        value: >-
          ((groups[0].as<s4> & 0x7f)
          | ((groups.size > 1 ? groups[1] : 0).as<s4> & 0x7f) << 7
          | ((groups.size > 2 ? groups[2] : 0).as<s4> & 0x7f) << 14
          | ((groups.size > 3 ? groups[3] : 0).as<s4> & 0x7f) << 21).as<s4>
        doc: Bits 0 to 27.
      high:
        value: '((groups.size > 4 ? groups[4] : 0).as<s4> & 0x0f).as<s4>'
        doc: Bits 28 to 31.
      value:
        value: (low.as<s8> + high.as<s8> * 0x1000_0000).as<s8>
        doc: The unsigned integer, 0 to 2^32 - 1.
