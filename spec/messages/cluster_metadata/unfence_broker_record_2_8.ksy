meta:
  id: unfence_broker_record_2_8
  title: UnfenceBrokerRecord of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../../varint
  endian: be
-orig-id: UnfenceBrokerRecord
-releases: 2.8..2.8
doc: Lifts the fence of a broker, as Kafka 2.8 wrote it.
doc-ref: https://github.com/apache/kafka/blob/2.8.2/metadata/src/main/resources/common/metadata/UnfenceBrokerRecord.json UnfenceBrokerRecord.json
seq:
  - id: frame_version
    -default: '0'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 0
    doc: Version of the frame around it.
  - id: api_key
    -default: '8'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 8
    doc: Says what it is.
  - id: schema_version
    -default: '0'
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 0 and _.value <= 0
    doc: Version of the message.
  - id: id
    -orig-id: Id
    type: s4
    doc: Number of the node.
  - id: epoch
    -orig-id: Epoch
    type: s8
    doc: Goes up with each change.
  - id: end
    size: 0
    valid:
      expr: _io.eof and _.length == 0
