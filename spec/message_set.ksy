meta:
  id: message_set
  title: Apache Kafka 0.7 log segment
  application: Apache Kafka
  file-extension: kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  endian: be
  bit-endian: be
doc: |
  A segment of a Kafka 0.7 log (`.kafka`): messages one after the other,
  without file header, footer or alignment. There is no index. The magic byte
  of each message says which of two formats it has, and one file may mix them.
  They are not the magic 0 and 1 of Kafka 0.8 and later: those are described
  by `recordbatch`.

  No offset is stored. The offset of a message is the byte position of its
  size field in the log: that in the file plus the number in the file name,
  which is the position in the log where the file begins. A segment begins
  where the one before it ends, or the broker refuses to start (quirk Q42).

  A message whose compression is not `none` is a set of messages: its payload,
  after decompression, is a sequence of `framed_message`, which may be
  compressed in turn, to any depth (quirk Q41). Messages inside of a set have
  no offset of their own (quirk Q37): a consumer can only fetch the whole set,
  at its offset. What a set ends in may be cut (quirk Q40).

  A segment that was not closed may end in a part of a message; where the log
  ends is the decision of the reader. Recovery after an unclean stop cuts
  the last segment of a log before the first message that is cut, has a size
  below 5 or a wrong checksum.
doc-ref:
  - https://github.com/apache/kafka/blob/0.7.2/core/src/main/scala/kafka/message/MessageSet.scala#L80-L85 MessageSet
  - https://github.com/apache/kafka/blob/0.7.2/core/src/main/scala/kafka/message/ByteBufferMessageSet.scala#L108-L175 ByteBufferMessageSet
  - https://github.com/apache/kafka/blob/0.7.2/core/src/main/scala/kafka/message/FileMessageSet.scala#L186-L245 FileMessageSet.recover
  - https://github.com/apache/kafka/blob/0.7.2/core/src/main/scala/kafka/log/Log.scala#L70-L80 Log.nameFromOffset
  - https://github.com/apache/kafka/blob/0.7.2/core/src/main/scala/kafka/log/Log.scala#L185-L195 Log.validateSegments
seq:
  - id: messages
    type: framed_message
    repeat: eos
types:
  framed_message:
    -orig-id: MessageSet entry
    doc: A message with its size.
    doc-ref: https://github.com/apache/kafka/blob/0.7.2/core/src/main/scala/kafka/message/Message.scala#L162-L165 Message.serializeTo
    seq:
      - id: len_message
        -orig-id: size
        -derive: len(message)
        type: s4
        valid:
          min: 5
        doc: |
          Bytes of the message. The header of magic 0 has 5 bytes; the reader
          of files takes a smaller size for the end of the log.
      - id: message
        size: len_message
        type: message
  message:
    -orig-id: Message
    doc: |
      A message of either format. The magic byte is the first of it in both.
    doc-ref: https://github.com/apache/kafka/blob/0.7.2/core/src/main/scala/kafka/message/Message.scala#L80-L101 Message
    seq:
      - id: content
        type:
          switch-on: magic
          cases:
            0: message_v0
            1: message_v1
    instances:
      magic:
        pos: 0
        type: s1
        valid:
          min: 0
          max: 1
        doc: |
          Format of the message. Quirk Q38: any other value stops recovery
          with an exception, so that the broker does not start.
  message_v0:
    -orig-id: Message
    doc: |
      A message without attributes. Kafka 0.7 reads this format and writes only
      the other one, since it has compression.
    doc-ref: https://github.com/apache/kafka/blob/0.7.2/core/src/main/scala/kafka/message/Message.scala#L28 Message.MagicVersion1
    seq:
      - id: magic
        type: s1
        valid: 0
        doc: Format of the message, 0.
      - id: crc
        -orig-id: checksum
        -derive: crc32(payload..)
        type: u4
        doc: CRC-32 (IEEE) of the payload alone.
      - id: payload
        -default: '[]'
        size-eos: true
        doc: Data of a producer. There are no keys and no nulls.
  message_v1:
    -orig-id: Message
    doc: A message with attributes, or a compressed set of messages.
    doc-ref: https://github.com/apache/kafka/blob/0.7.2/core/src/main/scala/kafka/message/Message.scala#L29-L30 Message.MagicVersion2
    seq:
      - id: magic
        type: s1
        valid: 1
        doc: Format of the message, 1.
      - id: attributes
        type: attributes
      - id: crc
        -orig-id: checksum
        -derive: crc32(payload..)
        type: u4
        doc: |
          CRC-32 (IEEE) of the payload alone, as stored. Quirk Q39: a changed
          bit in the attributes goes unnoticed.
      - id: payload
        -default: '[]'
        size-eos: true
        doc: |
          Data of a producer or, for a compressed set, the messages in it.
          There are no keys and no nulls.
  attributes:
    doc: Attribute bits of a message with magic 1.
    doc-ref: https://github.com/apache/kafka/blob/0.7.2/core/src/main/scala/kafka/message/Message.scala#L35-L39 Message.CompressionCodeMask
    seq:
      - id: reserved
        -default: '0'
        type: b6
        doc: Written as 0 and not read by Kafka (quirk Q7).
      - id: compression
        -default: '0'
        type: b2
        enum: compression_codec
        doc: |
          Codec of a set of messages. Id 3 is refused when the payload is to be
          decompressed, not before.
enums:
  compression_codec:
    0:
      id: none
      doc: Not compressed.
    1:
      id: gzip
      doc: RFC 1952 members.
    2:
      id: snappy
      doc: Stream of xerial's snappy-java, or one raw block. Since 0.7.1.
