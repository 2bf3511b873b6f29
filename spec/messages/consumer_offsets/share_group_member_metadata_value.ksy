meta:
  id: share_group_member_metadata_value
  title: ShareGroupMemberMetadataValue of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../../varint
    - ../../flexible
  endian: be
-orig-id: ShareGroupMemberMetadataValue
doc: Value of one who is in a share group.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ShareGroupMemberMetadataValue.json ShareGroupMemberMetadataValue.json
seq:
  - id: schema_version
    type: s2
    valid: 0
    doc: Version of the message.
  - id: rack_id
    -orig-id: RackId
    type: flexible::compact_nullable_string
    doc: Rack of the client, or null.
  - id: client_id
    -orig-id: ClientId
    type: flexible::compact_string
    doc: '`client.id` of the member.'
  - id: client_host
    -orig-id: ClientHost
    type: flexible::compact_string
    doc: Address from which the member came.
  - id: num_subscribed_topic_names
    -orig-id: SubscribedTopicNames
    -derive: count(subscribed_topic_names) + 1
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
    doc: Number of items plus one.
  - id: subscribed_topic_names
    -orig-id: SubscribedTopicNames
    type: flexible::compact_string
    repeat: expr
    repeat-expr: num_subscribed_topic_names.value - 1
    doc: Topics that the member wants to read.
  - id: tagged_fields
    type: flexible::tagged_fields
  - id: unused
    -default: '[]'
    size-eos: true
    doc: Bytes after it are ignored.
