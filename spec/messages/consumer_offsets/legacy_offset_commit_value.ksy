meta:
  id: legacy_offset_commit_value
  title: LegacyOffsetCommitValue of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../../primitive
  endian: be
-orig-id: LegacyOffsetCommitValue
doc: Value of an offset that a group committed, as Kafka 0.8 wrote it.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/LegacyOffsetCommitValue.json LegacyOffsetCommitValue.json
seq:
  - id: schema_version
    type: s2
    valid: 0
    doc: Version of the message.
  - id: offset
    type: s8
    doc: Next offset that the group reads.
  - id: metadata
    type: primitive::plain_string
    doc: Text that the client gave with its commit, often empty.
  - id: commit_timestamp
    -orig-id: commitTimestamp
    type: s8
    doc: When the offset was committed, in milliseconds since the Unix epoch.
  - id: unused
    -default: '[]'
    size-eos: true
    doc: Bytes after it are ignored.
