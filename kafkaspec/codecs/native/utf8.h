/* UTF-8 as RFC 3629 has it: no longer form than needed, no surrogates. */
#ifndef KAFKASPEC_UTF8_H
#define KAFKASPEC_UTF8_H

#include <stdint.h>

/* Bytes of the character that begins here, beyond ASCII; 0 where UTF-8 has none (RFC 3629). */
static inline int utf8_character(const uint8_t *p, const uint8_t *end)
{
    const unsigned c = p[0];
    const int size = c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
    if (!size || end - p < size)
        return 0;
    const unsigned low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
    const unsigned high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
    if (p[1] < low || p[1] > high)
        return 0;
    for (int i = 2; i < size; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    return size;
}

#endif
