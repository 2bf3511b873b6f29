// Package format reads the formats of the specification: structures with checks, and the records of a
// log as columns. It is generated, and needs only the standard library.
package format

import (
	"encoding/binary"
	"fmt"
	checksums "hash/crc32"
	"math"
)

// Error says why bytes are refused, and where.
type Error struct {
	// Reason is one of a closed list.
	Reason Reason

	// Position of the first byte of what is wrong.
	Position int

	// Path of the field in the data, /records/0/body/key.
	Path string

	// Spec is the place in the specification that decides, recordbatch.ksy#/types/record/seq/3.
	Spec string

	// Detail is a sentence for people.
	Detail string
}

// Error returns the text: place, detail, and reason.
func (e *Error) Error() string {
	text := fmt.Sprintf("byte %d", e.Position)
	if e.Path != "" {
		text += ", " + e.Path
	}
	text += fmt.Sprintf(": %s [%s]", e.Detail, e.Reason)
	if e.Spec != "" {
		text += " (" + e.Spec + ")"
	}
	return text
}

// under adds what holds the field to the start of the path.
func (e *Error) under(path string) *Error {
	e.Path = path + e.Path
	return e
}

// named says which field an error of a scalar is about.
func (e *Error) named(path, spec string) *Error {
	if e != nil {
		e.Path, e.Spec = path, spec
	}
	return e
}

func missing(pos int, complete bool, path, spec string) *Error {
	if complete {
		return &Error{ReasonOverrun, pos, path, spec, "the field reaches beyond the end of the structure that holds it"}
	}
	return &Error{ReasonTruncated, pos, path, spec, "the input ends inside the field"}
}

func invalid(pos int, value any, path, spec string) *Error {
	return &Error{ReasonInvalidValue, pos, path, spec, fmt.Sprintf("the value %v is not allowed", value)}
}

func trailing(pos, left int, path, spec string) *Error {
	return &Error{ReasonTrailingBytes, pos, path, spec, fmt.Sprintf("%d bytes are left after the last field", left)}
}

func endless(pos int) *Error {
	return &Error{ReasonVarintTooLong, pos, "", "", "the last byte that the varint may have says that another follows"}
}

func mismatch(pos int, stored, computed int64, path, spec string) *Error {
	return &Error{ReasonChecksumMismatch, pos, path, spec, fmt.Sprintf("the checksum is %#x, that of the bytes %#x", stored, computed)}
}

// item returns the path of an item of an array.
func item(path string, number int) string {
	return fmt.Sprintf("%s/%d", path, number)
}

// Node is a structure of the specification.
type Node interface {
	// SpecKey returns the key of its type, recordbatch.record.
	SpecKey() string

	// SpecMembers returns its fields and value instances in the order of the specification.
	SpecMembers() []Member
}

// Member is a field of a structure: a number, a bool, []byte, a Node, []any of these, or nil.
type Member struct {
	// Name is its id in the specification.
	Name string

	// Value is nil where it is absent or null.
	Value any
}

// Optional is a number that may be absent.
type Optional[T any] struct {
	// Value is zero where it is absent.
	Value T

	// Present says whether it is there.
	Present bool
}

func (o Optional[T]) shown() any {
	if !o.Present {
		return nil
	}
	return o.Value
}

// Span is a byte string in a buffer; a negative size is null.
type Span struct {
	// Position of its first byte.
	Position int32

	// Size in bytes.
	Size int32
}

// Of returns the byte string in a buffer, nil for null.
func (s Span) Of(data []byte) []byte {
	if s.Size < 0 {
		return nil
	}
	end := int(s.Position) + int(s.Size)
	return data[s.Position:end:end]
}

// Parse reads a type of the specification by its key, recordbatch.record. Parameters of the type are
// int64, or pointers to structures. complete says that no bytes can follow. It returns the value and
// the number of bytes that it took.
func Parse(key string, data []byte, complete bool, parameters ...any) (any, int, error) {
	read, known := parsers[key]
	if !known {
		return nil, 0, fmt.Errorf("the specification has no type %q", key)
	}
	data = present(data)
	value, pos, err := read(data, 0, len(data), complete, parameters)
	if err != nil {
		return nil, pos, err
	}
	return value, pos, nil
}

// present returns the bytes; nil stands for none, and a slice of it would be null.
func present(data []byte) []byte {
	if data == nil {
		return []byte{}
	}
	return data
}

func octets(data []byte) any {
	if data == nil {
		return nil
	}
	return data
}

func node(v Node) any {
	if v == nil {
		return nil
	}
	return v
}

func structure[T any, P interface {
	*T
	Node
}](p P) any {
	if p == nil {
		return nil
	}
	return p
}

func structures[T any, P interface {
	*T
	Node
}](found []T) any {
	if found == nil {
		return nil
	}
	made := make([]any, len(found))
	for i := range found {
		made[i] = P(&found[i])
	}
	return made
}

func items[T any](found []T) any {
	if found == nil {
		return nil
	}
	made := make([]any, len(found))
	for i := range found {
		made[i] = found[i]
	}
	return made
}

func maybe[T any](value T, present bool) any {
	if !present {
		return nil
	}
	return value
}

type named struct {
	number int64
	name   string
}

func nameTable(rows ...named) map[int64]string {
	table := make(map[int64]string, len(rows))
	for _, row := range rows {
		table[row.number] = row.name
	}
	return table
}

