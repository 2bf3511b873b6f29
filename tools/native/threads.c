/*
 * Two threads that scan, decode, encode and check the same segments with the core, for
 * ThreadSanitizer: what they share are the bytes, the core's tables and those of the checksums, which
 * the first call fills. Arguments: segments.
 */
#include <pthread.h>
#include <stdio.h>

#include "fuzz/columns.h"

enum { THREADS = 2 };

static uint8_t *bytes;
static int64_t size;
static pthread_barrier_t start;

static uint64_t mix(uint64_t sum, uint64_t value) { return (sum ^ value) * UINT64_C(0x100000001b3); }

static uint64_t decode(const entries *e, int64_t entry, int layout)
{
    int64_t header[64], failed = 0, position = 0, rows = 1, used = 0;
    const ks_kind *kind = entry_header(e, entry, header);
    for (int k = 0; k < kind->members; k++)
        if (kind->is_batch && strncmp(kind->names[k], "num_", 4) == 0)
            rows = header[k];
    const int64_t item[KS_BATCH_FIELDS] = {
        0, entry_value(e, entry, KS_SCAN_POSITION), entry_value(e, entry, KS_SCAN_SIZE), -1, 0, 0,
        rows, KS_F_CHECKSUM,
    };
    const ks_buffer buffer = {bytes, size};
    columns c;
    if (rows < 0 || rows > MOST_ROWS)
        return 0;
    columns_open(&c, layout, rows, item[KS_B_SIZE], item[KS_B_SIZE] + KS_SLACK, ~UINT64_C(0));
    const int status = ks_decode(&buffer, 1, item, 0, 1, &c.out, &failed, &position);
    uint64_t sum = mix((uint64_t)status, (uint64_t)c.out.rows);
    if (status == KS_OK && layout == KS_BINARY) {
        column_inputs x;
        const int64_t room_for = 2 * item[KS_B_SIZE] + 64;
        uint8_t *out = room((size_t)room_for);
        kind->encode(header, columns_in(&c, &x), 0, c.out.rows, out, room_for, &used);
        sum = mix(sum, ks_crc32c(out, used));
        free(out);
    }
    columns_close(&c);
    return sum;
}

static void *work(void *result)
{
    uint64_t sum = 0;
    entries e;
    pthread_barrier_wait(&start);
    sum = mix(sum, ks_crc32(bytes, size));
    sum = mix(sum, ks_crc32c(bytes, size));
    entries_open(&e, bytes, size);
    for (int64_t i = 0; i < e.count; i++)
        for (int layout = KS_VIEW; layout <= KS_SPAN; layout++)
            sum = mix(sum, decode(&e, i, layout));
    entries_close(&e);
    *(uint64_t *)result = sum;
    return NULL;
}

int main(int count, char **paths)
{
    int64_t entries_seen = 0;
    for (int i = 1; i < count; i++) {
        FILE *file = fopen(paths[i], "rb");
        if (!file || fseek(file, 0, SEEK_END))
            return perror(paths[i]), 2;
        size = ftell(file);
        rewind(file);
        bytes = room((size_t)size);
        if (fread(bytes, 1, (size_t)size, file) != (size_t)size)
            return perror(paths[i]), 2;
        fclose(file);
        pthread_t threads[THREADS];
        uint64_t sums[THREADS];
        pthread_barrier_init(&start, NULL, THREADS);
        for (int k = 0; k < THREADS; k++)
            if (pthread_create(&threads[k], NULL, work, &sums[k]))
                return perror("pthread_create"), 2;
        for (int k = 0; k < THREADS; k++)
            pthread_join(threads[k], NULL);
        pthread_barrier_destroy(&start);
        for (int k = 1; k < THREADS; k++)
            if (sums[k] != sums[0])
                return fprintf(stderr, "%s: the threads differ\n", paths[i]), 1;
        entries e;
        entries_open(&e, bytes, size);
        entries_seen += e.count;
        entries_close(&e);
        free(bytes);
    }
    printf("%d segments, %lld entries, %d threads\n", count - 1, (long long)entries_seen, THREADS);
    return entries_seen ? 0 : 1;
}
