import java.io.PrintStream;

/**
 * A command of the driver that not every client can do: compiled for the versions that have it, and
 * found by the name of its class.
 */
interface Command {
    /** Does what the fields after the command's name say; {@code out} takes lines before the ok. */
    void execute(String bootstrap, String[] fields, PrintStream out) throws Exception;
}
