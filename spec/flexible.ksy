meta:
  id: flexible
  title: Building blocks of Apache Kafka's flexible messages
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - varint
  endian: be
doc: |
  Types that Kafka's message generator uses in flexible versions of its
  schemas (KIP-482): sizes are unsigned varints counted from one, and every
  structure ends in a section of tagged fields.
doc-ref: https://github.com/apache/kafka/blob/4.1.0/generator/src/main/java/org/apache/kafka/message/MessageDataGenerator.java MessageDataGenerator
types:
  compact_string:
    -scalar: bytes
    -webide-representation: '{value}'
    doc: UTF-8 text that may not be null.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/java/org/apache/kafka/common/protocol/Readable.java Readable
    seq:
      - id: len_value
        -derive: len(value) + 1
        type: varint::unsigned_varint32
        valid:
          expr: _.value >= 1 and _.value <= 32768
        doc: Bytes that follow plus one. Kafka allows 32767 bytes.
      - id: value
        size: len_value.value - 1
  compact_nullable_string:
    -scalar: nullable_bytes
    -webide-representation: '{value}'
    doc: UTF-8 text or null.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/java/org/apache/kafka/common/protocol/Readable.java Readable
    seq:
      - id: len_value
        -derive: len(value) + 1
        type: varint::unsigned_varint32
        valid:
          expr: _.value <= 32768
        doc: Bytes that follow plus one; 0 is null. Kafka allows 32767 bytes.
      - id: value
        size: len_value.value - 1
        if: len_value.value - 1 >= 0
  compact_byte_array:
    -scalar: bytes
    -webide-representation: '{value}'
    doc: Bytes that may not be null.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/java/org/apache/kafka/common/protocol/Readable.java Readable
    seq:
      - id: len_value
        -derive: len(value) + 1
        type: varint::unsigned_varint32
        valid:
          expr: _.value >= 1
        doc: Bytes that follow plus one.
      - id: value
        size: len_value.value - 1
  compact_nullable_byte_array:
    -scalar: nullable_bytes
    -webide-representation: '{value}'
    doc: Bytes or null.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/java/org/apache/kafka/common/protocol/Readable.java Readable
    seq:
      - id: len_value
        -derive: len(value) + 1
        type: varint::unsigned_varint32
        doc: Bytes that follow plus one; 0 is null.
      - id: value
        size: len_value.value - 1
        if: len_value.value - 1 >= 0
  tagged_fields:
    -webide-representation: '{num_fields}'
    doc: |
      Tagged fields of a structure, ascending by tag. Readers skip tags that
      they do not know. Kafka reads them in any order, and the last of two with
      the same tag wins; it writes neither.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/java/org/apache/kafka/common/protocol/types/RawTaggedField.java RawTaggedField
    seq:
      - id: num_fields
        -derive: count(fields)
        type: varint::unsigned_varint32
        valid:
          expr: _.value >= 0 and _.value <= (_io.size - _io.pos).as<s8>
        doc: Number of tagged fields.
      - id: fields
        -default: '[]'
        -ascending: tag
        type: tagged_field
        repeat: expr
        repeat-expr: num_fields.value
  tagged_field:
    doc: One tagged field, its content not interpreted.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/java/org/apache/kafka/common/protocol/types/RawTaggedField.java RawTaggedField
    seq:
      - id: tag
        type: varint::unsigned_varint32
        doc: Number of the field in its schema.
      - id: len_data
        -derive: len(data)
        type: varint::unsigned_varint32
        valid:
          expr: _.value >= 0
        doc: Bytes of the field.
      - id: data
        size: len_data.value
