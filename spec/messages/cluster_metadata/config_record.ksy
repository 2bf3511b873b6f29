meta:
  id: config_record
  title: ConfigRecord of Apache Kafka
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
-orig-id: ConfigRecord
-identity: resource_type resource_name name
doc: Sets or removes a setting.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/ConfigRecord.json ConfigRecord.json
seq:
  - id: frame_version
    -default: '1'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 1
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
    type: flexible::compact_string
    doc: Which one of its kind; empty for the default of all.
  - id: name
    -orig-id: Name
    type: flexible::compact_string
    doc: Name of the setting.
  - id: value
    -orig-id: Value
    type: flexible::compact_nullable_string
    doc: What it is set to; null takes the setting away.
  - id: tagged_fields
    type: flexible::tagged_fields
  - id: end
    size: 0
    valid:
      expr: _io.eof and _.length == 0
