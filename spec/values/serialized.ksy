meta:
  id: serialized
  title: Keys and values of Kafka's own serializers
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../primitive
  endian: be
doc: |
  What the serializers of `org.apache.kafka.common.serialization` write.
  Nothing in the bytes says which of them it was. Texts and byte arrays are
  their bytes alone, and null is a null key or value.
doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/java/org/apache/kafka/common/serialization/Serdes.java Serdes
types:
  long_value:
    -orig-id: LongSerializer
    -webide-representation: '{value:dec}'
    doc: A number of eight bytes.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/java/org/apache/kafka/common/serialization/LongSerializer.java LongSerializer
    seq:
      - id: value
        type: s8
        doc: The number.
  integer_value:
    -orig-id: IntegerSerializer
    -webide-representation: '{value:dec}'
    doc: A number of four bytes.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/java/org/apache/kafka/common/serialization/IntegerSerializer.java IntegerSerializer
    seq:
      - id: value
        type: s4
        doc: The number.
  short_value:
    -orig-id: ShortSerializer
    -webide-representation: '{value:dec}'
    doc: A number of two bytes.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/java/org/apache/kafka/common/serialization/ShortSerializer.java ShortSerializer
    seq:
      - id: value
        type: s2
        doc: The number.
  double_value:
    -orig-id: DoubleSerializer
    -webide-representation: '{value:dec}'
    doc: A floating-point number of eight bytes.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/java/org/apache/kafka/common/serialization/DoubleSerializer.java DoubleSerializer
    seq:
      - id: value
        type: f8
        doc: The number, IEEE 754.
  float_value:
    -orig-id: FloatSerializer
    doc: A floating-point number of four bytes.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/java/org/apache/kafka/common/serialization/FloatSerializer.java FloatSerializer
    seq:
      - id: value
        size: 4
        doc: The number, IEEE 754, high byte first.
  boolean_value:
    -orig-id: BooleanSerializer
    doc: A truth value.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/java/org/apache/kafka/common/serialization/BooleanSerializer.java BooleanSerializer
    seq:
      - id: value
        type: u1
        valid:
          max: 1
        doc: 0 is false, 1 is true; the deserializer refuses others.
  uuid_value:
    -orig-id: UUIDSerializer
    doc: A UUID as text.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/java/org/apache/kafka/common/serialization/UUIDSerializer.java UUIDSerializer
    seq:
      - id: value
        size: 36
        doc: Hexadecimal digits in groups of 8, 4, 4, 4 and 12, with hyphens.
  list_value:
    -orig-id: ListSerializer
    doc: A list. How it is stored depends on the serializer of its items.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/java/org/apache/kafka/common/serialization/ListSerializer.java ListSerializer
    seq:
      - id: items
        size-eos: true
        type: list_items
  list_items:
    doc: Items, by the strategy of their serialization.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/java/org/apache/kafka/common/serialization/ListSerializer.java ListSerializer
    seq:
      - id: content
        type:
          switch-on: strategy
          cases:
            0: constant_size_list
            1: variable_size_list
    instances:
      strategy:
        pos: 0
        type: u1
        valid:
          min: 0
          max: 1
        doc: Strategy of the serialization.
  constant_size_list:
    -orig-id: CONSTANT_SIZE
    doc: |
      A list of items that all have the same size: numbers and UUIDs. Nulls
      take no bytes.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/java/org/apache/kafka/common/serialization/ListSerializer.java ListSerializer.serialize
    seq:
      - id: strategy
        type: u1
        valid: 0
        doc: Says that the size is constant.
      - id: num_nulls
        -derive: count(nulls)
        type: s4
        valid:
          min: 0
        doc: Number of nulls.
      - id: nulls
        type: s4
        repeat: expr
        repeat-expr: num_nulls
        doc: Index of a null in the list.
      - id: size
        type: s4
        valid:
          min: 0
        doc: Number of items, nulls included.
      - id: items
        size-eos: true
        doc: The items that are not null, one after the other.
  variable_size_list:
    -orig-id: VARIABLE_SIZE
    doc: A list of items of several sizes.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/java/org/apache/kafka/common/serialization/ListSerializer.java ListSerializer.serialize
    seq:
      - id: strategy
        type: u1
        valid: 1
        doc: Says that each item has its size.
      - id: num_items
        -derive: count(items)
        type: s4
        valid:
          min: 0
        doc: Number of items.
      - id: items
        type: primitive::nullable_byte_array
        repeat: expr
        repeat-expr: num_items
        doc: An item; the size of a null is -1.
      - id: end
        size: 0
        valid:
          expr: _io.eof and _.length == 0
