import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * {@code class path option...}: runs the main method of the dump tool on a file, and answers what it
 * prints to standard output and to standard error, and how it ended.
 */
final class Dump extends Commands {
    private final ByteArrayOutputStream output = new ByteArrayOutputStream();
    private final ByteArrayOutputStream errors = new ByteArrayOutputStream();

    Dump() throws Exception {
        // Before any class of Scala or of a logging binding takes hold of the streams.
        System.setOut(new PrintStream(output, true, "UTF-8"));
        System.setErr(new PrintStream(errors, true, "UTF-8"));
        forbidExit();
    }

    @Override
    void execute(String[] fields) throws Exception {
        Method main = Class.forName(fields[1]).getMethod("main", String[].class);
        List<String> options = new ArrayList<>(Arrays.asList(fields).subList(3, fields.length));
        options.add("--files");
        options.add(fields[2]);
        output.reset();
        errors.reset();
        String end = run(main, options);
        System.out.flush();
        System.err.flush();
        answer(output.toByteArray(), errors.toByteArray(), end);
    }

    private static String run(Method main, List<String> arguments) throws Exception {
        try {
            main.invoke(null, (Object) arguments.toArray(new String[0]));
            return "ok";
        } catch (InvocationTargetException failure) {
            Throwable cause = failure.getCause();
            cause.printStackTrace();
            return cause.getClass().getName();
        }
    }

    /** Kafka's own way to leave the process becomes an exception; it does not exist before 0.11. */
    private static void forbidExit() throws Exception {
        Class<?> exit;
        Class<?> procedure;
        try {
            exit = Class.forName("org.apache.kafka.common.utils.Exit");
            procedure = Class.forName("org.apache.kafka.common.utils.Exit$Procedure");
        } catch (ClassNotFoundException none) {
            return;
        }
        Object refuse = Proxy.newProxyInstance(procedure.getClassLoader(), new Class<?>[] {procedure},
            (proxy, method, values) -> {
                throw new IllegalStateException("exit " + values[0]);
            });
        exit.getMethod("setExitProcedure", procedure).invoke(null, refuse);
    }
}
