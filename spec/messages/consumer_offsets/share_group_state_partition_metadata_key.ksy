meta:
  id: share_group_state_partition_metadata_key
  title: ShareGroupStatePartitionMetadataKey of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../../primitive
  endian: be
-orig-id: ShareGroupStatePartitionMetadataKey
-since: '4.0'
doc: Key of the partitions for which a share group has a state.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ShareGroupStatePartitionMetadataKey.json ShareGroupStatePartitionMetadataKey.json
seq:
  - id: record_type
    type: s2
    valid: 15
    doc: Says what key and value are.
  - id: group_id
    -orig-id: GroupId
    type: primitive::plain_string
    doc: Group that the record belongs to.
  - id: unused
    -default: '[]'
    size-eos: true
    doc: Bytes after it are ignored.
