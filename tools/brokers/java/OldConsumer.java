import java.util.Map;
import kafka.api.FetchRequestBuilder;
import kafka.api.PartitionOffsetRequestInfo;
import kafka.common.TopicAndPartition;
import kafka.javaapi.FetchResponse;
import kafka.javaapi.OffsetRequest;
import kafka.javaapi.OffsetResponse;
import kafka.javaapi.consumer.SimpleConsumer;
import kafka.message.MessageAndOffset;

/** The commands {@code consume} and {@code seek} of Consumer for releases before 0.9, in Scala. */
final class OldConsumer extends Commands {
    private static final String NAME = "kafkaspec";
    private static final long EARLIEST = -2;
    private static final long LATEST = -1;
    private static final long PATIENCE_MS = 30_000;
    private static final int FETCHED = 1 << 20;
    private final SimpleConsumer consumer;

    OldConsumer() {
        String[] parts = arguments[0].split(":");
        consumer = new SimpleConsumer(parts[0], Integer.parseInt(parts[1]), 30_000, 1 << 16, NAME);
    }

    @Override
    void execute(String[] fields) throws Exception {
        String topic = fields[2];
        long start = border(topic, EARLIEST);
        long end = border(topic, LATEST);
        if (fields[1].equals("consume")) {
            answer(start, end);
            read(topic, start, end, Integer.MAX_VALUE);
            return;
        }
        for (int field = 3; field < fields.length; field++) {
            if (read(topic, Long.parseLong(fields[field]), end, 1) == 0) {
                answer("none");
            }
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
                    answer(message.offset(), -1, bytes(message.message().key()),
                        bytes(message.message().payload()));
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
                Map.of(new TopicAndPartition(topic, 0), new PartitionOffsetRequestInfo(time, 1)),
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
}
