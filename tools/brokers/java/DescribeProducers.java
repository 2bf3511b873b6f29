import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ProducerState;
import org.apache.kafka.common.TopicPartition;

/**
 * {@code topic}: answers id, epoch, last sequence, last timestamp, and first offset of the open
 * transaction or -1, of each producer that the leader of partition 0 knows.
 */
final class DescribeProducers extends Commands {
    private static final long PATIENCE_SECONDS = 60;
    private final Admin admin = Admin.create(settings(arguments, arguments.length));

    @Override
    void execute(String[] fields) throws Exception {
        TopicPartition partition = new TopicPartition(fields[1], 0);
        for (ProducerState state : admin.describeProducers(List.of(partition))
                .partitionResult(partition)
                .get(PATIENCE_SECONDS, TimeUnit.SECONDS)
                .activeProducers()) {
            answer(state.producerId(), state.producerEpoch(), state.lastSequence(),
                state.lastTimestamp(), state.currentTransactionStartOffset().orElse(-1));
        }
    }
}
