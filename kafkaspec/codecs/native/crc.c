/*
 * CRC-32C and CRC-32 with the instructions of the CPU where it has them, tables elsewhere.
 *
 * x86: the crc32 instruction takes three cycles but one can start in each, so three streams run
 * side by side and are joined by carry-less multiplication (V. Gopal et al., "Fast CRC Computation
 * for iSCSI Polynomial Using CRC32 Instruction", Intel 2011). Streams are as long as the input
 * allows, so that nearly nothing is left for a serial tail.
 *
 * Carry-less multiplication alone serves every polynomial: what was read is multiplied by a power of
 * x, which moves it on to where the next bytes lie, and added to them, until 16 bytes are left that
 * have the same checksum as all of it (V. Gopal et al., "Fast CRC Computation for Generic
 * Polynomials Using PCLMULQDQ Instruction", Intel 2009). With registers of 64 bytes that is as fast
 * as memory is read; with registers of 16 it serves CRC-32, which has no instruction here.
 */
#include <stddef.h>
#include <string.h>

#include "abi.h"

#define CASTAGNOLI 0x82f63b78u
#define IEEE 0xedb88320u

typedef uint32_t (*kernel)(uint32_t crc, const uint8_t *bytes, size_t size);

/* Slicing by 8, for every CPU. tables[k][b]: the effect of byte b followed by k zero bytes. */
typedef uint32_t tables[8][256];

static void fill_tables(uint32_t polynomial, tables table)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? polynomial : 0);
        table[0][i] = crc;
    }
    for (int k = 1; k < 8; k++)
        for (uint32_t i = 0; i < 256; i++)
            table[k][i] = table[k - 1][i] >> 8 ^ table[0][table[k - 1][i] & 0xff];
}

