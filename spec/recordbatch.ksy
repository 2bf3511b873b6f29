meta:
  id: recordbatch
  title: Apache Kafka log segment
  application: Apache Kafka
  file-extension: log
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - varint
  endian: be
  bit-endian: be
doc: |
  A segment of a Kafka log (`.log`, and KRaft snapshots, `.checkpoint`): log
  entries one after the other, without file header, footer or alignment. The
  magic byte of each entry says which of three formats it has, and one file
  may mix them:

  * magic 0 (0.8) and magic 1 (0.10, with timestamps): one legacy message an
    entry. A compressed one is a wrapper, whose value holds a set of entries.
  * magic 2 (0.11 and later): a record batch.

  Entries before 0.8 have another format, which `message_set.ksy` describes.

  This specification cannot describe what would need decompression:
  `records` of a record batch holds the bytes as they are stored. If
  `attributes.compression` is `none` they are a `record_set` as they stand,
  otherwise they are one after decompression. A record set is parsed on its
  own, with its batch as parameter. In the same way the value of a legacy
  message whose compression is not `none` is a sequence of `entry` after
  decompression.

  A segment that was not closed may end in a part of an entry, or in
  preallocated zeros; where the log ends is the decision of the reader.
doc-ref:
  - https://github.com/apache/kafka/blob/4.1.0/clients/src/main/java/org/apache/kafka/common/record/DefaultRecordBatch.java DefaultRecordBatch
  - https://github.com/apache/kafka/blob/4.1.0/clients/src/main/java/org/apache/kafka/common/record/LegacyRecord.java LegacyRecord
seq:
  - id: entries
    type: entry
    repeat: eos
