import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.AccessibleObject;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Properties;
import java.util.TreeMap;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.record.*;
import org.apache.kafka.common.record.internal.*;
import org.apache.kafka.common.utils.*;
import org.apache.kafka.common.utils.internals.*;
import org.xerial.snappy.SnappyError;

/**
 * Kafka's own classes as a testee: of the consumer for logs, of the broker for what is beside them.
 * The same source is compiled against each release; its indexes were Scala up to 3.4. Argument: the release.
 */
public final class Testee {
    private static final Gson GSON =
        new GsonBuilder().serializeNulls().disableHtmlEscaping().create();
    private static final String[] PACKAGES =
        {"org.apache.kafka.storage.internals.log.", "kafka.log.",
            "org.apache.kafka.storage.internals.checkpoint.", "org.apache.kafka.raft.",
            "org.apache.kafka.metadata.properties."};
    private static final String CODECS = "none gzip snappy lz4 zstd";

    public static void main(String[] arguments) throws Exception {
        Path folder = Files.createTempDirectory("testee");
        var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        var output = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        System.setOut(System.err);
        for (String line; (line = input.readLine()) != null; ) {
            JsonObject request = JsonParser.parseString(line).getAsJsonObject();
            Map<String, Object> answer;
            try {
                answer = decode(request, folder, arguments[0]);
            } catch (InvocationTargetException error) {
                answer = object("error", error.getCause().toString());
            } catch (Exception | OutOfMemoryError | SnappyError error) {
                answer = object("error", error.toString());
            }
            answer.put("id", request.get("id"));
            output.print(GSON.toJson(answer) + "\n");
            output.flush();
        }
    }

    private static Map<String, Object> object(Object... pairs) {
        var found = new LinkedHashMap<String, Object>();
        for (int index = 0; index < pairs.length; index += 2) {
            found.put((String) pairs[index], pairs[index + 1]);
        }
        return found;
    }

    private static Map<String, Object> decode(JsonObject request, Path folder, String release)
            throws Exception {
        String kind = request.get("kind").getAsString();
        if (kind.equals("hello")) {
            var kinds = new ArrayList<>(List.of("log", "control_records", "offset_index",
                "time_index", "transaction_index", "producer_snapshot", "batch"));
            if (hasTexts()) {
                kinds.add("text");
            }
            return object("protocol", 2, "name", "Kafka's Java classes", "version", release,
                "kinds", kinds,
                "compression", CODECS.split(" "), "checksums", true);
        }
        if (kind.equals("batch")) {
            var digests = new ArrayList<Object>();
            for (var item : request.getAsJsonArray("items")) {
                digests.add(digest(Base64.getDecoder().decode(item.getAsString())));
            }
            return object("digests", digests);
        }
        byte[] data = Base64.getDecoder().decode(request.get("data").getAsString());
        if (kind.equals("log") || kind.equals("control_records")) {
            boolean control = kind.equals("control_records");
            return object(control ? "control_records" : "records", log(data, control));
        }
        long base = request.has("base_offset") ? request.get("base_offset").getAsLong() : 0;
        // A file that Kafka has mapped keeps its inode: each case has another.
        Path file = Files.createTempFile(folder, String.format("%020d", base), "." + kind);
        try {
            Files.write(file, data);
            return object("entries", switch (kind) {
                case "offset_index" ->
                    index("OffsetIndex", file.toFile(), base, data.length, "position", "offset");
                case "time_index" ->
                    index("TimeIndex", file.toFile(), base, data.length, "timestamp", "offset");
                case "transaction_index" -> transactions(file.toFile(), base);
                case "text" -> texts(request.get("file").getAsString(), file.toFile());
                default -> producers(file.toFile());
            });
        } finally {
            Files.delete(file);
        }
    }

    // -- logs, as a consumer reads them ----------------------------------------------------------

    private static List<Object> log(byte[] data, boolean control) {
        var found = new ArrayList<Object>();
        for (var batch : MemoryRecords.readableRecords(ByteBuffer.wrap(data)).batches()) {
            batch.ensureValid();
            try (var records = batch.streamingIterator(BufferSupplier.NO_CACHING)) {
                while (records.hasNext()) {
                    var record = records.next(); // java.lang has a Record too
                    record.ensureValid();
                    if (batch.isControlBatch() != control) {
                        continue;
                    }
                    if (!control) {
                        found.add(object("offset", record.offset(),
                            "timestamp", record.timestamp(), "key", base64(record.key()),
                            "value", base64(record.value()), "headers", headers(record.headers())));
                        continue;
                    }
                    short type = ControlRecordType.parseTypeId(record.key());
                    var item = object("offset", record.offset(), "type", type);
                    ControlRecordType known = ControlRecordType.fromTypeId(type);
                    if (known == ControlRecordType.ABORT || known == ControlRecordType.COMMIT) {
                        item.put("coordinator_epoch",
                            EndTransactionMarker.deserialize(record).coordinatorEpoch());
                    }
                    found.add(item);
                }
            }
        }
        return found;
    }

