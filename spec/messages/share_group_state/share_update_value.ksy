meta:
  id: share_update_value
  title: ShareUpdateValue of Apache Kafka
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
-orig-id: ShareUpdateValue
doc: Value of a change of the delivery state since the last snapshot.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/share-coordinator/src/main/resources/common/message/ShareUpdateValue.json ShareUpdateValue.json
seq:
  - id: schema_version
    type: s2
    valid: 0
    doc: Version of the message.
  - id: snapshot_epoch
    -orig-id: SnapshotEpoch
    type: s4
    doc: |
      Goes up with each snapshot; updates carry that of the snapshot before
      them.
  - id: leader_epoch
    -orig-id: LeaderEpoch
    type: s4
    doc: Epoch of the leader of the partition.
  - id: start_offset
    -orig-id: StartOffset
    type: s8
    doc: First offset that counts; -1 for no change.
  - id: num_state_batches
    -orig-id: StateBatches
    -derive: count(state_batches) + 1
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
    doc: Number of items plus one.
  - id: state_batches
    -orig-id: StateBatches
    type: state_batch
    repeat: expr
    repeat-expr: num_state_batches.value - 1
    doc: Ranges of offsets with one state each.
  - id: tagged_fields
    type: message_tags
  - id: unused
    -default: '[]'
    size-eos: true
    doc: Bytes after it are ignored.
types:
  state_batch:
    -orig-id: StateBatch
    doc: A range of offsets that are in one state.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/share-coordinator/src/main/resources/common/message/ShareUpdateValue.json ShareUpdateValue.json
    seq:
      - id: first_offset
        -orig-id: FirstOffset
        type: s8
        doc: First offset of the range.
      - id: last_offset
        -orig-id: LastOffset
        type: s8
        doc: Last offset of the range.
      - id: delivery_state
        -orig-id: DeliveryState
        type: s1
        enum: enumeration::record_state
        doc: What became of these records.
      - id: delivery_count
        -orig-id: DeliveryCount
        type: s2
        doc: How many times it was handed out.
      - id: tagged_fields
        type: flexible::tagged_fields
  delivery_complete_count_tag:
    doc: Content of tag 0.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/share-coordinator/src/main/resources/common/message/ShareUpdateValue.json ShareUpdateValue.json
    seq:
      - id: delivery_complete_count
        -orig-id: DeliveryCompleteCount
        -default: '-1'
        type: s4
        doc: |
          Records from the start offset on that are done with; -1 where it is
          not known.
      - id: end
        size: 0
        valid:
          expr: _io.eof and _.length == 0
  unknown_tag:
    doc: Content of a tag that is not known here.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/share-coordinator/src/main/resources/common/message/ShareUpdateValue.json ShareUpdateValue.json
    seq:
      - id: data
        size-eos: true
        doc: Bytes as they are.
  message_tags:
    doc: Tagged fields, ascending by tag; one that is absent has its default.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/share-coordinator/src/main/resources/common/message/ShareUpdateValue.json ShareUpdateValue.json
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
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/share-coordinator/src/main/resources/common/message/ShareUpdateValue.json ShareUpdateValue.json
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
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/share-coordinator/src/main/resources/common/message/ShareUpdateValue.json ShareUpdateValue.json
    params:
      - id: tag
        type: s4
        doc: Number of the field in Kafka's schema.
    seq:
      - id: content
        type:
          switch-on: tag
          cases:
            0: delivery_complete_count_tag
            _: unknown_tag
