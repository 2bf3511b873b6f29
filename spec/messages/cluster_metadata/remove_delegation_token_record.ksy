meta:
  id: remove_delegation_token_record
  title: RemoveDelegationTokenRecord of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../../varint
    - ../../flexible
  endian: be
-orig-id: RemoveDelegationTokenRecord
-since: '3.6'
doc: Removes a delegation token.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/RemoveDelegationTokenRecord.json RemoveDelegationTokenRecord.json
seq:
  - id: frame_version
    -default: '1'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 1
    doc: Version of the frame around it.
  - id: api_key
    -default: '26'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 26
    doc: Says what it is.
  - id: schema_version
    -default: '0'
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 0 and _.value <= 0
    doc: Version of the message.
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
