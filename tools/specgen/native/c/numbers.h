/* Numbers in generated C: loads and stores, varints, and arithmetic as in Java. */
#ifndef KS_NUMBERS_H
#define KS_NUMBERS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if (defined(__GNUC__) || defined(__clang__)) && !defined(__FRAMAC__)
#define KS_INLINE static inline __attribute__((always_inline, unused))
#define KS_COLD static __attribute__((noinline, cold, unused))
#define KS_SLOW static __attribute__((noinline, unused))
#define KS_LIKELY(x) __builtin_expect(!!(x), 1)
#define KS_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define KS_PREFETCH(address) __builtin_prefetch((const void *)(address), 0, 3)
/* The compiler may not conclude that the pointer equals another: the next record then starts from
 * the short chain of lengths and not from the long one through all fields. */
#define KS_HIDE(pointer) __asm__("" : "+r"(pointer))
#define KS_ASSUME(x) ((x) ? (void)0 : __builtin_unreachable())
#else
#define KS_INLINE static inline
#define KS_COLD static
#define KS_SLOW static
#define KS_LIKELY(x) (x)
#define KS_UNLIKELY(x) (x)
#define KS_PREFETCH(address) ((void)0)
#define KS_HIDE(pointer) ((void)0)
#ifdef __FRAMAC__
/*@ requires said: truth != 0; assigns \nothing; */
static void ks_assume(int truth) { (void)truth; }
#define KS_ASSUME(x) ks_assume(x)
#else
#define KS_ASSUME(x) ((void)0)
#endif
#endif

/*
 * Comments that start with an at sign are contracts, which `make proof` proves; docs/proof.md says how.
 * The bytes from p to end can be read:
 */
/*@ predicate ks_readable(uint8_t *p, uint8_t *end) =
      \base_addr(p) == \base_addr(end) && p <= end && \valid_read(p + (0 .. end - p - 1));
    predicate ks_between(uint8_t *first, uint8_t *p, uint8_t *last) =
      \base_addr(p) == \base_addr(first) && \base_addr(p) == \base_addr(last) &&
      first <= p && p <= last; */

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define KS_LITTLE 1
#else
#define KS_LITTLE 0
#endif

/* Arithmetic of Java's long: modulo 2^64, without undefined behaviour. */
/*@ assigns \nothing; */
KS_INLINE int64_t ks_signed(uint64_t value)
{
    int64_t result;
    memcpy(&result, &value, sizeof result);
    return result;
}
/*@ assigns \nothing; */
KS_INLINE int64_t ks_add(int64_t a, int64_t b) { return ks_signed((uint64_t)a + (uint64_t)b); }
/*@ assigns \nothing; */
KS_INLINE int64_t ks_sub(int64_t a, int64_t b) { return ks_signed((uint64_t)a - (uint64_t)b); }
/*@ assigns \nothing; */
KS_INLINE int64_t ks_mul(int64_t a, int64_t b) { return ks_signed((uint64_t)a * (uint64_t)b); }
/* Division by a positive number, rounded down as in the specification. */
/*@ requires b > 0; assigns \nothing; */
KS_INLINE int64_t ks_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }
/*@ requires b > 0; assigns \nothing; */
KS_INLINE int64_t ks_mod(int64_t a, int64_t b) { return a % b + (a % b < 0 ? b : 0); }
/*@ assigns \nothing; */
KS_INLINE int64_t ks_shl(int64_t a, int64_t b)
{
    return b < 0 || b > 63 ? 0 : ks_signed((uint64_t)a << b);
}
/*@ assigns \nothing; */
KS_INLINE int64_t ks_shr(int64_t a, int64_t b)
{
    uint64_t sign = a < 0 ? ~UINT64_C(0) : 0;
    return b < 0 || b > 63 ? ks_signed(sign) : ks_signed((((uint64_t)a ^ sign) >> b) ^ sign);
}

