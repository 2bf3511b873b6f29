import java.io.File;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.security.MessageDigest;
import java.util.HexFormat;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.record.*;
import org.apache.kafka.common.record.internal.*;

/**
 * {@code log}: answers what Kafka's readers make of it, as a file (FileRecords) and as a buffer
 * (MemoryRecords): batches and records before an error, their end, a hash over the content of these
 * records, then class and message of the error and of its root.
 */
final class ReaderJudge extends Commands {
    private final File file = new File("case.log");

    @Override
    void execute(String[] fields) throws Exception {
        byte[] data = bytes(fields[1]);
        Files.write(file.toPath(), data);
        try (FileRecords records = FileRecords.open(file)) {
            read(records.batches());
        }
        read(MemoryRecords.readableRecords(ByteBuffer.wrap(data)).batches());
    }

    private static void read(Iterable<? extends RecordBatch> log) throws Exception {
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        int batches = 0;
        long records = 0;
        long end = 0;
        String hash = "";
        try {
            for (RecordBatch batch : log) {
                batch.ensureValid();
                digest.reset();
                digest.update(hash.getBytes(StandardCharsets.US_ASCII));
                long count = 0;
                for (var record : batch) {  // java.lang has a Record too
                    record.ensureValid();
                    digest.update(
                        ByteBuffer.allocate(16).putLong(record.offset()).putLong(record.timestamp()).array());
                    add(digest, record.hasKey() ? record.key() : null);
                    add(digest, record.hasValue() ? record.value() : null);
                    add(digest, record.headers());
                    count++;
                }
                batches++;
                records += count;
                end += batch.sizeInBytes();
                hash = HexFormat.of().formatHex(digest.digest());
            }
            answer(batches, records, end, hash, "", "", "", "");
        } catch (Throwable error) {
            Throwable root = root(error);
            answer(batches, records, end, hash, error.getClass().getSimpleName(), error.getMessage(),
                root.getClass().getSimpleName(), root.getMessage());
        }
    }

    private static void add(MessageDigest digest, Header[] headers) {
        digest.update(ByteBuffer.allocate(4).putInt(headers.length).array());
        for (Header header : headers) {
            add(digest, ByteBuffer.wrap(header.key().getBytes(StandardCharsets.UTF_8)));
            byte[] value = header.value();
            add(digest, value == null ? null : ByteBuffer.wrap(value));
        }
    }

    private static void add(MessageDigest digest, ByteBuffer data) {
        digest.update(ByteBuffer.allocate(4).putInt(data == null ? -1 : data.remaining()).array());
        if (data != null) {
            digest.update(data.duplicate());
        }
    }
}
