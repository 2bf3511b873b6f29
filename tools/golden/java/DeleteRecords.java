import java.io.PrintStream;
import java.util.Collections;
import java.util.Properties;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.common.TopicPartition;

/** {@code DeleteRecords topic partition before}: raises the log start offset. */
final class DeleteRecords implements Command {
    @Override
    public void execute(String bootstrap, String[] fields, PrintStream out) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        TopicPartition partition = new TopicPartition(fields[1], Integer.parseInt(fields[2]));
        RecordsToDelete before = RecordsToDelete.beforeOffset(Long.parseLong(fields[3]));
        try (AdminClient admin = AdminClient.create(settings)) {
            admin.deleteRecords(Collections.singletonMap(partition, before)).all().get();
        }
    }
}
