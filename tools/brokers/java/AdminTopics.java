import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.config.ConfigResource;

/** Creates and alters topics through the admin client, for KRaft: see ZookeeperTopics. */
final class AdminTopics extends Commands {
    private final Admin admin = Admin.create(settings(arguments, arguments.length));

    @Override
    void execute(String[] fields) throws Exception {
        if (fields[1].equals("create")) {
            NewTopic topic = new NewTopic(fields[2], Integer.parseInt(fields[3]), (short) 1);
            admin.createTopics(List.of(topic.configs(pairs(fields, 4)))).all().get();
        } else if (fields[1].equals("place")) {
            List<Integer> brokers =
                Arrays.stream(fields[3].split(",")).map(Integer::valueOf).toList();
            NewTopic topic = new NewTopic(fields[2], Map.of(0, brokers));
            admin.createTopics(List.of(topic.configs(pairs(fields, 4)))).all().get();
        } else if (fields[1].equals("leader")) {
            TopicPartitionInfo partition = admin.describeTopics(List.of(fields[2]))
                .allTopicNames().get().get(fields[2]).partitions().get(0);
            StringJoiner isr = new StringJoiner(",");
            partition.isr().forEach(node -> isr.add(node.idString()));
            Node leader = partition.leader();
            answer(leader == null ? "-1" : leader.idString(), isr.toString());
        } else {
            set(admin, ConfigResource.Type.TOPIC, fields[2], pairs(fields, 3));
        }
    }

    /** Changes these settings of a topic or of a group. */
    static void set(
            Admin admin, ConfigResource.Type type, String name, Map<String, String> settings)
            throws Exception {
        Collection<AlterConfigOp> changes = new ArrayList<>();
        settings.forEach((setting, value) -> changes.add(
            new AlterConfigOp(new ConfigEntry(setting, value), AlterConfigOp.OpType.SET)));
        admin.incrementalAlterConfigs(Map.of(new ConfigResource(type, name), changes)).all().get();
    }
}
