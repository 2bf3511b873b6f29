meta:
  id: partition_change_record_2_8
  title: PartitionChangeRecord of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../../varint
  endian: be
-orig-id: PartitionChangeRecord
-releases: 2.8..2.8
doc: 'Changes a partition, as Kafka 2.8 wrote it: tags that are absent stay.'
doc-ref: https://github.com/apache/kafka/blob/2.8.2/metadata/src/main/resources/common/metadata/PartitionChangeRecord.json PartitionChangeRecord.json
seq:
  - id: frame_version
    -default: '0'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 0
    doc: Version of the frame around it.
  - id: api_key
    -default: '5'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 5
    doc: Says what it is.
  - id: schema_version
    -default: '0'
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 0 and _.value <= 0
    doc: Version of the message.
  - id: partition_id
    -orig-id: PartitionId
    -default: '-1'
    type: s4
    doc: Number of the partition in its topic.
  - id: topic_id
    -orig-id: TopicId
    size: 16
    doc: UUID of the topic, high byte first; zeros where it is not known.
  - id: tagged_fields
    type: message_tags
  - id: end
    size: 0
    valid:
      expr: _io.eof and _.length == 0
types:
  isr_tag:
    doc: Content of tag 0.
    doc-ref: https://github.com/apache/kafka/blob/2.8.2/metadata/src/main/resources/common/metadata/PartitionChangeRecord.json PartitionChangeRecord.json
    seq:
      - id: num_isr
        -orig-id: Isr
        -derive: count(isr) + 1
        type: varint::unsigned_varint32
        valid:
          expr: _.value - 1 <= (_io.size - _io.pos).as<s8>
        doc: Number of items plus one; 0 is null.
      - id: isr
        -orig-id: Isr
        -default: 'null'
        type: s4
        repeat: expr
        repeat-expr: num_isr.value - 1
        if: num_isr.value - 1 >= 0
        doc: Node ids that are in sync from now on; null for no change.
      - id: end
        size: 0
        valid:
          expr: _io.eof and _.length == 0
  leader_tag:
    doc: Content of tag 1.
    doc-ref: https://github.com/apache/kafka/blob/2.8.2/metadata/src/main/resources/common/metadata/PartitionChangeRecord.json PartitionChangeRecord.json
    seq:
      - id: leader
        -orig-id: Leader
        -default: '-2'
        type: s4
        doc: Node id of the new leader; -1 for none, -2 for no change.
      - id: end
        size: 0
        valid:
          expr: _io.eof and _.length == 0
  unknown_tag:
    doc: Content of a tag that is not known here.
    doc-ref: https://github.com/apache/kafka/blob/2.8.2/metadata/src/main/resources/common/metadata/PartitionChangeRecord.json PartitionChangeRecord.json
    seq:
      - id: data
        size-eos: true
        doc: Bytes as they are.
  message_tags:
    doc: Tagged fields, ascending by tag; one that is absent has its default.
    doc-ref: https://github.com/apache/kafka/blob/2.8.2/metadata/src/main/resources/common/metadata/PartitionChangeRecord.json PartitionChangeRecord.json
    seq:
      - id: num_fields
        -derive: count(fields)
        type: varint::unsigned_varint32
        valid:
          expr: _.value >= 0 and _.value <= (_io.size - _io.pos).as<s8>
        doc: Number of tagged fields.
      - id: fields
        -default: '[]'
        -ascending: tag
        type: message_tag
        repeat: expr
        repeat-expr: num_fields.value
  message_tag:
    doc: One tagged field.
    doc-ref: https://github.com/apache/kafka/blob/2.8.2/metadata/src/main/resources/common/metadata/PartitionChangeRecord.json PartitionChangeRecord.json
    seq:
      - id: tag
        type: varint::unsigned_varint32
        doc: Number of the field in Kafka's schema.
      - id: len_content
        -derive: len(content)
        type: varint::unsigned_varint32
        valid:
          expr: _.value >= 0
        doc: Bytes of the field.
      - id: content
        size: len_content.value
        type: message_tag_content(tag.value.as<s4>)
  message_tag_content:
    doc: What a tag has, by its number.
    doc-ref: https://github.com/apache/kafka/blob/2.8.2/metadata/src/main/resources/common/metadata/PartitionChangeRecord.json PartitionChangeRecord.json
    params:
      - id: tag
        type: s4
        doc: Number of the field in Kafka's schema.
    seq:
      - id: content
        type:
          switch-on: tag
          cases:
            0: isr_tag
            1: leader_tag
            _: unknown_tag
