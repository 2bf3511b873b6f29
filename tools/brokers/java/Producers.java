import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Producers, each with an id.
 *
 * <pre>
 * open id name=value...
 * send id topic partition timestamp key value [header-key header-value]...
 * flush id        answers topic, partition, offset and timestamp of each record, in order
 * fenced id       commits its transaction, which must fail
 * offsets id topic partition offset group
 * METHOD id       calls a method of the producer without arguments, such as commitTransaction
 * </pre>
 */
final class Producers extends Commands {
    private final Map<String, KafkaProducer<byte[], byte[]>> producers = new HashMap<>();
    private final Map<String, List<Future<RecordMetadata>>> pending = new HashMap<>();

    @Override
    void execute(String[] fields) throws Exception {
        String id = fields[2];
        switch (fields[1]) {
            case "open" -> open(id, settings(fields, 3));
            case "send" -> pending.get(id).add(producers.get(id).send(record(fields)));
            case "flush" -> flush(id);
            case "fenced" -> fenced(id);
            case "offsets" -> offsets(fields);
            default -> call(producers.get(id), fields[1]);
        }
    }

    private void open(String id, Map<String, Object> settings) throws Exception {
        producers.put(id,
            new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer()));
        pending.put(id, new ArrayList<>());
        if (settings.containsKey("transactional.id")) {
            call(producers.get(id), "initTransactions");
        }
    }

    private void flush(String id) throws Exception {
        try {
            call(producers.get(id), "flush");
        } catch (NoSuchMethodException before09) {
            // The batch then leaves when linger.ms is over, and get() waits for that.
        }
        for (Future<RecordMetadata> future : pending.get(id)) {
            RecordMetadata acknowledged = future.get();
            answer(acknowledged.topic(), acknowledged.partition(), acknowledged.offset(),
                timestamp(acknowledged));
        }
        pending.get(id).clear();
    }

    private static Object timestamp(RecordMetadata acknowledged) throws Exception {
        try {
            return call(acknowledged, "timestamp");
        } catch (NoSuchMethodException before010) {
            return null;
        }
    }

    /** Another producer has taken the transactional id. */
    private void fenced(String id) throws Exception {
        try {
            call(producers.get(id), "commitTransaction");
        } catch (Exception error) {
            String text = error.toString();
            if (text.contains("ProducerFenced") || text.contains("InvalidProducerEpoch")) {
                return;
            }
            throw error;
        }
        throw new IllegalStateException(id + " was not fenced");
    }

    /** The last parameter is the group's name up to 3.x and an object since 2.5. */
    private void offsets(String[] fields) throws Exception {
        String clients = "org.apache.kafka.clients.consumer.";
        Map<Object, Object> offsets = Map.of(
            make("org.apache.kafka.common.TopicPartition", fields[3], Integer.valueOf(fields[4])),
            make(clients + "OffsetAndMetadata", Long.valueOf(fields[5])));
        KafkaProducer<byte[], byte[]> producer = producers.get(fields[2]);
        try {
            call(producer, "sendOffsetsToTransaction", offsets, fields[6]);
        } catch (NoSuchMethodException from4) {
            Object group = make(clients + "ConsumerGroupMetadata", fields[6]);
            call(producer, "sendOffsetsToTransaction", offsets, group);
        }
    }

    /** Headers are new in 0.11, timestamps in 0.10. */
    @SuppressWarnings("unchecked")
    private static ProducerRecord<byte[], byte[]> record(String[] fields) throws Exception {
        Integer partition = Integer.valueOf(fields[4]);
        byte[] key = bytes(fields[6]);
        byte[] value = bytes(fields[7]);
        if (fields[5].equals("-")) {
            return new ProducerRecord<>(fields[3], partition, key, value);
        }
        Object[] values =
            {fields[3], partition, Long.valueOf(fields[5]), key, value, headers(fields)};
        String type = ProducerRecord.class.getName();
        try {
            return (ProducerRecord<byte[], byte[]>) make(type, values);
        } catch (NoSuchMethodException before011) {
            return (ProducerRecord<byte[], byte[]>) make(type, Arrays.copyOf(values, 5));
        }
    }

    private static List<Object> headers(String[] fields) throws Exception {
        List<Object> headers = new ArrayList<>();
        for (int field = 8; field < fields.length; field += 2) {
            headers.add(make("org.apache.kafka.common.header.internals.RecordHeader",
                new String(bytes(fields[field]), "UTF-8"), bytes(fields[field + 1])));
        }
        return headers;
    }
}
