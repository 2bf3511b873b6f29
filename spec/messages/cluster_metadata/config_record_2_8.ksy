meta:
  id: config_record_2_8
  title: ConfigRecord of Apache Kafka
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
-orig-id: ConfigRecord
-releases: 2.8..2.8
doc: Sets or removes a setting, as Kafka 2.8 wrote it.
doc-ref: https://github.com/apache/kafka/blob/2.8.2/metadata/src/main/resources/common/metadata/ConfigRecord.json ConfigRecord.json
seq:
  - id: frame_version
    -default: '0'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 0
    doc: Version of the frame around it.
  - id: api_key
    -default: '4'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 4
    doc: Says what it is.
  - id: schema_version
    -default: '0'
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 0 and _.value <= 0
    doc: Version of the message.
  - id: resource_type
    -orig-id: ResourceType
    type: s1
    enum: enumeration::config_resource_type
    doc: Kind of what has the setting.
  - id: resource_name
    -orig-id: ResourceName
    type: primitive::plain_string
    doc: Which one of its kind; empty for the default of all.
  - id: name
    -orig-id: Name
    type: primitive::plain_string
    doc: Name of the setting.
  - id: value
    -orig-id: Value
    type: primitive::plain_string
    doc: What it is set to; null takes the setting away.
  - id: end
    size: 0
    valid:
      expr: _io.eof and _.length == 0
