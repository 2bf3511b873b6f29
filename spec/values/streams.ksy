meta:
  id: streams
  title: Keys and values in the internal topics of Kafka Streams
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../primitive
  endian: be
doc: |
  A changelog of a key-value store has keys and values as the application
  serializes them. Other stores write more after the key of the application,
  whose size nothing says: it ends where these structures begin.
doc-ref: https://github.com/apache/kafka/blob/4.1.0/streams/src/main/java/org/apache/kafka/streams/state/StateSerdes.java StateSerdes
types:
  window_store_suffix:
    -orig-id: WindowKeySchema
    doc: After the key in the changelog of a window store or a join.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/streams/src/main/java/org/apache/kafka/streams/state/internals/WindowKeySchema.java WindowKeySchema
    seq:
      - id: start
        type: s8
        doc: |
          Start of the window, in milliseconds since the Unix epoch; in a join
          the timestamp of the record. The size of windows is not stored.
      - id: sequence
        -orig-id: seqnum
        type: s4
        doc: Counts the records of a join; 0 in a window store.
  windowed_suffix:
    -orig-id: TimeWindowedSerializer
    doc: |
      After the key in a topic whose keys are windowed, and in the changelog of
      `suppress`.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/streams/src/main/java/org/apache/kafka/streams/kstream/TimeWindowedSerializer.java TimeWindowedSerializer
    seq:
      - id: start
        type: s8
        doc: Start of the window, in milliseconds since the Unix epoch.
  session_suffix:
    -orig-id: SessionKeySchema
    doc: After the key in the changelog of a session store.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/streams/src/main/java/org/apache/kafka/streams/state/internals/SessionKeySchema.java SessionKeySchema
    seq:
      - id: end
        type: s8
        doc: Time of the last record, in milliseconds since the Unix epoch.
      - id: start
        type: s8
        doc: Time of the first record, in milliseconds since the Unix epoch.
  join_side_key:
    -orig-id: TimestampedKeyAndJoinSide
    doc: |
      Key in the changelog of the store that both sides of an outer join
      share.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/streams/src/main/java/org/apache/kafka/streams/state/internals/TimestampedKeyAndJoinSideSerializer.java TimestampedKeyAndJoinSideSerializer
    seq:
      - id: timestamp
        type: s8
        doc: Time of the record, in milliseconds since the Unix epoch.
      - id: is_left
        -orig-id: leftSide
        type: u1
        doc: Whether the record is from the left side.
      - id: key
        size-eos: true
        doc: Key of the record.
  join_side_value:
    -orig-id: LeftOrRightValue
    doc: Value in that changelog.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/streams/src/main/java/org/apache/kafka/streams/state/internals/LeftOrRightValueSerializer.java LeftOrRightValueSerializer
    seq:
      - id: is_left
        type: u1
        doc: Whether the value is from the left side.
      - id: value
        size-eos: true
        doc: Value of the record.
  buffered_value:
    -orig-id: BufferValue
    doc: |
      Value in the changelog of `suppress`, in version 3 of its layout: the
      header `v` of the record has the single byte 3.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/streams/src/main/java/org/apache/kafka/streams/state/internals/BufferValue.java BufferValue
    seq:
      - id: timestamp
        type: s8
        doc: Time of the last record that changed the value, in milliseconds.
      - id: offset
        type: s8
        doc: Offset of that record.
      - id: topic
        type: primitive::byte_array
        doc: Topic of that record.
      - id: partition
        type: s4
        doc: Partition of that record.
      - id: num_headers
        -derive: count(headers)
        type: s4
        doc: Number of headers of that record; -1 for none.
      - id: headers
        type: buffered_header
        repeat: expr
        repeat-expr: num_headers
        if: num_headers >= 0
      - id: prior_value
        -orig-id: priorValue
        type: primitive::nullable_byte_array
        doc: Value that was sent on last, or null.
      - id: change
        size-eos: true
        doc: |
          The last change of the value: `change_since_prior` where it begins as
          that does, else `change_of_old`.
  change_since_prior:
    -orig-id: OLD_PREV_DUPLICATE_VALUE_SENTINEL
    doc: A change of the value that was sent on last.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/streams/src/main/java/org/apache/kafka/streams/state/internals/BufferValue.java BufferValue
    seq:
      - id: old_size
        type: s4
        valid: -2
        doc: Says that the old value is the prior value.
      - id: new_value
        -orig-id: newValue
        type: primitive::nullable_byte_array
        doc: Value after the change, or null.
      - id: time
        type: s8
        doc: Time by which the buffer is sorted, in milliseconds.
      - id: end
        size: 0
        valid:
          expr: _io.eof and _.length == 0
  change_of_old:
    doc: A change of another value.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/streams/src/main/java/org/apache/kafka/streams/state/internals/BufferValue.java BufferValue
    seq:
      - id: old_value
        -orig-id: oldValue
        type: primitive::nullable_byte_array
        doc: Value before the change, or null.
      - id: new_value
        -orig-id: newValue
        type: primitive::nullable_byte_array
        doc: Value after the change, or null.
      - id: time
        type: s8
        doc: Time by which the buffer is sorted, in milliseconds.
      - id: end
        size: 0
        valid:
          expr: _io.eof and _.length == 0
  buffered_header:
    -orig-id: Header
    doc: A header of a record.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/streams/src/main/java/org/apache/kafka/streams/processor/internals/ProcessorRecordContext.java ProcessorRecordContext
    seq:
      - id: key
        type: primitive::byte_array
        doc: Name of the header.
      - id: value
        type: primitive::nullable_byte_array
        doc: Value of the header.
