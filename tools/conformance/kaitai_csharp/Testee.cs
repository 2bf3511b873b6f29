// The specification, compiled to C#, as a testee. Arguments: types.json and a version.

using System;
using System.Collections;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Text;
using System.Web.Script.Serialization;
using Kaitai;
using Spec;

using Fields = System.Collections.Generic.Dictionary<string, object>;

public static class Testee
{
    private static readonly JavaScriptSerializer Json = new JavaScriptSerializer
        { MaxJsonLength = int.MaxValue };
    private static readonly Dictionary<string, Type> Classes = new Dictionary<string, Type>();
    private static readonly Dictionary<Type, Fields> Types = new Dictionary<Type, Fields>();

    private static string Version;

    public static void Main(string[] arguments)
    {
        Version = arguments[1];
        var types = (Fields)Json.DeserializeObject(File.ReadAllText(arguments[0]));
        foreach (var type in types)
        {
            Classes[type.Key] = ClassOf(type.Key);
            Types[Classes[type.Key]] = (Fields)type.Value;
        }
        var output = new StreamWriter(Console.OpenStandardOutput(), new UTF8Encoding(false));
        for (string line; (line = Console.ReadLine()) != null;)
        {
            var request = (Fields)Json.DeserializeObject(line);
            Fields found = Answer(request);
            found["id"] = request["id"];
            var text = new StringBuilder();
            Write(text, found);
            output.Write(text.Append('\n'));
            output.Flush();
        }
    }

    private static Type ClassOf(string key)
    {
        string[] parts = key.Split('.');
        string name = "Spec." + Camel(parts[0]);
        string nested = parts[0] == parts[1] ? name : name + "+" + Camel(parts[1]);
        return typeof(Recordbatch).Assembly.GetType(nested, true);
    }

    private static Fields Answer(Fields request)
    {
        try
        {
            return Decode(request);
        }
        catch (TargetInvocationException error)
        {
            return new Fields { ["error"] = error.InnerException.GetType() + ": "
                + error.InnerException.Message };
        }
        catch (Exception error)
        {
            return new Fields { ["error"] = error.GetType() + ": " + error.Message };
        }
    }

    private static Fields Decode(Fields request)
    {
        string kind = (string)request["kind"];
        switch (kind)
        {
            case "hello":
                return new Fields { ["protocol"] = 1, ["name"] = "Kaitai Struct C#",
                    ["version"] = Version,
                    ["kinds"] = new[] { "log", "control_records", "offset_index", "time_index",
                        "transaction_index", "producer_snapshot", "type" } };
            case "log":
                return new Fields { ["records"] = Records(request) };
            case "control_records":
                return new Fields { ["control_records"] = ControlRecords(request) };
            case "offset_index":
            case "time_index":
                return Entries("index." + kind, request, Convert.ToInt64(request["base_offset"]));
            case "transaction_index":
            case "producer_snapshot":
                return Entries(kind + "." + kind, request);
            default:
                KaitaiStruct value = Parse(request);
                return new Fields { ["value"] = Tree(value), ["end"] = value.M_Io.Pos };
        }
    }

    private static Fields Entries(string key, Fields request, params object[] parameters)
    {
        KaitaiStruct file = Parse(key, Bytes(request["data"]), parameters);
        return new Fields { ["entries"] = Tree(file.GetType().GetProperty("Entries")
            .GetValue(file)) };
    }

    // -- logs -------------------------------------------------------------------------------------

    private static void Walk(Fields request,
        Action<Recordbatch.RecordBatch, List<Recordbatch.FramedRecord>> onBatch,
        Action<Recordbatch.LegacyMessage, long, long?> onMessage)
    {
        object[] given = request.TryGetValue("decompressed", out object found)
            ? (object[])found : new object[0];
        var entries = new Recordbatch(Stream(Bytes(request["data"]))).Entries;
        for (int index = 0; index < entries.Count; index++)
        {
            byte[] payload = index < given.Length && given[index] != null
                ? Bytes(given[index]) : null;
            if (entries[index].Message.Content is Recordbatch.RecordBatch batch)
            {
                var set = new Recordbatch.RecordSet(batch, Stream(payload ?? batch.Records));
                onBatch(batch, set.Records);
                continue;
            }
            var message = (Recordbatch.LegacyMessage)entries[index].Message.Content;
            if (message.Attributes.Compression == Recordbatch.CompressionType.None)
                onMessage(message, message.Offset, message.Timestamp);
            else
                Unwrap(message, new Recordbatch(Stream(payload)).Entries, onMessage);
        }
    }

    private static void Unwrap(Recordbatch.LegacyMessage wrapper, List<Recordbatch.Entry> inner,
        Action<Recordbatch.LegacyMessage, long, long?> onMessage)
    {
        long last = inner[inner.Count - 1].BaseOffset;
        bool relative = wrapper.Magic == 1 && wrapper.Offset != 0;
        bool appended = wrapper.Magic == 1
            && wrapper.Attributes.TimestampType == Recordbatch.TimestampType.LogAppendTime;
        foreach (var entry in inner)
        {
            var message = (Recordbatch.LegacyMessage)entry.Message.Content;
            long offset = entry.BaseOffset + (relative ? wrapper.Offset - last : 0);
            bool timed = appended && message.Magic == 1;
            onMessage(message, offset, timed ? wrapper.Timestamp : message.Timestamp);
        }
    }

