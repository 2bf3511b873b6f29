import java.io.File;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.util.StringJoiner;
import org.apache.kafka.common.record.*;
import org.apache.kafka.common.record.internal.*;
import org.apache.kafka.common.utils.ByteUtils;
import org.apache.kafka.storage.internals.log.AbortedTxn;
import org.apache.kafka.storage.internals.log.BatchMetadata;
import org.apache.kafka.storage.internals.log.OffsetIndex;
import org.apache.kafka.storage.internals.log.OffsetPosition;
import org.apache.kafka.storage.internals.log.ProducerStateEntry;
import org.apache.kafka.storage.internals.log.ProducerStateManager;
import org.apache.kafka.storage.internals.log.TimeIndex;
import org.apache.kafka.storage.internals.log.TimestampOffset;
import org.apache.kafka.storage.internals.log.TransactionIndex;

/**
 * {@code type data base-offset}, types as the specification calls them: answers {@code read} and the
 * numbers that Kafka's own class reads from the data, or {@code refused} and why.
 */
final class FormatJudge extends Commands {
    @Override
    void execute(String[] fields) throws Exception {
        try {
            answer("read", read(fields[1], bytes(fields[2]), Long.parseLong(fields[3])));
        } catch (Exception | LinkageError error) {
            answer("refused", error instanceof InvocationTargetException ? error.getCause() : error);
        }
    }

    private static String read(String type, byte[] data, long base) throws Exception {
        ByteBuffer buffer = ByteBuffer.wrap(data);
        switch (type) {
            case "varint32":
                return ByteUtils.readVarint(buffer) + " " + buffer.position();
            case "varint64":
                return ByteUtils.readVarlong(buffer) + " " + buffer.position();
            case "unsigned_varint32":
                return Integer.toUnsignedLong(ByteUtils.readUnsignedVarint(buffer)) + " " + buffer.position();
            case "control_record_key":
                return String.valueOf(ControlRecordType.parseTypeId(buffer));
            case "end_transaction_marker":
                return marker(buffer);
            case "leader_change_message":
                return String.valueOf(ControlRecordUtils.deserializeLeaderChangeMessage(buffer).leaderId());
            case "snapshot_header_record":
                return String.valueOf(
                    ControlRecordUtils.deserializeSnapshotHeaderRecord(buffer).lastContainedLogTimestamp());
            case "snapshot_footer_record":
                ControlRecordUtils.deserializeSnapshotFooterRecord(buffer);
                return "";
            case "kraft_version_record":
                return String.valueOf(ControlRecordUtils.deserializeKRaftVersionRecord(buffer).kRaftVersion());
            case "voters_record":
                return String.valueOf(ControlRecordUtils.deserializeVotersRecord(buffer).voters().size());
            default:
                File file = new File(String.format("%020d.%s", base, type));
                Files.write(file.toPath(), data);
                return file(type, file, base);
        }
    }

    private static String marker(ByteBuffer buffer) throws Exception {
        Method method = EndTransactionMarker.class.getDeclaredMethod(
            "deserializeValue", ControlRecordType.class, ByteBuffer.class);
        method.setAccessible(true);
        Object found = method.invoke(null, ControlRecordType.COMMIT, buffer);
        return String.valueOf(((EndTransactionMarker) found).coordinatorEpoch());
    }

    private static String file(String type, File file, long base) throws Exception {
        StringJoiner text = new StringJoiner(" ");
        switch (type) {
            case "transaction_index":
                for (AbortedTxn each : new TransactionIndex(base, file).allAbortedTxns()) {
                    text.add(each.producerId() + "," + each.firstOffset() + "," + each.lastOffset() + ","
                        + each.lastStableOffset());
                }
                break;
            case "producer_snapshot":
                for (ProducerStateEntry each : ProducerStateManager.readSnapshot(file)) {
                    text.add(entry(each));
                }
                break;
            case "offset_index":
            case "offset_index_entry":
                OffsetIndex offsets = new OffsetIndex(file, base, -1, false);
                for (int number = 0; number < offsets.entries(); number++) {
                    OffsetPosition each = offsets.entry(number);
                    text.add(each.offset() + "," + each.position());
                }
                if (type.equals("offset_index")) {
                    offsets.sanityCheck();
                }
                break;
            case "time_index":
            case "time_index_entry":
                TimeIndex times = new TimeIndex(file, base, -1, false);
                for (int number = 0; number < times.entries(); number++) {
                    TimestampOffset each = times.entry(number);
                    text.add(each.timestamp() + "," + each.offset());
                }
                if (type.equals("time_index")) {
                    times.sanityCheck();
                }
                break;
            default:
                throw new IllegalArgumentException(type);
        }
        return text.toString();
    }

    /** Kafka keeps the last batch only where it has an offset, and a first offset likewise. */
    private static String entry(ProducerStateEntry entry) {
        StringJoiner text = new StringJoiner(",");
        text.add(String.valueOf(entry.producerId())).add(String.valueOf(entry.producerEpoch()));
        text.add(String.valueOf(entry.coordinatorEpoch()));
        text.add(String.valueOf(entry.lastTimestamp()));
        text.add(String.valueOf(entry.currentTxnFirstOffset().orElse(-1)));
        for (BatchMetadata batch : entry.batchMetadata()) {
            text.add(batch.lastSeq() + ":" + batch.lastOffset() + ":" + batch.offsetDelta());
        }
        return text.toString();
    }
}
