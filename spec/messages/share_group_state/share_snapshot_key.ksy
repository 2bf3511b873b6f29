meta:
  id: share_snapshot_key
  title: ShareSnapshotKey of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../../primitive
  endian: be
-orig-id: ShareSnapshotKey
-since: '4.0'
doc: Key of the whole delivery state of a share group for a partition.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/share-coordinator/src/main/resources/common/message/ShareSnapshotKey.json ShareSnapshotKey.json
seq:
  - id: record_type
    type: s2
    valid: 0
    doc: Says what key and value are.
  - id: group_id
    -orig-id: GroupId
    type: primitive::plain_string
    doc: Group that the record belongs to.
  - id: topic_id
    -orig-id: TopicId
    size: 16
    doc: UUID of the topic, high byte first; zeros where it is not known.
  - id: partition
    -orig-id: Partition
    type: s4
    doc: Number of the partition in its topic.
  - id: unused
    -default: '[]'
    size-eos: true
    doc: Bytes after it are ignored.
