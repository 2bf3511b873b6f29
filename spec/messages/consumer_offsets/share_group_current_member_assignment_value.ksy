meta:
  id: share_group_current_member_assignment_value
  title: ShareGroupCurrentMemberAssignmentValue of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../../varint
    - ../../flexible
    - ../../enumeration
  endian: be
-orig-id: ShareGroupCurrentMemberAssignmentValue
doc: Value of what a member of a share group has now.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ShareGroupCurrentMemberAssignmentValue.json ShareGroupCurrentMemberAssignmentValue.json
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
  - id: state
    -orig-id: State
    type: s1
    enum: enumeration::member_state
    doc: How far the member is with what it was assigned.
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
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ShareGroupCurrentMemberAssignmentValue.json ShareGroupCurrentMemberAssignmentValue.json
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
