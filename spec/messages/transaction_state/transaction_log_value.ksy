meta:
  id: transaction_log_value
  title: TransactionLogValue of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../../varint
    - ../../flexible
    - ../../primitive
    - ../../enumeration
  endian: be
-orig-id: TransactionLogValue
doc: Value of a transactional id with its producer and its transaction.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/transaction-coordinator/src/main/resources/common/message/TransactionLogValue.json TransactionLogValue.json
seq:
  - id: schema_version
    type: s2
    valid:
      min: 0
      max: 1
    doc: Version of the message.
  - id: body
    type: versioned_body(schema_version.as<s4>)
  - id: unused
    -default: '[]'
    size-eos: true
    doc: Bytes after it are ignored.
types:
  partitions_schema_rigid:
    -orig-id: PartitionsSchema
    doc: A topic and its partitions in the transaction.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/transaction-coordinator/src/main/resources/common/message/TransactionLogValue.json TransactionLogValue.json
    seq:
      - id: topic
        -orig-id: Topic
        type: primitive::plain_string
        doc: Topic by its name.
      - id: num_partition_ids
        -orig-id: PartitionIds
        -derive: count(partition_ids)
        type: s4
        valid:
          expr: _ >= 0 and _.as<s8> <= (_io.size - _io.pos).as<s8>
        doc: Number of items.
      - id: partition_ids
        -orig-id: PartitionIds
        type: s4
        repeat: expr
        repeat-expr: num_partition_ids
        doc: Numbers of partitions.
  rigid_body:
    doc: Fields of version 0.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/transaction-coordinator/src/main/resources/common/message/TransactionLogValue.json TransactionLogValue.json
    seq:
      - id: producer_id
        -orig-id: ProducerId
        type: s8
        doc: Id of the producer that has the transactional id now.
      - id: producer_epoch
        -orig-id: ProducerEpoch
        type: s2
        doc: Epoch of the producer; an older one is fenced.
      - id: transaction_timeout_ms
        -orig-id: TransactionTimeoutMs
        type: s4
        doc: |
          Milliseconds after which the coordinator aborts an open
          transaction.
      - id: transaction_status
        -orig-id: TransactionStatus
        type: s1
        enum: enumeration::transaction_state
        doc: State of the transaction, for its coordinator.
      - id: num_transaction_partitions
        -orig-id: TransactionPartitions
        -derive: count(transaction_partitions)
        type: s4
        valid:
          expr: _.as<s8> <= (_io.size - _io.pos).as<s8>
        doc: Number of items; a negative one is null.
      - id: transaction_partitions
        -orig-id: TransactionPartitions
        type: partitions_schema_rigid
        repeat: expr
        repeat-expr: num_transaction_partitions
        if: num_transaction_partitions >= 0
        doc: Partitions in the transaction, or null where there is none.
      - id: transaction_last_update_timestamp_ms
        -orig-id: TransactionLastUpdateTimestampMs
        type: s8
        doc: When the state changed, in milliseconds since the Unix epoch.
      - id: transaction_start_timestamp_ms
        -orig-id: TransactionStartTimestampMs
        type: s8
        doc: |
          When the transaction began, in milliseconds since the Unix epoch; -1
          for none.
  partitions_schema_flexible:
    -orig-id: PartitionsSchema
    doc: A topic and its partitions in the transaction.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/transaction-coordinator/src/main/resources/common/message/TransactionLogValue.json TransactionLogValue.json
    seq:
      - id: topic
        -orig-id: Topic
        type: flexible::compact_string
        doc: Topic by its name.
      - id: num_partition_ids
        -orig-id: PartitionIds
        -derive: count(partition_ids) + 1
        type: varint::unsigned_varint32
        valid:
          expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
        doc: Number of items plus one.
      - id: partition_ids
        -orig-id: PartitionIds
        type: s4
        repeat: expr
        repeat-expr: num_partition_ids.value - 1
        doc: Numbers of partitions.
      - id: tagged_fields
        type: flexible::tagged_fields
  previous_producer_id_tag:
    doc: Content of tag 0.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/transaction-coordinator/src/main/resources/common/message/TransactionLogValue.json TransactionLogValue.json
    seq:
      - id: previous_producer_id
        -orig-id: PreviousProducerId
        -default: '-1'
        type: s8
        doc: Id that the producer had before; -1 for none.
      - id: end
        size: 0
        valid:
          expr: _io.eof and _.length == 0
  next_producer_id_tag:
    doc: Content of tag 1.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/transaction-coordinator/src/main/resources/common/message/TransactionLogValue.json TransactionLogValue.json
    seq:
      - id: next_producer_id
        -orig-id: NextProducerId
        -default: '-1'
        type: s8
        doc: First id that was not given away yet.
      - id: end
        size: 0
        valid:
          expr: _io.eof and _.length == 0
  client_transaction_version_tag:
    doc: Content of tag 2.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/transaction-coordinator/src/main/resources/common/message/TransactionLogValue.json TransactionLogValue.json
    seq:
      - id: client_transaction_version
        -orig-id: ClientTransactionVersion
        -default: '0'
        type: s2
        doc: Version of transactions that the client speaks.
      - id: end
        size: 0
        valid:
          expr: _io.eof and _.length == 0
  next_producer_epoch_tag:
    doc: Content of tag 3.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/transaction-coordinator/src/main/resources/common/message/TransactionLogValue.json TransactionLogValue.json
    seq:
      - id: next_producer_epoch
        -orig-id: NextProducerEpoch
        -default: '-1'
        type: s2
        doc: Epoch that goes with the next producer id; -1 for none.
      - id: end
        size: 0
        valid:
          expr: _io.eof and _.length == 0
  unknown_tag:
    doc: Content of a tag that is not known here.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/transaction-coordinator/src/main/resources/common/message/TransactionLogValue.json TransactionLogValue.json
    seq:
      - id: data
        size-eos: true
        doc: Bytes as they are.
  message_tags:
    doc: Tagged fields, ascending by tag; one that is absent has its default.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/transaction-coordinator/src/main/resources/common/message/TransactionLogValue.json TransactionLogValue.json
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
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/transaction-coordinator/src/main/resources/common/message/TransactionLogValue.json TransactionLogValue.json
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
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/transaction-coordinator/src/main/resources/common/message/TransactionLogValue.json TransactionLogValue.json
    params:
      - id: tag
        type: s4
        doc: Number of the field in Kafka's schema.
    seq:
      - id: content
        type:
          switch-on: tag
          cases:
            0: previous_producer_id_tag
            1: next_producer_id_tag
            2: client_transaction_version_tag
            3: next_producer_epoch_tag
            _: unknown_tag
  flexible_body:
    doc: Fields of version 1.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/transaction-coordinator/src/main/resources/common/message/TransactionLogValue.json TransactionLogValue.json
    seq:
      - id: producer_id
        -orig-id: ProducerId
        type: s8
        doc: Id of the producer that has the transactional id now.
      - id: producer_epoch
        -orig-id: ProducerEpoch
        type: s2
        doc: Epoch of the producer; an older one is fenced.
      - id: transaction_timeout_ms
        -orig-id: TransactionTimeoutMs
        type: s4
        doc: |
          Milliseconds after which the coordinator aborts an open
          transaction.
      - id: transaction_status
        -orig-id: TransactionStatus
        type: s1
        enum: enumeration::transaction_state
        doc: State of the transaction, for its coordinator.
      - id: num_transaction_partitions
        -orig-id: TransactionPartitions
        -derive: count(transaction_partitions) + 1
        type: varint::unsigned_varint32
        valid:
          expr: _.value - 1 <= (_io.size - _io.pos).as<s8>
        doc: Number of items plus one; 0 is null.
      - id: transaction_partitions
        -orig-id: TransactionPartitions
        type: partitions_schema_flexible
        repeat: expr
        repeat-expr: num_transaction_partitions.value - 1
        if: num_transaction_partitions.value - 1 >= 0
        doc: Partitions in the transaction, or null where there is none.
      - id: transaction_last_update_timestamp_ms
        -orig-id: TransactionLastUpdateTimestampMs
        type: s8
        doc: When the state changed, in milliseconds since the Unix epoch.
      - id: transaction_start_timestamp_ms
        -orig-id: TransactionStartTimestampMs
        type: s8
        doc: |
          When the transaction began, in milliseconds since the Unix epoch; -1
          for none.
      - id: tagged_fields
        type: message_tags
  versioned_body:
    doc: The fields; from version 1 on in Kafka's flexible encoding.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/transaction-coordinator/src/main/resources/common/message/TransactionLogValue.json TransactionLogValue.json
    params:
      - id: version
        type: s4
        doc: Version of the message.
    seq:
      - id: body
        type:
          switch-on: version
          cases:
            0: rigid_body
            _: flexible_body
