/* Keys of records as the cleaner of a broker knows them: by their MD5, in a table of fixed size.
 *
 * Kafka: SkimpyOffsetMap. A slot is the digest of a key and the last offset that has it, plus one,
 * so that zeros are an empty slot.
 */
#include "glue.h"

#include <string.h>

enum {
    DIGEST_BYTES = 16,
    SLOT_BYTES = 24,
    BLOCK_BYTES = 64,
    LENGTH_BYTES = 8,
    WINDOWS = DIGEST_BYTES - 4, /* further attempts go to the slots that follow */
    AHEAD = 12                  /* rows whose slots are fetched before they are needed */
};

enum { STAYS = 0, SUPERSEDED = 1, KEYLESS = 2, VALUELESS = 16, AFTER = 32 };

enum { ENTRIES, LAST_ROW, STATE_FIELDS };

/* -- MD5 (RFC 1321) -------------------------------------------------------------------------- */

static inline uint32_t rolled(uint32_t x, int n) { return x << n | x >> (32 - n); }

static inline uint32_t word(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void put_word(uint8_t *p, uint32_t x)
{
    p[0] = (uint8_t)x;
    p[1] = (uint8_t)(x >> 8);
    p[2] = (uint8_t)(x >> 16);
    p[3] = (uint8_t)(x >> 24);
}

#define F(x, y, z) ((z) ^ ((x) & ((y) ^ (z))))
#define G(x, y, z) ((y) ^ ((z) & ((x) ^ (y))))
#define H(x, y, z) ((x) ^ (y) ^ (z))
#define I(x, y, z) ((y) ^ ((x) | ~(z)))
#define STEP(f, a, b, c, d, k, s, t) (a) = rolled((a) + f(b, c, d) + m[k] + (t), s) + (b)
#define FOUR(f, k0, k1, k2, k3, s0, s1, s2, s3, t0, t1, t2, t3)                                    \
    STEP(f, a, b, c, d, k0, s0, t0);                                                               \
    STEP(f, d, a, b, c, k1, s1, t1);                                                               \
    STEP(f, c, d, a, b, k2, s2, t2);                                                               \
    STEP(f, b, c, d, a, k3, s3, t3)

static void md5_block(uint32_t state[4], const uint8_t *p)
{
    uint32_t m[16], a = state[0], b = state[1], c = state[2], d = state[3];
    for (int i = 0; i < 16; i++)
        m[i] = word(p + 4 * i);
    FOUR(F, 0, 1, 2, 3, 7, 12, 17, 22, 0xd76aa478u, 0xe8c7b756u, 0x242070dbu, 0xc1bdceeeu);
    FOUR(F, 4, 5, 6, 7, 7, 12, 17, 22, 0xf57c0fafu, 0x4787c62au, 0xa8304613u, 0xfd469501u);
    FOUR(F, 8, 9, 10, 11, 7, 12, 17, 22, 0x698098d8u, 0x8b44f7afu, 0xffff5bb1u, 0x895cd7beu);
    FOUR(F, 12, 13, 14, 15, 7, 12, 17, 22, 0x6b901122u, 0xfd987193u, 0xa679438eu, 0x49b40821u);
    FOUR(G, 1, 6, 11, 0, 5, 9, 14, 20, 0xf61e2562u, 0xc040b340u, 0x265e5a51u, 0xe9b6c7aau);
    FOUR(G, 5, 10, 15, 4, 5, 9, 14, 20, 0xd62f105du, 0x02441453u, 0xd8a1e681u, 0xe7d3fbc8u);
    FOUR(G, 9, 14, 3, 8, 5, 9, 14, 20, 0x21e1cde6u, 0xc33707d6u, 0xf4d50d87u, 0x455a14edu);
    FOUR(G, 13, 2, 7, 12, 5, 9, 14, 20, 0xa9e3e905u, 0xfcefa3f8u, 0x676f02d9u, 0x8d2a4c8au);
    FOUR(H, 5, 8, 11, 14, 4, 11, 16, 23, 0xfffa3942u, 0x8771f681u, 0x6d9d6122u, 0xfde5380cu);
    FOUR(H, 1, 4, 7, 10, 4, 11, 16, 23, 0xa4beea44u, 0x4bdecfa9u, 0xf6bb4b60u, 0xbebfbc70u);
    FOUR(H, 13, 0, 3, 6, 4, 11, 16, 23, 0x289b7ec6u, 0xeaa127fau, 0xd4ef3085u, 0x04881d05u);
    FOUR(H, 9, 12, 15, 2, 4, 11, 16, 23, 0xd9d4d039u, 0xe6db99e5u, 0x1fa27cf8u, 0xc4ac5665u);
    FOUR(I, 0, 7, 14, 5, 6, 10, 15, 21, 0xf4292244u, 0x432aff97u, 0xab9423a7u, 0xfc93a039u);
    FOUR(I, 12, 3, 10, 1, 6, 10, 15, 21, 0x655b59c3u, 0x8f0ccc92u, 0xffeff47du, 0x85845dd1u);
    FOUR(I, 8, 15, 6, 13, 6, 10, 15, 21, 0x6fa87e4fu, 0xfe2ce6e0u, 0xa3014314u, 0x4e0811a1u);
    FOUR(I, 4, 11, 2, 9, 6, 10, 15, 21, 0xf7537e82u, 0xbd3af235u, 0x2ad7d2bbu, 0xeb86d391u);
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

static void md5(const uint8_t *data, int64_t size, uint8_t out[DIGEST_BYTES])
{
    uint32_t state[4] = {0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u};
    int64_t done = 0;
    for (; size - done >= BLOCK_BYTES; done += BLOCK_BYTES)
        md5_block(state, data + done);
    uint8_t last[2 * BLOCK_BYTES] = {0};
    const int64_t rest = size - done;
    if (rest)
        memcpy(last, data + done, (size_t)rest);
    last[rest] = 0x80;
    const int64_t end = rest < BLOCK_BYTES - LENGTH_BYTES ? BLOCK_BYTES : 2 * BLOCK_BYTES;
    put_word(last + end - 8, (uint32_t)((uint64_t)size << 3));
    put_word(last + end - 4, (uint32_t)((uint64_t)size >> 29));
    for (int64_t at = 0; at < end; at += BLOCK_BYTES)
        md5_block(state, last + at);
    for (int i = 0; i < 4; i++)
        put_word(out + 4 * i, state[i]);
}

/* -- columns --------------------------------------------------------------------------------- */

/*
 * key_digests(layout, rows, validity, main, sources, out)
 *
 * The MD5 of each value of a column; zeros for null.
 */
PyObject *glue_key_digests(PyObject *module, PyObject *args)
{
    PyObject *given, *main, *tuple, *target;
    long long rows;
    int layout;
    (void)module;
    if (!PyArg_ParseTuple(args, "iLOOOO", &layout, &rows, &given, &main, &tuple, &target))
        return NULL;
    if (rows < 0 || rows >= INT32_MAX || (layout != KS_VIEW && layout != KS_BINARY))
        return PyErr_Format(PyExc_ValueError, "there are no such rows");
    glue_pins pins;
    if (glue_pins_open(&pins, GLUE_SOURCES + 3) < 0)
        return NULL;
    ks_buffer sources[GLUE_SOURCES];
    const uint8_t *validity = NULL;
    const void *values = NULL;
    uint8_t *out = NULL;
    int bad = 0;
    const int count = glue_pin_sources(&pins, tuple, layout, sources);
    if (count >= 0 && glue_pin_validity(&pins, given, rows, &validity) == 0 &&
        (values = glue_pin_sized(&pins, main, 0,
                                 layout == KS_VIEW ? KS_VIEW_SIZE * rows : 4 * (rows + 1))) &&
        (out = glue_pin_sized(&pins, target, 1, DIGEST_BYTES * rows))) {
        Py_BEGIN_ALLOW_THREADS
        for (int64_t row = 0; row < rows && !bad; row++) {
            const uint8_t *bytes;
            int64_t size;
            if (!glue_is_there(validity, row))
                memset(out + DIGEST_BYTES * row, 0, DIGEST_BYTES);
            else if (glue_bytes_of(layout, values, sources, count, row, &bytes, &size))
                md5(bytes, size, out + DIGEST_BYTES * row);
            else
                bad = 1;
        }
        Py_END_ALLOW_THREADS
    }
    glue_pins_close(&pins);
    if (bad)
        return PyErr_Format(PyExc_ValueError, "the column is not a column of Arrow");
    if (!out)
        return NULL;
    Py_RETURN_NONE;
}

/* -- the table ------------------------------------------------------------------------------- */

static inline int64_t slot_of(const uint8_t *digest, int64_t attempt, int64_t slots)
{
    const uint8_t *p = digest + (attempt < WINDOWS ? attempt : WINDOWS);
    const uint64_t probe = (uint64_t)p[0] << 24 | (uint64_t)p[1] << 16 | (uint64_t)p[2] << 8 | p[3];
    return (int64_t)((probe + (uint64_t)(attempt > WINDOWS ? attempt - WINDOWS : 0)) %
                     (uint64_t)slots);
}

/* The slot of a key, or the empty one where it belongs; NULL if the table is full. */
static uint8_t *found_slot(uint8_t *table, int64_t slots, const uint8_t *digest, int64_t *stored)
{
    for (int64_t attempt = 0; attempt < slots + WINDOWS + 1; attempt++) {
        uint8_t *slot = table + SLOT_BYTES * slot_of(digest, attempt, slots);
        memcpy(stored, slot + DIGEST_BYTES, sizeof *stored);
        if (!*stored || !memcmp(slot, digest, DIGEST_BYTES))
            return slot;
    }
    return NULL;
}

static inline void fetch(const uint8_t *table, int64_t slots, const uint8_t *digests, int64_t row,
                         int64_t rows)
{
#if defined(__GNUC__)
    if (row + AHEAD < rows)
        __builtin_prefetch(table +
                           SLOT_BYTES * slot_of(digests + DIGEST_BYTES * (row + AHEAD), 0, slots));
#else
    (void)table, (void)slots, (void)digests, (void)row, (void)rows;
#endif
}

/*
 * keys_put(table, digests, validity, offsets, first, last, start, limit, state) -> row
 *
 * Puts the keys of rows with offsets from `start` on. state: the number of keys in the table, and
 * the last row that was put. Ends before a row with a key if there are `limit` keys.
 */
PyObject *glue_keys_put(PyObject *module, PyObject *args)
{
    PyObject *object, *given, *valid, *column, *counts;
    long long first, last, start, limit;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOOOLLLLO", &object, &given, &valid, &column, &first, &last,
                          &start, &limit, &counts))
        return NULL;
    if (first < 0 || last < first || last >= INT32_MAX)
        return PyErr_Format(PyExc_ValueError, "there are no such rows");
    glue_pins pins;
    if (glue_pins_open(&pins, 5) < 0)
        return NULL;
    int64_t size = 0, row = first, *state = NULL;
    uint8_t *table = glue_pin(&pins, object, 1, &size);
    const uint8_t *digests = NULL, *validity = NULL;
    const int64_t *offsets = NULL;
    const int64_t slots = size / SLOT_BYTES;
    if (table && (digests = glue_pin_sized(&pins, given, 0, DIGEST_BYTES * last)) &&
        glue_pin_validity(&pins, valid, last, &validity) == 0 &&
        (offsets = glue_pin_sized(&pins, column, 0, 8 * last)) &&
        (state = glue_pin_sized(&pins, counts, 1, 8 * STATE_FIELDS)) && slots > 0) {
        Py_BEGIN_ALLOW_THREADS
        for (; row < last; row++) {
            fetch(table, slots, digests, row, last);
            if (!glue_is_there(validity, row) || offsets[row] < start)
                continue;
            if (state[ENTRIES] >= limit)
                break;
            int64_t stored, next = offsets[row] + 1;
            uint8_t *slot = found_slot(table, slots, digests + DIGEST_BYTES * row, &stored);
            if (!slot)
                break;
            if (!stored) {
                memcpy(slot, digests + DIGEST_BYTES * row, DIGEST_BYTES);
                state[ENTRIES]++;
            }
            memcpy(slot + DIGEST_BYTES, &next, sizeof next);
            state[LAST_ROW] = row;
        }
        Py_END_ALLOW_THREADS
    }
    glue_pins_close(&pins);
    if (state && slots <= 0)
        return PyErr_Format(PyExc_ValueError, "the table has no slot");
    return state ? PyLong_FromLongLong(row) : NULL;
}

