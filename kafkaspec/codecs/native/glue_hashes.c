/* Keyed hashes of byte strings: HMAC (RFC 2104) of SHA-256 (FIPS 180-4), thousands at a time. */
#include "glue.h"

#include <string.h>

enum { BLOCK = 64, DIGEST = 32, WORDS = 8 };

static const uint32_t ROUNDS[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};
static const uint32_t BEGIN[WORDS] = {
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
};

static uint32_t turned(uint32_t x, int by) { return x >> by | x << (32 - by); }

static uint32_t word_at(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void put_word(uint8_t *p, uint32_t x)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(x >> (24 - 8 * i));
}

/* A round, after which h is the new a, and d the new e. */
#define ROUND(a, b, c, d, e, f, g, h, i)                                                             \
    do {                                                                                             \
        const uint32_t one = h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) +                    \
                             (g ^ (e & (f ^ g))) + ROUNDS[i] + w[(i) & 15];                          \
        d += one;                                                                                    \
        h = one + (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) | (c & (a | b)));        \
    } while (0)

static void add_plainly(uint32_t state[WORDS], const uint8_t *block)
{
    uint32_t w[16];
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (int i = 0; i < 16; i++)
        w[i] = word_at(block + 4 * i);
    for (int i = 0; i < 64; i += 8) {
        for (int k = i; i >= 16 && k < i + 8; k++) {
            const uint32_t x = w[(k + 1) & 15], y = w[(k + 14) & 15];
            w[k & 15] += w[(k + 9) & 15] + (turned(x, 7) ^ turned(x, 18) ^ x >> 3) +
                         (turned(y, 17) ^ turned(y, 19) ^ y >> 10);
        }
        ROUND(a, b, c, d, e, f, g, h, i);
        ROUND(h, a, b, c, d, e, f, g, i + 1);
        ROUND(g, h, a, b, c, d, e, f, i + 2);
        ROUND(f, g, h, a, b, c, d, e, i + 3);
        ROUND(e, f, g, h, a, b, c, d, i + 4);
        ROUND(d, e, f, g, h, a, b, c, i + 5);
        ROUND(c, d, e, f, g, h, a, b, i + 6);
        ROUND(b, c, d, e, f, g, h, a, i + 7);
    }
    const uint32_t sums[WORDS] = {a, b, c, d, e, f, g, h};
    for (int i = 0; i < WORDS; i++)
        state[i] += sums[i];
}

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <cpuid.h>
#include <immintrin.h>

/* The same by the instructions that some CPUs have for it, which want the state as ABEF, CDGH. */
__attribute__((target("sha,sse4.1"))) static void add_at_once(uint32_t state[WORDS],
                                                              const uint8_t *block)
{
    const __m128i order = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    const __m128i first = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)state), 0xb1);
    const __m128i second = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(state + 4)), 0x1b);
    const __m128i abef = _mm_alignr_epi8(first, second, 8), cdgh = _mm_blend_epi16(second, first, 0xf0);
    __m128i m[4], one = abef, two = cdgh;
    for (int i = 0; i < 16; i++) {
        if (i < 4) {
            const __m128i bytes = _mm_loadu_si128((const __m128i *)(block + 16 * i));
            m[i] = _mm_shuffle_epi8(bytes, order);
        } else {
            const __m128i last = m[(i + 3) & 3];
            const __m128i mixed = _mm_add_epi32(_mm_sha256msg1_epu32(m[i & 3], m[(i + 1) & 3]),
                                                _mm_alignr_epi8(last, m[(i + 2) & 3], 4));
            m[i & 3] = _mm_sha256msg2_epu32(mixed, last);
        }
        const __m128i rounds = _mm_loadu_si128((const __m128i *)(ROUNDS + 4 * i));
        const __m128i words = _mm_add_epi32(m[i & 3], rounds);
        two = _mm_sha256rnds2_epu32(two, one, words);
        one = _mm_sha256rnds2_epu32(one, two, _mm_shuffle_epi32(words, 0x0e));
    }
    one = _mm_shuffle_epi32(_mm_add_epi32(one, abef), 0x1b);
    two = _mm_shuffle_epi32(_mm_add_epi32(two, cdgh), 0xb1);
    _mm_storeu_si128((__m128i *)state, _mm_blend_epi16(one, two, 0xf0));
    _mm_storeu_si128((__m128i *)(state + 4), _mm_alignr_epi8(two, one, 8));
}

static int is_at_once(void)
{
    unsigned a, b = 0, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b >> 29 & 1) && __get_cpuid(1, &a, &b, &c, &d) &&
           (c >> 19 & 1);
}
#else
#define add_at_once add_plainly
static int is_at_once(void) { return 0; }
#endif

