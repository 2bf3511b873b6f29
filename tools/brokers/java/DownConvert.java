import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.kafka.common.record.FileRecords;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.Records;
import org.apache.kafka.common.utils.Time;

/**
 * {@code magic entries}: answers what a broker sends to an old consumer, {@code converted} and
 * entries, or {@code refused} and the class of an error.
 */
final class DownConvert extends Commands {
    private final Path path = Path.of("case.log");

    @Override
    void execute(String[] fields) throws Exception {
        byte[] data = bytes(fields[2]);
        Files.write(path, data);
        try (FileRecords records = FileRecords.open(path.toFile())) {
            Records made =
                records.downConvert(Byte.parseByte(fields[1]), 0L, Time.SYSTEM).records();
            boolean converted = made instanceof MemoryRecords;
            answer("converted", converted ? bytes(((MemoryRecords) made).buffer()) : data);
        } catch (Exception error) {
            answer("refused", error.getClass().getSimpleName());
        }
    }
}
