meta:
  id: partition_record
  title: PartitionRecord of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../../varint
    - ../../primitive
    - ../../enumeration
  endian: be
-orig-id: PartitionRecord
-identity: topic_id partition_id
doc: Adds a partition, or states all about it in a snapshot.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/PartitionRecord.json PartitionRecord.json
seq:
  - id: frame_version
    -default: '1'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 1
    doc: Version of the frame around it.
  - id: api_key
    -default: '3'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 3
    doc: Says what it is.
  - id: schema_version
    -default: '2'
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 0 and _.value <= 2
    doc: Version of the message.
  - id: partition_id
    -orig-id: PartitionId
    -default: '-1'
    type: s4
    doc: Number of the partition in its topic.
  - id: topic_id
    -orig-id: TopicId
    size: 16
    doc: UUID of the topic, high byte first; zeros where it is not known.
  - id: num_replicas
    -orig-id: Replicas
    -derive: count(replicas) + 1
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
    doc: Number of items plus one.
  - id: replicas
    -orig-id: Replicas
    type: s4
    repeat: expr
    repeat-expr: num_replicas.value - 1
    doc: Node ids that hold the partition.
  - id: num_isr
    -orig-id: Isr
    -derive: count(isr) + 1
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
    doc: Number of items plus one.
  - id: isr
    -orig-id: Isr
    type: s4
    repeat: expr
    repeat-expr: num_isr.value - 1
    doc: Node ids that are in sync.
  - id: num_removing_replicas
    -orig-id: RemovingReplicas
    -derive: count(removing_replicas) + 1
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
    doc: Number of items plus one.
  - id: removing_replicas
    -orig-id: RemovingReplicas
    type: s4
    repeat: expr
    repeat-expr: num_removing_replicas.value - 1
    doc: Node ids that shall hold it no longer.
  - id: num_adding_replicas
    -orig-id: AddingReplicas
    -derive: count(adding_replicas) + 1
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
    doc: Number of items plus one.
  - id: adding_replicas
    -orig-id: AddingReplicas
    type: s4
    repeat: expr
    repeat-expr: num_adding_replicas.value - 1
    doc: Node ids that shall hold it too.
  - id: leader
    -orig-id: Leader
    -default: '-1'
    type: s4
    doc: Node id of the leader; -1 for none.
  - id: leader_epoch
    -orig-id: LeaderEpoch
    -default: '-1'
    type: s4
    doc: Epoch of the leader of the partition; -1 where it is not known.
  - id: partition_epoch
    -orig-id: PartitionEpoch
    -default: '-1'
    type: s4
    doc: Goes up with each change of the partition.
  - id: directories
    -orig-id: Directories
    type: directories_array
    if: schema_version.value >= 1
  - id: tagged_fields
    type: message_tags
  - id: end
    size: 0
    valid:
      expr: _io.eof and _.length == 0
types:
  directories_array:
    doc: The items, which not every version has.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/PartitionRecord.json PartitionRecord.json
    seq:
      - id: num_directories
        -orig-id: Directories
        -derive: count(directories) + 1
        type: varint::unsigned_varint32
        valid:
          expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
        doc: Number of items plus one.
      - id: directories
        -orig-id: Directories
        type: primitive::uuid
        repeat: expr
        repeat-expr: num_directories.value - 1
        doc: UUID of the log directory of each replica.
  leader_recovery_state_tag:
    doc: Content of tag 0.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/PartitionRecord.json PartitionRecord.json
    seq:
      - id: leader_recovery_state
        -orig-id: LeaderRecoveryState
        -default: '0'
        type: s1
        enum: enumeration::leader_recovery_state
        doc: Whether a leader that was elected out of sync still has to recover.
      - id: end
        size: 0
        valid:
          expr: _io.eof and _.length == 0
  eligible_leader_replicas_tag:
    doc: Content of tag 1.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/PartitionRecord.json PartitionRecord.json
    seq:
      - id: num_eligible_leader_replicas
        -orig-id: EligibleLeaderReplicas
        -derive: count(eligible_leader_replicas) + 1
        type: varint::unsigned_varint32
        valid:
          expr: _.value - 1 <= (_io.size - _io.pos).as<s8>
        doc: Number of items plus one; 0 is null.
      - id: eligible_leader_replicas
        -orig-id: EligibleLeaderReplicas
        -default: 'null'
        type: s4
        repeat: expr
        repeat-expr: num_eligible_leader_replicas.value - 1
        if: num_eligible_leader_replicas.value - 1 >= 0
        doc: Node ids out of sync that have all committed records, or null.
      - id: end
        size: 0
        valid:
          expr: _io.eof and _.length == 0
  last_known_elr_tag:
    doc: Content of tag 2.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/PartitionRecord.json PartitionRecord.json
    seq:
      - id: num_last_known_elr
        -orig-id: LastKnownElr
        -derive: count(last_known_elr) + 1
        type: varint::unsigned_varint32
        valid:
          expr: _.value - 1 <= (_io.size - _io.pos).as<s8>
        doc: Number of items plus one; 0 is null.
      - id: last_known_elr
        -orig-id: LastKnownElr
        -default: 'null'
        type: s4
        repeat: expr
        repeat-expr: num_last_known_elr.value - 1
        if: num_last_known_elr.value - 1 >= 0
        doc: Node ids that were in the eligible replicas last, or null.
      - id: end
        size: 0
        valid:
          expr: _io.eof and _.length == 0
  unknown_tag:
    doc: Content of a tag that is not known here.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/PartitionRecord.json PartitionRecord.json
    seq:
      - id: data
        size-eos: true
        doc: Bytes as they are.
  message_tags:
    doc: Tagged fields, ascending by tag; one that is absent has its default.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/PartitionRecord.json PartitionRecord.json
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
        type: message_tag
        repeat: expr
        repeat-expr: num_fields.value
  message_tag:
    doc: One tagged field.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/PartitionRecord.json PartitionRecord.json
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
        type: message_tag_content(tag.value.as<s4>)
  message_tag_content:
    doc: What a tag has, by its number.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/PartitionRecord.json PartitionRecord.json
    params:
      - id: tag
        type: s4
        doc: Number of the field in Kafka's schema.
    seq:
      - id: content
        type:
          switch-on: tag
          cases:
            0: leader_recovery_state_tag
            1: eligible_leader_replicas_tag
            2: last_known_elr_tag
            _: unknown_tag
