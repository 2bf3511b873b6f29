meta:
  id: consumer_group_member_metadata_value
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
doc: Value of one who is in a consumer group.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ConsumerGroupMemberMetadataValue.json ConsumerGroupMemberMetadataValue.json
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
  - id: tagged_fields
    type: message_tags
  - id: unused
    -default: '[]'
    size-eos: true
    doc: Bytes after it are ignored.
types:
  classic_member_metadata:
    -orig-id: ClassicMemberMetadata
    doc: What a member of the classic protocol has besides.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ConsumerGroupMemberMetadataValue.json ConsumerGroupMemberMetadataValue.json
    seq:
      - id: session_timeout_ms
        -orig-id: SessionTimeoutMs
        type: s4
        doc: Milliseconds without a heartbeat after which the member is out.
      - id: num_supported_protocols
        -orig-id: SupportedProtocols
        -derive: count(supported_protocols) + 1
        type: varint::unsigned_varint32
        valid:
          expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
        doc: Number of items plus one.
      - id: supported_protocols
        -orig-id: SupportedProtocols
        type: classic_protocol
        repeat: expr
        repeat-expr: num_supported_protocols.value - 1
        doc: Ways of assignment that the member can do.
      - id: tagged_fields
        type: flexible::tagged_fields
  classic_protocol:
    -orig-id: ClassicProtocol
    doc: A way of assignment, by its name.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ConsumerGroupMemberMetadataValue.json ConsumerGroupMemberMetadataValue.json
    seq:
      - id: name
        -orig-id: Name
        type: flexible::compact_string
        doc: Name of the way of assignment.
      - id: metadata
        -orig-id: Metadata
        type: flexible::compact_byte_array
        doc: What the member says to it.
      - id: tagged_fields
        type: flexible::tagged_fields
  classic_member_metadata_tag:
    doc: Content of tag 0.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ConsumerGroupMemberMetadataValue.json ConsumerGroupMemberMetadataValue.json
    seq:
      - id: has_classic_member_metadata
        -orig-id: ClassicMemberMetadata
        -derive: present(classic_member_metadata)
        type: varint::unsigned_varint32
        doc: 0 for null.
      - id: classic_member_metadata
        -orig-id: ClassicMemberMetadata
        type: classic_member_metadata
        if: has_classic_member_metadata.value >= 1
      - id: end
        size: 0
        valid:
          expr: _io.eof and _.length == 0
  unknown_tag:
    doc: Content of a tag that is not known here.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ConsumerGroupMemberMetadataValue.json ConsumerGroupMemberMetadataValue.json
    seq:
      - id: data
        size-eos: true
        doc: Bytes as they are.
  message_tags:
    doc: Tagged fields, ascending by tag; one that is absent has its default.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ConsumerGroupMemberMetadataValue.json ConsumerGroupMemberMetadataValue.json
    seq:
      - id: num_fields
        -derive: count(fields)
        type: varint::unsigned_varint32
        valid:
          expr: _.value >= 0 and _.value <= (_io.size - _io.pos).as<s8>
        doc: Number of tagged fields.
      - id: fields
        -default: '[]'
        -ascending: tag
        type: message_tag
        repeat: expr
        repeat-expr: num_fields.value
  message_tag:
    doc: One tagged field.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ConsumerGroupMemberMetadataValue.json ConsumerGroupMemberMetadataValue.json
    seq:
      - id: tag
        type: varint::unsigned_varint32
        doc: Number of the field in Kafka's schema.
      - id: len_content
        -derive: len(content)
        type: varint::unsigned_varint32
        valid:
          expr: _.value >= 0
        doc: Bytes of the field.
      - id: content
        size: len_content.value
        type: message_tag_content(tag.value.as<s4>)
  message_tag_content:
    doc: What a tag has, by its number.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ConsumerGroupMemberMetadataValue.json ConsumerGroupMemberMetadataValue.json
    params:
      - id: tag
        type: s4
        doc: Number of the field in Kafka's schema.
    seq:
      - id: content
        type:
          switch-on: tag
          cases:
            0: classic_member_metadata_tag
            _: unknown_tag
