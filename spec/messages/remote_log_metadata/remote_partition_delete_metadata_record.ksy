meta:
  id: remote_partition_delete_metadata_record
  title: RemotePartitionDeleteMetadataRecord of Apache Kafka
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
-orig-id: RemotePartitionDeleteMetadataRecord
-since: '3.0'
-identity: topic_id_partition
doc: How far the removal of a partition from remote storage is.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/storage/src/main/resources/message/RemotePartitionDeleteMetadataRecord.json RemotePartitionDeleteMetadataRecord.json
seq:
  - id: frame_version
    -default: '1'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 1
    doc: Version of the frame around it.
  - id: api_key
    -default: '2'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 2
    doc: Says what it is.
  - id: schema_version
    -default: '0'
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 0 and _.value <= 0
    doc: Version of the message.
  - id: topic_id_partition
    -orig-id: TopicIdPartition
    type: topic_id_partition_entry
  - id: broker_id
    -orig-id: BrokerId
    type: s4
    doc: Node id of the broker.
  - id: event_timestamp_ms
    -orig-id: EventTimestampMs
    type: s8
    doc: When it happened, in milliseconds since the Unix epoch.
  - id: remote_partition_delete_state
    -orig-id: RemotePartitionDeleteState
    type: s1
    enum: enumeration::remote_partition_delete_state
    doc: How far the deletion has come.
  - id: tagged_fields
    type: flexible::tagged_fields
  - id: end
    size: 0
    valid:
      expr: _io.eof and _.length == 0
types:
  topic_id_partition_entry:
    -orig-id: TopicIdPartitionEntry
    doc: A partition, by id and name of its topic.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/storage/src/main/resources/message/RemotePartitionDeleteMetadataRecord.json RemotePartitionDeleteMetadataRecord.json
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
