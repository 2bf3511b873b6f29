meta:
  id: register_broker_record
  title: RegisterBrokerRecord of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../../varint
    - ../../flexible
    - ../../primitive
    - ../../enumeration
  endian: be
-orig-id: RegisterBrokerRecord
-identity: broker_id
doc: Registers a broker.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/RegisterBrokerRecord.json RegisterBrokerRecord.json
seq:
  - id: frame_version
    -default: '1'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 1
    doc: Version of the frame around it.
  - id: api_key
    -default: '0'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 0
    doc: Says what it is.
  - id: schema_version
    -default: '4'
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 0 and _.value <= 4
    doc: Version of the message.
  - id: broker_id
    -orig-id: BrokerId
    type: s4
    doc: Node id of the broker.
  - id: is_migrating_zk_broker
    -orig-id: IsMigratingZkBroker
    -default: '0'
    type: u1
    enum: enumeration::truth
    if: schema_version.value >= 2
    doc: Whether it is a broker with ZooKeeper that is about to change over.
  - id: incarnation_id
    -orig-id: IncarnationId
    size: 16
    doc: UUID of one run of the process, high byte first.
  - id: broker_epoch
    -orig-id: BrokerEpoch
    type: s8
    doc: Epoch that the controller gave to the broker when it registered.
  - id: num_end_points
    -orig-id: EndPoints
    -derive: count(end_points) + 1
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
    doc: Number of items plus one.
  - id: end_points
    -orig-id: EndPoints
    type: broker_endpoint
    repeat: expr
    repeat-expr: num_end_points.value - 1
    doc: Addresses of the node, by listener.
  - id: num_features
    -orig-id: Features
    -derive: count(features) + 1
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
    doc: Number of items plus one.
  - id: features
    -orig-id: Features
    type: broker_feature
    repeat: expr
    repeat-expr: num_features.value - 1
    doc: Levels of features that the node supports.
  - id: rack
    -orig-id: Rack
    type: flexible::compact_nullable_string
    doc: Rack of the node, or null.
  - id: fenced
    -orig-id: Fenced
    -default: '1'
    type: u1
    enum: enumeration::truth
    doc: Whether the broker may lead no partition and is not shown to clients.
  - id: in_controlled_shutdown
    -orig-id: InControlledShutdown
    -default: '0'
    type: u1
    enum: enumeration::truth
    if: schema_version.value >= 1
    doc: Whether the broker is about to leave in order.
  - id: tagged_fields
    type: message_tags
  - id: end
    size: 0
    valid:
      expr: _io.eof and _.length == 0
types:
  broker_endpoint:
    -orig-id: BrokerEndpoint
    doc: An address of the broker.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/RegisterBrokerRecord.json RegisterBrokerRecord.json
    seq:
      - id: name
        -orig-id: Name
        type: flexible::compact_string
        doc: Name of the listener.
      - id: host
        -orig-id: Host
        type: flexible::compact_string
        doc: Host name.
      - id: port
        -orig-id: Port
        type: u2
        doc: TCP port.
      - id: security_protocol
        -orig-id: SecurityProtocol
        type: s2
        enum: enumeration::security_protocol
        doc: Whether connections are encrypted and authenticated.
      - id: tagged_fields
        type: flexible::tagged_fields
  broker_feature:
    -orig-id: BrokerFeature
    doc: A feature that the broker supports.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/RegisterBrokerRecord.json RegisterBrokerRecord.json
    seq:
      - id: name
        -orig-id: Name
        type: flexible::compact_string
        doc: Name of the feature.
      - id: min_supported_version
        -orig-id: MinSupportedVersion
        type: s2
        doc: Lowest level that the node can run at.
      - id: max_supported_version
        -orig-id: MaxSupportedVersion
        type: s2
        doc: Highest level that the node can run at.
      - id: tagged_fields
        type: flexible::tagged_fields
  log_dirs_tag:
    doc: Content of tag 0.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/RegisterBrokerRecord.json RegisterBrokerRecord.json
    seq:
      - id: num_log_dirs
        -orig-id: LogDirs
        -derive: count(log_dirs) + 1
        type: varint::unsigned_varint32
        valid:
          expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
        doc: Number of items plus one.
      - id: log_dirs
        -orig-id: LogDirs
        -default: '[]'
        type: primitive::uuid
        repeat: expr
        repeat-expr: num_log_dirs.value - 1
        doc: UUIDs of the log directories that are online.
      - id: end
        size: 0
        valid:
          expr: _io.eof and _.length == 0
  cordoned_log_dirs_tag:
    doc: Content of tag 1.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/RegisterBrokerRecord.json RegisterBrokerRecord.json
    seq:
      - id: num_cordoned_log_dirs
        -orig-id: CordonedLogDirs
        -derive: count(cordoned_log_dirs) + 1
        type: varint::unsigned_varint32
        valid:
          expr: _.value - 1 <= (_io.size - _io.pos).as<s8>
        doc: Number of items plus one; 0 is null.
      - id: cordoned_log_dirs
        -orig-id: CordonedLogDirs
        -default: 'null'
        type: primitive::uuid
        repeat: expr
        repeat-expr: num_cordoned_log_dirs.value - 1
        if: num_cordoned_log_dirs.value - 1 >= 0
        doc: UUIDs of log directories that take no new replicas, or null.
      - id: end
        size: 0
        valid:
          expr: _io.eof and _.length == 0
  unknown_tag:
    doc: Content of a tag that is not known here.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/RegisterBrokerRecord.json RegisterBrokerRecord.json
    seq:
      - id: data
        size-eos: true
        doc: Bytes as they are.
  message_tags:
    doc: Tagged fields, ascending by tag; one that is absent has its default.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/RegisterBrokerRecord.json RegisterBrokerRecord.json
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
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/RegisterBrokerRecord.json RegisterBrokerRecord.json
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
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/RegisterBrokerRecord.json RegisterBrokerRecord.json
    params:
      - id: tag
        type: s4
        doc: Number of the field in Kafka's schema.
    seq:
      - id: content
        type:
          switch-on: tag
          cases:
            0: log_dirs_tag
            1: cordoned_log_dirs_tag
            _: unknown_tag
