package kafkaspec

import (
	"fmt"
	"io"
	"math"
	"sort"

	"kafkaspec/format"
)

// ControlRecord is a record of a control batch: a marker that ends a transaction, or one of KRaft's.
type ControlRecord struct {
	// Offset of the record.
	Offset int64

	// Key says of which type it is, format.ControlRecordControlRecordTypeCommit for example.
	Key *format.ControlRecordKey

	// Body is what the type has, *format.ControlRecordEndTransactionMarker for example; nil for a
	// type without a description that has no value.
	Body format.Node
}

// ControlRecords decodes the records of a control batch; none of any other. The reader has to have read
// the columns Offset, Key and Value.
func (b *Batch) ControlRecords() ([]ControlRecord, error) {
	if !b.IsControl() {
		return nil, nil
	}
	columns := &b.Records
	found := make([]ControlRecord, 0, columns.Rows)
	for i := range columns.Offset {
		made, err := controlRecord(columns.Key[i].Of(columns.Bytes), columns.Value[i].Of(columns.Bytes))
		if err != nil {
			return found, b.place(err, i)
		}
		made.Offset = columns.Offset[i]
		found = append(found, made)
	}
	return found, nil
}

func (b *Batch) place(err error, row int) error {
	if found, ours := err.(*format.Error); ours {
		found.Detail = fmt.Sprintf("%s, at byte %d of a control record with offset %d", found.Detail, found.Position, b.Records.Offset[row])
		found.Position = b.Position
		return found
	}
	return err
}

func controlRecord(key, value []byte) (ControlRecord, error) {
	var made ControlRecord
	if key == nil {
		return made, &format.Error{Reason: format.ReasonInvalidValue, Path: "/key", Detail: "a control record without a key"}
	}
	head, _, err := format.ParseControlRecordKey(key)
	if err != nil {
		return made, err
	}
	made.Key = head
	_, described := format.ControlRecordControlRecordTypeNames[int64(head.Type)]
	if value == nil {
		if !described {
			return made, nil
		}
		return made, &format.Error{Reason: format.ReasonInvalidValue, Path: "/value", Detail: "a control record without a value"}
	}
	made.Body, _, err = format.ParseControlRecordValue(value, int64(head.Type))
	return made, err
}

// Aborted is a transaction that was aborted.
type Aborted struct {
	// Producer is the id of its producer.
	Producer int64

	// First is the first offset of the transaction.
	First int64

	// Marker is the offset of the marker that ends it.
	Marker int64
}

// Transactions says what a consumer with read_committed does not get.
type Transactions struct {
	// LastStable is the first offset of the first transaction that is open; math.MaxInt64 without one.
	LastStable int64

	// Aborted has the aborted transactions, by producer and first offset.
	Aborted []Aborted

	// markers has the same, by producer and marker.
	markers []Aborted
}

// ReadTransactions finds the transactions in the bytes of segments, one after the other, by their markers.
// A transaction begins with the first batch of its producer there.
func ReadTransactions(data []byte, options Options) (*Transactions, error) {
	options.Columns = format.WantRecords
	headers, open := NewReader(data, options), map[int64]int64{}
	found := &Transactions{LastStable: math.MaxInt64}
	for {
		at := headers.pos
		batch, err := headers.NextHeader()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		producer := batch.Header.ProducerId()
		if batch.IsControl() {
			headers.pos = at
			if batch, err = headers.Next(); err != nil {
				return nil, err
			}
			if err := found.end(batch, producer, open); err != nil {
				return nil, err
			}
		} else if batch.IsTransactional() {
			if _, known := open[producer]; !known {
				open[producer] = batch.Header.BaseOffset()
			}
		}
	}
	for _, first := range open {
		found.LastStable = min(found.LastStable, first)
	}
	found.sort()
	return found, nil
}

// end notes what the markers of a control batch end.
func (t *Transactions) end(batch *Batch, producer int64, open map[int64]int64) error {
	records, err := batch.ControlRecords()
	for _, item := range records {
		switch item.Key.Type {
		case format.ControlRecordControlRecordTypeAbort:
			if first, known := open[producer]; known {
				t.Aborted = append(t.Aborted, Aborted{producer, first, item.Offset})
			}
			delete(open, producer)
		case format.ControlRecordControlRecordTypeCommit:
			delete(open, producer)
		}
	}
	return err
}

// ReadTransactionIndex returns the entries of a .txnindex file; a part of one at the end is ignored.
func ReadTransactionIndex(data []byte) ([]format.TransactionIndexAbortedTransaction, error) {
	return wholeEntries(data, format.ParseTransactionIndexAbortedTransaction)
}

// wholeEntries returns the entries of an index; a part of one at the end is ignored.
func wholeEntries[T any](data []byte, parse func([]byte) (*T, int, error)) ([]T, error) {
	var found []T
	for len(data) > 0 {
		entry, size, err := parse(data)
		if err != nil {
			if refused, ours := err.(*format.Error); ours && refused.Reason == format.ReasonTruncated {
				break
			}
			return found, err
		}
		found = append(found, *entry)
		data = data[size:]
	}
	return found, nil
}

// NewTransactions returns what transaction indexes say, and the last stable offset where it is known;
// math.MaxInt64 stands for one that is not.
func NewTransactions(lastStable int64, entries ...format.TransactionIndexAbortedTransaction) *Transactions {
	found := &Transactions{LastStable: lastStable}
	for _, entry := range entries {
		found.Aborted = append(found.Aborted, Aborted{entry.ProducerId, entry.FirstOffset, entry.LastOffset})
	}
	found.sort()
	return found
}

func (t *Transactions) sort() {
	t.markers = append([]Aborted(nil), t.Aborted...)
	sortBy(t.Aborted, first)
	sortBy(t.markers, marker)
}

func first(a *Aborted) int64  { return a.First }
func marker(a *Aborted) int64 { return a.Marker }

func sortBy(list []Aborted, offset func(*Aborted) int64) {
	sort.Slice(list, func(i, j int) bool {
		a, b := &list[i], &list[j]
		return a.Producer < b.Producer || (a.Producer == b.Producer && offset(a) < offset(b))
	})
}

// last returns the last offset of a producer up to a limit; false without one.
func last(list []Aborted, producer, limit int64, offset func(*Aborted) int64) (int64, bool) {
	after := sort.Search(len(list), func(i int) bool {
		each := &list[i]
		return each.Producer > producer || (each.Producer == producer && offset(each) > limit)
	})
	if after == 0 || list[after-1].Producer != producer {
		return 0, false
	}
	return offset(&list[after-1]), true
}

// Hides says whether a consumer with read_committed gets nothing of an entry: it is a control batch,
// belongs to an aborted transaction, or begins at the last stable offset or later.
//
// It belongs to one if a transaction of its producer begins after the last marker before it, and not after
// its last offset, as Kafka's consumer has it: also where a damaged index has one within another.
func (t *Transactions) Hides(h *format.Header) bool {
	if h.IsControl() == 1 || h.BaseOffset() >= t.LastStable {
		return true
	}
	if h.IsTransactional() != 1 {
		return false
	}
	begun, known := last(t.Aborted, h.ProducerId(), h.EndOffset(), first)
	ended, over := last(t.markers, h.ProducerId(), h.BaseOffset()-1, marker)
	return known && (!over || begun > ended)
}
