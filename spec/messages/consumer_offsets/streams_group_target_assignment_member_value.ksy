meta:
  id: streams_group_target_assignment_member_value
  title: StreamsGroupTargetAssignmentMemberValue of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../../varint
    - ../../flexible
  endian: be
-orig-id: StreamsGroupTargetAssignmentMemberValue
doc: Value of the target of one member of a streams group.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/StreamsGroupTargetAssignmentMemberValue.json StreamsGroupTargetAssignmentMemberValue.json
seq:
  - id: schema_version
    type: s2
    valid: 0
    doc: Version of the message.
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
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/StreamsGroupTargetAssignmentMemberValue.json StreamsGroupTargetAssignmentMemberValue.json
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
        type: flexible::tagged_fields
