/*
 * libFuzzer target over the generated core, without Python: every input is scanned, decoded in all
 * layouts and, where it decodes, encoded again. Memory is exactly as large as the core was told, so
 * that the address sanitizer sees a single byte too far.
 *
 * See README.md in this directory.
 */
#include "columns.h"
#include "compression.h"
#include "forms.h"

/* Whether two sets of columns hold the same records; what they say of their batches aside. */
static int same(const columns *a, const columns *b)
{
    int equal = a->out.rows == b->out.rows;
    for (int i = 0; equal && i < ks_columns_count; i++) {
        const ks_column *meta = &ks_columns[i];
        if (strncmp(meta->name, "batch.", 6) == 0)
            continue;
        if (meta->list >= 0)
            equal = a->lists[meta->list].used == b->lists[meta->list].used;
        size_t rows = (size_t)(meta->list < 0 ? a->out.rows : a->lists[meta->list].used);
        if (!equal || !rows)
            continue;
        if (meta->kind == KS_INTEGER) {
            equal = !memcmp(a->integers[meta->index], b->integers[meta->index], 8 * rows);
        } else if (meta->kind == KS_LIST) {
            equal = !memcmp(a->lists[meta->index].offsets, b->lists[meta->index].offsets,
                            4 * (rows + 1));
        } else {
            const ks_bytes_out *x = &a->bytes[meta->index], *y = &b->bytes[meta->index];
            equal = x->nulls == y->nulls && x->data_used == y->data_used &&
                    !memcmp(x->offsets, y->offsets, 4 * (rows + 1)) &&
                    !memcmp(x->data, y->data, (size_t)x->data_used);
        }
    }
    return equal;
}

/* Encodes again what was decoded into offsets and data, with room to the byte and less; all columns
 * say all of it, so that decoding gives the same again. */
static void encode_again(const columns *c, const ks_kind *kind, const int64_t *header, int all)
{
    column_inputs x;
    const ks_in *in = columns_in(c, &x);
    int64_t capacity = 1 << 16, used = 0;
    uint8_t *out = room((size_t)capacity);
    int status = kind->encode(header, in, 0, c->out.rows, out, capacity, &used);
    if (status == KS_OK && (used < 0 || used > capacity))
        abort();
    if (status != KS_OK && all)
        abort();
    if (status == KS_OK) {
        for (int64_t less = 0; less < 2 && less <= used; less++) {
            uint8_t *exact = room((size_t)(used - less));
            int64_t again = 0;
            int got = kind->encode(header, in, 0, c->out.rows, exact, used - less, &again);
            if (got != (less ? KS_GROW : KS_OK) || (!less && memcmp(exact, out, (size_t)used)))
                abort();
            free(exact);
        }
    }
    if (all && kind->decode) {
        columns second;
        const ks_buffer whole = {out, used};
        columns_open(&second, KS_BINARY, c->out.rows, c->lists[0].used,
                     capacity + KS_SLACK, ~UINT64_C(0));
        if (columns_decode(&second, kind, header, &whole) != KS_OK || !same(c, &second))
            abort();
        columns_close(&second);
    }
    free(out);
}

/* Encodes with one number that may not fit its field, and with sizes that no column has: most of it is
 * refused, and nothing is written beyond the room. */
static void encode_wrong(const columns *c, const ks_kind *kind, const int64_t *header,
                         uint64_t choice)
{
    static const int64_t numbers[] = {INT64_MIN, -129, -1, 5, 513, INT64_MAX};
    static const int64_t sizes[] = {-1, INT32_MAX, INT64_C(1) << 31, INT64_C(1) << 40};
    enum { NUMBERS = sizeof numbers / sizeof *numbers, SIZES = sizeof sizes / sizeof *sizes };
    const int64_t number = numbers[choice % NUMBERS], size = sizes[choice / 8 % SIZES];
    const int64_t rows = c->out.rows, items = c->lists[0].used;
    const uint64_t which = choice >> 8;
    int64_t changed[64], *column = room(8 * (size_t)(rows + items));
    int64_t *spans = room(16 * (size_t)(rows + items));
    int32_t *fewer = room(4 * (size_t)(rows + 1));
    for (int64_t row = 0; row < rows + items; row++) {
        column[row] = number;
        spans[2 * row] = 0;
        spans[2 * row + 1] = size;
    }
    for (int64_t row = 0; row <= rows; row++)
        fewer[row] = (int32_t)-row;
    memcpy(changed, header, sizeof changed);
    changed[which % (uint64_t)kind->members] = number;
    enum { ROOM = 1 << 12 };
    uint8_t *out = room(ROOM);
    int64_t used = 0;
    column_inputs x;
    kind->encode(changed, columns_in(c, &x), 0, rows, out, ROOM, &used);
    columns_in(c, &x);
    x.integers[which % (uint64_t)ks_integers_count] = column;
    kind->encode(header, &x.in, 0, rows, out, ROOM, &used);
    columns_in(c, &x);
    for (int i = 0; i < ks_bytes_count; i++)
        if (which >> i & 1)
            x.bytes[i] = (ks_bytes_in){out, NULL, spans, NULL};
    kind->encode(header, &x.in, 0, rows, out, ROOM, &used);
    columns_in(c, &x);
    x.lists[0].offsets = fewer;
    kind->encode(header, &x.in, 0, rows, out, ROOM, &used);
    if (kind->finish) {
        const int64_t lengths[] = {0, 9, -100, INT32_MAX, INT64_C(1) << 40, -(INT64_C(1) << 40)};
        kind->finish(changed, out, 0);
        kind->finish(header, out, lengths[choice % (sizeof lengths / sizeof *lengths)]);
    }
    free(out);
    free(fewer);
    free(spans);
    free(column);
}

