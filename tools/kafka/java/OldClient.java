import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.Properties;
import kafka.api.FetchRequestBuilder;
import kafka.api.PartitionOffsetRequestInfo;
import kafka.common.TopicAndPartition;
import kafka.javaapi.FetchResponse;
import kafka.javaapi.OffsetRequest;
import kafka.javaapi.OffsetResponse;
import kafka.javaapi.consumer.SimpleConsumer;
import kafka.message.MessageAndOffset;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** The same commands for releases before 0.9, whose only consumers are in Scala: see Client. */
public final class OldClient {
    private static final String NAME = "kafkaspec";
    private static final long EARLIEST = -2;
    private static final long LATEST = -1;
    private static final long PATIENCE_MS = 30_000;
    private static final int FETCHED = 1 << 20;
    private final SimpleConsumer consumer;
    private final String bootstrap;
    private final Answers answers;

    private OldClient(String bootstrap, Answers answers) {
        String[] parts = bootstrap.split(":");
        this.bootstrap = bootstrap;
        this.answers = answers;
        consumer = new SimpleConsumer(parts[0], Integer.parseInt(parts[1]), 30_000, 1 << 16, NAME);
    }

    public static void main(String[] arguments) throws Exception {
        OldClient client = new OldClient(arguments[0], new Answers());
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
        String topic = fields[1];
        long start = border(topic, EARLIEST);
        long end = border(topic, LATEST);
        switch (fields[0]) {
            case "consume":
                answers.line("start", start);
                answers.line("end", end);
                read(topic, start, end, Integer.MAX_VALUE);
                break;
            case "seek":
                for (int field = 2; field < fields.length; field++) {
                    if (read(topic, Long.parseLong(fields[field]), end, 1) == 0) {
                        answers.line("none");
                    }
                }
                break;
            case "append":
                append(topic);
                break;
            default:
                throw new IllegalArgumentException(fields[0]);
        }
    }

    private int read(String topic, long offset, long end, int most) throws Exception {
        int count = 0;
        while (offset < end) {
            FetchResponse response = consumer.fetch(
                new FetchRequestBuilder().clientId(NAME).addFetch(topic, 0, offset, FETCHED).build());
            if (response.hasError()) {
                throw new IllegalStateException("fetch error " + response.errorCode(topic, 0));
            }
            long before = offset;
            for (MessageAndOffset message : response.messageSet(topic, 0)) {
                if (message.offset() < offset) {
                    continue;  // the front of a compressed set
                }
                if (count++ < most) {
                    message.message().ensureValid();
                    answers.record(message.offset(), -1, bytes(message.message().key()),
                        bytes(message.message().payload()), new byte[0][]);
                }
                offset = message.nextOffset();
            }
            if (count >= most || offset == before) {
                break;
            }
        }
        return count;
    }

    /** A broker that has just started leads nothing yet, and answers without offsets. */
    private long border(String topic, long time) throws Exception {
        long deadline = System.currentTimeMillis() + PATIENCE_MS;
        while (true) {
            OffsetResponse response = consumer.getOffsetsBefore(new OffsetRequest(
                Collections.singletonMap(
                    new TopicAndPartition(topic, 0), new PartitionOffsetRequestInfo(time, 1)),
                kafka.api.OffsetRequest.CurrentVersion(), NAME));
            if (!response.hasError() && response.offsets(topic, 0).length > 0) {
                return response.offsets(topic, 0)[0];
            }
            if (System.currentTimeMillis() > deadline) {
                throw new IllegalStateException("no offsets: " + response.errorCode(topic, 0));
            }
            Thread.sleep(50);
        }
    }

    private void append(String topic) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        try (KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
            byte[] data = Answers.utf8("appended");
            answers.line("offset",
                producer.send(new ProducerRecord<byte[], byte[]>(topic, 0, data, data)).get().offset());
        }
    }

    private static byte[] bytes(ByteBuffer buffer) {
        if (buffer == null) {
            return null;
        }
        byte[] data = new byte[buffer.remaining()];
        buffer.duplicate().get(data);
        return data;
    }
}
