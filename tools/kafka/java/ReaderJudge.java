import java.io.BufferedInputStream;
import java.io.BufferedWriter;
import java.io.DataInputStream;
import java.io.File;
import java.io.IOException;
import java.io.OutputStreamWriter;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.security.MessageDigest;
import java.util.HexFormat;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.record.*;
import org.apache.kafka.common.record.internal.*;

/**
 * What Kafka's own readers make of bytes: of a file (FileRecords) and of a buffer (MemoryRecords).
 *
 * Standard input holds cases, each a size in four bytes and as many bytes; standard output gets one
 * JSON line a case. Batches before an error count, with a hash over what is in them.
 */
public final class ReaderJudge {
    private final MessageDigest digest;
    private int batches;
    private long records;
    private long end;
    private String hash;
    private Throwable failure;

    private ReaderJudge() throws Exception {
        digest = MessageDigest.getInstance("SHA-256");
    }

    public static void main(String[] arguments) throws Exception {
        File file = new File(arguments[0]);
        DataInputStream input = new DataInputStream(new BufferedInputStream(System.in, 1 << 16));
        BufferedWriter output =
            new BufferedWriter(new OutputStreamWriter(System.out, StandardCharsets.UTF_8), 1 << 16);
        int first;
        while ((first = input.read()) >= 0) {
            int size = first << 24 | input.readUnsignedByte() << 16 | input.readUnsignedShort();
            byte[] data = new byte[size];
            input.readFully(data);
            output.write("{\"file\": " + ofFile(file, data) + ", \"buffer\": " + ofBuffer(data) + "}\n");
        }
        output.flush();
    }

    private static String ofFile(File file, byte[] data) throws Exception {
        Files.write(file.toPath(), data);
        ReaderJudge judge = new ReaderJudge();
        try (FileRecords records = FileRecords.open(file)) {
            judge.read(records.batches());
        }
        return judge.verdict();
    }

    private static String ofBuffer(byte[] data) throws Exception {
        ReaderJudge judge = new ReaderJudge();
        judge.read(MemoryRecords.readableRecords(ByteBuffer.wrap(data)).batches());
        return judge.verdict();
    }

    private void read(Iterable<? extends RecordBatch> log) throws Exception {
        hash = hex(digest);
        try {
            for (RecordBatch batch : log) {
                MessageDigest soFar = (MessageDigest) digest.clone();
                batch.ensureValid();
                long count = 0;
                for (var record : batch) {  // java.lang has a Record too
                    record.ensureValid();
                    soFar.update(
                        ByteBuffer.allocate(16).putLong(record.offset()).putLong(record.timestamp()).array());
                    add(soFar, record.hasKey() ? record.key() : null);
                    add(soFar, record.hasValue() ? record.value() : null);
                    add(soFar, record.headers());
                    count++;
                }
                digest.reset();
                batches++;
                records += count;
                end += batch.sizeInBytes();
                hash = hex(soFar);
                chain();
            }
        } catch (Throwable error) {
            failure = error;
        }
    }

    /** The next batch goes on from the hash of all before it. */
    private void chain() {
        digest.update(hash.getBytes(StandardCharsets.US_ASCII));
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

    private static String hex(MessageDigest digest) throws CloneNotSupportedException {
        return HexFormat.of().formatHex(((MessageDigest) digest.clone()).digest());
    }

    private String verdict() {
        StringBuilder text = new StringBuilder();
        text.append("{\"batches\": ").append(batches).append(", \"records\": ").append(records);
        text.append(", \"end\": ").append(end).append(", \"hash\": \"").append(hash).append('"');
        if (failure != null) {
            Throwable root = failure;
            while (root.getCause() != null) {
                root = root.getCause();
            }
            text.append(", \"error\": ").append(quoted(failure.getClass().getSimpleName()));
            text.append(", \"message\": ").append(quoted(failure.getMessage()));
            text.append(", \"cause\": ").append(quoted(root.getClass().getSimpleName()));
            text.append(", \"cause_message\": ").append(quoted(root.getMessage()));
        }
        return text.append('}').toString();
    }

    private static String quoted(String text) {
        if (text == null) {
            return "\"\"";
        }
        StringBuilder out = new StringBuilder("\"");
        for (char each : text.toCharArray()) {
            if (each == '"' || each == '\\') {
                out.append('\\').append(each);
            } else if (each < ' ' || each > '~') {
                out.append(String.format("\\u%04x", (int) each));
            } else {
                out.append(each);
            }
        }
        return out.append('"').toString();
    }
}
