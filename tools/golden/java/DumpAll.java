import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Runs the dump tool's main method over many files in one process.
 *
 * <p>Argument: the tool's class. Standard input: a line a file, its path and the options, separated by
 * tabs. Standard output, a file: a line {@code path<TAB>bytes of output<TAB>bytes of errors<TAB>how it
 * ended}, then these bytes.
 */
public final class DumpAll {
    private static final ByteArrayOutputStream OUTPUT = new ByteArrayOutputStream();
    private static final ByteArrayOutputStream ERRORS = new ByteArrayOutputStream();

    private DumpAll() {
    }

    public static void main(String[] args) throws Exception {
        PrintStream answers = new PrintStream(new FileOutputStream(FileDescriptor.out), false, "UTF-8");
        // Before any class of Scala or of a logging binding takes hold of the streams.
        System.setOut(new PrintStream(OUTPUT, true, "UTF-8"));
        System.setErr(new PrintStream(ERRORS, true, "UTF-8"));
        forbidExit();
        Method main = Class.forName(args[0]).getMethod("main", String[].class);
        BufferedReader lines =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            List<String> fields = new ArrayList<>(Arrays.asList(line.split("\t")));
            String path = fields.remove(0);
            fields.add("--files");
            fields.add(path);
            String end = run(main, fields);
            System.out.flush();
            System.err.flush();
            answers.print(path + "\t" + OUTPUT.size() + "\t" + ERRORS.size() + "\t" + end + "\n");
            OUTPUT.writeTo(answers);
            ERRORS.writeTo(answers);
            OUTPUT.reset();
            ERRORS.reset();
        }
        answers.flush();
        Runtime.getRuntime().halt(0);
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
