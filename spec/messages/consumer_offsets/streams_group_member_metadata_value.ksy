meta:
  id: streams_group_member_metadata_value
  title: StreamsGroupMemberMetadataValue of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../../varint
    - ../../flexible
  endian: be
-orig-id: StreamsGroupMemberMetadataValue
doc: Value of one who is in a streams group.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/StreamsGroupMemberMetadataValue.json StreamsGroupMemberMetadataValue.json
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
  - id: rebalance_timeout_ms
    -orig-id: RebalanceTimeoutMs
    -default: '-1'
    type: s4
    doc: |
      Milliseconds that the member has to give partitions back; -1 where it is
      not known.
  - id: topology_epoch
    -orig-id: TopologyEpoch
    type: s4
    doc: Epoch of the topology that the member runs.
  - id: process_id
    -orig-id: ProcessId
    type: flexible::compact_string
    doc: Id of the process that the member runs in.
  - id: has_user_endpoint
    -orig-id: UserEndpoint
    -derive: present(user_endpoint)
    type: s1
    doc: Negative for null.
  - id: user_endpoint
    -orig-id: UserEndpoint
    -default: 'null'
    type: endpoint
    if: has_user_endpoint >= 0
  - id: num_client_tags
    -orig-id: ClientTags
    -derive: count(client_tags) + 1
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
    doc: Number of items plus one.
  - id: client_tags
    -orig-id: ClientTags
    type: key_value
    repeat: expr
    repeat-expr: num_client_tags.value - 1
    doc: Tags of the client, for the placement of tasks.
  - id: tagged_fields
    type: flexible::tagged_fields
  - id: unused
    -default: '[]'
    size-eos: true
    doc: Bytes after it are ignored.
types:
  endpoint:
    -orig-id: Endpoint
    doc: An address.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/StreamsGroupMemberMetadataValue.json StreamsGroupMemberMetadataValue.json
    seq:
      - id: host
        -orig-id: Host
        type: flexible::compact_string
        doc: Host name of the member.
      - id: port
        -orig-id: Port
        type: u2
        doc: TCP port.
      - id: tagged_fields
        type: flexible::tagged_fields
  key_value:
    -orig-id: KeyValue
    doc: A tag and its value.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/StreamsGroupMemberMetadataValue.json StreamsGroupMemberMetadataValue.json
    seq:
      - id: key
        -orig-id: Key
        type: flexible::compact_string
        doc: Name of the tag.
      - id: value
        -orig-id: Value
        type: flexible::compact_string
        doc: What it is set to.
      - id: tagged_fields
        type: flexible::tagged_fields