/*
 * keys_judge(table, digests, key_validity, value_validity, offsets, rows, latest, found, verdicts)
 *
 * found: the last offset that has the key of each row, -1 for none. verdicts: a byte for each row,
 * whether it stays, is SUPERSEDED by a later record of its key or KEYLESS; with VALUELESS if it has
 * no value, and AFTER if its offset is above `latest`, so that the table says nothing about it.
 */
PyObject *glue_keys_judge(PyObject *module, PyObject *args)
{
    PyObject *object, *given, *keys, *values, *column, *places, *target;
    long long rows, latest;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOOOOLLOO", &object, &given, &keys, &values, &column, &rows,
                          &latest, &places, &target))
        return NULL;
    if (rows < 0 || rows >= INT32_MAX)
        return PyErr_Format(PyExc_ValueError, "there are no such rows");
    glue_pins pins;
    if (glue_pins_open(&pins, 7) < 0)
        return NULL;
    int64_t size = 0, *found = NULL;
    /* Written to by nobody here; the search for a slot is shared with keys_put. */
    uint8_t *table = glue_pin(&pins, object, 1, &size), *verdicts = NULL;
    const uint8_t *digests = NULL, *key_there = NULL, *value_there = NULL;
    const int64_t *offsets = NULL;
    const int64_t slots = size / SLOT_BYTES;
    if (table && (digests = glue_pin_sized(&pins, given, 0, DIGEST_BYTES * rows)) &&
        glue_pin_validity(&pins, keys, rows, &key_there) == 0 &&
        glue_pin_validity(&pins, values, rows, &value_there) == 0 &&
        (offsets = glue_pin_sized(&pins, column, 0, 8 * rows)) &&
        (found = glue_pin_sized(&pins, places, 1, 8 * rows)) &&
        (verdicts = glue_pin_sized(&pins, target, 1, rows)) && slots > 0) {
        Py_BEGIN_ALLOW_THREADS
        for (int64_t row = 0; row < rows; row++) {
            fetch(table, slots, digests, row, rows);
            int verdict = glue_is_there(value_there, row) ? STAYS : VALUELESS;
            found[row] = -1;
            if (offsets[row] > latest) {
                verdict |= AFTER;
            } else if (!glue_is_there(key_there, row)) {
                verdict |= KEYLESS;
            } else {
                int64_t stored;
                if (found_slot(table, slots, digests + DIGEST_BYTES * row, &stored) && stored) {
                    found[row] = stored - 1;
                    if (offsets[row] < stored - 1)
                        verdict |= SUPERSEDED;
                }
            }
            verdicts[row] = (uint8_t)verdict;
        }
        Py_END_ALLOW_THREADS
    }
    glue_pins_close(&pins);
    if (verdicts && slots <= 0)
        return PyErr_Format(PyExc_ValueError, "the table has no slot");
    if (!verdicts)
        return NULL;
    Py_RETURN_NONE;
}
