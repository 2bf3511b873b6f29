meta:
  id: feature_level_record
  title: FeatureLevelRecord of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../../varint
    - ../../flexible
  endian: be
-orig-id: FeatureLevelRecord
-identity: name
doc: Sets the level of a feature, `metadata.version` for instance.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/FeatureLevelRecord.json FeatureLevelRecord.json
seq:
  - id: frame_version
    -default: '1'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 1
    doc: Version of the frame around it.
  - id: api_key
    -default: '12'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 12
    doc: Says what it is.
  - id: schema_version
    -default: '0'
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 0 and _.value <= 0
    doc: Version of the message.
  - id: name
    -orig-id: Name
    type: flexible::compact_string
    doc: Name of the feature.
  - id: feature_level
    -orig-id: FeatureLevel
    type: s2
    doc: Level that is in force; 0 turns the feature off.
  - id: tagged_fields
    type: flexible::tagged_fields
  - id: end
    size: 0
    valid:
      expr: _io.eof and _.length == 0
