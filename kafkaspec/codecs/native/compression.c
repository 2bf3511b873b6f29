/* Loops over the blocks of Kafka's framings; the blocks themselves are the libraries'. */
#include "compression.h"

#include <string.h>

#include "abi.h"
#include "libraries.h"

static uint32_t load_little(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint8_t *store_little(uint8_t *p, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        *p++ = (uint8_t)(value >> 8 * i);
    return p;
}

static uint8_t *store_start(uint8_t *out, const ks_framing *framing)
{
    memcpy(out, framing->start, (size_t)framing->start_size);
    return out + framing->start_size;
}

#define STORED UINT32_C(0x80000000)

static int64_t lz4_decompress(ks_contexts *contexts, const ks_framing *framing,
                              const uint8_t *payload, int64_t size, uint8_t *out, int64_t room)
{
    int64_t at = framing->header, made = 0;
    (void)contexts;
    for (;;) {
        if (size - at < 4)
            return KS_OTHER_FORM;
        const uint32_t word = load_little(payload + at);
        const int64_t length = word & ~STORED;
        at += 4;
        if (!word)
            return made; /* bytes after the end mark are nobody's */
        if (length == 0 || length > framing->block || length > size - at)
            return KS_OTHER_FORM;
        const int64_t left = room - made;
        const int64_t most = left < framing->block ? left : framing->block;
        if (word & STORED) {
            if (length > most)
                return KS_NO_ROOM;
            memcpy(out + made, payload + at, (size_t)length);
            made += length;
        } else {
            const int got = ks_lz4.LZ4_decompress_safe(
                (const char *)payload + at, (char *)out + made, (int)length, (int)most);
            if (got <= 0) /* the library does not say whether it lacked room */
                return got < 0 && most < framing->block ? KS_NO_ROOM : KS_OTHER_FORM;
            made += got;
        }
        at += length;
    }
}

static int64_t lz4_most(const ks_framing *framing, int64_t size)
{
    return framing->header + size + (size / framing->block + 1) * 4 + 4;
}

static int64_t lz4_compress(ks_contexts *contexts, const ks_framing *framing, int level,
                            const uint8_t *data, int64_t size, uint8_t *out)
{
    uint8_t *to = store_start(out, framing);
    (void)contexts;
    for (int64_t at = 0; at < size; at += framing->block) {
        const char *block = (const char *)data + at;
        const int length = (int)(size - at < framing->block ? size - at : framing->block);
        char *packed = (char *)to + 4;
        /* One byte less than the block has, or it is stored. */
        const int made = level == 0
                             ? ks_lz4.LZ4_compress_default(block, packed, length, length - 1)
                             : ks_lz4.LZ4_compress_HC(block, packed, length, length - 1, level);
        if (made <= 0)
            memcpy(packed, block, (size_t)length);
        store_little(to, made > 0 ? (uint32_t)made : (uint32_t)length | STORED);
        to += 4 + (made > 0 ? made : length);
    }
    return store_little(to, 0) - out;
}

static uint32_t load_big(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | (uint32_t)p[3];
}

static int64_t snappy_decompress(ks_contexts *contexts, const ks_framing *framing,
                                 const uint8_t *payload, int64_t size, uint8_t *out, int64_t room)
{
    int64_t at = framing->header, made = 0;
    (void)contexts;
    while (at < size) {
        if (size - at < 4)
            return KS_OTHER_FORM;
        const int64_t length = load_big(payload + at);
        at += 4;
        if (length == 0 || length > size - at)
            return KS_OTHER_FORM;
        const char *block = (const char *)payload + at;
        size_t got = 0;
        if (ks_snappy.snappy_uncompressed_length(block, (size_t)length, &got) != KS_SNAPPY_OK)
            return KS_OTHER_FORM;
        if (got > (uint64_t)(room - made))
            return KS_NO_ROOM;
        if (ks_snappy.snappy_uncompress(block, (size_t)length, (char *)out + made, &got) !=
            KS_SNAPPY_OK)
            return KS_OTHER_FORM;
        made += (int64_t)got;
        at += length;
    }
    return made;
}

static int64_t snappy_most(const ks_framing *framing, int64_t size)
{
    const size_t block = ks_snappy.snappy_max_compressed_length((size_t)framing->block);
    const size_t last = ks_snappy.snappy_max_compressed_length((size_t)(size % framing->block));
    return framing->header + size / framing->block * (4 + (int64_t)block) + 4 + (int64_t)last;
}

static int64_t snappy_write(ks_contexts *contexts, const ks_framing *framing, int level,
                            const uint8_t *data, int64_t size, uint8_t *out)
{
    uint8_t *to = store_start(out, framing);
    (void)contexts;
    (void)level;
    for (int64_t at = 0; at < size; at += framing->block) {
        const int64_t length = size - at < framing->block ? size - at : framing->block;
        size_t made = ks_snappy.snappy_max_compressed_length((size_t)length);
        if (ks_snappy.snappy_compress((const char *)data + at, (size_t)length, (char *)to + 4,
                                      &made) != KS_SNAPPY_OK)
            return -1;
        for (int i = 0; i < 4; i++)
            *to++ = (uint8_t)(made >> (24 - 8 * i));
        to += made;
    }
    return to - out;
}

enum { TRAILER = 8 }; /* CRC-32 and length modulo 2**32 of the output */
enum { MOST_RATIO = 1032 }; /* of deflate: a trailer that says more is none */

static int64_t gzip_decompress(ks_contexts *contexts, const ks_framing *framing,
                               const uint8_t *payload, int64_t size, uint8_t *out, int64_t room)
{
    const int64_t length = size - framing->header - TRAILER;
    if (length < 0)
        return KS_OTHER_FORM;
    const uint8_t *trailer = payload + size - TRAILER;
    const int64_t expected = load_little(trailer + 4);
    if (expected > room)
        return expected / MOST_RATIO > length ? KS_OTHER_FORM : KS_NO_ROOM;
    if (!contexts->read_gzip)
        contexts->read_gzip = ks_deflate.libdeflate_alloc_decompressor();
    size_t used = 0, made = 0;
    if (!contexts->read_gzip ||
        ks_deflate.libdeflate_deflate_decompress_ex(
            contexts->read_gzip, payload + framing->header, (size_t)length, out, (size_t)expected,
            &used, &made) != KS_DEFLATE_OK ||
        (int64_t)used != length || (int64_t)made != expected ||
        ks_crc32(out, expected) != load_little(trailer))
        return KS_OTHER_FORM;
    return expected;
}

static struct libdeflate_compressor *gzip_writer(ks_contexts *contexts, int level)
{
    if (contexts->write_gzip && contexts->level != level) {
        ks_deflate.libdeflate_free_compressor(contexts->write_gzip);
        contexts->write_gzip = NULL;
    }
    if (!contexts->write_gzip)
        contexts->write_gzip = ks_deflate.libdeflate_alloc_compressor(level);
    contexts->level = level;
    return contexts->write_gzip;
}

static int64_t gzip_most(const ks_framing *framing, int64_t size)
{
    const size_t most = ks_deflate.libdeflate_deflate_compress_bound(NULL, (size_t)size);
    return framing->header + (int64_t)most + TRAILER;
}

static int64_t gzip_compress(ks_contexts *contexts, const ks_framing *framing, int level,
                             const uint8_t *data, int64_t size, uint8_t *out)
{
    struct libdeflate_compressor *writer = gzip_writer(contexts, level);
    const size_t room = ks_deflate.libdeflate_deflate_compress_bound(NULL, (size_t)size);
    uint8_t *to = store_start(out, framing);
    const size_t made =
        writer ? ks_deflate.libdeflate_deflate_compress(writer, data, (size_t)size, to, room) : 0;
    if (!made)
        return -1;
    to = store_little(to + made, ks_crc32(data, size));
    return store_little(to, (uint32_t)size) - out;
}

/* RFC 8878: the descriptor of a frame and its window follow the magic. */
enum { ZSTD_CHECKSUM = 0x04, LEAST_WINDOW = 10 };

static int64_t zstd_decompress(ks_contexts *contexts, const ks_framing *framing,
                               const uint8_t *payload, int64_t size, uint8_t *out, int64_t room)
{
    const uint8_t flags = payload[framing->start_size], window = payload[framing->start_size + 1];
    if (flags & ~ZSTD_CHECKSUM)
        return KS_OTHER_FORM;
    const int64_t base = INT64_C(1) << (LEAST_WINDOW + (window >> 3));
    const int64_t most = base + base / 8 * (window & 7);
    if (most > framing->block ||
        ks_zstd.ZSTD_findFrameCompressedSize(payload, (size_t)size) != (size_t)size)
        return KS_OTHER_FORM;
    if (!contexts->read_zstd)
        contexts->read_zstd = ks_zstd.ZSTD_createDCtx();
    if (!contexts->read_zstd)
        return KS_OTHER_FORM;
    /* The library does not verify that a match lies within the window if all output lies in one
     * piece. With no more output than that it must. */
    const int64_t allowed = room < most ? room : most;
    const size_t made = ks_zstd.ZSTD_decompressDCtx(contexts->read_zstd, out, (size_t)allowed,
                                                    payload, (size_t)size);
    if (!ks_zstd.ZSTD_isError(made))
        return (int64_t)made;
    return allowed < most ? KS_NO_ROOM : KS_OTHER_FORM;
}

static int64_t zstd_most(const ks_framing *framing, int64_t size)
{
    (void)framing;
    /* And the blocks that end a stream. */
    return (int64_t)ks_zstd.ZSTD_compressBound((size_t)size) + 64;
}

static int64_t zstd_compress(ks_contexts *contexts, const ks_framing *framing, int level,
                             const uint8_t *data, int64_t size, uint8_t *out)
{
    if (!contexts->write_zstd)
        contexts->write_zstd = ks_zstd.ZSTD_createCCtx();
    if (!contexts->write_zstd)
        return -1;
    struct ZSTD_CCtx_s *writer = contexts->write_zstd;
    ZSTD_inBuffer in = {data, (size_t)size, 0};
    ZSTD_outBuffer to = {out, (size_t)zstd_most(framing, size), 0};
    ks_zstd.ZSTD_CCtx_reset(writer, KS_ZSTD_RESET_ALL);
    if (ks_zstd.ZSTD_isError(ks_zstd.ZSTD_CCtx_setParameter(writer, KS_ZSTD_LEVEL, level)))
        return -1;
    /* Kafka flushes its streams before it closes them. */
    const size_t flushed =
        size ? ks_zstd.ZSTD_compressStream2(writer, &to, &in, KS_ZSTD_FLUSH) : 0;
    if (flushed || ks_zstd.ZSTD_compressStream2(writer, &to, &in, KS_ZSTD_END))
        return -1;
    return (int64_t)to.pos;
}

static const ks_codec known[] = {
    {"gzip", &ks_libraries[KS_DEFLATE], gzip_decompress, gzip_most, gzip_compress},
    {"snappy", &ks_libraries[KS_SNAPPY], snappy_decompress, snappy_most, snappy_write},
    {"lz4", &ks_libraries[KS_LZ4], lz4_decompress, lz4_most, lz4_compress},
    {"zstd", &ks_libraries[KS_ZSTD], zstd_decompress, zstd_most, zstd_compress},
};
ks_codec ks_codecs[KS_LIBRARIES];
int ks_codecs_count;

void ks_codecs_find(int which)
{
    ks_libraries_find(which);
    ks_codecs_count = 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!known[i].library->why[0])
            ks_codecs[ks_codecs_count++] = known[i];
}

void ks_contexts_close(ks_contexts *contexts)
{
    if (contexts->read_zstd)
        ks_zstd.ZSTD_freeDCtx(contexts->read_zstd);
    if (contexts->write_zstd)
        ks_zstd.ZSTD_freeCCtx(contexts->write_zstd);
    if (contexts->read_gzip)
        ks_deflate.libdeflate_free_decompressor(contexts->read_gzip);
    if (contexts->write_gzip)
        ks_deflate.libdeflate_free_compressor(contexts->write_gzip);
    memset(contexts, 0, sizeof *contexts);
}

int64_t ks_decompress(int codec, ks_contexts *contexts, const ks_framing *framing,
                      const uint8_t *payload, int64_t size, uint8_t *out, int64_t room)
{
    if (size < framing->header || size > KS_MOST_BYTES ||
        memcmp(payload, framing->start, (size_t)framing->start_size) != 0)
        return KS_OTHER_FORM;
    room = room < KS_MOST_BYTES ? room : KS_MOST_BYTES;
    return ks_codecs[codec].decompress(contexts, framing, payload, size, out, room);
}
