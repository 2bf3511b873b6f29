import java.io.File;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.Time;

/**
 * Has Kafka's own cleaner and retention work on a partition directory, by a clock that stands still.
 *
 * <p>{@code clean directory now logStart highWatermark producerExpirationMs checkpoint mapBytes
 * ioBufferBytes maxIoBytes loadFactor setting=value ...}: answers {@code range}, first dirty offset,
 * first uncleanable offset, bytes before and between, whether {@code max.compaction.lag.ms} is over;
 * then {@code cleaned}, the offset to write into the checkpoint and the seconds of CPU that it took, or
 * {@code failed}, class and message. Without a checkpoint it is {@code -}. A {@code mapBytes} of 0
 * cleans nothing.
 *
 * <p>{@code retain directory now logStart highWatermark producerExpirationMs setting=value ...}:
 * answers {@code retained}, log start offset and log end offset. With {@code remote.storage.enable},
 * what would be copied to remote storage is taken to be there, and the first is the local one.
 *
 * <p>The cleaner was written in Scala up to 4.0, so that classes have other names and interfaces; all
 * are called by reflection, with arguments by their types.
 */
final class CleanerJudge extends Commands {
    private static final String JAVA = "org.apache.kafka.storage.internals.log.";
    private static final String SCALA = "kafka.log.";
    private static final int SETTINGS_TO_CLEAN = 12;
    private static final int SETTINGS_TO_RETAIN = 7;
    private static long now;

    private final Time clock = (Time) Proxy.newProxyInstance(
        Time.class.getClassLoader(), new Class<?>[] {Time.class}, (proxy, method, arguments) -> {
            if (method.getName().equals("milliseconds")) {
                return now;
            }
            try {
                return method.invoke(Time.SYSTEM, arguments);
            } catch (InvocationTargetException error) {
                throw error.getCause();
            }
        });

    @Override
    void execute(String[] fields) throws Exception {
        now = Long.parseLong(fields[3]);
        boolean cleans = fields[1].equals("clean");
        Object config = config(pairs(fields, cleans ? SETTINGS_TO_CLEAN : SETTINGS_TO_RETAIN));
        Object log = open(new File(fields[2]), config, Long.parseLong(fields[4]),
            Integer.parseInt(fields[6]));
        long highWatermark = fields[5].equals("-")
            ? (Long) call(log, "logEndOffset") : Long.parseLong(fields[5]);
        invoke(log, "updateHighWatermark", highWatermark);
        if (has(log, "removeExpiredProducers")) {
            invoke(log, "removeExpiredProducers", now);
        } else {
            invoke(invoke(log, "producerStateManager"), "removeExpiredProducers", now);
        }
        if (cleans) {
            clean(log, fields);
        } else {
            boolean remote = (Boolean) invoke(config, "remoteStorageEnable");
            if (remote) {
                copy(log);
            }
            invoke(log, "deleteOldSegments");
            answer("retained", invoke(log, remote ? "localLogStartOffset" : "logStartOffset"),
                invoke(log, "logEndOffset"));
        }
        invoke(log, "close");
    }

    /** Tells a log that all that its manager of remote storage would copy now is there. */
    private void copy(Object log) throws Exception {
        String name = "org.apache.kafka.server.log.remote.storage.RemoteLogManager";
        Object manager = bare(Class.forName(name));
        set(manager, "time", clock);
        Object task = bare(Class.forName(name + "$RLMCopyTask"));
        set(task, "this$0", manager);
        set(task, "logger", idle(Class.forName("org.slf4j.Logger")));
        List<?> chosen = (List<?>) invoke(task, "candidateLogSegments", log,
            invoke(log, "logStartOffset"), invoke(log, "lastStableOffset"));
        set(log, "remoteStorageSystemEnable", true);
        if (!chosen.isEmpty()) {
            Object last = chosen.get(chosen.size() - 1);
            set(log, "highestOffsetInRemoteStorage",
                (Long) field(last, "nextSegmentOffset").get(last) - 1);
        }
    }

    /** An object whose constructor did not run. */
    private static Object bare(Class<?> type) throws Exception {
        Field own = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
        own.setAccessible(true);
        return ((sun.misc.Unsafe) own.get(null)).allocateInstance(type);
    }

    private static void set(Object target, String name, Object value) throws Exception {
        field(target, name).set(target, value);
    }

