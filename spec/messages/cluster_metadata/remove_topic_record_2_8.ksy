meta:
  id: remove_topic_record_2_8
  title: RemoveTopicRecord of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../../varint
  endian: be
-orig-id: RemoveTopicRecord
-releases: 2.8..2.8
doc: Removes a topic with its partitions and settings, as Kafka 2.8 wrote it.
doc-ref: https://github.com/apache/kafka/blob/2.8.2/metadata/src/main/resources/common/metadata/RemoveTopicRecord.json RemoveTopicRecord.json
seq:
  - id: frame_version
    -default: '0'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 0
    doc: Version of the frame around it.
  - id: api_key
    -default: '9'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 9
    doc: Says what it is.
  - id: schema_version
    -default: '0'
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 0 and _.value <= 0
    doc: Version of the message.
  - id: topic_id
    -orig-id: TopicId
    size: 16
    doc: UUID of the topic, high byte first; zeros where it is not known.
  - id: end
    size: 0
    valid:
      expr: _io.eof and _.length == 0
