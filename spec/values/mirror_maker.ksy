meta:
  id: mirror_maker
  title: Records of the internal topics of MirrorMaker 2
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../primitive
  endian: be
doc: |
  Keys and values in the topics `heartbeats`, `CLUSTER.checkpoints.internal`
  and `mm2-offset-syncs.CLUSTER.internal`. The reader does not look at bytes
  after a key or value.
doc-ref: https://github.com/apache/kafka/blob/4.1.0/connect/mirror-client/src/main/java/org/apache/kafka/connect/mirror/RemoteClusterUtils.java RemoteClusterUtils
types:
  heartbeat_key:
    -orig-id: Heartbeat
    doc: Key in `heartbeats`.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/connect/mirror-client/src/main/java/org/apache/kafka/connect/mirror/Heartbeat.java Heartbeat
    seq:
      - id: source_cluster_alias
        -orig-id: sourceClusterAlias
        type: primitive::plain_string
        doc: Cluster from which records are copied.
      - id: target_cluster_alias
        -orig-id: targetClusterAlias
        type: primitive::plain_string
        doc: Cluster to which records are copied.
  heartbeat_value:
    -orig-id: Heartbeat
    doc: Value in `heartbeats`.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/connect/mirror-client/src/main/java/org/apache/kafka/connect/mirror/Heartbeat.java Heartbeat
    seq:
      - id: version
        type: s2
        valid: 0
        doc: The reader asserts that it is 0.
      - id: timestamp
        type: s8
        doc: Time of the heartbeat, in milliseconds since the Unix epoch.
  checkpoint_key:
    -orig-id: Checkpoint
    doc: Key in `CLUSTER.checkpoints.internal`.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/connect/mirror-client/src/main/java/org/apache/kafka/connect/mirror/Checkpoint.java Checkpoint
    seq:
      - id: consumer_group_id
        -orig-id: group
        type: primitive::plain_string
        doc: Consumer group whose offset it is.
      - id: topic
        type: primitive::plain_string
        doc: Topic in the target cluster.
      - id: partition
        type: s4
        doc: Number of the partition.
  checkpoint_value:
    -orig-id: Checkpoint
    doc: Value in `CLUSTER.checkpoints.internal`.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/connect/mirror-client/src/main/java/org/apache/kafka/connect/mirror/Checkpoint.java Checkpoint
    seq:
      - id: version
        type: s2
        valid: 0
        doc: The reader asserts that it is 0.
      - id: upstream_offset
        -orig-id: upstreamOffset
        type: s8
        doc: Committed offset in the source cluster.
      - id: downstream_offset
        -orig-id: offset
        type: s8
        doc: Offset in the target cluster that it translates to.
      - id: metadata
        type: primitive::plain_string
        doc: Metadata of the committed offset.
  offset_sync_key:
    -orig-id: OffsetSync
    doc: Key in `mm2-offset-syncs.CLUSTER.internal`.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/connect/mirror/src/main/java/org/apache/kafka/connect/mirror/OffsetSync.java OffsetSync
    seq:
      - id: topic
        type: primitive::plain_string
        doc: Topic in the source cluster.
      - id: partition
        type: s4
        doc: Number of the partition.
  offset_sync_value:
    -orig-id: OffsetSync
    doc: Value in `mm2-offset-syncs.CLUSTER.internal`. It has no version.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/connect/mirror/src/main/java/org/apache/kafka/connect/mirror/OffsetSync.java OffsetSync
    seq:
      - id: upstream_offset
        -orig-id: upstreamOffset
        type: s8
        doc: Offset of a record in the source cluster.
      - id: downstream_offset
        -orig-id: offset
        type: s8
        doc: Offset of its copy.
