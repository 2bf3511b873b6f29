meta:
  id: client_quota_record
  title: ClientQuotaRecord of Apache Kafka
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
-orig-id: ClientQuotaRecord
-since: '3.0'
-identity: entity key
doc: Sets or removes a quota.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/ClientQuotaRecord.json ClientQuotaRecord.json
seq:
  - id: frame_version
    -default: '1'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 1
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
    -derive: count(entity) + 1
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
    doc: Number of items plus one.
  - id: entity
    -orig-id: Entity
    type: entity_data
    repeat: expr
    repeat-expr: num_entity.value - 1
    doc: Whom the quota is for.
  - id: key
    -orig-id: Key
    type: flexible::compact_string
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
  - id: tagged_fields
    type: flexible::tagged_fields
  - id: end
    size: 0
    valid:
      expr: _io.eof and _.length == 0
types:
  entity_data:
    -orig-id: EntityData
    doc: A part of whom a quota is for.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/ClientQuotaRecord.json ClientQuotaRecord.json
    seq:
      - id: entity_type
        -orig-id: EntityType
        type: flexible::compact_string
        doc: '`user`, `client-id` or `ip`.'
      - id: entity_name
        -orig-id: EntityName
        type: flexible::compact_nullable_string
        doc: Which one, or null for the default of all.
      - id: tagged_fields
        type: flexible::tagged_fields
