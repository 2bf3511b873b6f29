import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.gson.JsonPrimitive;
import com.google.gson.JsonSerializer;
import io.kaitai.struct.ByteBufferKaitaiStream;
import io.kaitai.struct.KaitaiStream;
import io.kaitai.struct.KaitaiStruct;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import spec.ControlRecord;
import spec.Recordbatch;

/** The specification, compiled to Java, as a testee. Argument: types.json. */
public final class Testee {
    private static final Gson GSON = new GsonBuilder().serializeNulls()
        .serializeSpecialFloatingPointValues().registerTypeAdapter(
        byte[].class, (JsonSerializer<byte[]>) (data, type, context) ->
            new JsonPrimitive(Base64.getEncoder().encodeToString(data))).create();
    private static final Map<String, Class<?>> CLASSES = new HashMap<>();
    private static final Map<Class<?>, JsonObject> TYPES = new HashMap<>();

    public static void main(String[] arguments) throws Exception {
        for (var type : JsonParser.parseString(Files.readString(Path.of(arguments[0])))
                .getAsJsonObject().entrySet()) {
            Class<?> made = classOf(type.getKey());
            CLASSES.put(type.getKey(), made);
            TYPES.put(made, type.getValue().getAsJsonObject());
        }
        var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        var output = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line; (line = input.readLine()) != null; ) {
            JsonObject request = JsonParser.parseString(line).getAsJsonObject();
            Map<String, Object> answer = answer(request);
            answer.put("id", request.get("id"));
            output.print(GSON.toJson(answer) + "\n");
            output.flush();
        }
    }

    private static Class<?> classOf(String key) throws ClassNotFoundException {
        String[] parts = key.split("\\.");
        String name = "spec." + camel(parts[0]);
        return Class.forName(parts[0].equals(parts[1]) ? name : name + "$" + camel(parts[1]));
    }

    private static Map<String, Object> answer(JsonObject request) {
        try {
            return decode(request);
        } catch (InvocationTargetException error) {
            if (error.getCause() instanceof Error fatal) { // memory, for one: no way to refuse
                throw fatal;
            }
            return object("error", error.getCause().toString());
        } catch (Exception error) {
            return object("error", error.toString());
        }
    }

    private static Map<String, Object> object(Object... pairs) {
        var found = new LinkedHashMap<String, Object>();
        for (int index = 0; index < pairs.length; index += 2) {
            found.put((String) pairs[index], pairs[index + 1]);
        }
        return found;
    }

    private static Map<String, Object> decode(JsonObject request) throws Exception {
        String kind = request.get("kind").getAsString();
        return switch (kind) {
            case "hello" -> object(
                "protocol", 1, "name", "Kaitai Struct Java",
                "version", System.getProperty("kaitai.version", ""),
                "kinds", List.of("log", "control_records", "offset_index", "time_index",
                    "transaction_index", "producer_snapshot", "type"));
            case "log" -> object("records", records(request));
            case "control_records" -> object("control_records", controlRecords(request));
            case "offset_index", "time_index" ->
                entries("index." + kind, request, request.get("base_offset").getAsLong());
            case "transaction_index", "producer_snapshot" -> entries(kind + "." + kind, request);
            default -> {
                KaitaiStruct value = parse(request);
                yield object("value", tree(value), "end", value._io().pos());
            }
        };
    }

    private static Map<String, Object> entries(String key, JsonObject request, Object... parameters)
            throws Exception {
        KaitaiStruct file = parse(key, bytes(request.get("data")), List.of(parameters));
        return object("entries", tree(file.getClass().getMethod("entries").invoke(file)));
    }

    // -- logs ------------------------------------------------------------------------------------

    private interface OnBatch {
        void accept(Recordbatch.RecordBatch batch, List<Recordbatch.FramedRecord> records)
            throws Exception;
    }

    private interface OnMessage {
        void accept(Recordbatch.LegacyMessage message, long offset, Long timestamp)
            throws Exception;
    }

    private static void walk(JsonObject request, OnBatch onBatch, OnMessage onMessage)
            throws Exception {
        JsonArray given = request.has("decompressed")
            ? request.getAsJsonArray("decompressed") : new JsonArray();
        var log = new Recordbatch(stream(bytes(request.get("data"))));
        for (int index = 0; index < log.entries().size(); index++) {
            byte[] payload = index < given.size() && !given.get(index).isJsonNull()
                ? bytes(given.get(index)) : null;
            if (log.entries().get(index).message().content()
                    instanceof Recordbatch.RecordBatch batch) {
                var stored = payload == null ? batch.records() : payload;
                onBatch.accept(batch, new Recordbatch.RecordSet(stream(stored), batch).records());
                continue;
            }
            var message = (Recordbatch.LegacyMessage) log.entries().get(index).message().content();
            if (message.attributes().compression() == Recordbatch.CompressionType.NONE) {
                onMessage.accept(message, message.offset(), message.timestamp());
            } else {
                unwrap(message, new Recordbatch(stream(payload)).entries(), onMessage);
            }
        }
    }

    private static void unwrap(
            Recordbatch.LegacyMessage wrapper, List<Recordbatch.Entry> inner, OnMessage onMessage)
            throws Exception {
        long last = inner.get(inner.size() - 1).baseOffset();
        boolean relative = wrapper.magic() == 1 && wrapper.offset() != 0;
        boolean appended = wrapper.magic() == 1 && wrapper.attributes().timestampType()
            == Recordbatch.TimestampType.LOG_APPEND_TIME;
        for (var entry : inner) {
            var message = (Recordbatch.LegacyMessage) entry.message().content();
            long offset = entry.baseOffset() + (relative ? wrapper.offset() - last : 0);
            boolean timed = appended && message.magic() == 1;
            onMessage.accept(message, offset, timed ? wrapper.timestamp() : message.timestamp());
        }
    }

    private static List<Object> records(JsonObject request) throws Exception {
        var found = new ArrayList<Object>();
        walk(request, (batch, records) -> {
            if (batch.attributes().isControl()) {
                return;
            }
            for (var framed : records) {
                var record = framed.body();
                var headers = new ArrayList<Object>();
                for (var header : record.headers()) {
                    headers.add(new Object[] {tree(header.key()), tree(header.value())});
                }
                found.add(record(record.offset(), record.timestamp(), record.key(), record.value(),
                    headers));
            }
        }, (message, offset, timestamp) ->
            found.add(record(offset, timestamp, message.key(), message.value(), List.of())));
        return found;
    }

    private static Object record(
            long offset, Long timestamp, Object key, Object value, List<Object> headers)
            throws ReflectiveOperationException {
        return object("offset", offset, "timestamp", timestamp, "key", tree(key),
            "value", tree(value), "headers", headers);
    }

    private static List<Object> controlRecords(JsonObject request) throws Exception {
        var found = new ArrayList<Object>();
        walk(request, (batch, records) -> {
            if (!batch.attributes().isControl()) {
                return;
            }
            for (var framed : records) {
                var key = new ControlRecord.ControlRecordKey(stream(framed.body().key().value()));
                short type = (short) key.type().id();
                var value = new ControlRecord.ControlRecordValue(
                    stream(framed.body().value().value()), type);
                var item = object("offset", framed.body().offset(), "type", type);
                if (value.body() instanceof ControlRecord.EndTransactionMarker marker) {
                    item.put("coordinator_epoch", marker.coordinatorEpoch());
                }
                found.add(item);
            }
        }, (message, offset, timestamp) -> { });
        return found;
    }

    // -- any type --------------------------------------------------------------------------------

    private static KaitaiStruct parse(JsonObject given) throws Exception {
        var parameters = new ArrayList<>();
        for (JsonElement item : given.getAsJsonArray("parameters")) {
            parameters.add(item.isJsonObject()
                ? parse(item.getAsJsonObject()) : (Object) item.getAsLong());
        }
        return parse(given.get("type").getAsString(), bytes(given.get("data")), parameters);
    }

    private static KaitaiStruct parse(String key, byte[] data, List<?> parameters)
            throws Exception {
        for (Constructor<?> constructor : CLASSES.get(key).getConstructors()) {
            Class<?>[] wanted = constructor.getParameterTypes();
            if (wanted.length != parameters.size() + 1) {
                continue;
            }
            var arguments = new ArrayList<Object>(List.of(stream(data)));
            for (int index = 0; index < parameters.size(); index++) {
                arguments.add(fitting(parameters.get(index), wanted[index + 1]));
            }
            if (!arguments.contains(null)) {
                return (KaitaiStruct) constructor.newInstance(arguments.toArray());
            }
        }
        throw new IllegalArgumentException("no constructor of " + key);
    }

    private static Object fitting(Object value, Class<?> wanted) {
        if (value instanceof Long number) {
            return wanted == long.class ? (Object) number
                : wanted == int.class ? (Object) number.intValue()
                : wanted == short.class ? (Object) number.shortValue() : null;
        }
        return wanted.isInstance(value) ? value : null;
    }

    private static KaitaiStream stream(byte[] data) {
        return new ByteBufferKaitaiStream(data);
    }

    /** Returns a value as an answer has it: structures by the names of the specification. */
    private static Object tree(Object value) throws ReflectiveOperationException {
        if (value == null || value instanceof byte[] || value instanceof Number
                || value instanceof Boolean) {
            return value;
        }
        if (value instanceof List<?> items) {
            var found = new ArrayList<Object>();
            for (Object item : items) {
                found.add(tree(item));
            }
            return found;
        }
        if (!TYPES.containsKey(value.getClass())) { // an enumeration
            return tree(value.getClass().getMethod("id").invoke(value));
        }
        JsonObject type = TYPES.get(value.getClass());
        if (type.get("scalar").getAsBoolean()) {
            return tree(value.getClass().getMethod("value").invoke(value));
        }
        var found = object();
        for (Method method : value.getClass().getDeclaredMethods()) {
            String name = snake(method.getName());
            boolean field = (method.getModifiers() & (Modifier.STATIC | Modifier.PRIVATE)) == 0
                && method.getParameterCount() == 0;
            if (field && !name.startsWith("_")
                    && !type.getAsJsonArray("parameters").contains(new JsonPrimitive(name))) {
                found.put(name, tree(method.invoke(value)));
            }
        }
        return found;
    }

    private static byte[] bytes(JsonElement text) {
        return Base64.getDecoder().decode(text.getAsString());
    }

    private static String camel(String name) {
        var found = new StringBuilder();
        for (String part : name.split("_")) {
            found.append(Character.toUpperCase(part.charAt(0))).append(part.substring(1));
        }
        return found.toString();
    }

    private static String snake(String name) {
        return name.replaceAll("([A-Z])", "_$1").toLowerCase(java.util.Locale.ROOT);
    }
}
