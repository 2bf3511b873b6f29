meta:
  id: share_group_partition_metadata_key_4_0
  title: ShareGroupPartitionMetadataKey of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../../primitive
  endian: be
-orig-id: ShareGroupPartitionMetadataKey
-releases: 4.0..4.0
doc: |
  Key of the topics that a share group subscribes to, up to Kafka 4.0, as Kafka
  3.9 to 4.0 wrote it.
doc-ref: https://github.com/apache/kafka/blob/4.0.2/group-coordinator/src/main/resources/common/message/ShareGroupPartitionMetadataKey.json ShareGroupPartitionMetadataKey.json
seq:
  - id: record_type
    type: s2
    valid: 9
    doc: Says what key and value are.
  - id: group_id
    -orig-id: GroupId
    type: primitive::plain_string
    doc: Group that the record belongs to.
  - id: unused
    -default: '[]'
    size-eos: true
    doc: Bytes after it are ignored.
