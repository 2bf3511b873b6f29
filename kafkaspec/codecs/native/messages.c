/* See messages.h. */
#include "messages.h"

#include <stdlib.h>

#include "runtime.h"
#include "utf8.h"

/* -- tables ------------------------------------------------------------------------------- */

static int valid_column(const km_table *t, const km_line *l)
{
    const int64_t c = l->column;
    const int64_t kind = c >= 0 && c < t->columns_count ? t->columns[c].kind : -1;
    switch (l->step) {
    case KM_S_INTEGER:
    case KM_S_VERSION:
        if (c < 0)
            return l->step == KM_S_INTEGER && l->low == l->high;
        return kind == KM_INTEGER || kind == KM_BOOLEAN || (kind == KM_FLOAT && l->size == 8);
    case KM_S_FIXED:
        return kind == KM_FIXED && t->columns[c].size == l->size;
    case KM_S_BYTES:
        return kind == KM_BYTES || kind == KM_TEXT;
    case KM_S_REST:
        return kind == KM_BYTES;
    case KM_S_LIST:
        return kind == KM_LIST;
    case KM_S_STRUCT:
        return kind == KM_STRUCT && c > 0;
    case KM_S_TAGS: /* a list of pairs of tag and bytes */
        return kind == KM_LIST && t->columns[c].end == c + 4 && t->columns[c + 1].kind == KM_STRUCT &&
               t->columns[c + 2].kind == KM_INTEGER && t->columns[c + 2].size == 4 &&
               t->columns[c + 3].kind == KM_BYTES;
    case KM_S_ABSENT:
        return c > 0 && kind >= 0;
    }
    return c == -1;
}

static int valid_size(const km_line *l)
{
    const int64_t size = l->size;
    switch (l->step) {
    case KM_S_INTEGER:
    case KM_S_VERSION:
    case KM_S_BYTES:
    case KM_S_LIST:
        return size == 0 || size == 1 || size == 2 || size == 4 || size == 8;
    case KM_S_STRUCT:
        return !(l->flags & KM_MARKED) || size == 0 || size == 1;
    }
    return 1;
}

static int valid_lines(const km_table *t, int64_t pc, int64_t stop, int64_t inside, int levels)
{
    if (levels > KM_MOST_LEVELS)
        return 0;
    while (pc < stop) {
        const km_line *l = &t->lines[pc];
        if (l->step < 0 || l->step >= KM_STEPS || l->next <= pc || l->next > stop ||
            !valid_column(t, l) || !valid_size(l) || l->plus < -1 || l->plus > 1)
            return 0;
        const int nested = l->step == KM_S_LIST || l->step == KM_S_STRUCT || l->step == KM_S_TAGS ||
                           l->step == KM_S_TAG || l->step == KM_S_VERSION || l->step == KM_S_CASE;
        if (!nested && l->next != pc + 1)
            return 0;
        if ((l->step == KM_S_TAG) != (inside == KM_S_TAGS) ||
            (l->step == KM_S_CASE) != (inside == KM_S_VERSION))
            return 0;
        if (l->step == KM_S_VERSION) {
            if (l->low < 0 || l->next == pc + 1)
                return 0;
        }
        if (nested && !valid_lines(t, pc + 1, l->next, l->step, levels + 1))
            return 0;
        pc = l->next;
    }
    return 1;
}

int km_valid(const km_table *t)
{
    if (t->lines_count < 1 || t->lines_count > KM_MOST_LINES || t->columns_count < 1 ||
        t->columns_count > KM_MOST_COLUMNS || t->columns[0].kind != KM_STRUCT)
        return 0;
    for (int64_t c = 0; c < t->columns_count; c++) {
        const km_column *column = &t->columns[c];
        if (column->kind < 0 || column->kind >= KM_KINDS || column->end <= c ||
            column->end > t->columns_count || (c == 0 && column->end != t->columns_count))
            return 0;
        if (column->kind >= KM_BYTES ? column->end != c + 1
                                     : column->kind == KM_LIST && column->end == c + 1)
            return 0;
        int64_t at = c + 1;
        while (at < column->end && t->columns[at].end > at)
            at = t->columns[at].end;
        if (at != column->end || (column->kind == KM_LIST && t->columns[c + 1].end != column->end))
            return 0;
        const int64_t size = column->size;
        if ((column->kind == KM_INTEGER && size != 1 && size != 2 && size != 4 && size != 8) ||
            (column->kind == KM_FLOAT && size != 8) ||
            (column->kind == KM_FIXED && (size < 1 || size > 65536)))
            return 0;
    }
    return valid_lines(t, 0, t->lines_count, KM_S_END, 0) &&
           t->lines[t->lines_count - 1].step == KM_S_END;
}

