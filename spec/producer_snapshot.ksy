meta:
  id: producer_snapshot
  title: Producer state snapshot of an Apache Kafka partition
  application: Apache Kafka
  file-extension: snapshot
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  endian: be
doc: |
  What the broker knows of idempotent and transactional producers just before
  the offset in the file name. Only the last batch of each producer survives a
  snapshot; entries are in hash order.
doc-ref: https://github.com/apache/kafka/blob/4.1.0/storage/src/main/java/org/apache/kafka/storage/internals/log/ProducerStateManager.java ProducerStateManager
seq:
  - id: version
    type: s2
    valid: 1
    doc: The only version there has been.
  - id: crc
    -derive: crc32c(num_entries..)
    type: u4
    doc: CRC-32C of all bytes after this field.
  - id: num_entries
    -orig-id: ProducerEntries
    -derive: count(entries)
    type: s4
    valid:
      min: 0
      max: ((_io.size - _io.pos) / 46).as<s4>
    doc: |
      Number of producers. Kafka refuses a count beyond what the rest of the
      file can hold.
  - id: entries
    type: producer_entry
    repeat: expr
    repeat-expr: num_entries
  - id: unused
    -default: '[]'
    size-eos: true
    doc: Bytes after the entries, which the CRC covers; otherwise ignored.
types:
  producer_entry:
    -orig-id: ProducerEntry
    -webide-representation: 'producer {producer_id:dec} epoch {producer_epoch:dec}'
    doc: State of one producer.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/storage/src/main/resources/message/ProducerSnapshot.json ProducerSnapshot.json
    seq:
      - id: producer_id
        -orig-id: ProducerId
        type: s8
        doc: Identifier that the transaction coordinator gave to the producer.
      - id: producer_epoch
        -orig-id: ProducerEpoch
        type: s2
        doc: Current epoch of the producer.
      - id: last_sequence
        -orig-id: LastSequence
        type: s4
        doc: Last sequence number of the last data batch, -1 if none is known.
      - id: last_offset
        -orig-id: LastOffset
        type: s8
        doc: Last offset of the last data batch, -1 if only markers are known.
      - id: offset_delta
        -orig-id: OffsetDelta
        type: s4
        doc: Last offset minus first offset of that batch, 0 if there is none.
      - id: timestamp
        -orig-id: Timestamp
        type: s8
        doc: |
          Largest timestamp of the last batch or marker, in milliseconds since
          the Unix epoch.
      - id: coordinator_epoch
        -orig-id: CoordinatorEpoch
        type: s4
        doc: Coordinator epoch in the last marker, -1 if none is known.
      - id: current_txn_first_offset
        -orig-id: CurrentTxnFirstOffset
        type: s8
        doc: First offset of the open transaction, -1 where none is open.
    instances:
      first_sequence:
        value: >-
          last_sequence == -1 ? (-1).as<s4>
          : ((last_sequence.as<s8> - offset_delta.as<s8>) & 0x7fff_ffff).as<s4>
        doc: First sequence number of the last batch, with wrap-around.
