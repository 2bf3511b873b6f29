meta:
  id: share_update_value_4_0
  title: ShareUpdateValue of Apache Kafka
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
-orig-id: ShareUpdateValue
-releases: 4.0..4.0
doc: |
  Value of a change of the delivery state since the last snapshot, as Kafka 4.0
  wrote it.
doc-ref: https://github.com/apache/kafka/blob/4.0.2/share-coordinator/src/main/resources/common/message/ShareUpdateValue.json ShareUpdateValue.json
seq:
  - id: schema_version
    type: s2
    valid: 0
    doc: Version of the message.
  - id: snapshot_epoch
    -orig-id: SnapshotEpoch
    type: u2
    doc: |
      Goes up with each snapshot; updates carry that of the snapshot before
      them.
  - id: leader_epoch
    -orig-id: LeaderEpoch
    type: s4
    doc: Epoch of the leader of the partition.
  - id: start_offset
    -orig-id: StartOffset
    type: s8
    doc: First offset that counts; -1 for no change.
  - id: num_state_batches
    -orig-id: StateBatches
    -derive: count(state_batches) + 1
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
    doc: Number of items plus one.
  - id: state_batches
    -orig-id: StateBatches
    type: state_batch
    repeat: expr
    repeat-expr: num_state_batches.value - 1
    doc: Ranges of offsets with one state each.
  - id: tagged_fields
    type: flexible::tagged_fields
  - id: unused
    -default: '[]'
    size-eos: true
    doc: Bytes after it are ignored.
types:
  state_batch:
    -orig-id: StateBatch
    doc: A range of offsets that are in one state.
    doc-ref: https://github.com/apache/kafka/blob/4.0.2/share-coordinator/src/main/resources/common/message/ShareUpdateValue.json ShareUpdateValue.json
    seq:
      - id: first_offset
        -orig-id: FirstOffset
        type: s8
        doc: First offset of the range.
      - id: last_offset
        -orig-id: LastOffset
        type: s8
        doc: Last offset of the range.
      - id: delivery_state
        -orig-id: DeliveryState
        type: s1
        enum: enumeration::record_state
        doc: What became of these records.
      - id: delivery_count
        -orig-id: DeliveryCount
        type: s2
        doc: How many times it was handed out.
      - id: tagged_fields
        type: flexible::tagged_fields
