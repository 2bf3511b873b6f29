import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.StringJoiner;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;

/**
 * Creates and alters topics through znodes: this works with every release, and needs no process for
 * each topic, as Kafka's tool does before the admin client of 0.11.
 *
 * <pre>
 * create topic partitions name=value...    creates it, and waits for the leaders
 * alter topic name=value...                replaces its settings, and does not wait for the broker
 * </pre>
 */
final class ZookeeperTopics extends Commands {
    private static final long LEADER_TIMEOUT_MS = 30_000;
    private final ZooKeeper zookeeper;

    ZookeeperTopics() throws Exception {
        zookeeper = new ZooKeeper(arguments[1], 30_000, event -> { });
    }

    @Override
    void execute(String[] fields) throws Exception {
        if (fields[1].equals("create")) {
            create(fields[2], Integer.parseInt(fields[3]), pairs(fields, 4));
        } else {
            alter(fields[2], pairs(fields, 3));
        }
    }

    private void create(String topic, int partitions, Map<String, String> settings) throws Exception {
        if (zookeeper.exists("/config/topics", false) != null) { // 0.8.0 has no settings of topics
            put("/config/topics/" + topic, config(settings), CreateMode.PERSISTENT);
        }
        if (zookeeper.exists("/brokers/topics", false) == null) { // 0.8.0 leaves that to its tool
            put("/brokers/topics", "", CreateMode.PERSISTENT);
        }
        StringJoiner replicas = new StringJoiner(",", "{", "}");
        for (int partition = 0; partition < partitions; partition++) {
            replicas.add("\"" + partition + "\":[0]");
        }
        put("/brokers/topics/" + topic, "{\"version\":1,\"partitions\":" + replicas + "}",
            CreateMode.PERSISTENT);
        for (int partition = 0; partition < partitions; partition++) {
            await("/brokers/topics/" + topic + "/partitions/" + partition + "/state");
        }
    }

    private void alter(String topic, Map<String, String> settings) throws Exception {
        byte[] data = config(settings).getBytes(StandardCharsets.UTF_8);
        zookeeper.setData("/config/topics/" + topic, data, -1);
        put("/config/changes/config_change_", notification(topic), CreateMode.PERSISTENT_SEQUENTIAL);
    }

    /** Brokers from 0.9 on all read version 1; 0.8 expects only the name, as a JSON string. */
    private static String notification(String topic) {
        try {
            Class.forName("kafka.server.TopicConfigManager");
            return "\"" + topic + "\"";
        } catch (ClassNotFoundException from09) {
            return "{\"version\":1,\"entity_type\":\"topics\",\"entity_name\":\"" + topic + "\"}";
        }
    }

    private static String config(Map<String, String> settings) {
        StringJoiner pairs = new StringJoiner(",", "{", "}");
        settings.forEach((name, value) -> pairs.add("\"" + name + "\":\"" + value + "\""));
        return "{\"version\":1,\"config\":" + pairs + "}";
    }

    private void put(String path, String data, CreateMode mode) throws Exception {
        zookeeper.create(path, data.getBytes(StandardCharsets.UTF_8), ZooDefs.Ids.OPEN_ACL_UNSAFE, mode);
    }

    private void await(String path) throws Exception {
        long deadline = System.currentTimeMillis() + LEADER_TIMEOUT_MS;
        while (zookeeper.exists(path, false) == null) {
            if (System.currentTimeMillis() > deadline) {
                throw new IllegalStateException("no leader: " + path);
            }
            Thread.sleep(20);
        }
    }
}
