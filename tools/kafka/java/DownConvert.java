import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.kafka.common.record.FileRecords;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.Records;
import org.apache.kafka.common.utils.Time;

/**
 * What a broker answers to an old consumer: FileRecords.downConvert of each case.
 *
 * Input: magic (1 byte), size (4 bytes), entries. Output: size and entries, or -1, size and the name
 * of an error.
 */
public final class DownConvert {
    public static void main(String[] args) throws Exception {
        Path path = Path.of(args[0]);
        DataInputStream in = new DataInputStream(new BufferedInputStream(System.in));
        DataOutputStream out = new DataOutputStream(System.out);
        for (int magic = in.read(); magic >= 0; magic = in.read()) {
            byte[] data = new byte[in.readInt()];
            in.readFully(data);
            Files.write(path, data);
            byte[] answer;
            try (FileRecords records = FileRecords.open(path.toFile())) {
                answer = bytes(records.downConvert((byte) magic, 0L, Time.SYSTEM).records(), data);
            } catch (Exception error) {
                out.writeInt(-1);
                answer = error.getClass().getSimpleName().getBytes(StandardCharsets.UTF_8);
            }
            out.writeInt(answer.length);
            out.write(answer);
        }
        out.flush();
    }

    private static byte[] bytes(Records records, byte[] original) {
        if (!(records instanceof MemoryRecords))
            return original; // nothing had to be converted
        ByteBuffer buffer = ((MemoryRecords) records).buffer().duplicate();
        byte[] data = new byte[buffer.remaining()];
        buffer.get(data);
        return data;
    }
}
