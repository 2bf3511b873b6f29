package kafkaspec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/OneOfOne/xxhash"
	"github.com/golang/snappy"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"kafkaspec/format"
)

// Decompressor appends what a payload decompresses to; output beyond most bytes is ErrTooLarge. magic is
// that of the entry.
type Decompressor func(into, payload []byte, magic int64, most int) ([]byte, error)

// ErrTooLarge says that a payload has more output than the options allow.
var ErrTooLarge = errors.New("the output exceeds its limit")

// codecs are the contexts of a reader; they are kept from one payload to the next.
type codecs struct {
	into    []byte
	zstd    *zstd.Decoder
	most    int
	inflate io.ReadCloser
}

func (r *Reader) decompress(h *format.Header, payload []byte) ([]byte, *format.Error) {
	name, known := format.RecordbatchCompressionTypeNames[h.Compression()]
	decompress := r.options.Codecs[name]
	if decompress == nil {
		decompress = r.codecs.of(name)
	}
	if !known || decompress == nil || !h.MayHave(h.Compression()) {
		detail := fmt.Sprintf("magic %d has no compression %d", h.Magic(), h.Compression())
		return nil, failure(format.ReasonUnsupportedCompression, 0, h, detail)
	}
	made, err := decompress(r.codecs.into[:0], payload, h.Magic(), r.options.MostOutput)
	if err == ErrTooLarge {
		return nil, failure(format.ReasonDecompressedTooLarge, 0, h, fmt.Sprintf("%s: more than %d bytes", name, r.options.MostOutput))
	}
	if err != nil {
		return nil, failure(format.ReasonDecompressionFailed, 0, h, name+": "+err.Error())
	}
	r.codecs.into = made
	return made, nil
}

func (c *codecs) of(name string) Decompressor {
	switch name {
	case "gzip":
		return c.unGzip
	case "snappy":
		return unSnappy
	case "lz4":
		return unLz4
	case "zstd":
		return c.unZstd
	}
	return nil
}

