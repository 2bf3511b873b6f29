/* JSON of one value, as Python's json writes it without escapes beyond ASCII. */
#ifndef KAFKASPEC_JSON_VALUES_H
#define KAFKASPEC_JSON_VALUES_H

#include <stdint.h>
#include <string.h>

#include "utf8.h"

enum {
    ROOM = 64,    /* bytes after an output that copies may overwrite */
    LITERAL = 32, /* bytes that can be read from the start of any literal */
    DIGITS = 20   /* of a 64-bit integer with its sign */
};

static const char BASE64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char LOWER[] = "0123456789abcdef", UPPER[] = "0123456789ABCDEF";

static uint8_t *put(uint8_t *out, const uint8_t *bytes, int64_t size)
{
    if (size <= LITERAL)
        memcpy(out, bytes, LITERAL);
    else
        memcpy(out, bytes, (size_t)size);
    return out + size;
}

static uint8_t *put_null(uint8_t *out)
{
    memcpy(out, "null", 4);
    return out + 4;
}

static int64_t digits_of(uint8_t *out, int64_t value)
{
    uint8_t text[DIGITS];
    int at = DIGITS;
    uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    while (left >= 100) {
        const unsigned two = (unsigned)(left % 100);
        left /= 100;
        text[--at] = (uint8_t)('0' + two % 10);
        text[--at] = (uint8_t)('0' + two / 10);
    }
    if (left >= 10) {
        text[--at] = (uint8_t)('0' + left % 10);
        left /= 10;
    }
    text[--at] = (uint8_t)('0' + left);
    if (value < 0)
        text[--at] = '-';
    memcpy(out, text + at, (size_t)(DIGITS - at));
    return DIGITS - at;
}

/* The digits of bytes in an alphabet; what is not whole is filled up with `pad` unless that is 0. */
static uint8_t *put_digits64(uint8_t *out, const uint8_t *bytes, int64_t size, const char *alphabet,
                             uint8_t pad)
{
    for (; size >= 3; size -= 3, bytes += 3) {
        const uint32_t bits = (uint32_t)bytes[0] << 16 | (uint32_t)bytes[1] << 8 | bytes[2];
        *out++ = (uint8_t)alphabet[bits >> 18];
        *out++ = (uint8_t)alphabet[bits >> 12 & 63];
        *out++ = (uint8_t)alphabet[bits >> 6 & 63];
        *out++ = (uint8_t)alphabet[bits & 63];
    }
    if (size > 0) {
        const uint32_t bits = (uint32_t)bytes[0] << 16 | (size > 1 ? (uint32_t)bytes[1] << 8 : 0);
        *out++ = (uint8_t)alphabet[bits >> 18];
        *out++ = (uint8_t)alphabet[bits >> 12 & 63];
        if (size > 1)
            *out++ = (uint8_t)alphabet[bits >> 6 & 63];
        for (int64_t left = size; pad && left < 3; left++)
            *out++ = pad;
    }
    return out;
}

/* The letter after the backslash; 0 for none, 'u' for four hexadecimal digits. */
static const uint8_t ESCAPES[128] = {
    'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'b', 't', 'n', 'u', 'f', 'r', 'u', 'u',
    'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u',
    ['"'] = '"', ['\\'] = '\\',
};

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))
#define TOP EACH(0x80)

/* In eight bytes, a top bit for one that needs a look: quotes and backslashes, and others. */
static uint64_t zeros(uint64_t word) { return (word - EACH(1)) & ~word & TOP; }
static uint64_t marks(uint64_t word) { return zeros(word ^ EACH('"')) | zeros(word ^ EACH('\\')); }
static uint64_t odd(uint64_t word) { return ((word - EACH(0x20)) | word) & TOP; }

