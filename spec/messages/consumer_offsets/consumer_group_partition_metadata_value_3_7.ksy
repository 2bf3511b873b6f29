meta:
  id: consumer_group_partition_metadata_value_3_7
  title: ConsumerGroupPartitionMetadataValue of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../../varint
    - ../../flexible
  endian: be
-orig-id: ConsumerGroupPartitionMetadataValue
-releases: 3.6..3.7
doc: |
  Value of the topics that a consumer group subscribes to, up to Kafka 4.0, as
  Kafka 3.6 to 3.7 wrote it.
doc-ref: https://github.com/apache/kafka/blob/3.7.2/group-coordinator/src/main/resources/common/message/ConsumerGroupPartitionMetadataValue.json ConsumerGroupPartitionMetadataValue.json
seq:
  - id: schema_version
    type: s2
    valid: 0
    doc: Version of the message.
  - id: epoch
    -orig-id: Epoch
    type: s4
    doc: Epoch of the group at which it was written.
  - id: num_topics
    -orig-id: Topics
    -derive: count(topics) + 1
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
    doc: Number of items plus one.
  - id: topics
    -orig-id: Topics
    type: topic_metadata
    repeat: expr
    repeat-expr: num_topics.value - 1
    doc: Topics, each with what belongs to it.
  - id: tagged_fields
    type: flexible::tagged_fields
  - id: unused
    -default: '[]'
    size-eos: true
    doc: Bytes after it are ignored.
types:
  topic_metadata:
    -orig-id: TopicMetadata
    doc: A topic as it was when the group last looked.
    doc-ref: https://github.com/apache/kafka/blob/3.7.2/group-coordinator/src/main/resources/common/message/ConsumerGroupPartitionMetadataValue.json ConsumerGroupPartitionMetadataValue.json
    seq:
      - id: topic_id
        -orig-id: TopicId
        size: 16
        doc: UUID of the topic, high byte first; zeros where it is not known.
      - id: topic_name
        -orig-id: TopicName
        type: flexible::compact_string
        doc: Topic by its name.
      - id: partition_count
        -orig-id: NumPartitions
        type: s4
        doc: Number of partitions of the topic.
      - id: num_partition_metadata
        -orig-id: PartitionMetadata
        -derive: count(partition_metadata) + 1
        type: varint::unsigned_varint32
        valid:
          expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
        doc: Number of items plus one.
      - id: partition_metadata
        -orig-id: PartitionMetadata
        type: partition_metadata
        repeat: expr
        repeat-expr: num_partition_metadata.value - 1
        doc: Racks of each partition.
      - id: tagged_fields
        type: flexible::tagged_fields
  partition_metadata:
    -orig-id: PartitionMetadata
    doc: A partition and the racks of its replicas.
    doc-ref: https://github.com/apache/kafka/blob/3.7.2/group-coordinator/src/main/resources/common/message/ConsumerGroupPartitionMetadataValue.json ConsumerGroupPartitionMetadataValue.json
    seq:
      - id: partition
        -orig-id: Partition
        type: s4
        doc: Number of the partition in its topic.
      - id: num_racks
        -orig-id: Racks
        -derive: count(racks) + 1
        type: varint::unsigned_varint32
        valid:
          expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
        doc: Number of items plus one.
      - id: racks
        -orig-id: Racks
        type: flexible::compact_string
        repeat: expr
        repeat-expr: num_racks.value - 1
        doc: Racks of the replicas.
      - id: tagged_fields
        type: flexible::tagged_fields
