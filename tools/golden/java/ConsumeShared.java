import java.io.PrintStream;
import java.time.Duration;
import java.util.Collection;
import java.util.Collections;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * {@code ConsumeShared topic count group}: joins a share group, gets so many records and accepts
 * one, rejects the next and releases the one after that, in turn.
 */
final class ConsumeShared implements Command {
    private static final long TIMEOUT_MS = 60_000;
    private static final AcknowledgeType[] ANSWERS =
        {AcknowledgeType.ACCEPT, AcknowledgeType.REJECT, AcknowledgeType.RELEASE};

    @Override
    public void execute(String bootstrap, String[] fields, PrintStream out) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        fromTheBeginning(settings, fields[3]);
        settings.put("group.id", fields[3]);
        settings.put("share.acknowledgement.mode", "explicit");
        try (KafkaShareConsumer<byte[], byte[]> consumer = new KafkaShareConsumer<>(
                settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.subscribe(Collections.singletonList(fields[1]));
            int wanted = Integer.parseInt(fields[2]);
            int seen = 0;
            for (long end = System.currentTimeMillis() + TIMEOUT_MS; seen < wanted; ) {
                for (ConsumerRecord<byte[], byte[]> record
                        : consumer.poll(Duration.ofMillis(200))) {
                    consumer.acknowledge(record, ANSWERS[seen++ % ANSWERS.length]);
                }
                consumer.commitSync();
                if (System.currentTimeMillis() > end) {
                    throw new IllegalStateException((wanted - seen) + " records did not come");
                }
            }
        }
    }

    /** A share group starts at the end of a topic unless its own settings say otherwise. */
    private static void fromTheBeginning(Properties client, String group) throws Exception {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.GROUP, group);
        Collection<AlterConfigOp> change = Collections.singletonList(new AlterConfigOp(
            new ConfigEntry("share.auto.offset.reset", "earliest"), AlterConfigOp.OpType.SET));
        try (Admin admin = Admin.create(client)) {
            admin.incrementalAlterConfigs(Map.of(resource, change)).all().get();
        }
    }
}
