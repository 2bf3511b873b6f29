import java.io.BufferedInputStream;
import java.io.BufferedWriter;
import java.io.DataInputStream;
import java.io.File;
import java.io.OutputStreamWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/**
 * What a broker's own loader makes of a log after a crash: where it cuts, which indexes it builds.
 *
 * Standard input holds cases, each a size in four bytes and as many bytes, the content of the only
 * segment of a partition. Standard output gets a line a case: {@code error class message}, or
 * {@code loaded}, the log end offset, and names and content (hexadecimal) of the files that are left;
 * of logs only their sizes. Arguments: a directory for the partition, index.interval.bytes, and the
 * endings of the indexes that lie there, empty, beforehand.
 */
public final class LoaderJudge {
    private static final int DAY_MS = 86_400_000;

    public static void main(String[] arguments) throws Exception {
        File directory = new File(arguments[0]);
        List<String> indexes = List.of(arguments).subList(2, arguments.length);
        LogConfig config = new LogConfig(Map.of(
            "index.interval.bytes", arguments[1], "segment.index.bytes", "4096",
            "retention.ms", "-1"));
        KafkaScheduler scheduler = new KafkaScheduler(1);
        BrokerTopicStats stats = new BrokerTopicStats();
        DataInputStream input = new DataInputStream(new BufferedInputStream(System.in, 1 << 16));
        BufferedWriter output =
            new BufferedWriter(new OutputStreamWriter(System.out, StandardCharsets.UTF_8), 1 << 16);
        int first;
        while ((first = input.read()) >= 0) {
            int size = first << 24 | input.readUnsignedByte() << 16 | input.readUnsignedShort();
            byte[] data = new byte[size];
            input.readFully(data);
            clear(directory);
            directory.mkdirs();
            Files.write(file(directory, "log"), data);
            for (String index : indexes) {
                Files.write(file(directory, index), new byte[0]);
            }
            output.write(load(directory, config, scheduler, stats) + "\n");
        }
        output.flush();
        Runtime.getRuntime().halt(0);
    }

    private static String load(
            File directory, LogConfig config, KafkaScheduler scheduler, BrokerTopicStats stats)
            throws Exception {
        long end;
        try {
            UnifiedLog log = UnifiedLog.create(
                directory, config, 0L, 0L, scheduler, stats, Time.SYSTEM, DAY_MS,
                new ProducerStateManagerConfig(DAY_MS, false), DAY_MS,
                new LogDirFailureChannel(1), false, Optional.empty());
            end = log.logEndOffset();
            log.close();
        } catch (Throwable error) {
            Throwable root = error;
            while (root.getCause() != null) {
                root = root.getCause();
            }
            return "error\t" + root.getClass().getSimpleName() + "\t"
                + String.valueOf(root.getMessage()).replaceAll("\\s+", " ");
        }
        StringBuilder text = new StringBuilder("loaded\t" + end);
        Map<String, File> files = new TreeMap<>();
        for (File file : directory.listFiles()) {
            files.put(file.getName(), file);
        }
        for (Map.Entry<String, File> entry : files.entrySet()) {
            byte[] content = Files.readAllBytes(entry.getValue().toPath());
            boolean log = entry.getKey().endsWith(".log");
            text.append('\t').append(entry.getKey()).append('\t').append(
                log ? String.valueOf(content.length) : HexFormat.of().formatHex(content));
        }
        return text.toString();
    }

    private static Path file(File directory, String ending) {
        return new File(directory, String.format("%020d.%s", 0, ending)).toPath();
    }

    private static void clear(File directory) {
        File[] files = directory.listFiles();
        if (files != null) {
            for (File file : files) {
                file.delete();
            }
        }
    }
}
