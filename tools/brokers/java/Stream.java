import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;

/** {@code topic group state}: a streams group (KIP-1071) that counts the records of a topic. */
final class Stream extends Commands {
    private static final long TIMEOUT_S = 60;

    @Override
    void execute(String[] fields) throws Exception {
        Map<String, Object> settings = settings(fields, fields.length);
        try (Admin admin = Admin.create(settings)) {
            AdminTopics.set(admin, ConfigResource.Type.GROUP, fields[2],
                Map.of("streams.session.timeout.ms", "45000"));
        }
        Properties properties = new Properties();
        properties.putAll(settings);
        properties.put("application.id", fields[2]);
        properties.put("group.protocol", "streams");
        properties.put("state.dir", fields[3]);
        properties.put("commit.interval.ms", "200");
        properties.put("auto.offset.reset", "earliest");
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(fields[1], Consumed.with(Serdes.ByteArray(), Serdes.ByteArray()))
            .groupBy((key, value) -> "all", Grouped.with(Serdes.String(), Serdes.ByteArray()))
            .count();
        CountDownLatch running = new CountDownLatch(1);
        try (KafkaStreams streams = new KafkaStreams(builder.build(), properties)) {
            streams.setStateListener((state, before) -> {
                if (state == KafkaStreams.State.RUNNING) {
                    running.countDown();
                }
            });
            streams.start();
            if (!running.await(TIMEOUT_S, TimeUnit.SECONDS)) {
                throw new IllegalStateException("the streams group is not running");
            }
            Thread.sleep(3000);  // a few commits
            streams.close(Duration.ofSeconds(TIMEOUT_S));
        }
    }
}
