meta:
  id: streams_group_topology_value
  title: StreamsGroupTopologyValue of Apache Kafka
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  license: CC0-1.0
  ks-version: '0.11'
  imports:
    - ../../varint
    - ../../flexible
  endian: be
-orig-id: StreamsGroupTopologyValue
doc: Value of the parts that a streams group runs.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/StreamsGroupTopologyValue.json StreamsGroupTopologyValue.json
seq:
  - id: schema_version
    type: s2
    valid: 0
    doc: Version of the message.
  - id: epoch
    -orig-id: Epoch
    type: s4
    doc: Goes up with each change of the topology.
  - id: num_subtopologies
    -orig-id: Subtopologies
    -derive: count(subtopologies) + 1
    type: varint::unsigned_varint32
    valid:
      expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
    doc: Number of items plus one.
  - id: subtopologies
    -orig-id: Subtopologies
    type: subtopology
    repeat: expr
    repeat-expr: num_subtopologies.value - 1
    doc: Parts of the topology.
  - id: tagged_fields
    type: flexible::tagged_fields
  - id: unused
    -default: '[]'
    size-eos: true
    doc: Bytes after it are ignored.
types:
  subtopology:
    -orig-id: Subtopology
    doc: A part of the topology that is run as a whole.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/StreamsGroupTopologyValue.json StreamsGroupTopologyValue.json
    seq:
      - id: subtopology_id
        -orig-id: SubtopologyId
        type: flexible::compact_string
        doc: Name of the part of the topology.
      - id: num_source_topics
        -orig-id: SourceTopics
        -derive: count(source_topics) + 1
        type: varint::unsigned_varint32
        valid:
          expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
        doc: Number of items plus one.
      - id: source_topics
        -orig-id: SourceTopics
        type: flexible::compact_string
        repeat: expr
        repeat-expr: num_source_topics.value - 1
        doc: Topics that are read.
      - id: num_source_topic_regex
        -orig-id: SourceTopicRegex
        -derive: count(source_topic_regex) + 1
        type: varint::unsigned_varint32
        valid:
          expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
        doc: Number of items plus one.
      - id: source_topic_regex
        -orig-id: SourceTopicRegex
        type: flexible::compact_string
        repeat: expr
        repeat-expr: num_source_topic_regex.value - 1
        doc: Patterns of topics that are read.
      - id: num_state_changelog_topics
        -orig-id: StateChangelogTopics
        -derive: count(state_changelog_topics) + 1
        type: varint::unsigned_varint32
        valid:
          expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
        doc: Number of items plus one.
      - id: state_changelog_topics
        -orig-id: StateChangelogTopics
        type: topic_info
        repeat: expr
        repeat-expr: num_state_changelog_topics.value - 1
        doc: Topics that back up local state.
      - id: num_repartition_sink_topics
        -orig-id: RepartitionSinkTopics
        -derive: count(repartition_sink_topics) + 1
        type: varint::unsigned_varint32
        valid:
          expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
        doc: Number of items plus one.
      - id: repartition_sink_topics
        -orig-id: RepartitionSinkTopics
        type: flexible::compact_string
        repeat: expr
        repeat-expr: num_repartition_sink_topics.value - 1
        doc: Repartition topics that are written.
      - id: num_repartition_source_topics
        -orig-id: RepartitionSourceTopics
        -derive: count(repartition_source_topics) + 1
        type: varint::unsigned_varint32
        valid:
          expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
        doc: Number of items plus one.
      - id: repartition_source_topics
        -orig-id: RepartitionSourceTopics
        type: topic_info
        repeat: expr
        repeat-expr: num_repartition_source_topics.value - 1
        doc: Repartition topics that it reads.
      - id: num_copartition_groups
        -orig-id: CopartitionGroups
        -derive: count(copartition_groups) + 1
        type: varint::unsigned_varint32
        valid:
          expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
        doc: Number of items plus one.
      - id: copartition_groups
        -orig-id: CopartitionGroups
        type: copartition_group
        repeat: expr
        repeat-expr: num_copartition_groups.value - 1
        doc: Topics that need the same number of partitions.
      - id: tagged_fields
        type: flexible::tagged_fields
  topic_info:
    -orig-id: TopicInfo
    doc: A topic, by id and name.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/StreamsGroupTopologyValue.json StreamsGroupTopologyValue.json
    seq:
      - id: name
        -orig-id: Name
        type: flexible::compact_string
        doc: Name of the topic.
      - id: partitions
        -orig-id: Partitions
        type: s4
        doc: Numbers of the partitions.
      - id: replication_factor
        -orig-id: ReplicationFactor
        type: s2
        doc: Number of replicas; 0 for the broker's default.
      - id: num_topic_configs
        -orig-id: TopicConfigs
        -derive: count(topic_configs) + 1
        type: varint::unsigned_varint32
        valid:
          expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
        doc: Number of items plus one.
      - id: topic_configs
        -orig-id: TopicConfigs
        type: topic_config
        repeat: expr
        repeat-expr: num_topic_configs.value - 1
        doc: Settings that the topic is to be made with.
      - id: tagged_fields
        type: flexible::tagged_fields
  topic_config:
    -orig-id: TopicConfig
    doc: A setting of a topic.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/StreamsGroupTopologyValue.json StreamsGroupTopologyValue.json
    seq:
      - id: key
        type: flexible::compact_string
        doc: Name of the setting.
      - id: value
        type: flexible::compact_string
        doc: What it is set to.
      - id: tagged_fields
        type: flexible::tagged_fields
  copartition_group:
    -orig-id: CopartitionGroup
    doc: Topics that need the same number of partitions.
    doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/StreamsGroupTopologyValue.json StreamsGroupTopologyValue.json
    seq:
      - id: num_source_topics
        -orig-id: SourceTopics
        -derive: count(source_topics) + 1
        type: varint::unsigned_varint32
        valid:
          expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
        doc: Number of items plus one.
      - id: source_topics
        -orig-id: SourceTopics
        type: s2
        repeat: expr
        repeat-expr: num_source_topics.value - 1
        doc: Places in the source topics of the part.
      - id: num_source_topic_regex
        -orig-id: SourceTopicRegex
        -derive: count(source_topic_regex) + 1
        type: varint::unsigned_varint32
        valid:
          expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
        doc: Number of items plus one.
      - id: source_topic_regex
        -orig-id: SourceTopicRegex
        type: s2
        repeat: expr
        repeat-expr: num_source_topic_regex.value - 1
        doc: Places in the patterns of the part.
      - id: num_repartition_source_topics
        -orig-id: RepartitionSourceTopics
        -derive: count(repartition_source_topics) + 1
        type: varint::unsigned_varint32
        valid:
          expr: _.value >= 1 and _.value - 1 <= (_io.size - _io.pos).as<s8>
        doc: Number of items plus one.
      - id: repartition_source_topics
        -orig-id: RepartitionSourceTopics
        type: s2
        repeat: expr
        repeat-expr: num_repartition_source_topics.value - 1
        doc: Places in the repartition source topics of the part.
      - id: tagged_fields
        type: flexible::tagged_fields
