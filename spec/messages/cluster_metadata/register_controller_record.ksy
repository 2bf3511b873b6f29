meta:
  id: register_controller_record
  title: RegisterControllerRecord of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../../varint
    - ../../flexible
    - ../../enumeration
  endian: be
-orig-id: RegisterControllerRecord
-since: '3.7'
-identity: controller_id
doc: Registers a controller.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/RegisterControllerRecord.json RegisterControllerRecord.json
seq:
  - id: frame_version
    -default: '1'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 1
    doc: Version of the frame around it.
  - id: api_key
    -default: '27'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 27
    doc: Says what it is.
  - id: schema_version
    -default: '0'
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 0 and _.value <= 0
    doc: Version of the message.
  - id: controller_id
    -orig-id: ControllerId
    type: s4
    doc: Node id of the controller.
  - id: incarnation_id
    -orig-id: IncarnationId
    size: 16
    doc: UUID of one run of the process, high byte first.
  - id: zk_migration_ready
    -orig-id: ZkMigrationReady
    type: u1
    enum: enumeration::truth
    doc: Whether all is there for a migration from ZooKeeper.
  - id: num_end_points
    -orig-id: EndPoints
    -derive: count(end_points) + 1
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
    doc: Number of items plus one.
  - id: end_points
    -orig-id: EndPoints
    type: controller_endpoint
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
    type: controller_feature
    repeat: expr
    repeat-expr: num_features.value - 1
    doc: Levels of features that the node supports.
  - id: tagged_fields
    type: flexible::tagged_fields
  - id: end
    size: 0
    valid:
      expr: _io.eof and _.length == 0
types:
  controller_endpoint:
    -orig-id: ControllerEndpoint
    doc: An address of the controller.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/RegisterControllerRecord.json RegisterControllerRecord.json
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
  controller_feature:
    -orig-id: ControllerFeature
    doc: A feature that the controller supports.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/RegisterControllerRecord.json RegisterControllerRecord.json
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
