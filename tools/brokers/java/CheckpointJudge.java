import java.io.File;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.util.Map;
import java.util.Properties;
import java.util.TreeSet;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.metadata.properties.MetaProperties;
import org.apache.kafka.metadata.properties.PropertiesUtils;
import org.apache.kafka.raft.FileQuorumStateStore;
import org.apache.kafka.raft.generated.QuorumStateData;
import org.apache.kafka.storage.internals.checkpoint.CleanShutdownFileHandler;
import org.apache.kafka.storage.internals.checkpoint.LeaderEpochCheckpointFile;
import org.apache.kafka.storage.internals.checkpoint.OffsetCheckpointFile;
import org.apache.kafka.storage.internals.checkpoint.PartitionMetadata;
import org.apache.kafka.storage.internals.checkpoint.PartitionMetadataFile;
import org.apache.kafka.storage.internals.log.EpochEntry;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;

/**
 * {@code name content}: answers what Kafka's own reader makes of a text file of a log directory,
 * {@code read} and what it says, in bytes, or {@code refused} and the class of the error.
 */
final class CheckpointJudge extends Commands {
    private final File directory = new File("").getAbsoluteFile();
    private final LogDirFailureChannel failures = new LogDirFailureChannel(8);

    @Override
    void execute(String[] fields) throws Exception {
        File file = new File(directory, fields[1]);
        Files.write(file.toPath(), bytes(fields[2]));
        try {
            answer("read", read(fields[1], file).getBytes("UTF-8"));
        } catch (Exception | OutOfMemoryError error) {
            Throwable cause = error instanceof InvocationTargetException ? error.getCause() : error;
            answer("refused", cause.getClass().getName());
        } finally {
            Files.delete(file.toPath());
        }
    }

    private String read(String name, File file) throws Exception {
        switch (name) {
            case "leader-epoch-checkpoint":
                return epochs(file);
            case "partition.metadata":
                PartitionMetadata metadata = new PartitionMetadataFile(file, failures).read();
                return metadata.version() + " " + metadata.topicId();
            case "meta.properties":
                Properties properties = PropertiesUtils.readPropertiesFile(file.getPath());
                MetaProperties found = new MetaProperties.Builder(properties).build();
                return found.version().number() + "\n" + found.nodeId() + "\n"
                    + found.clusterId().map(id -> "'" + id + "'").orElse("") + "\n"
                    + found.directoryId().map(Object::toString).orElse("");
            case "quorum-state":
                return quorum(file);
            case ".kafka_cleanshutdown":
                return new CleanShutdownFileHandler(directory.getPath()).read().toString();
            default:
                return offsets(file);
        }
    }

    private String epochs(File file) throws Exception {
        StringBuilder text = new StringBuilder();
        for (EpochEntry entry : new LeaderEpochCheckpointFile(file, failures).read())
            text.append(entry.epoch()).append(' ').append(entry.startOffset()).append('\n');
        return text.toString();
    }

    private String offsets(File file) throws Exception {
        TreeSet<String> lines = new TreeSet<>();
        Map<TopicPartition, Long> found = new OffsetCheckpointFile(file, failures).read();
        found.forEach((at, offset) -> lines.add(at.topic() + " " + at.partition() + " " + offset));
        return String.join("\n", lines);
    }

    private static String quorum(File file) throws Exception {
        Method read = FileQuorumStateStore.class.getDeclaredMethod("readStateFromFile", File.class);
        read.setAccessible(true);
        QuorumStateData data = (QuorumStateData) read.invoke(new FileQuorumStateStore(file), file);
        StringBuilder voters = new StringBuilder();
        if (data.currentVoters() == null)
            voters.append("null");
        else
            data.currentVoters().forEach(voter -> voters.append(voter.voterId()).append(' '));
        return data.leaderId() + " " + data.leaderEpoch() + " " + data.votedId() + " "
            + data.votedDirectoryId() + " " + data.appliedOffset() + " " + voters + "\n"
            + data.clusterId();
    }
}
