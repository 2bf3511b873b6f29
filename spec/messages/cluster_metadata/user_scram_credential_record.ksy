meta:
  id: user_scram_credential_record
  title: UserScramCredentialRecord of Apache Kafka
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
-orig-id: UserScramCredentialRecord
-identity: name mechanism
doc: Adds or changes a SCRAM credential.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/UserScramCredentialRecord.json UserScramCredentialRecord.json
seq:
  - id: frame_version
    -default: '1'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 1
    doc: Version of the frame around it.
  - id: api_key
    -default: '11'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 11
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
  - id: salt
    -orig-id: Salt
    type: flexible::compact_byte_array
    doc: Random bytes of the credential.
  - id: stored_key
    -orig-id: StoredKey
    type: flexible::compact_byte_array
    doc: Hash by which the password is checked.
  - id: server_key
    -orig-id: ServerKey
    type: flexible::compact_byte_array
    doc: Key by which the server proves itself.
  - id: iterations
    -orig-id: Iterations
    type: s4
    doc: Rounds of the hash.
  - id: tagged_fields
    type: flexible::tagged_fields
  - id: end
    size: 0
    valid:
      expr: _io.eof and _.length == 0
