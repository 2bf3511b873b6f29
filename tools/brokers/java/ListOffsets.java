import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;

/**
 * {@code topic isolation timestamp}, or {@code max} for a timestamp: answers offset and timestamp
 * from the broker's ListOffsets for partition 0.
 */
final class ListOffsets extends Commands {
    private static final long PATIENCE_SECONDS = 60;
    private final Admin admin = Admin.create(settings(arguments, arguments.length));

    @Override
    void execute(String[] fields) throws Exception {
        TopicPartition partition = new TopicPartition(fields[1], 0);
        IsolationLevel isolation = IsolationLevel.valueOf(fields[2].toUpperCase(Locale.ROOT));
        OffsetSpec wanted = fields[3].equals("max")
            ? OffsetSpec.maxTimestamp()
            : OffsetSpec.forTimestamp(Long.parseLong(fields[3]));
        ListOffsetsResultInfo found =
            admin.listOffsets(Map.of(partition, wanted), new ListOffsetsOptions(isolation))
                .partitionResult(partition)
                .get(PATIENCE_SECONDS, TimeUnit.SECONDS);
        answer(found.offset(), found.timestamp());
    }
}