/* Big-endian integers; the caller has checked that the bytes are there. */
/*@ requires \valid_read(p); assigns \nothing; ensures 0 <= \result <= 0xff; */
KS_INLINE int64_t ks_u1(const uint8_t *p) { return p[0]; }
/*@ requires \valid_read(p); assigns \nothing; ensures -0x80 <= \result < 0x80; */
KS_INLINE int64_t ks_s1(const uint8_t *p) { return (int64_t)p[0] - ((int64_t)(p[0] & 0x80) << 1); }
/*@ requires \valid_read(p + (0 .. 1)); assigns \nothing; ensures 0 <= \result <= 0xffff; */
KS_INLINE int64_t ks_u2(const uint8_t *p) { return (int64_t)p[0] << 8 | p[1]; }
/*@ requires \valid_read(p + (0 .. 1)); assigns \nothing; ensures -0x8000 <= \result < 0x8000; */
KS_INLINE int64_t ks_s2(const uint8_t *p) { return (ks_u2(p) ^ 0x8000) - 0x8000; }
/*@ requires \valid_read(p + (0 .. 3)); assigns \nothing; */
KS_INLINE uint32_t ks_load4(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | (uint32_t)p[3];
}
/*@ requires \valid_read(p + (0 .. 3)); assigns \nothing; ensures 0 <= \result <= 0xffffffff; */
KS_INLINE int64_t ks_u4(const uint8_t *p) { return ks_load4(p); }
/*@ requires \valid_read(p + (0 .. 3)); assigns \nothing; ensures -0x80000000 <= \result < 0x80000000; */
KS_INLINE int64_t ks_s4(const uint8_t *p)
{
    return ((int64_t)ks_load4(p) ^ INT64_C(0x80000000)) - INT64_C(0x80000000);
}
/*@ requires \valid_read(p + (0 .. 7)); assigns \nothing; */
KS_INLINE int64_t ks_s8(const uint8_t *p)
{
    return ks_signed((uint64_t)ks_load4(p) << 32 | ks_load4(p + 4));
}
/* Kept as the bits of a signed integer: no field of the format needs the top bit. */
/*@ requires \valid_read(p + (0 .. 7)); assigns \nothing; */
KS_INLINE int64_t ks_u8(const uint8_t *p) { return ks_s8(p); }

/* The same with the low byte first. */
/*@ requires 1 <= size <= 8 && \valid_read(p + (0 .. size - 1)); assigns \nothing; */
KS_INLINE uint64_t ks_load_le(const uint8_t *p, int size)
{
    uint64_t value = 0;
    /*@ loop invariant -1 <= i < size; loop assigns i, value; loop variant i + 1; */
    for (int i = size - 1; i >= 0; i--)
        value = value << 8 | p[i];
    return value;
}
/*@ requires \valid_read(p + (0 .. 1)); assigns \nothing; ensures 0 <= \result <= 0xffff; */
KS_INLINE int64_t ks_u2le(const uint8_t *p) { return (int64_t)ks_load_le(p, 2); }
/*@ requires \valid_read(p + (0 .. 1)); assigns \nothing; ensures -0x8000 <= \result < 0x8000; */
KS_INLINE int64_t ks_s2le(const uint8_t *p) { return (ks_u2le(p) ^ 0x8000) - 0x8000; }
/*@ requires \valid_read(p + (0 .. 3)); assigns \nothing; ensures 0 <= \result <= 0xffffffff; */
KS_INLINE int64_t ks_u4le(const uint8_t *p) { return (int64_t)ks_load_le(p, 4); }
/*@ requires \valid_read(p + (0 .. 3)); assigns \nothing; ensures -0x80000000 <= \result < 0x80000000; */
KS_INLINE int64_t ks_s4le(const uint8_t *p)
{
    return (ks_u4le(p) ^ INT64_C(0x80000000)) - INT64_C(0x80000000);
}
/*@ requires \valid_read(p + (0 .. 7)); assigns \nothing; */
KS_INLINE int64_t ks_s8le(const uint8_t *p) { return ks_signed(ks_load_le(p, 8)); }
/*@ requires \valid_read(p + (0 .. 7)); assigns \nothing; */
KS_INLINE int64_t ks_u8le(const uint8_t *p) { return ks_s8le(p); }
/* Floats of 32 bits as the bits of one of 64. */
/*@ assigns \nothing; */
KS_INLINE int64_t ks_widened(int64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float narrow;
    double wide;
    int64_t result;
    memcpy(&narrow, &low, sizeof narrow);
    wide = narrow;
    memcpy(&result, &wide, sizeof result);
    return result;
}
/* The reverse; 0 if the number is too large. */
/*@ requires \valid(out); assigns *out; */
KS_INLINE int ks_narrowed(int64_t bits, int64_t *out)
{
    double wide;
    memcpy(&wide, &bits, sizeof wide);
    float narrow = (float)wide;
    uint32_t low;
    memcpy(&low, &narrow, sizeof low);
    *out = low;
    return !((low & 0x7fffffff) == 0x7f800000 && (bits & INT64_MAX) != INT64_C(0x7ff0000000000000));
}
/*@ requires 1 <= size <= 8 && \valid(p + (0 .. size - 1)); assigns p[0 .. size - 1]; */
KS_INLINE void ks_store_le(uint8_t *p, int size, int64_t value)
{
    /*@ loop invariant 0 <= i <= size; loop assigns i, p[0 .. size - 1]; loop variant size - i; */
    for (int i = 0; i < size; i++)
        p[i] = (uint8_t)((uint64_t)value >> (8 * i));
}