func be16(data []byte, pos int) uint16 { return binary.BigEndian.Uint16(data[pos:]) }
func be32(data []byte, pos int) uint32 { return binary.BigEndian.Uint32(data[pos:]) }
func be64(data []byte, pos int) uint64 { return binary.BigEndian.Uint64(data[pos:]) }
func le16(data []byte, pos int) uint16 { return binary.LittleEndian.Uint16(data[pos:]) }
func le32(data []byte, pos int) uint32 { return binary.LittleEndian.Uint32(data[pos:]) }
func le64(data []byte, pos int) uint64 { return binary.LittleEndian.Uint64(data[pos:]) }

func beBytes(data []byte, pos, size int) uint64 {
	value := uint64(0)
	for _, octet := range data[pos : pos+size] {
		value = value<<8 | uint64(octet)
	}
	return value
}

func pick(condition bool, then, otherwise int64) int64 {
	if condition {
		return then
	}
	return otherwise
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

func floorMod(a, b int64) int64 {
	return a - floorDiv(a, b)*b
}

var castagnoli = checksums.MakeTable(checksums.Castagnoli)

func crc32(data []byte) uint32  { return checksums.ChecksumIEEE(data) }
func crc32c(data []byte) uint32 { return checksums.Checksum(data, castagnoli) }

// varint returns the bits of a varint of so many bytes and bits at most.
func varint(data []byte, pos, end int, complete bool, size, bits int) (uint64, int, *Error) {
	begin, value := pos, uint64(0)
	for shift := 0; shift < 7*size; shift += 7 {
		if pos >= end {
			return 0, pos, missing(begin, complete, "", "")
		}
		octet := data[pos]
		pos++
		value |= uint64(octet&0x7f) << shift
		if octet < 0x80 {
			return value & (math.MaxUint64 >> (64 - bits)), pos, nil
		}
	}
	return 0, pos, endless(begin)
}

// longVarint is varint without an error: the position is -1 then.
func longVarint(data []byte, pos, end, size, bits int) (uint64, int) {
	value := uint64(0)
	for shift := 0; shift < 7*size; shift += 7 {
		if pos >= end {
			return 0, -1
		}
		octet := data[pos]
		pos++
		value |= uint64(octet&0x7f) << shift
		if octet < 0x80 {
			return value & (math.MaxUint64 >> (64 - bits)), pos
		}
	}
	return 0, -1
}

func varint32(data []byte, pos, end int, complete bool) (int32, int, *Error) {
	raw, pos, err := varint(data, pos, end, complete, 5, 32)
	return int32(raw>>1) ^ -int32(raw&1), pos, err
}

func varint64(data []byte, pos, end int, complete bool) (int64, int, *Error) {
	raw, pos, err := varint(data, pos, end, complete, 10, 64)
	return int64(raw>>1) ^ -int64(raw&1), pos, err
}

func unsignedVarint32(data []byte, pos, end int, complete bool) (uint32, int, *Error) {
	raw, pos, err := varint(data, pos, end, complete, 5, 32)
	return uint32(raw), pos, err
}

// emptied returns a column without rows; nil if it is not wanted.
func emptied[T any](column []T, wanted bool) []T {
	if !wanted {
		return nil
	}
	if column == nil {
		return make([]T, 0, 64)
	}
	return column[:0]
}

// extended returns a column with more rows, whose values are to be set; nil remains nil.
func extended[T any](column []T, rows int) []T {
	if column == nil {
		return nil
	}
	size := len(column) + rows
	if size <= cap(column) {
		return column[:size]
	}
	made := make([]T, size, max(size, 2*cap(column)))
	copy(made, column)
	return made
}

func appendBe16(b []byte, value uint16) []byte { return binary.BigEndian.AppendUint16(b, value) }
func appendBe32(b []byte, value uint32) []byte { return binary.BigEndian.AppendUint32(b, value) }
func appendBe64(b []byte, value uint64) []byte { return binary.BigEndian.AppendUint64(b, value) }
func appendLe16(b []byte, value uint16) []byte { return binary.LittleEndian.AppendUint16(b, value) }
func appendLe32(b []byte, value uint32) []byte { return binary.LittleEndian.AppendUint32(b, value) }
func appendLe64(b []byte, value uint64) []byte { return binary.LittleEndian.AppendUint64(b, value) }
func putBe16(b []byte, pos int, value uint16)  { binary.BigEndian.PutUint16(b[pos:], value) }
func putBe32(b []byte, pos int, value uint32)  { binary.BigEndian.PutUint32(b[pos:], value) }
func putBe64(b []byte, pos int, value uint64)  { binary.BigEndian.PutUint64(b[pos:], value) }
func putLe16(b []byte, pos int, value uint16)  { binary.LittleEndian.PutUint16(b[pos:], value) }
func putLe32(b []byte, pos int, value uint32)  { binary.LittleEndian.PutUint32(b[pos:], value) }
func putLe64(b []byte, pos int, value uint64)  { binary.LittleEndian.PutUint64(b[pos:], value) }

func appendUnsigned(b []byte, value int64) []byte {
	return binary.AppendUvarint(b, uint64(value))
}

func appendZigzag(b []byte, value int64) []byte { return binary.AppendVarint(b, value) }

// insertVarint puts the number of bytes from a place on before them, plus a constant.
func insertVarint(b []byte, start, plus int, zigzag bool) []byte {
	var size [binary.MaxVarintLen64]byte
	count, n := len(b)-start+plus, 0
	if zigzag {
		n = binary.PutVarint(size[:], int64(count))
	} else {
		n = binary.PutUvarint(size[:], uint64(count))
	}
	b = append(b, size[:n]...)
	copy(b[start+n:], b[start:])
	copy(b[start:], size[:n])
	return b
}

func bit(set bool) uint64 {
	if set {
		return 1
	}
	return 0
}
