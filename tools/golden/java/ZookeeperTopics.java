import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.StringJoiner;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;

/**
 * Topics through znodes: one way that works for every version with ZooKeeper, and the only one
 * without a tool process a topic before the admin client of 0.11.
 */
final class ZookeeperTopics implements Topics {
    private static final long LEADER_TIMEOUT_MS = 30_000;
    private final ZooKeeper zookeeper;

    ZookeeperTopics(String connect) throws Exception {
        zookeeper = new ZooKeeper(connect, 30_000, event -> { });
    }

    @Override
    public void create(String topic, int partitions, Map<String, String> settings) throws Exception {
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

    @Override
    public void alter(String topic, Map<String, String> settings) throws Exception {
        byte[] data = config(settings).getBytes(StandardCharsets.UTF_8);
        zookeeper.setData("/config/topics/" + topic, data, -1);
        put("/config/changes/config_change_", notification(topic), CreateMode.PERSISTENT_SEQUENTIAL);
    }

    @Override
    public void close() throws Exception {
        zookeeper.close();
    }

    /** Brokers from 0.9 on all read version 1; 0.8 wants nothing but the name, as a JSON string. */
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
