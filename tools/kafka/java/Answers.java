import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.HexFormat;

/** Lines to standard output: a record as offset, timestamp and a digest of its content. */
final class Answers {
    private static final int SHOWN = 8;
    private final PrintStream out;

    /** Whatever else prints to standard output, as some logging does, goes to standard error. */
    Answers() throws Exception {
        out = new PrintStream(new FileOutputStream(FileDescriptor.out), true, "UTF-8");
        System.setOut(System.err);
    }

    /** {@code headers}: key, value, key, value... */
    void record(long offset, long timestamp, byte[] key, byte[] value, byte[][] headers)
            throws Exception {
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        add(digest, key);
        add(digest, value);
        for (byte[] each : headers) {
            add(digest, each);
        }
        out.println("record\t" + offset + "\t" + timestamp + "\t"
            + HexFormat.of().formatHex(digest.digest(), 0, SHOWN));
    }

    void line(Object... fields) {
        StringBuilder text = new StringBuilder();
        for (Object field : fields) {
            text.append(text.length() == 0 ? "" : "\t").append(field);
        }
        out.println(text);
    }

    void failed(Throwable problem) {
        problem.printStackTrace();
        line("error", problem.toString().replaceAll("\\s+", " "));
    }

    private static void add(MessageDigest digest, byte[] data) {
        digest.update(ByteBuffer.allocate(4).putInt(data == null ? -1 : data.length).array());
        if (data != null) {
            digest.update(data);
        }
    }

    static byte[] utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
