meta:
  id: chunk_index
  title: Chunks of a segment in Aiven's tiered storage for Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  endian: be
doc: |
  Aiven's plugin for remote storage (KIP-405) cuts a segment into chunks of one
  size, compresses each as a zstd frame, encrypts it, and writes them one after
  the other as one object. Beside it lies a manifest in JSON. Where chunks are
  compressed their sizes differ, and the manifest has them in its field
  `transformedChunks`: these bytes, as a zstd frame, in base64.

  Read as a whole, this specification describes that list of sizes; the type
  `encrypted_chunk` describes a chunk, or an index, that is encrypted.
doc-ref: https://github.com/Aiven-Open/tiered-storage-for-apache-kafka/blob/v1.1.1/core/src/main/java/io/aiven/kafka/tieredstorage/manifest/index/serde/ChunkSizesBinaryCodec.java ChunkSizesBinaryCodec
seq:
  - id: sizes
    size-eos: true
    type: chunk_sizes
types:
  chunk_sizes:
    -orig-id: ChunkSizesBinaryCodec
    doc: |
      Sizes of the chunks in bytes, as they are in the object. How they are
      stored depends on their number.
    doc-ref: https://github.com/Aiven-Open/tiered-storage-for-apache-kafka/blob/v1.1.1/core/src/main/java/io/aiven/kafka/tieredstorage/manifest/index/serde/ChunkSizesBinaryCodec.java ChunkSizesBinaryCodec
    seq:
      - id: content
        type:
          switch-on: total
          cases:
            0: no_sizes
            1: one_size
            _: many_sizes
    instances:
      total:
        pos: 0
        type: s4
        valid:
          min: 0
        doc: Number of chunks.
  no_sizes:
    doc: The sizes of no chunks, which a reader of the manifest refuses.
    doc-ref: https://github.com/Aiven-Open/tiered-storage-for-apache-kafka/blob/v1.1.1/core/src/main/java/io/aiven/kafka/tieredstorage/manifest/index/VariableSizeChunkIndex.java VariableSizeChunkIndex
    seq:
      - id: total
        -orig-id: count
        type: s4
        valid: 0
        doc: Number of chunks, 0.
      - id: unused
        -default: '[]'
        size-eos: true
        doc: Not read.
  one_size:
    doc: The size of one chunk.
    doc-ref: https://github.com/Aiven-Open/tiered-storage-for-apache-kafka/blob/v1.1.1/core/src/main/java/io/aiven/kafka/tieredstorage/manifest/index/serde/ChunkSizesBinaryCodec.java ChunkSizesBinaryCodec
    seq:
      - id: total
        -orig-id: count
        type: s4
        valid: 1
        doc: Number of chunks, 1.
      - id: last_value
        type: s4
        doc: Bytes of the chunk.
      - id: unused
        -default: '[]'
        size-eos: true
        doc: Not read.
  many_sizes:
    doc: |
      The sizes of several chunks. All but the last are stored as differences
      to the smallest of them.
    doc-ref: https://github.com/Aiven-Open/tiered-storage-for-apache-kafka/blob/v1.1.1/core/src/main/java/io/aiven/kafka/tieredstorage/manifest/index/serde/ChunkSizesBinaryCodec.java ChunkSizesBinaryCodec
    seq:
      - id: total
        -orig-id: count
        type: s4
        valid:
          min: 0
        doc: Number of chunks, 2 or more.
      - id: base
        type: s4
        doc: Smallest size of a chunk other than the last.
      - id: bytes_per_value
        -orig-id: bytesPerValue
        type: u1
        valid:
          max: 4
        doc: Bytes of each difference, 1 to 4; 0 is read as differences of 0.
      - id: values
        size-eos: true
        doc: |
          For each chunk but the last its size minus `base`, unsigned and
          big-endian, in `bytes_per_value` bytes. Then the size of the last
          chunk, a signed number of four bytes. Bytes after it are not read.
  encrypted_chunk:
    -orig-id: EncryptionChunkEnumeration
    doc: |
      A chunk or an index after encryption by AES-256 in Galois/Counter mode.
      The manifest has the additional authenticated data, and the key,
      encrypted in turn by RSA.
    doc-ref: https://github.com/Aiven-Open/tiered-storage-for-apache-kafka/blob/v1.1.1/core/src/main/java/io/aiven/kafka/tieredstorage/transform/EncryptionChunkEnumeration.java EncryptionChunkEnumeration
    seq:
      - id: iv
        size: 12
        doc: Initialization vector.
      - id: ciphertext
        size-eos: true
        doc: The encrypted bytes, and the authentication tag of 16 bytes.
