import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/**
 * {@code log index.interval.bytes index...}: answers what a broker's loader makes of a partition
 * after a crash. The log is its only segment; its indexes with these extensions are there, and empty.
 *
 * <p>The answer is {@code refused}, class and message, or {@code loaded} and the log end offset, then
 * name, size and content of each file that is left; of a log no content.
 */
final class LoaderJudge extends Commands {
    private static final int DAY_MS = 86_400_000;
    private final File directory = new File("t-0").getAbsoluteFile();
    private final KafkaScheduler scheduler = new KafkaScheduler(1);
    private final BrokerTopicStats stats = new BrokerTopicStats();

    @Override
    void execute(String[] fields) throws Exception {
        directory.mkdirs();
        for (File file : directory.listFiles()) {
            file.delete();
        }
        Files.write(path("log"), bytes(fields[1]));
        for (String index : Arrays.asList(fields).subList(3, fields.length)) {
            Files.createFile(path(index));
        }
        try {
            answer("loaded", load(fields[2]));
        } catch (Throwable error) {
            Throwable root = root(error);
            answer("refused", root.getClass().getSimpleName(), root.getMessage());
            return;
        }
        for (File file : directory.listFiles()) {
            boolean log = file.getName().endsWith(".log");
            answer(file.getName(), file.length(), log ? null : Files.readAllBytes(file.toPath()));
        }
    }

    private long load(String interval) throws Exception {
        LogConfig config = new LogConfig(Map.of(
            "index.interval.bytes", interval, "segment.index.bytes", "4096", "retention.ms", "-1"));
        UnifiedLog log = UnifiedLog.create(
            directory, config, 0L, 0L, scheduler, stats, Time.SYSTEM, DAY_MS,
            new ProducerStateManagerConfig(DAY_MS, false), DAY_MS,
            new LogDirFailureChannel(1), false, Optional.empty());
        long end = log.logEndOffset();
        log.close();
        return end;
    }

    private Path path(String extension) {
        return directory.toPath().resolve(String.format("%020d.%s", 0, extension));
    }
}
