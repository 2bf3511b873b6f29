import java.io.BufferedInputStream;
import java.io.BufferedWriter;
import java.io.DataInputStream;
import java.io.File;
import java.io.OutputStreamWriter;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.Base64;
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
 * What Kafka's own readers make of the text files of a log directory.
 *
 * Standard input holds cases: the name of the file (size in one byte, and as many bytes) and its
 * content (size in four bytes, and as many bytes). Standard output gets one line a case: "+" and
 * what was read, in base64, or "-" and the class of the error.
 */
public final class CheckpointJudge {
    private final File directory;
    private final LogDirFailureChannel failures = new LogDirFailureChannel(8);

    private CheckpointJudge(File directory) {
        this.directory = directory;
    }

    public static void main(String[] arguments) throws Exception {
        CheckpointJudge judge = new CheckpointJudge(new File(arguments[0]));
        DataInputStream input = new DataInputStream(new BufferedInputStream(System.in, 1 << 16));
        BufferedWriter output =
            new BufferedWriter(new OutputStreamWriter(System.out, StandardCharsets.UTF_8), 1 << 16);
        int size;
        while ((size = input.read()) >= 0) {
            byte[] name = new byte[size];
            input.readFully(name);
            byte[] data = new byte[input.readInt()];
            input.readFully(data);
            output.write(judge.verdict(new String(name, StandardCharsets.UTF_8), data) + "\n");
        }
        output.flush();
    }

    private String verdict(String name, byte[] data) throws Exception {
        File file = new File(directory, name);
        Files.write(file.toPath(), data);
        try {
            byte[] content = read(name, file).getBytes(StandardCharsets.UTF_8);
            return "+" + Base64.getEncoder().encodeToString(content);
        } catch (InvocationTargetException error) {
            return "-" + error.getCause().getClass().getName();
        } catch (Exception | OutOfMemoryError error) {
            return "-" + error.getClass().getName();
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
