// The reader as a testee of kafkaspec's conformance kit: a line of JSON for each line of JSON.
package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"runtime/debug"
	"strings"

	"kafkaspec"
	"kafkaspec/format"
)

// mostOutput is what the tests of hostile bytes leave room for.
const mostOutput = 1 << 24

// mostGarbage makes the collector run before what is free again counts as taken by the reader.
const mostGarbage = 1 << 25

type request struct {
	Id         json.RawMessage
	Kind       string
	Of         string
	Data       []byte
	Items      [][]byte
	BaseOffset int64 `json:"base_offset"`
	parameter
}

type parameter struct {
	Type       string
	Parameters []json.RawMessage
}

// number is a float; JSON has no text for all of them, and the kit takes those of Python.
type number float64

var others = regexp.MustCompile(`"number (-?[A-Z][a-zA-Z]+)"`)

func (n number) MarshalJSON() ([]byte, error) {
	switch {
	case math.IsNaN(float64(n)):
		return []byte(`"number NaN"`), nil
	case math.IsInf(float64(n), 1):
		return []byte(`"number Infinity"`), nil
	case math.IsInf(float64(n), -1):
		return []byte(`"number -Infinity"`), nil
	}
	return json.Marshal(float64(n))
}

func bare(text []byte) []byte { return others.ReplaceAll(text, []byte("$1")) }

type object map[string]any

type record struct {
	Offset    int64      `json:"offset"`
	Timestamp int64      `json:"timestamp"`
	Key       []byte     `json:"key"`
	Value     []byte     `json:"value"`
	Headers   [][][]byte `json:"headers"`
}

func main() {
	debug.SetMemoryLimit(mostGarbage)
	input := bufio.NewReaderSize(os.Stdin, 1<<20)
	output := bufio.NewWriter(os.Stdout)
	for {
		line, err := input.ReadBytes('\n')
		if err != nil {
			return
		}
		var asked request
		if err := json.Unmarshal(line, &asked); err != nil {
			panic(err)
		}
		answer := answered(asked)
		answer["id"] = asked.Id
		text, err := json.Marshal(answer)
		if err != nil {
			panic(err)
		}
		output.Write(append(bare(text), '\n'))
		output.Flush()
		if asked.Kind != "batch" {
			debug.FreeOSMemory() // the next case begins with what the program itself takes
		}
	}
}

func answered(asked request) object {
	if asked.Kind == "hello" {
		return object{
			"protocol": 2, "name": "kafkaspec Go", "version": kafkaspec.Version, "checksums": true,
			"kinds": []string{"log", "control_records", "committed_records", "batch", "offset_index", "time_index",
				"transaction_index", "producer_snapshot", "type"},
			"compression": []string{"none", "gzip", "snappy", "lz4", "zstd"},
		}
	}
	answer, err := decoded(asked)
	if err == nil {
		return answer
	}
	refused := object{"error": err.Error()}
	var found *format.Error
	if errors.As(err, &found) {
		refused["reason"], refused["path"], refused["position"] = found.Reason, found.Path, found.Position
	}
	return refused
}

func decoded(asked request) (object, error) {
	switch asked.Kind {
	case "log":
		found, err := records(asked.Data, nil)
		return object{"records": listed(found)}, err
	case "committed_records":
		transactions, err := kafkaspec.ReadTransactions(asked.Data, options)
		if err != nil {
			return nil, err
		}
		found, err := records(asked.Data, transactions)
		return object{"records": listed(found)}, err
	case "control_records":
		found, err := controls(asked.Data)
		return object{"control_records": listed(found)}, err
	case "batch":
		digests := make([]any, len(asked.Items))
		for i, item := range asked.Items {
			digests[i] = digest(item)
		}
		return object{"digests": digests}, nil
	case "offset_index":
		return entries(format.ParseIndexOffsetIndex(asked.Data, asked.BaseOffset))
	case "time_index":
		return entries(format.ParseIndexTimeIndex(asked.Data, asked.BaseOffset))
	case "transaction_index":
		found, err := kafkaspec.ReadTransactionIndex(asked.Data)
		if err != nil {
			return nil, err
		}
		return entries(&format.TransactionIndex{Entries: found}, 0, nil)
	case "producer_snapshot":
		found, size, err := format.ParseProducerSnapshot(asked.Data)
		if has, ok := any(found).(interface{ VerifyChecksum([]byte) error }); ok && err == nil {
			err = has.VerifyChecksum(asked.Data)
		}
		return entries(found, size, err)
	case "type":
		value, end, err := typed(asked.parameter, asked.Data)
		return object{"value": tree(value), "end": end}, err
	}
	return nil, fmt.Errorf("there is no kind %q", asked.Kind)
}

