meta:
  id: enumeration
  title: Enumerations in Apache Kafka's messages
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  endian: be
doc: |
  Numbers that stand for names in Kafka's code. Its schemas have the numbers
  alone. Readers take any number: a later release may have given it a name.

  A name is that of Kafka's constant; `-orig-id` has what Kafka shows where
  that is something else.
doc-ref:
  - https://github.com/apache/kafka/blob/4.4.0/transaction-coordinator/src/main/java/org/apache/kafka/coordinator/transaction/TransactionState.java TransactionState
  - https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/java/org/apache/kafka/coordinator/group/modern/MemberState.java MemberState
  - https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/java/org/apache/kafka/coordinator/group/streams/MemberState.java MemberState of streams groups
  - https://github.com/apache/kafka/blob/4.4.0/server/src/main/java/org/apache/kafka/server/share/fetch/RecordState.java RecordState
  - https://github.com/apache/kafka/blob/4.4.0/storage/api/src/main/java/org/apache/kafka/server/log/remote/storage/RemoteLogSegmentState.java RemoteLogSegmentState
  - https://github.com/apache/kafka/blob/4.4.0/storage/api/src/main/java/org/apache/kafka/server/log/remote/storage/RemotePartitionDeleteState.java RemotePartitionDeleteState
  - https://github.com/apache/kafka/blob/4.4.0/clients/src/main/java/org/apache/kafka/common/config/ConfigResource.java ConfigResource.Type
  - https://github.com/apache/kafka/blob/4.4.0/clients/src/main/java/org/apache/kafka/common/resource/ResourceType.java ResourceType
  - https://github.com/apache/kafka/blob/4.4.0/clients/src/main/java/org/apache/kafka/common/resource/PatternType.java PatternType
  - https://github.com/apache/kafka/blob/4.4.0/clients/src/main/java/org/apache/kafka/common/acl/AclOperation.java AclOperation
  - https://github.com/apache/kafka/blob/4.4.0/clients/src/main/java/org/apache/kafka/common/acl/AclPermissionType.java AclPermissionType
  - https://github.com/apache/kafka/blob/4.4.0/clients/src/main/java/org/apache/kafka/clients/admin/ScramMechanism.java ScramMechanism
  - https://github.com/apache/kafka/blob/4.4.0/clients/src/main/java/org/apache/kafka/common/security/auth/SecurityProtocol.java SecurityProtocol
  - https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/java/org/apache/kafka/metadata/LeaderRecoveryState.java LeaderRecoveryState
  - https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/java/org/apache/kafka/metadata/BrokerRegistrationFencingChange.java BrokerRegistrationFencingChange
  - https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/java/org/apache/kafka/metadata/BrokerRegistrationInControlledShutdownChange.java BrokerRegistrationInControlledShutdownChange
  - https://github.com/apache/kafka/blob/3.9.2/metadata/src/main/java/org/apache/kafka/metadata/migration/ZkMigrationState.java ZkMigrationState
