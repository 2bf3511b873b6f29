/* Memory of tables and of what is written. */
#include <stdlib.h>

#include "rows.h"

void ks_open(const ks_format *format, ks_table *tables)
{
    for (int i = 0; i < format->tables; i++) {
        ks_table empty = {format->widths[i], 0, 0, NULL};
        tables[i] = empty;
    }
}

void ks_close(const ks_format *format, ks_table *tables)
{
    for (int i = 0; i < format->tables; i++)
        free(tables[i].cells);
    ks_open(format, tables);
}

int64_t *ks_row(ks_table *table, int64_t parent)
{
    if (table->rows == table->capacity) {
        int64_t capacity = table->capacity ? table->capacity + table->capacity / 2 + 1 : 4;
        if (capacity > (int64_t)(PTRDIFF_MAX / sizeof(int64_t)) / table->width)
            return NULL;
        size_t size = (size_t)(capacity * table->width) * sizeof(int64_t);
        int64_t *cells = realloc(table->cells, size);
        if (!cells)
            return NULL;
        table->cells = cells;
        table->capacity = capacity;
    }
    int64_t *row = table->cells + table->rows++ * table->width;
    memset(row, 0, (size_t)table->width * sizeof *row);
    row[0] = parent;
    return row;
}

int ks_grow(ks_bytes *out, int64_t more)
{
    if (more > INT64_MAX / 4 - out->capacity)
        return 0;
    int64_t capacity = out->capacity + out->capacity / 2 + more + 64;
    uint8_t *bytes = realloc(out->bytes, (size_t)capacity);
    if (!bytes)
        return 0;
    out->bytes = bytes;
    out->capacity = capacity;
    return 1;
}
