import java.io.File;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/**
 * {@code index.interval.bytes stop (name content)...}: answers what a broker's loader makes of a
 * partition directory with these files, after a stop that was {@code clean} or not.
 *
 * <p>The answer is {@code refused}, class and message, or {@code loaded} and the log end offset; ids
 * of producers; then name, size and content of each file that is left; of a log no content.
 *
 * <p>The clock stands still, so that no producer expires.
 */
final class LoaderJudge extends Commands {
    private static final int DAY_MS = 86_400_000;
    private static final int FIRST_FILE = 3;
    private final File directory = new File("t-0").getAbsoluteFile();
    private final KafkaScheduler scheduler = new KafkaScheduler(1);
    private final BrokerTopicStats stats = new BrokerTopicStats();
    private final Time clock = (Time) Proxy.newProxyInstance(
        Time.class.getClassLoader(), new Class<?>[] {Time.class}, (proxy, method, arguments) -> {
            if (method.getName().equals("milliseconds")) {
                return 0L;
            }
            try {
                return method.invoke(Time.SYSTEM, arguments);
            } catch (InvocationTargetException error) {
                throw error.getCause();
            }
        });

    @Override
    void execute(String[] fields) throws Exception {
        directory.mkdirs();
        for (File file : directory.listFiles()) {
            file.delete();
        }
        for (int field = FIRST_FILE; field < fields.length; field += 2) {
            File file = new File(directory, fields[field]);
            Files.write(file.toPath(), bytes(fields[field + 1]));
        }
        try {
            load(fields[1], fields[2].equals("clean"));
        } catch (Throwable error) {
            Throwable root = root(error);
            answer("refused", root.getClass().getSimpleName(), root.getMessage());
            answer("producers");
            return;
        }
        File[] files = directory.listFiles();
        Arrays.sort(files);
        for (File file : files) {
            boolean log = file.getName().endsWith(".log");
            answer(file.getName(), file.length(), log ? null : Files.readAllBytes(file.toPath()));
        }
    }

    private void load(String interval, boolean clean) throws Exception {
        LogConfig config = new LogConfig(Map.of(
            "index.interval.bytes", interval, "segment.index.bytes", "4096", "retention.ms", "-1"));
        UnifiedLog log = UnifiedLog.create(
            directory, config, 0L, 0L, scheduler, stats, clock, DAY_MS,
            new ProducerStateManagerConfig(DAY_MS, false), DAY_MS,
            new LogDirFailureChannel(1), clean, Optional.empty());
        long end = log.logEndOffset();
        TreeSet<Long> producers = new TreeSet<>(log.activeProducersWithLastSequence().keySet());
        log.close();
        answer("loaded", end);
        Object[] ids = producers.toArray();
        Object[] answer = Arrays.copyOf(new Object[] {"producers"}, ids.length + 1);
        System.arraycopy(ids, 0, answer, 1, ids.length);
        answer(answer);
    }
}
