import java.io.File;
import java.lang.reflect.Method;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.zip.ZipFile;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.protocol.types.BoundField;
import org.apache.kafka.common.protocol.types.Field;
import org.apache.kafka.common.protocol.types.RawTaggedField;
import org.apache.kafka.common.protocol.types.Schema;
import org.apache.kafka.common.protocol.types.TaggedFields;

/**
 * Kafka's generated classes of what it stores.
 *
 * <ul>
 *   <li>{@code list}: answers the name, the lowest and the highest version of each.
 *   <li>{@code make name version seed count}: random messages, each answered with its bytes and its
 *       JSON.
 *   <li>{@code read name data...}: answers {@code read}, the JSON, the bytes that the message is
 *       written as if it can be, and how many were left, or {@code refused} and why.
 * </ul>
 *
 * Bytes begin with what tells the type and the version, as in a record.
 */
final class MessageJudge extends Commands {
    private static final String CONVERTER = "JsonConverter";
    private static final String SERDE = "metadata.MetadataRecordSerde";
    private static final int MANY = 130;
    private static final int FIRST_UNKNOWN_TAG = 100;
    private static final String[] TEXTS = {
        "", "a", "group-1", "Überschrift", "\uD83D\uDE00", "\"\\/\b\f\n\r\t\u0000\u001f\u007f\u2028", "x".repeat(127),
        "x".repeat(128), "é".repeat(9000),
    };
    private static final long[] NUMBERS = {
        0, 1, -1, 2, 127, 128, -128, 255, 32767, -32768, 65535, Integer.MAX_VALUE, Integer.MIN_VALUE,
        0xFFFFFFFFL, Long.MAX_VALUE, Long.MIN_VALUE,
    };
    private static final double[] DOUBLES = {
        0.0, -0.0, 1.5, -0.001, 1e7, 9999999.0, 1e-4, 1e300, Double.MAX_VALUE, Double.POSITIVE_INFINITY,
        Double.NEGATIVE_INFINITY, Double.NaN,
    };

    private final Map<String, Class<? extends Message>> known = new TreeMap<>();
    private Random random;
    private int left;

    MessageJudge() throws Exception {
        for (String path : System.getProperty("java.class.path").split(File.pathSeparator)) {
            if (new File(path).getName().startsWith("kafka") && path.endsWith(".jar")) {
                try (ZipFile jar = new ZipFile(path)) {
                    for (var entries = jar.entries(); entries.hasMoreElements();) {
                        find(entries.nextElement().getName());
                    }
                }
            }
        }
    }

    private void find(String entry) throws Exception {
        String end = CONVERTER + ".class";
        if (entry.endsWith(end) && !entry.matches(".*(\\$|Request|Response).*")) {
            String name = entry.substring(0, entry.length() - end.length()).replace('/', '.');
            known.put(name.substring(name.lastIndexOf('.') + 1), Class.forName(name).asSubclass(Message.class));
        }
    }

    @Override
    void execute(String[] fields) throws Exception {
        switch (fields[1]) {
            case "list":
                for (var each : known.entrySet()) {
                    Message made = made(each.getValue());
                    answer(each.getKey(), made.lowestSupportedVersion(), made.highestSupportedVersion());
                }
                break;
            case "make":
                random = new Random(Long.parseLong(fields[4]));
                for (int count = Integer.parseInt(fields[5]); count > 0; count--) {
                    make(known.get(fields[2]), Short.parseShort(fields[3]));
                }
                break;
            case "read":
                for (int at = 3; at < fields.length; at++) {
                    try {
                        read(known.get(fields[2]), bytes(fields[at]));
                    } catch (RuntimeException | LinkageError error) {
                        answer("refused", root(error));
                    }
                }
                break;
            default:
                throw new IllegalArgumentException(fields[1]);
        }
    }

    private void make(Class<? extends Message> type, short version) throws Exception {
        left = 2 * MANY;
        Message message = (Message) structure(type, ((Schema[]) type.getField("SCHEMAS").get(null))[version], version);
        answer(written(message, version), json(message, version));
    }

