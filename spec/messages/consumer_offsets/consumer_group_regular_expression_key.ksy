meta:
  id: consumer_group_regular_expression_key
  title: ConsumerGroupRegularExpressionKey of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../../primitive
  endian: be
-orig-id: ConsumerGroupRegularExpressionKey
-since: '4.0'
doc: Key of the topics that a pattern of a consumer group matches.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ConsumerGroupRegularExpressionKey.json ConsumerGroupRegularExpressionKey.json
seq:
  - id: record_type
    type: s2
    valid: 16
    doc: Says what key and value are.
  - id: group_id
    -orig-id: GroupId
    type: primitive::plain_string
    doc: Group that the record belongs to.
  - id: regular_expression
    -orig-id: RegularExpression
    type: primitive::plain_string
    doc: The pattern, in the syntax of RE2.
  - id: unused
    -default: '[]'
    size-eos: true
    doc: Bytes after it are ignored.
