meta:
  id: unregister_controller_record
  title: UnregisterControllerRecord of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../../varint
    - ../../flexible
  endian: be
-orig-id: UnregisterControllerRecord
-since: '4.4'
doc: Removes the registration of a controller.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/UnregisterControllerRecord.json UnregisterControllerRecord.json
seq:
  - id: frame_version
    -default: '1'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 1
    doc: Version of the frame around it.
  - id: api_key
    -default: '29'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 29
    doc: Says what it is.
  - id: schema_version
    -default: '0'
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 0 and _.value <= 0
    doc: Version of the message.
  - id: controller_id
    -orig-id: ControllerId
    type: s4
    doc: Node id of the controller.
  - id: tagged_fields
    type: flexible::tagged_fields
  - id: end
    size: 0
    valid:
      expr: _io.eof and _.length == 0
