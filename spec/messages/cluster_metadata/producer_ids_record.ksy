meta:
  id: producer_ids_record
  title: ProducerIdsRecord of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../../varint
    - ../../flexible
  endian: be
-orig-id: ProducerIdsRecord
-since: '3.0'
-identity: ''
doc: Gives a block of producer ids to a broker.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/ProducerIdsRecord.json ProducerIdsRecord.json
seq:
  - id: frame_version
    -default: '1'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 1
    doc: Version of the frame around it.
  - id: api_key
    -default: '15'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 15
    doc: Says what it is.
  - id: schema_version
    -default: '0'
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 0 and _.value <= 0
    doc: Version of the message.
  - id: broker_id
    -orig-id: BrokerId
    type: s4
    doc: Node id of the broker that got a block of ids.
  - id: broker_epoch
    -orig-id: BrokerEpoch
    -default: '-1'
    type: s8
    doc: Epoch that the controller gave to the broker when it registered.
  - id: next_producer_id
    -orig-id: NextProducerId
    type: s8
    doc: First id that was not given away yet.
  - id: tagged_fields
    type: flexible::tagged_fields
  - id: end
    size: 0
    valid:
      expr: _io.eof and _.length == 0