/* -- memory ------------------------------------------------------------------------------- */

void km_free(km_memory *memory)
{
    free(memory->bytes);
    memset(memory, 0, sizeof *memory);
}

void km_shrink(km_memory *memory)
{
    const int64_t used = memory->used > 64 ? memory->used : 64;
    uint8_t *bytes = NULL;
    if (memory->capacity / 8 * 7 > used)
        bytes = realloc(memory->bytes, (size_t)used);
    if (bytes) {
        memory->bytes = bytes;
        memory->capacity = used;
    }
}

int km_grow(km_memory *m, int64_t more)
{
    int64_t capacity = m->capacity < 64 ? 64 : m->capacity;
    if (more > INT64_MAX / 4 - m->used)
        return 0;
    while (capacity < m->used + more)
        capacity *= 2;
    uint8_t *bytes = realloc(m->bytes, (size_t)capacity);
    if (!bytes)
        return 0;
    m->bytes = bytes;
    m->capacity = capacity;
    return 1;
}

/* -- columns that are filled -------------------------------------------------------------- */

typedef struct {
    const km_table *table;
    km_out *out;
    int status; /* KM_OK: the row was refused by its bytes */
} decoder;

static int fail(decoder *d, int status)
{
    d->status = status;
    return 0;
}

/* Say whether the next value of a column is null. The column gets longer by its values alone. */
KS_INLINE int put_validity(decoder *d, int64_t c, int is_valid)
{
    km_out *out = &d->out[c];
    if (!(d->table->columns[c].flags & KM_NULLABLE))
        return 1;
    const int64_t i = out->length;
    if (!(i & 7)) {
        out->validity.used = i >> 3;
        if (KS_UNLIKELY(!km_room(&out->validity, 1)))
            return fail(d, KM_NO_MEMORY);
        out->validity.bytes[i >> 3] = 0;
        out->validity.used++;
    }
    uint8_t *byte = &out->validity.bytes[i >> 3];
    const unsigned bit = 1u << (i & 7);
    *byte = (uint8_t)(is_valid ? *byte | bit : *byte & ~bit);
    return 1;
}

KS_INLINE int put_number(decoder *d, int64_t c, int64_t value, int is_valid)
{
    km_out *out = &d->out[c];
    const km_column *column = &d->table->columns[c];
    if (!put_validity(d, c, is_valid))
        return 0;
    if (KS_UNLIKELY(column->kind == KM_BOOLEAN)) {
        const int64_t i = out->length++;
        out->values.used = i >> 3;
        if (!km_room(&out->values, 1))
            return fail(d, KM_NO_MEMORY);
        if (!(i & 7))
            out->values.bytes[i >> 3] = 0;
        uint8_t *byte = &out->values.bytes[i >> 3];
        *byte = (uint8_t)(value ? *byte | 1u << (i & 7) : *byte & ~(1u << (i & 7)));
        out->values.used = (i >> 3) + 1;
        return 1;
    }
    const int64_t size = column->size;
    if (KS_UNLIKELY(!km_room(&out->values, size)))
        return fail(d, KM_NO_MEMORY);
    uint8_t *place = out->values.bytes + out->values.used;
    if (size == 4) {
        const uint32_t low = (uint32_t)(uint64_t)value;
        memcpy(place, &low, 4);
    } else if (size == 8) {
        memcpy(place, &value, 8);
    } else if (size == 2) {
        const uint16_t low = (uint16_t)(uint64_t)value;
        memcpy(place, &low, 2);
    } else {
        *place = (uint8_t)(uint64_t)value;
    }
    out->values.used += size;
    out->length++;
    return 1;
}

/* The end of the value that was put last, of lists and of bytes. */
KS_INLINE int put_end(decoder *d, int64_t c, int64_t end)
{
    km_out *out = &d->out[c];
    if (KS_UNLIKELY(end > INT32_MAX))
        return fail(d, KM_TOO_LARGE);
    if (KS_UNLIKELY(!km_room(&out->values, 4)))
        return fail(d, KM_NO_MEMORY);
    const int32_t place = (int32_t)end;
    memcpy(out->values.bytes + out->values.used, &place, 4);
    out->values.used += 4;
    out->length++;
    return 1;
}

