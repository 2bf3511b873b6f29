import java.io.BufferedOutputStream;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.invoke.MethodType;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Runs commands from standard input, with the classes of the Kafka release that it is compiled for.
 *
 * <p>A command is a line of fields, separated by tabs; the first one names a subclass. Lines of
 * fields answer it, and then {@code ok}, or {@code error} with a message. Bytes are in base64, and
 * {@code -} is null.
 */
abstract class Commands {
    /** The arguments of the program: address of the broker, connection string of ZooKeeper. */
    static String[] arguments;
    private static final String NULL = "-";
    private static PrintStream out;

    /** Executes a command and answers it, up to the {@code ok}. */
    abstract void execute(String[] fields) throws Exception;

    public static void main(String[] args) throws Exception {
        arguments = args;
        // Some logging bindings write to standard output, which carries the answers.
        out = new PrintStream(
            new BufferedOutputStream(new FileOutputStream(FileDescriptor.out)), false, "UTF-8");
        System.setOut(System.err);
        Map<String, Commands> known = new HashMap<>();
        BufferedReader requests =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = requests.readLine()) != null; out.flush()) {
            String[] fields = line.split("\t", -1);
            try {
                if (!known.containsKey(fields[0])) {
                    known.put(fields[0], (Commands) make(fields[0]));
                }
                known.get(fields[0]).execute(fields);
                answer("ok");
            } catch (Throwable problem) {
                problem.printStackTrace();
                answer("error", problem);
            }
        }
        // Closing a producer would abort its transaction, and some of them are to stay open.
        Runtime.getRuntime().halt(0);
    }

    /** Answers one line. */
    static void answer(Object... fields) {
        List<String> texts = new ArrayList<>();
        for (Object field : fields) {
            texts.add(field == null ? NULL
                : field instanceof byte[] data ? Base64.getEncoder().encodeToString(data)
                : field.toString().replaceAll("\\s+", " "));
        }
        out.print(String.join("\t", texts) + "\n");
    }

    static byte[] bytes(String field) {
        return NULL.equals(field) ? null : Base64.getDecoder().decode(field);
    }

    static byte[] bytes(ByteBuffer buffer) {
        if (buffer == null) {
            return null;
        }
        byte[] data = new byte[buffer.remaining()];
        buffer.duplicate().get(data);
        return data;
    }

    /** Returns the pairs {@code name=value} from a field on. */
    static Map<String, String> pairs(String[] fields, int from) {
        Map<String, String> pairs = new LinkedHashMap<>();
        for (int field = from; field < fields.length; field++) {
            String[] pair = fields[field].split("=", 2);
            pairs.put(pair[0], pair[1]);
        }
        return pairs;
    }

    /** Returns the settings of a client: the broker, and the pairs from a field on. */
    static Map<String, Object> settings(String[] fields, int from) {
        Map<String, Object> settings = new HashMap<>(pairs(fields, from));
        settings.put("bootstrap.servers", arguments[0]);
        return settings;
    }

    static Throwable root(Throwable error) {
        return error.getCause() == null ? error : root(error.getCause());
    }

    /** Calls the public method of that name that takes these values, whatever the release has. */
    static Object call(Object target, String name, Object... values) throws Exception {
        for (Method method : target.getClass().getMethods()) {
            if (method.getName().equals(name) && takes(method, values)) {
                method.setAccessible(true);
                try {
                    return method.invoke(target, values);
                } catch (InvocationTargetException error) {
                    throw error.getCause() instanceof Exception cause ? cause : error;
                }
            }
        }
        throw new NoSuchMethodException(name);
    }

    /** Makes an object with the constructor that takes these values. */
    static Object make(String type, Object... values) throws Exception {
        for (Constructor<?> constructor : Class.forName(type).getDeclaredConstructors()) {
            if (takes(constructor, values)) {
                constructor.setAccessible(true);
                return constructor.newInstance(values);
            }
        }
        throw new NoSuchMethodException(type);
    }

    private static boolean takes(Executable method, Object[] values) {
        Class<?>[] types = MethodType.methodType(void.class, method.getParameterTypes()).wrap()
            .parameterArray();
        boolean fits = types.length == values.length;
        for (int index = 0; fits && index < types.length; index++) {
            fits = values[index] == null || types[index].isInstance(values[index]);
        }
        return fits;
    }
}
