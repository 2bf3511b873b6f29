/*
 * The structure-aware mode: a mutator that knows entries, the fields of their headers and their
 * records, and mends lengths and checksums, so that what it changes is read. The places of fields
 * are in layout.h, which run.py writes from the layout tables of the specification.
 */
#include "columns.h"
#include "layout.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

static uint64_t state;

static uint64_t dice(uint64_t sides)
{
    state ^= state << 13; /* xorshift64 */
    state ^= state >> 7;
    state ^= state << 17;
    return sides ? state % sides : 0;
}

/* A segment that grows and shrinks within the memory that libFuzzer gives. */
typedef struct {
    uint8_t *bytes;
    size_t size, most;
} segment;

static uint64_t load(const uint8_t *p, int size)
{
    uint64_t value = 0;
    for (int i = 0; i < size; i++)
        value = value << 8 | p[i];
    return value;
}

static void store(uint8_t *p, int size, uint64_t value)
{
    for (int i = size - 1; i >= 0; i--, value >>= 8)
        p[i] = (uint8_t)value;
}

static int64_t interesting(int64_t now, int64_t near)
{
    const int64_t one = (int64_t)(UINT64_C(1) << dice(64));
    switch (dice(8)) {
    case 0: return 0;
    case 1: return -1;
    case 2: return one;
    case 3: return (int64_t)((uint64_t)one - 1);
    case 4: return (int64_t)((uint64_t)now + dice(3) - 1);
    case 5: return (int64_t)((uint64_t)now ^ (uint64_t)one);
    case 6: return near + (int64_t)dice(5) - 2;
    default: return (int64_t)dice(0) + (int64_t)state;
    }
}

/* Puts other bytes in the place of some; 0 if there is no room. */
static int replace(segment *s, size_t at, size_t old, const uint8_t *bytes, size_t size)
{
    if (s->size - old + size > s->most)
        return 0;
    memmove(s->bytes + at + size, s->bytes + at + old, s->size - at - old);
    if (size)
        memcpy(s->bytes + at, bytes, size);
    s->size = s->size - old + size;
    return 1;
}

/* Starts and ends of entries by their lengths alone, whatever else is wrong with them. */
static int find_entries(const segment *s, size_t starts[MOST_ENTRIES + 1])
{
    int count = 0;
    size_t at = 0;
    while (count < MOST_ENTRIES && s->size - at > LAYOUT_UP_TO_MAGIC) {
        size_t size = load(s->bytes + at + LAYOUT_LENGTH, LAYOUT_LENGTH_SIZE);
        if (size > s->size - at - LAYOUT_FRAME)
            break;
        starts[count++] = at;
        at += LAYOUT_FRAME + size;
    }
    starts[count] = at;
    return count;
}

static const layout_kind *kind_at(const segment *s, size_t at)
{
    for (size_t i = 0; i < sizeof layout_kinds / sizeof *layout_kinds; i++)
        if (layout_kinds[i].magic == s->bytes[at + LAYOUT_UP_TO_MAGIC - 1])
            return &layout_kinds[i];
    return &layout_kinds[dice(sizeof layout_kinds / sizeof *layout_kinds)];
}

/* The length and the checksum of an entry, most of the time. */
static void mend(segment *s, size_t at, size_t size)
{
    const layout_kind *kind = kind_at(s, at);
    if (size < LAYOUT_FRAME || size < kind->header)
        return;
    if (dice(32))
        store(s->bytes + at + LAYOUT_LENGTH, LAYOUT_LENGTH_SIZE, size - LAYOUT_FRAME);
    const uint8_t *from = s->bytes + at + kind->checked;
    const int64_t rest = (int64_t)(size - kind->checked);
    if (dice(32))
        store(s->bytes + at + kind->checksum, 4,
              kind->castagnoli ? ks_crc32c(from, rest) : ks_crc32(from, rest));
}

static void change_field(segment *s, size_t at, size_t size, int times)
{
    const layout_kind *kind = kind_at(s, at);
    for (; times > 0; times--) {
        const layout_field *field = &kind->fields[dice((uint64_t)kind->count)];
        if (field->at + (size_t)field->size > size)
            return;
        uint8_t *p = s->bytes + at + field->at;
        store(p, field->size,
              (uint64_t)interesting((int64_t)load(p, field->size), (int64_t)(size - kind->header)));
    }
}

/* Another varint in the place of one, in what follows the header. */
static int change_varint(segment *s, size_t at, size_t size)
{
    const layout_kind *kind = kind_at(s, at);
    if (size <= kind->header)
        return 0;
    size_t from = at + kind->header + dice(size - kind->header), used = 0;
    int64_t now = 0;
    uint8_t bytes[10];
    do {
        now = now << 7 | (s->bytes[from + used] & 0x7f);
        used++;
    } while (used < 9 && from + used < at + size && s->bytes[from + used - 1] & 0x80);
    uint64_t value = (uint64_t)interesting(now, (int64_t)(at + size - from) * 2);
    size_t made = 0, most = 1 + dice(10);
    do {
        bytes[made] = (uint8_t)(value & 0x7f);
        value >>= 7;
        if ((value || !dice(16)) && made + 1 < most)
            bytes[made] |= 0x80;
        made++;
    } while (bytes[made - 1] & 0x80);
    return replace(s, from, used, bytes, made);
}

