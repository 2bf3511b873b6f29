import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Does what a plan on standard input says, with the client of the version it is compiled against.
 *
 * <p>One command a line, fields separated by tabs; keys and values in base64, {@code -} for null.
 * Every command but {@code send} is answered by {@code ok} or {@code error<TAB>message}; before the
 * {@code ok} of {@code flush} comes one {@code ack} line a record, in the order they were sent.
 * <pre>
 * create topic partitions name=value...     alter topic name=value...
 * producer id name=value...                 close id
 * send id topic partition timestamp key value [header-key header-value]...
 * flush id                                  begin id | commit id | abort id
 * offsets id topic partition offset group
 * </pre>
 * Any other command is the name of a {@link Command}.
 * Arguments: class for topics, its connection string, the broker's address.
 */
public final class Driver {
    private static final String NULL = "-";
    private final Topics topics;
    private final String bootstrap;
    private final PrintStream out;
    private final Map<String, KafkaProducer<byte[], byte[]>> producers = new HashMap<>();
    private final Map<String, List<Future<RecordMetadata>>> pending = new HashMap<>();

    private Driver(Topics topics, String bootstrap, PrintStream out) {
        this.topics = topics;
        this.bootstrap = bootstrap;
        this.out = out;
    }

    public static void main(String[] args) throws Exception {
        // Some logging bindings write to standard output, which carries the answers.
        PrintStream answers = new PrintStream(new FileOutputStream(FileDescriptor.out), true, "UTF-8");
        System.setOut(System.err);
        Class<?> type = Class.forName(args[0]);
        try (Topics topics =
                (Topics) type.getDeclaredConstructor(String.class).newInstance(args[1])) {
            new Driver(topics, args[2], answers).run();
        }
    }