    private void read(Class<? extends Message> type, byte[] data) throws Exception {
        ByteBuffer rest = ByteBuffer.wrap(data);
        Object found = serde(type.getName()) == null ? null : deserialized(type, rest);
        Object read = found instanceof Message || found == null ? found : call(found, "message");
        if (read != null && read.getClass() != type) {
            throw new IllegalArgumentException("it is " + read.getClass().getSimpleName());
        }
        if (found instanceof Message key) {
            answer("read", json(key, key.highestSupportedVersion()), written(key, key.highestSupportedVersion()),
                rest.remaining());
            return;
        }
        Message message = found == null ? made(type) : (Message) read;
        short version = found == null ? direct(message, rest) : (short) call(found, "version");
        byte[] again = null;
        try {
            again = written(message, version);
        } catch (RuntimeException error) {
            // It has read what it cannot write.
        }
        if (again != null && later(type, data)) {
            again[0] = data[0];
            again[1] = data[1];
        }
        answer("read", json(message, version), again, rest.remaining());
    }

    /** Returns the class by which a broker reads records with such messages; null if there is none. */
    private static Object serde(String type) throws Exception {
        String place = "org.apache.kafka.";
        String name = type.startsWith(place + "common.metadata.") ? (isPreview() ? "raft." : "") + SERDE
            : type.contains(".remote.") ? "server.log.remote.metadata.storage.serialization.RemoteLogMetadataSerde"
            : type.contains(".coordinator.group.") ? "coordinator.group.GroupCoordinatorRecordSerde"
            : type.contains(".coordinator.share.") ? "coordinator.share.ShareCoordinatorRecordSerde"
            : type.contains(".coordinator.transaction.") ? "coordinator.transaction.TransactionCoordinatorRecordSerde"
            : "";
        try {
            return name.isEmpty() ? null : make(place + name);
        } catch (ClassNotFoundException error) {
            return null;
        }
    }

    /** Returns the key, or the message of another record with its version. */
    private Object deserialized(Class<? extends Message> type, ByteBuffer data) throws Exception {
        Object serde = serde(type.getName());
        if (type.getName().contains(".remote.")) {
            byte[] all = bytes(data);
            data.position(data.limit());
            return call(get(serde, "bytesApiMessageSerde"), "deserialize", all);
        }
        if (framed(made(type))) {
            return call(serde, "read", new ByteBufferAccessor(data), data.remaining());
        }
        String name = type.getSimpleName();
        if (name.endsWith("Key")) {
            return call(call(serde, "deserialize", data, null), "key");
        }
        Message key = made(known.get(name.substring(0, name.length() - "Value".length()) + "Key"));
        byte[] before = written(key, key.highestSupportedVersion());
        return call(call(serde, "deserialize", ByteBuffer.wrap(before), data), "value");
    }

    /** Reads a message without such a class, and returns its version. */
    private static short direct(Message message, ByteBuffer data) {
        short version;
        if (framed(message)) {
            ByteBufferAccessor frame = new ByteBufferAccessor(data);
            check("frame version", frameVersion(), frame.readUnsignedVarint());
            check("api key", ((ApiMessage) message).apiKey(), frame.readUnsignedVarint());
            version = (short) frame.readUnsignedVarint();
        } else {
            version = data.getShort();
            short number = number(message);
            if (number >= 0) {
                check("type", number, version);
                version = message.highestSupportedVersion();
            } else if (later(message.getClass(), data.array())) {
                version = message.highestSupportedVersion();
            } else if (version > message.highestSupportedVersion()) {
                throw new IllegalArgumentException("version " + version);
            }
        }
        if (begins(message)) {
            data.position(data.position() - Short.BYTES);
        }
        message.read(new ByteBufferAccessor(data), version);
        return version;
    }

