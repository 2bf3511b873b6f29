meta:
  id: delegation_token_record
  title: DelegationTokenRecord of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../../varint
    - ../../flexible
  endian: be
-orig-id: DelegationTokenRecord
-identity: token_id
doc: Adds or changes a delegation token.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/DelegationTokenRecord.json DelegationTokenRecord.json
seq:
  - id: frame_version
    -default: '1'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 1
    doc: Version of the frame around it.
  - id: api_key
    -default: '10'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 10
    doc: Says what it is.
  - id: schema_version
    -default: '0'
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 0 and _.value <= 0
    doc: Version of the message.
  - id: owner
    -orig-id: Owner
    type: flexible::compact_string
    doc: To whom the token belongs.
  - id: requester
    -orig-id: Requester
    type: flexible::compact_string
    doc: Who asked for the token.
  - id: num_renewers
    -orig-id: Renewers
    -derive: count(renewers) + 1
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
    doc: Number of items plus one.
  - id: renewers
    -orig-id: Renewers
    type: flexible::compact_string
    repeat: expr
    repeat-expr: num_renewers.value - 1
    doc: Who may renew the token.
  - id: issue_timestamp
    -orig-id: IssueTimestamp
    type: s8
    doc: When the token was made, in milliseconds since the Unix epoch.
  - id: max_timestamp
    -orig-id: MaxTimestamp
    type: s8
    doc: |
      Until when the token can be renewed, in milliseconds since the Unix
      epoch.
  - id: expiration_timestamp
    -orig-id: ExpirationTimestamp
    type: s8
    doc: Until when the token is good, in milliseconds since the Unix epoch.
  - id: token_id
    -orig-id: TokenId
    type: flexible::compact_string
    doc: By which the token is known.
  - id: tagged_fields
    type: flexible::tagged_fields
  - id: end
    size: 0
    valid:
      expr: _io.eof and _.length == 0