types:
  entry:
    -orig-id: LogEntry
    -webide-representation: '{base_offset:dec}'
    doc: |
      The common start of all formats: an offset and a size. Neither is covered
      by a checksum.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/java/org/apache/kafka/common/record/Records.java Records
    seq:
      - id: base_offset
        -orig-id: baseOffset
        type: s8
        doc: |
          Magic 2: offset of the first record of the batch as it was first
          written; compaction keeps it. Magic 0 and 1: offset of the message,
          of a wrapper that of its last inner message.
      - id: len_message
        -orig-id: batchLength
        -derive: len(message)
        type: s4
        valid:
          min: 14
        doc: |
          Bytes after this field. Kafka refuses fewer than 14 for any magic,
          which is where a magic 0 message without key and value would end;
          zeros of a preallocated file are found by this.
      - id: message
        size: len_message
        type: message(base_offset)
  message:
    doc: |
      The entry after its size. The magic byte is at the same place in all
      formats.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/java/org/apache/kafka/common/record/Records.java Records.MAGIC_OFFSET
    params:
      - id: base_offset
        type: s8
        doc: Offset of the entry.
    seq:
      - id: content
        type:
          switch-on: magic
          cases:
            0: legacy_message(base_offset)
            1: legacy_message(base_offset)
            2: record_batch(base_offset)
    instances:
      magic:
        pos: 4
        type: s1
        valid:
          min: 0
          max: 2
        doc: |
          Format of the entry. Quirk Q8: Kafka's reader of files takes any magic
          from 2 on for 2 and a negative one for 1, its reader of buffers
          refuses both, and so does this specification.
  legacy_message:
    -orig-id: LegacyRecord
    -webide-representation: '{offset:dec}'
    doc: |
      A message of magic 0 or 1. Key and value need not fill the message: what
      is left is covered by the checksum and otherwise ignored.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/java/org/apache/kafka/common/record/LegacyRecord.java LegacyRecord
    params:
      - id: offset
        type: s8
        doc: |
          Offset field of the entry. Absolute, but inside of a magic 1 wrapper
          relative to the offset of the wrapper.
    seq:
      - id: crc
        -derive: crc32(magic..)
        type: u4
        doc: CRC-32 (IEEE) of the bytes from `magic` on.
      - id: magic
        type: s1
        valid:
          any-of:
            - 0
            - 1
        doc: Format of the message, 0 or 1.
      - id: attributes
        type: legacy_attributes
      - id: timestamp
        -default: '-1'
        type: s8
        if: magic == 1
        doc: |
          Milliseconds since the Unix epoch, -1 for none. Since magic 1. Of a
          wrapper: the largest of its inner messages or, with
          `log_append_time`, the time for all of them.
      - id: key
        -default: 'null'
        type: nullable_bytes_s4
        doc: Key, null in a wrapper.
      - id: value
        -default: 'null'
        type: nullable_bytes_s4
        doc: |
          Value, null for a tombstone. Of a wrapper: the compressed inner
          entries; Kafka refuses a wrapper whose value is null.
      - id: unused
        -orig-id: slack
        -default: '[]'
        size-eos: true
        doc: Bytes after the value, empty unless someone forged them.
    instances:
      own_timestamp:
        value: timestamp
        if: magic == 1
        doc: |
          Timestamp that is stored for the message, in milliseconds since the
          Unix epoch; -1 for none. Inside of a wrapper with `log_append_time`
          the one of its producer, which no reader reports.
  legacy_attributes:
    -orig-id: attributes
    doc: Attribute bits of magic 0 and 1.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/java/org/apache/kafka/common/record/LegacyRecord.java LegacyRecord.computeAttributes
    seq:
      - id: reserved
        -default: '0'
        type: b4
        doc: Written as 0 and not read by Kafka (quirk Q7).
      - id: timestamp_type
        -default: '0'
        type: b1
        enum: timestamp_type
        doc: Magic 1 only; without meaning in magic 0.
      - id: compression
        -default: '0'
        -known: 0..3
        type: b3
        enum: compression_type
        doc: |
          Codec of a wrapper. Ids 5 to 7, and 4 with magic 0 or 1, are refused
          when the value is to be decompressed, not before.
  record_batch:
    -orig-id: DefaultRecordBatch
    -webide-representation: '{base_offset:dec} {num_records:dec} records'
    doc: |
      A batch of magic 2. The header has 61 bytes, those of `entry` included.
      Nothing ties it to the records (quirk Q10): offsets, timestamps and
      counts that follow from the header need not agree with them.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/java/org/apache/kafka/common/record/DefaultRecordBatch.java DefaultRecordBatch
    params:
      - id: base_offset
        type: s8
        doc: Offset of the entry.
    seq:
      - id: partition_leader_epoch
        -orig-id: partitionLeaderEpoch
        -default: '-1'
        type: s4
        doc: |
          Epoch of the leader that appended the batch, -1 unknown. Set by the
          broker, hence outside of the checksum.
      - id: magic
        type: s1
        valid: 2
        doc: Format of the batch, 2.
      - id: crc
        -derive: crc32c(attributes..)
        type: u4
        doc: CRC-32C (Castagnoli) of the bytes from `attributes` on, as stored.
      - id: attributes
        type: batch_attributes
      - id: last_offset_delta
        -orig-id: lastOffsetDelta
        type: s4
        doc: |
          Last offset of the batch minus `base_offset`, as first written:
          compaction keeps it even if the last record is gone.
      - id: base_timestamp
        -orig-id: baseTimestamp
        type: s8
        doc: |
          The base of each `timestamp_delta`, in milliseconds since the Unix
          epoch; -1 for none. With `has_delete_horizon` it is the time from
          which tombstones may be removed.
      - id: max_timestamp
        -orig-id: maxTimestamp
        type: s8
        doc: |
          Largest timestamp of the records or, with `log_append_time`, the time
          of all of them, in milliseconds since the Unix epoch.
      - id: producer_id
        -orig-id: producerId
        -default: '-1'
        type: s8
        doc: Idempotent or transactional producer, -1 for none.
      - id: producer_epoch
        -orig-id: producerEpoch
        -default: '-1'
        type: s2
        doc: Epoch of the producer, -1 for none.
      - id: base_sequence
        -orig-id: baseSequence
        -default: '-1'
        type: s4
        doc: |
          Sequence number of the first record, -1 for none. Runs from 0 to
          2^31 - 1 and starts again at 0.
      - id: num_records
        -orig-id: recordsCount
        -derive: count(records)
        type: s4
        valid:
          min: 0
        doc: |
          Number of records in the batch; 0 after compaction of all of them.
          Quirk Q9: with 0 Kafka does not look at `records` at all.
      - id: records
        size-eos: true
        doc: A `record_set`, compressed as `attributes` say.
    instances:
      last_offset:
        value: (base_offset + last_offset_delta.as<s8>).as<s8>
        doc: Last offset as first written; the next batch begins after it.
      last_sequence:
        value: >-
          base_sequence == -1 ? (-1).as<s4>
          : ((base_sequence.as<s8> + last_offset_delta.as<s8>) & 0x7fff_ffff).as<s4>
        doc: Sequence number of the last record, with wrap-around; -1 for none.
      delete_horizon:
        -orig-id: deleteHorizonMs
        value: base_timestamp
        if: attributes.has_delete_horizon
        doc: |
          Time from which tombstones and markers of the batch may be removed,
          in milliseconds since the Unix epoch. Since 3.1 (KIP-534).
  batch_attributes:
    -orig-id: attributes
    doc: Attribute bits of magic 2.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/java/org/apache/kafka/common/record/DefaultRecordBatch.java DefaultRecordBatch.computeAttributes
    seq:
      - id: reserved
        -default: '0'
        type: b9
        doc: Written as 0 and not read by Kafka (quirk Q7).
      - id: has_delete_horizon
        -orig-id: hasDeleteHorizonMs
        -default: '0'
        type: b1
        doc: "`base_timestamp` holds the delete horizon. Since 3.1."
      - id: is_control
        -orig-id: isControl
        -default: '0'
        type: b1
        doc: The records are control records, which no consumer sees.
      - id: is_transactional
        -orig-id: isTransactional
        -default: '0'
        type: b1
        doc: The batch is part of a transaction.
      - id: timestamp_type
        -default: '0'
        type: b1
        enum: timestamp_type
        doc: Who set the timestamps.
      - id: compression
        -default: '0'
        type: b3
        enum: compression_type
        doc: |
          Codec of `records`. Ids 5 to 7 are refused when the records are to be
          decompressed, not before.
  record_set:
    -orig-id: records
    doc: The records of a batch, after decompression.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/java/org/apache/kafka/common/record/DefaultRecordBatch.java DefaultRecordBatch.RecordIterator
    params:
      - id: batch
        type: record_batch
        doc: Header that belongs to the records.
    seq:
      - id: records
        type: framed_record(batch)
        repeat: expr
        repeat-expr: batch.num_records
      - id: end
        size: 0
        valid:
          expr: (_io.eof or batch.num_records == 0) and _.length == 0
        doc: Nothing may follow, unless there is no record at all (quirk Q9).
  framed_record:
    doc: A record with its size in front.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/java/org/apache/kafka/common/record/DefaultRecord.java DefaultRecord.readFrom
    params:
      - id: batch
        type: record_batch
        doc: Header of the batch.
    seq:
      - id: len_body
        -orig-id: length
        -derive: len(body)
        type: varint::varint32
        valid:
          expr: _.value >= 0
        doc: Bytes after this field; the record uses all of them (quirk Q6).
      - id: body
        size: len_body.value
        type: record(batch)
  record:
    -orig-id: DefaultRecord
    -webide-representation: '{offset:dec}'
    doc: A record of magic 2.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/java/org/apache/kafka/common/record/DefaultRecord.java DefaultRecord
    params:
      - id: batch
        type: record_batch
        doc: Header of the batch.
    seq:
      - id: attributes
        -default: '0'
        type: s1
        doc: One byte, written as 0 and not read by Kafka (quirk Q7).
      - id: timestamp_delta
        -orig-id: timestampDelta
        type: varint::varint64
        doc: |
          Timestamp minus `base_timestamp` of the batch. 64 bits: Kafka's own
          prose once said 32.
      - id: offset_delta
        -orig-id: offsetDelta
        type: varint::varint32
        doc: Offset minus `base_offset` of the batch. Gaps come from compaction.
      - id: key
        -default: 'null'
        type: nullable_bytes
        doc: Key or null.
      - id: value
        -default: 'null'
        type: nullable_bytes
        doc: Value, null for a tombstone.
      - id: num_headers
        -orig-id: headersCount
        -derive: count(headers)
        type: varint::varint32
        valid:
          expr: _.value >= 0 and _.value.as<s8> <= (_io.size - _io.pos).as<s8>
        doc: |
          Number of headers. Quirk Q5: refused if negative or larger than the
          bytes that are left.
      - id: headers
        -default: '[]'
        type: header
        repeat: expr
        repeat-expr: num_headers.value
        doc: Headers in order; a key may occur more than once.
      - id: end
        size: 0
        valid:
          expr: _io.eof and _.length == 0
        doc: The record ends where its size says (quirk Q6).
    instances:
      offset:
        value: (batch.base_offset + offset_delta.value.as<s8>).as<s8>
        doc: Offset of the record.
      timestamp:
        value: >-
          (batch.attributes.timestamp_type == timestamp_type::log_append_time
          ? batch.max_timestamp
          : (batch.base_timestamp + timestamp_delta.value).as<s8>).as<s8>
        doc: |
          Timestamp that Kafka reports, in milliseconds since the Unix epoch;
          -1 for none.
      own_timestamp:
        value: (batch.base_timestamp + timestamp_delta.value).as<s8>
        doc: |
          Timestamp that is stored for the record, in milliseconds since the
          Unix epoch; -1 for none. With `log_append_time` the one of its
          producer, which Kafka keeps and no reader reports.
      sequence:
        value: >-
          batch.base_sequence == -1 ? (-1).as<s4>
          : ((batch.base_sequence.as<s8> + offset_delta.value.as<s8>) & 0x7fff_ffff).as<s4>
        doc: Sequence number of the record, with wrap-around; -1 for none.
  header:
    -orig-id: Header
    -webide-representation: '{key}'
    doc: A header of a record.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/java/org/apache/kafka/common/header/Header.java Header
    seq:
      - id: len_key
        -orig-id: headerKeyLength
        -derive: len(key)
        type: varint::varint32
        valid:
          expr: _.value >= 0
        doc: |
          Bytes of the key. Quirk Q4: unlike the size of a value it may not be
          negative.
      - id: key
        -orig-id: headerKey
        size: len_key.value
        doc: UTF-8 as Kafka writes it, though nothing checks that (quirk Q10).
      - id: value
        -default: 'null'
        type: nullable_bytes
        doc: Value or null.
  nullable_bytes:
    -scalar: nullable_bytes
    doc: |
      Bytes with a variable-length size. Quirk Q4: any negative size is null,
      though only -1 is written.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/java/org/apache/kafka/common/utils/Utils.java Utils.readBytes
    seq:
      - id: len_value
        -derive: len(value)
        type: varint::varint32
        doc: Bytes that follow, negative for null.
      - id: value
        size: len_value.value
        if: len_value.value >= 0
  nullable_bytes_s4:
    -scalar: nullable_bytes
    doc: |
      Bytes with a fixed-length size. Quirk Q4: any negative size is null,
      though only -1 is written.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/java/org/apache/kafka/common/utils/Utils.java Utils.sizeDelimited
    seq:
      - id: len_value
        -derive: len(value)
        type: s4
        doc: Bytes that follow, negative for null.
      - id: value
        size: len_value
        if: len_value >= 0
enums:
  compression_type:
    0:
      id: none
      doc: Not compressed.
    1:
      id: gzip
      doc: RFC 1952 members.
    2:
      id: snappy
      doc: Stream of xerial's snappy-java, or one raw block.
    3:
      id: lz4
      doc: LZ4 frame; with magic 0 its header checksum is computed wrongly.
    4:
      id: zstd
      doc: Zstandard frames. Magic 2 only, since 2.1 (KIP-110).
  timestamp_type:
    0:
      id: create_time
      doc: Set by the producer.
    1:
      id: log_append_time
      doc: Set by the broker when it appended the batch.