static uint32_t sliced(tables table, uint32_t crc, const uint8_t *p, size_t size)
{
    for (; size >= 8; size -= 8, p += 8) {
        uint32_t low = crc ^ ((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
                              (uint32_t)p[3] << 24);
        crc = table[7][low & 0xff] ^ table[6][low >> 8 & 0xff] ^ table[5][low >> 16 & 0xff] ^
              table[4][low >> 24] ^ table[3][p[4]] ^ table[2][p[5]] ^ table[1][p[6]] ^
              table[0][p[7]];
    }
    for (; size > 0; size--, p++)
        crc = crc >> 8 ^ table[0][(crc ^ *p) & 0xff];
    return crc;
}

static tables castagnoli, ieee;

static uint32_t castagnoli_table(uint32_t crc, const uint8_t *bytes, size_t size)
{
    return sliced(castagnoli, crc, bytes, size);
}

static uint32_t ieee_table(uint32_t crc, const uint8_t *bytes, size_t size)
{
    return sliced(ieee, crc, bytes, size);
}

#if (defined(__x86_64__) || defined(_M_X64)) && (defined(__GNUC__) || defined(__clang__))
#define KS_X86 1
#include <nmmintrin.h>
#include <wmmintrin.h>

/* Words of 8 bytes that one stream may have. */
#define LONGEST 512
/* Distance of the prefetch: nothing else hides the latency of memory in this loop. */
#define AHEAD 1024

/* shifts[n] = x^(64 n - 33): times a checksum it appends n zero words. */
static uint32_t shifts[2 * LONGEST + 1];

/* Newer versions of clang do not count the instruction among those of SSE 4.2. */
#ifdef __clang__
#define SSE42 "sse4.2,crc32"
#else
#define SSE42 "sse4.2"
#endif

__attribute__((target(SSE42))) static void fill_shifts(void)
{
    uint64_t value = 1;
    for (int n = 1; n <= 2 * LONGEST; n++) {
        shifts[n] = (uint32_t)value;
        value = _mm_crc32_u64(value, 0);
    }
}

__attribute__((target(SSE42 ",pclmul"))) static inline uint64_t product(uint64_t crc, uint32_t by)
{
    __m128i a = _mm_cvtsi64_si128((long long)crc), b = _mm_cvtsi64_si128((long long)by);
    return (uint64_t)_mm_cvtsi128_si64(_mm_clmulepi64_si128(a, b, 0));
}

static inline uint64_t word(const uint8_t *p)
{
    uint64_t value;
    memcpy(&value, p, 8);
    return value;
}

__attribute__((target(SSE42 ",pclmul"))) static uint32_t castagnoli_x86(uint32_t crc,
                                                                        const uint8_t *p,
                                                                        size_t size)
{
    uint64_t first = crc;
    while (size >= 72) {
        size_t words = size / 24 > LONGEST ? LONGEST : size / 24;
        const uint8_t *a = p, *b = p + 8 * words, *c = b + 8 * words;
        uint64_t second = 0, third = 0;
        size_t left = words;
        for (; left >= 8; left -= 8, a += 64, b += 64, c += 64) {
            __builtin_prefetch((const void *)((uintptr_t)a + AHEAD));
            __builtin_prefetch((const void *)((uintptr_t)b + AHEAD));
            __builtin_prefetch((const void *)((uintptr_t)c + AHEAD));
            for (int k = 0; k < 64; k += 8) {
                first = _mm_crc32_u64(first, word(a + k));
                second = _mm_crc32_u64(second, word(b + k));
                third = _mm_crc32_u64(third, word(c + k));
            }
        }
        for (; left > 0; left--, a += 8, b += 8, c += 8) {
            first = _mm_crc32_u64(first, word(a));
            second = _mm_crc32_u64(second, word(b));
            third = _mm_crc32_u64(third, word(c));
        }
        first = third ^ _mm_crc32_u64(0, product(first, shifts[2 * words]) ^
                                             product(second, shifts[words]));
        p += 24 * words;
        size -= 24 * words;
    }
    for (; size >= 8; size -= 8, p += 8)
        first = _mm_crc32_u64(first, word(p));
    crc = (uint32_t)first;
    for (; size > 0; size--, p++)
        crc = _mm_crc32_u8(crc, *p);
    return crc;
}

/* Distances in bytes that what was read is moved on by, and the powers of x for its halves. */
static const int distances[] = {256, 64, 16};
enum { BY_256, BY_64, BY_16, DISTANCES };
typedef uint64_t powers[DISTANCES][2];

static powers castagnoli_powers, ieee_powers;

static uint32_t power_of_x(uint32_t polynomial, int exponent)
{
    uint32_t value = 1u << 31;
    while (exponent-- > 0)
        value = value >> 1 ^ (value & 1 ? polynomial : 0);
    return value;
}

/* A product of 64 and 32 bits lies 33 bits from where it is wanted. */
static void fill_powers(uint32_t polynomial, powers power)
{
    for (int k = 0; k < DISTANCES; k++) {
        power[k][0] = power_of_x(polynomial, 8 * distances[k] + 64 - 33);
        power[k][1] = power_of_x(polynomial, 8 * distances[k] - 33);
    }
}

/* The rest of a folded input: 16 bytes, and up to 15 more after them. */
typedef struct {
    uint8_t folded[16];
    const uint8_t *rest;
    size_t size;
} remainder;

#define FOLD_TARGET __attribute__((target("sse2,pclmul")))

FOLD_TARGET static inline __m128i load16(const void *p) { return _mm_loadu_si128(p); }

FOLD_TARGET static inline __m128i fold16(__m128i a, __m128i by, __m128i next)
{
    __m128i low = _mm_clmulepi64_si128(a, by, 0x00), high = _mm_clmulepi64_si128(a, by, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

/* From four neighbours to one, and on to the last 16 bytes. */
FOLD_TARGET static inline void fold_last(const powers power, const __m128i part[4],
                                         const uint8_t *p, size_t size, remainder *left)
{
    const __m128i by = load16(power[BY_16]);
    __m128i a = part[0];
    for (int k = 1; k < 4; k++)
        a = fold16(a, by, part[k]);
    for (; size >= 16; size -= 16, p += 16)
        a = fold16(a, by, load16(p));
    _mm_storeu_si128((__m128i *)left->folded, a);
    left->rest = p;
    left->size = size;
}

/* 64 bytes at least. */
FOLD_TARGET static void fold_128(const powers power, uint32_t crc, const uint8_t *p, size_t size,
                                 remainder *left)
{
    const __m128i by = load16(power[BY_64]);
    __m128i part[4];
    for (int k = 0; k < 4; k++)
        part[k] = load16(p + 16 * k);
    part[0] = _mm_xor_si128(part[0], _mm_cvtsi32_si128((int)crc));
    for (p += 64, size -= 64; size >= 64; size -= 64, p += 64) {
        __builtin_prefetch((const void *)((uintptr_t)p + AHEAD));
        for (int k = 0; k < 4; k++)
            part[k] = fold16(part[k], by, load16(p + 16 * k));
    }
    fold_last(power, part, p, size, left);
}

static uint32_t ieee_x86(uint32_t crc, const uint8_t *p, size_t size)
{
    remainder left;
    if (size < 64)
        return sliced(ieee, crc, p, size);
    fold_128(ieee_powers, crc, p, size, &left);
    return sliced(ieee, sliced(ieee, 0, left.folded, 16), left.rest, left.size);
}

#if (defined(__clang__) && __clang_major__ >= 8) || (!defined(__clang__) && __GNUC__ >= 9)
#define KS_AVX512 1
#include <immintrin.h>

#define WIDE_TARGET __attribute__((target("avx512f,vpclmulqdq,pclmul," SSE42)))

WIDE_TARGET static inline __m512i fold64(__m512i a, __m512i by, __m512i next)
{
    __m512i low = _mm512_clmulepi64_epi128(a, by, 0x00);
    __m512i high = _mm512_clmulepi64_epi128(a, by, 0x11);
    return _mm512_ternarylogic_epi64(low, high, next, 0x96); /* exclusive or of all three */
}

/* 256 bytes at least. */
WIDE_TARGET static void fold_512(const powers power, uint32_t crc, const uint8_t *p, size_t size,
                                 remainder *left)
{
    __m512i by = _mm512_broadcast_i32x4(load16(power[BY_256]));
    __m512i part[4];
    __m128i last[4];
    for (int k = 0; k < 4; k++)
        part[k] = _mm512_loadu_si512(p + 64 * k);
    part[0] =
        _mm512_xor_si512(part[0], _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)crc)));
    for (p += 256, size -= 256; size >= 256; size -= 256, p += 256)
        for (int k = 0; k < 4; k++) {
            __builtin_prefetch((const void *)((uintptr_t)p + AHEAD + 64 * (size_t)k));
            part[k] = fold64(part[k], by, _mm512_loadu_si512(p + 64 * k));
        }
    by = _mm512_broadcast_i32x4(load16(power[BY_64]));
    for (int k = 1; k < 4; k++)
        part[0] = fold64(part[0], by, part[k]);
    for (; size >= 64; size -= 64, p += 64)
        part[0] = fold64(part[0], by, _mm512_loadu_si512(p));
    _mm512_storeu_si512(last, part[0]);
    fold_last(power, last, p, size, left);
}

