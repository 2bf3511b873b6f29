meta:
  id: consumer_group_partition_metadata_key
  title: ConsumerGroupPartitionMetadataKey of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../../primitive
  endian: be
-orig-id: ConsumerGroupPartitionMetadataKey
-since: '3.5'
doc: Key of the topics that a consumer group subscribes to, up to Kafka 4.0.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ConsumerGroupPartitionMetadataKey.json ConsumerGroupPartitionMetadataKey.json
seq:
  - id: record_type
    type: s2
    valid: 4
    doc: Says what key and value are.
  - id: group_id
    -orig-id: GroupId
    type: primitive::plain_string
    doc: Group that the record belongs to.
  - id: unused
    -default: '[]'
    size-eos: true
    doc: Bytes after it are ignored.
