meta:
  id: topic_record_2_8
  title: TopicRecord of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../../varint
    - ../../primitive
  endian: be
-orig-id: TopicRecord
-releases: 2.8..2.8
doc: Adds a topic, as Kafka 2.8 wrote it.
doc-ref: https://github.com/apache/kafka/blob/2.8.2/metadata/src/main/resources/common/metadata/TopicRecord.json TopicRecord.json
seq:
  - id: frame_version
    -default: '0'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 0
    doc: Version of the frame around it.
  - id: api_key
    -default: '2'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 2
    doc: Says what it is.
  - id: schema_version
    -default: '0'
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 0 and _.value <= 0
    doc: Version of the message.
  - id: name
    -orig-id: Name
    type: primitive::plain_string
    doc: Name of the topic.
  - id: topic_id
    -orig-id: TopicId
    size: 16
    doc: UUID of the topic, high byte first; zeros where it is not known.
  - id: end
    size: 0
    valid:
      expr: _io.eof and _.length == 0
