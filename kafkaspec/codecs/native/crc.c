/*
 * CRC-32C and CRC-32 with the instructions of the CPU where it has them, tables elsewhere.
 *
 * x86: the crc32 instruction takes three cycles but one can start in each, so three streams run
 * side by side and are joined by carry-less multiplication (V. Gopal et al., "Fast CRC Computation
 * for iSCSI Polynomial Using CRC32 Instruction", Intel 2011). Streams are as long as the input
 * allows, so that nearly nothing is left for a serial tail.
 */
#include <stddef.h>
#include <string.h>

#include "abi.h"

#define CASTAGNOLI 0x82f63b78u
#define IEEE 0xedb88320u

typedef uint32_t (*kernel)(uint32_t crc, const uint8_t *bytes, size_t size);

/* Slicing by 8, for every CPU. tables[k][b]: the effect of byte b with k zero bytes behind it. */
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

__attribute__((target("sse4.2"))) static void fill_shifts(void)
{
    uint64_t value = 1;
    for (int n = 1; n <= 2 * LONGEST; n++) {
        shifts[n] = (uint32_t)value;
        value = _mm_crc32_u64(value, 0);
    }
}

__attribute__((target("sse4.2,pclmul"))) static inline uint64_t product(uint64_t crc, uint32_t by)
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

__attribute__((target("sse4.2,pclmul"))) static uint32_t castagnoli_x86(uint32_t crc,
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

static kernel choose(int want_ieee, const char **name)
{
#ifdef KS_X86
    __builtin_cpu_init();
    if (!want_ieee && __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul")) {
        fill_shifts();
        *name = "sse4.2";
        return castagnoli_x86;
    }
#endif
#ifdef KS_ARM
    if (has_crc()) {
        *name = "armv8";
        return want_ieee ? ieee_arm : castagnoli_arm;
    }
#endif
    *name = "table";
    fill_tables(want_ieee ? IEEE : CASTAGNOLI, want_ieee ? ieee : castagnoli);
    return want_ieee ? ieee_table : castagnoli_table;
}

/* Two threads may both choose; they come to the same, and the pointer is set when all is filled. */
#if defined(__GNUC__) || defined(__clang__)
#define LOAD(place) __atomic_load_n(&(place), __ATOMIC_ACQUIRE)
#define STORE(place, value) __atomic_store_n(&(place), value, __ATOMIC_RELEASE)
#else
#define LOAD(place) (place)
#define STORE(place, value) ((place) = (value))
#endif

static kernel chosen[2];
static const char *chosen_name[2];

static kernel prepared(int want_ieee)
{
    kernel found = LOAD(chosen[want_ieee]);
    if (!found) {
        const char *name;
        found = choose(want_ieee, &name);
        STORE(chosen_name[want_ieee], name);
        STORE(chosen[want_ieee], found);
    }
    return found;
}

uint32_t ks_crc32c(const uint8_t *bytes, int64_t size)
{
    return ~prepared(0)(~0u, bytes, size > 0 ? (size_t)size : 0);
}

uint32_t ks_crc32(const uint8_t *bytes, int64_t size)
{
    return ~prepared(1)(~0u, bytes, size > 0 ? (size_t)size : 0);
}

const char *ks_crc32c_kernel(void)
{
    prepared(0);
    return LOAD(chosen_name[0]);
}

uint32_t ks_crc32c_table(const uint8_t *bytes, int64_t size)
{
    /* For tests: what a CPU without the instruction computes. */
    static tables own;
    fill_tables(CASTAGNOLI, own);
    return ~sliced(own, ~0u, bytes, (size_t)size);
}