/*@ requires 1 <= size <= 8 && \valid(p + (0 .. size - 1)); assigns p[0 .. size - 1]; */
KS_INLINE void ks_store(uint8_t *p, int size, int64_t value)
{
    uint64_t bits = (uint64_t)value;
    /*@ loop invariant -1 <= i < size; loop assigns i, bits, p[0 .. size - 1]; loop variant i + 1; */
    for (int i = size - 1; i >= 0; i--) {
        p[i] = (uint8_t)bits;
        bits >>= 8;
    }
}

/*
 * Varints: base 128, low group first. A reader returns the position after it, or NULL if the bytes
 * end or the last possible byte says that another follows. Bits beyond the width are dropped.
 */
/*@ requires ks_readable(p, end) && 2 <= most <= 10 && \valid(out);
    assigns *out;
    ensures \result == \null || (ks_between(p, \result, end) && 1 <= \result - p <= most); */
KS_SLOW const uint8_t *ks_groups_slow(const uint8_t *p, const uint8_t *end, int most, uint64_t *out)
{
    uint64_t value = 0;
    /*@ loop invariant 0 <= i <= most && p == \at(p, Pre) + i && p <= end;
        loop assigns i, p, value; loop variant most - i; */
    for (int i = 0; i < most && p < end; i++, p++) {
        value |= (uint64_t)(*p & 0x7f) << (7 * i);
        if (*p < 0x80) {
            *out = value;
            return p + 1;
        }
    }
    return NULL;
}

/*@ requires ks_readable(p, end) && 2 <= most <= 10 && \valid(out);
    assigns *out;
    ensures \result == \null || (ks_between(p, \result, end) && 1 <= \result - p <= most); */
KS_INLINE const uint8_t *ks_groups(const uint8_t *p, const uint8_t *end, int most, uint64_t *out)
{
    if (KS_LIKELY(p < end)) {
        uint64_t low = p[0];
        if (low < 0x80) {
            *out = low;
            return p + 1;
        }
        if (KS_LIKELY(end - p >= 2)) {
            uint64_t high = p[1];
            if (KS_LIKELY(high < 0x80)) {
                *out = (low & 0x7f) | high << 7;
                return p + 2;
            }
        }
    }
    /* A separate variable, so that the rare case does not force `out` into memory. */
    uint64_t rest = 0;
    p = ks_groups_slow(p, end, most, &rest);
    *out = rest;
    return p;
}

/* The same where the longest varint can be read, whatever it says. */
/*@ requires 2 <= most <= 10 && \valid_read(p + (0 .. most - 1)) && \valid(out);
    assigns *out;
    ensures \result == \null ||
      (\base_addr(\result) == \base_addr(p) && 1 <= \result - p <= most); */
KS_INLINE const uint8_t *ks_near(const uint8_t *p, int most, uint64_t *out)
{
    uint64_t low = p[0];
    if (KS_LIKELY(low < 0x80)) {
        *out = low;
        return p + 1;
    }
    uint64_t high = p[1];
    if (KS_LIKELY(high < 0x80)) {
        *out = (low & 0x7f) | high << 7;
        return p + 2;
    }
    uint64_t rest = 0;
    p = ks_groups_slow(p, p + most, most, &rest);
    *out = rest;
    return p;
}

/*@ assigns \nothing; */
KS_INLINE int64_t ks_unsigned32(uint64_t bits) { return (int64_t)(uint32_t)bits; }
/*@ assigns \nothing; */
KS_INLINE int64_t ks_signed32(uint64_t bits)
{
    uint32_t code = (uint32_t)bits;
    return (int64_t)(code >> 1) ^ -(int64_t)(code & 1);
}
/* Sizes and offsets, which are hardly ever negative: the compiler sees that they are not. */
/*@ assigns \nothing; */
KS_INLINE int64_t ks_natural32(uint64_t bits)
{
    uint32_t code = (uint32_t)bits;
    return KS_LIKELY(!(code & 1)) ? (int64_t)(code >> 1) : ~(int64_t)(code >> 1);
}
/*@ assigns \nothing; */
KS_INLINE int64_t ks_signed64(uint64_t bits) { return (int64_t)(bits >> 1) ^ -(int64_t)(bits & 1); }

