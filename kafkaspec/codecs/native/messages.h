/*
 * An interpreter of the tables of messages: bytes to columns of Arrow, and columns to bytes. Plain
 * C99 without Python in it. It knows the steps of programs, not one message; the tables are
 * generated, and described in kafkaspec/messages/tables.py. Nothing here explains a refusal: it
 * says which row, and the reference then reads that row again and raises the error.
 */
#ifndef KAFKASPEC_MESSAGES_H
#define KAFKASPEC_MESSAGES_H

#include <stdint.h>
#include <string.h>

#include "abi.h"
#include "numbers.h"

/* Kinds of columns, and steps of programs: ColumnKind and Step of kafkaspec/messages/tables.py. */
enum { KM_STRUCT, KM_LIST, KM_BYTES, KM_TEXT, KM_FIXED, KM_INTEGER, KM_FLOAT, KM_BOOLEAN, KM_KINDS };
enum {
    KM_S_END, KM_S_INTEGER, KM_S_FIXED, KM_S_BYTES, KM_S_LIST, KM_S_STRUCT, KM_S_TAGS, KM_S_TAG,
    KM_S_REST, KM_S_GUARD, KM_S_ABSENT, KM_S_VERSION, KM_S_CASE, KM_STEPS
};
/* Flags of a line, and of a column. */
enum { KM_SIGNED = 1, KM_NULLABLE = 2, KM_MARKED = 4, KM_FILLED = 8 };
/* Lines and columns of a table, and levels of it, at most: a check of what Python hands in. */
enum { KM_MOST_LINES = 1 << 16, KM_MOST_COLUMNS = 1 << 12, KM_MOST_LEVELS = 64 };

typedef struct {
    int64_t step, column, next, size, plus, flags, low, high;
} km_line;

typedef struct {
    int64_t kind, size, end, flags, fill; /* `end`: number of the first column not below it */
} km_column;

typedef struct {
    const km_line *lines;
    int64_t lines_count;
    const km_column *columns;
    int64_t columns_count;
} km_table;

/* Memory that grows. */
typedef struct {
    uint8_t *bytes;
    int64_t used;
    int64_t capacity;
} km_memory;

int km_grow(km_memory *memory, int64_t more);

/* Whether there is room for so many more bytes, now. */
KS_INLINE int km_room(km_memory *m, int64_t more)
{
    return KS_LIKELY(m->capacity - m->used >= more) || km_grow(m, more);
}

/* A column that is filled. */
typedef struct {
    int64_t length;
    int64_t nulls;
    km_memory validity; /* a bit for each value, of columns that can be null */
    km_memory values;   /* numbers, or 32-bit offsets with a 0 before the first */
    km_memory data;     /* bytes that the offsets divide */
} km_out;

/* A column that is read: value i of it is at `offset` + i. */
typedef struct {
    int64_t length;
    int64_t offset;
    const uint8_t *validity; /* NULL: none is null */
    const uint8_t *values;
    const uint8_t *data;
    int64_t data_size;
} km_in;

/* Bytes, and how many. */
typedef struct {
    const uint8_t *bytes;
    int64_t size;
} km_bytes;

/* How Arrow lays out byte strings. */
enum { KM_NARROW, KM_WIDE, KM_VIEWS, KM_LAYOUTS };

/* Byte strings, null where validity says so; value i of `places` is that of row i. */
typedef struct {
    int64_t rows;
    const uint8_t *validity;
    int64_t validity_offset;
    int layout;
    const uint8_t *places; /* offsets of 4 or 8 bytes, or views of 16 */
    const km_bytes *data;  /* one, or those that views point into */
    int64_t data_count;
} km_rows;

enum { KM_OK, KM_REFUSED, KM_NO_MEMORY, KM_TOO_LARGE };

/* Whether a table is one: lines and columns in their bounds, nested as they should be. */
int km_valid(const km_table *table);

/*
 * Decode rows; `out` has zeros for each column, and is to be freed by km_free. The numbers of rows
 * that were refused, which are null in `out`, go to `refused`, as 64-bit integers.
 */
int km_decode(const km_table *table, const km_rows *rows, km_out *out, km_memory *refused);
void km_free(km_memory *memory);
/* Give back what is not used of it, if that is much. */
void km_shrink(km_memory *memory);

/*
 * Encode rows; bytes go to `data`, 32-bit offsets to `offsets`. KM_REFUSED: the value in row `*row`
 * and column `*column` does not fit.
 */
int km_encode(const km_table *table, const km_in *in, int64_t rows, km_memory *offsets,
              km_memory *data, int64_t *row, int64_t *column);

KS_INLINE int km_bit(const uint8_t *bits, int64_t i)
{
    return !bits || (bits[i >> 3] >> (i & 7) & 1);
}

/* An integer of a column. */
KS_INLINE int64_t km_number(const km_column *column, const uint8_t *values, int64_t at)
{
    const int64_t size = column->size;
    const int is_signed = (column->flags & KM_SIGNED) != 0;
    if (column->kind == KM_BOOLEAN)
        return values[at >> 3] >> (at & 7) & 1;
    values += size * at;
    if (size == 8) {
        uint64_t bits;
        memcpy(&bits, values, 8);
        return ks_signed(bits);
    }
    if (size == 4) {
        uint32_t low;
        memcpy(&low, values, 4);
        return is_signed ? (int64_t)(int32_t)low : (int64_t)low;
    }
    if (size == 2) {
        uint16_t low;
        memcpy(&low, values, 2);
        return is_signed ? (int64_t)(int16_t)low : (int64_t)low;
    }
    return is_signed ? (int64_t)(int8_t)*values : (int64_t)*values;
}

#endif
