import java.io.PrintStream;
import java.lang.reflect.Method;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * {@code Consume topic count metadata name=value...}: joins a group, reads so many records and
 * commits the offset after each partition's last one; then leaves.
 */
final class Consume implements Command {
    private static final long TIMEOUT_MS = 60_000;

    @Override
    public void execute(String bootstrap, String[] fields, PrintStream out) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("auto.offset.reset", "earliest");
        settings.put("enable.auto.commit", "false");
        settings.putAll(Driver.settings(fields, 4));
        KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(
            settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        try {
            subscribe(consumer, Collections.singletonList(fields[1]));
            int missing = Integer.parseInt(fields[2]);
            Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
            for (long end = System.currentTimeMillis() + TIMEOUT_MS; missing > 0; ) {
                for (ConsumerRecord<byte[], byte[]> record : poll(consumer)) {
                    missing--;
                    offsets.put(new TopicPartition(record.topic(), record.partition()),
                        new OffsetAndMetadata(record.offset() + 1, fields[3]));
                }
                if (System.currentTimeMillis() > end) {
                    throw new IllegalStateException(missing + " records did not come");
                }
            }
            consumer.commitSync(offsets);
        } finally {
            consumer.close();
        }
    }

    /** The parameter is a List in 0.9 and a Collection since 0.10. */
    private static void subscribe(KafkaConsumer<?, ?> consumer, List<String> topics)
            throws Exception {
        Method method;
        try {
            method = KafkaConsumer.class.getMethod("subscribe", Collection.class);
        } catch (NoSuchMethodException before010) {
            method = KafkaConsumer.class.getMethod("subscribe", List.class);
        }
        method.invoke(consumer, topics);
    }

    /** The parameter is a Duration since 2.0; the number was removed in 4.0. */
    @SuppressWarnings("unchecked")
    private static ConsumerRecords<byte[], byte[]> poll(KafkaConsumer<byte[], byte[]> consumer)
            throws Exception {
        Object records;
        try {
            records = KafkaConsumer.class.getMethod("poll", java.time.Duration.class)
                .invoke(consumer, java.time.Duration.ofMillis(200));
        } catch (NoSuchMethodException before2) {
            records = KafkaConsumer.class.getMethod("poll", long.class).invoke(consumer, 200L);
        }
        return (ConsumerRecords<byte[], byte[]>) records;
    }
}
