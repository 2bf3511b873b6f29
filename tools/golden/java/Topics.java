import java.util.Map;

/** Makes topics and changes their settings, whoever keeps the metadata. */
interface Topics extends AutoCloseable {
    /** Creates a topic with one replica a partition and waits until every partition has a leader. */
    void create(String topic, int partitions, Map<String, String> settings) throws Exception;

    /** Replaces (ZooKeeper) or changes (KRaft) the settings of a topic; does not wait for the broker. */
    void alter(String topic, Map<String, String> settings) throws Exception;
}
