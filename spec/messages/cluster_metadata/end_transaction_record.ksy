meta:
  id: end_transaction_record
  title: EndTransactionRecord of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../../varint
    - ../../flexible
  endian: be
-orig-id: EndTransactionRecord
-since: '3.6'
doc: Ends records that count only together.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/EndTransactionRecord.json EndTransactionRecord.json
seq:
  - id: frame_version
    -default: '1'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 1
    doc: Version of the frame around it.
  - id: api_key
    -default: '24'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 24
    doc: Says what it is.
  - id: schema_version
    -default: '0'
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 0 and _.value <= 0
    doc: Version of the message.
  - id: tagged_fields
    type: flexible::tagged_fields
  - id: end
    size: 0
    valid:
      expr: _io.eof and _.length == 0