KS_INLINE int put_bytes(decoder *d, int64_t c, const uint8_t *bytes, int64_t size,
                        const uint8_t *limit)
{
    km_out *out = &d->out[c];
    if (!put_validity(d, c, 1))
        return 0;
    if (size > 0) {
        if (KS_UNLIKELY(!km_room(&out->data, size + KS_SLACK)))
            return fail(d, KM_NO_MEMORY);
        ks_copy(out->data.bytes + out->data.used, bytes, size, limit);
        out->data.used += size;
    }
    return put_end(d, c, out->data.used);
}

/* No bytes: null. */
KS_INLINE int put_no_bytes(decoder *d, int64_t c)
{
    return put_validity(d, c, 0) && put_end(d, c, d->out[c].data.used);
}

/* Bytes of a fixed size; NULL: zeros, which are null if `is_valid` does not say otherwise. */
KS_INLINE int put_fixed(decoder *d, int64_t c, const uint8_t *bytes, int is_valid)
{
    km_out *out = &d->out[c];
    const int64_t size = d->table->columns[c].size;
    if (!put_validity(d, c, is_valid))
        return 0;
    if (KS_UNLIKELY(!km_room(&out->values, size)))
        return fail(d, KM_NO_MEMORY);
    if (bytes)
        memcpy(out->values.bytes + out->values.used, bytes, (size_t)size);
    else
        memset(out->values.bytes + out->values.used, 0, (size_t)size);
    out->values.used += size;
    out->length++;
    return 1;
}

/*
 * A value that is not in the bytes: null, or what Kafka's classes begin with if `fill` says so or
 * the column cannot be null.
 */
static int put_absent(decoder *d, int64_t c, int fill)
{
    const km_column *column = &d->table->columns[c];
    const int is_valid = fill || !(column->flags & KM_NULLABLE);
    km_out *out = &d->out[c];
    switch (column->kind) {
    case KM_STRUCT:
        if (!put_validity(d, c, is_valid))
            return 0;
        out->length++;
        for (int64_t child = c + 1; child < column->end; child = d->table->columns[child].end)
            if (!put_absent(d, child, 0))
                return 0;
        return 1;
    case KM_LIST:
        return put_validity(d, c, is_valid) && put_end(d, c, d->out[c + 1].length);
    case KM_BYTES:
    case KM_TEXT:
        return put_validity(d, c, is_valid) && put_end(d, c, out->data.used);
    case KM_FIXED:
        return put_fixed(d, c, NULL, is_valid);
    }
    return put_number(d, c, is_valid ? column->fill : 0, is_valid);
}

/* Forget the values of a column from number `length` on. */
static void cut(decoder *d, int64_t c, int64_t length)
{
    const km_column *column = &d->table->columns[c];
    km_out *out = &d->out[c];
    int32_t end = 0;
    switch (column->kind) {
    case KM_STRUCT:
        for (int64_t child = c + 1; child < column->end; child = d->table->columns[child].end)
            cut(d, child, length);
        break;
    case KM_LIST:
    case KM_BYTES:
    case KM_TEXT:
        memcpy(&end, out->values.bytes + 4 * length, 4);
        out->values.used = 4 * (length + 1);
        if (column->kind == KM_LIST)
            cut(d, c + 1, end);
        else
            out->data.used = end;
        break;
    case KM_BOOLEAN:
        out->values.used = (length + 7) >> 3;
        break;
    default:
        out->values.used = column->size * length;
    }
    if (out->length > length)
        out->length = length;
    if (column->flags & KM_NULLABLE)
        out->validity.used = (length + 7) >> 3;
}

/* -- decoding ----------------------------------------------------------------------------- */

/* An integer of a line's width; NULL if it is not there or not between the bounds. */
KS_INLINE const uint8_t *number(const km_line *l, const uint8_t *p, const uint8_t *end,
                                int64_t *value)
{
    const int64_t size = l->size;
    if (size == 0) {
        p = ks_read_unsigned_varint32(p, end, value);
        if (KS_UNLIKELY(!p))
            return NULL;
    } else {
        if (KS_UNLIKELY(end - p < size))
            return NULL;
        const int is_signed = (l->flags & KM_SIGNED) != 0;
        if (size == 4)
            *value = is_signed ? ks_s4(p) : ks_u4(p);
        else if (size == 8)
            *value = ks_s8(p);
        else if (size == 2)
            *value = is_signed ? ks_s2(p) : ks_u2(p);
        else
            *value = is_signed ? ks_s1(p) : ks_u1(p);
        p += size;
    }
    return KS_LIKELY(*value >= l->low && *value <= l->high) ? p : NULL;
}

