meta:
  id: quota_record_2_8
  title: QuotaRecord of Apache Kafka
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
-orig-id: QuotaRecord
-releases: 2.8..2.8
doc: Sets or removes a quota, as Kafka 2.8 wrote it.
doc-ref: https://github.com/apache/kafka/blob/2.8.2/metadata/src/main/resources/common/metadata/QuotaRecord.json QuotaRecord.json
seq:
  - id: frame_version
    -default: '0'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 0
    doc: Version of the frame around it.
  - id: api_key
    -default: '14'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 14
    doc: Says what it is.
  - id: schema_version
    -default: '0'
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 0 and _.value <= 0
    doc: Version of the message.
  - id: num_entity
    -orig-id: Entity
    -derive: count(entity)
    type: s4
    valid:
      expr: _ >= 0 and _.as<s8> <= (_io.size - _io.pos).as<s8>
    doc: Number of items.
  - id: entity
    -orig-id: Entity
    type: entity_data
    repeat: expr
    repeat-expr: num_entity
    doc: Whom the quota is for.
  - id: key
    -orig-id: Key
    type: primitive::plain_string
    doc: Which quota, `producer_byte_rate` for instance.
  - id: value
    -orig-id: Value
    type: f8
    doc: The limit; without meaning where it is taken away.
  - id: remove
    -orig-id: Remove
    type: u1
    enum: enumeration::truth
    doc: Whether the value is taken away.
  - id: end
    size: 0
    valid:
      expr: _io.eof and _.length == 0
types:
  entity_data:
    -orig-id: EntityData
    doc: A part of whom a quota is for.
    doc-ref: https://github.com/apache/kafka/blob/2.8.2/metadata/src/main/resources/common/metadata/QuotaRecord.json QuotaRecord.json
    seq:
      - id: entity_type
        -orig-id: EntityType
        type: primitive::plain_string
        doc: '`user`, `client-id` or `ip`.'
      - id: entity_name
        -orig-id: EntityName
        type: primitive::nullable_string
        doc: Which one, or null for the default of all.
