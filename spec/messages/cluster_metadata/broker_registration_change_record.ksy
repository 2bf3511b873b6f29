meta:
  id: broker_registration_change_record
  title: BrokerRegistrationChangeRecord of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../../varint
    - ../../primitive
    - ../../enumeration
  endian: be
-orig-id: BrokerRegistrationChangeRecord
-since: '3.0'
doc: 'Changes the registration of a broker: fields that are absent stay.'
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/BrokerRegistrationChangeRecord.json BrokerRegistrationChangeRecord.json
seq:
  - id: frame_version
    -default: '1'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 1
    doc: Version of the frame around it.
  - id: api_key
    -default: '17'
    type: varint::unsigned_varint32
    valid:
      expr: _.value == 17
    doc: Says what it is.
  - id: schema_version
    -default: '3'
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 0 and _.value <= 3
    doc: Version of the message.
  - id: broker_id
    -orig-id: BrokerId
    type: s4
    doc: Node id of the broker.
  - id: broker_epoch
    -orig-id: BrokerEpoch
    type: s8
    doc: Epoch that the controller gave to the broker when it registered.
  - id: tagged_fields
    type: message_tags
  - id: end
    size: 0
    valid:
      expr: _io.eof and _.length == 0
types:
  fenced_tag:
    doc: Content of tag 0.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/BrokerRegistrationChangeRecord.json BrokerRegistrationChangeRecord.json
    seq:
      - id: fenced
        -orig-id: Fenced
        -default: '0'
        type: s1
        enum: enumeration::broker_registration_fencing_change
        doc: Whether the broker gets fenced, or its fence goes.
      - id: end
        size: 0
        valid:
          expr: _io.eof and _.length == 0
  in_controlled_shutdown_tag:
    doc: Content of tag 1.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/BrokerRegistrationChangeRecord.json BrokerRegistrationChangeRecord.json
    seq:
      - id: in_controlled_shutdown
        -orig-id: InControlledShutdown
        -default: '0'
        type: s1
        enum: enumeration::broker_registration_in_controlled_shutdown_change
        doc: Whether the broker begins to leave in order.
      - id: end
        size: 0
        valid:
          expr: _io.eof and _.length == 0
  log_dirs_tag:
    doc: Content of tag 2.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/BrokerRegistrationChangeRecord.json BrokerRegistrationChangeRecord.json
    seq:
      - id: num_log_dirs
        -orig-id: LogDirs
        -derive: count(log_dirs) + 1
        type: varint::unsigned_varint32
        valid:
          expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
        doc: Number of items plus one.
      - id: log_dirs
        -orig-id: LogDirs
        -default: '[]'
        type: primitive::uuid
        repeat: expr
        repeat-expr: num_log_dirs.value - 1
        doc: UUIDs of the log directories that are online.
      - id: end
        size: 0
        valid:
          expr: _io.eof and _.length == 0
  cordoned_log_dirs_tag:
    doc: Content of tag 3.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/BrokerRegistrationChangeRecord.json BrokerRegistrationChangeRecord.json
    seq:
      - id: num_cordoned_log_dirs
        -orig-id: CordonedLogDirs
        -derive: count(cordoned_log_dirs) + 1
        type: varint::unsigned_varint32
        valid:
          expr: _.value - 1 <= (_io.size - _io.pos).as<s8>
        doc: Number of items plus one; 0 is null.
      - id: cordoned_log_dirs
        -orig-id: CordonedLogDirs
        -default: 'null'
        type: primitive::uuid
        repeat: expr
        repeat-expr: num_cordoned_log_dirs.value - 1
        if: num_cordoned_log_dirs.value - 1 >= 0
        doc: |
          UUIDs of log directories that take no new replicas; null for no
          change.
      - id: end
        size: 0
        valid:
          expr: _io.eof and _.length == 0
  unknown_tag:
    doc: Content of a tag that is not known here.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/BrokerRegistrationChangeRecord.json BrokerRegistrationChangeRecord.json
    seq:
      - id: data
        size-eos: true
        doc: Bytes as they are.
  message_tags:
    doc: Tagged fields, ascending by tag; one that is absent has its default.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/BrokerRegistrationChangeRecord.json BrokerRegistrationChangeRecord.json
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
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/BrokerRegistrationChangeRecord.json BrokerRegistrationChangeRecord.json
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
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/BrokerRegistrationChangeRecord.json BrokerRegistrationChangeRecord.json
    params:
      - id: tag
        type: s4
        doc: Number of the field in Kafka's schema.
    seq:
      - id: content
        type:
          switch-on: tag
          cases:
            0: fenced_tag
            1: in_controlled_shutdown_tag
            2: log_dirs_tag
            3: cordoned_log_dirs_tag
            _: unknown_tag
