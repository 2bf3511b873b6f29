meta:
  id: partition_record_2_8
  title: PartitionRecord of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../../varint
  endian: be
-orig-id: PartitionRecord
-releases: 2.8..2.8
doc: |
  Adds a partition, or states all about it in a snapshot, as Kafka 2.8 wrote
  it.
doc-ref: https://github.com/apache/kafka/blob/2.8.2/metadata/src/main/resources/common/metadata/PartitionRecord.json PartitionRecord.json
seq:
  - id: frame_version
    -default: '0'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 0
    doc: Version of the frame around it.
  - id: api_key
    -default: '3'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 3
    doc: Says what it is.
  - id: schema_version
    -default: '0'
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 0 and _.value <= 0
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
    -derive: count(replicas)
    type: s4
    valid:
      expr: _ >= 0 and _.as<s8> <= (_io.size - _io.pos).as<s8>
    doc: Number of items.
  - id: replicas
    -orig-id: Replicas
    type: s4
    repeat: expr
    repeat-expr: num_replicas
    doc: Node ids that hold the partition.
  - id: num_isr
    -orig-id: Isr
    -derive: count(isr)
    type: s4
    valid:
      expr: _ >= 0 and _.as<s8> <= (_io.size - _io.pos).as<s8>
    doc: Number of items.
  - id: isr
    -orig-id: Isr
    type: s4
    repeat: expr
    repeat-expr: num_isr
    doc: Node ids that are in sync.
  - id: num_removing_replicas
    -orig-id: RemovingReplicas
    -derive: count(removing_replicas)
    type: s4
    valid:
      expr: _.as<s8> <= (_io.size - _io.pos).as<s8>
    doc: Number of items; a negative one is null.
  - id: removing_replicas
    -orig-id: RemovingReplicas
    type: s4
    repeat: expr
    repeat-expr: num_removing_replicas
    if: num_removing_replicas >= 0
    doc: Node ids that shall hold it no longer.
  - id: num_adding_replicas
    -orig-id: AddingReplicas
    -derive: count(adding_replicas)
    type: s4
    valid:
      expr: _.as<s8> <= (_io.size - _io.pos).as<s8>
    doc: Number of items; a negative one is null.
  - id: adding_replicas
    -orig-id: AddingReplicas
    type: s4
    repeat: expr
    repeat-expr: num_adding_replicas
    if: num_adding_replicas >= 0
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
  - id: end
    size: 0
    valid:
      expr: _io.eof and _.length == 0
