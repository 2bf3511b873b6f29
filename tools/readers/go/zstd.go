package kafkaspec

import (
	"errors"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"
)

const (
	// zstdMostWindow is that of zstd-jni.
	zstdMostWindow = 1 << 27
	// zstdPiece is the size of the pieces in which Kafka's reader takes its input (ZSTD_DStreamInSize).
	zstdPiece = 128<<10 + 3
	// zstdRatio is that of the densest input: a block of 4 bytes, which repeats a byte 128 KiB times.
	zstdRatio = 32 << 10
	// zstdLeast is room for the output of a payload of a usual size.
	zstdLeast = 64 << 10
)

// unZstd reads frames as zstd-jni's ZstdInputStreamNoFinalizer does.
func (c *codecs) unZstd(into, payload []byte, _ int64, most int) ([]byte, error) {
	if c.zstd == nil || c.most != most {
		// A window larger than the most memory would be refused; the room below bounds the output.
		decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true),
			zstd.WithDecoderMaxMemory(uint64(max(most, zstdMostWindow))), zstd.WithDecoderMaxWindow(zstdMostWindow))
		if err != nil {
			return nil, err
		}
		c.zstd, c.most = decoder, most
	}
	made, err := c.zstdFrames(into, payload, most)
	if whole := zstdEnd(payload); whole < len(payload) && (err == nil || errors.Is(err, io.ErrUnexpectedEOF)) {
		// The reader notes that it is inside of a frame when it fills its buffer, so a cut frame that begins
		// after that is not missed. The library takes less than a magic for the end.
		if whole > (len(payload)-1)/zstdPiece*zstdPiece && zstdBegins(payload[whole:]) {
			return c.zstdFrames(into, payload[:whole], most)
		}
		return nil, io.ErrUnexpectedEOF
	}
	return made, err
}

// zstdFrames decompresses into room that grows until it is enough; what a frame claims allocates nothing.
func (c *codecs) zstdFrames(into, payload []byte, most int) ([]byte, error) {
	largest := min(most, zstdRatio*len(payload))
	room := min(max(cap(into), zstdLeast, 4*len(payload)), largest)
	for {
		if cap(into) < room {
			into = make([]byte, 0, room)
		}
		made, err := c.zstd.DecodeAll(payload, into[:0:room])
		if !errors.Is(err, zstd.ErrDecoderSizeExceeded) && !isShortOfRoom(err) {
			return made, err
		}
		if room == largest {
			return nil, ErrTooLarge
		}
		room = min(4*room, largest)
	}
}

// isShortOfRoom says whether the library means that the room is used up, for which it has two errors.
func isShortOfRoom(err error) bool {
	return err != nil && strings.HasPrefix(err.Error(), "output bigger than max block size")
}

// zstdEnd returns the end of the last whole frame; 0 if there is none.
func zstdEnd(payload []byte) int {
	whole := 0
	for whole < len(payload) {
		size := zstdFrameEnd(payload[whole:])
		if size < 0 {
			break
		}
		whole += size
	}
	return whole
}

// zstdBegins says whether bytes may be the start of a frame: of a skippable one only the first byte varies.
func zstdBegins(data []byte) bool {
	const frame, skippable = "\x28\xb5\x2f\xfd", "\x50\x2a\x4d\x18"
	head := append([]byte{}, data[:min(len(data), len(frame))]...)
	if strings.HasPrefix(frame, string(head)) {
		return true
	}
	head[0] &= 0xf0
	return strings.HasPrefix(skippable, string(head))
}

// zstdFrameEnd returns the size of the frame that the bytes begin with; -1 if it is cut or none.
func zstdFrameEnd(data []byte) int {
	var header zstd.Header
	if header.Decode(data) != nil {
		return -1
	}
	pos := header.HeaderSize
	if header.Skippable {
		pos += int(header.SkippableSize)
		if pos > len(data) {
			return -1
		}
		return pos
	}
	for last := false; !last; {
		if len(data)-pos < 3 {
			return -1
		}
		word := int(data[pos]) | int(data[pos+1])<<8 | int(data[pos+2])<<16
		last = word&1 != 0
		size := word >> 3
		if word>>1&3 == 1 { // one byte that is repeated
			size = 1
		}
		pos += 3 + size
	}
	if header.HasCheckSum {
		pos += 4
	}
	if pos > len(data) {
		return -1
	}
	return pos
}
