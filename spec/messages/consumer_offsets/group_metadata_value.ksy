meta:
  id: group_metadata_value
  title: GroupMetadataValue of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../../varint
    - ../../flexible
    - ../../primitive
  endian: be
-orig-id: GroupMetadataValue
doc: Value of a group of the classic protocol with its members.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/GroupMetadataValue.json GroupMetadataValue.json
seq:
  - id: schema_version
    type: s2
    valid:
      min: 0
      max: 4
    doc: Version of the message.
  - id: body
    type: versioned_body(schema_version.as<s4>)
  - id: unused
    -default: '[]'
    size-eos: true
    doc: Bytes after it are ignored.
types:
  member_metadata_rigid:
    -orig-id: MemberMetadata
    doc: A member of the group.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/GroupMetadataValue.json GroupMetadataValue.json
    params:
      - id: version
        type: s4
        doc: Version of the message.
    seq:
      - id: member_id
        -orig-id: memberId
        type: primitive::plain_string
        doc: Id that the coordinator, or the client itself, gave to the member.
      - id: group_instance_id
        -orig-id: groupInstanceId
        -default: 'null'
        type: primitive::nullable_string
        if: version >= 3
        doc: Static name of the member, or null.
      - id: client_id
        -orig-id: clientId
        type: primitive::plain_string
        doc: '`client.id` of the member.'
      - id: client_host
        -orig-id: clientHost
        type: primitive::plain_string
        doc: Address from which the member came.
      - id: rebalance_timeout
        -orig-id: rebalanceTimeout
        -default: '-1'
        type: s4
        if: version >= 1
        doc: |
          Milliseconds that the member has to join again; -1 where it is not
          known.
      - id: session_timeout
        -orig-id: sessionTimeout
        type: s4
        doc: Milliseconds without a heartbeat after which the member is out.
      - id: subscription
        type: primitive::byte_array
        doc: |
          What the member asked for; in a group of consumers a
          `consumer_protocol_subscription`.
      - id: assignment
        type: primitive::byte_array
        doc: |
          What the member was given; in a group of consumers a
          `consumer_protocol_assignment`.
  rigid_body:
    doc: Fields of versions 0 to 3.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/GroupMetadataValue.json GroupMetadataValue.json
    params:
      - id: version
        type: s4
        doc: Version of the message.
    seq:
      - id: protocol_type
        -orig-id: protocolType
        type: primitive::plain_string
        doc: 'Kind of the group: `consumer`, `connect` or another one.'
      - id: generation
        type: s4
        doc: Number of the last rebalance.
      - id: protocol
        type: primitive::nullable_string
        doc: Way of assignment that the group chose, or null.
      - id: leader
        type: primitive::nullable_string
        doc: Member that computes the assignment, or null.
      - id: current_state_timestamp
        -orig-id: currentStateTimestamp
        -default: '-1'
        type: s8
        if: version >= 2
        doc: |
          Since when the group is as it is, in milliseconds since the Unix
          epoch; -1 for unknown.
      - id: num_members
        -orig-id: members
        -derive: count(members)
        type: s4
        valid:
          expr: _ >= 0 and _.as<s8> <= (_io.size - _io.pos).as<s8>
        doc: Number of items.
      - id: members
        type: member_metadata_rigid(version)
        repeat: expr
        repeat-expr: num_members
        doc: Who is in the group.
  member_metadata_flexible:
    -orig-id: MemberMetadata
    doc: A member of the group.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/GroupMetadataValue.json GroupMetadataValue.json
    seq:
      - id: member_id
        -orig-id: memberId
        type: flexible::compact_string
        doc: Id that the coordinator, or the client itself, gave to the member.
      - id: group_instance_id
        -orig-id: groupInstanceId
        -default: 'null'
        type: flexible::compact_nullable_string
        doc: Static name of the member, or null.
      - id: client_id
        -orig-id: clientId
        type: flexible::compact_string
        doc: '`client.id` of the member.'
      - id: client_host
        -orig-id: clientHost
        type: flexible::compact_string
        doc: Address from which the member came.
      - id: rebalance_timeout
        -orig-id: rebalanceTimeout
        -default: '-1'
        type: s4
        doc: |
          Milliseconds that the member has to join again; -1 where it is not
          known.
      - id: session_timeout
        -orig-id: sessionTimeout
        type: s4
        doc: Milliseconds without a heartbeat after which the member is out.
      - id: subscription
        type: flexible::compact_byte_array
        doc: |
          What the member asked for; in a group of consumers a
          `consumer_protocol_subscription`.
      - id: assignment
        type: flexible::compact_byte_array
        doc: |
          What the member was given; in a group of consumers a
          `consumer_protocol_assignment`.
      - id: tagged_fields
        type: flexible::tagged_fields
  flexible_body:
    doc: Fields of version 4.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/GroupMetadataValue.json GroupMetadataValue.json
    seq:
      - id: protocol_type
        -orig-id: protocolType
        type: flexible::compact_string
        doc: 'Kind of the group: `consumer`, `connect` or another one.'
      - id: generation
        type: s4
        doc: Number of the last rebalance.
      - id: protocol
        type: flexible::compact_nullable_string
        doc: Way of assignment that the group chose, or null.
      - id: leader
        type: flexible::compact_nullable_string
        doc: Member that computes the assignment, or null.
      - id: current_state_timestamp
        -orig-id: currentStateTimestamp
        -default: '-1'
        type: s8
        doc: |
          Since when the group is as it is, in milliseconds since the Unix
          epoch; -1 for unknown.
      - id: num_members
        -orig-id: members
        -derive: count(members) + 1
        type: varint::unsigned_varint32
        valid:
          expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
        doc: Number of items plus one.
      - id: members
        type: member_metadata_flexible
        repeat: expr
        repeat-expr: num_members.value - 1
        doc: Who is in the group.
      - id: tagged_fields
        type: flexible::tagged_fields
  versioned_body:
    doc: The fields; from version 4 on in Kafka's flexible encoding.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/GroupMetadataValue.json GroupMetadataValue.json
    params:
      - id: version
        type: s4
        doc: Version of the message.
    seq:
      - id: body
        type:
          switch-on: version
          cases:
            0: rigid_body(version)
            1: rigid_body(version)
            2: rigid_body(version)
            3: rigid_body(version)
            _: flexible_body
