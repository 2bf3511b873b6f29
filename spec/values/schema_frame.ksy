meta:
  id: schema_frame
  title: Frames of serializers that say which schema a key or value has
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../varint
  endian: be
doc: |
  Serializers of schema registries write the id of a schema before the bytes
  that they serialize, or into a header of the record. Nothing says which of
  them has written a record: a number can look like a frame. So a partition is
  read as framed only if every key or value of a sample is.
doc-ref: https://github.com/confluentinc/schema-registry/blob/v8.0.0/client/src/main/java/io/confluent/kafka/serializers/schema/id/SchemaId.java SchemaId
types:
  id_frame:
    -orig-id: MAGIC_BYTE_V0
    -webide-representation: 'schema {schema_id:dec}'
    doc: |
      Frame of Confluent's serializers, also those of Karapace and Redpanda, and
      Apicurio's by default.
    doc-ref: https://github.com/confluentinc/schema-registry/blob/v8.0.0/client/src/main/java/io/confluent/kafka/serializers/schema/id/SchemaId.java SchemaId
    seq:
      - id: magic
        -orig-id: MAGIC_BYTE_V0
        type: u1
        valid: 0
        doc: Says that a number follows.
      - id: schema_id
        -orig-id: id
        type: s4
        doc: Id of the schema in its registry and context.
      - id: payload
        size-eos: true
        doc: |
          What the schema describes; for Protobuf after the indexes of a
          message.
  long_id_frame:
    -orig-id: Legacy8ByteIdHandler
    -webide-representation: 'schema {schema_id:dec}'
    doc: Frame of Apicurio's serializers with ids of eight bytes.
    doc-ref: https://github.com/Apicurio/apicurio-registry/blob/3.0.6/serdes/generic/serde-common/src/main/java/io/apicurio/registry/serde/Legacy8ByteIdHandler.java Legacy8ByteIdHandler
    seq:
      - id: magic
        type: u1
        valid: 0
        doc: Says that a number follows.
      - id: schema_id
        type: s8
        doc: Id of the schema in its registry.
      - id: payload
        size-eos: true
        doc: What the schema describes.
  guid_frame:
    -orig-id: MAGIC_BYTE_V1
    doc: |
      Value of the headers `__key_schema_id` and `__value_schema_id`, where
      nothing but the indexes of a message of Protobuf follows the GUID. Legal
      before a payload too.
    doc-ref: https://github.com/confluentinc/schema-registry/blob/v8.0.0/client/src/main/java/io/confluent/kafka/serializers/schema/id/SchemaId.java SchemaId
    seq:
      - id: magic
        -orig-id: MAGIC_BYTE_V1
        type: u1
        valid: 1
        doc: Says that a GUID follows.
      - id: guid
        size: 16
        doc: GUID of the schema, high byte first.
      - id: payload
        size-eos: true
        doc: |
          The indexes of a message of Protobuf, or nothing; as a prefix, what
          the schema describes.
  message_indexes:
    -orig-id: MessageIndexes
    doc: |
      Which message of a schema of Protobuf follows: its place in the file, its
      place in that message and so on. For the first message in the file
      serializers write no index at all: the single byte 0.
    doc-ref: https://github.com/confluentinc/schema-registry/blob/v8.0.0/protobuf-provider/src/main/java/io/confluent/kafka/schemaregistry/protobuf/MessageIndexes.java MessageIndexes
    seq:
      - id: num_indexes
        -derive: count(indexes)
        type: varint::varint32
        valid:
          expr: _.value >= 0 and _.value.as<s8> <= (_io.size - _io.pos).as<s8>
        doc: Number of indexes; none stands for the one index 0.
      - id: indexes
        type: varint::varint32
        repeat: expr
        repeat-expr: num_indexes.value
        doc: Index of a message in its file, then in the message before.
  glue_frame:
    -orig-id: HEADER_VERSION_BYTE
    doc: Frame of the serializers of the AWS Glue Schema Registry.
    doc-ref: https://github.com/awslabs/aws-glue-schema-registry/blob/v1.1.20/common/src/main/java/com/amazonaws/services/schemaregistry/utils/AWSSchemaRegistryConstants.java AWSSchemaRegistryConstants
    seq:
      - id: version
        -orig-id: HEADER_VERSION_BYTE
        type: u1
        valid: 3
        doc: Version of the frame.
      - id: compression
        -orig-id: COMPRESSION_BYTE
        type: u1
        enum: glue_compression
        doc: Compression of the payload.
      - id: schema_version_id
        size: 16
        doc: UUID of a version of a schema, high byte first.
      - id: payload
        size-eos: true
        doc: What the schema describes, maybe compressed.
  single_object_frame:
    -orig-id: BinaryMessageEncoder
    doc: Avro's single-object encoding.
    doc-ref: https://github.com/apache/avro/blob/release-1.12.0/lang/java/avro/src/main/java/org/apache/avro/message/BinaryMessageEncoder.java BinaryMessageEncoder
    seq:
      - id: marker
        type: u2
        valid: 0xc301
        doc: Says that a fingerprint follows. No text in UTF-8 begins so.
      - id: fingerprint
        size: 8
        doc: |
          CRC-64-AVRO of the schema in its parsing canonical form, low byte
          first.
      - id: payload
        size-eos: true
        doc: The datum.
enums:
  glue_compression:
    0:
      id: none
      -orig-id: COMPRESSION_DEFAULT_BYTE
      doc: Not compressed.
    5:
      id: zlib
      -orig-id: COMPRESSION_BYTE
      doc: A zlib stream.
