// The specification, compiled to Go, as a testee. Argument: types.json.
//
// The builder writes constructors.go beside it: the constructor of each type, by its key.
package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"reflect"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"

	"github.com/kaitai-io/kaitai_struct_go_runtime/kaitai"
	"kafkaspec/spec"
)

// What Linux promises beyond its memory, and does not give before it is written, would otherwise
// decide what becomes of an allocation of any size.
const mostAddresses = 2 << 30

type layout struct {
	Scalar     bool
	Parameters []string
}

type given struct {
	Kind         string
	Id           json.RawMessage
	Type         string
	Data         []byte
	Parameters   []json.RawMessage
	BaseOffset   int64 `json:"base_offset"`
	Decompressed []*[]byte
}

type object map[string]any

var layouts map[string]layout
var keys = map[reflect.Type]string{}

// Members of the generated classes that are no fields.
var others = map[string]bool{"Read": true, "IO_": true}

func main() {
	text, err := os.ReadFile(os.Args[1])
	if err == nil {
		err = json.Unmarshal(text, &layouts)
	}
	if err != nil {
		panic(err)
	}
	for key, constructor := range constructors {
		keys[reflect.TypeOf(constructor).Out(0)] = key
	}
	limit := syscall.Rlimit{Cur: mostAddresses, Max: mostAddresses}
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &limit); err != nil {
		panic(err)
	}
	input := bufio.NewReader(os.Stdin)
	output := bufio.NewWriter(os.Stdout)
	for {
		line, err := input.ReadBytes('\n')
		if err != nil {
			return
		}
		var request given
		if err := json.Unmarshal(line, &request); err != nil {
			panic(err)
		}
		found := answer(request)
		found["id"] = request.Id
		write(output, found)
		output.WriteByte('\n')
		output.Flush()
	}
}

