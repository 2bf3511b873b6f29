meta:
  id: share_group_target_assignment_member_key
  title: ShareGroupTargetAssignmentMemberKey of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../../primitive
  endian: be
-orig-id: ShareGroupTargetAssignmentMemberKey
-since: '4.0'
doc: Key of the target of one member of a share group.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ShareGroupTargetAssignmentMemberKey.json ShareGroupTargetAssignmentMemberKey.json
seq:
  - id: record_type
    type: s2
    valid: 13
    doc: Says what key and value are.
  - id: group_id
    -orig-id: GroupId
    type: primitive::plain_string
    doc: Group that the record belongs to.
  - id: member_id
    -orig-id: MemberId
    type: primitive::plain_string
    doc: Id that the coordinator, or the client itself, gave to the member.
  - id: unused
    -default: '[]'
    size-eos: true
    doc: Bytes after it are ignored.
