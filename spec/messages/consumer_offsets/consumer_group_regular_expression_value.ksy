meta:
  id: consumer_group_regular_expression_value
  title: ConsumerGroupRegularExpressionValue of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../../varint
    - ../../flexible
  endian: be
-orig-id: ConsumerGroupRegularExpressionValue
doc: Value of the topics that a pattern of a consumer group matches.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ConsumerGroupRegularExpressionValue.json ConsumerGroupRegularExpressionValue.json
seq:
  - id: schema_version
    type: s2
    valid: 0
    doc: Version of the message.
  - id: num_topics
    -orig-id: Topics
    -derive: count(topics) + 1
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
    doc: Number of items plus one.
  - id: topics
    -orig-id: Topics
    type: flexible::compact_string
    repeat: expr
    repeat-expr: num_topics.value - 1
    doc: Topics that it matches.
  - id: version
    -orig-id: Version
    type: s8
    doc: Offset of the metadata log that it was resolved at.
  - id: timestamp
    -orig-id: Timestamp
    type: s8
    doc: When it was resolved, in milliseconds since the Unix epoch.
  - id: tagged_fields
    type: flexible::tagged_fields
  - id: unused
    -default: '[]'
    size-eos: true
    doc: Bytes after it are ignored.
