meta:
  id: remote_log_segment_metadata_snapshot_record_3_5
  title: RemoteLogSegmentMetadataSnapshotRecord of Apache Kafka
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
-orig-id: RemoteLogSegmentMetadataSnapshotRecord
-releases: 3.1..3.5
doc: |
  A segment in remote storage, in a file with all segments of a partition, as
  Kafka 3.1 to 3.5 wrote it.
doc-ref: https://github.com/apache/kafka/blob/3.5.2/storage/src/main/resources/message/RemoteLogSegmentMetadataSnapshotRecord.json RemoteLogSegmentMetadataSnapshotRecord.json
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
    -default: '0'
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 0 and _.value <= 0
    doc: Version of the message.
  - id: segment_id
    -orig-id: SegmentId
    size: 16
    doc: UUID of the segment, high byte first.
  - id: start_offset
    -orig-id: StartOffset
    type: s8
    doc: First offset in the segment.
  - id: end_offset
    -orig-id: EndOffset
    type: s8
    doc: Last offset in the segment.
  - id: broker_id
    -orig-id: BrokerId
    type: s4
    doc: Node id of the broker.
  - id: max_timestamp_ms
    -orig-id: MaxTimestampMs
    type: s8
    doc: Greatest timestamp of a record, in milliseconds since the Unix epoch.
  - id: event_timestamp_ms
    -orig-id: EventTimestampMs
    type: s8
    doc: When it happened, in milliseconds since the Unix epoch.
  - id: num_segment_leader_epochs
    -orig-id: SegmentLeaderEpochs
    -derive: count(segment_leader_epochs) + 1
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
    doc: Number of items plus one.
  - id: segment_leader_epochs
    -orig-id: SegmentLeaderEpochs
    type: segment_leader_epoch_entry
    repeat: expr
    repeat-expr: num_segment_leader_epochs.value - 1
    doc: Leader epochs that have records in the segment.
  - id: segment_size_in_bytes
    -orig-id: SegmentSizeInBytes
    type: s4
    doc: Bytes of the log of the segment.
  - id: remote_log_segment_state
    -orig-id: RemoteLogSegmentState
    type: s1
    enum: enumeration::remote_log_segment_state
    doc: What became of the segment.
  - id: tagged_fields
    type: flexible::tagged_fields
  - id: end
    size: 0
    valid:
      expr: _io.eof and _.length == 0
types:
  segment_leader_epoch_entry:
    -orig-id: SegmentLeaderEpochEntry
    doc: A leader epoch and the first offset in it.
    doc-ref: https://github.com/apache/kafka/blob/3.5.2/storage/src/main/resources/message/RemoteLogSegmentMetadataSnapshotRecord.json RemoteLogSegmentMetadataSnapshotRecord.json
    seq:
      - id: leader_epoch
        -orig-id: LeaderEpoch
        type: s4
        doc: One that has records in the segment.
      - id: offset
        -orig-id: Offset
        type: s8
        doc: First offset of that leader.
      - id: tagged_fields
        type: flexible::tagged_fields
