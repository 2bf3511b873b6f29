/*
 * Reads a segment once for each line of standard input. The answer is the number of records, and a sum of
 * what was touched, as in ReadRecords.java. Exit code 3: a library of compression is missing.
 */
#include "kafkaspec.h"

#include <stdio.h>
#include <stdlib.h>

static int64_t touched(const ks_rows *rows, int column, int64_t row)
{
    const int64_t *span = rows->columns.bytes[column].spans + 2 * row;
    return span[1] <= 0 ? 0 : span[1] + (int8_t)rows->bytes[span[0]];
}

static uint8_t *load(const char *path, int64_t *size)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END))
        return NULL;
    *size = ftell(file);
    rewind(file);
    uint8_t *bytes = malloc((size_t)*size + 1);
    if (bytes && fread(bytes, 1, (size_t)*size, file) != (size_t)*size)
        return NULL;
    fclose(file);
    return bytes;
}

int main(int count, char **arguments)
{
    static const char *const columns[] = {"offset", "timestamp", "key", "value", NULL};
    const ks_options options = {columns, 0, 0, NULL, NULL, 0};
    int64_t size = 0;
    const uint8_t *bytes = count == 2 ? load(arguments[1], &size) : NULL;
    if (!bytes)
        return fprintf(stderr, "usage: read_records SEGMENT\n"), 2;
    for (int line; (line = getchar()) != EOF;) {
        if (line != '\n')
            continue;
        ks_reader *reader = ks_open(bytes, size, &options);
        ks_rows rows;
        int64_t records = 0, sum = 0;
        int status = KS_NO_MEMORY;
        while (reader && (status = ks_next(reader, &rows)) == KS_OK) {
            for (int64_t row = 0; row < rows.columns.rows; row++) {
                sum += rows.columns.integers[KS_COLUMN_OFFSET][row];
                sum += rows.columns.integers[KS_COLUMN_TIMESTAMP][row];
                sum += touched(&rows, KS_COLUMN_KEY, row) + touched(&rows, KS_COLUMN_VALUE, row);
            }
            records += rows.columns.rows;
        }
        if (status != KS_END) {
            fprintf(stderr, "%s\n", reader ? ks_problem(reader) : "not enough memory");
            return status == KS_UNSUPPORTED ? 3 : 1;
        }
        ks_close(reader);
        printf("%lld %lld\n", (long long)records, (long long)sum);
        fflush(stdout);
    }
    return 0;
}
