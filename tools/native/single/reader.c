/* The reader of kafkaspec.h over the generated core. Layouts, names and numbers are in facts.h. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Headers of a scan, entries of a run, and records of a run, unless its first entry has more. */
enum { TABLE = 256, RUN_ROWS = 1 << 16, FIRST_ITEMS = 1 << 10, LEAST_ROOM = 1 << 16 };

struct ks_reader {
    const uint8_t *bytes;
    int64_t size;
    ks_options options;
    char text[200];
    int codecs[KS_FORMS]; /* in ks_codecs, by form; -1: no library */
    ks_contexts contexts;
    int64_t *table; /* headers, in columns of TABLE rows */
    uint64_t present[TABLE];
    int64_t count, next;
    int64_t position; /* after the entries of the table */
    int status;       /* why the table ends */
    int64_t rows, items;
    ks_out out;
    int64_t **integers;
    ks_bytes_out *strings;
    ks_list_out *lists;
    uint8_t *wanted;
    uint8_t *payload;
    int64_t room;
    int64_t *inner; /* headers inside of a wrapper */
    uint64_t present_inner[TABLE];
};

static int problem(ks_reader *r, int status, int64_t at, const char *format, ...)
{
    const int before =
        snprintf(r->text, sizeof r->text, "byte %lld: ", (long long)(r->options.position + at));
    va_list values;
    va_start(values, format);
    vsnprintf(r->text + before, sizeof r->text - (size_t)before, format, values);
    va_end(values);
    return status;
}

static int64_t header(const ks_reader *r, int column)
{
    return r->table[column * TABLE + r->next];
}

static int has(const ks_reader *r, int column)
{
    return (int)(r->present[r->next] >> column & 1);
}

static int want(ks_reader *r, const char *name)
{
    for (int i = 0; i < ks_columns_count; i++)
        if (!strcmp(ks_columns[i].name, name)) {
            r->wanted[i] = 1;
            for (int list = 0; list < ks_columns_count; list++)
                if (ks_columns[list].kind == KS_LIST &&
                    ks_columns[list].index == ks_columns[i].list)
                    r->wanted[list] = 1;
            return 1;
        }
    return 0;
}

static int want_all(ks_reader *r)
{
    const char *const *names = r->options.columns ? r->options.columns : record_columns;
    for (; *names; names++)
        if (!want(r, *names))
            return 0;
    return 1;
}

static int is_wanted(const ks_reader *r, int kind, int index)
{
    for (int i = 0; i < ks_columns_count; i++) {
        const int is_list = ks_columns[i].kind == KS_LIST, is_number = ks_columns[i].kind == KS_INTEGER;
        const int group = is_list ? KS_LIST : is_number ? KS_INTEGER : KS_BYTES;
        if (group == kind && ks_columns[i].index == index)
            return r->wanted[i];
    }
    return 0;
}

ks_reader *ks_open(const void *bytes, int64_t size, const ks_options *options)
{
    ks_reader *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->bytes = bytes;
    r->size = size;
    if (options)
        r->options = *options;
    if (r->options.most_output <= 0)
        r->options.most_output = KS_MOST_OUTPUT;
    r->table = malloc(sizeof *r->table * TABLE * (size_t)ks_scan_count);
    r->inner = malloc(sizeof *r->inner * TABLE * (size_t)ks_scan_count);
    r->integers = calloc((size_t)ks_integers_count, sizeof *r->integers);
    r->strings = calloc((size_t)ks_bytes_count, sizeof *r->strings);
    r->lists = calloc((size_t)ks_lists_count, sizeof *r->lists);
    r->wanted = calloc((size_t)ks_columns_count, 1);
    if (!r->table || !r->inner || !r->integers || !r->strings || !r->lists || !r->wanted ||
        !want_all(r)) {
        ks_close(r);
        return NULL;
    }
    r->out = (ks_out){KS_SPAN, 0, 0, r->integers, r->strings, r->lists};
    r->status = KS_GROW;
    static int found; /* see ks_open in the header */
    if (!found)
        ks_codecs_find(KS_USE_ALL);
    found = 1;
    for (int form = 0; form < KS_FORMS; form++) {
        r->codecs[form] = -1;
        for (int i = 0; i < ks_codecs_count; i++)
            if (!strcmp(ks_codecs[i].name, forms[form].name))
                r->codecs[form] = i;
    }
    return r;
}

