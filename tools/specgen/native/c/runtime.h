/* Shared parts of generated C that fill columns. */
#ifndef KS_RUNTIME_H
#define KS_RUNTIME_H

#include "abi.h"
#include "numbers.h"

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
