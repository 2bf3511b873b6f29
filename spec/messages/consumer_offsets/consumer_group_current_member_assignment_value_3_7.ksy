meta:
  id: consumer_group_current_member_assignment_value_3_7
  title: ConsumerGroupCurrentMemberAssignmentValue of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../../varint
    - ../../flexible
  endian: be
-orig-id: ConsumerGroupCurrentMemberAssignmentValue
-releases: 3.6..3.7
doc: |
  Value of what a member of a consumer group has now, as Kafka 3.6 to 3.7 wrote
  it.
doc-ref: https://github.com/apache/kafka/blob/3.7.2/group-coordinator/src/main/resources/common/message/ConsumerGroupCurrentMemberAssignmentValue.json ConsumerGroupCurrentMemberAssignmentValue.json
seq:
  - id: schema_version
    type: s2
    valid: 0
    doc: Version of the message.
  - id: member_epoch
    -orig-id: MemberEpoch
    type: s4
    doc: Epoch that the member has reached.
  - id: previous_member_epoch
    -orig-id: PreviousMemberEpoch
    type: s4
    doc: Epoch of the member before the current one.
  - id: target_member_epoch
    -orig-id: TargetMemberEpoch
    type: s4
    doc: Epoch that the member is to reach.
  - id: num_assigned_partitions
    -orig-id: AssignedPartitions
    -derive: count(assigned_partitions) + 1
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
    doc: Number of items plus one.
  - id: assigned_partitions
    -orig-id: AssignedPartitions
    type: topic_partitions
    repeat: expr
    repeat-expr: num_assigned_partitions.value - 1
    doc: Partitions that the member may read.
  - id: num_partitions_pending_revocation
    -orig-id: PartitionsPendingRevocation
    -derive: count(partitions_pending_revocation) + 1
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
    doc: Number of items plus one.
  - id: partitions_pending_revocation
    -orig-id: PartitionsPendingRevocation
    type: topic_partitions
    repeat: expr
    repeat-expr: num_partitions_pending_revocation.value - 1
    doc: Partitions that the member has to give back.
  - id: num_partitions_pending_assignment
    -orig-id: PartitionsPendingAssignment
    -derive: count(partitions_pending_assignment) + 1
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
    doc: Number of items plus one.
  - id: partitions_pending_assignment
    -orig-id: PartitionsPendingAssignment
    type: topic_partitions
    repeat: expr
    repeat-expr: num_partitions_pending_assignment.value - 1
    doc: Partitions that the member gets once others have given them back.
  - id: error
    -orig-id: Error
    type: s1
    doc: Code of the error that an assignor of the client reported; 0 for none.
  - id: metadata_version
    -orig-id: MetadataVersion
    type: s2
    doc: Version of the bytes that the assignor gave.
  - id: metadata_bytes
    -orig-id: MetadataBytes
    type: flexible::compact_byte_array
    doc: Bytes that the assignor gave, or null.
  - id: tagged_fields
    type: flexible::tagged_fields
  - id: unused
    -default: '[]'
    size-eos: true
    doc: Bytes after it are ignored.
types:
  topic_partitions:
    -orig-id: TopicPartitions
    doc: A topic and some of its partitions.
    doc-ref: https://github.com/apache/kafka/blob/3.7.2/group-coordinator/src/main/resources/common/message/ConsumerGroupCurrentMemberAssignmentValue.json ConsumerGroupCurrentMemberAssignmentValue.json
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
