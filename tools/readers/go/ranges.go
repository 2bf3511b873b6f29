package kafkaspec

import (
	"errors"
	"io"
	"sort"

	"kafkaspec/format"
)

// window is how many bytes are read at once, unless an entry is larger.
const window = 1 << 20

// RangeReader reads entries from anything that reads by ranges: a file, an object in remote storage.
type RangeReader struct {
	source io.ReaderAt
	size   int64
	start  int64
	buffer []byte
	reader *Reader
	given  Options
}

// NewRangeReader returns a reader of the entries from a position up to size, where the log ends. An entry
// has to begin at the position.
func NewRangeReader(source io.ReaderAt, position, size int64, options Options) *RangeReader {
	return &RangeReader{source: source, size: size, start: position, given: options}
}

// Next is that of Reader. Besides, an error of the source is returned as it is.
func (r *RangeReader) Next() (*Batch, error) { return r.next((*Reader).Next) }

// NextHeader is that of Reader.
func (r *RangeReader) NextHeader() (*Batch, error) { return r.next((*Reader).NextHeader) }

func (r *RangeReader) next(read func(*Reader) (*Batch, error)) (*Batch, error) {
	for {
		if r.reader != nil {
			batch, err := read(r.reader)
			if !r.isShort(err) {
				return batch, err
			}
			more, failed := r.fill()
			if failed != nil {
				return nil, failed
			}
			if !more {
				return nil, err
			}
			continue
		}
		if r.start >= r.size {
			return nil, io.EOF
		}
		if _, err := r.fill(); err != nil {
			return nil, err
		}
	}
}

// position is where the next entry begins.
func (r *RangeReader) position() int64 {
	if r.reader == nil {
		return r.start
	}
	return r.start + int64(r.reader.pos)
}

// again goes back to the start of the entry that was just read, and returns its bytes.
func (r *RangeReader) again(batch *Batch) []byte {
	end := r.reader.pos
	r.reader.pos -= batch.Header.Size
	return r.reader.data[r.reader.pos:end]
}

// isShort says whether an error may come from the end of the window.
func (r *RangeReader) isShort(err error) bool {
	if err == io.EOF {
		return r.start+int64(len(r.buffer)) < r.size
	}
	var found *format.Error
	return errors.As(err, &found) && found.Reason == format.ReasonTruncated && r.start+int64(len(r.buffer)) < r.size
}

// fill reads the window from the next entry on, all of it at least; false if that gives no more bytes.
func (r *RangeReader) fill() (bool, error) {
	want := int64(window)
	if r.reader != nil {
		used := int64(r.reader.pos)
		rest := r.buffer[used:]
		if size := format.EntrySize(rest, 0); size > want {
			want = size
		}
		if used == 0 && int64(len(rest)) >= want {
			return false, nil
		}
		r.start += used
	}
	want = min(want, r.size-r.start)
	if int64(cap(r.buffer)) < want {
		r.buffer = make([]byte, want)
	}
	r.buffer = r.buffer[:want]
	if n, err := r.source.ReadAt(r.buffer, r.start); int64(n) < want {
		if err == nil || err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return false, err
	}
	options := r.given
	options.Start += int(r.start)
	kept := r.reader
	r.reader = NewReader(r.buffer, options)
	if kept != nil {
		r.reader.batch, r.reader.inner, r.reader.codecs = kept.batch, kept.inner, kept.codecs
	}
	return true, nil
}

// Segment is a segment of a log with its indexes, for look-ups.
type Segment struct {
	// Log reads the .log file by ranges.
	Log io.ReaderAt

	// Size of the .log file.
	Size int64

	// BaseOffset is the number in the names of the files.
	BaseOffset int64

	// Index has the bytes of the .index file; none: a look-up reads from the start.
	Index []byte

	// TimeIndex has the bytes of the .timeindex file, likewise.
	TimeIndex []byte

	// Options of the reader.
	Options Options
}

// Found is the answer of a look-up: a record, and a reader that goes on after its entry.
type Found struct {
	// Batch holds the record.
	Batch *Batch

	// Row of the record in Batch.Records.
	Row int

	// Reader reads the entries after that of the record.
	Reader *RangeReader
}

// FindOffset returns the first record with an offset, or the next one; nil if the segment has none. A
// damaged entry before it is passed over, unless it may hold the offset.
func (s *Segment) FindOffset(offset int64) (*Found, error) {
	reader, err := s.from(offset)
	if err != nil {
		return nil, err
	}
	return find(reader, func(h *format.Header) bool { return h.EndOffset() >= offset },
		func(h *format.Header) bool { return !h.IsBatch() || h.BaseOffset() <= offset },
		func(columns *format.Columns, row int) bool { return columns.Offset[row] >= offset })
}