static void decode(const uint8_t *data, int64_t size, const int64_t *item, int layout,
                   uint64_t wanted, int64_t items, int64_t text, const ks_kind *kind,
                   const int64_t *header, uint64_t choice)
{
    const ks_buffer buffers[2] = {{data, size}, {data, size}};
    columns c;
    columns_open(&c, layout, item[KS_B_ROWS], items, text, wanted);
    int64_t failed = 0, position = 0;
    int status = ks_decode(buffers, 2, item, 0, 1, &c.out, &failed, &position);
    if (status != KS_OK && c.out.rows != 0)
        abort();
    columns_check(&c, buffers, 2);
    if (status == KS_OK && layout == KS_BINARY && kind)
        encode_again(&c, kind, header, kind->decode && wanted == ~UINT64_C(0));
    if (status == KS_OK && layout == KS_BINARY && kind)
        encode_wrong(&c, kind, header, choice);
    columns_close(&c);
}

static void decode_all(const uint8_t *data, int64_t size, const int64_t *item, uint64_t choice,
                       const ks_kind *kind, const int64_t *header)
{
    for (int layout = KS_VIEW; layout <= KS_SPAN; layout++) {
        decode(data, size, item, layout, ~UINT64_C(0), size, size + KS_SLACK, kind, header, choice);
        decode(data, size, item, layout, choice, (int64_t)(choice & 7), (int64_t)(choice & 255),
               kind, header, choice);
        /* All strings, and few integers: the loop for columns that users mostly want. */
        const uint64_t few = (choice & choice >> 8 & choice >> 16) | ~UINT64_C(0) << WANTED_BYTES;
        decode(data, size, item, layout, few, size, size + KS_SLACK, kind, header, choice);
        decode(data, size, item, layout, few, size, KS_SLACK + (int64_t)(choice >> 8 & 31), NULL,
               header, choice);
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
            for (int all = 0; all < 2; all++) {
                columns c;
                columns_open(&c, layout, rows, size, size + KS_SLACK, all ? ~UINT64_C(0) : choice);
                if (columns_decode(&c, kind, header, &whole) == KS_OK) {
                    columns_check(&c, &whole, 1);
                    if (layout == KS_BINARY)
                        encode_again(&c, kind, header, all);
                }
                columns_close(&c);
            }
        }
    }
}

/* Decodes an entry with one wrong number in the table, or with room for fewer rows: the core checks all
 * that it is told. */
static void decode_wrong(const uint8_t *data, int64_t size, const int64_t *item, uint64_t choice)
{
    const ks_buffer buffers[2] = {{data, size}, {data, size}};
    const uint64_t field = choice % (KS_BATCH_FIELDS + 1);
    const int64_t rows = item[KS_B_ROWS] - (field == KS_BATCH_FIELDS && item[KS_B_ROWS] > 0);
    int64_t wrong[KS_BATCH_FIELDS], failed = 0, position = 0;
    memcpy(wrong, item, sizeof wrong);
    if (field < KS_BATCH_FIELDS) {
        const int64_t numbers[] = {
            -2, -1, 1, 2, item[field] - 1, item[field] + 1, size + 1, INT64_MIN, INT64_MAX,
        };
        wrong[field] = numbers[choice / 16 % (sizeof numbers / sizeof *numbers)];
    }
    columns c;
    columns_open(&c, (int)(choice >> 8 & 1), rows, size, size + KS_SLACK, ~UINT64_C(0));
    if (ks_decode(buffers, 2, wrong, 0, 1, &c.out, &failed, &position) != KS_OK && c.out.rows != 0)
        abort();
    columns_check(&c, buffers, 2);
    columns_close(&c);
}

