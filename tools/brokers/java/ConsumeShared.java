import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * {@code topic count group [answer]}: joins a share group, reads so many records and accepts one,
 * rejects the next and releases the one after that, in turn, or gives all of them one answer.
 * Answers with the offset of each record, and what it was told.
 */
final class ConsumeShared extends Commands {
    private static final long TIMEOUT_MS = 60_000;
    private static final AcknowledgeType[] ANSWERS =
        {AcknowledgeType.ACCEPT, AcknowledgeType.REJECT, AcknowledgeType.RELEASE};

    @Override
    void execute(String[] fields) throws Exception {
        Map<String, Object> settings = settings(fields, fields.length);
        try (Admin admin = Admin.create(settings)) {  // by default a group starts at the end
            AdminTopics.set(admin, ConfigResource.Type.GROUP, fields[3],
                Map.of("share.auto.offset.reset", "earliest"));
        }
        AcknowledgeType[] answers = fields.length > 4
            ? new AcknowledgeType[] {AcknowledgeType.valueOf(fields[4])} : ANSWERS;
        settings.put("group.id", fields[3]);
        settings.put("share.acknowledgement.mode", "explicit");
        try (KafkaShareConsumer<byte[], byte[]> consumer = new KafkaShareConsumer<>(
                settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.subscribe(List.of(fields[1]));
            int wanted = Integer.parseInt(fields[2]);
            int seen = 0;
            for (long end = System.currentTimeMillis() + TIMEOUT_MS; seen < wanted; ) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) {
                    AcknowledgeType told = answers[seen++ % answers.length];
                    consumer.acknowledge(record, told);
                    answer(record.offset(), told.name());
                }
                consumer.commitSync();
                if (System.currentTimeMillis() > end) {
                    throw new IllegalStateException((wanted - seen) + " records did not come");
                }
            }
        }
    }
}
