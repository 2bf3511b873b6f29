meta:
  id: group_metadata_key
  title: GroupMetadataKey of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../../primitive
  endian: be
-orig-id: GroupMetadataKey
doc: Key of a group of the classic protocol with its members.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/GroupMetadataKey.json GroupMetadataKey.json
seq:
  - id: record_type
    type: s2
    valid: 2
    doc: Says what key and value are.
  - id: group
    type: primitive::plain_string
    doc: Group that committed the offset.
  - id: unused
    -default: '[]'
    size-eos: true
    doc: Bytes after it are ignored.
