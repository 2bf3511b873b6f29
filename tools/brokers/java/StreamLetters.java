import java.time.Duration;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.errors.LogAndContinueExceptionHandler;
import org.apache.kafka.streams.kstream.Consumed;

/** {@code topic letters state}: reads values of 8 bytes; others become dead letters (KIP-1034). */
final class StreamLetters extends Commands {
    private static final long TIMEOUT_S = 60;
    private static final long READING_MS = 15_000;

    @Override
    void execute(String[] fields) throws Exception {
        Properties properties = new Properties();
        properties.putAll(settings(fields, fields.length));
        properties.put("application.id", "letters");
        properties.put("state.dir", fields[3]);
        properties.put("commit.interval.ms", "200");
        properties.put("auto.offset.reset", "earliest");
        properties.put("errors.dead.letter.queue.topic.name", fields[2]);
        properties.put(
            "deserialization.exception.handler", LogAndContinueExceptionHandler.class.getName());
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(fields[1], Consumed.with(Serdes.ByteArray(), Serdes.Long()))
            .foreach((key, value) -> { });
        try (KafkaStreams streams = new KafkaStreams(builder.build(), properties)) {
            streams.start();
            Thread.sleep(READING_MS);
            streams.close(Duration.ofSeconds(TIMEOUT_S));
        }
    }
}