// limited reads all of a stream, but no more than most bytes in all.
func limited(into []byte, from io.Reader, most int) ([]byte, error) {
	for {
		if len(into) == cap(into) {
			into = append(into, 0)[:len(into)]
		}
		room := into[len(into):cap(into)]
		n, err := from.Read(room)
		into = into[:len(into)+n]
		if len(into) > most {
			return nil, ErrTooLarge
		}
		if err == io.EOF {
			return into, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// What RFC 1952 says of a member, and what Java makes of it.
const (
	gzipMagic    = "\x1f\x8b\x08"
	gzipHeader   = 10
	gzipFlags    = len(gzipMagic)
	gzipChecksum = 0x02
	gzipExtra    = 0x04
	gzipName     = 0x08
	gzipComment  = 0x10
	gzipTrailer  = 8
	ignoredTail  = 18 // the most bytes after a member that Java ignores, whatever they are
)

// unGzip reads members as Java's GZIPInputStream does: further ones are joined, and bytes that do not
// begin with a valid header of a member are ignored. The library's own reader of headers refuses long
// names and reserved flags, which Java does not.
func (c *codecs) unGzip(into, payload []byte, _ int64, most int) ([]byte, error) {
	pos := gzipBody(payload, 0)
	if pos < 0 {
		return nil, errors.New("the data does not begin with a valid header of a member")
	}
	for pos >= 0 {
		source, before := bytes.NewReader(payload[pos:]), len(into)
		if c.inflate == nil {
			c.inflate = flate.NewReader(source)
		} else if err := c.inflate.(flate.Resetter).Reset(source, nil); err != nil {
			return nil, err
		}
		var err error
		if into, err = limited(into, c.inflate, most); err != nil {
			return nil, err
		}
		pos = len(payload) - source.Len()
		if source.Len() < gzipTrailer {
			return nil, io.ErrUnexpectedEOF
		}
		made, trailer := into[before:], payload[pos:]
		if binary.LittleEndian.Uint32(trailer) != crc32.ChecksumIEEE(made) ||
			binary.LittleEndian.Uint32(trailer[4:]) != uint32(len(made)) {
			return nil, errors.New("CRC or length in the trailer do not match the output")
		}
		if pos += gzipTrailer; len(payload)-pos <= ignoredTail {
			break
		}
		pos = gzipBody(payload, pos)
	}
	return into, nil
}

// gzipBody returns where the deflate stream of a member begins; -1 where there is no valid header.
func gzipBody(payload []byte, start int) int {
	if len(payload)-start < gzipHeader || string(payload[start:start+len(gzipMagic)]) != gzipMagic {
		return -1
	}
	flags, pos := payload[start+gzipFlags], start+gzipHeader
	if flags&gzipExtra != 0 {
		if len(payload)-pos < 2 {
			return -1
		}
		pos += 2 + int(binary.LittleEndian.Uint16(payload[pos:]))
	}
	for _, flag := range []byte{gzipName, gzipComment} {
		if flags&flag == 0 {
			continue
		}
		if pos > len(payload) {
			return -1
		}
		size := bytes.IndexByte(payload[pos:], 0)
		if size < 0 {
			return -1
		}
		pos += size + 1
	}
	if pos > len(payload) {
		return -1
	}
	if flags&gzipChecksum != 0 {
		if len(payload)-pos < 2 || binary.LittleEndian.Uint16(payload[pos:]) != uint16(crc32.ChecksumIEEE(payload[start:pos])) {
			return -1
		}
		pos += 2
	}
	return pos
}

// The stream of xerial's snappy-java: a header, and chunks with their sizes.
const (
	snappyMagic   = "\x82SNAPPY\x00"
	snappyHeader  = len(snappyMagic) + 8
	snappyVersion = 1
	snappyRatio   = 22 // no element has a better one: 3 bytes give at most 64
)

// unSnappy reads xerial's stream as Kafka does, or one raw block, which other clients write.
func unSnappy(into, payload []byte, _ int64, most int) ([]byte, error) {
	if len(payload) < snappyHeader || string(payload[:len(snappyMagic)]) != snappyMagic {
		return snappyBlock(into, payload, most)
	}
	head := int32(binary.BigEndian.Uint32([]byte(snappyMagic)))
	for pos := snappyHeader; pos+4 <= len(payload); {
		size := int32(binary.BigEndian.Uint32(payload[pos:]))
		if size == head { // another stream follows
			if pos+snappyHeader > len(payload) {
				return nil, errors.New("the data ends inside the header of a further stream")
			}
			if string(payload[pos:pos+len(snappyMagic)]) != snappyMagic {
				if len(into) == 0 {
					break
				}
			} else if int32(binary.BigEndian.Uint32(payload[pos+len(snappyMagic):])) < snappyVersion {
				return nil, errors.New("a further stream has another version")
			}
			pos += snappyHeader
			continue
		}
		pos += 4
		if size < 0 || int(size) > len(payload)-pos {
			return nil, fmt.Errorf("a chunk of %d bytes reaches beyond the data", size)
		}
		var err error
		if into, err = snappyBlock(into, payload[pos:pos+int(size)], most); err != nil {
			return nil, err
		}
		pos += int(size)
	}
	return into, nil
}

func snappyBlock(into, block []byte, most int) ([]byte, error) {
	size, err := snappy.DecodedLen(block)
	if err != nil {
		return nil, err
	}
	if size > snappyRatio*len(block) {
		return nil, fmt.Errorf("a block of %d bytes cannot hold %d bytes", len(block), size)
	}
	if size > most-len(into) {
		return nil, ErrTooLarge
	}
	into = grown(into, size)
	made, err := snappy.Decode(into[len(into):len(into)+size], block)
	if err != nil {
		return nil, err
	}
	return into[:len(into)+len(made)], nil
}

// grown returns the bytes with room for more.
func grown(into []byte, room int) []byte {
	if cap(into)-len(into) >= room {
		return into
	}
	made := make([]byte, len(into), max(len(into)+room, 2*cap(into)))
	copy(made, into)
	return made
}

// The frame of LZ4, of which Kafka has its own reader.
const (
	lz4Magic           = "\x04\x22\x4d\x18"
	lz4VersionMask     = 0xc0
	lz4Version         = 0x40
	lz4Independent     = 0x20
	lz4BlockChecksum   = 0x10
	lz4ContentSize     = 0x08
	lz4ContentChecksum = 0x04
	lz4Reserved        = 0x03
	lz4BlockReserved   = 0x8f
	lz4LeastBlock      = 4
	lz4Stored          = 1 << 31
	lz4Ratio           = 255 // one more byte of a length adds at most so many bytes
)

var errLz4Short = errors.New("the data ends before the end mark")

// unLz4 reads a frame as Kafka's Lz4BlockInputStream does.
func unLz4(into, payload []byte, magic int64, most int) ([]byte, error) {
	flags, block, pos, err := lz4Header(payload, format.HasTimestamps(magic))
	if err != nil {
		return nil, err
	}
	for {
		if len(payload)-pos < 4 {
			return nil, errLz4Short
		}
		word := binary.LittleEndian.Uint32(payload[pos:])
		size := int(word &^ lz4Stored)
		pos += 4
		if size == 0 {
			if flags&lz4ContentChecksum != 0 && len(payload)-pos < 4 {
				return nil, errLz4Short
			}
			return into, nil
		}
		if size > block {
			return nil, fmt.Errorf("a block of %d bytes exceeds the %d of the frame", size, block)
		}
		if size > len(payload)-pos {
			return nil, errors.New("the data ends inside a block")
		}
		packed, before := payload[pos:pos+size], len(into)
		if word&lz4Stored != 0 {
			into = append(into, packed...)
		} else {
			into = grown(into, min(block, lz4Ratio*size))
			room := into[before:min(cap(into), before+block)]
			n, err := lz4.UncompressBlock(packed, room)
			if err != nil { // the library refuses a few blocks that LZ4's own takes
				n, err = lz4Block(packed, room)
			}
			if err != nil {
				return nil, err
			}
			into = into[:before+n]
		}
		pos += size
		if flags&lz4BlockChecksum != 0 {
			if len(payload)-pos < 4 {
				return nil, errLz4Short
			}
			if binary.LittleEndian.Uint32(payload[pos:]) != xxhash.Checksum32(packed) {
				return nil, errors.New("the checksum of a block does not match")
			}
			pos += 4
		}
		if len(into) == before { // a block without output ends the data as the end mark does
			return into, nil
		}
		if len(into) > most {
			return nil, ErrTooLarge
		}
	}
}

var errLz4Block = errors.New("a block is broken")

// lz4Block decompresses a block, a sequence after the other, and returns the size of the output.
func lz4Block(block, room []byte) (int, error) {
	pos, made := 0, 0
	length := func(first int) int {
		size := first
		for more := first == 15; more; pos++ {
			if pos >= len(block) {
				return -1
			}
			size += int(block[pos])
			more = block[pos] == 255
		}
		return size
	}
	for pos < len(block) {
		token := block[pos]
		pos++
		literals := length(int(token >> 4))
		if literals < 0 || literals > len(block)-pos || literals > len(room)-made {
			return 0, errLz4Block
		}
		copy(room[made:], block[pos:pos+literals])
		pos, made = pos+literals, made+literals
		if pos == len(block) { // the last sequence has no match
			return made, nil
		}
		if len(block)-pos < 2 {
			return 0, errLz4Block
		}
		distance := int(binary.LittleEndian.Uint16(block[pos:]))
		pos += 2
		size := length(int(token&15)) + 4
		if size < 4 || distance == 0 || distance > made || size > len(room)-made {
			return 0, errLz4Block
		}
		for i := 0; i < size; i++ {
			room[made+i] = room[made+i-distance]
		}
		made += size
	}
	return 0, errLz4Block
}

// lz4Header returns the flags, the largest size of a block, and where the first one begins. Writers of
// magic 0 computed the checksum wrongly (KAFKA-3160), and nobody verifies theirs.
func lz4Header(payload []byte, verify bool) (byte, int, int, error) {
	fail := func(text string) (byte, int, int, error) { return 0, 0, 0, errors.New(text) }
	start := len(lz4Magic)
	end := start + 2
	if len(payload) < end {
		return fail("the data ends inside the frame header")
	}
	if string(payload[:start]) != lz4Magic {
		return fail("the data does not begin with the magic of a frame")
	}
	flags, descriptor := payload[start], payload[start+1]
	if flags&lz4VersionMask != lz4Version || flags&lz4Independent == 0 {
		return fail("another version of the frame, or linked blocks")
	}
	if flags&lz4Reserved != 0 || descriptor&lz4BlockReserved != 0 || descriptor>>4 < lz4LeastBlock {
		return fail("a reserved bit of the frame header is set, or there is no such block size")
	}
	if flags&lz4ContentSize != 0 {
		end += 8
	}
	if len(payload) <= end {
		return fail("the data ends inside the frame header")
	}
	if verify && payload[end] != byte(xxhash.Checksum32(payload[start:end])>>8) {
		return fail("the checksum of the frame header does not match")
	}
	return flags, 1 << (2*(descriptor>>4) + 8), end + 1, nil
}