    private static Field field(Object target, String name) throws Exception {
        for (Class<?> type = target.getClass(); type != null; type = type.getSuperclass()) {
            for (Field field : type.getDeclaredFields()) {
                if (field.getName().equals(name)) {
                    field.setAccessible(true);
                    return field;
                }
            }
        }
        throw new NoSuchFieldException(target.getClass() + "." + name);
    }

    private void clean(Object log, String[] fields) throws Exception {
        Object manager = module("LogCleanerManager");
        boolean inJava = log.getClass().getName().startsWith(JAVA);
        Long checkpoint = fields[7].equals("-") ? null : Long.valueOf(fields[7]);
        Object option = inJava ? Optional.ofNullable(checkpoint)
            : Class.forName("scala.Option").getMethod("apply", Object.class).invoke(null, checkpoint);
        Object offsets = invoke(manager, "cleanableOffsets", log, option, now);
        long dirty = (Long) invoke(offsets, "firstDirtyOffset");
        long delay = (Long) invoke(manager, "maxCompactionDelay", log, dirty, now);
        Object cleanable = build(type("LogToClean"), log, dirty,
            invoke(offsets, "firstUncleanableDirtyOffset"), delay > 0,
            new TopicPartition("t", 0));
        answer("range", dirty, invoke(cleanable, "firstUncleanableOffset"),
            invoke(cleanable, "cleanBytes"), invoke(cleanable, "cleanableBytes"), delay > 0);
        int bytes = Integer.parseInt(fields[8]);
        if (bytes == 0) {
            return;
        }
        Object map = build(type("SkimpyOffsetMap"), bytes, "MD5");
        Object cleaner = build(type("Cleaner"), 0, map, Integer.valueOf(fields[9]),
            Integer.valueOf(fields[10]), Double.valueOf(fields[11]),
            build(first("org.apache.kafka.storage.internals.utils.Throttler",
                "kafka.utils.Throttler"), Double.MAX_VALUE, 300L, false, "io", "bytes", clock),
            clock, null);
        try {
            ThreadMXBean threads = ManagementFactory.getThreadMXBean();
            long begin = threads.getCurrentThreadCpuTime();
            Object found = invoke(cleaner, "clean", cleanable);
            double seconds = (threads.getCurrentThreadCpuTime() - begin) / 1e9;
            Object end = found instanceof Map.Entry<?, ?> entry ? entry.getKey() : invoke(found, "_1");
            answer("cleaned", end, seconds);
        } catch (Throwable error) {
            Throwable root = root(error);
            root.printStackTrace();
            answer("failed", root.getClass().getSimpleName(), root.getMessage());
        }
    }

    private Object config(Map<String, String> settings) throws Exception {
        Object none = null;
        try {
            Object module = Class.forName("scala.collection.immutable.HashSet$").getField("MODULE$")
                .get(null);
            none = invoke(module, "empty");
        } catch (ClassNotFoundException error) {
            // no Scala in this release
        }
        return build(type("LogConfig"), new HashMap<>(settings), none);
    }

    /** Loads a log as after a clean stop. */
    private Object open(File directory, Object config, long start, int expirationMs)
        throws Exception {
        Deque<Object> longs = new ArrayDeque<>(List.of(start, 0L));
        Object owner = null;
        List<Method> makers = new ArrayList<>();
        for (String name : new String[] {JAVA + "UnifiedLog", SCALA + "UnifiedLog$", SCALA + "Log$"}) {
            try {
                Class<?> found = Class.forName(name);
                owner = name.endsWith("$") ? found.getField("MODULE$").get(null) : null;
                for (Method method : found.getMethods()) {
                    if (method.getName().equals(owner == null ? "create" : "apply")
                        && !method.isBridge()) {
                        makers.add(method);
                    }
                }
                if (!makers.isEmpty()) {
                    break;
                }
            } catch (ClassNotFoundException error) {
                // of another release
            }
        }
        Method maker = makers.stream()
            .min((a, b) -> Integer.compare(a.getParameterCount(), b.getParameterCount())).get();
        List<Object> values = new ArrayList<>();
        for (Class<?> type : maker.getParameterTypes()) {
            if (type == File.class) {
                values.add(directory);
            } else if (type.isInstance(config)) {
                values.add(config);
            } else if (type == long.class) {
                values.add(longs.pop());
            } else if (type == int.class) {
                values.add(expirationMs);
            } else if (type == boolean.class) {
                values.add(true);
            } else if (type == Time.class) {
                values.add(clock);
            } else if (none(type) != null) {
                values.add(none(type));
            } else if (type == ConcurrentMap.class) {
                values.add(new ConcurrentHashMap<>());
            } else if (type.isInterface()) {
                values.add(idle(type));
            } else if (type.getSimpleName().equals("ProducerStateManagerConfig")) {
                values.add(build(type, expirationMs, false));
            } else { // LogDirFailureChannel, BrokerTopicStats
                values.add(build(type, 1, false));
            }
        }
        return run(maker, owner, values.toArray());
    }