static int is_text(const uint8_t *p, int64_t size, const uint8_t *limit)
{
    if (KS_LIKELY(!ks_high(p, size, limit)))
        return 1;
    for (const uint8_t *end = p + size; p < end;) {
        const int length = *p < 0x80 ? 1 : utf8_character(p, end);
        if (!length)
            return 0;
        p += length;
    }
    return 1;
}

/* The line of a version; the last one is for all versions after it. */
static int64_t case_of(const km_line *lines, int64_t pc, int64_t version)
{
    const int64_t stop = lines[pc].next;
    version -= lines[pc].low;
    for (pc++; version > 0 && lines[pc].next < stop; version--)
        pc = lines[pc].next;
    return pc;
}

static const uint8_t *run(decoder *d, int64_t pc, int64_t stop, const uint8_t *p,
                          const uint8_t *end, const uint8_t *limit);

static const uint8_t *read_list(decoder *d, int64_t pc, const uint8_t *p, const uint8_t *end,
                                const uint8_t *limit)
{
    const km_line *l = &d->table->lines[pc];
    int64_t count;
    p = number(l, p, end, &count);
    if (!p)
        return NULL;
    count -= l->plus;
    if (count < 0)
        return (l->flags & KM_NULLABLE) && put_absent(d, l->column, 0) ? p : NULL;
    if (KS_UNLIKELY(count > end - p))
        return NULL;
    if (!put_validity(d, l->column, 1))
        return NULL;
    for (int64_t i = 0; i < count; i++) {
        p = run(d, pc + 1, l->next, p, end, limit);
        if (!p)
            return NULL;
    }
    return put_end(d, l->column, d->out[l->column + 1].length) ? p : NULL;
}

/* The columns of the tags from line `pc` on that are not there. */
static int skip_tag(decoder *d, int64_t pc)
{
    const km_line *lines = d->table->lines;
    for (int64_t at = pc + 1; at < lines[pc].next; at = lines[at].next)
        if (lines[at].column > 0) {
            const int64_t flags = d->table->columns[lines[at].column].flags;
            if (!put_absent(d, lines[at].column, (flags & KM_FILLED) != 0))
                return 0;
        }
    return 1;
}

static const uint8_t *read_tags(decoder *d, int64_t pc, const uint8_t *p, const uint8_t *end,
                                const uint8_t *limit)
{
    const km_line *lines = d->table->lines, *l = &lines[pc];
    const int64_t list = l->column;
    int64_t count, last = -1, next = pc + 1;
    p = number(l, p, end, &count);
    if (!p || count > end - p || !put_validity(d, list, 1))
        return NULL;
    for (; count > 0; count--) {
        int64_t tag, size;
        p = ks_read_unsigned_varint32(p, end, &tag);
        p = p ? ks_read_unsigned_varint32(p, end, &size) : NULL;
        if (!p || size > end - p || tag <= last)
            return NULL;
        last = tag;
        for (; next < l->next && lines[next].low < tag; next = lines[next].next)
            if (!skip_tag(d, next))
                return NULL;
        if (next < l->next && lines[next].low == tag) {
            if (run(d, next + 1, lines[next].next, p, p + size, limit) != p + size)
                return NULL;
            next = lines[next].next;
        } else {
            if (!put_validity(d, list + 1, 1) || !put_number(d, list + 2, tag, 1) ||
                !put_bytes(d, list + 3, p, size, limit))
                return NULL;
            d->out[list + 1].length++;
        }
        p += size;
    }
    for (; next < l->next; next = lines[next].next)
        if (!skip_tag(d, next))
            return NULL;
    return put_end(d, list, d->out[list + 1].length) ? p : NULL;
}

static const uint8_t *read_bytes(decoder *d, const km_line *l, const uint8_t *p,
                                 const uint8_t *end, const uint8_t *limit)
{
    int64_t size;
    p = number(l, p, end, &size);
    if (!p)
        return NULL;
    size -= l->plus;
    if (size < 0)
        return (l->flags & KM_NULLABLE) && put_no_bytes(d, l->column) ? p : NULL;
    if (KS_UNLIKELY(size > end - p))
        return NULL;
    if (d->table->columns[l->column].kind == KM_TEXT && !is_text(p, size, limit))
        return NULL;
    return put_bytes(d, l->column, p, size, limit) ? p + size : NULL;
}

