/*
 * Tables of the content of a file: plain C99 without Python in it.
 *
 * A row is `width` integers: first the number of the row that it belongs to, in the table of the
 * array or choice around it, then the cells. A number is one cell; a float its bits; a number that
 * may be absent is followed by a cell that is 1 if it is there. A byte string is two: its position,
 * in the file or in the heap that a writer is given, and its size, -1 for none. An array is the
 * number of its items, -1 for none, and a choice the number of its kind. The header of each format
 * has the numbers of its tables and cells.
 */
#ifndef KS_TABLES_H
#define KS_TABLES_H

#include <stdint.h>

/* Results. */
enum {
    KS_OK = 0,
    KS_IRREGULAR = 1, /* the bytes do not follow the specification */
    KS_MISFIT = 2,    /* a cell does not fit its field, or a row has no place: see ks_place */
    KS_MEMORY = 3     /* there is no memory */
};

typedef struct {
    int width;
    int64_t rows;
    int64_t capacity;
    int64_t *cells; /* row by row */
} ks_table;

/* Bytes that grow. */
typedef struct {
    uint8_t *bytes;
    int64_t used;
    int64_t capacity;
} ks_bytes;

/* What does not fit: table, row and the first cell of the column, 0 for the row itself. */
typedef struct {
    int table;
    int64_t row;
    int cell;
} ks_place;

typedef struct {
    const char *key;
    int tables;
    const int *widths; /* of each table */
    int (*read)(const uint8_t *bytes, int64_t size, ks_table *tables);
    int (*write)(const ks_table *tables, const uint8_t *heap, int64_t heap_size, ks_bytes *out,
                 ks_place *place);
} ks_format;

extern const ks_format ks_formats[];
extern const int ks_formats_count;

/* Empty tables for a format, at most ks_format.tables of them; and what they hold is freed. */
void ks_open(const ks_format *format, ks_table *tables);
void ks_close(const ks_format *format, ks_table *tables);

/* Checksums, with the fastest way that this CPU has. */
uint32_t ks_crc32c(const uint8_t *bytes, int64_t size);
uint32_t ks_crc32(const uint8_t *bytes, int64_t size);
/* The same with each way that it has, fastest first: their number and their names. */
int ks_crc_kernels(void);
const char *ks_crc_kernel(int number);
uint32_t ks_crc32c_by(int number, const uint8_t *bytes, int64_t size);
uint32_t ks_crc32_by(int number, const uint8_t *bytes, int64_t size);

/* A new row, its cells 0; NULL without memory. */
int64_t *ks_row(ks_table *table, int64_t parent);

#endif
