meta:
  id: transaction_index
  title: Transaction index of an Apache Kafka log segment
  application: Apache Kafka
  file-extension: txnindex
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  endian: be
doc: |
  The aborted transactions whose ABORT marker lies in a segment, in the order
  of their markers. The file exists only where there is one. It is appended to
  without preallocation; readers ignore a part of an entry at its end.
doc-ref: https://github.com/apache/kafka/blob/4.1.0/storage/src/main/java/org/apache/kafka/storage/internals/log/TransactionIndex.java TransactionIndex
seq:
  - id: entries
    type: aborted_transaction
    repeat: eos
types:
  aborted_transaction:
    -orig-id: AbortedTxn
    -webide-representation: 'producer {producer_id:dec} {first_offset:dec}..{last_offset:dec}'
    doc: One aborted transaction with data in this partition.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/storage/src/main/java/org/apache/kafka/storage/internals/log/AbortedTxn.java AbortedTxn
    seq:
      - id: version
        -default: '0'
        type: s2
        valid:
          max: 255
        doc: |
          Written as 0. Kafka reads the high byte only, and refuses a positive
          one: any value up to 255 is accepted, negative ones too.
      - id: producer_id
        -orig-id: producerId
        type: s8
        doc: Producer whose transaction was aborted.
      - id: first_offset
        -orig-id: firstOffset
        type: s8
        doc: |
          First offset of the transaction in this partition. It may lie in an
          earlier segment.
      - id: last_offset
        -orig-id: lastOffset
        type: s8
        doc: Offset of the ABORT marker. Strictly increasing within a file.
      - id: last_stable_offset
        -orig-id: lastStableOffset
        type: s8
        doc: |
          Last stable offset right after this abort: the first offset of the
          earliest other open transaction, else `last_offset` + 1.