/* Lines up to `stop`. Returns where the bytes go on; NULL if the row was refused, or on failure. */
static const uint8_t *run(decoder *d, int64_t pc, int64_t stop, const uint8_t *p,
                          const uint8_t *end, const uint8_t *limit)
{
    const km_line *lines = d->table->lines;
    while (pc < stop) {
        const km_line *l = &lines[pc];
        int64_t value;
        switch (l->step) {
        case KM_S_INTEGER:
            p = number(l, p, end, &value);
            if (KS_UNLIKELY(!p) || (l->column >= 0 && !put_number(d, l->column, value, 1)))
                return NULL;
            break;
        case KM_S_FIXED:
            if (end - p < l->size || !put_fixed(d, l->column, p, 1))
                return NULL;
            p += l->size;
            break;
        case KM_S_BYTES:
            p = read_bytes(d, l, p, end, limit);
            break;
        case KM_S_LIST:
            p = read_list(d, pc, p, end, limit);
            break;
        case KM_S_STRUCT:
            if (l->flags & KM_MARKED) {
                p = number(l, p, end, &value);
                if (!p)
                    return NULL;
                if (value < l->plus) {
                    if (!put_absent(d, l->column, 0))
                        return NULL;
                    break;
                }
            }
            if (!put_validity(d, l->column, 1))
                return NULL;
            d->out[l->column].length++;
            p = run(d, pc + 1, l->next, p, end, limit);
            break;
        case KM_S_TAGS:
            p = read_tags(d, pc, p, end, limit);
            break;
        case KM_S_REST:
            p = put_bytes(d, l->column, p, end - p, limit) ? end : NULL;
            break;
        case KM_S_GUARD:
            if (p != end)
                return NULL;
            break;
        case KM_S_ABSENT:
            if (!put_absent(d, l->column, 0))
                return NULL;
            break;
        case KM_S_VERSION:
            p = number(l, p, end, &value);
            if (!p || !put_number(d, l->column, value, 1))
                return NULL;
            pc = case_of(lines, pc, value);
            stop = lines[pc].next;
            pc++;
            continue;
        default: /* the end */
            return p;
        }
        if (KS_UNLIKELY(!p))
            return NULL;
        pc = l->next;
    }
    return p;
}

/* The bytes of a row, and the end of the memory that they are in; 0 if they are not in it. */
KS_INLINE int row_of(const km_rows *rows, int64_t i, const uint8_t **bytes, const uint8_t **end,
                     const uint8_t **limit)
{
    int64_t wide[2];
    int32_t narrow[4], number = 0;
    if (rows->layout == KM_VIEWS) {
        memcpy(narrow, rows->places + 16 * i, 16);
        const int32_t size = narrow[0];
        if (size >= 0 && size <= 12) {
            *bytes = rows->places + 16 * i + 4;
            *end = *bytes + size;
            *limit = rows->places + 16 * rows->rows;
            return 1;
        }
        number = narrow[2];
        wide[0] = narrow[3];
        wide[1] = size < 0 ? -1 : wide[0] + size;
    } else if (rows->layout == KM_WIDE) {
        memcpy(wide, rows->places + 8 * i, 16);
    } else {
        memcpy(narrow, rows->places + 4 * i, 8);
        wide[0] = narrow[0];
        wide[1] = narrow[1];
    }
    if (number < 0 || number >= rows->data_count || wide[0] < 0 || wide[1] < wide[0] ||
        wide[1] > rows->data[number].size)
        return 0;
    *bytes = rows->data[number].bytes + wide[0];
    *end = rows->data[number].bytes + wide[1];
    *limit = rows->data[number].bytes + rows->data[number].size;
    return 1;
}

static int open_columns(decoder *d, int64_t rows)
{
    for (int64_t c = 0; c < d->table->columns_count; c++) {
        const int64_t kind = d->table->columns[c].kind;
        if (kind == KM_LIST || kind == KM_BYTES || kind == KM_TEXT) {
            if (!km_grow(&d->out[c].values, 4))
                return 0;
            memset(d->out[c].values.bytes, 0, 4);
            d->out[c].values.used = 4;
        }
    }
    /* The columns of the message itself have as many values as there are rows. */
    for (int64_t c = 1; c < d->table->columns_count; c = d->table->columns[c].end) {
        const km_column *column = &d->table->columns[c];
        const int64_t width = column->kind >= KM_FIXED ? column->size : 4;
        if (column->kind != KM_STRUCT && rows <= (INT64_C(1) << 40) / (width + 1) &&
            !km_grow(&d->out[c].values, width * rows))
            return 0;
    }
    return 1;
}

