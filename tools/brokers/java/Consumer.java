import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * The consumer of the release; what came after 0.9 is called by reflection.
 *
 * <p>{@code group topic count metadata name=value...} joins a group, reads so many records, commits
 * the offset after each partition's last one with the metadata, and leaves. All others are about
 * partition 0. A record is answered with offset, timestamp, key, value, and key and value of each
 * header.
 *
 * <pre>
 * consume topic isolation    answers log start and end, then all records
 * times topic timestamp...   answers offset and timestamp for each, or none; from 0.10.1 on
 * seek topic offset...       answers the first record at or after each, or none
 * </pre>
 */
final class Consumer extends Commands {
    private static final long PATIENCE_MS = 30_000;

    @Override
    void execute(String[] fields) throws Exception {
        if (fields[1].equals("group")) {
            group(fields);
            return;
        }
        String isolation = fields[1].equals("consume") ? fields[3] : "read_uncommitted";
        TopicPartition partition = new TopicPartition(fields[2], 0);
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(Map.of(
                "isolation.level", isolation, "auto.offset.reset", "none",
                "fetch.min.bytes", "1", "fetch.max.wait.ms", "50"))) {
            call(consumer, "assign", List.of(partition));
            long end = border(consumer, partition, "endOffsets");
            if (fields[1].equals("consume")) {
                long start = border(consumer, partition, "beginningOffsets");
                answer(start, end);
                consumer.seek(partition, start);
                read(consumer, partition, end, Integer.MAX_VALUE);
                if (consumer.position(partition) < end) {
                    throw new IllegalStateException(
                        "stuck at " + consumer.position(partition) + " of " + end);
                }
                return;
            }
            for (int field = 3; field < fields.length; field++) {
                Long wanted = Long.valueOf(fields[field]);
                if (fields[1].equals("times")) {
                    time(consumer, partition, wanted);
                    continue;
                }
                consumer.seek(partition, wanted);
                if (read(consumer, partition, end, 1) == 0) {
                    answer("none");
                }
            }
        }
    }

    private static KafkaConsumer<byte[], byte[]> consumer(Map<String, String> own) {
        Map<String, Object> settings = settings(arguments, arguments.length);
        settings.put("enable.auto.commit", "false");
        settings.putAll(own);
        return new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    /** Answers records up to an offset, no more than so many; returns how many there were in time. */
    private static int read(
            KafkaConsumer<byte[], byte[]> consumer, TopicPartition partition, long end, int most)
            throws Exception {
        int count = 0;
        long deadline = System.currentTimeMillis() + PATIENCE_MS;
        while (count < most && consumer.position(partition) < end
                && System.currentTimeMillis() < deadline) {
            for (ConsumerRecord<byte[], byte[]> record : poll(consumer)) {
                if (count++ < most) {
                    print(record);
                }
            }
        }
        return count;
    }

    private static void time(
            KafkaConsumer<byte[], byte[]> consumer, TopicPartition partition, Long timestamp)
            throws Exception {
        Object found =
            ((Map<?, ?>) call(consumer, "offsetsForTimes", Map.of(partition, timestamp))).get(partition);
        if (found == null) {
            answer("none");
        } else {
            answer(call(found, "offset"), call(found, "timestamp"));
        }
    }

    private static void group(String[] fields) throws Exception {
        Map<String, String> settings = pairs(fields, 5);
        settings.put("auto.offset.reset", "earliest");
        String pattern = settings.remove("pattern");  // from 4.0 on, KIP-848
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(settings)) {
            call(consumer, "subscribe", pattern == null ? List.of(fields[2])
                : make("org.apache.kafka.clients.consumer.SubscriptionPattern", pattern));
            int missing = Integer.parseInt(fields[3]);
            Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
            for (long end = System.currentTimeMillis() + 2 * PATIENCE_MS; missing > 0; ) {
                for (ConsumerRecord<byte[], byte[]> record : poll(consumer)) {
                    missing--;
                    offsets.put(new TopicPartition(record.topic(), record.partition()),
                        new OffsetAndMetadata(record.offset() + 1, fields[4]));
                }
                if (System.currentTimeMillis() > end) {
                    throw new IllegalStateException(missing + " records did not come");
                }
            }
            consumer.commitSync(offsets);
        }
    }

    /** Timestamps are new in 0.10, headers in 0.11. */
    private static void print(ConsumerRecord<byte[], byte[]> record) throws Exception {
        List<Object> fields = new ArrayList<>();
        fields.add(record.offset());
        fields.add(-1);
        fields.add(record.key());
        fields.add(record.value());
        try {
            fields.set(1, call(record, "timestamp"));
            for (Object header : (Object[]) call(call(record, "headers"), "toArray")) {
                fields.add(((String) call(header, "key")).getBytes("UTF-8"));
                fields.add(call(header, "value"));
            }
        } catch (NoSuchMethodException older) {
            // What is missing has its default.
        }
        answer(fields.toArray());
    }

    /** The parameter is a Duration since 2.0; the number was removed in 4.0. */
    @SuppressWarnings("unchecked")
    private static ConsumerRecords<byte[], byte[]> poll(KafkaConsumer<byte[], byte[]> consumer)
            throws Exception {
        Object records;
        try {
            records = call(consumer, "poll", Duration.ofMillis(200));
        } catch (NoSuchMethodException before20) {
            records = call(consumer, "poll", 200L);
        }
        return (ConsumerRecords<byte[], byte[]>) records;
    }

    private static long border(
            KafkaConsumer<byte[], byte[]> consumer, TopicPartition partition, String method)
            throws Exception {
        try {
            return (Long) ((Map<?, ?>) call(consumer, method, List.of(partition))).get(partition);
        } catch (NoSuchMethodException before0101) {
            String seek = method.equals("endOffsets") ? "seekToEnd" : "seekToBeginning";
            try {
                call(consumer, seek, List.of(partition));
            } catch (NoSuchMethodException before010) {
                call(consumer, seek, (Object) new TopicPartition[] {partition});
            }
            return consumer.position(partition);
        }
    }
}
