/* What generated readers and writers of tables share. */
#ifndef KS_ROWS_H
#define KS_ROWS_H

#include "numbers.h"
#include "tables.h"

/* Room for so many more bytes; 0 without memory. */
int ks_grow(ks_bytes *out, int64_t more);

KS_INLINE int ks_misfit(ks_place *place, int table, int64_t row, int cell)
{
    place->table = table;
    place->row = row;
    place->cell = cell;
    return KS_MISFIT;
}

KS_INLINE int ks_inside(int64_t position, int64_t size, int64_t limit)
{
    return size <= 0 || (position >= 0 && position <= limit && size <= limit - position);
}

KS_INLINE int ks_room(ks_bytes *out, int64_t more)
{
    return KS_LIKELY(out->capacity - out->used >= more) || ks_grow(out, more);
}

KS_INLINE int ks_put(ks_bytes *out, int size, int64_t value, int little)
{
    if (!ks_room(out, size))
        return 0;
    if (little)
        ks_store_le(out->bytes + out->used, size, value);
    else
        ks_store(out->bytes + out->used, size, value);
    out->used += size;
    return 1;
}

KS_INLINE int ks_put_groups(ks_bytes *out, uint64_t code)
{
    if (!ks_room(out, 10))
        return 0;
    out->used = ks_write_groups(out->bytes + out->used, code) - out->bytes;
    return 1;
}

/* A varint before bytes that are already there. */
KS_INLINE int ks_put_before(ks_bytes *out, int64_t at, uint64_t code)
{
    int64_t size = ks_groups_size(code);
    if (!ks_room(out, size))
        return 0;
    memmove(out->bytes + at + size, out->bytes + at, (size_t)(out->used - at));
    ks_write_groups(out->bytes + at, code);
    out->used += size;
    return 1;
}

KS_INLINE int ks_put_bytes(ks_bytes *out, const uint8_t *bytes, int64_t size)
{
    if (!ks_room(out, size))
        return 0;
    memcpy(out->bytes + out->used, bytes, (size_t)size);
    out->used += size;
    return 1;
}

#endif
