import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.LongDeserializer;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.core.DefaultKafkaProducerFactory;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.DeadLetterPublishingRecoverer;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.kafka.listener.KafkaMessageListenerContainer;
import org.springframework.kafka.listener.MessageListener;
import org.springframework.kafka.support.serializer.ErrorHandlingDeserializer;
import org.springframework.util.backoff.FixedBackOff;

/**
 * {@code broker topic records refused listened read}: two containers of Spring read a topic, and
 * publish what they cannot process.
 *
 * <p>The listener of the first one fails for {@code refused} records, those with a broken value;
 * the second one reads keys of 8 bytes, which none has.
 */
final class SpringLetters {
    private static final long TIMEOUT_S = 60;
    private static String broker;

    public static void main(String[] fields) {
        try {
            execute(fields);
            System.exit(0);
        } catch (Throwable problem) {
            problem.printStackTrace();
            System.exit(1);
        }
    }

    private static void execute(String[] fields) throws Exception {
        broker = fields[0];
        String topic = fields[1];
        int records = Integer.parseInt(fields[2]);
        int refused = Integer.parseInt(fields[3]);
        KafkaTemplate<Object, Object> template = new KafkaTemplate<>(
            new DefaultKafkaProducerFactory<>(Map.of(
                "bootstrap.servers", broker,
                "key.serializer", ByteArraySerializer.class,
                "value.serializer", ByteArraySerializer.class)));
        MessageListener<byte[], byte[]> listener = record -> {
            if (new String(record.value()).startsWith("{broken")) {
                throw new IllegalStateException("offset " + record.offset() + " is broken");
            }
        };
        run(template, topic, fields[4], refused, settings("listeners"), listener);
        Map<String, Object> settings = settings("readers");
        settings.put("key.deserializer", ErrorHandlingDeserializer.class);
        settings.put("spring.deserializer.key.delegate.class", LongDeserializer.class);
        MessageListener<Long, byte[]> reader = record -> { };
        run(template, topic, fields[5], records, settings, reader);
        template.destroy();
    }

    private static Map<String, Object> settings(String group) {
        return new HashMap<>(Map.of(
            "bootstrap.servers", broker, "group.id", group, "auto.offset.reset", "earliest",
            "key.deserializer", ByteArrayDeserializer.class,
            "value.deserializer", ByteArrayDeserializer.class));
    }

    /** Runs a container until so many records became letters. */
    private static <K, V> void run(
            KafkaTemplate<Object, Object> template, String topic, String letters, int wanted,
            Map<String, Object> settings, MessageListener<K, V> listener) throws Exception {
        CountDownLatch left = new CountDownLatch(wanted);
        DeadLetterPublishingRecoverer recoverer = new DeadLetterPublishingRecoverer(
                template, (record, exception) -> new TopicPartition(letters, 0)) {
            @Override
            public void accept(
                    ConsumerRecord<?, ?> record, Consumer<?, ?> consumer, Exception exception) {
                super.accept(record, consumer, exception);
                left.countDown();
            }
        };
        DefaultErrorHandler handler = new DefaultErrorHandler(recoverer, new FixedBackOff(0, 0));
        ContainerProperties properties = new ContainerProperties(topic);
        properties.setMessageListener(listener);
        KafkaMessageListenerContainer<K, V> container = new KafkaMessageListenerContainer<>(
            new DefaultKafkaConsumerFactory<>(settings), properties);
        container.setCommonErrorHandler(handler);
        container.start();
        if (!left.await(TIMEOUT_S, TimeUnit.SECONDS)) {
            throw new IllegalStateException(left.getCount() + " records did not become letters");
        }
        container.stop();
    }
}
