meta:
  id: share_group_target_assignment_member_value
  title: ShareGroupTargetAssignmentMemberValue of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../../varint
    - ../../flexible
  endian: be
-orig-id: ShareGroupTargetAssignmentMemberValue
doc: Value of the target of one member of a share group.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ShareGroupTargetAssignmentMemberValue.json ShareGroupTargetAssignmentMemberValue.json
seq:
  - id: schema_version
    type: s2
    valid: 0
    doc: Version of the message.
  - id: num_topic_partitions
    -orig-id: TopicPartitions
    -derive: count(topic_partitions) + 1
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
    doc: Number of items plus one.
  - id: topic_partitions
    -orig-id: TopicPartitions
    type: topic_partition
    repeat: expr
    repeat-expr: num_topic_partitions.value - 1
    doc: Partitions by topic.
  - id: tagged_fields
    type: flexible::tagged_fields
  - id: unused
    -default: '[]'
    size-eos: true
    doc: Bytes after it are ignored.
types:
  topic_partition:
    -orig-id: TopicPartition
    doc: A topic and some of its partitions.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ShareGroupTargetAssignmentMemberValue.json ShareGroupTargetAssignmentMemberValue.json
    seq:
      - id: topic_id
        -orig-id: TopicId
        size: 16
        doc: UUID of the topic, high byte first; zeros where it is not known.
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
