meta:
  id: zk_migration_state_record
  title: ZkMigrationStateRecord of Apache Kafka
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
-orig-id: ZkMigrationStateRecord
-since: '3.4'
-identity: ''
doc: Says how far the migration from ZooKeeper is.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/ZkMigrationRecord.json ZkMigrationRecord.json
seq:
  - id: frame_version
    -default: '1'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 1
    doc: Version of the frame around it.
  - id: api_key
    -default: '21'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 21
    doc: Says what it is.
  - id: schema_version
    -default: '0'
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 0 and _.value <= 0
    doc: Version of the message.
  - id: zk_migration_state
    -orig-id: ZkMigrationState
    type: s1
    enum: enumeration::zk_migration_state
    doc: How far the move from ZooKeeper to KRaft has come.
  - id: tagged_fields
    type: flexible::tagged_fields
  - id: end
    size: 0
    valid:
      expr: _io.eof and _.length == 0
