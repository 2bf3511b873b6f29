meta:
  id: index
  title: Offset index and time index of an Apache Kafka log segment
  application: Apache Kafka
  file-extension:
    - index
    - timeindex
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  endian: be
doc: |
  Each log segment has two sparse indexes with the same name: `.index`
  maps offsets to byte positions, `.timeindex` maps timestamps to offsets.
  Both are plain arrays of fixed-size entries, without header, version,
  checksum or terminator, and both store offsets relative to the base offset
  of the segment, which only the file name holds.

  While a segment is active, and after an unclean stop, both files are
  preallocated and end in zeros. The entries end before the first entry, other
  than the very first, whose relative offset is 0.

  Read as a whole, this specification describes an `.index` file with base
  offset 0; for a `.timeindex` file use the type `time_index`.
doc-ref: https://github.com/apache/kafka/blob/4.1.0/storage/src/main/java/org/apache/kafka/storage/internals/log/OffsetIndex.java OffsetIndex
seq:
  - id: content
    type: offset_index(0)
types:
  offset_index:
    -orig-id: OffsetIndex
    doc: All entries of an `.index` file, preallocated zeros included.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/storage/src/main/java/org/apache/kafka/storage/internals/log/OffsetIndex.java OffsetIndex
    params:
      - id: base_offset
        type: s8
        doc: Base offset of the segment, from the file name.
    seq:
      - id: entries
        type: offset_index_entry(base_offset)
        repeat: eos
  offset_index_entry:
    -orig-id: OffsetPosition
    -webide-representation: '{offset:dec} at {position:dec}'
    doc: |
      A batch that starts at `position`. Entries are strictly increasing in
      offset.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/storage/src/main/java/org/apache/kafka/storage/internals/log/OffsetPosition.java OffsetPosition
    params:
      - id: base_offset
        type: s8
        doc: Base offset of the segment, from the file name.
    seq:
      - id: relative_offset
        -orig-id: relativeOffset
        type: s4
        doc: |
          Offset of the entry minus the base offset of the segment. Since 2.0.0
          it is the last offset of the append that is indexed, before that the
          first; from 3.9.1 and 4.0 on it is the last offset of the batch.
          Nothing in the file says which. Kafka does not check that it is
          positive.
      - id: position
        -from: position
        type: s4
        doc: Byte position of the batch in the `.log` file.
    instances:
      offset:
        value: (base_offset + relative_offset.as<s8>).as<s8>
        doc: Absolute offset.
  time_index:
    -orig-id: TimeIndex
    -suffix: timeindex
    doc: All entries of a `.timeindex` file, preallocated zeros included.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/storage/src/main/java/org/apache/kafka/storage/internals/log/TimeIndex.java TimeIndex
    params:
      - id: base_offset
        type: s8
        doc: Base offset of the segment, from the file name.
    seq:
      - id: entries
        type: time_index_entry(base_offset)
        repeat: eos
  time_index_entry:
    -orig-id: TimestampOffset
    -webide-representation: '{timestamp:dec} offset {offset:dec}'
    doc: |
      Every record with a timestamp above `timestamp` has an offset above
      `offset`. Timestamps are strictly increasing.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/storage/src/main/java/org/apache/kafka/storage/internals/log/TimestampOffset.java TimestampOffset
    params:
      - id: base_offset
        type: s8
        doc: Base offset of the segment, from the file name.
    seq:
      - id: timestamp
        -from: largest(max_timestamp)
        type: s8
        doc: |
          Largest timestamp of the segment up to that moment, in milliseconds
          since the Unix epoch.
      - id: relative_offset
        -orig-id: relativeOffset
        type: s4
        doc: |
          Offset that holds the timestamp, minus the base offset of the
          segment. Up to 3.6 it can be the offset of the record itself, from 3.7
          on it is the last offset of its batch.
    instances:
      offset:
        value: (base_offset + relative_offset.as<s8>).as<s8>
        doc: Absolute offset.