typedef void (*add_function)(uint32_t state[WORDS], const uint8_t *block);

/* The sum of a block that was added before, a byte if `lead` is one, and the bytes. */
static void sum(add_function add_block, const uint32_t begun[WORDS], int lead, const uint8_t *bytes, int64_t size,
                uint8_t digest[DIGEST])
{
    uint32_t state[WORDS];
    uint8_t last[2 * BLOCK] = {0};
    const uint64_t bits = 8 * (uint64_t)(BLOCK + lead + size);
    memcpy(state, begun, sizeof state);
    int64_t used = lead; /* of `last`, which begins with a zero for it */
    if (size + lead >= BLOCK) {
        memcpy(last + lead, bytes, (size_t)(BLOCK - lead));
        add_block(state, last);
        bytes += BLOCK - lead;
        size -= BLOCK - lead;
        for (; size >= BLOCK; size -= BLOCK, bytes += BLOCK)
            add_block(state, bytes);
        memset(last, 0, sizeof last);
        used = 0;
    }
    if (size)
        memcpy(last + used, bytes, (size_t)size);
    used += size;
    last[used++] = 0x80;
    const int blocks = used + 8 > BLOCK ? 2 : 1;
    put_word(last + BLOCK * blocks - 8, (uint32_t)(bits >> 32));
    put_word(last + BLOCK * blocks - 4, (uint32_t)bits);
    for (int i = 0; i < blocks; i++)
        add_block(state, last + BLOCK * i);
    for (int i = 0; i < WORDS; i++)
        put_word(digest + 4 * i, state[i]);
}

/*
 * hashes(pads, rows, validity, offsets, data, plainly=False) -> bytes
 *
 * HMAC-SHA-256 of a zero byte and the bytes of each row that is not null, one after the other. pads:
 * the key with the inner and the outer padding, a block each. 32-bit offsets divide data. plainly:
 * without the instructions that some CPUs have for it.
 */
PyObject *glue_hashes(PyObject *module, PyObject *args)
{
    PyObject *validity, *offsets, *data, *result = NULL;
    const char *pads;
    Py_ssize_t pads_size;
    long long rows;
    int plainly = 0;
    glue_pins pins;
    (void)module;
    if (!PyArg_ParseTuple(args, "y#LOOO|p", &pads, &pads_size, &rows, &validity, &offsets, &data,
                          &plainly))
        return NULL;
    if (pads_size != 2 * BLOCK || rows < 0 || rows > INT32_MAX)
        return PyErr_Format(PyExc_ValueError, "no such rows, or not two blocks of a key");
    if (glue_pins_open(&pins, 3) < 0)
        return NULL;
    int64_t size = 0;
    const uint8_t *bits = NULL;
    const int32_t *ends = glue_pin_sized(&pins, offsets, 0, 4 * (rows + 1));
    const uint8_t *bytes = ends ? glue_pin(&pins, data, 0, &size) : NULL;
    if (bytes && validity != Py_None)
        bits = glue_pin_sized(&pins, validity, 0, (rows + 7) / 8);
    if (bytes && (bits || validity == Py_None)) {
        int64_t count = 0, bad = 0;
        for (int64_t i = 0; i < rows; i++) {
            count += !bits || (bits[i >> 3] >> (i & 7) & 1);
            bad |= ends[i] < 0 || ends[i] > ends[i + 1] || ends[i + 1] > size;
        }
        if (bad)
            PyErr_SetString(PyExc_ValueError, "the offsets are in no order");
        else
            result = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(DIGEST * count));
        if (result) {
            uint8_t *out = (uint8_t *)PyBytes_AsString(result);
            const uint8_t *const end = out + DIGEST * count;
            const add_function add_block = plainly || !is_at_once() ? add_plainly : add_at_once;
            uint32_t inner[WORDS], outer[WORDS];
            memcpy(inner, BEGIN, sizeof inner);
            memcpy(outer, BEGIN, sizeof outer);
            add_block(inner, (const uint8_t *)pads);
            add_block(outer, (const uint8_t *)pads + BLOCK);
            Py_BEGIN_ALLOW_THREADS
            for (int64_t i = 0; i < rows && out < end; i++) {
                const int64_t start = ends[i], stop = ends[i + 1];
                uint8_t digest[DIGEST];
                if ((bits && !(bits[i >> 3] >> (i & 7) & 1)) || start < 0 || start > stop || stop > size)
                    continue;
                sum(add_block, inner, 1, bytes + start, stop - start, digest);
                sum(add_block, outer, 0, digest, DIGEST, out);
                out += DIGEST;
            }
            Py_END_ALLOW_THREADS
        }
    }
    glue_pins_close(&pins);
    return result;
}
