meta:
  id: user_scram_credential_record_3_4
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
-releases: 3.0..3.4
doc: Adds or changes a SCRAM credential, as Kafka 3.0 to 3.4 wrote it.
doc-ref: https://github.com/apache/kafka/blob/3.4.1/metadata/src/main/resources/common/metadata/UserScramCredentialRecord.json UserScramCredentialRecord.json
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
  - id: num_credential_infos
    -orig-id: CredentialInfos
    -derive: count(credential_infos) + 1
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
    doc: Number of items plus one.
  - id: credential_infos
    -orig-id: CredentialInfos
    type: credential_info
    repeat: expr
    repeat-expr: num_credential_infos.value - 1
    doc: One for each mechanism.
  - id: tagged_fields
    type: flexible::tagged_fields
  - id: end
    size: 0
    valid:
      expr: _io.eof and _.length == 0
types:
  credential_info:
    -orig-id: CredentialInfo
    doc: A credential of one mechanism.
    doc-ref: https://github.com/apache/kafka/blob/3.4.1/metadata/src/main/resources/common/metadata/UserScramCredentialRecord.json UserScramCredentialRecord.json
    seq:
      - id: mechanism
        -orig-id: Mechanism
        type: s1
        enum: enumeration::scram_mechanism
        doc: Which hash the mechanism uses.
      - id: salt
        -orig-id: Salt
        type: flexible::compact_byte_array
        doc: Random bytes of the credential.
      - id: salted_password
        -orig-id: SaltedPassword
        type: flexible::compact_byte_array
        doc: The password, hashed with the salt.
      - id: iterations
        -orig-id: Iterations
        type: s4
        doc: Rounds of the hash.
      - id: tagged_fields
        type: flexible::tagged_fields