    private void run() throws Exception {
        BufferedReader plan =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = plan.readLine(); line != null; line = plan.readLine()) {
            String[] fields = line.split("\t", -1);
            try {
                if (execute(fields)) {
                    out.println("ok");
                }
            } catch (Exception | LinkageError problem) {
                problem.printStackTrace();
                Throwable cause = problem.getCause() == null ? problem : problem.getCause();
                out.println("error\t" + fields[0] + ": " + cause.toString().replace('\n', ' '));
            }
        }
        // Producers left open keep their transaction open: closing them would abort it.
        Runtime.getRuntime().halt(0);
    }

    private boolean execute(String[] fields) throws Exception {
        switch (fields[0]) {
            case "create":
                topics.create(fields[1], Integer.parseInt(fields[2]), settings(fields, 3));
                return true;
            case "alter":
                topics.alter(fields[1], settings(fields, 2));
                return true;
            case "producer":
                open(fields[1], settings(fields, 2));
                return true;
            case "send":
                pending.get(fields[1]).add(producers.get(fields[1]).send(record(fields)));
                return false;
            case "flush":
                flush(fields[1]);
                return true;
            case "begin":
                call(fields[1], "beginTransaction");
                return true;
            case "commit":
                call(fields[1], "commitTransaction");
                return true;
            case "abort":
                call(fields[1], "abortTransaction");
                return true;
            case "close":
                producers.remove(fields[1]).close();
                return true;
            case "fenced":
                fenced(fields[1]);
                return true;
            case "offsets":
                offsets(fields);
                return true;
            default:
                Command command = (Command)
                    Class.forName(fields[0]).getDeclaredConstructor().newInstance();
                command.execute(bootstrap, fields, out);
                return true;
        }
    }

    private void open(String id, Map<String, String> settings) throws Exception {
        Properties all = new Properties();
        all.put("bootstrap.servers", bootstrap);
        all.putAll(settings);
        producers.put(id,
            new KafkaProducer<>(all, new ByteArraySerializer(), new ByteArraySerializer()));
        pending.put(id, new ArrayList<>());
        if (settings.containsKey("transactional.id")) {
            call(id, "initTransactions");
        }
    }

    private void flush(String id) throws Exception {
        try {
            call(id, "flush");
        } catch (NoSuchMethodException before09) {
            // The batch then leaves when linger.ms is over, and get() waits for that.
        }
        for (Future<RecordMetadata> future : pending.get(id)) {
            RecordMetadata acknowledged = future.get();
            out.println(String.join("\t", "ack", acknowledged.topic(),
                String.valueOf(acknowledged.partition()), String.valueOf(acknowledged.offset()),
                timestamp(acknowledged)));
        }
        pending.get(id).clear();
    }

    /** Commits inside its transaction must fail: another producer has taken its transactional id. */
    private void fenced(String id) throws Exception {
        try {
            call(id, "commitTransaction");
        } catch (java.lang.reflect.InvocationTargetException expected) {
            String cause = String.valueOf(expected.getCause());
            if (cause.contains("ProducerFenced") || cause.contains("InvalidProducerEpoch")) {
                return;
            }
            throw expected;
        }
        throw new IllegalStateException(id + " was not fenced");
    }

    /** The last parameter is the group's name up to 3.x and an object since 2.5. */
    private void offsets(String[] fields) throws Exception {
        Map<Object, Object> offsets = new HashMap<>();
        offsets.put(
            Class.forName("org.apache.kafka.common.TopicPartition")
                .getConstructor(String.class, int.class)
                .newInstance(fields[2], Integer.parseInt(fields[3])),
            Class.forName("org.apache.kafka.clients.consumer.OffsetAndMetadata")
                .getConstructor(long.class).newInstance(Long.parseLong(fields[4])));
        KafkaProducer<byte[], byte[]> producer = producers.get(fields[1]);
        String method = "sendOffsetsToTransaction";
        try {
            KafkaProducer.class.getMethod(method, Map.class, String.class)
                .invoke(producer, offsets, fields[5]);
        } catch (NoSuchMethodException from4) {
            Class<?> type = Class.forName("org.apache.kafka.clients.consumer.ConsumerGroupMetadata");
            KafkaProducer.class.getMethod(method, Map.class, type).invoke(
                producer, offsets, type.getConstructor(String.class).newInstance(fields[5]));
        }
    }

    private void call(String id, String method) throws Exception {
        KafkaProducer.class.getMethod(method).invoke(producers.get(id));
    }

    private static String timestamp(RecordMetadata acknowledged) throws Exception {
        try {
            return String.valueOf(RecordMetadata.class.getMethod("timestamp").invoke(acknowledged));
        } catch (NoSuchMethodException before010) {
            return NULL;
        }
    }

    private static ProducerRecord<byte[], byte[]> record(String[] fields) throws Exception {
        String topic = fields[2];
        Integer partition = Integer.valueOf(fields[3]);
        Long timestamp = NULL.equals(fields[4]) ? null : Long.valueOf(fields[4]);
        byte[] key = bytes(fields[5]);
        byte[] value = bytes(fields[6]);
        if (fields.length > 7) {
            return build(
                new Class<?>[] {String.class, Integer.class, Long.class, Object.class, Object.class,
                    Iterable.class},
                topic, partition, timestamp, key, value, headers(fields));
        }
        if (timestamp != null) {
            return build(
                new Class<?>[] {String.class, Integer.class, Long.class, Object.class, Object.class},
                topic, partition, timestamp, key, value);
        }
        return new ProducerRecord<>(topic, partition, key, value);
    }

    @SuppressWarnings("unchecked")
    private static ProducerRecord<byte[], byte[]> build(Class<?>[] types, Object... values)
            throws Exception {
        return (ProducerRecord<byte[], byte[]>)
            ProducerRecord.class.getConstructor(types).newInstance(values);
    }

    private static List<Object> headers(String[] fields) throws Exception {
        Class<?> type = Class.forName("org.apache.kafka.common.header.internals.RecordHeader");
        List<Object> headers = new ArrayList<>();
        for (int field = 7; field < fields.length; field += 2) {
            String key = new String(bytes(fields[field]), StandardCharsets.UTF_8);
            headers.add(type.getConstructor(String.class, byte[].class)
                .newInstance(key, bytes(fields[field + 1])));
        }
        return headers;
    }

    private static byte[] bytes(String field) {
        return NULL.equals(field) ? null : Base64.getDecoder().decode(field);
    }

    /** The pairs from a field on. */
    static Map<String, String> settings(String[] fields, int from) {
        Map<String, String> settings = new LinkedHashMap<>();
        for (int field = from; field < fields.length; field++) {
            int equals = fields[field].indexOf('=');
            settings.put(fields[field].substring(0, equals), fields[field].substring(equals + 1));
        }
        return settings;
    }
}
