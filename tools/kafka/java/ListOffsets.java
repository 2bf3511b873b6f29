import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;

/**
 * What a broker answers to ListOffsets.
 *
 * Standard input holds questions about partition 0, fields parted by tabs: topic, isolation level,
 * and a timestamp or "max". Standard output gets a line each: offset and timestamp.
 */
public final class ListOffsets {
    private static final long PATIENCE_SECONDS = 60;

    private ListOffsets() {}

    public static void main(String[] arguments) throws Exception {
        Answers answers = new Answers();
        BufferedReader questions =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", arguments[0]))) {
            for (String line = questions.readLine(); line != null; line = questions.readLine()) {
                String[] fields = line.split("\t");
                TopicPartition partition = new TopicPartition(fields[0], 0);
                IsolationLevel isolation = IsolationLevel.valueOf(fields[1].toUpperCase());
                OffsetSpec wanted = fields[2].equals("max")
                    ? OffsetSpec.maxTimestamp()
                    : OffsetSpec.forTimestamp(Long.parseLong(fields[2]));
                ListOffsetsResultInfo found =
                    admin.listOffsets(Map.of(partition, wanted), new ListOffsetsOptions(isolation))
                        .partitionResult(partition)
                        .get(PATIENCE_SECONDS, TimeUnit.SECONDS);
                answers.line(found.offset(), found.timestamp());
            }
        }
    }
}