/* Decodes some entries, and then others into the same columns. */
static void decode_together(const uint8_t *data, int64_t size, const int64_t *items, int64_t count,
                            int64_t rows, uint64_t choice)
{
    const ks_buffer buffers[1] = {{data, size}};
    columns c;
    columns_open(&c, (int)(choice % 3), rows, size, size + KS_SLACK, ~UINT64_C(0));
    int64_t failed = 0, position = 0, half = count / 2;
    if (ks_decode(buffers, 1, items, 0, half, &c.out, &failed, &position) == KS_OK)
        ks_decode(buffers, 1, items, half, count - half, &c.out, &failed, &position);
    columns_check(&c, buffers, 1);
    columns_close(&c);
}

static void scan(const uint8_t *data, int64_t size, uint64_t choice)
{
    entries e;
    entries_open(&e, data, size);
    int64_t items[MOST_ENTRIES * KS_BATCH_FIELDS], count = 0, together = 0;
    for (int64_t i = 0; i < e.count; i++) {
        int64_t at = entry_value(&e, i, KS_SCAN_POSITION), bytes = entry_value(&e, i, KS_SCAN_SIZE);
        if (at < 0 || bytes <= 0 || at + bytes > size)
            abort();
        int64_t header[64], rows = 1;
        const ks_kind *kind = entry_header(&e, i, header);
        for (int k = 0; k < kind->members; k++)
            if (kind->is_batch && strncmp(kind->names[k], "num_", 4) == 0)
                rows = header[k];
        if (rows < 0 || rows > MOST_ROWS)
            continue;
        int64_t item[KS_BATCH_FIELDS] = {0, at, bytes, -1, 0, 0, rows, (int64_t)(choice & 2)};
        if (together + rows <= MOST_ROWS) {
            memcpy(items + KS_BATCH_FIELDS * count++, item, sizeof item);
            together += rows;
        }
        decode_wrong(data, size, item, choice >> 16);
        decode_all(data, size, item, choice, kind, header);
        /* The same with a checksum, and with all of the input as its decompressed payload. */
        item[KS_B_FLAGS] = KS_F_CHECKSUM;
        item[KS_B_PAYLOAD] = 1;
        item[KS_B_PAYLOAD_SIZE] = size;
        decode_all(data, size, item, choice, NULL, header);
        decode_wrong(data, size, item, choice >> 32);
    }
    decode_together(data, size, items, count, together, choice);
    /* What the scan took for no entry is none for a caller that does not scan either. */
    int64_t rest[KS_BATCH_FIELDS] = {0, e.end, size - e.end, -1, 0, 0, 1, (int64_t)(choice & 2)};
    decode(data, size, rest, KS_SPAN, ~UINT64_C(0), size, size, NULL, NULL, choice);
    rest[KS_B_PAYLOAD] = 1;
    decode(data, size, rest, KS_SPAN, ~UINT64_C(0), size, size, NULL, NULL, choice);
    entries_close(&e);
}

/* Decompresses the input as the blocks of a payload, into memory of some size and of enough. */
static void decompress(const uint8_t *data, int64_t size, uint64_t choice)
{
    for (int codec = 0; codec < ks_codecs_count; codec++)
        for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
            const ks_framing *framing = &forms[f].framing;
            if (strcmp(forms[f].name, ks_codecs[codec].name) != 0)
                continue;
            const int64_t whole = framing->start_size + size;
            uint8_t *payload = room((size_t)whole);
            memcpy(payload, framing->start, (size_t)framing->start_size);
            memcpy(payload + framing->start_size, data, (size_t)size);
            for (int enough = 0; enough < 2; enough++) {
                const int64_t most = enough ? 1 << 17 : (int64_t)(choice & 1023);
                uint8_t *out = room((size_t)most);
                ks_contexts contexts = {0};
                const int64_t made =
                    ks_decompress(codec, &contexts, framing, payload, whole, out, most);
                if (made > most || made < KS_NO_ROOM)
                    abort();
                ks_contexts_close(&contexts);
                free(out);
            }
            free(payload);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t length)
{
    if (!ks_codecs_count)
        ks_codecs_find(KS_USE_ALL);
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
    decompress(data, (int64_t)length, choice);
    free(data);
    return 0;
}
