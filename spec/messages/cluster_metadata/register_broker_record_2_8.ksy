meta:
  id: register_broker_record_2_8
  title: RegisterBrokerRecord of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../../varint
    - ../../primitive
    - ../../enumeration
  endian: be
-orig-id: RegisterBrokerRecord
-releases: 2.8..2.8
doc: Registers a broker, as Kafka 2.8 wrote it.
doc-ref: https://github.com/apache/kafka/blob/2.8.2/metadata/src/main/resources/common/metadata/RegisterBrokerRecord.json RegisterBrokerRecord.json
seq:
  - id: frame_version
    -default: '0'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 0
    doc: Version of the frame around it.
  - id: api_key
    -default: '0'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 0
    doc: Says what it is.
  - id: schema_version
    -default: '0'
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 0 and _.value <= 0
    doc: Version of the message.
  - id: broker_id
    -orig-id: BrokerId
    type: s4
    doc: Node id of the broker.
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
    -derive: count(end_points)
    type: s4
    valid:
      expr: _ >= 0 and _.as<s8> <= (_io.size - _io.pos).as<s8>
    doc: Number of items.
  - id: end_points
    -orig-id: EndPoints
    type: broker_endpoint
    repeat: expr
    repeat-expr: num_end_points
    doc: Addresses of the node, by listener.
  - id: num_features
    -orig-id: Features
    -derive: count(features)
    type: s4
    valid:
      expr: _ >= 0 and _.as<s8> <= (_io.size - _io.pos).as<s8>
    doc: Number of items.
  - id: features
    -orig-id: Features
    type: broker_feature
    repeat: expr
    repeat-expr: num_features
    doc: Levels of features that the node supports.
  - id: rack
    -orig-id: Rack
    type: primitive::nullable_string
    doc: Rack of the node, or null.
  - id: end
    size: 0
    valid:
      expr: _io.eof and _.length == 0
types:
  broker_endpoint:
    -orig-id: BrokerEndpoint
    doc: An address of the broker.
    doc-ref: https://github.com/apache/kafka/blob/2.8.2/metadata/src/main/resources/common/metadata/RegisterBrokerRecord.json RegisterBrokerRecord.json
    seq:
      - id: name
        -orig-id: Name
        type: primitive::plain_string
        doc: Name of the listener.
      - id: host
        -orig-id: Host
        type: primitive::plain_string
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
  broker_feature:
    -orig-id: BrokerFeature
    doc: A feature that the broker supports.
    doc-ref: https://github.com/apache/kafka/blob/2.8.2/metadata/src/main/resources/common/metadata/RegisterBrokerRecord.json RegisterBrokerRecord.json
    seq:
      - id: name
        -orig-id: Name
        type: primitive::plain_string
        doc: Name of the feature.
      - id: min_supported_version
        -orig-id: MinSupportedVersion
        type: s2
        doc: Lowest level that the node can run at.
      - id: max_supported_version
        -orig-id: MaxSupportedVersion
        type: s2
        doc: Highest level that the node can run at.