func answer(request given) (found object) {
	defer func() {
		if reason := recover(); reason != nil {
			found = object{"error": fmt.Sprint(reason)}
			debug.FreeOSMemory() // the runtime takes what a size says before it looks what is left
		}
	}()
	switch request.Kind {
	case "hello":
		return object{"protocol": 1, "name": "Kaitai Struct Go", "version": version,
			"kinds": []string{"log", "control_records", "offset_index", "time_index",
				"transaction_index", "producer_snapshot", "type"}}
	case "log":
		return object{"records": records(request)}
	case "control_records":
		return object{"control_records": controlRecords(request)}
	case "offset_index", "time_index":
		return entries("index."+request.Kind, request, request.BaseOffset)
	case "transaction_index", "producer_snapshot":
		return entries(request.Kind+"."+request.Kind, request)
	}
	value := parameter(request)
	end := must(value.IO_().Pos())
	return object{"value": value, "end": end}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func entries(key string, request given, parameters ...any) object {
	file := reflect.ValueOf(parse(key, request.Data, parameters...)).Elem()
	return object{"entries": file.FieldByName("Entries").Interface()}
}

// -- logs ----------------------------------------------------------------------------------------

type onBatch func(batch *spec.Recordbatch_RecordBatch, records []*spec.Recordbatch_FramedRecord)
type onMessage func(message *spec.Recordbatch_LegacyMessage, offset int64, timestamp any)

func walk(request given, onBatch onBatch, onMessage onMessage) {
	for index, entry := range log(request.Data) {
		var payload *[]byte
		if index < len(request.Decompressed) {
			payload = request.Decompressed[index]
		}
		switch content := entry.Message.Content.(type) {
		case *spec.Recordbatch_RecordBatch:
			stored := content.Records
			if payload != nil {
				stored = *payload
			}
			set := parse("recordbatch.record_set", stored, content)
			onBatch(content, set.(*spec.Recordbatch_RecordSet).Records)
		case *spec.Recordbatch_LegacyMessage:
			if content.Attributes.Compression == spec.Recordbatch_CompressionType__None {
				onMessage(content, content.Offset, timestamp(content))
			} else {
				unwrap(content, log(*payload), onMessage)
			}
		}
	}
}

func log(data []byte) []*spec.Recordbatch_Entry {
	return parse("recordbatch.recordbatch", data).(*spec.Recordbatch).Entries
}

// Absent fields are zeros in Go: only the version says that magic 0 has no timestamp.
func timestamp(message *spec.Recordbatch_LegacyMessage) any {
	if message.Magic == 0 {
		return nil
	}
	return message.Timestamp
}

func unwrap(
	wrapper *spec.Recordbatch_LegacyMessage, inner []*spec.Recordbatch_Entry, onMessage onMessage,
) {
	last := inner[len(inner)-1].BaseOffset
	relative := wrapper.Magic == 1 && wrapper.Offset != 0
	appended := wrapper.Magic == 1 &&
		wrapper.Attributes.TimestampType == spec.Recordbatch_TimestampType__LogAppendTime
	for _, entry := range inner {
		message := entry.Message.Content.(*spec.Recordbatch_LegacyMessage)
		offset := entry.BaseOffset
		if relative {
			offset += wrapper.Offset - last
		}
		if appended && message.Magic == 1 {
			onMessage(message, offset, wrapper.Timestamp)
		} else {
			onMessage(message, offset, timestamp(message))
		}
	}
}

func records(request given) []object {
	found := []object{}
	walk(request, func(batch *spec.Recordbatch_RecordBatch, all []*spec.Recordbatch_FramedRecord) {
		if batch.Attributes.IsControl {
			return
		}
		for _, framed := range all {
			headers := [][]any{}
			for _, header := range framed.Body.Headers {
				headers = append(headers, []any{header.Key, header.Value})
			}
			found = append(found, object{"offset": must(framed.Body.Offset()),
				"timestamp": must(framed.Body.Timestamp()), "key": framed.Body.Key,
				"value": framed.Body.Value, "headers": headers})
		}
	}, func(message *spec.Recordbatch_LegacyMessage, offset int64, timestamp any) {
		found = append(found, object{"offset": offset, "timestamp": timestamp,
			"key": message.Key, "value": message.Value, "headers": []any{}})
	})
	return found
}

func controlRecords(request given) []object {
	found := []object{}
	walk(request, func(batch *spec.Recordbatch_RecordBatch, all []*spec.Recordbatch_FramedRecord) {
		if !batch.Attributes.IsControl {
			return
		}
		for _, framed := range all {
			record := framed.Body
			key := parse("control_record.control_record_key", record.Key.Value)
			number := int64(key.(*spec.ControlRecord_ControlRecordKey).Type)
			item := object{"offset": must(record.Offset()), "type": number}
			value := parse("control_record.control_record_value", record.Value.Value, number)
			body := value.(*spec.ControlRecord_ControlRecordValue).Body
			if marker, is := body.(*spec.ControlRecord_EndTransactionMarker); is {
				item["coordinator_epoch"] = marker.CoordinatorEpoch
			}
			found = append(found, item)
		}
	}, func(*spec.Recordbatch_LegacyMessage, int64, any) {})
	return found
}

// -- any type ------------------------------------------------------------------------------------

func parameter(request given) kaitai.Struct {
	parameters := []any{}
	for _, item := range request.Parameters {
		var number int64
		if json.Unmarshal(item, &number) == nil {
			parameters = append(parameters, number)
			continue
		}
		var inner given
		if err := json.Unmarshal(item, &inner); err != nil {
			panic(err)
		}
		parameters = append(parameters, parameter(inner))
	}
	return parse(request.Type, request.Data, parameters...)
}

func parse(key string, data []byte, parameters ...any) kaitai.Struct {
	constructor := reflect.ValueOf(constructors[key])
	arguments := []reflect.Value{}
	for index, value := range parameters {
		wanted := constructor.Type().In(index)
		arguments = append(arguments, reflect.ValueOf(value).Convert(wanted))
	}
	made := constructor.Call(arguments)[0]
	read := made.MethodByName("Read")
	arguments = []reflect.Value{reflect.ValueOf(kaitai.NewStream(bytes.NewReader(data)))}
	for index := 1; index < read.Type().NumIn(); index++ {
		arguments = append(arguments, reflect.Zero(read.Type().In(index)))
	}
	if err := read.Call(arguments)[0]; !err.IsNil() {
		panic(err.Interface())
	}
	return made.Interface().(kaitai.Struct)
}

// Writes a value as an answer has it: structures by the names of the specification.
func write(output *bufio.Writer, value any) {
	switch value := value.(type) {
	case nil:
		output.WriteString("null")
	case json.RawMessage:
		output.Write(value)
	case string:
		output.Write(must(json.Marshal(value)))
	case object:
		names := []string{}
		for name := range value {
			names = append(names, name)
		}
		list(output, "{", names, "}", func(name string) {
			output.WriteString(strconv.Quote(name) + ":")
			write(output, value[name])
		})
	default:
		reflected(output, reflect.ValueOf(value))
	}
}

func list[T any](output *bufio.Writer, open string, items []T, end string, write func(T)) {
	output.WriteString(open)
	for index, item := range items {
		if index > 0 {
			output.WriteString(",")
		}
		write(item)
	}
	output.WriteString(end)
}

func reflected(output *bufio.Writer, value reflect.Value) {
	switch value.Kind() {
	case reflect.Bool:
		output.WriteString(strconv.FormatBool(value.Bool()))
	case reflect.Float32, reflect.Float64:
		output.WriteString(number(value.Float()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		output.WriteString(strconv.FormatUint(value.Uint(), 10))
	case reflect.Slice:
		if data, is := value.Interface().([]byte); is {
			if data == nil {
				output.WriteString("null")
			} else {
				output.WriteString(`"` + base64.StdEncoding.EncodeToString(data) + `"`)
			}
			return
		}
		items := []any{}
		for index := 0; index < value.Len(); index++ {
			items = append(items, value.Index(index).Interface())
		}
		list(output, "[", items, "]", func(item any) { write(output, item) })
	case reflect.Pointer:
		if value.IsNil() {
			write(output, nil)
		} else {
			structure(output, value)
		}
	default:
		output.WriteString(strconv.FormatInt(value.Int(), 10))
	}
}

// JSON has no number that is none, or infinite: Python's names for them.
func number(value float64) string {
	switch {
	case math.IsNaN(value):
		return "NaN"
	case math.IsInf(value, 0):
		return strings.Replace(strings.TrimPrefix(fmt.Sprint(value), "+"), "Inf", "Infinity", 1)
	}
	return strconv.FormatFloat(value, 'g', -1, 64)
}

func structure(output *bufio.Writer, value reflect.Value) {
	layout := layouts[keys[value.Type()]]
	if layout.Scalar {
		if field := value.Elem().FieldByName("Value"); field.IsValid() {
			write(output, field.Interface())
		} else {
			write(output, instance(value.MethodByName("Value")))
		}
		return
	}
	found := object{}
	fields := value.Elem().Type()
	for index := 0; index < fields.NumField(); index++ {
		if field := fields.Field(index); field.IsExported() {
			found[snake(field.Name)] = value.Elem().Field(index).Interface()
		}
	}
	methods := value.Type()
	for index := 0; index < methods.NumMethod(); index++ {
		if name := methods.Method(index).Name; !others[name] {
			found[snake(name)] = instance(value.Method(index))
		}
	}
	for _, name := range layout.Parameters {
		delete(found, name)
	}
	write(output, found)
}

func instance(method reflect.Value) any {
	found := method.Call(nil)
	if err := found[1]; !err.IsNil() {
		panic(err.Interface())
	}
	return found[0].Interface()
}

func snake(name string) string {
	var found strings.Builder
	for index, letter := range name {
		if index > 0 && letter >= 'A' && letter <= 'Z' {
			found.WriteByte('_')
		}
		found.WriteString(strings.ToLower(string(letter)))
	}
	return found.String()
}
