/* Text as Java's String makes it of bytes that may not be UTF-8: U+FFFD for what is malformed. */
#ifndef KAFKASPEC_JAVA_TEXT_H
#define KAFKASPEC_JAVA_TEXT_H

#include <stdint.h>
#include <string.h>

#include "utf8.h"

enum { JAVA_MOST = 3 }; /* bytes that take the place of one */

static const uint8_t REPLACEMENT[JAVA_MOST] = {0xef, 0xbf, 0xbd};

static inline int continues(const uint8_t *p, const uint8_t *end)
{
    return p < end && (*p & 0xc0) == 0x80;
}

/* Bytes at p, where no character begins, that one replacement stands for. */
static int malformed(const uint8_t *p, const uint8_t *end)
{
    const unsigned c = p[0];
    if (c < 0xe0 || c > 0xf4 || !continues(p + 1, end))
        return 1;
    const unsigned next = p[1];
    if ((c == 0xe0 && next < 0xa0) || (c == 0xf0 && next < 0x90) || (c == 0xf4 && next > 0x8f))
        return 1;
    if (!continues(p + 2, end))
        return 2;
    return 3; /* a surrogate, or the last of four bytes is missing */
}

/* Bytes before the first one that is not ASCII, but for some of the last ones. */
static int64_t ascii_run(const uint8_t *p, const uint8_t *end)
{
    const uint8_t *const start = p;
    for (uint64_t word; end - p >= 8; p += 8) {
        memcpy(&word, p, 8);
        if (word & UINT64_C(0x8080808080808080))
            break;
    }
    return p - start;
}

static int64_t java_size(const uint8_t *p, int64_t size)
{
    const uint8_t *const end = p + size;
    int64_t total = 0;
    while (p < end) {
        const int64_t run = ascii_run(p, end);
        p += run;
        total += run;
        if (p == end)
            break;
        const int count = *p < 0x80 ? 1 : utf8_character(p, end);
        total += count ? count : JAVA_MOST;
        p += count ? count : malformed(p, end);
    }
    return total;
}

static uint8_t *put_java(uint8_t *out, const uint8_t *p, int64_t size)
{
    const uint8_t *const end = p + size;
    while (p < end) {
        const int64_t run = ascii_run(p, end);
        memcpy(out, p, (size_t)run);
        p += run;
        out += run;
        while (p < end) {
            if (*p < 0x80) {
                *out++ = *p++;
                if (end - p >= 8)
                    break;
                continue;
            }
            const int count = utf8_character(p, end);
            memcpy(out, count ? p : REPLACEMENT, (size_t)(count ? count : JAVA_MOST));
            out += count ? count : JAVA_MOST;
            p += count ? count : malformed(p, end);
        }
    }
    return out;
}

#endif