static void free_columns(ks_reader *r)
{
    for (int i = 0; r->integers && i < ks_integers_count; i++)
        free(r->integers[i]);
    for (int i = 0; r->strings && i < ks_bytes_count; i++)
        free(r->strings[i].spans);
    for (int i = 0; r->lists && i < ks_lists_count; i++)
        free(r->lists[i].offsets);
}

void ks_close(ks_reader *r)
{
    if (!r)
        return;
    free_columns(r);
    free(r->table);
    free(r->inner);
    free(r->integers);
    free(r->strings);
    free(r->lists);
    free(r->wanted);
    free(r->payload);
    ks_contexts_close(&r->contexts);
    free(r);
}

const char *ks_problem(const ks_reader *r)
{
    return r->text;
}

/* Memory for so many records and items of their lists. */
static int reserve(ks_reader *r, int64_t rows, int64_t items)
{
    if (rows >= INT32_MAX || items >= INT32_MAX)
        return 0;
    if (rows <= r->rows && items <= r->items)
        return 1;
    rows = rows > r->rows ? rows : r->rows;
    items = items > r->items ? items : r->items;
    free_columns(r);
    memset(r->integers, 0, sizeof *r->integers * (size_t)ks_integers_count);
    memset(r->strings, 0, sizeof *r->strings * (size_t)ks_bytes_count);
    memset(r->lists, 0, sizeof *r->lists * (size_t)ks_lists_count);
    r->rows = r->items = 0;
    int enough = 1;
    for (int i = 0; i < ks_columns_count; i++) {
        const ks_column *column = &ks_columns[i];
        const size_t room = (size_t)(column->list < 0 ? rows : items) + 1;
        if (!r->wanted[i])
            continue;
        if (column->kind == KS_INTEGER) {
            r->integers[column->index] = malloc(sizeof(int64_t) * room);
            enough &= r->integers[column->index] != NULL;
        } else if (column->kind == KS_LIST) {
            r->lists[column->index].offsets = calloc(room, sizeof(int32_t));
            enough &= r->lists[column->index].offsets != NULL;
        } else {
            r->strings[column->index].spans = malloc(2 * sizeof(int64_t) * room);
            enough &= r->strings[column->index].spans != NULL;
        }
    }
    if (!enough)
        return 0;
    r->rows = rows;
    r->items = items;
    return 1;
}

static void empty(ks_reader *r)
{
    r->out.rows = 0;
    r->out.capacity = r->rows;
    for (int i = 0; i < ks_bytes_count; i++) {
        r->strings[i].wanted = is_wanted(r, KS_BYTES, i);
        r->strings[i].nulls = r->strings[i].data_used = 0;
    }
    for (int i = 0; i < ks_lists_count; i++) {
        r->lists[i].wanted = is_wanted(r, KS_LIST, i);
        r->lists[i].used = 0;
        r->lists[i].capacity = r->items;
    }
}

/* Decode entries into empty columns, with more room until it is enough; `ends` bytes can have no more
 * items than that. */
static int decode(ks_reader *r, const ks_buffer *buffers, const int64_t *entries, int64_t count,
                  int64_t rows, int64_t ends, int64_t *failed, int64_t *position)
{
    int64_t items = r->items > FIRST_ITEMS ? r->items : FIRST_ITEMS;
    for (;;) {
        if (!reserve(r, rows, items))
            return KS_NO_MEMORY;
        empty(r);
        const int status =
            ks_decode(buffers, 2, entries, 0, count, &r->out, failed, position);
        if (status != KS_GROW || items > ends)
            return status;
        items *= 4;
    }
}

static int is_form(const ks_reader *r, int form)
{
    return forms[form].number == header(r, AT_COMPRESSION) &&
           (forms[form].magic < 0 || forms[form].magic == header(r, AT_MAGIC));
}