var options = kafkaspec.Options{MostOutput: mostOutput}

// listed returns a list that is not null in JSON.
func listed[T any](found []T) []T {
	return append([]T{}, found...)
}

func each(data []byte, use func(batch *kafkaspec.Batch) error) error {
	reader := kafkaspec.NewReader(data, options)
	for {
		batch, err := reader.Next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = use(batch)
		}
		if err != nil {
			return err
		}
	}
}

func records(data []byte, transactions *kafkaspec.Transactions) (found []record, err error) {
	err = each(data, func(batch *kafkaspec.Batch) error {
		if batch.IsControl() || (transactions != nil && transactions.Hides(&batch.Header)) {
			return nil
		}
		columns := &batch.Records
		for i := 0; i < columns.Rows; i++ {
			made := record{Offset: columns.Offset[i], Timestamp: columns.Timestamp[i],
				Key: copied(columns.Key[i].Of(columns.Bytes)), Value: copied(columns.Value[i].Of(columns.Bytes)), Headers: [][][]byte{}}
			for item := columns.Headers[i]; item < columns.Headers[i+1]; item++ {
				key, value := columns.HeadersKey[item].Of(columns.Bytes), columns.HeadersValue[item].Of(columns.Bytes)
				made.Headers = append(made.Headers, [][]byte{copied(key), copied(value)})
			}
			found = append(found, made)
		}
		return nil
	})
	return found, err
}

func copied(data []byte) []byte {
	if data == nil {
		return nil
	}
	return append([]byte{}, data...)
}

func controls(data []byte) (found []object, err error) {
	err = each(data, func(batch *kafkaspec.Batch) error {
		read, err := batch.ControlRecords()
		for _, item := range read {
			made := object{"offset": item.Offset, "type": item.Key.Type}
			if marker, ends := item.Body.(*format.ControlRecordEndTransactionMarker); ends {
				made["coordinator_epoch"] = marker.CoordinatorEpoch
			}
			found = append(found, made)
		}
		return err
	})
	return found, err
}

func digest(data []byte) any {
	read, err := records(data, nil)
	if err != nil {
		return nil
	}
	sum := sha256.New()
	for _, item := range read {
		words := []string{fmt.Sprint(item.Offset), fmt.Sprint(item.Timestamp), word(item.Key), word(item.Value)}
		for _, header := range item.Headers {
			key := strings.ToValidUTF8(string(header[0]), "\uFFFD")
			words = append(words, word([]byte(key)), word(header[1]))
		}
		fmt.Fprintf(sum, "%s\n", strings.Join(words, "\t"))
	}
	return hex.EncodeToString(sum.Sum(nil))[:16]
}

func word(data []byte) string {
	if data == nil {
		return "-"
	}
	return base64.StdEncoding.EncodeToString(data)
}

func entries(file format.Node, _ int, err error) (object, error) {
	if err != nil {
		return nil, err
	}
	for _, member := range file.SpecMembers() {
		if member.Name == "entries" {
			return object{"entries": tree(member.Value)}, nil
		}
	}
	return nil, errors.New("the file has no entries")
}

func typed(asked parameter, data []byte) (any, int, error) {
	given := make([]any, len(asked.Parameters))
	for i, raw := range asked.Parameters {
		var inner struct {
			parameter
			Data []byte
		}
		var number int64
		if json.Unmarshal(raw, &number) == nil {
			given[i] = number
			continue
		}
		if err := json.Unmarshal(raw, &inner); err != nil {
			return nil, 0, err
		}
		value, _, err := typed(inner.parameter, inner.Data)
		if err != nil {
			return nil, 0, err
		}
		given[i] = value
	}
	return format.Parse(asked.Type, data, false, given...)
}

// tree returns a value for JSON: structures as objects, with the names of the specification.
func tree(value any) any {
	switch value := value.(type) {
	case float64:
		return number(value)
	case bool:
		if value {
			return 1
		}
		return 0
	case format.Node:
		made := object{}
		for _, member := range value.SpecMembers() {
			made[member.Name] = tree(member.Value)
		}
		return made
	case []any:
		made := make([]any, len(value))
		for i, item := range value {
			made[i] = tree(item)
		}
		return made
	}
	return value
}