    private static List<object> Records(Fields request)
    {
        var found = new List<object>();
        Walk(request, (batch, records) =>
        {
            if (batch.Attributes.IsControl)
                return;
            foreach (var record in records.Select(framed => framed.Body))
            {
                var headers = record.Headers
                    .Select(header => new[] { Tree(header.Key), Tree(header.Value) }).ToList();
                found.Add(Record(record.Offset, record.Timestamp, record.Key, record.Value,
                    headers));
            }
        }, (message, offset, timestamp) =>
            found.Add(Record(offset, timestamp, message.Key, message.Value, new object[0])));
        return found;
    }

    private static Fields Record(
        long offset, long? timestamp, object key, object value, object headers)
    {
        return new Fields { ["offset"] = offset, ["timestamp"] = timestamp, ["key"] = Tree(key),
            ["value"] = Tree(value), ["headers"] = headers };
    }

    private static List<object> ControlRecords(Fields request)
    {
        var found = new List<object>();
        Walk(request, (batch, records) =>
        {
            if (!batch.Attributes.IsControl)
                return;
            foreach (var record in records.Select(framed => framed.Body))
            {
                var key = new ControlRecord.ControlRecordKey(Stream(record.Key.Value));
                var value = new ControlRecord.ControlRecordValue(
                    (short)key.Type, Stream(record.Value.Value));
                var item = new Fields { ["offset"] = record.Offset, ["type"] = (int)key.Type };
                if (value.Body is ControlRecord.EndTransactionMarker marker)
                    item["coordinator_epoch"] = marker.CoordinatorEpoch;
                found.Add(item);
            }
        }, (message, offset, timestamp) => { });
        return found;
    }

    // -- any type ---------------------------------------------------------------------------------

    private static KaitaiStruct Parse(Fields given)
    {
        var parameters = ((object[])given["parameters"])
            .Select(item => item is Fields inner ? Parse(inner) : item).ToArray();
        return Parse((string)given["type"], Bytes(given["data"]), parameters);
    }

    private static KaitaiStruct Parse(string key, byte[] data, params object[] parameters)
    {
        ConstructorInfo constructor = Classes[key].GetConstructors().Single();
        ParameterInfo[] wanted = constructor.GetParameters();
        var arguments = new object[wanted.Length]; // the last two are null: parent and root
        for (int index = 0; index < parameters.Length; index++)
        {
            object value = parameters[index];
            arguments[index] = value is KaitaiStruct
                ? value : Convert.ChangeType(value, wanted[index].ParameterType);
        }
        arguments[parameters.Length] = Stream(data);
        return (KaitaiStruct)constructor.Invoke(arguments);
    }

    private static KaitaiStream Stream(byte[] data)
    {
        return new KaitaiStream(data);
    }

    /// <summary>A value as an answer has it: structures by the specification's names.</summary>
    private static object Tree(object value)
    {
        if (value is Enum)
            return Convert.ToInt64(value);
        if (value is KaitaiStruct structure)
            return Structure(structure);
        if (value is IList items && !(value is byte[]))
            return items.Cast<object>().Select(Tree).ToList();
        return value;
    }

    private static object Structure(KaitaiStruct value)
    {
        Fields type = Types[value.GetType()];
        if ((bool)type["scalar"])
            return Tree(value.GetType().GetProperty("Value").GetValue(value));
        var found = new Fields();
        foreach (PropertyInfo property in value.GetType().GetProperties())
        {
            string name = Snake(property.Name);
            if (!name.StartsWith("m_") && !((object[])type["parameters"]).Contains(name))
                found[name] = Tree(property.GetValue(value));
        }
        return found;
    }

    private static byte[] Bytes(object text)
    {
        return Convert.FromBase64String((string)text);
    }

    private static void Write(StringBuilder output, object value)
    {
        if (value == null)
            output.Append("null");
        else if (value is string text)
            output.Append(Json.Serialize(text));
        else if (value is byte[] data)
            output.Append('"').Append(Convert.ToBase64String(data)).Append('"');
        else if (value is Fields fields)
            All(output, '{', fields, '}', field =>
            {
                output.Append('"').Append(field.Key).Append("\":");
                Write(output, field.Value);
            });
        else if (value is IEnumerable items)
            All(output, '[', items.Cast<object>(), ']', item => Write(output, item));
        else if (value is bool truth)
            output.Append(truth ? "true" : "false");
        else if (value is float || value is double) // what JSON has not, as Python writes it
            output.Append(Convert.ToDouble(value).ToString("R", CultureInfo.InvariantCulture));
        else
            output.Append(Convert.ToString(value, CultureInfo.InvariantCulture));
    }

    private static void All<T>(StringBuilder output, char open, IEnumerable<T> items, char end,
        Action<T> write)
    {
        output.Append(open);
        bool first = true;
        foreach (T item in items)
        {
            if (!first)
                output.Append(',');
            first = false;
            write(item);
        }
        output.Append(end);
    }

    private static string Camel(string name)
    {
        return string.Concat(name.Split('_')
            .Select(part => char.ToUpperInvariant(part[0]) + part.Substring(1)));
    }

    private static string Snake(string name)
    {
        return string.Concat(name.Select((letter, index) => char.IsUpper(letter)
            ? (index == 0 ? "" : "_") + char.ToLowerInvariant(letter) : letter.ToString()));
    }
}