WIDE_TARGET static uint32_t castagnoli_avx512(uint32_t crc, const uint8_t *p, size_t size)
{
    remainder left;
    if (size < 256)
        return castagnoli_x86(crc, p, size);
    fold_512(castagnoli_powers, crc, p, size, &left);
    uint64_t value = _mm_crc32_u64(_mm_crc32_u64(0, word(left.folded)), word(left.folded + 8));
    return castagnoli_x86((uint32_t)value, left.rest, left.size);
}

static uint32_t ieee_avx512(uint32_t crc, const uint8_t *p, size_t size)
{
    remainder left;
    if (size < 256)
        return ieee_x86(crc, p, size);
    fold_512(ieee_powers, crc, p, size, &left);
    return sliced(ieee, sliced(ieee, 0, left.folded, 16), left.rest, left.size);
}
#endif
#endif

#if defined(__aarch64__) && (defined(__GNUC__) || defined(__clang__))
#define KS_ARM 1
#include <arm_acle.h>
#if defined(__linux__)
#include <sys/auxv.h>
#ifndef HWCAP_CRC32
#define HWCAP_CRC32 (1 << 7)
#endif
static int has_crc(void) { return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0; }
#elif defined(__APPLE__)
static int has_crc(void) { return 1; }
#else
static int has_crc(void) { return 0; }
#endif
#if defined(__clang__)
#define CRC_TARGET __attribute__((target("crc")))
#else
#define CRC_TARGET __attribute__((target("+crc")))
#endif