static int change_bytes(segment *s, size_t at, size_t size)
{
    const layout_kind *kind = kind_at(s, at);
    if (size < kind->header)
        return 0;
    const size_t old = size - kind->header, most = s->most - s->size + old;
    uint8_t *bytes = room(most);
    memcpy(bytes, s->bytes + at + kind->header, old);
    const size_t made = most ? LLVMFuzzerMutate(bytes, old, most) : 0;
    const int done = replace(s, at + kind->header, old, bytes, made);
    free(bytes);
    return done;
}

/* Other values in columns of records: numbers, bounds between byte strings or items, nulls. */
static void change_columns(columns *c)
{
    const ks_column *meta = &ks_columns[dice((uint64_t)ks_columns_count)];
    const int64_t rows = meta->list < 0 ? c->out.rows : c->lists[meta->list].used;
    if (!rows)
        return;
    const int64_t row = (int64_t)dice((uint64_t)rows);
    if (meta->kind == KS_INTEGER) {
        int64_t *place = &c->integers[meta->index][row];
        *place = interesting(*place, rows);
        return;
    }
    int32_t *offsets = meta->kind == KS_LIST ? c->lists[meta->index].offsets
                                             : c->bytes[meta->index].offsets;
    uint8_t *validity = meta->kind == KS_LIST ? NULL : c->bytes[meta->index].validity;
    if (validity && dice(2))
        validity[row >> 3] ^= (uint8_t)(1u << (row & 7));
    else if (row)
        offsets[row] = offsets[row - 1] +
                       (int32_t)dice((uint64_t)(offsets[row + 1] - offsets[row - 1]) + 1);
}

/* The records of a batch, through columns and the encoder; the header says how many there are. */
static int change_records(segment *s, size_t at, size_t size)
{
    entries e;
    int done = 0;
    entries_open(&e, s->bytes + at, (int64_t)size);
    int64_t header[64], changed[64];
    const ks_kind *kind = e.count ? entry_header(&e, 0, header) : NULL;
    if (kind && kind->decode && kind->finish && (int64_t)size >= kind->header_size) {
        const size_t before = (size_t)kind->header_size, most = s->most - s->size + size;
        /* A copy, since the segment is written to. */
        uint8_t *bytes = room(size - before), *made = room(most);
        memcpy(bytes, s->bytes + at + before, size - before);
        const ks_buffer payload = {bytes, (int64_t)(size - before)};
        columns c;
        int64_t used = 0, rows;
        columns_open(&c, KS_BINARY, payload.size / kind->record_size, payload.size,
                     payload.size + KS_SLACK, ~UINT64_C(0));
        if (most >= before && columns_decode(&c, kind, header, &payload) == KS_OK) {
            for (uint64_t times = 1 + dice(4); times > 0; times--)
                change_columns(&c);
            rows = dice(4) ? c.out.rows : (int64_t)dice((uint64_t)c.out.rows + 1);
            memcpy(changed, header, sizeof header);
            for (int i = 0; i < kind->members; i++)
                if (strncmp(kind->names[i], "num_", 4) == 0 && dice(16))
                    changed[i] = rows;
            if (!dice(2))
                changed[dice((uint64_t)kind->members)] =
                    interesting(header[dice((uint64_t)kind->members)], rows);
            column_inputs x;
            done = kind->encode(changed, columns_in(&c, &x), c.out.rows - rows, rows, made + before,
                                (int64_t)(most - before), &used) == KS_OK &&
                   kind->finish(changed, made, used) == KS_OK &&
                   replace(s, at, size, made, before + (size_t)used);
        }
        columns_close(&c);
        free(bytes);
        free(made);
    }
    entries_close(&e);
    return done;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed)
{
    segment s = {data, size, most};
    size_t starts[MOST_ENTRIES + 1];
    state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    const int count = find_entries(&s, starts);
    if (!count || !dice(64))
        return LLVMFuzzerMutate(data, size, most);
    const uint64_t number = dice((uint64_t)count), other = dice((uint64_t)count);
    const size_t at = starts[number], length = starts[number + 1] - at;
    const size_t copied = starts[other + 1] - starts[other];
    switch (dice(8)) {
    case 0:
    case 1:
        change_field(&s, at, length, 1 + (int)dice(3));
        break;
    case 2:
    case 3:
        if (change_records(&s, at, length))
            return s.size; /* with the right length and checksum already */
        break;
    case 4:
        change_bytes(&s, at, length);
        break;
    case 5: { /* an entry again, elsewhere */
        uint8_t *bytes = room(copied);
        memcpy(bytes, data + starts[other], copied);
        replace(&s, at, 0, bytes, copied);
        free(bytes);
        return s.size;
    }
    case 6:
        if (count > 1)
            replace(&s, at, length, NULL, 0);
        return s.size;
    default:
        for (uint64_t times = 1 + dice(3); times > 0; times--)
            change_varint(&s, at, length + s.size - size);
    }
    mend(&s, at, length + s.size - size);
    return s.size;
}
