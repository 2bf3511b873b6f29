/* Shared parts of generated C: loads, varints, arithmetic as in Java, and writers of columns. */
#ifndef KS_RUNTIME_H
#define KS_RUNTIME_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "abi.h"

#if defined(__GNUC__) || defined(__clang__)
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
#define KS_ASSUME(x) ((void)0)
#endif

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define KS_LITTLE 1
#else
#define KS_LITTLE 0
#endif

/* Arithmetic of Java's long: modulo 2^64, without undefined behaviour. */
KS_INLINE int64_t ks_signed(uint64_t value)
{
    int64_t result;
    memcpy(&result, &value, sizeof result);
    return result;
}
KS_INLINE int64_t ks_add(int64_t a, int64_t b) { return ks_signed((uint64_t)a + (uint64_t)b); }
KS_INLINE int64_t ks_sub(int64_t a, int64_t b) { return ks_signed((uint64_t)a - (uint64_t)b); }
KS_INLINE int64_t ks_mul(int64_t a, int64_t b) { return ks_signed((uint64_t)a * (uint64_t)b); }
/* Division by a positive number, rounded down as in the specification. */
KS_INLINE int64_t ks_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }
KS_INLINE int64_t ks_mod(int64_t a, int64_t b) { return a % b + (a % b < 0 ? b : 0); }
KS_INLINE int64_t ks_shl(int64_t a, int64_t b)
{
    return b < 0 || b > 63 ? 0 : ks_signed((uint64_t)a << b);
}
KS_INLINE int64_t ks_shr(int64_t a, int64_t b)
{
    uint64_t sign = a < 0 ? ~UINT64_C(0) : 0;
    return b < 0 || b > 63 ? ks_signed(sign) : ks_signed((((uint64_t)a ^ sign) >> b) ^ sign);
}

/* Big-endian integers; the caller has checked that the bytes are there. */
KS_INLINE int64_t ks_u1(const uint8_t *p) { return p[0]; }
KS_INLINE int64_t ks_s1(const uint8_t *p) { return (int64_t)p[0] - ((int64_t)(p[0] & 0x80) << 1); }
KS_INLINE int64_t ks_u2(const uint8_t *p) { return (int64_t)p[0] << 8 | p[1]; }
KS_INLINE int64_t ks_s2(const uint8_t *p) { return (ks_u2(p) ^ 0x8000) - 0x8000; }
KS_INLINE uint32_t ks_load4(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | (uint32_t)p[3];
}
KS_INLINE int64_t ks_u4(const uint8_t *p) { return ks_load4(p); }
KS_INLINE int64_t ks_s4(const uint8_t *p)
{
    return ((int64_t)ks_load4(p) ^ INT64_C(0x80000000)) - INT64_C(0x80000000);
}
KS_INLINE int64_t ks_s8(const uint8_t *p)
{
    return ks_signed((uint64_t)ks_load4(p) << 32 | ks_load4(p + 4));
}
/* Kept as the bits of a signed integer: no field of the format needs the top bit. */
KS_INLINE int64_t ks_u8(const uint8_t *p) { return ks_s8(p); }

/* The same with the low byte first. */
KS_INLINE uint64_t ks_load_le(const uint8_t *p, int size)
{
    uint64_t value = 0;
    for (int i = size - 1; i >= 0; i--)
        value = value << 8 | p[i];
    return value;
}
KS_INLINE int64_t ks_u2le(const uint8_t *p) { return (int64_t)ks_load_le(p, 2); }
KS_INLINE int64_t ks_s2le(const uint8_t *p) { return (ks_u2le(p) ^ 0x8000) - 0x8000; }
KS_INLINE int64_t ks_u4le(const uint8_t *p) { return (int64_t)ks_load_le(p, 4); }
KS_INLINE int64_t ks_s4le(const uint8_t *p)
{
    return (ks_u4le(p) ^ INT64_C(0x80000000)) - INT64_C(0x80000000);
}
KS_INLINE int64_t ks_s8le(const uint8_t *p) { return ks_signed(ks_load_le(p, 8)); }
KS_INLINE int64_t ks_u8le(const uint8_t *p) { return ks_s8le(p); }
KS_INLINE void ks_store_le(uint8_t *p, int size, int64_t value)
{
    for (int i = 0; i < size; i++)
        p[i] = (uint8_t)((uint64_t)value >> (8 * i));
}

KS_INLINE void ks_store(uint8_t *p, int size, int64_t value)
{
    uint64_t bits = (uint64_t)value;
    for (int i = size - 1; i >= 0; i--) {
        p[i] = (uint8_t)bits;
        bits >>= 8;
    }
}

/*
 * Varints: base 128, low group first. A reader returns the position after it, or NULL if the bytes
 * end or the last possible byte says that another follows. Bits beyond the width are dropped.
 */
