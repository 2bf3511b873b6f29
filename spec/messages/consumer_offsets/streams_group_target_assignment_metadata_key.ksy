meta:
  id: streams_group_target_assignment_metadata_key
  title: StreamsGroupTargetAssignmentMetadataKey of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../../primitive
  endian: be
-orig-id: StreamsGroupTargetAssignmentMetadataKey
-since: '4.1'
doc: Key of the target that a streams group moves to.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/StreamsGroupTargetAssignmentMetadataKey.json StreamsGroupTargetAssignmentMetadataKey.json
seq:
  - id: record_type
    type: s2
    valid: 20
    doc: Says what key and value are.
  - id: group_id
    -orig-id: GroupId
    type: primitive::plain_string
    doc: Group that the record belongs to.
  - id: unused
    -default: '[]'
    size-eos: true
    doc: Bytes after it are ignored.