/* Decompress into r->payload, as ks_decompress does. */
static int64_t unpack(ks_reader *r, const char *name, const uint8_t *payload, int64_t size, int64_t room)
{
    int64_t made = KS_OTHER_FORM;
    for (int form = 0; form < KS_FORMS && made == KS_OTHER_FORM; form++)
        if (is_form(r, form) && r->codecs[form] >= 0)
            made = ks_decompress(r->codecs[form], &r->contexts, &forms[form].framing, payload, size,
                                 r->payload, room);
    if (made == KS_OTHER_FORM && r->options.decompress)
        made = r->options.decompress(r->options.context, name, payload, size, r->payload, room);
    return made > room ? KS_OTHER_FORM : made;
}

/* A payload after decompression in r->payload; its size, or the negative result. */
static int64_t decompressed(ks_reader *r, int64_t at, int64_t size)
{
    const char *name = NULL;
    int64_t room = 4 * size > LEAST_ROOM ? 4 * size : LEAST_ROOM;
    for (int form = 0; form < KS_FORMS && !name; form++)
        if (is_form(r, form))
            name = forms[form].name;
    if (!name)
        return -problem(r, KS_IRREGULAR, header(r, KS_SCAN_POSITION), "no compression %lld",
                        (long long)header(r, AT_COMPRESSION));
    for (;; room *= 4) {
        room = room < r->options.most_output ? room : r->options.most_output;
        if (room + KS_SLACK > r->room) {
            free(r->payload);
            r->room = 0;
            r->payload = malloc((size_t)(room + KS_SLACK));
            if (!r->payload)
                return -problem(r, KS_NO_MEMORY, at, "not enough memory for a payload");
            r->room = room + KS_SLACK;
        }
        const int64_t made = unpack(r, name, r->bytes + at, size, room);
        if (made >= 0)
            return made;
        if (made == KS_OTHER_FORM)
            return -problem(r, KS_UNSUPPORTED, at,
                            "a payload of %s that is broken, or that nothing here decompresses",
                            name);
        if (room == r->options.most_output)
            return -problem(r, KS_TOO_LARGE, at, "a payload of more than %lld bytes",
                            (long long)room);
    }
}

static int wrong(ks_reader *r, int status, int64_t entry, int64_t position)
{
    if (status == KS_CHECKSUM)
        return problem(r, status, entry, "the checksum does not match");
    if (status == KS_NO_MEMORY || status == KS_GROW)
        return problem(r, KS_NO_MEMORY, entry, "not enough memory for the records");
    if (status == KS_UNSUPPORTED)
        return problem(r, status, entry, "a wrapper with messages of another magic");
    return problem(r, KS_IRREGULAR, entry,
                   "the entry does not follow the specification, at byte %lld of it or of what it "
                   "holds",
                   (long long)position);
}

static void describe(const ks_reader *r, int64_t *entry, int64_t rows)
{
    const int64_t made[KS_BATCH_FIELDS] = {
        0, header(r, KS_SCAN_POSITION), header(r, KS_SCAN_SIZE), -1, 0, 0, rows,
        r->options.unchecked ? 0 : KS_F_CHECKSUM,
    };
    memcpy(entry, made, sizeof made);
}

/* The number of records that the header of a batch says; -1 if its bytes cannot hold them. */
static int64_t rows_of(const ks_reader *r, int64_t size)
{
    const ks_kind *kind = &ks_kinds[header(r, KS_SCAN_KIND)];
    const int64_t rows = kind->is_batch ? header(r, AT_ROWS) : 1;
    return rows < 0 || (kind->is_batch && rows > size / kind->record_size) ? -1 : rows;
}