#define KS_READERS(name, most, meaning, usual)                                                                       \
    /*@ requires ks_readable(p, end) && \valid(out); assigns *out;                                 \
        ensures \result == \null || (ks_between(p, \result, end) && 1 <= \result - p <= 10)  ; */  \
    KS_INLINE const uint8_t *ks_read_##name(const uint8_t *p, const uint8_t *end, int64_t *out)    \
    {                                                                                              \
        uint64_t bits;                                                                             \
        p = ks_groups(p, end, most, &bits);                                                        \
        *out = meaning(bits);                                                                      \
        return p;                                                                                  \
    }                                                                                              \
    /*@ requires \valid_read(p + (0 .. 9)       ) && \valid(out); assigns *out;                    \
        ensures \result == \null ||                                                                \
          (\base_addr(\result) == \base_addr(p) && 1 <= \result - p <= 10)  ; */                   \
    KS_INLINE const uint8_t *ks_near_##name(const uint8_t *p, int64_t *out)                        \
    {                                                                                              \
        uint64_t bits;                                                                             \
        p = ks_near(p, most, &bits);                                                               \
        *out = usual(bits);                                                                        \
        return p;                                                                                  \
    }
KS_READERS(unsigned_varint32, 5, ks_unsigned32, ks_unsigned32)
KS_READERS(varint32, 5, ks_signed32, ks_natural32)
KS_READERS(varint64, 10, ks_signed64, ks_signed64)

/*@ assigns \nothing; */
KS_INLINE uint64_t ks_zigzag(int64_t value)
{
    return ((uint64_t)value << 1) ^ (value < 0 ? ~UINT64_C(0) : 0);
}

/* The groups that a varint is written from; the check of ranges limits 32-bit values. */
/*@ assigns \nothing; */
KS_INLINE uint64_t ks_code_varint32(int64_t value) { return ks_zigzag(value); }
/*@ assigns \nothing; */
KS_INLINE uint64_t ks_code_varint64(int64_t value) { return ks_zigzag(value); }
/*@ assigns \nothing; */
KS_INLINE uint64_t ks_code_unsigned_varint32(int64_t value) { return (uint64_t)value; }

/*@ assigns \nothing; */
KS_INLINE int ks_fits_varint32(int64_t value) { return value >= INT32_MIN && value <= INT32_MAX; }
/*@ assigns \nothing; */
KS_INLINE int ks_fits_varint64(int64_t value) { return value <= INT64_MAX; }
/*@ assigns \nothing; */
KS_INLINE int ks_fits_unsigned_varint32(int64_t value)
{
    return value >= 0 && value <= (int64_t)UINT32_MAX;
}

/* How many bytes a varint of these groups takes. */
/*@ logic integer ks_groups_of(integer code) =
      code < 0x80 ? 1 :
      code < 0x4000 ? 2 :
      code < 0x200000 ? 3 :
      code < 0x10000000 ? 4 :
      code < 0x800000000 ? 5 :
      code < 0x40000000000 ? 6 :
      code < 0x2000000000000 ? 7 :
      code < 0x100000000000000 ? 8 :
      code < 0x8000000000000000 ? 9 :
      10; */
/*@ assigns \nothing; ensures \result == ks_groups_of(code); ensures 1 <= \result <= 10; */
KS_INLINE int64_t ks_groups_size(uint64_t code)
{
    int64_t size = 1;
    /*@ loop invariant size >= 1 && size + ks_groups_of(code) == 1 + ks_groups_of(\at(code, Pre));
        loop assigns code, size; loop variant code; */
    while (KS_UNLIKELY(code >= 0x80)) {
        code /= 0x80;
        size++;
    }
    return size;
}

/*@ requires \valid(p + (0 .. ks_groups_of(code) - 1)); assigns p[0 .. ks_groups_of(code) - 1];
    ensures \result == p + ks_groups_of(code); */
KS_INLINE uint8_t *ks_write_groups(uint8_t *p, uint64_t code)
{
    /*@ loop invariant \base_addr(p) == \base_addr(\at(p, Pre)) && p >= \at(p, Pre);
        loop invariant (p - \at(p, Pre)) + ks_groups_of(code) == ks_groups_of(\at(code, Pre));
        loop assigns p, code, \at(p, Pre)[0 .. ks_groups_of(\at(code, Pre)) - 1]; loop variant code; */
    while (KS_UNLIKELY(code >= 0x80)) {
        *p++ = (uint8_t)(code | 0x80);
        code /= 0x80;
    }
    *p++ = (uint8_t)code;
    return p;
}

#endif
