meta:
  id: consumer_group_member_metadata_value_3_7
  title: ConsumerGroupMemberMetadataValue of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../../varint
    - ../../flexible
  endian: be
-orig-id: ConsumerGroupMemberMetadataValue
-releases: 3.6..3.7
doc: Value of one who is in a consumer group, as Kafka 3.6 to 3.7 wrote it.
doc-ref: https://github.com/apache/kafka/blob/3.7.2/group-coordinator/src/main/resources/common/message/ConsumerGroupMemberMetadataValue.json ConsumerGroupMemberMetadataValue.json
seq:
  - id: schema_version
    type: s2
    valid: 0
    doc: Version of the message.
  - id: instance_id
    -orig-id: InstanceId
    type: flexible::compact_nullable_string
    doc: Static name of the member, or null.
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
  - id: subscribed_topic_regex
    -orig-id: SubscribedTopicRegex
    type: flexible::compact_nullable_string
    doc: Pattern of the topics that the member wants to read, or null.
  - id: rebalance_timeout_ms
    -orig-id: RebalanceTimeoutMs
    -default: '-1'
    type: s4
    doc: |
      Milliseconds that the member has to give partitions back; -1 where it is
      not known.
  - id: server_assignor
    -orig-id: ServerAssignor
    type: flexible::compact_nullable_string
    doc: Assignor of the server that the member wants, or null.
  - id: num_assignors
    -orig-id: Assignors
    -derive: count(assignors) + 1
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
    doc: Number of items plus one.
  - id: assignors
    -orig-id: Assignors
    type: assignor
    repeat: expr
    repeat-expr: num_assignors.value - 1
    doc: Assignors of the client that the member can do.
  - id: tagged_fields
    type: flexible::tagged_fields
  - id: unused
    -default: '[]'
    size-eos: true
    doc: Bytes after it are ignored.
types:
  assignor:
    -orig-id: Assignor
    doc: An assignor of the client.
    doc-ref: https://github.com/apache/kafka/blob/3.7.2/group-coordinator/src/main/resources/common/message/ConsumerGroupMemberMetadataValue.json ConsumerGroupMemberMetadataValue.json
    seq:
      - id: name
        -orig-id: Name
        type: flexible::compact_string
        doc: Name of the assignor.
      - id: minimum_version
        -orig-id: MinimumVersion
        type: s2
        doc: Lowest version of the metadata that it can read.
      - id: maximum_version
        -orig-id: MaximumVersion
        type: s2
        doc: Highest version of the metadata that it can read.
      - id: reason
        -orig-id: Reason
        type: s1
        doc: Why the member wants another assignment, as a number.
      - id: version
        -orig-id: Version
        type: s2
        doc: Version of the bytes that it gave.
      - id: metadata
        -orig-id: Metadata
        type: flexible::compact_byte_array
        doc: Bytes that the assignor gave, or null.
      - id: tagged_fields
        type: flexible::tagged_fields
