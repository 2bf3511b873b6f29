meta:
  id: consumer_protocol_assignment
  title: ConsumerProtocolAssignment of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../../primitive
  endian: be
-orig-id: ConsumerProtocolAssignment
doc: What the leader of a group of the classic protocol gives to a member.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/clients/src/main/resources/common/message/ConsumerProtocolAssignment.json ConsumerProtocolAssignment.json
seq:
  - id: schema_version
    type: s2
    valid:
      min: 0
    doc: Version of the message. Readers take any later one for 3.
  - id: num_assigned_partitions
    -orig-id: AssignedPartitions
    -derive: count(assigned_partitions)
    type: s4
    valid:
      expr: _ >= 0 and _.as<s8> <= (_io.size - _io.pos).as<s8>
    doc: Number of items.
  - id: assigned_partitions
    -orig-id: AssignedPartitions
    type: topic_partition
    repeat: expr
    repeat-expr: num_assigned_partitions
    doc: Partitions that the member was given.
  - id: user_data
    -orig-id: UserData
    -default: 'null'
    type: primitive::nullable_byte_array
    doc: Bytes of the assignor, or null.
  - id: unused
    -default: '[]'
    size-eos: true
    doc: Bytes after it are ignored.
types:
  topic_partition:
    -orig-id: TopicPartition
    doc: A topic and some of its partitions.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/clients/src/main/resources/common/message/ConsumerProtocolAssignment.json ConsumerProtocolAssignment.json
    seq:
      - id: topic
        -orig-id: Topic
        type: primitive::plain_string
        doc: Topic by its name.
      - id: num_partitions
        -orig-id: Partitions
        -derive: count(partitions)
        type: s4
        valid:
          expr: _ >= 0 and _.as<s8> <= (_io.size - _io.pos).as<s8>
        doc: Number of items.
      - id: partitions
        -orig-id: Partitions
        type: s4
        repeat: expr
        repeat-expr: num_partitions
        doc: Numbers of the partitions.
