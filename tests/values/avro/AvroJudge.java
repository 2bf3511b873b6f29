import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.apache.avro.NameValidator;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericFixed;
import org.apache.avro.generic.IndexedRecord;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.DecoderFactory;

/** Reads payloads of one schema as another with Apache Avro; answers with Avro's JSON encoding. */
public final class AvroJudge {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  public static void main(String[] arguments) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    BufferedWriter out = new BufferedWriter(new OutputStreamWriter(System.out, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      List<String> answers = new ArrayList<>();
      try {
        JsonNode asked = MAPPER.readTree(line);
        Schema writer = parse(asked.get("writer"));
        Schema reader = parse(asked.get("reader"));
        GenericDatumReader<Object> source = new GenericDatumReader<>(writer, reader, new GenericData());
        for (JsonNode row : asked.get("rows")) {
          answers.add(read(source, reader, Base64.getDecoder().decode(row.asText())));
        }
      } catch (Exception | StackOverflowError error) {
        answers.clear();
        answers.add(MAPPER.writeValueAsString("schema: " + error));
      }
      out.write("[" + String.join(",", answers) + "]\n");
    }
    out.flush();
  }

  private static Schema parse(JsonNode text) {
    Schema.Parser parser = new Schema.Parser(NameValidator.NO_VALIDATION);
    return parser.setValidateDefaults(false).parse(text.asText());
  }

  private static String read(GenericDatumReader<Object> source, Schema reader, byte[] raw) {
    try {
      BinaryDecoder decoder = DecoderFactory.get().binaryDecoder(raw, null);
      Object value = source.read(null, decoder);
      if (!decoder.isEnd()) {
        return "{\"error\":\"trailing\"}";
      }
      return "{\"value\":" + json(value, reader) + "}";
    } catch (Exception | StackOverflowError error) {
      return "{\"error\":\"" + error.getClass().getSimpleName() + "\"}";
    }
  }

  /** Avro's JSON encoding; its own encoder writes nothing for a record without fields. */
  private static String json(Object value, Schema schema) throws Exception {
    List<String> parts = new ArrayList<>();
    switch (schema.getType()) {
      case RECORD:
        for (Schema.Field field : schema.getFields()) {
          Object item = ((IndexedRecord) value).get(field.pos());
          parts.add(text(field.name()) + ":" + json(item, field.schema()));
        }
        return "{" + String.join(",", parts) + "}";
      case ARRAY:
        for (Object item : (Collection<?>) value) {
          parts.add(json(item, schema.getElementType()));
        }
        return "[" + String.join(",", parts) + "]";
      case MAP:
        for (Map.Entry<?, ?> item : ((Map<?, ?>) value).entrySet()) {
          parts.add(text(item.getKey()) + ":" + json(item.getValue(), schema.getValueType()));
        }
        return "{" + String.join(",", parts) + "}";
      case UNION:
        Schema branch = schema.getTypes().get(GenericData.get().resolveUnion(schema, value));
        String inner = json(value, branch);
        return value == null ? inner : "{" + text(branch.getFullName()) + ":" + inner + "}";
      case BYTES:
        ByteBuffer buffer = ((ByteBuffer) value).duplicate();
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        return text(new String(bytes, StandardCharsets.ISO_8859_1));
      case FIXED:
        return text(new String(((GenericFixed) value).bytes(), StandardCharsets.ISO_8859_1));
      case ENUM:
      case STRING:
        return text(value);
      case FLOAT:
      case DOUBLE:
        double number = ((Number) value).doubleValue();
        return Double.isFinite(number) ? Double.toString(number) : text(number);
      default:
        return String.valueOf(value);
    }
  }

  private static String text(Object value) throws Exception {
    return MAPPER.writeValueAsString(value.toString());
  }
}