CRC_TARGET static uint32_t castagnoli_arm(uint32_t crc, const uint8_t *p, size_t size)
{
    for (; size >= 8; size -= 8, p += 8) {
        uint64_t value;
        memcpy(&value, p, 8);
        crc = __crc32cd(crc, value);
    }
    for (; size > 0; size--, p++)
        crc = __crc32cb(crc, *p);
    return crc;
}

CRC_TARGET static uint32_t ieee_arm(uint32_t crc, const uint8_t *p, size_t size)
{
    for (; size >= 8; size -= 8, p += 8) {
        uint64_t value;
        memcpy(&value, p, 8);
        crc = __crc32d(crc, value);
    }
    for (; size > 0; size--, p++)
        crc = __crc32b(crc, *p);
    return crc;
}
#endif

/* What computes both checksums on this CPU, the fastest first. */
typedef struct {
    const char *name;
    kernel crc32c, crc32;
} choice;

static choice choices[3];
static int choices_count;

/* Elsewhere the import of the extension, which only one thread runs, is the first to ask. */
#if defined(__GNUC__) || defined(__clang__)
#define LOAD(place) __atomic_load_n(&(place), __ATOMIC_ACQUIRE)
#define STORE(place, value) __atomic_store_n(&(place), value, __ATOMIC_RELEASE)
#define CLAIMED(place) __atomic_test_and_set(&(place), __ATOMIC_ACQ_REL)
#else
#define LOAD(place) (place)
#define STORE(place, value) ((place) = (value))
#define CLAIMED(place) 0
#endif

static void prepare(void)
{
    choice *next = choices;
    fill_tables(CASTAGNOLI, castagnoli);
    fill_tables(IEEE, ieee);
#ifdef KS_X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul")) {
        fill_shifts();
        fill_powers(CASTAGNOLI, castagnoli_powers);
        fill_powers(IEEE, ieee_powers);
#ifdef KS_AVX512
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("vpclmulqdq"))
            *next++ = (choice){"avx512", castagnoli_avx512, ieee_avx512};
#endif
        *next++ = (choice){"sse4.2", castagnoli_x86, ieee_x86};
    }
#endif
#ifdef KS_ARM
    if (has_crc())
        *next++ = (choice){"armv8", castagnoli_arm, ieee_arm};
#endif
    *next++ = (choice){"table", castagnoli_table, ieee_table};
    STORE(choices_count, (int)(next - choices));
}

int ks_crc_kernels(void)
{
    static char claimed;
    if (!LOAD(choices_count) && !CLAIMED(claimed))
        prepare();
    while (!LOAD(choices_count)) { /* another thread fills the tables, in microseconds */
    }
    return LOAD(choices_count);
}

static const choice *chosen(int number)
{
    return &choices[number < ks_crc_kernels() ? number : 0];
}

const char *ks_crc_kernel(int number) { return chosen(number)->name; }

uint32_t ks_crc32c_by(int number, const uint8_t *bytes, int64_t size)
{
    return ~chosen(number)->crc32c(~0u, bytes, size > 0 ? (size_t)size : 0);
}

uint32_t ks_crc32_by(int number, const uint8_t *bytes, int64_t size)
{
    return ~chosen(number)->crc32(~0u, bytes, size > 0 ? (size_t)size : 0);
}

uint32_t ks_crc32c(const uint8_t *bytes, int64_t size) { return ks_crc32c_by(0, bytes, size); }

uint32_t ks_crc32(const uint8_t *bytes, int64_t size) { return ks_crc32_by(0, bytes, size); }
