import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.config.ConfigResource;

/** Topics through the admin client, for KRaft. */
final class AdminTopics implements Topics {
    private final Admin admin;

    AdminTopics(String bootstrap) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        admin = Admin.create(settings);
    }

    @Override
    public void create(String topic, int partitions, Map<String, String> settings) throws Exception {
        NewTopic request = new NewTopic(topic, partitions, (short) 1).configs(settings);
        admin.createTopics(Collections.singleton(request)).all().get();
    }

    @Override
    public void alter(String topic, Map<String, String> settings) throws Exception {
        List<AlterConfigOp> changes = new ArrayList<>();
        settings.forEach((name, value) -> changes.add(
            new AlterConfigOp(new ConfigEntry(name, value), AlterConfigOp.OpType.SET)));
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        Map<ConfigResource, Collection<AlterConfigOp>> request =
            Collections.singletonMap(resource, (Collection<AlterConfigOp>) changes);
        admin.incrementalAlterConfigs(request).all().get();
    }

    @Override
    public void close() {
        admin.close();
    }
}
