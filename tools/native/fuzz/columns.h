/* Memory for the core, allocated to the byte, and columns in it; for targets that fuzz or race it. */
#ifndef KAFKASPEC_FUZZ_COLUMNS_H
#define KAFKASPEC_FUZZ_COLUMNS_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"

static void *room(size_t size)
{
    /* Never zero bytes: the sanitizer must guard the address. */
    void *bytes = malloc(size ? size : 1);
    if (!bytes)
        abort();
    memset(bytes, 0xa5, size ? size : 1);
    return bytes;
}

typedef struct {
    ks_out out;
    int64_t *integers[64];
    ks_bytes_out bytes[16];
    ks_list_out lists[4];
} columns;

/* Bits of what is wanted: integers, byte columns and lists by their index. What is in a list needs the
 * list, as for every caller. */
enum { WANTED_BYTES = 48, WANTED_LISTS = 56 };

static int is_wanted(uint64_t wanted, const ks_column *meta)
{
    const int first = meta->kind == KS_INTEGER ? 0 : meta->kind == KS_LIST ? WANTED_LISTS : WANTED_BYTES;
    return (wanted >> (first + meta->index) & 1) &&
           (meta->list < 0 || (wanted >> (WANTED_LISTS + meta->list) & 1));
}

static void columns_open(columns *c, int layout, int64_t rows, int64_t items, int64_t data,
                         uint64_t wanted)
{
    memset(c, 0, sizeof *c);
    c->out.layout = layout;
    c->out.capacity = rows;
    c->out.integers = c->integers;
    c->out.bytes = c->bytes;
    c->out.lists = c->lists;
    for (int i = 0; i < ks_columns_count; i++) {
        const ks_column *meta = &ks_columns[i];
        size_t count = (size_t)(meta->list < 0 ? rows : items);
        if (!is_wanted(wanted, meta))
            continue;
        if (meta->kind == KS_INTEGER) {
            c->integers[meta->index] = room(8 * count);
            continue;
        }
        if (meta->kind == KS_LIST) {
            ks_list_out *list = &c->lists[meta->index];
            list->wanted = 1;
            list->capacity = items;
            list->offsets = room(4 * (size_t)(rows + 1));
            list->offsets[0] = 0;
            continue;
        }
        ks_bytes_out *column = &c->bytes[meta->index];
        column->wanted = 1;
        if (meta->kind == KS_NULLABLE_BYTES)
            column->validity = room((count + 7) / 8);
        if (layout == KS_VIEW)
            column->views = room(16 * count);
        else if (layout == KS_SPAN)
            column->spans = room(16 * count);
        else {
            column->offsets = room(4 * (count + 1));
            column->offsets[0] = 0;
            column->data = room((size_t)data);
            column->data_capacity = data;
        }
    }
}

/* Decodes one payload; unlike ks_decode, a kind leaves it to the caller that all is valid at first. */
static int columns_decode(columns *c, const ks_kind *kind, const int64_t *header,
                          const ks_buffer *payload)
{
    int64_t position = 0;
    for (int i = 0; i < ks_columns_count; i++) {
        const ks_column *meta = &ks_columns[i];
        if (meta->kind == KS_NULLABLE_BYTES && c->bytes[meta->index].wanted)
            memset(c->bytes[meta->index].validity, 0xff,
                   (size_t)((meta->list < 0 ? c->out.capacity : c->lists[meta->list].capacity) + 7) /
                       8);
    }
    return kind->decode(header, payload, &c->out, &position);
}

static void columns_close(columns *c)
{
    for (int i = 0; i < ks_integers_count; i++)
        free(c->integers[i]);
    for (int i = 0; i < ks_bytes_count; i++) {
        free(c->bytes[i].validity);
        free(c->bytes[i].views);
        free(c->bytes[i].spans);
        free(c->bytes[i].offsets);
        free(c->bytes[i].data);
    }
    for (int i = 0; i < ks_lists_count; i++)
        free(c->lists[i].offsets);
}