/* Entries whose records are not compressed, as many as come one after the other. */
static int read_plain(ks_reader *r, ks_rows *rows)
{
    int64_t entries[TABLE * KS_BATCH_FIELDS], starts[TABLE], count = 0, total = 0, end = 0;
    const int64_t first = r->next;
    for (; r->next < r->count; r->next++) {
        const int64_t found = rows_of(r, header(r, KS_SCAN_SIZE));
        const int packed = has(r, AT_COMPRESSION) && header(r, AT_COMPRESSION);
        if ((packed && found) || (count && (found < 0 || total + found > RUN_ROWS)))
            break;
        describe(r, entries + count * KS_BATCH_FIELDS, found < 0 ? 0 : found);
        starts[count++] = header(r, KS_SCAN_POSITION);
        end = header(r, KS_SCAN_POSITION) + header(r, KS_SCAN_SIZE);
        total += found < 0 ? 0 : found;
    }
    const ks_buffer buffers[2] = {{r->bytes, r->size}, {NULL, 0}};
    int64_t failed = 0, position = 0;
    int status = decode(r, buffers, entries, count, total, end - starts[0], &failed, &position);
    if (status != KS_OK) {
        if (status == KS_NO_MEMORY)
            failed = 0;
        r->next = first + failed + (failed == 0);
        if (failed == 0)
            return wrong(r, status, starts[0], position - starts[0]);
        end = starts[failed];
        status = decode(r, buffers, entries, failed, total, end - starts[0], &failed, &position);
        if (status != KS_OK)
            return wrong(r, status, starts[0], position - starts[0]);
    }
    rows->position = starts[0];
    rows->size = end - starts[0];
    rows->bytes = r->bytes;
    rows->columns = r->out;
    return KS_OK;
}

/* What the messages inside of a wrapper have in common. */
typedef struct {
    int64_t count, end, last;
    uint8_t *untimed; /* a byte for each: no timestamp */
} survey;

static int look_inside(ks_reader *r, int64_t size, survey *found)
{
    int64_t room = 0, count = 0, position = 0;
    int status = KS_GROW;
    while (status == KS_GROW) {
        status = ks_scan(r->payload, position, size, r->inner, TABLE, r->present_inner, &count, &position);
        if (found->count + count > room) {
            room = 2 * (found->count + count);
            uint8_t *more = realloc(found->untimed, (size_t)room);
            if (!more)
                return KS_NO_MEMORY;
            found->untimed = more;
        }
        for (int64_t i = 0; i < count; i++) {
            if (ks_kinds[r->inner[KS_SCAN_KIND * TABLE + i]].is_batch)
                return KS_UNSUPPORTED;
            if (r->inner[AT_COMPRESSION * TABLE + i])
                return KS_IRREGULAR;
            found->untimed[found->count++] =
                (uint8_t)(UNTIMED >> r->inner[AT_MAGIC * TABLE + i] & 1);
            found->last = r->inner[AT_OFFSET * TABLE + i];
        }
    }
    found->end = position;
    if (status == KS_IRREGULAR && size - position > MAGIC_AT && r->payload[position + MAGIC_AT] > NEWEST)
        return KS_UNSUPPORTED;
    return status == KS_IRREGULAR || !found->count ? KS_IRREGULAR : KS_OK;
}

/* What a wrapper does to the offsets and timestamps of its messages. */
static int adjust(ks_reader *r, const survey *found)
{
    const int64_t magic = header(r, AT_MAGIC), offset = header(r, AT_OFFSET);
    uint64_t shift = 0;
    if (!(UNTIMED >> magic & 1) && offset) {
        if (offset < found->last)
            return KS_IRREGULAR;
        shift = (uint64_t)offset - (uint64_t)found->last;
    }
    int64_t *offsets = r->integers[KS_COLUMN_OFFSET], *times = r->integers[KS_COLUMN_TIMESTAMP];
    const int appended = !(UNTIMED >> magic & 1) && header(r, AT_TIMESTAMP_TYPE) == LOG_APPEND_TIME;
    for (int64_t row = 0; row < r->out.rows; row++) {
        if (offsets)
            offsets[row] = (int64_t)((uint64_t)offsets[row] + shift);
        if (times && appended && !found->untimed[row])
            times[row] = header(r, AT_TIMESTAMP);
    }
    return KS_OK;
}

