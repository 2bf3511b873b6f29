meta:
  id: remove_user_scram_credential_record
  title: RemoveUserScramCredentialRecord of Apache Kafka
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
-orig-id: RemoveUserScramCredentialRecord
-since: '3.5'
doc: Removes a SCRAM credential.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/RemoveUserScramCredentialRecord.json RemoveUserScramCredentialRecord.json
seq:
  - id: frame_version
    -default: '1'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 1
    doc: Version of the frame around it.
  - id: api_key
    -default: '22'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 22
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
    doc: Name of the user.
  - id: mechanism
    -orig-id: Mechanism
    type: s1
    enum: enumeration::scram_mechanism
    doc: Which hash the mechanism uses.
  - id: tagged_fields
    type: flexible::tagged_fields
  - id: end
    size: 0
    valid:
      expr: _io.eof and _.length == 0
