meta:
  id: streams_group_topology_key
  title: StreamsGroupTopologyKey of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../../primitive
  endian: be
-orig-id: StreamsGroupTopologyKey
-since: '4.1'
doc: Key of the parts that a streams group runs.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/StreamsGroupTopologyKey.json StreamsGroupTopologyKey.json
seq:
  - id: record_type
    type: s2
    valid: 23
    doc: Says what key and value are.
  - id: group_id
    -orig-id: GroupId
    type: primitive::plain_string
    doc: Group that the record belongs to.
  - id: unused
    -default: '[]'
    size-eos: true
    doc: Bytes after it are ignored.
