meta:
  id: begin_transaction_record
  title: BeginTransactionRecord of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../../varint
    - ../../flexible
  endian: be
-orig-id: BeginTransactionRecord
-since: '3.6'
doc: Begins records that count only together (KIP-868).
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/BeginTransactionRecord.json BeginTransactionRecord.json
seq:
  - id: frame_version
    -default: '1'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 1
    doc: Version of the frame around it.
  - id: api_key
    -default: '23'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 23
    doc: Says what it is.
  - id: schema_version
    -default: '0'
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 0 and _.value <= 0
    doc: Version of the message.
  - id: tagged_fields
    type: message_tags
  - id: end
    size: 0
    valid:
      expr: _io.eof and _.length == 0
types:
  name_tag:
    doc: Content of tag 0.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/BeginTransactionRecord.json BeginTransactionRecord.json
    seq:
      - id: name
        -orig-id: Name
        -default: 'null'
        type: flexible::compact_nullable_string
        doc: What it is for, or null.
      - id: end
        size: 0
        valid:
          expr: _io.eof and _.length == 0
  unknown_tag:
    doc: Content of a tag that is not known here.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/BeginTransactionRecord.json BeginTransactionRecord.json
    seq:
      - id: data
        size-eos: true
        doc: Bytes as they are.
  message_tags:
    doc: Tagged fields, ascending by tag; one that is absent has its default.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/BeginTransactionRecord.json BeginTransactionRecord.json
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
        type: message_tag
        repeat: expr
        repeat-expr: num_fields.value
  message_tag:
    doc: One tagged field.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/BeginTransactionRecord.json BeginTransactionRecord.json
    seq:
      - id: tag
        type: varint::unsigned_varint32
        doc: Number of the field in Kafka's schema.
      - id: len_content
        -derive: len(content)
        type: varint::unsigned_varint32
        valid:
          expr: _.value >= 0
        doc: Bytes of the field.
      - id: content
        size: len_content.value
        type: message_tag_content(tag.value.as<s4>)
  message_tag_content:
    doc: What a tag has, by its number.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/BeginTransactionRecord.json BeginTransactionRecord.json
    params:
      - id: tag
        type: s4
        doc: Number of the field in Kafka's schema.
    seq:
      - id: content
        type:
          switch-on: tag
          cases:
            0: name_tag
            _: unknown_tag
