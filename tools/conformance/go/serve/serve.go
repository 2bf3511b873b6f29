// Package serve speaks the protocol of kafkaspec conform, for testees in Go.
package serve

import (
	"bufio"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"syscall"
)

// A program that asks for more fails at once, as on a machine of ordinary size: what Linux promises
// beyond its memory would otherwise decide.
const mostAddresses = 8 << 30

// Record is a data record as the protocol wants it.
type Record struct {
	Offset    int64       `json:"offset"`
	Timestamp int64       `json:"timestamp"`
	Key       *string     `json:"key"`
	Value     *string     `json:"value"`
	Headers   [][]*string `json:"headers"`
}

// Marker is a control record.
type Marker struct {
	Offset int64 `json:"offset"`
	Type   int16 `json:"type"`
	Epoch  int32 `json:"coordinator_epoch"`
}

// Bytes returns base64, nil for nil.
func Bytes(data []byte) *string {
	if data == nil {
		return nil
	}
	text := base64.StdEncoding.EncodeToString(data)
	return &text
}

// Header returns a pair.
func Header(key string, value []byte) []*string {
	return []*string{Bytes([]byte(key)), Bytes(value)}
}

// Entries cuts a log at the sizes of its entries; what no size covers is the last. A client that has
// read an entry asks for the next one, and sees what is wrong with it then.
func Entries(data []byte) [][]byte {
	var found [][]byte
	for len(data) >= 12 {
		size := 12 + int64(int32(binary.BigEndian.Uint32(data[8:])))
		if size <= 12 || size > int64(len(data)) {
			break
		}
		found = append(found, data[:size])
		data = data[size:]
	}
	if len(data) > 0 {
		found = append(found, data)
	}
	return found
}

// Decoders by kind of request. A nil one is not offered.
type Decoders struct {
	Log     func(data []byte) ([]Record, error)
	Control func(data []byte) ([]Marker, error)
}

// Run answers requests until the input ends. module is the path of the library in go.mod.
func Run(name, module string, decoders Decoders) {
	kinds := []string{"log"}
	if decoders.Control != nil {
		kinds = append(kinds, "control_records")
	}
	limit := syscall.Rlimit{Cur: mostAddresses, Max: mostAddresses}
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &limit); err != nil {
		panic(err)
	}
	input := bufio.NewReaderSize(os.Stdin, 1<<20)
	output := bufio.NewWriter(os.Stdout)
	for {
		line, err := input.ReadBytes('\n')
		if err != nil {
			return
		}
		var request struct {
			Id   json.RawMessage
			Kind string
			Data []byte
		}
		if err := json.Unmarshal(line, &request); err != nil {
			panic(err)
		}
		answer := map[string]any{"id": request.Id}
		switch request.Kind {
		case "hello":
			answer["protocol"], answer["name"], answer["version"] = 1, name, version(module)
			answer["kinds"], answer["checksums"] = kinds, true
			answer["compression"] = []string{"none", "gzip", "snappy", "lz4", "zstd"}
		case "log":
			put(answer, "records", decoders.Log, request.Data)
		case "control_records":
			put(answer, "control_records", decoders.Control, request.Data)
		}
		encoder := json.NewEncoder(output)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(answer); err != nil {
			panic(err)
		}
		output.Flush()
		debug.FreeOSMemory() // the next case begins with what the program itself takes
	}
}

// A panic is not caught: a library that panics ends the program that uses it.
func put[T any](answer map[string]any, member string, decode func([]byte) ([]T, error), data []byte) {
	found, err := decode(data)
	if err != nil {
		answer["error"] = err.Error()
	} else {
		answer[member] = append([]T{}, found...)
	}
}

func version(module string) string {
	info, _ := debug.ReadBuildInfo()
	for _, item := range info.Deps {
		if item.Path == module {
			return item.Version
		}
	}
	panic(fmt.Sprintf("%s is not built in", module))
}
