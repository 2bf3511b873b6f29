meta:
  id: consumer_protocol_subscription
  title: ConsumerProtocolSubscription of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../../primitive
  endian: be
-orig-id: ConsumerProtocolSubscription
doc: What a consumer asks for when it joins a group of the classic protocol.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/clients/src/main/resources/common/message/ConsumerProtocolSubscription.json ConsumerProtocolSubscription.json
seq:
  - id: schema_version
    type: s2
    valid:
      min: 0
    doc: Version of the message. Readers take any later one for 3.
  - id: num_topics
    -orig-id: Topics
    -derive: count(topics)
    type: s4
    valid:
      expr: _ >= 0 and _.as<s8> <= (_io.size - _io.pos).as<s8>
    doc: Number of items.
  - id: topics
    -orig-id: Topics
    type: primitive::plain_string
    repeat: expr
    repeat-expr: num_topics
    doc: Topics that the member wants to read.
  - id: user_data
    -orig-id: UserData
    -default: 'null'
    type: primitive::nullable_byte_array
    doc: Bytes of the assignor, or null.
  - id: owned_partitions
    -orig-id: OwnedPartitions
    type: owned_partitions_array
    if: schema_version >= 1
  - id: generation_id
    -orig-id: GenerationId
    -default: '-1'
    type: s4
    if: schema_version >= 2
    doc: Number of the rebalance that the partitions are from; -1 for unknown.
  - id: rack_id
    -orig-id: RackId
    -default: 'null'
    type: primitive::nullable_string
    if: schema_version >= 3
    doc: Rack of the client, or null.
  - id: unused
    -default: '[]'
    size-eos: true
    doc: Bytes after it are ignored.
types:
  topic_partition:
    -orig-id: TopicPartition
    doc: A topic and some of its partitions.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/clients/src/main/resources/common/message/ConsumerProtocolSubscription.json ConsumerProtocolSubscription.json
    seq:
      - id: topic
        -orig-id: Topic
        type: primitive::plain_string
        doc: Topic by its name.
      - id: num_partitions
        -orig-id: Partitions
        -derive: count(partitions)
        type: s4
        valid:
          expr: _ >= 0 and _.as<s8> <= (_io.size - _io.pos).as<s8>
        doc: Number of items.
      - id: partitions
        -orig-id: Partitions
        type: s4
        repeat: expr
        repeat-expr: num_partitions
        doc: Numbers of the partitions.
  owned_partitions_array:
    doc: The items, which not every version has.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/clients/src/main/resources/common/message/ConsumerProtocolSubscription.json ConsumerProtocolSubscription.json
    seq:
      - id: num_owned_partitions
        -orig-id: OwnedPartitions
        -derive: count(owned_partitions)
        type: s4
        valid:
          expr: _ >= 0 and _.as<s8> <= (_io.size - _io.pos).as<s8>
        doc: Number of items.
      - id: owned_partitions
        -orig-id: OwnedPartitions
        type: topic_partition
        repeat: expr
        repeat-expr: num_owned_partitions
        doc: Partitions that the member still has.
