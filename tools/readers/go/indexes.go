package kafkaspec

import (
	"fmt"
	"io"

	"kafkaspec/format"
)

// IndexInterval is Kafka's default of index.interval.bytes.
const IndexInterval = 4096

// Indexes makes the offset and time indexes of a segment, as a broker since 3.9.1 does that appends each
// batch, and any broker that recovers the log. An entry is due when more than the interval of bytes follow
// the last one, so the first batch never gets one; with it goes the largest timestamp so far, if it grew.
type Indexes struct {
	base     int64
	interval int64
	position int64
	since    int64
	largest  int64
	holder   int64
	offsets  format.IndexOffsetIndex
	times    format.IndexTimeIndex
}

// NewIndexes returns the indexes of a segment without entries. The base offset is the number in the names
// of its files, the interval is index.interval.bytes; IndexInterval is Kafka's default.
func NewIndexes(baseOffset int64, interval int) *Indexes {
	return &Indexes{base: baseOffset, interval: int64(interval), largest: None}
}

// Append takes the next entries of the segment, whole ones, as AppendBatch makes them.
func (x *Indexes) Append(entries []byte) error {
	reader := NewReader(entries, Options{})
	for {
		batch, err := reader.NextHeader()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = x.Add(&batch.Header)
		}
		if err != nil {
			return err
		}
	}
}

// Add takes the next entry of the segment by its header, which NextHeader of a reader of the log returns.
func (x *Indexes) Add(h *format.Header) error {
	last := h.EndOffset()
	if stamp := h.LargestTimestamp(); stamp > x.largest {
		x.largest, x.holder = stamp, last
	}
	if x.since > x.interval {
		if err := x.addOffset(last); err != nil {
			return err
		}
		if err := x.addTime(); err != nil {
			return err
		}
		x.since = 0
	}
	x.position += int64(h.Size)
	x.since += int64(h.Size)
	return nil
}

func (x *Indexes) addOffset(offset int64) error {
	made := format.IndexOffsetIndexEntry{BaseOffset: x.base}
	if !fits(&made.Position, x.position) {
		return fmt.Errorf("byte %d is beyond what an index can say", x.position)
	}
	if err := x.relative(&made.RelativeOffset, offset); err != nil {
		return err
	}
	if n := len(x.offsets.Entries); n > 0 && made.RelativeOffset <= x.offsets.Entries[n-1].RelativeOffset {
		return fmt.Errorf("offset %d does not ascend from %d", offset, x.offsets.Entries[n-1].Offset())
	}
	x.offsets.Entries = append(x.offsets.Entries, made)
	return nil
}

// addTime adds an entry for the largest timestamp, if it grew.
func (x *Indexes) addTime() error {
	before := int64(None)
	if n := len(x.times.Entries); n > 0 {
		before = x.times.Entries[n-1].Timestamp
	}
	if x.largest <= before {
		return nil
	}
	made := format.IndexTimeIndexEntry{BaseOffset: x.base, Timestamp: x.largest}
	if err := x.relative(&made.RelativeOffset, x.holder); err != nil {
		return err
	}
	x.times.Entries = append(x.times.Entries, made)
	return nil
}

func (x *Indexes) relative(into *int32, offset int64) error {
	if !fits(into, offset-x.base) || *into < 0 {
		return fmt.Errorf("offset %d is too far from that of the segment, %d", offset, x.base)
	}
	return nil
}

// Files returns the bytes of the .index and of the .timeindex file of a segment that is complete. The time
// index ends with the largest timestamp, which a broker adds when it closes a segment.
func (x *Indexes) Files() (index, timeIndex []byte, err error) {
	if err := x.addTime(); err != nil {
		return nil, nil, err
	}
	return x.offsets.SpecAppend(nil), x.times.SpecAppend(nil), nil
}
