meta:
  id: offset_commit_key
  title: OffsetCommitKey of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../../primitive
  endian: be
-orig-id: OffsetCommitKey
doc: Key of an offset that a group has committed for a partition.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/OffsetCommitKey.json OffsetCommitKey.json
seq:
  - id: record_type
    type: s2
    valid: 1
    doc: Says what key and value are.
  - id: group
    type: primitive::plain_string
    doc: Group that committed the offset.
  - id: topic
    type: primitive::plain_string
    doc: Topic by its name.
  - id: partition
    type: s4
    doc: Number of the partition in its topic.
  - id: unused
    -default: '[]'
    size-eos: true
    doc: Bytes after it are ignored.