// FindTime returns the first record whose timestamp is at least that, in ms since the Unix epoch, as a
// broker finds it: from the place on that the time index has; nil if the segment has none.
func (s *Segment) FindTime(timestamp int64) (*Found, error) {
	entries, err := wholeEntries(s.TimeIndex, func(data []byte) (*format.IndexTimeIndexEntry, int, error) {
		return format.ParseIndexTimeIndexEntry(data, s.BaseOffset)
	})
	if err != nil {
		return nil, err
	}
	entries = entries[:used(len(entries), func(i int) bool { return entries[i].RelativeOffset == 0 })]
	offset := s.BaseOffset
	if i := sort.Search(len(entries), func(i int) bool { return entries[i].Timestamp > timestamp }); i > 0 {
		offset = max(offset, entries[i-1].Offset())
	}
	reader, err := s.from(offset)
	if err != nil {
		return nil, err
	}
	return find(reader, func(h *format.Header) bool { return h.LargestTimestamp() >= timestamp },
		func(*format.Header) bool { return false },
		func(columns *format.Columns, row int) bool { return columns.Timestamp[row] >= timestamp })
}

// from returns a reader that begins where the index says to look for an offset. An entry of the index is
// followed if an entry of the log begins there, and not after its offset; else, the log is read from its
// start: a wrong index hides no records.
func (s *Segment) from(offset int64) (*RangeReader, error) {
	options := s.Options
	options.Columns |= format.WantRecords
	start := NewRangeReader(s.Log, 0, s.Size, options)
	entries, err := wholeEntries(s.Index, func(data []byte) (*format.IndexOffsetIndexEntry, int, error) {
		return format.ParseIndexOffsetIndexEntry(data, s.BaseOffset)
	})
	if err != nil {
		return nil, err
	}
	entries = entries[:used(len(entries), func(i int) bool { return entries[i].RelativeOffset == 0 })]
	i := sort.Search(len(entries), func(i int) bool { return entries[i].Offset() > offset })
	if i == 0 {
		return start, nil
	}
	position := int64(entries[i-1].Position)
	if position < 0 || position >= s.Size {
		return start, nil
	}
	reader := NewRangeReader(s.Log, position, s.Size, options)
	batch, err := reader.NextHeader()
	var damage *format.Error
	switch {
	case errors.As(err, &damage):
		return start, nil
	case err != nil:
		return nil, err
	case batch.Header.IsBatch() && batch.Header.BaseOffset() > entries[i-1].Offset():
		return start, nil
	}
	entry := reader.again(batch)
	if batch.Header.VerifyChecksum(entry) != nil { // bytes within an entry may look like a header
		return start, nil
	}
	return reader, nil
}

// used returns the number of entries of an index before preallocated zeros.
func used(count int, isZero func(i int) bool) int {
	if count == 0 {
		return 0
	}
	for i := 1; i < count; i++ {
		if isZero(i) {
			return i
		}
	}
	return count
}

// find returns the first record that is wanted in an entry that reaches it. After damage, an entry has to
// be one that holds what is asked for: else, what is damaged may have held it.
func find(reader *RangeReader, reaches, holds func(*format.Header) bool, is func(*format.Columns, int) bool) (*Found, error) {
	var damage error
	for {
		before := reader.position()
		batch, err := reader.NextHeader()
		if err == io.EOF {
			return nil, damage
		}
		if err != nil {
			var refused *format.Error
			if !errors.As(err, &refused) {
				return nil, err
			}
			if reader.position() > before {
				damage = err
				continue
			}
			if refused.Reason == format.ReasonTruncated { // the log ends within an entry
				return nil, damage
			}
			zeros, failed := isZero(reader.source, before, reader.size)
			switch {
			case failed != nil:
				return nil, failed
			case zeros: // a file that was preallocated
				return nil, damage
			}
			return nil, err
		}
		if !reaches(&batch.Header) {
			continue
		}
		if damage != nil && !holds(&batch.Header) {
			return nil, damage
		}
		damage = nil
		reader.again(batch)
		if batch, err = reader.Next(); err != nil {
			return nil, err
		}
		for row := 0; row < batch.Records.Rows; row++ {
			if is(&batch.Records, row) {
				return &Found{Batch: batch, Row: row, Reader: reader}, nil
			}
		}
	}
}

// isZero says whether all bytes of a source from a position on are zeros.
func isZero(source io.ReaderAt, position, size int64) (bool, error) {
	rest := make([]byte, min(window, size-position))
	for ; position < size; position += int64(len(rest)) {
		rest = rest[:min(int64(len(rest)), size-position)]
		if n, err := source.ReadAt(rest, position); n < len(rest) {
			return false, err
		}
		for _, each := range rest {
			if each != 0 {
				return false, nil
			}
		}
	}
	return true, nil
}
