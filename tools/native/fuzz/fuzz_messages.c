/*
 * libFuzzer target over the interpreter of messages, without Python: the first byte of an input
 * chooses a message of the specification, the rest is decoded as one. What decodes is encoded, and
 * that decodes to the same columns. See README.md in this directory.
 */
#include <stdlib.h>
#include <string.h>

#include "messages.h"
#include "tables.h" /* made by run.py: all messages of the specification */

static km_out *opened(const km_table *table)
{
    km_out *out = calloc((size_t)table->columns_count, sizeof *out);
    if (!out)
        abort();
    return out;
}

static void closed(const km_table *table, km_out *out)
{
    for (int64_t c = 0; c < table->columns_count; c++) {
        km_free(&out[c].validity);
        km_free(&out[c].values);
        km_free(&out[c].data);
    }
    free(out);
}

/* Decode one message; whether it was not refused. */
static int decoded(const km_table *table, const uint8_t *bytes, size_t size, km_out *out)
{
    const int32_t offsets[2] = {0, (int32_t)size};
    const km_bytes data = {bytes, (int64_t)size};
    const km_rows rows = {1, NULL, 0, KM_NARROW, (const uint8_t *)offsets, &data, 1};
    km_memory refused = {0};
    if (km_decode(table, &rows, out, &refused) != KM_OK)
        abort();
    const int whole = refused.used == 0;
    km_free(&refused);
    return whole;
}

static int equal(const km_memory *a, const km_memory *b)
{
    return a->used == b->used && (!a->used || !memcmp(a->bytes, b->bytes, (size_t)a->used));
}

static void again(const km_table *table, km_out *out)
{
    km_in *in = calloc((size_t)table->columns_count, sizeof *in);
    km_out *second = opened(table);
    km_memory offsets = {0}, data = {0};
    int64_t row, column;
    for (int64_t c = 0; in && c < table->columns_count; c++) {
        in[c].length = out[c].length;
        in[c].validity = out[c].nulls ? out[c].validity.bytes : NULL;
        in[c].values = out[c].values.bytes;
        in[c].data = out[c].data.bytes;
        in[c].data_size = out[c].data.used;
    }
    if (!in || km_encode(table, in, 1, &offsets, &data, &row, &column) != KM_OK)
        abort();
    uint8_t *exact = malloc(data.used ? (size_t)data.used : 1); /* its end is guarded */
    if (!exact)
        abort();
    if (data.used)
        memcpy(exact, data.bytes, (size_t)data.used);
    if (!decoded(table, exact, (size_t)data.used, second))
        abort();
    for (int64_t c = 0; c < table->columns_count; c++)
        if (out[c].length != second[c].length || out[c].nulls != second[c].nulls ||
            !equal(&out[c].values, &second[c].values) || !equal(&out[c].data, &second[c].data))
            abort();
    free(exact);
    free(in);
    km_free(&offsets);
    km_free(&data);
    closed(table, second);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t length)
{
    if (!length)
        return 0;
    const km_table *table = &tables[input[0] % (sizeof tables / sizeof *tables)];
    uint8_t *bytes = malloc(length); /* a copy of its own: the end is guarded */
    if (!bytes || !km_valid(table))
        abort();
    memcpy(bytes + 1, input + 1, length - 1);
    km_out *out = opened(table);
    if (decoded(table, bytes + 1, length - 1, out))
        again(table, out);
    closed(table, out);
    free(bytes);
    return 0;
}
