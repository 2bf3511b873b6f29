meta:
  id: streams_group_metadata_value
  title: StreamsGroupMetadataValue of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../../varint
    - ../../flexible
  endian: be
-orig-id: StreamsGroupMetadataValue
doc: Value of a group of Kafka Streams (KIP-1071).
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/StreamsGroupMetadataValue.json StreamsGroupMetadataValue.json
seq:
  - id: schema_version
    type: s2
    valid: 0
    doc: Version of the message.
  - id: epoch
    -orig-id: Epoch
    type: s4
    doc: Goes up with each change.
  - id: metadata_hash
    -orig-id: MetadataHash
    type: s8
    doc: |
      Hash of the metadata of all topics that the group subscribes to; 0 for
      none.
  - id: tagged_fields
    type: message_tags
  - id: unused
    -default: '[]'
    size-eos: true
    doc: Bytes after it are ignored.
types:
  validated_topology_epoch_tag:
    doc: Content of tag 0.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/StreamsGroupMetadataValue.json StreamsGroupMetadataValue.json
    seq:
      - id: validated_topology_epoch
        -orig-id: ValidatedTopologyEpoch
        -default: '-1'
        type: s4
        doc: Epoch of the topology that was last found sound; -1 for none.
      - id: end
        size: 0
        valid:
          expr: _io.eof and _.length == 0
  last_assignment_config:
    -orig-id: LastAssignmentConfig
    doc: A setting of the assignment.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/StreamsGroupMetadataValue.json StreamsGroupMetadataValue.json
    seq:
      - id: key
        -orig-id: Key
        type: flexible::compact_string
        doc: Name of the setting.
      - id: value
        -orig-id: Value
        type: flexible::compact_string
        doc: What it is set to.
      - id: tagged_fields
        type: flexible::tagged_fields
  last_assignment_configs_tag:
    doc: Content of tag 1.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/StreamsGroupMetadataValue.json StreamsGroupMetadataValue.json
    seq:
      - id: num_last_assignment_configs
        -orig-id: LastAssignmentConfigs
        -derive: count(last_assignment_configs) + 1
        type: varint::unsigned_varint32
        valid:
          expr: _.value - 1 <= (_io.size - _io.pos).as<s8>
        doc: Number of items plus one; 0 is null.
      - id: last_assignment_configs
        -orig-id: LastAssignmentConfigs
        -default: '[]'
        type: last_assignment_config
        repeat: expr
        repeat-expr: num_last_assignment_configs.value - 1
        if: num_last_assignment_configs.value - 1 >= 0
        doc: Settings that the last assignment was computed with, or null.
      - id: end
        size: 0
        valid:
          expr: _io.eof and _.length == 0
  stored_description_topology_epoch_tag:
    doc: Content of tag 2.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/StreamsGroupMetadataValue.json StreamsGroupMetadataValue.json
    seq:
      - id: stored_description_topology_epoch
        -orig-id: StoredDescriptionTopologyEpoch
        -default: '-1'
        type: s4
        doc: Epoch of the topology whose description was stored; -1 for none.
      - id: end
        size: 0
        valid:
          expr: _io.eof and _.length == 0
  failed_description_topology_epoch_tag:
    doc: Content of tag 3.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/StreamsGroupMetadataValue.json StreamsGroupMetadataValue.json
    seq:
      - id: failed_description_topology_epoch
        -orig-id: FailedDescriptionTopologyEpoch
        -default: '-1'
        type: s4
        doc: |
          Epoch of the topology whose description could not be stored; -1 for
          none.
      - id: end
        size: 0
        valid:
          expr: _io.eof and _.length == 0
  unknown_tag:
    doc: Content of a tag that is not known here.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/StreamsGroupMetadataValue.json StreamsGroupMetadataValue.json
    seq:
      - id: data
        size-eos: true
        doc: Bytes as they are.
  message_tags:
    doc: Tagged fields, ascending by tag; one that is absent has its default.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/StreamsGroupMetadataValue.json StreamsGroupMetadataValue.json
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
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/StreamsGroupMetadataValue.json StreamsGroupMetadataValue.json
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
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/StreamsGroupMetadataValue.json StreamsGroupMetadataValue.json
    params:
      - id: tag
        type: s4
        doc: Number of the field in Kafka's schema.
    seq:
      - id: content
        type:
          switch-on: tag
          cases:
            0: validated_topology_epoch_tag
            1: last_assignment_configs_tag
            2: stored_description_topology_epoch_tag
            3: failed_description_topology_epoch_tag
            _: unknown_tag
