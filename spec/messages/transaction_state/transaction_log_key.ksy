meta:
  id: transaction_log_key
  title: TransactionLogKey of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../../primitive
  endian: be
-orig-id: TransactionLogKey
doc: Key of a transactional id with its producer and its transaction.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/transaction-coordinator/src/main/resources/common/message/TransactionLogKey.json TransactionLogKey.json
seq:
  - id: record_type
    type: s2
    valid: 0
    doc: Says what key and value are.
  - id: transactional_id
    -orig-id: TransactionalId
    type: primitive::plain_string
    doc: '`transactional.id` of the producer.'
  - id: unused
    -default: '[]'
    size-eos: true
    doc: Bytes after it are ignored.
