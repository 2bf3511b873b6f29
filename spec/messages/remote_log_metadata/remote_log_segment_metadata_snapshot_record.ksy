meta:
  id: remote_log_segment_metadata_snapshot_record
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
doc: A segment in remote storage, in a file with all segments of a partition.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/storage/src/main/resources/message/RemoteLogSegmentMetadataSnapshotRecord.json RemoteLogSegmentMetadataSnapshotRecord.json
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
  - id: custom_metadata
    -orig-id: CustomMetadata
    -default: 'null'
    type: flexible::compact_nullable_byte_array
    doc: Bytes that the storage plugin wants to have back, or null.
  - id: remote_log_segment_state
    -orig-id: RemoteLogSegmentState
    type: s1
    enum: enumeration::remote_log_segment_state
    doc: What became of the segment.
  - id: tagged_fields
    type: message_tags
  - id: end
    size: 0
    valid:
      expr: _io.eof and _.length == 0
types:
  segment_leader_epoch_entry:
    -orig-id: SegmentLeaderEpochEntry
    doc: A leader epoch and the first offset in it.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/storage/src/main/resources/message/RemoteLogSegmentMetadataSnapshotRecord.json RemoteLogSegmentMetadataSnapshotRecord.json
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
  txn_index_empty_tag:
    doc: Content of tag 0.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/storage/src/main/resources/message/RemoteLogSegmentMetadataSnapshotRecord.json RemoteLogSegmentMetadataSnapshotRecord.json
    seq:
      - id: txn_index_empty
        -orig-id: TxnIndexEmpty
        -default: '0'
        type: u1
        enum: enumeration::truth
        doc: Whether the segment has no aborted transactions.
      - id: end
        size: 0
        valid:
          expr: _io.eof and _.length == 0
  unknown_tag:
    doc: Content of a tag that is not known here.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/storage/src/main/resources/message/RemoteLogSegmentMetadataSnapshotRecord.json RemoteLogSegmentMetadataSnapshotRecord.json
    seq:
      - id: data
        size-eos: true
        doc: Bytes as they are.
  message_tags:
    doc: Tagged fields, ascending by tag; one that is absent has its default.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/storage/src/main/resources/message/RemoteLogSegmentMetadataSnapshotRecord.json RemoteLogSegmentMetadataSnapshotRecord.json
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
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/storage/src/main/resources/message/RemoteLogSegmentMetadataSnapshotRecord.json RemoteLogSegmentMetadataSnapshotRecord.json
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
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/storage/src/main/resources/message/RemoteLogSegmentMetadataSnapshotRecord.json RemoteLogSegmentMetadataSnapshotRecord.json
    params:
      - id: tag
        type: s4
        doc: Number of the field in Kafka's schema.
    seq:
      - id: content
        type:
          switch-on: tag
          cases:
            0: txn_index_empty_tag
            _: unknown_tag
