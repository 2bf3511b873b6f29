import java.util.Map;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.common.TopicPartition;

/** {@code topic partition before}: raises the log start offset. */
final class DeleteRecords extends Commands {
    @Override
    void execute(String[] fields) throws Exception {
        TopicPartition partition = new TopicPartition(fields[1], Integer.parseInt(fields[2]));
        RecordsToDelete before = RecordsToDelete.beforeOffset(Long.parseLong(fields[3]));
        try (AdminClient admin = AdminClient.create(settings(fields, fields.length))) {
            admin.deleteRecords(Map.of(partition, before)).all().get();
        }
    }
}
