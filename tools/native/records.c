/* The loops over records of a batch for a bounded model checker: bytes, header and columns are any.
 * tools/native/bounded.py runs it, and defines LAYOUT, NEAR, SIZE, SLACK, HEADERS and COLUMNS;
 * docs/proof.md says what it shows. */
#define __FRAMAC__ 1 /* the plain C99 that the proof reads */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

int64_t nondet_long(void);
_Bool nondet_bool(void);

/* No address is made of what is copied: where it lies is all that matters, its first and last byte. */
static void touch(void *to, const void *from, unsigned long size)
{
    if (size) {
        const uint8_t last = ((const uint8_t *)from)[size - 1], first = *(const uint8_t *)from;
        ((uint8_t *)to)[size - 1] = last;
        *(uint8_t *)to = first;
    }
}

static void fill(void *to, unsigned long size)
{
    if (size) {
        ((uint8_t *)to)[size - 1] = 0;
        *(uint8_t *)to = 0;
    }
}

#define memcpy(to, from, size) touch(to, from, size)
#define memset(to, byte, size) fill(to, size)
#include "runtime.h"
#undef KS_ASSUME
#define KS_ASSUME(x) __ESBMC_assert((x), "KS_ASSUME")

/* The readers of varints by the contracts that make proof proves: any number, or none. */
static const uint8_t *any_varint(const uint8_t *p, const uint8_t *end, int64_t *out, int most)
{
    const int64_t size = nondet_long();
    *out = nondet_long();
    if (nondet_bool())
        return NULL;
    __ESBMC_assume(size >= 1 && size <= most && size <= end - p);
    return p + size;
}

static const uint8_t *any_near(const uint8_t *p, int64_t *out, int most)
{
    const uint8_t first = p[0], last = p[most - 1];
    (void)first;
    (void)last;
    return any_varint(p, p + most, out, most);
}

static uint64_t any_high(const uint8_t *bytes, int64_t size, const uint8_t *limit)
{
    __ESBMC_assert(size >= 0 && size <= limit - bytes, "ks_high");
    return (uint64_t)nondet_long();
}

#define ks_read_varint32(p, end, out) any_varint(p, end, out, 5)
#define ks_read_varint64(p, end, out) any_varint(p, end, out, 10)
#define ks_near_varint32(p, out) any_near(p, out, 5)
#define ks_near_varint64(p, out) any_near(p, out, 10)
#define ks_high(bytes, size, limit) any_high(bytes, size, limit)
#include "segment.c"

uint32_t ks_crc32c(const uint8_t *bytes, int64_t size) { return (uint32_t)nondet_long(); }
uint32_t ks_crc32(const uint8_t *bytes, int64_t size) { return (uint32_t)nondet_long(); }

enum { ROWS = 1, ITEMS = HEADERS, MOST = ROWS > ITEMS ? ROWS : ITEMS, TEXT = KS_SLACK + SIZE / 2 };
_Static_assert(ROWS < 8 && ITEMS < 8, "the bits of validity are one byte");

int main(void)
{
    uint8_t bytes[SIZE + SLACK], data[4][TEXT], views[4][KS_VIEW_SIZE * MOST], valid[4][1];
    int64_t integers[8][MOST], spans[4][2 * MOST];
    int32_t ends[4][MOST + 1], starts[ROWS + 1];
    int64_t *pointers[64] = {0};
    ks_bytes_out strings[4] = {0};
    ks_list_out lists[1] = {{starts, 0, ITEMS, 1}};
#define COLUMN(kind, index, list)                                                                  \
    if (kind == KS_INTEGER)                                                                        \
        pointers[index] = nondet_bool() ? integers[index] : NULL;                                  \
    else if (kind != KS_LIST)                                                                      \
        strings[index] = (ks_bytes_out){                                                           \
            views[index], spans[index], ends[index], data[index], TEXT, 0,                         \
            kind == KS_BYTES || nondet_bool() ? NULL : valid[index], 0, 0,                         \
            nondet_bool(),                                                                         \
        };
    COLUMNS
    ks_out out = {LAYOUT, 0, ROWS, pointers, strings, lists};
    const int64_t start = nondet_long(), size = nondet_long();
    __ESBMC_assume(size >= 0 && size <= SIZE && start >= 0 && start <= SIZE + SLACK - size);
    const ks_buffer buffer = {bytes, SIZE + SLACK};
    struct record_batch header;
#if NEAR
    const uint8_t *const first = bytes + start, *const end = first + size;
    const int64_t last = nondet_long();
    __ESBMC_assume(last >= 0 && last <= ROWS);
    const uint8_t *const p =
        near_record_set(&header, &buffer, first, end, 0, &out, last, LAYOUT, 1);
    __ESBMC_assert(p >= first && p <= end && out.rows >= 0 && out.rows <= last, "result");
#else
    int64_t position;
    decode_record_set(&header, &buffer, start, size, 0, &out, LAYOUT, 1, 1, &position);
#endif
    return 0;
}
