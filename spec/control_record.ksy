meta:
  id: control_record
  title: Control records of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - flexible
    - varint
  endian: be
doc: |
  Records of a batch with the control attribute. The key says what the record
  is; the type of the key decides how its value reads. ABORT and COMMIT stand
  in data partitions, one a batch. The other five are KRaft's, in
  `__cluster_metadata` and its snapshots, and several may share a batch.

  Read as a whole, this specification describes the key. A value is read by
  `control_record_value`, with the type from the key as parameter.
doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/java/org/apache/kafka/common/record/ControlRecordType.java ControlRecordType
seq:
  - id: key
    type: control_record_key
types:
  control_record_key:
    -orig-id: ControlRecordType
    -webide-representation: '{type}'
    doc: Type of a control record, in the key of the record.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/java/org/apache/kafka/common/record/ControlRecordType.java ControlRecordType.parseTypeId
    seq:
      - id: version
        -default: '0'
        type: s2
        valid:
          min: 0
        doc: Written as 0. Readers take any later version for 0.
      - id: type
        type: s2
        enum: control_record_type
        doc: Type of the record. Readers skip types that they do not know.
      - id: unused
        -default: '[]'
        size-eos: true
        doc: Bytes after it are ignored.
  control_record_value:
    doc: Value of a control record, by the type in its key.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/java/org/apache/kafka/common/record/ControlRecordUtils.java ControlRecordUtils
    params:
      - id: record_type
        type: s2
        doc: Type from the key.
    seq:
      - id: body
        type:
          switch-on: record_type
          cases:
            0: end_transaction_marker
            1: end_transaction_marker
            2: leader_change_message
            3: snapshot_header_record
            4: snapshot_footer_record
            5: kraft_version_record
            6: voters_record
            _: unknown_control_record
  end_transaction_marker:
    -orig-id: EndTransactionMarker
    -webide-representation: 'coordinator epoch {coordinator_epoch:dec}'
    doc: Value of ABORT and COMMIT.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/java/org/apache/kafka/common/record/EndTransactionMarker.java EndTransactionMarker
    seq:
      - id: version
        -default: '0'
        type: s2
        valid:
          min: 0
        doc: Written as 0. Readers take any later version for 0.
      - id: coordinator_epoch
        -orig-id: coordinatorEpoch
        type: s4
        doc: Epoch of the transaction coordinator that wrote the marker.
      - id: unused
        -default: '[]'
        size-eos: true
        doc: Bytes after it are ignored.
  leader_change_message:
    -orig-id: LeaderChangeMessage
    doc: |
      Value of LEADER_CHANGE, the first record of a KRaft leader. Version 0:
      no broker has written another.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/resources/common/message/LeaderChangeMessage.json LeaderChangeMessage.json
    seq:
      - id: version
        -orig-id: Version
        -default: '0'
        type: s2
        doc: Version of the message. Kafka decodes all of them as 0.
      - id: leader_id
        -orig-id: LeaderId
        type: s4
        doc: Node id of the leader.
      - id: num_voters
        -orig-id: Voters
        -derive: count(voters) + 1
        type: varint::unsigned_varint32
        valid:
          expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
        doc: Number of voters plus one.
      - id: voters
        -orig-id: Voters
        type: voter
        repeat: expr
        repeat-expr: num_voters.value - 1
        doc: Voters at the time of the election.
      - id: num_granting_voters
        -orig-id: GrantingVoters
        -derive: count(granting_voters) + 1
        type: varint::unsigned_varint32
        valid:
          expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
        doc: Number of granting voters plus one.
      - id: granting_voters
        -orig-id: GrantingVoters
        type: voter
        repeat: expr
        repeat-expr: num_granting_voters.value - 1
        doc: Voters that voted for the leader.
      - id: tagged_fields
        type: flexible::tagged_fields
      - id: unused
        -default: '[]'
        size-eos: true
        doc: Bytes after it are ignored.
  voter:
    -orig-id: Voter
    -webide-representation: '{voter_id:dec}'
    doc: A voter of the KRaft quorum in version 0 of LEADER_CHANGE.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/resources/common/message/LeaderChangeMessage.json LeaderChangeMessage.json
    seq:
      - id: voter_id
        -orig-id: VoterId
        type: s4
        doc: Node id.
      - id: tagged_fields
        type: flexible::tagged_fields
  snapshot_header_record:
    -orig-id: SnapshotHeaderRecord
    doc: Value of SNAPSHOT_HEADER, the first record of a KRaft snapshot.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/resources/common/message/SnapshotHeaderRecord.json SnapshotHeaderRecord.json
    seq:
      - id: version
        -orig-id: Version
        -default: '0'
        type: s2
        doc: Version of the record.
      - id: last_contained_log_timestamp
        -orig-id: LastContainedLogTimestamp
        type: s8
        doc: |
          Append time of the last record in the snapshot, in milliseconds since
          the Unix epoch.
      - id: tagged_fields
        type: flexible::tagged_fields
      - id: unused
        -default: '[]'
        size-eos: true
        doc: Bytes after it are ignored.
  snapshot_footer_record:
    -orig-id: SnapshotFooterRecord
    doc: Value of SNAPSHOT_FOOTER, the last record of a KRaft snapshot.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/resources/common/message/SnapshotFooterRecord.json SnapshotFooterRecord.json
    seq:
      - id: version
        -orig-id: Version
        -default: '0'
        type: s2
        doc: Version of the record.
      - id: tagged_fields
        type: flexible::tagged_fields
      - id: unused
        -default: '[]'
        size-eos: true
        doc: Bytes after it are ignored.
  kraft_version_record:
    -orig-id: KRaftVersionRecord
    doc: Value of KRAFT_VERSION, which turns on a feature level. Since 3.8.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/resources/common/message/KRaftVersionRecord.json KRaftVersionRecord.json
    seq:
      - id: version
        -orig-id: Version
        -default: '0'
        type: s2
        doc: Version of the record.
      - id: kraft_version
        -orig-id: KRaftVersion
        type: s2
        doc: Level of `kraft.version`; from 1 on voters can change at run time.
      - id: tagged_fields
        type: flexible::tagged_fields
      - id: unused
        -default: '[]'
        size-eos: true
        doc: Bytes after it are ignored.
  voters_record:
    -orig-id: VotersRecord
    doc: Value of KRAFT_VOTERS, the set of voters. Since 3.8.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/resources/common/message/VotersRecord.json VotersRecord.json
    seq:
      - id: version
        -orig-id: Version
        -default: '0'
        type: s2
        doc: Version of the record.
      - id: num_voters
        -orig-id: Voters
        -derive: count(voters) + 1
        type: varint::unsigned_varint32
        valid:
          expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
        doc: Number of voters plus one.
      - id: voters
        -orig-id: Voters
        type: registered_voter
        repeat: expr
        repeat-expr: num_voters.value - 1
        doc: The voters with their addresses.
      - id: tagged_fields
        type: flexible::tagged_fields
      - id: unused
        -default: '[]'
        size-eos: true
        doc: Bytes after it are ignored.
  registered_voter:
    -orig-id: Voter
    -webide-representation: '{voter_id:dec}'
    doc: A voter with its directory, addresses and versions.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/resources/common/message/VotersRecord.json VotersRecord.json
    seq:
      - id: voter_id
        -orig-id: VoterId
        type: s4
        doc: Node id.
      - id: voter_directory_id
        -orig-id: VoterDirectoryId
        size: 16
        doc: UUID of the directory of the metadata log, high byte first.
      - id: num_endpoints
        -orig-id: Endpoints
        -derive: count(endpoints) + 1
        type: varint::unsigned_varint32
        valid:
          expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
        doc: Number of endpoints plus one.
      - id: endpoints
        -orig-id: Endpoints
        type: endpoint
        repeat: expr
        repeat-expr: num_endpoints.value - 1
        doc: Addresses of the node.
      - id: kraft_version_feature
        -orig-id: KRaftVersionFeature
        type: kraft_version_range
      - id: tagged_fields
        type: flexible::tagged_fields
  endpoint:
    -orig-id: Endpoint
    -webide-representation: '{name} {host}:{port:dec}'
    doc: An address of a voter.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/resources/common/message/VotersRecord.json VotersRecord.json
    seq:
      - id: name
        -orig-id: Name
        type: flexible::compact_string
        doc: Name of the listener.
      - id: host
        -orig-id: Host
        type: flexible::compact_string
        doc: Host name.
      - id: port
        -orig-id: Port
        type: u2
        doc: TCP port.
      - id: tagged_fields
        type: flexible::tagged_fields
  kraft_version_range:
    -orig-id: KRaftVersionFeature
    doc: Range of `kraft.version` levels that a voter supports.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/resources/common/message/VotersRecord.json VotersRecord.json
    seq:
      - id: min_supported_version
        -orig-id: MinSupportedVersion
        type: s2
        doc: Lowest supported level.
      - id: max_supported_version
        -orig-id: MaxSupportedVersion
        type: s2
        doc: Highest supported level.
      - id: tagged_fields
        type: flexible::tagged_fields
  unknown_control_record:
    doc: Value of a type that is not described here.
    doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/java/org/apache/kafka/common/record/ControlRecordType.java ControlRecordType.UNKNOWN
    seq:
      - id: data
        size-eos: true
        doc: The value as it stands.
enums:
  control_record_type:
    0:
      id: abort
      doc: End of an aborted transaction.
    1:
      id: commit
      doc: End of a committed transaction.
    2:
      id: leader_change
      doc: A KRaft leader took over.
    3:
      id: snapshot_header
      doc: Begin of a KRaft snapshot.
    4:
      id: snapshot_footer
      doc: End of a KRaft snapshot.
    5:
      id: kraft_version
      doc: Level of `kraft.version`.
    6:
      id: kraft_voters
      doc: Set of KRaft voters.
