import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.record.FileRecords;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.server.log.remote.storage.LogSegmentData;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentId;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;

/** Copies segments to remote storage: settings as NAME=VALUE, --, directories of partitions. */
public class WriteTier {
    public static void main(String[] arguments) throws Exception {
        Map<String, String> settings = new HashMap<>();
        int at = 0;
        for (; !arguments[at].equals("--"); at++) {
            String[] pair = arguments[at].split("=", 2);
            settings.put(pair[0], pair[1]);
        }
        var storage = new io.aiven.kafka.tieredstorage.RemoteStorageManager();
        storage.configure(settings);
        for (at++; at < arguments.length; at++) {
            partition(storage, Path.of(arguments[at]));
        }
        storage.close();
    }

    static void partition(io.aiven.kafka.tieredstorage.RemoteStorageManager storage, Path folder)
            throws Exception {
        String name = folder.getFileName().toString();
        int dash = name.lastIndexOf('-');
        var place = new TopicPartition(name.substring(0, dash), Integer.parseInt(name.substring(dash + 1)));
        Uuid topic = null;
        for (String line : Files.readAllLines(folder.resolve("partition.metadata"))) {
            if (line.startsWith("topic_id: ")) {
                topic = Uuid.fromString(line.substring(10));
            }
        }
        List<Path> logs = new ArrayList<>();
        try (var found = Files.newDirectoryStream(folder, "*.log")) {
            found.forEach(logs::add);
        }
        Collections.sort(logs);
        for (Path log : logs) {
            String stem = log.getFileName().toString().replace(".log", "");
            long start = Long.parseLong(stem);
            long end = start;
            long time = -1;
            Map<Integer, Long> epochs = new TreeMap<>();
            for (RecordBatch batch : FileRecords.open(log.toFile(), false).batches()) {
                end = batch.lastOffset();
                time = Math.max(time, batch.maxTimestamp());
                epochs.putIfAbsent(batch.partitionLeaderEpoch(), epochs.isEmpty() ? start : batch.baseOffset());
            }
            Path transactions = folder.resolve(stem + ".txnindex");
            var metadata = new RemoteLogSegmentMetadata(
                new RemoteLogSegmentId(new TopicIdPartition(topic, place), Uuid.randomUuid()),
                start, end, time, 1, time + 1, (int) Files.size(log), epochs);
            storage.copyLogSegmentData(metadata, new LogSegmentData(
                log, folder.resolve(stem + ".index"), folder.resolve(stem + ".timeindex"),
                Files.exists(transactions) ? Optional.of(transactions) : Optional.empty(),
                folder.resolve(String.format("%020d.snapshot", end + 1)),
                ByteBuffer.wrap(Files.readAllBytes(folder.resolve("leader-epoch-checkpoint")))));
            byte[] back = storage.fetchLogSegment(metadata, 0).readAllBytes();
            if (!Arrays.equals(back, Files.readAllBytes(log))) {
                throw new IllegalStateException("the plugin reads other bytes: " + log);
            }
        }
    }
}
