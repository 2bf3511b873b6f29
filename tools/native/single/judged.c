/*
 * Reads logs for the kit, and for libFuzzer with -DFUZZ. Standard input has a size of eight bytes, in the
 * order of this machine, before each log. A line for each record: its numbers, then key, value and
 * headers in hex, "-" for null; last "end ended", "end unsupported TEXT" or "end refused TEXT".
 */
#include "kafkaspec.h"

#include <stdio.h>
#include <stdlib.h>

static void hex(FILE *to, const ks_rows *rows, int column, int64_t row)
{
    const int64_t *span = rows->columns.bytes[column].spans + 2 * row;
    fputc(' ', to);
    if (span[1] < 0)
        fputc('-', to);
    fputc('.', to);
    for (int64_t i = 0; i < span[1]; i++)
        fprintf(to, "%02x", rows->bytes[span[0] + i]);
}

static void show(FILE *to, const ks_rows *rows)
{
    const ks_out *c = &rows->columns;
    for (int64_t row = 0; row < c->rows; row++) {
        const int32_t *headers = c->lists[KS_COLUMN_HEADERS].offsets + row;
        fprintf(to, "%lld %lld %lld", (long long)c->integers[KS_COLUMN_OFFSET][row],
                (long long)c->integers[KS_COLUMN_TIMESTAMP][row],
                (long long)c->integers[KS_COLUMN_BATCH_ATTRIBUTES_IS_CONTROL][row]);
        hex(to, rows, KS_COLUMN_KEY, row);
        hex(to, rows, KS_COLUMN_VALUE, row);
        for (int64_t item = headers[0]; item < headers[1]; item++) {
            hex(to, rows, KS_COLUMN_HEADERS_KEY, item);
            hex(to, rows, KS_COLUMN_HEADERS_VALUE, item);
        }
        fputc('\n', to);
    }
}

static int read_log(FILE *to, const uint8_t *bytes, int64_t size, int further)
{
    static const char *const columns[] = {"offset",         "timestamp", "key",
                                          "value",          "headers",   "headers.key",
                                          "headers.value",  "batch.attributes.is_control", NULL};
    const ks_options options = {columns, 0, INT64_C(1) << 25, NULL, NULL, 0};
    ks_reader *reader = ks_open(bytes, size, &options);
    ks_rows rows;
    int64_t before = -1;
    int status;
    if (!reader)
        abort();
    while ((status = ks_next(reader, &rows)) == KS_OK || (further && rows.position > before)) {
        if (status == KS_OK)
            show(to, &rows);
        before = rows.position;
    }
    fprintf(to, "end %s %s\n",
            status == KS_END ? "ended" : status == KS_UNSUPPORTED ? "unsupported" : "refused",
            ks_problem(reader));
    ks_close(reader);
    return status;
}

#ifdef FUZZ
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static FILE *nowhere;
    if (!nowhere)
        nowhere = fopen("/dev/null", "w");
    read_log(nowhere, bytes, (int64_t)size, 1);
    return 0;
}
#else
int main(void)
{
    int64_t size;
    while (fread(&size, sizeof size, 1, stdin) == 1) {
        uint8_t *bytes = malloc(size ? (size_t)size : 1);
        if (!bytes || fread(bytes, 1, (size_t)size, stdin) != (size_t)size)
            return 2;
        read_log(stdout, bytes, size, 0);
        fflush(stdout);
        free(bytes);
    }
    return 0;
}
#endif