    // As docs/guide/conform.md says it; null for what Kafka refuses. An error of the JVM is one too: no
    // memory for what a size claims, and those of snappy-java (Q5).
    private static String digest(byte[] data) throws Exception {
        var text = new StringBuilder();
        try {
            for (Object item : log(data, false)) {
                var record = (Map<?, ?>) item;
                text.append(record.get("offset")).append('\t').append(record.get("timestamp"));
                append(text, record.get("key"));
                append(text, record.get("value"));
                for (Object header : (List<?>) record.get("headers")) {
                    String key = new String(Base64.getDecoder().decode((String) ((Object[]) header)[0]),
                        StandardCharsets.UTF_8).replaceAll("\ufffd+", "\ufffd");
                    byte[] bytes = key.getBytes(StandardCharsets.UTF_8);
                    append(text, Base64.getEncoder().encodeToString(bytes));
                    append(text, ((Object[]) header)[1]);
                }
                text.append('\n');
            }
        } catch (Exception | OutOfMemoryError | SnappyError error) {
            return null;
        }
        byte[] made = MessageDigest.getInstance("SHA-256")
            .digest(text.toString().getBytes(StandardCharsets.UTF_8));
        return String.format("%016x", ByteBuffer.wrap(made).getLong());
    }

    private static void append(StringBuilder text, Object part) {
        text.append('\t').append(part == null ? "-" : part);
    }

    private static List<Object> headers(Header[] headers) {
        var found = new ArrayList<Object>();
        for (Header header : headers) {
            byte[] value = header.value();
            byte[] key = header.key().getBytes(StandardCharsets.UTF_8);
            found.add(new Object[] {base64(ByteBuffer.wrap(key)),
                value == null ? null : base64(ByteBuffer.wrap(value))});
        }
        return found;
    }

    private static String base64(ByteBuffer data) {
        if (data == null) {
            return null;
        }
        byte[] bytes = new byte[data.remaining()];
        data.duplicate().get(bytes);
        return Base64.getEncoder().encodeToString(bytes);
    }

    // -- what the broker keeps beside them -------------------------------------------------------

    private static List<Object> index(
            String name, File file, long base, int size, String... members) throws Exception {
        var found = new ArrayList<Object>();
        Object index = make(name, file, base, size, false);
        int entries = (Integer) get(index, "entries");
        for (int at = 0; at < entries; at++) {
            Object entry = method(index.getClass(), "entry", 1).invoke(index, at);
            if (at > 0 && (Long) get(entry, "offset") == base) {
                break; // space that is not used yet, as Kafka's dump tool decides
            }
            found.add(object(members[0], get(entry, members[0]), members[1], get(entry, members[1])));
        }
        method(index.getClass(), "safeForceUnmap", 0).invoke(index);
        return found;
    }

    private static List<Object> transactions(File file, long base) throws Exception {
        var found = new ArrayList<Object>();
        Object index = make("TransactionIndex", base, file);
        for (Object entry : list(get(index, "allAbortedTxns"))) {
            found.add(object("version", version(entry), "producer_id", get(entry, "producerId"),
                "first_offset", get(entry, "firstOffset"), "last_offset", get(entry, "lastOffset"),
                "last_stable_offset", get(entry, "lastStableOffset")));
        }
        method(index.getClass(), "close", 0).invoke(index);
        return found;
    }

    // From 4.x on the entry knows no version: its class reads one.
    private static Object version(Object entry) throws Exception {
        try {
            return get(entry, "version");
        } catch (NoSuchFieldException forgotten) {
            return get(entry, "highestSupportedVersion");
        }
    }

    private static List<Object> producers(File file) throws Exception {
        var found = new ArrayList<Object>();
        Object read = method(named("ProducerStateManager"), "readSnapshot", 1).invoke(null, file);
        for (Object entry : list(read)) {
            Object first = get(entry, "currentTxnFirstOffset");
            boolean open = first instanceof OptionalLong java
                ? java.isPresent() : (Boolean) get(first, "isDefined");
            found.add(object("producer_id", get(entry, "producerId"),
                "producer_epoch", get(entry, "producerEpoch"),
                "last_sequence", get(entry, "lastSeq"), "last_offset", get(entry, "lastDataOffset"),
                "offset_delta", get(entry, "lastOffsetDelta"),
                "timestamp", get(entry, "lastTimestamp"),
                "coordinator_epoch", get(entry, "coordinatorEpoch"),
                "current_txn_first_offset", !open ? -1L
                    : first instanceof OptionalLong java ? java.getAsLong() : get(first, "get")));
        }
        return found;
    }

    // -- text files, whose readers are all in Java from 4.0 on --------------------------------------

    private static boolean hasTexts() {
        try {
            return named("OffsetCheckpointFile") != null && named("MetaProperties") != null;
        } catch (ClassNotFoundException missing) {
            return false;
        }
    }

