package kafkaspec

import (
	"fmt"

	"kafkaspec/format"
)

// inner is what the reader keeps from one wrapper to the next.
type inner struct {
	header format.Header
	timed  []bool
}

// unwrap reads the messages in the payload of a wrapper, as Kafka's own iterator does
// (AbstractLegacyRecordBatch.DeepRecordsIterator).
func (r *Reader) unwrap(payload []byte) *format.Error {
	b, wrapper, h := &r.batch, &r.batch.Header, &r.inner.header
	r.inner.timed = r.inner.timed[:0]
	place, _ := wrapper.Payload()
	last := int64(0)
	for pos := 0; pos < len(payload); {
		known, magic := format.IsMessage(payload, pos), byte(0)
		if !known { // any magic but 0 has the layout of the newest message (quirk Q21)
			magic = format.SetMagic(payload, pos, format.NewestMessage)
		}
		var err *format.Error
		if !format.ReadHeader(payload, pos, h) {
			if err = format.ExplainEntry(payload[pos:], 0, false); err == nil {
				err = unexplained(0)
			}
		}
		if !known {
			format.SetMagic(payload, pos, magic)
		}
		if err != nil && err.Reason == format.ReasonTruncated {
			break // dropped silently, as Kafka does (quirk Q13)
		}
		if err != nil {
			return within(err, wrapper, place, pos)
		}
		if h.Compression() != format.RecordbatchCompressionTypeNone {
			return failure(format.ReasonNestedCompression, place, wrapper, "a compressed message inside a compressed message")
		}
		if !r.options.Unchecked {
			if err := h.VerifyChecksum(payload); err != nil {
				return within(err, wrapper, place, 0)
			}
		}
		b.Records.AppendMessage(h)
		r.inner.timed = append(r.inner.timed, known && format.HasTimestamps(h.Magic()))
		last = h.Offset()
		pos += h.Size
	}
	if b.Records.Rows == 0 {
		return failure(format.ReasonEmptyWrapper, place, wrapper, "a compressed message that holds no message")
	}
	return r.adjust(place, last)
}

// adjust does what a wrapper does to the offsets and timestamps of its messages.
func (r *Reader) adjust(place int, last int64) *format.Error {
	wrapper := &r.batch.Header
	if !format.HasTimestamps(wrapper.Magic()) { // offsets are relative since there are timestamps
		return nil
	}
	shift, offset := int64(0), wrapper.Offset()
	if offset != 0 {
		if offset < last {
			detail := fmt.Sprintf("the wrapper has offset %d, its last message %d", offset, last)
			return failure(format.ReasonWrapperOffset, place, wrapper, detail)
		}
		shift = offset - last
	}
	appended := wrapper.TimestampType() == format.RecordbatchTimestampTypeLogAppendTime
	r.batch.Records.Shift(shift, appended, wrapper.Timestamp(), r.inner.timed)
	return nil
}

// within says where an error in a decompressed payload is in the entry.
func within(err *format.Error, wrapper *format.Header, place, pos int) *format.Error {
	err.Detail = fmt.Sprintf("%s, at byte %d of what is decompressed", err.Detail, pos+err.Position)
	err.Position, err.Path = place, wrapper.PayloadPath()+err.Path
	return err
}