/* Whether all columns of a structure have as many values as it has. */
static int even(const km_table *t, const km_out *out, int64_t c)
{
    const km_column *column = &t->columns[c];
    if (column->kind == KM_LIST) {
        int32_t end;
        memcpy(&end, out[c].values.bytes + out[c].values.used - 4, 4);
        return out[c + 1].length == end && even(t, out, c + 1);
    }
    for (int64_t child = c + 1; child < column->end; child = t->columns[child].end)
        if (out[child].length != out[c].length || !even(t, out, child))
            return 0;
    return 1;
}

static void count_nulls(const km_table *t, km_out *out)
{
    for (int64_t c = 0; c < t->columns_count; c++) {
        if (!(t->columns[c].flags & KM_NULLABLE))
            continue;
        int64_t there = 0;
        for (int64_t i = 0; i < out[c].validity.used; i++) {
            unsigned byte = out[c].validity.bytes[i];
            if (i == out[c].length >> 3)
                byte &= (1u << (out[c].length & 7)) - 1;
            for (; byte; byte &= byte - 1)
                there++;
        }
        out[c].nulls = out[c].length - there;
    }
}

int km_decode(const km_table *table, const km_rows *rows, km_out *out, km_memory *refused)
{
    decoder d = {table, out, KM_OK};
    if (!open_columns(&d, rows->rows))
        return KM_NO_MEMORY;
    for (int64_t i = 0; i < rows->rows; i++) {
        if (km_bit(rows->validity, rows->validity_offset + i)) {
            const uint8_t *bytes, *end, *limit;
            if (!row_of(rows, i, &bytes, &end, &limit))
                return KM_REFUSED;
            if (!put_validity(&d, 0, 1))
                return d.status;
            out[0].length++;
            if (run(&d, 0, table->lines_count, bytes, end, limit))
                continue;
            if (d.status)
                return d.status;
            cut(&d, 0, i);
            if (!km_room(refused, 8))
                return KM_NO_MEMORY;
            memcpy(refused->bytes + refused->used, &i, 8);
            refused->used += 8;
        }
        if (!put_absent(&d, 0, 0))
            return d.status;
    }
    if (!even(table, out, 0))
        return KM_REFUSED;
    count_nulls(table, out);
    return KM_OK;
}

/* -- encoding ----------------------------------------------------------------------------- */

typedef struct {
    const km_table *table;
    const km_in *in;
    km_memory *data;
    int64_t column; /* the one whose value does not fit */
    int status;
} encoder;

static int refuse(encoder *e, int64_t column, int status)
{
    e->column = column;
    e->status = status;
    return 0;
}

/* Whether value i of a column is not null. */
KS_INLINE int there(const encoder *e, int64_t c, int64_t i)
{
    const km_in *in = &e->in[c];
    return km_bit(in->validity, in->offset + i);
}

static int64_t get_number(const encoder *e, int64_t c, int64_t i)
{
    const km_in *in = &e->in[c];
    return km_number(&e->table->columns[c], in->values, in->offset + i);
}

/* The span of value i of a list or of bytes; 0 if the column is not what it should be. */
static int span(const encoder *e, int64_t c, int64_t i, int64_t limit, int64_t *first, int64_t *last)
{
    int32_t ends[2];
    memcpy(ends, e->in[c].values + 4 * (e->in[c].offset + i), 8);
    *first = ends[0];
    *last = ends[1];
    return ends[0] >= 0 && ends[1] >= ends[0] && ends[1] <= limit;
}

static int write_number(encoder *e, const km_line *l, int64_t value)
{
    if (value < l->low || value > l->high)
        return refuse(e, l->column, KM_REFUSED);
    if (!km_room(e->data, 16))
        return refuse(e, l->column, KM_NO_MEMORY);
    uint8_t *p = e->data->bytes + e->data->used;
    if (l->size == 0) {
        if (!ks_fits_unsigned_varint32(value))
            return refuse(e, l->column, KM_REFUSED);
        e->data->used = ks_write_groups(p, (uint64_t)value) - e->data->bytes;
        return 1;
    }
    if (l->size < 8) {
        const int64_t top = INT64_C(1) << (8 * l->size - ((l->flags & KM_SIGNED) ? 1 : 0));
        if (value >= top || value < ((l->flags & KM_SIGNED) ? -top : 0))
            return refuse(e, l->column, KM_REFUSED);
    }
    ks_store(p, (int)l->size, value);
    e->data->used += l->size;
    return 1;
}

static int write_raw(encoder *e, int64_t c, const uint8_t *bytes, int64_t size)
{
    if (!km_room(e->data, size + 1))
        return refuse(e, c, KM_NO_MEMORY);
    if (size > 0)
        memcpy(e->data->bytes + e->data->used, bytes, (size_t)size);
    e->data->used += size;
    return 1;
}

