meta:
  id: clear_elr_record
  title: ClearElrRecord of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../../varint
    - ../../flexible
  endian: be
-orig-id: ClearElrRecord
-since: '4.0'
doc: Empties the eligible leader replicas of a topic, or of all topics.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/ClearElrRecord.json ClearElrRecord.json
seq:
  - id: frame_version
    -default: '1'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 1
    doc: Version of the frame around it.
  - id: api_key
    -default: '28'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 28
    doc: Says what it is.
  - id: schema_version
    -default: '0'
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 0 and _.value <= 0
    doc: Version of the message.
  - id: topic_name
    -orig-id: TopicName
    type: flexible::compact_string
    doc: Topic by its name.
  - id: tagged_fields
    type: flexible::tagged_fields
  - id: end
    size: 0
    valid:
      expr: _io.eof and _.length == 0
