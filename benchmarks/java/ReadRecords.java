import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.common.record.internal.FileRecords;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.CloseableIterator;

/**
 * Reads segments with Kafka's own classes, as often as it is asked to.
 *
 * A line on standard input is "file PATH" (FileRecords) or "memory PATH" (MemoryRecords); the
 * answer is the CPU time of the reading thread in nanoseconds, the number of records, and a sum of
 * what was touched: offset, timestamp, and of key and value the size and the first byte. Checksums
 * are verified. The JVM gets warm with the first passes; it should see one kind of reader and of
 * compression only, as the compiler makes the most of that.
 */
public final class ReadRecords {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final BufferSupplier BUFFERS = BufferSupplier.create();

    private long records;
    private long sum;

    public static void main(String[] arguments) throws Exception {
        BufferedReader input =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Map<String, ByteBuffer> loaded = new HashMap<>();
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ", 2);
            ReadRecords pass = new ReadRecords();
            long nanos;
            if (words[0].equals("file")) {
                long before = THREADS.getCurrentThreadCpuTime();
                try (FileRecords file = FileRecords.open(new File(words[1]), false)) {
                    pass.readAll(file.batches());
                }
                nanos = THREADS.getCurrentThreadCpuTime() - before;
            } else {
                ByteBuffer bytes = loaded.get(words[1]);
                if (bytes == null) {
                    loaded.clear();
                    bytes = ByteBuffer.wrap(Files.readAllBytes(Path.of(words[1])));
                    loaded.put(words[1], bytes);
                }
                long before = THREADS.getCurrentThreadCpuTime();
                pass.readAll(MemoryRecords.readableRecords(bytes.duplicate()).batches());
                nanos = THREADS.getCurrentThreadCpuTime() - before;
            }
            System.out.println(nanos + " " + pass.records + " " + pass.sum);
            System.out.flush();
        }
    }

    private void readAll(Iterable<? extends RecordBatch> batches) {
        for (RecordBatch batch : batches) {
            batch.ensureValid();
            try (CloseableIterator<Record> iterator = batch.streamingIterator(BUFFERS)) {
                while (iterator.hasNext()) {
                    touch(iterator.next());
                }
            }
        }
    }

    private void touch(Record record) {
        records += 1;
        sum += record.offset() + record.timestamp();
        ByteBuffer key = record.key();
        if (key != null) {
            sum += key.remaining() + (key.hasRemaining() ? key.get(key.position()) : 0);
        }
        ByteBuffer value = record.value();
        if (value != null) {
            sum += value.remaining() + (value.hasRemaining() ? value.get(value.position()) : 0);
        }
    }
}