    /** Returns whether it is of a later version, which a consumer reads like the one it knows. */
    private static boolean later(Class<?> type, byte[] data) {
        return type.getSimpleName().startsWith("ConsumerProtocol")
            && ByteBuffer.wrap(data).getShort() > made(type.asSubclass(Message.class)).highestSupportedVersion();
    }

    private static void check(String what, int expected, int found) {
        if (found != expected) {
            throw new IllegalArgumentException(what + " " + found);
        }
    }

    private static byte[] written(Message message, short version) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        int size = message.size(cache, version);
        ByteBuffer data = ByteBuffer.allocate(size + 3 * Integer.BYTES);
        ByteBufferAccessor out = new ByteBufferAccessor(data);
        if (framed(message)) {
            out.writeUnsignedVarint(frameVersion());
            out.writeUnsignedVarint(((ApiMessage) message).apiKey());
            out.writeUnsignedVarint(version);
        } else if (!begins(message)) {
            short number = number(message);
            out.writeShort(number >= 0 ? number : version);
        }
        int start = data.position();
        message.write(out, cache, version);
        check("size", size, data.position() - start);
        return bytes(data.flip());
    }

    /** Returns whether the release has the preview of KRaft only. */
    private static boolean isPreview() {
        return MessageJudge.class.getResource("/org/apache/kafka/raft/" + SERDE.replace('.', '/') + ".class") != null;
    }

    private static int frameVersion() {
        return isPreview() ? 0 : 1;
    }

    /** Returns whether an api key in a frame says what a record is. */
    private static boolean framed(Message message) {
        String name = message.getClass().getName();
        return name.endsWith("Record") && !name.contains(".common.message.");
    }

    /** Returns whether the version is a field of the message, the first one. */
    private static boolean begins(Message message) {
        Schema schema = schema(message, message.highestSupportedVersion());
        return message.getClass().getName().contains(".common.message.") && schema.numFields() > 0
            && schema.get(0).def.name.equals("version");
    }

    /** Returns the type that a key begins with, -1 for another message; before 4.1 it was a version. */
    private static short number(Message message) {
        if (!message.getClass().getName().endsWith("Key")) {
            return -1;
        }
        short number = message instanceof ApiMessage api ? api.apiKey() : -1;
        return number >= 0 ? number : message.highestSupportedVersion();
    }

    private static Schema schema(Message message, short version) {
        try {
            return ((Schema[]) message.getClass().getField("SCHEMAS").get(null))[version];
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }

    private static byte[] json(Message message, short version) throws Exception {
        Class<?> converter = Class.forName(message.getClass().getName() + CONVERTER);
        Method write = converter.getMethod("write", message.getClass(), short.class);
        return write.invoke(null, message, version).toString().getBytes(StandardCharsets.UTF_8);
    }

    private static Object get(Object holder, String name) throws Exception {
        java.lang.reflect.Field field = holder.getClass().getDeclaredField(name);
        field.setAccessible(true);
        return field.get(holder);
    }

    private static <T> T made(Class<T> type) {
        try {
            return type.getDeclaredConstructor().newInstance();
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }

    private Object structure(Class<?> type, Schema schema, short version) throws Exception {
        Object made = made(type);
        for (BoundField field : schema.fields()) {
            if (field.def.type instanceof TaggedFields tags) {
                for (Object tag : ((Map<?, ?>) get(tags, "fields")).values()) {
                    fill(made, (Field) tag, version);
                }
                unknown((Message) made);
            } else {
                fill(made, field.def, version);
            }
        }
        return made;
    }

    private void unknown(Message message) {
        TreeSet<Integer> tags = new TreeSet<>();
        for (int count = random.nextInt(8) - 5; count > 0; count--) {
            tags.add(random.nextInt(9) == 0 ? Integer.MAX_VALUE - 1 : FIRST_UNKNOWN_TAG + random.nextInt(99));
        }
        for (int tag : tags) {
            message.unknownTaggedFields().add(new RawTaggedField(tag, data()));
        }
    }

    /** Sets a field to a random value, or leaves it as the class begins. */
    private void fill(Object holder, Field field, short version) throws Exception {
        String name = "set" + field.name.replace("_", "");
        for (Method method : holder.getClass().getMethods()) {
            if (method.getName().toLowerCase(Locale.ROOT).equals(name) && method.getParameterCount() == 1) {
                if (field.name.equals("version") && begins(holder)) {
                    method.invoke(holder, version);
                } else if (random.nextInt(6) > 0) {
                    method.invoke(holder, value(method.getGenericParameterTypes()[0], field.type, version));
                }
                return;
            }
        }
        throw new NoSuchMethodException(holder.getClass() + " " + name);
    }

    private static boolean begins(Object holder) {
        return holder instanceof Message message && holder instanceof ApiMessage && begins(message);
    }

    private Object value(Type java, org.apache.kafka.common.protocol.types.Type type, short version) throws Exception {
        if (type.isNullable() && random.nextInt(4) == 0) {
            return null;
        }
        if (type.arrayElementType().isPresent()) {
            return list(java, type.arrayElementType().get(), version);
        }
        if (type instanceof Schema schema) {
            return structure((Class<?>) java, schema, version);
        }
        switch (type.toString().replace("COMPACT_", "").replace("NULLABLE_", "")) {
            case "BOOLEAN":
                return random.nextBoolean();
            case "INT8":
                return (byte) number(Byte.MIN_VALUE, Byte.MAX_VALUE);
            case "INT16":
                return (short) number(Short.MIN_VALUE, Short.MAX_VALUE);
            case "UINT16":
                return (int) number(0, 0xFFFF);
            case "INT32":
                return (int) number(Integer.MIN_VALUE, Integer.MAX_VALUE);
            case "UINT32":
                return number(0, 0xFFFFFFFFL);
            case "INT64":
                return number(Long.MIN_VALUE, Long.MAX_VALUE);
            case "FLOAT64":
                return random.nextBoolean() ? DOUBLES[random.nextInt(DOUBLES.length)] : random.nextInt() / 1000.0;
            case "UUID":
                return random.nextInt(5) == 0 ? Uuid.ZERO_UUID : new Uuid(random.nextLong(), random.nextLong());
            case "STRING":
                return TEXTS[random.nextInt(random.nextInt(40) == 0 ? TEXTS.length : TEXTS.length - 1)];
            case "BYTES":
                return java == ByteBuffer.class ? ByteBuffer.wrap(data()) : data();
            default:
                throw new IllegalArgumentException(type.toString());
        }
    }

    /** Returns a number that is small, large, or any, and of a type. */
    private long number(long least, long largest) {
        while (true) {
            long found = random.nextInt(3) == 0 ? random.nextLong() >> random.nextInt(64)
                : NUMBERS[random.nextInt(NUMBERS.length)];
            if (least <= found && found <= largest) {
                return found;
            }
        }
    }

    @SuppressWarnings("unchecked")
    private Object list(Type java, org.apache.kafka.common.protocol.types.Type item, short version) throws Exception {
        Collection<Object> made;
        Type items;
        if (java instanceof ParameterizedType list) {
            made = new ArrayList<>();
            items = list.getActualTypeArguments()[0];
        } else {
            made = (Collection<Object>) made((Class<?>) java);
            items = ((ParameterizedType) ((Class<?>) java).getGenericSuperclass()).getActualTypeArguments()[0];
        }
        // Lists in lists could make a message large.
        int size = random.nextInt(20) == 0 ? MANY : random.nextInt(4);
        left -= size = Math.min(size, left);
        for (int count = 0; count < size; count++) {
            made.add(value(items, item, version));
        }
        return made;
    }

    private byte[] data() {
        int[] sizes = {0, 1, 3, 17, 127, 200};
        byte[] data = new byte[sizes[random.nextInt(sizes.length)]];
        random.nextBytes(data);
        return data;
    }
}
