meta:
  id: primitive
  title: Texts and byte strings of Apache Kafka's messages
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  endian: be
doc: |
  Types that Kafka's message generator uses in versions of its schemas that
  are not flexible: sizes are integers of two or four bytes.
doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/java/org/apache/kafka/common/protocol/Readable.java Readable
types:
  plain_string:
    -scalar: bytes
    -webide-representation: '{value}'
    doc: UTF-8 text that may not be null.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/java/org/apache/kafka/common/protocol/Readable.java Readable
    seq:
      - id: len_value
        -derive: len(value)
        type: s2
        valid:
          min: 0
        doc: Bytes that follow.
      - id: value
        size: len_value
  nullable_string:
    -scalar: nullable_bytes
    -webide-representation: '{value}'
    doc: UTF-8 text or null.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/java/org/apache/kafka/common/protocol/Readable.java Readable
    seq:
      - id: len_value
        -derive: len(value)
        type: s2
        doc: Bytes that follow; any negative number is null.
      - id: value
        size: len_value
        if: len_value >= 0
  byte_array:
    -scalar: bytes
    -webide-representation: '{value}'
    doc: Bytes that may not be null.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/java/org/apache/kafka/common/protocol/Readable.java Readable
    seq:
      - id: len_value
        -derive: len(value)
        type: s4
        valid:
          min: 0
        doc: Bytes that follow.
      - id: value
        size: len_value
  nullable_byte_array:
    -scalar: nullable_bytes
    -webide-representation: '{value}'
    doc: Bytes or null.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/java/org/apache/kafka/common/protocol/Readable.java Readable
    seq:
      - id: len_value
        -derive: len(value)
        type: s4
        doc: Bytes that follow; any negative number is null.
      - id: value
        size: len_value
        if: len_value >= 0
  uuid:
    -orig-id: Uuid
    doc: An identifier as an item of an array; other fields have 16 bytes.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/java/org/apache/kafka/common/Uuid.java Uuid
    seq:
      - id: value
        size: 16
        doc: The identifier, high byte first; all zeros where there is none.
