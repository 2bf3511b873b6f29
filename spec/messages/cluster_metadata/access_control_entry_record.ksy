meta:
  id: access_control_entry_record
  title: AccessControlEntryRecord of Apache Kafka
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
-orig-id: AccessControlEntryRecord
-since: '3.2'
-identity: id
doc: Adds an ACL.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/AccessControlEntryRecord.json AccessControlEntryRecord.json
seq:
  - id: frame_version
    -default: '1'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 1
    doc: Version of the frame around it.
  - id: api_key
    -default: '18'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 18
    doc: Says what it is.
  - id: schema_version
    -default: '0'
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 0 and _.value <= 0
    doc: Version of the message.
  - id: id
    -orig-id: Id
    size: 16
    doc: UUID of the entry, high byte first.
  - id: resource_type
    -orig-id: ResourceType
    type: s1
    enum: enumeration::resource_type
    doc: Kind of what the entry protects.
  - id: resource_name
    -orig-id: ResourceName
    type: flexible::compact_string
    doc: Which one of its kind; empty for the default of all.
  - id: pattern_type
    -orig-id: PatternType
    type: s1
    enum: enumeration::pattern_type
    doc: Whether the name is whole, or how names begin.
  - id: principal
    -orig-id: Principal
    type: flexible::compact_string
    doc: Who it is about, as `User:name`.
  - id: host
    -orig-id: Host
    type: flexible::compact_string
    doc: Address that it is for; `*` for any.
  - id: operation
    -orig-id: Operation
    type: s1
    enum: enumeration::acl_operation
    doc: What is allowed or denied.
  - id: permission_type
    -orig-id: PermissionType
    type: s1
    enum: enumeration::acl_permission_type
    doc: Whether it is allowed or denied.
  - id: tagged_fields
    type: flexible::tagged_fields
  - id: end
    size: 0
    valid:
      expr: _io.eof and _.length == 0
