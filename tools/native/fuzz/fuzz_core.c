/*
 * libFuzzer target over the generated core, without Python: every input is scanned, decoded in all
 * layouts and, where it decodes, encoded again. Memory is exactly as large as the core was told, so
 * that the address sanitizer sees a single byte too far.
 *
 * See README.md in this directory.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"

enum { MOST_ENTRIES = 64, MOST_ROWS = 4096 };

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

static void columns_open(columns *c, int layout, int64_t rows, int64_t items, int64_t data,
                         uint64_t wanted)
{
    memset(c, 0, sizeof *c);
    c->out.layout = layout;
    c->out.capacity = rows;
    c->out.integers = c->integers;
    c->out.bytes = c->bytes;
    c->out.lists = c->lists;
    for (int i = 0; i < ks_lists_count; i++) {
        c->lists[i].wanted = 1;
        c->lists[i].capacity = items;
        c->lists[i].offsets = room(4 * (size_t)(rows + 1));
        c->lists[i].offsets[0] = 0;
    }
    for (int i = 0; i < ks_columns_count; i++) {
        const ks_column *meta = &ks_columns[i];
        size_t count = (size_t)(meta->list < 0 ? rows : items);
        if (meta->kind == KS_INTEGER && (wanted >> (meta->index & 63) & 1))
            c->integers[meta->index] = room(8 * count);
        if (meta->kind != KS_BYTES && meta->kind != KS_NULLABLE_BYTES)
            continue;
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
            if (list->used > list->capacity || list->offsets[c->out.rows] != list->used)
                abort();
        }
        if (meta->kind != KS_BYTES && meta->kind != KS_NULLABLE_BYTES)
            continue;
        const ks_bytes_out *column = &c->bytes[meta->index];
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

/* Encodes again what was decoded into offsets and data. */
static void encode_again(const columns *c, const ks_kind *kind, const int64_t *header)
{
    ks_bytes_in strings[16];
    ks_list_in lists[4];
    const int64_t *integers[64];
    memset(strings, 0, sizeof strings);
    for (int i = 0; i < ks_bytes_count; i++) {
        strings[i].data = c->bytes[i].data;
        strings[i].offsets = c->bytes[i].offsets;
        strings[i].validity = c->bytes[i].validity;
    }
    for (int i = 0; i < ks_lists_count; i++)
        lists[i].offsets = c->lists[i].offsets;
    for (int i = 0; i < ks_integers_count; i++)
        integers[i] = c->integers[i];
    ks_in in = {integers, strings, lists};
    int64_t capacity = 1 << 16, used = 0;
    uint8_t *out = room((size_t)capacity);
    int status = kind->encode(header, &in, 0, c->out.rows, out, capacity, &used);
    if (status == KS_OK && (used < 0 || used > capacity))
        abort();
    free(out);
}

static void decode(const uint8_t *data, int64_t size, const int64_t *item, int layout,
                   uint64_t wanted, int64_t items, int64_t text)
{
    const ks_buffer buffers[2] = {{data, size}, {data, size}};
    columns c;
    columns_open(&c, layout, item[KS_B_ROWS], items, text, wanted);
    int64_t failed = 0, position = 0;
    int status = ks_decode(buffers, 2, item, 0, 1, &c.out, &failed, &position);
    if (status != KS_OK && c.out.rows != 0)
        abort();
    columns_check(&c, buffers, 2);
    columns_close(&c);
}

static void decode_all(const uint8_t *data, int64_t size, const int64_t *item, uint64_t choice)
{
    for (int layout = KS_VIEW; layout <= KS_SPAN; layout++) {
        decode(data, size, item, layout, ~UINT64_C(0), size, size + KS_SLACK);
        decode(data, size, item, layout, choice, (int64_t)(choice & 7), (int64_t)(choice & 255));
    }
}

/* Decodes the input as the payload of a batch; the header comes from its last bytes. */
static void payload(const uint8_t *data, int64_t size, uint64_t choice)
{
    for (int k = 0; k < ks_kinds_count; k++) {
        const ks_kind *kind = &ks_kinds[k];
        if (!kind->decode)
            continue;
        int64_t header[64] = {0};
        int64_t rows = (int64_t)(choice % 9);
        for (int i = 0; i < kind->members; i++)
            header[i] = kind->used >> i & 1 ? rows : 0;
        const ks_buffer whole = {data, size};
        for (int layout = KS_VIEW; layout <= KS_SPAN; layout++) {
            columns c;
            columns_open(&c, layout, rows, size, size + KS_SLACK, choice);
            int64_t position = 0;
            if (kind->decode(header, &whole, &c.out, &position) == KS_OK) {
                columns_check(&c, &whole, 1);
                if (layout == KS_BINARY)
                    encode_again(&c, kind, header);
            }
            columns_close(&c);
        }
    }
}

static void scan(const uint8_t *data, int64_t size, uint64_t choice)
{
    int64_t *table = room(8 * (size_t)(MOST_ENTRIES * ks_scan_count));
    uint64_t *present = room(8 * MOST_ENTRIES);
    int64_t count = 0, position = 0;
    ks_scan(data, 0, size, table, MOST_ENTRIES, present, &count, &position);
    int64_t rows_column = -1;
    for (int k = 0; k < ks_scan_count; k++)
        if (strncmp(ks_scan_names[k], "num_", 4) == 0)
            rows_column = k;
    for (int64_t i = 0; i < count; i++) {
        int64_t at = table[i], bytes = table[MOST_ENTRIES + i];
        if (at < 0 || bytes <= 0 || at + bytes > size)
            abort();
        int64_t rows = 1;
        if (rows_column >= 0 && (present[i] >> rows_column & 1))
            rows = table[rows_column * MOST_ENTRIES + i];
        if (rows < 0 || rows > MOST_ROWS)
            continue;
        int64_t item[KS_BATCH_FIELDS] = {0, at, bytes, -1, 0, 0, rows, (int64_t)(choice & 2)};
        decode_all(data, size, item, choice);
        /* The same with all of the input as its decompressed payload, and with a checksum. */
        item[KS_B_PAYLOAD] = 1;
        item[KS_B_PAYLOAD_SIZE] = size;
        decode_all(data, size, item, choice);
        item[KS_B_FLAGS] = KS_F_CHECKSUM;
        decode_all(data, size, item, choice);
    }
    free(table);
    free(present);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t length)
{
    uint64_t choice = 0;
    for (size_t i = 0; i < 8 && i < length; i++)
        choice = choice * 257 + input[length - 1 - i];
    uint8_t *data = room(length); /* a copy of its own: the end is guarded */
    memcpy(data, input, length);
    for (int number = 1; number < ks_crc_kernels(); number++)
        if (ks_crc32c_by(number, data, (int64_t)length) != ks_crc32c(data, (int64_t)length) ||
            ks_crc32_by(number, data, (int64_t)length) != ks_crc32(data, (int64_t)length))
            abort();
    scan(data, (int64_t)length, choice);
    payload(data, (int64_t)length, choice);
    free(data);
    return 0;
}