static uint8_t *put_ascii(uint8_t *out, uint8_t c, const char *hexadecimal)
{
    const uint8_t letter = ESCAPES[c];
    if (!letter) {
        *out++ = c;
        return out;
    }
    *out++ = '\\';
    *out++ = letter;
    if (letter == 'u') {
        *out++ = '0';
        *out++ = '0';
        *out++ = (uint8_t)hexadecimal[c >> 4];
        *out++ = (uint8_t)hexadecimal[c & 15];
    }
    return out;
}

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define KS_SPREAD
#include <tmmintrin.h>

/* For each set of marks among eight bytes: where each byte of what is written comes from. The top
 * bit is set where a backslash stands, and after the end. */
static uint8_t spread[256][16];
static int spreads; /* whether the CPU can do that, and the table is filled */

static void fill_spread(void)
{
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("ssse3") || !__builtin_cpu_supports("popcnt"))
        return;
    memset(spread, 0x80, sizeof spread);
    for (int marked = 0; marked < 256; marked++)
        for (int i = 0, at = 0; i < 8; i++) {
            at += marked >> i & 1;
            spread[marked][at++] = (uint8_t)i;
        }
    spreads = 1;
}

__attribute__((target("ssse3,popcnt"))) static inline uint8_t *put_eight(uint8_t *out, __m128i bytes,
                                                                         unsigned marked)
{
    const __m128i places = _mm_loadu_si128((const __m128i *)spread[marked]);
    const __m128i slashes = _mm_and_si128(_mm_cmplt_epi8(places, _mm_setzero_si128()),
                                          _mm_set1_epi8('\\'));
    _mm_storeu_si128((__m128i *)out, _mm_or_si128(_mm_shuffle_epi8(bytes, places), slashes));
    return out + 8 + __builtin_popcount(marked);
}

/* Write bytes as long as there are 16 that no look is needed for but at quotes and backslashes. */
__attribute__((target("ssse3,popcnt"))) static uint8_t *put_plain(uint8_t *out, const uint8_t **from,
                                                                  const uint8_t *end)
{
    const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\');
    const uint8_t *p = *from;
    for (; end - p >= 16; p += 16) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)p);
        if (_mm_movemask_epi8(_mm_cmplt_epi8(bytes, _mm_set1_epi8(0x20)))) /* or not ASCII */
            break;
        const unsigned marked = (unsigned)_mm_movemask_epi8(
            _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, slash)));
        out = put_eight(out, bytes, marked & 0xFF);
        out = put_eight(out, _mm_srli_si128(bytes, 8), marked >> 8);
    }
    *from = p;
    return out;
}
#endif

/* A JSON string, with the digits of escapes; NULL where the bytes are not UTF-8. */
static uint8_t *put_text(uint8_t *out, const uint8_t *p, int64_t size, const char *hexadecimal)
{
    const uint8_t *const end = p + size;
    *out++ = '"';
    while (p < end) {
#ifdef KS_SPREAD
        if (spreads && end - p >= 16) {
            const uint8_t *const before = p;
            out = put_plain(out, &p, end);
            if (p > before)
                continue;
        }
#endif
        const uint8_t *stop = end;
        if (end - p >= 8) {
            uint64_t word;
            memcpy(&word, p, 8);
            if (!odd(word)) {
                memcpy(out, p, 8);
                if (!marks(word)) {
                    p += 8;
                    out += 8;
                    continue;
                }
                for (int i = 0; i < 8; i++) { /* without branches: any of them may be a mark */
                    const uint8_t c = p[i];
                    const int mark = ESCAPES[c] != 0;
                    out[0] = mark ? '\\' : c;
                    out[1] = c;
                    out += 1 + mark;
                }
                p += 8;
                continue;
            }
            stop = p + 8;
        }
        while (p < stop) {
            if (*p < 0x80) {
                out = put_ascii(out, *p++, hexadecimal);
                continue;
            }
            const int count = utf8_character(p, end);
            if (!count)
                return NULL;
            for (int i = 0; i < count; i++)
                *out++ = *p++;
        }
    }
    *out++ = '"';
    return out;
}

#endif
