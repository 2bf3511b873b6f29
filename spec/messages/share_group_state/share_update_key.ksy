meta:
  id: share_update_key
  title: ShareUpdateKey of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../../primitive
  endian: be
-orig-id: ShareUpdateKey
-since: '4.0'
doc: Key of a change of the delivery state since the last snapshot.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/share-coordinator/src/main/resources/common/message/ShareUpdateKey.json ShareUpdateKey.json
seq:
  - id: record_type
    type: s2
    valid: 1
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