    private static List<Object> texts(String name, File file) throws Exception {
        return switch (name) {
            case "leader-epoch-checkpoint" -> epochs(file);
            case "partition.metadata" -> {
                Object found = get(make("PartitionMetadataFile", file, failures()), "read");
                yield List.of(object("version", get(found, "version"),
                    "topic_id", get(found, "topicId").toString()));
            }
            case "meta.properties" -> properties(file);
            case "quorum-state" -> quorum(file);
            default -> offsets(file);
        };
    }

    private static Object failures() throws Exception {
        return make("LogDirFailureChannel", 8);
    }

    private static List<Object> epochs(File file) throws Exception {
        var found = new ArrayList<Object>();
        Object read = get(make("LeaderEpochCheckpointFile", file, failures()), "read");
        for (Object entry : list(read)) {
            found.add(object("epoch", get(entry, "epoch"), "start_offset", get(entry, "startOffset")));
        }
        return found;
    }

    private static List<Object> offsets(File file) throws Exception {
        var sorted = new TreeMap<String, Map<Integer, Object>>();
        var read = (Map<?, ?>) get(make("OffsetCheckpointFile", file, failures()), "read");
        for (var entry : read.entrySet()) {
            var place = (TopicPartition) entry.getKey();
            sorted.computeIfAbsent(place.topic(), topic -> new TreeMap<>()).put(place.partition(),
                object("topic", place.topic(), "partition", place.partition(), "offset", entry.getValue()));
        }
        var found = new ArrayList<Object>();
        sorted.values().forEach(each -> found.addAll(each.values()));
        return found;
    }

    private static List<Object> properties(File file) throws Exception {
        Object read = method(named("PropertiesUtils"), "readPropertiesFile", 1)
            .invoke(null, file.getPath());
        Object builder = Class.forName(named("MetaProperties").getName() + "$Builder")
            .getConstructor(Properties.class).newInstance(read);
        Object found = get(builder, "build");
        var node = (OptionalInt) get(found, "nodeId");
        var cluster = (Optional<?>) get(found, "clusterId");
        var directory = (Optional<?>) get(found, "directoryId");
        return List.of(object("version", get(get(found, "version"), "number"),
            "node_id", node.isPresent() ? node.getAsInt() : null,
            "cluster_id", cluster.orElse(null),
            "directory_id", directory.map(Object::toString).orElse(null)));
    }

    private static List<Object> quorum(File file) throws Exception {
        Object store = make("FileQuorumStateStore", file);
        Object found = method(store.getClass(), "readStateFromFile", 1).invoke(store, file);
        // Kafka's class does not keep the version by which it read the file.
        var text = Files.readString(file.toPath(), StandardCharsets.ISO_8859_1);
        int version = text.matches("(?s).*\"data_version\"\\s*:\\s*0.*") ? 0 : 1;
        var said = object("version", version, "leader_id", get(found, "leaderId"),
            "leader_epoch", get(found, "leaderEpoch"), "voted_id", get(found, "votedId"));
        if (version > 0) {
            said.put("voted_directory_id", get(found, "votedDirectoryId").toString());
            return List.of(said);
        }
        Object voters = get(found, "currentVoters");
        var ids = new ArrayList<Object>();
        for (Object voter : voters == null ? List.of() : list(voters)) {
            ids.add(get(voter, "voterId"));
        }
        said.put("cluster_id", get(found, "clusterId"));
        said.put("applied_offset", get(found, "appliedOffset"));
        said.put("current_voters", voters == null ? null : ids);
        return List.of(said);
    }

    // -- the same by reflection, whichever release and language ----------------------------------

    private static Class<?> named(String name) throws ClassNotFoundException {
        for (String in : PACKAGES) {
            try {
                return Class.forName(in + name);
            } catch (ClassNotFoundException missing) {
                continue;
            }
        }
        throw new ClassNotFoundException(name);
    }

    private static Object make(String name, Object... arguments) throws Exception {
        for (Constructor<?> found : named(name).getConstructors()) {
            if (found.getParameterCount() == arguments.length) {
                return found.newInstance(arguments);
            }
        }
        throw new NoSuchMethodException(name);
    }

    private static Method method(Class<?> of, String name, int parameters) throws Exception {
        for (Class<?> at = of; at != null; at = at.getSuperclass()) {
            for (Method found : at.getDeclaredMethods()) {
                if (found.getName().equals(name) && found.getParameterCount() == parameters
                        && !found.isBridge()) {
                    return accessible(found);
                }
            }
        }
        throw new NoSuchMethodException(of + "." + name);
    }

    private static <T extends AccessibleObject> T accessible(T member) {
        member.setAccessible(true);
        return member;
    }

    private static Object get(Object of, String name) throws Exception {
        try {
            return method(of.getClass(), name, 0).invoke(of);
        } catch (NoSuchMethodException missing) {
            return accessible(of.getClass().getDeclaredField(name)).get(of);
        }
    }

    private static List<Object> list(Object items) throws Exception {
        var found = new ArrayList<Object>();
        if (items instanceof Iterable<?> java) {
            java.forEach(found::add);
            return found;
        }
        Object each = get(items, "iterator");
        while ((Boolean) get(each, "hasNext")) {
            found.add(get(each, "next"));
        }
        return found;
    }
}