/* Checks every promise about a filled column. */
static void columns_check(const columns *c, const ks_buffer *buffers, int count)
{
    if (c->out.rows < 0 || c->out.rows > c->out.capacity)
        abort();
    for (int i = 0; i < ks_columns_count; i++) {
        const ks_column *meta = &ks_columns[i];
        if (meta->kind == KS_LIST) {
            const ks_list_out *list = &c->lists[meta->index];
            if (list->wanted &&
                (list->used > list->capacity || list->offsets[c->out.rows] != list->used))
                abort();
        }
        if (meta->kind != KS_BYTES && meta->kind != KS_NULLABLE_BYTES)
            continue;
        const ks_bytes_out *column = &c->bytes[meta->index];
        if (!column->wanted)
            continue;
        int64_t rows = meta->list < 0 ? c->out.rows : c->lists[meta->list].used;
        volatile uint8_t sum = 0;
        for (int64_t row = 0; row < rows; row++) {
            if (c->out.layout == KS_BINARY) {
                if (column->offsets[row + 1] < column->offsets[row] ||
                    column->offsets[row + 1] > column->data_used)
                    abort();
            } else if (c->out.layout == KS_VIEW) {
                int32_t view[4];
                memcpy(view, column->views + 16 * row, 16);
                if (view[0] > 12) {
                    if (view[2] < 0 || view[2] >= count || view[3] < 0 ||
                        view[3] + (int64_t)view[0] > buffers[view[2]].size)
                        abort();
                    sum += buffers[view[2]].bytes[view[3] + view[0] - 1];
                }
            } else if (column->spans[2 * row + 1] > 0) {
                if (column->spans[2 * row] < 0)
                    abort();
            }
        }
    }
}

/* Columns in the layout BINARY as an input of the encoder. */
typedef struct {
    ks_in in;
    ks_bytes_in bytes[16];
    ks_list_in lists[4];
    const int64_t *integers[64];
} column_inputs;

static const ks_in *columns_in(const columns *c, column_inputs *x)
{
    memset(x, 0, sizeof *x);
    for (int i = 0; i < ks_bytes_count; i++) {
        x->bytes[i].data = c->bytes[i].data;
        x->bytes[i].offsets = c->bytes[i].offsets;
        x->bytes[i].validity = c->bytes[i].validity;
    }
    for (int i = 0; i < ks_lists_count; i++)
        x->lists[i].offsets = c->lists[i].offsets;
    for (int i = 0; i < ks_integers_count; i++)
        x->integers[i] = c->integers[i];
    x->in = (ks_in){x->integers, x->bytes, x->lists};
    return &x->in;
}

/* Looks at the entries of a table from ks_scan one by one. */
enum { MOST_ENTRIES = 64, MOST_ROWS = 4096 };

typedef struct {
    int64_t count;
    int64_t end; /* where the scan ended */
    int64_t *values;
    uint64_t *present;
} entries;

static void entries_open(entries *e, const uint8_t *bytes, int64_t size)
{
    e->end = 0;
    e->values = room(8 * (size_t)(MOST_ENTRIES * ks_scan_count));
    e->present = room(8 * MOST_ENTRIES);
    e->count = 0;
    ks_scan(bytes, 0, size, e->values, MOST_ENTRIES, e->present, &e->count, &e->end);
}

static void entries_close(entries *e)
{
    free(e->values);
    free(e->present);
}

static int64_t entry_value(const entries *e, int64_t entry, int column)
{
    return e->values[column * MOST_ENTRIES + entry];
}

/* The header of an entry as its kind wants it; zeros for what it does not have. */
static const ks_kind *entry_header(const entries *e, int64_t entry, int64_t header[64])
{
    const ks_kind *kind = &ks_kinds[entry_value(e, entry, KS_SCAN_KIND)];
    for (int i = 0; i < kind->members; i++) {
        header[i] = 0;
        for (int k = 0; k < ks_scan_count; k++)
            if (strcmp(kind->names[i], ks_scan_names[k]) == 0 && (e->present[entry] >> k & 1))
                header[i] = entry_value(e, entry, k);
    }
    return kind;
}

#endif
