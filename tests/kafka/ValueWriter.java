package org.apache.kafka.streams.state.internals;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.kstream.TimeWindowedSerializer;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.kstream.internals.TimeWindow;
import org.apache.kafka.streams.processor.internals.ProcessorRecordContext;

/** Writes random keys and values by Kafka's own classes: format, bytes in base64, meaning as JSON. */
public final class ValueWriter {
  private static final Random CHANCE = new Random(7);
  private static final String[] TEXTS = {"", "a", "Zażółć", "k\u0000", "\uD83D\uDE00"};

  public static void main(String[] arguments) {
    int count = Integer.parseInt(arguments[0]);
    for (int row = 0; row < count; row++) {
      list("long", Serdes.Long(), CHANCE::nextLong);
      list("int", Serdes.Integer(), CHANCE::nextInt);
      list("short", Serdes.Short(), () -> (short) CHANCE.nextInt());
      list("double", Serdes.Double(), CHANCE::nextDouble);
      list("boolean", Serdes.Boolean(), CHANCE::nextBoolean);
      list("uuid", Serdes.UUID(), () -> new UUID(CHANCE.nextLong(), CHANCE.nextLong()));
      list("text", Serdes.String(), ValueWriter::text);
      streams();
    }
  }

  private static <T> void list(String name, Serde<T> serde, Supplier<T> make) {
    List<T> items = new ArrayList<>();
    for (int left = CHANCE.nextInt(5); left > 0; left--) {
      items.add(CHANCE.nextInt(4) == 0 ? null : make.get());
    }
    byte[] data = Serdes.ListSerde(ArrayList.class, serde).serializer().serialize("t", items);
    show("list<" + name + ">", data, json(items));
  }

  private static void streams() {
    String key = text();
    Bytes octets = Bytes.wrap(new StringSerializer().serialize("t", key));
    long start = CHANCE.nextInt();
    long end = start + CHANCE.nextInt(9);
    int sequence = CHANCE.nextInt();
    show("streams-window-store<text>", WindowKeySchema.toStoreKeyBinary(octets, start, sequence).get(),
        json(Arrays.asList(key, start, sequence)));
    show("streams-session<text>", SessionKeySchema.toBinary(octets, start, end).get(),
        json(Arrays.asList(key, end, start)));
    long from = Math.abs(start);
    show("streams-windowed<text>", new TimeWindowedSerializer<>(new StringSerializer())
        .serialize("t", new Windowed<>(key, new TimeWindow(from, from + 1))), json(Arrays.asList(key, from)));
    boolean isLeft = CHANCE.nextBoolean();
    show("streams-join-side-key<text>", new TimestampedKeyAndJoinSideSerializer<>(new StringSerializer())
        .serialize("t", new RecordHeaders(), isLeft ? TimestampedKeyAndJoinSide.makeLeft(key, start)
            : TimestampedKeyAndJoinSide.makeRight(key, start)), json(Arrays.asList(start, isLeft, key)));
    LeftOrRightValue<String, Long> side =
        isLeft ? LeftOrRightValue.makeLeftValue(key) : LeftOrRightValue.makeRightValue(end);
    show("streams-join-side-value<text,long>",
        new LeftOrRightValueSerializer<>(new StringSerializer(), Serdes.Long().serializer())
            .serialize("t", new RecordHeaders(), side),
        json(Arrays.asList(isLeft, isLeft ? key : null, isLeft ? null : end)));
    suppressed();
  }

  private static void suppressed() {
    String prior = maybe();
    String old = CHANCE.nextBoolean() ? prior : maybe();
    String now = maybe();
    RecordHeaders headers = new RecordHeaders();
    for (int left = CHANCE.nextInt(3); left > 0; left--) {
      headers.add(text(), CHANCE.nextBoolean() ? null : octets(text()));
    }
    long timestamp = CHANCE.nextInt();
    long time = CHANCE.nextInt();
    long offset = CHANCE.nextLong();
    ByteBuffer buffer = new BufferValue(octets(prior), octets(old), octets(now),
        new ProcessorRecordContext(timestamp, offset, 3, "topic", headers)).serialize(Long.BYTES);
    buffer.putLong(time);
    show("streams-suppress<text>", buffer.array(),
        json(Arrays.asList(time, timestamp, offset, "topic", 3, headers.toArray().length, prior, old, now)));
  }

  private static byte[] octets(String text) {
    return text == null ? null : new StringSerializer().serialize("t", text);
  }

  private static String text() {
    return TEXTS[CHANCE.nextInt(TEXTS.length)];
  }

  private static String maybe() {
    return CHANCE.nextInt(3) == 0 ? null : text();
  }

  private static String json(List<?> items) {
    return items.stream().map(ValueWriter::one).collect(Collectors.joining(",", "[", "]"));
  }

  private static String one(Object item) {
    if (item == null || item instanceof Number || item instanceof Boolean) {
      return String.valueOf(item);
    }
    String escaped = item.toString().chars()
        .mapToObj(each -> String.format("\\u%04x", each)).collect(Collectors.joining());
    return '"' + escaped + '"';
  }

  private static void show(String name, byte[] data, String meaning) {
    System.out.println(name + "\t" + Base64.getEncoder().encodeToString(data) + "\t" + meaning);
  }
}