static int write_data(encoder *e, int64_t c, int64_t first, int64_t last)
{
    return first == last || write_raw(e, c, e->in[c].data + first, last - first);
}

/* Whether value i of a column is the one that Kafka's classes begin with. */
static int is_default(const encoder *e, int64_t c, int64_t i)
{
    const km_column *column = &e->table->columns[c];
    int64_t first, last;
    if (!there(e, c, i))
        return 0;
    switch (column->kind) {
    case KM_STRUCT:
        for (int64_t child = c + 1; child < column->end; child = e->table->columns[child].end) {
            const int can_be_null = (e->table->columns[child].flags & KM_NULLABLE) != 0;
            if (can_be_null ? there(e, child, i) : !is_default(e, child, i))
                return 0;
        }
        return 1;
    case KM_LIST:
    case KM_BYTES:
    case KM_TEXT:
        return span(e, c, i, INT32_MAX, &first, &last) && first == last;
    case KM_FIXED:
        for (int64_t k = 0; k < column->size; k++)
            if (e->in[c].values[column->size * (e->in[c].offset + i) + k])
                return 0;
        return 1;
    }
    return get_number(e, c, i) == column->fill;
}

static int emit(encoder *e, int64_t pc, int64_t stop, int64_t i);

static int write_list(encoder *e, int64_t pc, int64_t i)
{
    const km_line *l = &e->table->lines[pc];
    const int64_t c = l->column;
    int64_t first, last;
    if (!there(e, c, i))
        return (l->flags & KM_NULLABLE) ? write_number(e, l, l->plus - 1) : refuse(e, c, KM_REFUSED);
    if (!span(e, c, i, e->in[c + 1].length, &first, &last))
        return refuse(e, c, KM_TOO_LARGE);
    if (!write_number(e, l, last - first + l->plus))
        return 0;
    for (; first < last; first++)
        if (!emit(e, pc + 1, l->next, first))
            return 0;
    return 1;
}

static int write_bytes(encoder *e, const km_line *l, int64_t i)
{
    const int64_t c = l->column;
    int64_t first, last;
    if (!there(e, c, i))
        return (l->flags & KM_NULLABLE) ? write_number(e, l, l->plus - 1) : refuse(e, c, KM_REFUSED);
    if (!span(e, c, i, e->in[c].data_size, &first, &last))
        return refuse(e, c, KM_TOO_LARGE);
    return write_number(e, l, last - first + l->plus) &&
           write_data(e, c, first, last);
}

/* Whether the tagged field of a line is to be written. */
static int has_tag(const encoder *e, int64_t pc, int64_t i)
{
    const km_line *lines = e->table->lines;
    int found = 0;
    for (int64_t at = pc + 1; at < lines[pc].next; at = lines[at].next) {
        const int64_t c = lines[at].column;
        if (c > 0)
            found |= (e->table->columns[c].flags & KM_FILLED) ? !is_default(e, c, i) : there(e, c, i);
    }
    return found;
}

/* Write a tag, and content whose size is known when it is there. */
static int write_tag(encoder *e, int64_t pc, int64_t i)
{
    const km_line *l = &e->table->lines[pc];
    km_line plain = {KM_S_INTEGER, l->column, 0, 0, 0, 0, 0, INT64_MAX};
    if (!write_number(e, &plain, l->low) || !write_number(e, &plain, 0))
        return 0;
    const int64_t start = e->data->used;
    if (!emit(e, pc + 1, l->next, i))
        return 0;
    const int64_t size = e->data->used - start, more = ks_groups_size((uint64_t)size) - 1;
    if (!km_room(e->data, 8) || size > INT32_MAX)
        return refuse(e, l->column, KM_NO_MEMORY);
    if (more)
        memmove(e->data->bytes + start + more, e->data->bytes + start, (size_t)size);
    ks_write_groups(e->data->bytes + start - 1, (uint64_t)size);
    e->data->used += more;
    return 1;
}