KS_SLOW const uint8_t *ks_groups_slow(const uint8_t *p, const uint8_t *end, int most, uint64_t *out)
{
    uint64_t value = 0;
    for (int i = 0; i < most && p < end; i++, p++) {
        value |= (uint64_t)(*p & 0x7f) << (7 * i);
        if (*p < 0x80) {
            *out = value;
            return p + 1;
        }
    }
    return NULL;
}

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

KS_INLINE int64_t ks_unsigned32(uint64_t bits) { return (int64_t)(uint32_t)bits; }
KS_INLINE int64_t ks_signed32(uint64_t bits)
{
    uint32_t code = (uint32_t)bits;
    return (int64_t)(code >> 1) ^ -(int64_t)(code & 1);
}
/* Sizes and offsets, which are hardly ever negative: the compiler sees that they are not. */
KS_INLINE int64_t ks_natural32(uint64_t bits)
{
    uint32_t code = (uint32_t)bits;
    return KS_LIKELY(!(code & 1)) ? (int64_t)(code >> 1) : ~(int64_t)(code >> 1);
}
KS_INLINE int64_t ks_signed64(uint64_t bits) { return (int64_t)(bits >> 1) ^ -(int64_t)(bits & 1); }

#define KS_READERS(name, most, meaning, usual)                                                          \
    KS_INLINE const uint8_t *ks_read_##name(const uint8_t *p, const uint8_t *end, int64_t *out)    \
    {                                                                                              \
        uint64_t bits;                                                                             \
        p = ks_groups(p, end, most, &bits);                                                        \
        *out = meaning(bits);                                                                      \
        return p;                                                                                  \
    }                                                                                              \
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

KS_INLINE uint64_t ks_zigzag(int64_t value)
{
    return ((uint64_t)value << 1) ^ (value < 0 ? ~UINT64_C(0) : 0);
}

/* The groups that a varint is written from; the check of ranges limits 32-bit values. */
KS_INLINE uint64_t ks_code_varint32(int64_t value) { return ks_zigzag(value); }
KS_INLINE uint64_t ks_code_varint64(int64_t value) { return ks_zigzag(value); }
KS_INLINE uint64_t ks_code_unsigned_varint32(int64_t value) { return (uint64_t)value; }

KS_INLINE int ks_fits_varint32(int64_t value) { return value >= INT32_MIN && value <= INT32_MAX; }
KS_INLINE int ks_fits_varint64(int64_t value) { return value <= INT64_MAX; }
KS_INLINE int ks_fits_unsigned_varint32(int64_t value)
{
    return value >= 0 && value <= (int64_t)UINT32_MAX;
}

KS_INLINE int64_t ks_groups_size(uint64_t code)
{
    int64_t size = 1;
    while (KS_UNLIKELY(code >= 0x80)) {
        code >>= 7;
        size++;
    }
    return size;
}

KS_INLINE uint8_t *ks_write_groups(uint8_t *p, uint64_t code)
{
    while (KS_UNLIKELY(code >= 0x80)) {
        *p++ = (uint8_t)(code | 0x80);
        code >>= 7;
    }
    *p++ = (uint8_t)code;
    return p;
}

/*
 * The two helpers that touch bytes beyond those of a value: they read up to 32 bytes of input
 * before `limit`, where the buffer ends, and write up to KS_SLACK bytes after the output.
 */
KS_INLINE void ks_put_inline(uint8_t *view, const uint8_t *bytes, int64_t size,
                             const uint8_t *limit)
{
#if KS_LITTLE
#define KS_ONES(bytes) (UINT64_MAX >> (64 - 8 * (bytes)))
    static const uint64_t masks[13][2] = {
        {0, 0},
        {KS_ONES(1), 0},
        {KS_ONES(2), 0},
        {KS_ONES(3), 0},
        {KS_ONES(4), 0},
        {KS_ONES(4), KS_ONES(1)},
        {KS_ONES(4), KS_ONES(2)},
        {KS_ONES(4), KS_ONES(3)},
        {KS_ONES(4), KS_ONES(4)},
        {KS_ONES(4), KS_ONES(5)},
        {KS_ONES(4), KS_ONES(6)},
        {KS_ONES(4), KS_ONES(7)},
        {KS_ONES(4), KS_ONES(8)},
    };
    if (KS_LIKELY(limit - bytes >= 16)) {
        uint32_t low;
        uint64_t second;
        memcpy(&low, bytes, 4);
        memcpy(&second, bytes + 4, 8);
        uint64_t first = (uint64_t)size | (low & masks[size][0]) << 32;
        second &= masks[size][1];
        memcpy(view, &first, 8);
        memcpy(view + 8, &second, 8);
        return;
    }
#endif
    (void)limit;
    int32_t count = (int32_t)size;
    memset(view, 0, KS_VIEW_SIZE);
    memcpy(view, &count, 4);
    memcpy(view + 4, bytes, (size_t)size);
}

