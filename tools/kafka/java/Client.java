import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * A release's own consumer and producer, told what to do by lines on standard input.
 *
 * <p>{@code consume topic isolation}: all records of partition 0, then {@code start N}, {@code end N}
 * and {@code ok}. {@code times topic timestamp...}: {@code found offset timestamp} or {@code none}
 * each, from 0.10.1 on. {@code seek topic offset...}: the first record at or after each, or
 * {@code none}. {@code append topic}: {@code offset N}. Every command ends with {@code ok} or
 * {@code error}. What came after 0.9 is called by reflection.
 */
public final class Client {
    private static final long PATIENCE_MS = 30_000;
    private final String bootstrap;
    private final Answers answers;

    private Client(String bootstrap, Answers answers) {
        this.bootstrap = bootstrap;
        this.answers = answers;
    }

    public static void main(String[] arguments) throws Exception {
        Client client = new Client(arguments[0], new Answers());
        BufferedReader plan =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = plan.readLine(); line != null; line = plan.readLine()) {
            try {
                client.execute(line.split("\t"));
                client.answers.line("ok");
            } catch (Throwable problem) {
                client.answers.failed(problem);
            }
        }
        Runtime.getRuntime().halt(0);
    }

    private void execute(String[] fields) throws Exception {
        TopicPartition partition = new TopicPartition(fields[1], 0);
        if (fields[0].equals("append")) {
            append(fields[1]);
            return;
        }
        String isolation = fields[0].equals("consume") ? fields[2] : "read_uncommitted";
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(isolation)) {
            call(consumer, "assign", Collections.singletonList(partition));
            switch (fields[0]) {
                case "consume":
                    consume(consumer, partition);
                    break;
                case "times":
                    for (int field = 2; field < fields.length; field++) {
                        time(consumer, partition, Long.valueOf(fields[field]));
                    }
                    break;
                case "seek":
                    long end = border(consumer, partition, "endOffsets");
                    for (int field = 2; field < fields.length; field++) {
                        seek(consumer, partition, Long.parseLong(fields[field]), end);
                    }
                    break;
                default:
                    throw new IllegalArgumentException(fields[0]);
            }
        }
    }

    private KafkaConsumer<byte[], byte[]> consumer(String isolation) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("isolation.level", isolation);
        settings.put("enable.auto.commit", "false");
        settings.put("auto.offset.reset", "none");
        settings.put("fetch.min.bytes", "1");
        settings.put("fetch.max.wait.ms", "50");
        return new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    private void consume(KafkaConsumer<byte[], byte[]> consumer, TopicPartition partition)
            throws Exception {
        long start = border(consumer, partition, "beginningOffsets");
        long end = border(consumer, partition, "endOffsets");
        answers.line("start", start);
        answers.line("end", end);
        consumer.seek(partition, start);
        long deadline = System.currentTimeMillis() + PATIENCE_MS;
        while (consumer.position(partition) < end) {
            if (System.currentTimeMillis() > deadline) {
                throw new IllegalStateException(
                    "stuck at " + consumer.position(partition) + " of " + end);
            }
            for (ConsumerRecord<byte[], byte[]> record : poll(consumer)) {
                print(record);
            }
        }
    }

    private void seek(
            KafkaConsumer<byte[], byte[]> consumer, TopicPartition partition, long offset, long end)
            throws Exception {
        consumer.seek(partition, offset);
        long deadline = System.currentTimeMillis() + PATIENCE_MS;
        while (consumer.position(partition) < end && System.currentTimeMillis() < deadline) {
            for (ConsumerRecord<byte[], byte[]> record : poll(consumer)) {
                print(record);
                return;
            }
        }
        answers.line("none");
    }

    private void time(
            KafkaConsumer<byte[], byte[]> consumer, TopicPartition partition, Long timestamp)
            throws Exception {
        Map<?, ?> found =
            (Map<?, ?>) call(consumer, "offsetsForTimes", Collections.singletonMap(partition, timestamp));
        Object answer = found.get(partition);
        if (answer == null) {
            answers.line("none");
        } else {
            answers.line("found", call(answer, "offset"), call(answer, "timestamp"));
        }
    }

    private void append(String topic) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("retries", "0");
        try (KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
            byte[] data = Answers.utf8("appended");
            answers.line("offset", producer.send(new ProducerRecord<>(topic, 0, data, data)).get().offset());
        }
    }

    private void print(ConsumerRecord<byte[], byte[]> record) throws Exception {
        long timestamp = -1;
        byte[][] headers = {};
        try {
            timestamp = (Long) call(record, "timestamp");
            Object[] found = (Object[]) call(call(record, "headers"), "toArray");
            headers = new byte[2 * found.length][];
            for (int index = 0; index < found.length; index++) {
                headers[2 * index] = Answers.utf8((String) call(found[index], "key"));
                headers[2 * index + 1] = (byte[]) call(found[index], "value");
            }
        } catch (NoSuchMethodException older) {
            // Timestamps are new in 0.10, headers in 0.11.
        }
        answers.record(record.offset(), timestamp, record.key(), record.value(), headers);
    }

    @SuppressWarnings("unchecked")
    private static ConsumerRecords<byte[], byte[]> poll(KafkaConsumer<byte[], byte[]> consumer)
            throws Exception {
        Object time;
        try {
            time = Class.forName("java.time.Duration").getMethod("ofMillis", long.class).invoke(null, 500L);
            KafkaConsumer.class.getMethod("poll", java.time.Duration.class);
        } catch (NoSuchMethodException before20) {
            time = 500L;
        }
        return (ConsumerRecords<byte[], byte[]>) call(consumer, "poll", time);
    }

    private static long border(
            KafkaConsumer<byte[], byte[]> consumer, TopicPartition partition, String method)
            throws Exception {
        try {
            Map<?, ?> found = (Map<?, ?>) call(consumer, method, Collections.singletonList(partition));
            return (Long) found.get(partition);
        } catch (NoSuchMethodException before0101) {
            String seek = method.equals("endOffsets") ? "seekToEnd" : "seekToBeginning";
            try {
                call(consumer, seek, Collections.singletonList(partition));
            } catch (NoSuchMethodException before010) {
                KafkaConsumer.class.getMethod(seek, TopicPartition[].class)
                    .invoke(consumer, (Object) new TopicPartition[] {partition});
            }
            return consumer.position(partition);
        }
    }

    /** The public method of that name that takes these arguments. */
    private static Object call(Object target, String name, Object... arguments) throws Exception {
        for (Method method : target.getClass().getMethods()) {
            if (method.getName().equals(name) && takes(method.getParameterTypes(), arguments)) {
                method.setAccessible(true);
                try {
                    return method.invoke(target, arguments);
                } catch (InvocationTargetException error) {
                    if (error.getCause() instanceof Exception) {
                        throw (Exception) error.getCause();
                    }
                    throw error;
                }
            }
        }
        throw new NoSuchMethodException(name);
    }

    private static boolean takes(Class<?>[] types, Object[] arguments) {
        if (types.length != arguments.length) {
            return false;
        }
        for (int index = 0; index < types.length; index++) {
            Class<?> type = types[index] == long.class ? Long.class : types[index];
            if (!type.isInstance(arguments[index])) {
                return false;
            }
        }
        return true;
    }
}
