meta:
  id: streams_group_current_member_assignment_value
  title: StreamsGroupCurrentMemberAssignmentValue of Apache Kafka
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
-orig-id: StreamsGroupCurrentMemberAssignmentValue
doc: Value of what a member of a streams group has now.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/StreamsGroupCurrentMemberAssignmentValue.json StreamsGroupCurrentMemberAssignmentValue.json
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
    enum: enumeration::streams_member_state
    doc: How far the member is with what it was assigned.
  - id: num_active_tasks
    -orig-id: ActiveTasks
    -derive: count(active_tasks) + 1
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
    doc: Number of items plus one.
  - id: active_tasks
    -orig-id: ActiveTasks
    type: task_ids
    repeat: expr
    repeat-expr: num_active_tasks.value - 1
    doc: Tasks that the member runs.
  - id: num_standby_tasks
    -orig-id: StandbyTasks
    -derive: count(standby_tasks) + 1
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
    doc: Number of items plus one.
  - id: standby_tasks
    -orig-id: StandbyTasks
    type: task_ids
    repeat: expr
    repeat-expr: num_standby_tasks.value - 1
    doc: Tasks of which the member keeps a copy.
  - id: num_warmup_tasks
    -orig-id: WarmupTasks
    -derive: count(warmup_tasks) + 1
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
    doc: Number of items plus one.
  - id: warmup_tasks
    -orig-id: WarmupTasks
    type: task_ids
    repeat: expr
    repeat-expr: num_warmup_tasks.value - 1
    doc: Tasks that the member gets ready to run.
  - id: num_active_tasks_pending_revocation
    -orig-id: ActiveTasksPendingRevocation
    -derive: count(active_tasks_pending_revocation) + 1
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
    doc: Number of items plus one.
  - id: active_tasks_pending_revocation
    -orig-id: ActiveTasksPendingRevocation
    type: task_ids
    repeat: expr
    repeat-expr: num_active_tasks_pending_revocation.value - 1
    doc: Tasks that the member has to stop.
  - id: num_standby_tasks_pending_revocation
    -orig-id: StandbyTasksPendingRevocation
    -derive: count(standby_tasks_pending_revocation) + 1
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
    doc: Number of items plus one.
  - id: standby_tasks_pending_revocation
    -orig-id: StandbyTasksPendingRevocation
    type: task_ids
    repeat: expr
    repeat-expr: num_standby_tasks_pending_revocation.value - 1
    doc: Copies that the member has to give up.
  - id: num_warmup_tasks_pending_revocation
    -orig-id: WarmupTasksPendingRevocation
    -derive: count(warmup_tasks_pending_revocation) + 1
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
    doc: Number of items plus one.
  - id: warmup_tasks_pending_revocation
    -orig-id: WarmupTasksPendingRevocation
    type: task_ids
    repeat: expr
    repeat-expr: num_warmup_tasks_pending_revocation.value - 1
    doc: Tasks that the member has to get ready no longer.
  - id: tagged_fields
    type: flexible::tagged_fields
  - id: unused
    -default: '[]'
    size-eos: true
    doc: Bytes after it are ignored.
types:
  task_ids:
    -orig-id: TaskIds
    doc: Tasks of one part of the topology.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/StreamsGroupCurrentMemberAssignmentValue.json StreamsGroupCurrentMemberAssignmentValue.json
    seq:
      - id: subtopology_id
        -orig-id: SubtopologyId
        type: flexible::compact_string
        doc: Name of the part of the topology.
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
        type: task_ids_tags
  assignment_epochs_tag:
    doc: Content of tag 0.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/StreamsGroupCurrentMemberAssignmentValue.json StreamsGroupCurrentMemberAssignmentValue.json
    seq:
      - id: num_assignment_epochs
        -orig-id: AssignmentEpochs
        -derive: count(assignment_epochs) + 1
        type: varint::unsigned_varint32
        valid:
          expr: _.value - 1 <= (_io.size - _io.pos).as<s8>
        doc: Number of items plus one; 0 is null.
      - id: assignment_epochs
        -orig-id: AssignmentEpochs
        -default: '[]'
        type: s4
        repeat: expr
        repeat-expr: num_assignment_epochs.value - 1
        if: num_assignment_epochs.value - 1 >= 0
        doc: |
          Epoch in which each partition was assigned, in their order, or
          null.
      - id: end
        size: 0
        valid:
          expr: _io.eof and _.length == 0
  unknown_tag:
    doc: Content of a tag that is not known here.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/StreamsGroupCurrentMemberAssignmentValue.json StreamsGroupCurrentMemberAssignmentValue.json
    seq:
      - id: data
        size-eos: true
        doc: Bytes as they are.
  task_ids_tags:
    doc: Tagged fields, ascending by tag; one that is absent has its default.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/StreamsGroupCurrentMemberAssignmentValue.json StreamsGroupCurrentMemberAssignmentValue.json
    seq:
      - id: num_fields
        -derive: count(fields)
        type: varint::unsigned_varint32
        valid:
          expr: _.value >= 0 and _.value <= (_io.size - _io.pos).as<s8>
        doc: Number of tagged fields.
      - id: fields
        -default: '[]'
        -ascending: tag
        type: task_ids_tag
        repeat: expr
        repeat-expr: num_fields.value
  task_ids_tag:
    doc: One tagged field.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/StreamsGroupCurrentMemberAssignmentValue.json StreamsGroupCurrentMemberAssignmentValue.json
    seq:
      - id: tag
        type: varint::unsigned_varint32
        doc: Number of the field in Kafka's schema.
      - id: len_content
        -derive: len(content)
        type: varint::unsigned_varint32
        valid:
          expr: _.value >= 0
        doc: Bytes of the field.
      - id: content
        size: len_content.value
        type: task_ids_tag_content(tag.value.as<s4>)
  task_ids_tag_content:
    doc: What a tag has, by its number.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/StreamsGroupCurrentMemberAssignmentValue.json StreamsGroupCurrentMemberAssignmentValue.json
    params:
      - id: tag
        type: s4
        doc: Number of the field in Kafka's schema.
    seq:
      - id: content
        type:
          switch-on: tag
          cases:
            0: assignment_epochs_tag
            _: unknown_tag