enums:
  truth:
    0:
      id: false_value
      -orig-id: 'false'
      doc: It is not so.
    1:
      id: true_value
      -orig-id: 'true'
      doc: It is so. Readers take any but 0 for it.
  transaction_state:
    0:
      id: empty
      -orig-id: Empty
      doc: No partition was added since the producer began or ended.
    1:
      id: ongoing
      -orig-id: Ongoing
      doc: Partitions were added, and the producer goes on.
    2:
      id: prepare_commit
      -orig-id: PrepareCommit
      doc: It will commit; partitions have yet to get their markers.
    3:
      id: prepare_abort
      -orig-id: PrepareAbort
      doc: It will abort; partitions have yet to get their markers.
    4:
      id: complete_commit
      -orig-id: CompleteCommit
      doc: It was committed, and all partitions have their markers.
    5:
      id: complete_abort
      -orig-id: CompleteAbort
      doc: It was aborted, and all partitions have their markers.
    6:
      id: dead
      -orig-id: Dead
      doc: The transactional id has expired and is about to go.
    7:
      id: prepare_epoch_fence
      -orig-id: PrepareEpochFence
      doc: The epoch is raised, so that an older producer can do no more.
  member_state:
    0:
      id: stable
      doc: The member has what the group wants it to have.
    1:
      id: unrevoked_partitions
      doc: It must give up partitions before it gets to the next epoch.
    2:
      id: unreleased_partitions
      doc: It waits for partitions that others have not given up yet.
    127:
      id: unknown
      doc: Kafka takes this for a number that it does not know.
  streams_member_state:
    1:
      id: stable
      doc: The member has what the group wants it to have.
    2:
      id: unrevoked_tasks
      doc: It must give up tasks before it gets to the next epoch.
    3:
      id: unreleased_tasks
      doc: It waits for tasks that others have not given up yet.
    127:
      id: unknown
      doc: Kafka takes this for a number that it does not know.
  record_state:
    0:
      id: available
      doc: They can be handed out.
    1:
      id: acquired
      doc: A consumer has them, and has not answered yet.
    2:
      id: acknowledged
      doc: A consumer has accepted them.
    3:
      id: archiving
      doc: They are on the way to ARCHIVED.
    4:
      id: archived
      doc: Nobody will get them again.
  remote_log_segment_state:
    0:
      id: copy_segment_started
      doc: A broker has begun to copy it.
    1:
      id: copy_segment_finished
      doc: All of it is in remote storage.
    2:
      id: delete_segment_started
      doc: A broker has begun to delete it there.
    3:
      id: delete_segment_finished
      doc: It is gone from there.
  remote_partition_delete_state:
    0:
      id: delete_partition_marked
      doc: The controller wants it to go.
    1:
      id: delete_partition_started
      doc: A broker has begun to delete its segments.
    2:
      id: delete_partition_finished
      doc: All its segments are gone.
  config_resource_type:
    0:
      id: unknown
      doc: Kafka takes this for a number that it does not know.
    2:
      id: topic
      doc: Settings of one topic.
    4:
      id: broker
      doc: Settings of one node; of all of them where the name is empty.
    8:
      id: broker_logger
      doc: Levels of a node's loggers, which are never stored.
    16:
      id: client_metrics
      doc: A subscription to metrics of clients.
    32:
      id: group
      doc: Settings of one group.
  resource_type:
    0:
      id: unknown
      doc: Kafka takes this for a number that it does not know.
    1:
      id: any
      doc: In filters only.
    2:
      id: topic
      doc: One by name, or all that begin so.
    3:
      id: group
      doc: Groups of consumers of any kind.
    4:
      id: cluster
      doc: All of it, by the name kafka-cluster.
    5:
      id: transactional_id
      doc: What a producer names its transactions by.
    6:
      id: delegation_token
      doc: By the id of the token.
    7:
      id: user
      doc: Whose tokens others may create or describe.
  pattern_type:
    0:
      id: unknown
      doc: Kafka takes this for a number that it does not know.
    1:
      id: any
      doc: In filters only.
    2:
      id: match
      doc: In filters only.
    3:
      id: literal
      doc: The name itself; a star stands for all names.
    4:
      id: prefixed
      doc: All names that begin so.
  acl_operation:
    0:
      id: unknown
      doc: Kafka takes this for a number that it does not know.
    1:
      id: any
      doc: In filters only.
    2:
      id: all
      doc: Every operation on the resource.
    3:
      id: read
      doc: Fetching from a topic, taking part in a group.
    4:
      id: write
      doc: Producing to a topic, using a transactional id.
    5:
      id: create
      doc: Making a topic.
    6:
      id: delete
      doc: Removing a topic, its records or a group.
    7:
      id: alter
      doc: Changing partitions, or what the cluster keeps of users.
    8:
      id: describe
      doc: Seeing what there is.
    9:
      id: cluster_action
      doc: What brokers do among themselves.
    10:
      id: describe_configs
      doc: Seeing settings.
    11:
      id: alter_configs
      doc: Changing settings.
    12:
      id: idempotent_write
      doc: Being an idempotent producer.
    13:
      id: create_tokens
      doc: Making delegation tokens for another user.
    14:
      id: describe_tokens
      doc: Seeing delegation tokens of another user.
    15:
      id: two_phase_commit
      doc: Keeping transactions open for a coordinator elsewhere.
  acl_permission_type:
    0:
      id: unknown
      doc: Kafka takes this for a number that it does not know.
    1:
      id: any
      doc: In filters only.
    2:
      id: deny
      doc: It is forbidden, whatever else allows it.
    3:
      id: allow
      doc: It is permitted unless something else forbids it.
  scram_mechanism:
    0:
      id: unknown
      -orig-id: UNKNOWN
      doc: Kafka takes this for a number that it does not know.
    1:
      id: scram_sha_256
      -orig-id: SCRAM-SHA-256
      doc: Hashes of 256 bits.
    2:
      id: scram_sha_512
      -orig-id: SCRAM-SHA-512
      doc: Hashes of 512 bits.
  security_protocol:
    0:
      id: plaintext
      doc: Neither encryption nor authentication.
    1:
      id: ssl
      doc: TLS.
    2:
      id: sasl_plaintext
      doc: SASL without encryption.
    3:
      id: sasl_ssl
      doc: SASL within TLS.
  leader_recovery_state:
    -1:
      id: no_change
      doc: In a change only, where it stays as it is.
    0:
      id: recovered
      doc: The leader has all that was committed, as far as the cluster knows.
    1:
      id: recovering
      doc: It was elected out of sync, and has not yet dealt with that.
  broker_registration_fencing_change:
    -1:
      id: unfence
      doc: The broker takes part again.
    0:
      id: none
      doc: It stays as it is.
    1:
      id: fence
      doc: Clients are no longer sent to the broker.
  broker_registration_in_controlled_shutdown_change:
    0:
      id: none
      doc: It stays as it is.
    1:
      id: in_controlled_shutdown
      doc: The broker is about to leave in order.
  zk_migration_state:
    0:
      id: none
      doc: The cluster never had ZooKeeper.
    1:
      id: migration
      doc: |
        Metadata is written to ZooKeeper too. Kafka 3.4 wrote this number for
        PRE_MIGRATION.
    2:
      id: pre_migration
      doc: A controller waits until the move to KRaft can begin.
    3:
      id: post_migration
      doc: The move is over, and ZooKeeper no longer needed.
    4:
      id: zk
      doc: Never stored; in metrics only.