static int write_tags(encoder *e, int64_t pc, int64_t i)
{
    const km_line *lines = e->table->lines, *l = &lines[pc];
    const int64_t list = l->column;
    km_line plain = {KM_S_INTEGER, list, 0, 0, 0, 0, 0, INT64_MAX};
    int64_t first, last, known = 0, before = -1, at = pc + 1;
    if (!there(e, list, i))
        return refuse(e, list, KM_REFUSED);
    if (!span(e, list, i, e->in[list + 1].length, &first, &last))
        return refuse(e, list, KM_TOO_LARGE);
    for (int64_t tag = pc + 1; tag < l->next; tag = lines[tag].next)
        known += has_tag(e, tag, i);
    if (!write_number(e, l, last - first + known))
        return 0;
    for (; first < last || at < l->next;) {
        const int64_t tag = first < last ? get_number(e, list + 2, first) : INT64_MAX;
        if (at < l->next && lines[at].low < tag) {
            if (has_tag(e, at, i) && !write_tag(e, at, i))
                return 0;
            at = lines[at].next;
            continue;
        }
        int64_t start, end;
        if (tag <= before || (at < l->next && lines[at].low == tag))
            return refuse(e, list, KM_REFUSED); /* not ascending, or a tag with a column of its own */
        if (!there(e, list + 1, first) || !there(e, list + 2, first) || !there(e, list + 3, first))
            return refuse(e, list, KM_REFUSED);
        if (!span(e, list + 3, first, e->in[list + 3].data_size, &start, &end))
            return refuse(e, list, KM_TOO_LARGE);
        if (!write_number(e, &plain, tag) || !write_number(e, &plain, end - start) ||
            !write_data(e, list + 3, start, end))
            return 0;
        before = tag;
        first++;
    }
    return 1;
}

static int emit(encoder *e, int64_t pc, int64_t stop, int64_t i)
{
    const km_line *lines = e->table->lines;
    while (pc < stop) {
        const km_line *l = &lines[pc];
        const int64_t c = l->column;
        int64_t first, last;
        switch (l->step) {
        case KM_S_INTEGER:
        case KM_S_VERSION:
            if (c >= 0 && !there(e, c, i))
                return refuse(e, c, KM_REFUSED);
            first = c >= 0 ? get_number(e, c, i) : l->low;
            if (!write_number(e, l, first))
                return 0;
            if (l->step == KM_S_INTEGER)
                break;
            pc = case_of(lines, pc, first);
            stop = lines[pc].next;
            pc++;
            continue;
        case KM_S_FIXED:
            if (!there(e, c, i))
                return refuse(e, c, KM_REFUSED);
            if (!write_raw(e, c, e->in[c].values + l->size * (e->in[c].offset + i), l->size))
                return 0;
            break;
        case KM_S_BYTES:
            if (!write_bytes(e, l, i))
                return 0;
            break;
        case KM_S_LIST:
            if (!write_list(e, pc, i))
                return 0;
            break;
        case KM_S_STRUCT:
            if (!there(e, c, i)) {
                if (!(l->flags & KM_MARKED))
                    return refuse(e, c, KM_REFUSED);
                /* As Kafka: -1 where 0 says that it is there, else 0. */
                if (!write_number(e, l, l->plus - 1))
                    return 0;
                break;
            }
            if ((l->flags & KM_MARKED) && !write_number(e, l, 1))
                return 0;
            if (!emit(e, pc + 1, l->next, i))
                return 0;
            break;
        case KM_S_TAGS:
            if (!write_tags(e, pc, i))
                return 0;
            break;
        case KM_S_REST:
            if (!there(e, c, i))
                return refuse(e, c, KM_REFUSED);
            if (!span(e, c, i, e->in[c].data_size, &first, &last))
                return refuse(e, c, KM_TOO_LARGE);
            if (!write_data(e, c, first, last))
                return 0;
            break;
        case KM_S_GUARD:
            break;
        case KM_S_ABSENT:
            if (there(e, c, i))
                return refuse(e, c, KM_REFUSED);
            break;
        default:
            return 1;
        }
        pc = l->next;
    }
    return 1;
}

int km_encode(const km_table *table, const km_in *in, int64_t rows, km_memory *offsets,
              km_memory *data, int64_t *row, int64_t *column)
{
    encoder e = {table, in, data, 0, KM_OK};
    int32_t end = 0;
    if (rows > INT32_MAX || !km_grow(offsets, 4 * (rows + 1)))
        return KM_NO_MEMORY;
    memcpy(offsets->bytes, &end, 4);
    for (int64_t i = 0; i < rows; i++) {
        *row = i;
        if (there(&e, 0, i) && !emit(&e, 0, table->lines_count, i)) {
            *column = e.column;
            return e.status;
        }
        if (data->used > INT32_MAX)
            return KM_TOO_LARGE;
        end = (int32_t)data->used;
        memcpy(offsets->bytes + 4 * (i + 1), &end, 4);
    }
    offsets->used = 4 * (rows + 1);
    return KM_OK;
}