static int read_wrapper(ks_reader *r, int64_t size, int64_t *entry)
{
    const ks_buffer buffers[2] = {{r->bytes, r->size}, {r->payload, size}};
    survey found = {0, 0, 0, NULL};
    int64_t failed, position = 0;
    int status = look_inside(r, size, &found);
    if (status == KS_OK) {
        entry[KS_B_ROWS] = found.count;
        entry[KS_B_PAYLOAD_SIZE] = found.end;
        status = decode(r, buffers, entry, 1, found.count, size, &failed, &position);
    }
    if (status == KS_OK)
        status = adjust(r, &found);
    free(found.untimed);
    return status == KS_OK ? status : wrong(r, status, entry[KS_B_POSITION], position);
}

static int read_batch(ks_reader *r, int64_t size, int64_t *entry)
{
    const ks_buffer buffers[2] = {{r->bytes, r->size}, {r->payload, size}};
    const int64_t rows = rows_of(r, size);
    int64_t failed, position = 0;
    entry[KS_B_ROWS] = rows;
    const int status = rows < 0 ? KS_IRREGULAR
                                : decode(r, buffers, entry, 1, rows, size, &failed, &position);
    return status == KS_OK ? status : wrong(r, status, entry[KS_B_POSITION], position);
}

/* Whether the checksum of a compressed entry is right: that is told before its payload is looked at. */
static int is_sound(ks_reader *r, const int64_t *entry, int64_t rows)
{
    const ks_buffer buffers[2] = {{r->bytes, r->size}, {r->bytes, 0}};
    int64_t probe[KS_BATCH_FIELDS], failed, position;
    memcpy(probe, entry, sizeof probe);
    probe[KS_B_PAYLOAD] = 1;
    probe[KS_B_ROWS] = rows;
    empty(r);
    return ks_decode(buffers, 2, probe, 0, 1, &r->out, &failed, &position) != KS_CHECKSUM;
}

/* The entry of a compressed payload. */
static int read_packed(ks_reader *r, ks_rows *rows)
{
    int64_t entry[KS_BATCH_FIELDS];
    const int is_batch = ks_kinds[header(r, KS_SCAN_KIND)].is_batch;
    const int64_t at = header(r, is_batch ? AT_RECORDS : AT_VALUE);
    const int64_t packed = header(r, is_batch ? AT_RECORDS_SIZE : AT_VALUE_SIZE);
    int status;
    describe(r, entry, 0);
    if (!is_sound(r, entry, is_batch ? header(r, AT_ROWS) : 0)) {
        status = wrong(r, KS_CHECKSUM, entry[KS_B_POSITION], 0);
    } else if (packed < 0) {
        status = wrong(r, KS_IRREGULAR, entry[KS_B_POSITION], 0);
    } else {
        const int64_t size = decompressed(r, at, packed);
        entry[KS_B_PAYLOAD] = 1;
        entry[KS_B_PAYLOAD_SIZE] = size;
        if (is_batch)
            entry[KS_B_FLAGS] = 0;
        status = size < 0 ? (int)-size
                          : (is_batch ? read_batch : read_wrapper)(r, size, entry);
    }
    r->next++;
    rows->position = entry[KS_B_POSITION];
    rows->size = entry[KS_B_SIZE];
    rows->bytes = r->payload;
    rows->columns = r->out;
    return status;
}

int ks_next(ks_reader *r, ks_rows *rows)
{
    r->text[0] = 0;
    memset(rows, 0, sizeof *rows);
    if (r->next == r->count) {
        if (r->status == KS_GROW)
            r->status = ks_scan(r->bytes, r->position, r->size, r->table, TABLE, r->present,
                                &r->count, &r->position);
        else
            r->count = 0;
        r->next = 0;
    }
    if (r->next == r->count) {
        if (r->status == KS_SHORT)
            return problem(r, KS_SHORT, r->position, "the log ends within an entry");
        if (r->status == KS_IRREGULAR)
            return problem(r, KS_IRREGULAR, r->position, "no entry begins here");
        return KS_END;
    }
    const int packed = has(r, AT_COMPRESSION) && header(r, AT_COMPRESSION);
    return packed && rows_of(r, INT64_MAX) ? read_packed(r, rows) : read_plain(r, rows);
}