    /** An object that does nothing. */
    private static Object idle(Class<?> type) {
        return Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type},
            (proxy, method, arguments) -> {
                Class<?> result = method.getReturnType();
                return result == boolean.class ? (Object) false
                    : result == long.class ? (Object) 0L : result == int.class ? (Object) 0
                    : result.isInterface() ? idle(result) : null;
            });
    }

    private static Class<?> first(String... names) throws ClassNotFoundException {
        for (String name : names) {
            try {
                return Class.forName(name);
            } catch (ClassNotFoundException error) {
                // of another release
            }
        }
        throw new ClassNotFoundException(Arrays.toString(names));
    }

    private static Class<?> type(String name) throws ClassNotFoundException {
        return first(JAVA + name, SCALA + name);
    }

    /** The class, or the object of that name in Scala. */
    private static Object module(String name) throws Exception {
        try {
            return Class.forName(SCALA + name + "$").getField("MODULE$").get(null);
        } catch (ClassNotFoundException error) {
            return Class.forName(JAVA + name);
        }
    }

    /** Calls the constructor whose parameters these values fit, each used once, in their order. */
    private static Object build(Class<?> type, Object... values) throws Exception {
        for (Constructor<?> maker : type.getDeclaredConstructors()) {
            Object[] fitting = fitting(maker, values);
            if (fitting != null) {
                maker.setAccessible(true);
                try {
                    return maker.newInstance(fitting);
                } catch (InvocationTargetException error) {
                    throw error.getCause() instanceof Exception cause ? cause : error;
                }
            }
        }
        throw new NoSuchMethodException("constructor of " + type);
    }

    private static Object none(Class<?> type) throws Exception {
        return type == Optional.class ? Optional.empty()
            : type.getName().equals("scala.Option") ? type.getMethod("empty").invoke(null) : null;
    }

    private static Object[] fitting(Executable maker, Object... values) throws Exception {
        List<Object> left = new ArrayList<>(Arrays.asList(values));
        List<Object> found = new ArrayList<>();
        for (Class<?> type : maker.getParameterTypes()) {
            int at = -1;
            for (int number = 0; number < left.size() && at < 0; number++) {
                if (left.get(number) != null && boxed(type).isInstance(left.get(number))) {
                    at = number;
                }
            }
            if (at >= 0) {
                found.add(left.remove(at));
            } else if (none(type) != null) {
                found.add(none(type));
            } else if (type.isInterface()) {
                found.add(idle(type));
            } else {
                return null;
            }
        }
        return found.toArray();
    }

    private static Class<?> boxed(Class<?> type) {
        return type == int.class ? Integer.class : type == long.class ? Long.class
            : type == boolean.class ? Boolean.class : type == double.class ? Double.class : type;
    }

    private static boolean has(Object target, String name) {
        return Arrays.stream(target.getClass().getMethods()).anyMatch(m -> m.getName().equals(name));
    }

    /** Calls a method by its name and the number of its arguments; of a class, a static one. */
    private static Object invoke(Object target, String name, Object... values) throws Exception {
        Class<?> type = target instanceof Class<?> own ? own : target.getClass();
        for (Class<?> holder = type; holder != null; holder = holder.getSuperclass()) {
            for (Method method : holder.getDeclaredMethods()) {
                boolean named = method.getName().equals(name) || method.getName().endsWith("$$" + name);
                if (named && method.getParameterCount() == values.length && takesAll(method, values)) {
                    boolean plain = Modifier.isStatic(method.getModifiers());
                    return run(method, plain ? null : target, values);
                }
            }
        }
        throw new NoSuchMethodException(type + "." + name);
    }

    private static boolean takesAll(Method method, Object... values) {
        Class<?>[] types = method.getParameterTypes();
        for (int number = 0; number < types.length; number++) {
            if (values[number] != null && !boxed(types[number]).isInstance(values[number])) {
                return false;
            }
        }
        return true;
    }

    private static Object run(Method method, Object target, Object... values) throws Exception {
        method.setAccessible(true);
        try {
            return method.invoke(target, values);
        } catch (InvocationTargetException error) {
            throw error.getCause() instanceof Exception cause ? cause : error;
        }
    }
}