KS_INLINE void ks_put_view(uint8_t *view, const uint8_t *bytes, int64_t size, int32_t buffer,
                           int64_t position, const uint8_t *limit)
{
    if (size > KS_VIEW_SHORT) {
        int32_t count = (int32_t)size;
        int32_t place = (int32_t)position;
        memcpy(view, &count, 4);
        memcpy(view + 4, bytes, KS_VIEW_PREFIX);
        memcpy(view + KS_VIEW_BUFFER, &buffer, 4);
        memcpy(view + KS_VIEW_PLACE, &place, 4);
    } else {
        ks_put_inline(view, bytes, size, limit);
    }
}

/* The top bits of all bytes: if they are 0, the text is ASCII and needs no check as UTF-8. */
KS_INLINE uint64_t ks_high(const uint8_t *bytes, int64_t size, const uint8_t *limit)
{
    const uint64_t top = UINT64_C(0x8080808080808080);
    uint64_t found = 0;
#if KS_LITTLE
    if (KS_LIKELY(size <= 16 && limit - bytes >= 16)) {
        uint64_t low, high;
        memcpy(&low, bytes, 8);
        memcpy(&high, bytes + 8, 8);
        low &= size >= 8 ? top : (UINT64_C(1) << (8 * (size & 7))) - 1;
        high &= size >= 16 ? top : size <= 8 ? 0 : (UINT64_C(1) << (8 * (size & 7))) - 1;
        return (low | high) & top;
    }
#endif
    (void)limit;
    for (; size >= 8; size -= 8, bytes += 8) {
        uint64_t word;
        memcpy(&word, bytes, 8);
        found |= word;
    }
    for (; size > 0; size--)
        found |= *bytes++;
    return found & top;
}

/* The caller has checked that size + KS_SLACK bytes are free at `out`. */
KS_INLINE void ks_copy(uint8_t *out, const uint8_t *bytes, int64_t size, const uint8_t *limit)
{
    if (KS_LIKELY(size <= 1024 && limit - bytes >= size + 32)) {
        int64_t done = 0;
        do {
            memcpy(out + done, bytes + done, 32);
            done += 32;
        } while (done < size);
    } else if (size > 0) {
        memcpy(out, bytes, (size_t)size);
    }
}

KS_INLINE void ks_clear_bit(uint8_t *bits, int64_t i)
{
    bits[i >> 3] = (uint8_t)(bits[i >> 3] & ~(1u << (i & 7)));
}

/* Ones from row `first` on, up to `last`: rows are valid until something says otherwise. */
KS_SLOW void ks_set_bits(uint8_t *bits, int64_t first, int64_t last)
{
    for (; first < last && (first & 7); first++)
        bits[first >> 3] = (uint8_t)(bits[first >> 3] | 1u << (first & 7));
    if (first < last)
        memset(bits + (first >> 3), 0xff, (size_t)((last - first + 7) >> 3));
}

/* One value, null where size is negative. Zero if the output has no room. */
KS_INLINE int ks_put(ks_bytes_out *column, int layout, int64_t row, const uint8_t *bytes,
                     int64_t size, int32_t buffer, const uint8_t *base, const uint8_t *limit)
{
    if (KS_UNLIKELY(size < 0)) {
        if (column->validity)
            ks_clear_bit(column->validity, row);
        column->nulls++;
        if (layout == KS_VIEW) {
            memset(column->views + KS_VIEW_SIZE * row, 0, KS_VIEW_SIZE);
        } else if (layout == KS_BINARY) {
            column->offsets[row + 1] = (int32_t)column->data_used;
        } else {
            column->spans[2 * row] = 0;
            column->spans[2 * row + 1] = -1;
        }
        return 1;
    }
    if (layout == KS_VIEW) {
        ks_put_view(column->views + KS_VIEW_SIZE * row, bytes, size, buffer, bytes - base, limit);
    } else if (layout == KS_BINARY) {
        if (KS_UNLIKELY(column->data_capacity - column->data_used < size + KS_SLACK ||
                        column->data_used + size > INT32_MAX))
            return 0;
        ks_copy(column->data + column->data_used, bytes, size, limit);
        column->data_used += size;
        column->offsets[row + 1] = (int32_t)column->data_used;
    } else {
        column->spans[2 * row] = bytes - base;
        column->spans[2 * row + 1] = size;
    }
    return 1;
}

/* The byte string of a row of the encoder's input; NULL for null. */
KS_INLINE const uint8_t *ks_get(const ks_bytes_in *column, int64_t row, int64_t *size)
{
    static const uint8_t nothing = 0;
    if (column->spans) {
        *size = column->spans[2 * row + 1];
        if (*size < 0) {
            *size = -1;
            return NULL;
        }
        /* Positions may be addresses, with data NULL: the sum is made of integers. */
        return *size ? (const uint8_t *)((uintptr_t)column->data +
                                         (uintptr_t)column->spans[2 * row])
                     : &nothing;
    }
    if (!column->offsets || (column->validity && !(column->validity[row >> 3] >> (row & 7) & 1))) {
        *size = -1;
        return NULL;
    }
    *size = (int64_t)column->offsets[row + 1] - column->offsets[row];
    return *size ? column->data + column->offsets[row] : &nothing;
}

#endif
