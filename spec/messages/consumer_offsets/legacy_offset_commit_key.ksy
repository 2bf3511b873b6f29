meta:
  id: legacy_offset_commit_key
  title: LegacyOffsetCommitKey of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../../primitive
  endian: be
-orig-id: LegacyOffsetCommitKey
doc: Key of an offset that a group committed, as Kafka 0.8 wrote it.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/LegacyOffsetCommitKey.json LegacyOffsetCommitKey.json
seq:
  - id: record_type
    type: s2
    valid: 0
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
