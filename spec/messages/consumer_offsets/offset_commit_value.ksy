meta:
  id: offset_commit_value
  title: OffsetCommitValue of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../../varint
    - ../../flexible
    - ../../primitive
  endian: be
-orig-id: OffsetCommitValue
doc: Value of an offset that a group has committed for a partition.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/OffsetCommitValue.json OffsetCommitValue.json
seq:
  - id: schema_version
    type: s2
    valid:
      min: 0
      max: 4
    doc: Version of the message.
  - id: body
    type: versioned_body(schema_version.as<s4>)
  - id: unused
    -default: '[]'
    size-eos: true
    doc: Bytes after it are ignored.
types:
  rigid_body:
    doc: Fields of versions 0 to 3.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/OffsetCommitValue.json OffsetCommitValue.json
    params:
      - id: version
        type: s4
        doc: Version of the message.
    seq:
      - id: offset
        type: s8
        doc: Next offset that the group reads.
      - id: leader_epoch
        -orig-id: leaderEpoch
        -default: '-1'
        type: s4
        if: version >= 3
        doc: Epoch of the leader of the partition; -1 where it is not known.
      - id: metadata
        type: primitive::plain_string
        doc: Text that the client gave with its commit, often empty.
      - id: commit_timestamp
        -orig-id: commitTimestamp
        type: s8
        doc: |
          When the offset was committed, in milliseconds since the Unix
          epoch.
      - id: expire_timestamp
        -orig-id: expireTimestamp
        -default: '-1'
        type: s8
        if: version == 1
        doc: |
          When the offset may be dropped, in milliseconds since the Unix epoch;
          -1 for the broker's own time.
  topic_id_tag:
    doc: Content of tag 0.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/OffsetCommitValue.json OffsetCommitValue.json
    seq:
      - id: topic_id
        -orig-id: topicId
        -default: '0'
        size: 16
        doc: UUID of the topic, high byte first; zeros where it is not known.
      - id: end
        size: 0
        valid:
          expr: _io.eof and _.length == 0
  unknown_tag:
    doc: Content of a tag that is not known here.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/OffsetCommitValue.json OffsetCommitValue.json
    seq:
      - id: data
        size-eos: true
        doc: Bytes as they are.
  message_tags:
    doc: Tagged fields, ascending by tag; one that is absent has its default.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/OffsetCommitValue.json OffsetCommitValue.json
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
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/OffsetCommitValue.json OffsetCommitValue.json
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
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/OffsetCommitValue.json OffsetCommitValue.json
    params:
      - id: tag
        type: s4
        doc: Number of the field in Kafka's schema.
    seq:
      - id: content
        type:
          switch-on: tag
          cases:
            0: topic_id_tag
            _: unknown_tag
  flexible_body:
    doc: Fields of version 4.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/OffsetCommitValue.json OffsetCommitValue.json
    seq:
      - id: offset
        type: s8
        doc: Next offset that the group reads.
      - id: leader_epoch
        -orig-id: leaderEpoch
        -default: '-1'
        type: s4
        doc: Epoch of the leader of the partition; -1 where it is not known.
      - id: metadata
        type: flexible::compact_string
        doc: Text that the client gave with its commit, often empty.
      - id: commit_timestamp
        -orig-id: commitTimestamp
        type: s8
        doc: |
          When the offset was committed, in milliseconds since the Unix
          epoch.
      - id: tagged_fields
        type: message_tags
  versioned_body:
    doc: The fields; from version 4 on in Kafka's flexible encoding.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/OffsetCommitValue.json OffsetCommitValue.json
    params:
      - id: version
        type: s4
        doc: Version of the message.
    seq:
      - id: body
        type:
          switch-on: version
          cases:
            0: rigid_body(version)
            1: rigid_body(version)
            2: rigid_body(version)
            3: rigid_body(version)
            _: flexible_body
