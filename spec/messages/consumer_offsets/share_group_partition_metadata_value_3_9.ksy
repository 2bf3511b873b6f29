meta:
  id: share_group_partition_metadata_value_3_9
  title: ShareGroupPartitionMetadataValue of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../../varint
    - ../../flexible
  endian: be
-orig-id: ShareGroupPartitionMetadataValue
-releases: 3.9..3.9
doc: |
  Value of the topics that a share group subscribes to, up to Kafka 4.0, as
  Kafka 3.9 wrote it.
doc-ref: https://github.com/apache/kafka/blob/3.9.2/group-coordinator/src/main/resources/common/message/ShareGroupPartitionMetadataValue.json ShareGroupPartitionMetadataValue.json
seq:
  - id: schema_version
    type: s2
    valid: 0
    doc: Version of the message.
  - id: num_initialized_topics
    -orig-id: InitializedTopics
    -derive: count(initialized_topics) + 1
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
    doc: Number of items plus one.
  - id: initialized_topics
    -orig-id: InitializedTopics
    type: topic_partitions_info
    repeat: expr
    repeat-expr: num_initialized_topics.value - 1
    doc: Partitions whose state is there.
  - id: num_deleting_topics
    -orig-id: DeletingTopics
    -derive: count(deleting_topics) + 1
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
    doc: Number of items plus one.
  - id: deleting_topics
    -orig-id: DeletingTopics
    type: topic_info
    repeat: expr
    repeat-expr: num_deleting_topics.value - 1
    doc: Topics whose state is about to go.
  - id: tagged_fields
    type: flexible::tagged_fields
  - id: unused
    -default: '[]'
    size-eos: true
    doc: Bytes after it are ignored.
types:
  topic_partitions_info:
    -orig-id: TopicPartitionsInfo
    doc: A topic and some of its partitions.
    doc-ref: https://github.com/apache/kafka/blob/3.9.2/group-coordinator/src/main/resources/common/message/ShareGroupPartitionMetadataValue.json ShareGroupPartitionMetadataValue.json
    seq:
      - id: topic_id
        -orig-id: TopicId
        size: 16
        doc: UUID of the topic, high byte first; zeros where it is not known.
      - id: topic_name
        -orig-id: TopicName
        type: flexible::compact_string
        doc: Topic by its name.
      - id: num_partitions
        -orig-id: Partitions
        -derive: count(partitions) + 1
        type: varint::unsigned_varint32
        valid:
          expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
        doc: Number of items plus one.
      - id: partitions
        -orig-id: Partitions
        type: s4
        repeat: expr
        repeat-expr: num_partitions.value - 1
        doc: Numbers of the partitions.
      - id: tagged_fields
        type: flexible::tagged_fields
  topic_info:
    -orig-id: TopicInfo
    doc: A topic, by id and name.
    doc-ref: https://github.com/apache/kafka/blob/3.9.2/group-coordinator/src/main/resources/common/message/ShareGroupPartitionMetadataValue.json ShareGroupPartitionMetadataValue.json
    seq:
      - id: topic_id
        -orig-id: TopicId
        size: 16
        doc: UUID of the topic, high byte first; zeros where it is not known.
      - id: topic_name
        -orig-id: TopicName
        type: flexible::compact_string
        doc: Topic by its name.
      - id: tagged_fields
        type: flexible::tagged_fields
