meta:
  id: remote_log_segment_metadata_record_3_5
  title: RemoteLogSegmentMetadataRecord of Apache Kafka
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
-orig-id: RemoteLogSegmentMetadataRecord
-releases: 3.0..3.5
doc: A segment that is copied to remote storage, as Kafka 3.0 to 3.5 wrote it.
doc-ref: https://github.com/apache/kafka/blob/3.5.2/storage/src/main/resources/message/RemoteLogSegmentMetadataRecord.json RemoteLogSegmentMetadataRecord.json
seq:
  - id: frame_version
    -default: '1'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 1
    doc: Version of the frame around it.
  - id: api_key
    -default: '0'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 0
    doc: Says what it is.
  - id: schema_version
    -default: '0'
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 0 and _.value <= 0
    doc: Version of the message.
  - id: remote_log_segment_id
    -orig-id: RemoteLogSegmentId
    type: remote_log_segment_id_entry
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
  remote_log_segment_id_entry:
    -orig-id: RemoteLogSegmentIdEntry
    doc: A segment, by its partition and its own id.
    doc-ref: https://github.com/apache/kafka/blob/3.5.2/storage/src/main/resources/message/RemoteLogSegmentMetadataRecord.json RemoteLogSegmentMetadataRecord.json
    seq:
      - id: topic_id_partition
        -orig-id: TopicIdPartition
        type: topic_id_partition_entry
      - id: id
        -orig-id: Id
        size: 16
        doc: UUID of the segment, high byte first.
      - id: tagged_fields
        type: flexible::tagged_fields
  topic_id_partition_entry:
    -orig-id: TopicIdPartitionEntry
    doc: A partition, by id and name of its topic.
    doc-ref: https://github.com/apache/kafka/blob/3.5.2/storage/src/main/resources/message/RemoteLogSegmentMetadataRecord.json RemoteLogSegmentMetadataRecord.json
    seq:
      - id: name
        -orig-id: Name
        type: flexible::compact_string
        doc: Name of the topic.
      - id: id
        -orig-id: Id
        size: 16
        doc: UUID of the topic, high byte first.
      - id: partition
        -orig-id: Partition
        type: s4
        doc: Number of the partition in its topic.
      - id: tagged_fields
        type: flexible::tagged_fields
  segment_leader_epoch_entry:
    -orig-id: SegmentLeaderEpochEntry
    doc: A leader epoch and the first offset in it.
    doc-ref: https://github.com/apache/kafka/blob/3.5.2/storage/src/main/resources/message/RemoteLogSegmentMetadataRecord.json RemoteLogSegmentMetadataRecord.json
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
