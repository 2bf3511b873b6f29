meta:
  id: share_group_metadata_value_4_0
  title: ShareGroupMetadataValue of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../../flexible
  endian: be
-orig-id: ShareGroupMetadataValue
-releases: 3.9..4.0
doc: Value of a share group (KIP-932), as Kafka 3.9 to 4.0 wrote it.
doc-ref: https://github.com/apache/kafka/blob/4.0.2/group-coordinator/src/main/resources/common/message/ShareGroupMetadataValue.json ShareGroupMetadataValue.json
seq:
  - id: schema_version
    type: s2
    valid: 0
    doc: Version of the message.
  - id: epoch
    -orig-id: Epoch
    type: s4
    doc: Goes up with each change.
  - id: tagged_fields
    type: flexible::tagged_fields
  - id: unused
    -default: '[]'
    size-eos: true
    doc: Bytes after it are ignored.
