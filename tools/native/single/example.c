/* Print the records of a segment: cc -std=gnu99 -O2 example.c kafkaspec.c -ldl -o records */
#include "kafkaspec.h"

#include <stdio.h>
#include <stdlib.h>

static void print(const char *name, const ks_rows *rows, int column, int64_t row)
{
    const int64_t *span = rows->columns.bytes[column].spans + 2 * row;
    const char *text = span[1] < 0 ? "null" : (const char *)rows->bytes + span[0];
    printf(" %s=%.*s", name, span[1] < 0 ? 4 : (int)span[1], text);
}

int main(int count, char **arguments)
{
    if (count != 2)
        return fprintf(stderr, "usage: records SEGMENT\n"), 2;
    FILE *file = fopen(arguments[1], "rb");
    if (!file || (getc(file) == EOF && ferror(file)) || fseek(file, 0, SEEK_END))
        return perror(arguments[1]), 2;
    const long size = ftell(file);
    char *bytes = malloc(size ? (size_t)size : 1);
    rewind(file);
    if (!bytes || fread(bytes, 1, (size_t)size, file) != (size_t)size)
        return perror(arguments[1]), 2;
    ks_reader *reader = ks_open(bytes, size, NULL);
    ks_rows rows;
    int status = KS_END;
    while (reader && (status = ks_next(reader, &rows)) == KS_OK)
        for (int64_t row = 0; row < rows.columns.rows; row++) {
            printf("%lld ", (long long)rows.columns.integers[KS_COLUMN_OFFSET][row]);
            printf("%lld", (long long)rows.columns.integers[KS_COLUMN_TIMESTAMP][row]);
            print("key", &rows, KS_COLUMN_KEY, row);
            print("value", &rows, KS_COLUMN_VALUE, row);
            putchar('\n');
        }
    if (!reader || status != KS_END)
        return fprintf(stderr, "%s\n", reader ? ks_problem(reader) : "not enough memory"), 1;
    return fflush(stdout) || ferror(stdout) ? perror("records"), 2 : 0;
}
