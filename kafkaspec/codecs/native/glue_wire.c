/* Checks the wire format of Protobuf: whether a library may read messages as they are. */
#include "glue.h"

#include <string.h>

#include "utf8.h"

enum { VARINT, FIXED64, LEN, START, END, FIXED32 };
/* What a field has: a wire type, or one of these. See kafkaspec/values/protobuf/wire.py. */
enum { TEXT = 6, MESSAGE = 7 };
enum { TAG_BYTES = 5, LENGTH_BYTES = 5, VARINT_BYTES = 10, MOST_DEPTH = 256 };
enum { MESSAGE_CELLS = 2, FIELD_CELLS = 5 };

typedef struct {
    int64_t number, kind, repeated, inner, width;
} field;

typedef struct {
    int64_t first, count;
} layout;

typedef struct {
    const layout *layouts;
    const field *fields;
    int64_t messages, members, depth, items, widest;
} rules;

typedef struct {
    const layout *layout; /* NULL for a group that is not known */
    const uint8_t *end;
    uint64_t group; /* 0 for a message with a length */
    const field *next; /* the last field that was found: the next one is likely to follow */
    const field *last; /* the end of the fields */
} frame;

static inline const uint8_t *varint(const uint8_t *p, const uint8_t *end, int most, uint64_t *value)
{
    if (p < end && *p < 128) {
        *value = *p;
        return p + 1;
    }
    uint64_t found = 0;
    for (int i = 0; i < most && p < end; i++, p++) {
        found |= (uint64_t)(*p & 127) << (7 * i & 63);
        if (*p < 128) {
            *value = found;
            return p + 1;
        }
    }
    return NULL;
}

static int is_text(const uint8_t *p, const uint8_t *end)
{
    while (p < end) {
        uint64_t eight;
        if (end - p >= 8) {
            memcpy(&eight, p, 8);
            if (!(eight & 0x8080808080808080u)) {
                p += 8;
                continue;
            }
        }
        if (*p < 128) {
            p++;
            continue;
        }
        const int size = utf8_character(p, end);
        if (!size)
            return 0;
        p += size;
    }
    return 1;
}

/* The field of a number; `next` is where the one after it may be. */
static const field *find(const rules *r, frame *f, uint64_t number)
{
    if (!f->layout)
        return NULL;
    const field *fields = r->fields + f->layout->first;
    const int64_t count = f->layout->count;
    int64_t low = 0, high = count;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if ((uint64_t)fields[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    f->next = &fields[low];
    f->last = &fields[count];
    return low < count && (uint64_t)f->next->number == number ? f->next : NULL;
}

typedef struct {
    int64_t items, width;
} counts;

static int take(const rules *r, const field *f, int64_t items, counts *c)
{
    if (f->width && items > (r->widest - c->width) / f->width)
        c->width = r->widest;
    else
        c->width += f->width * items;
    if (f->repeated)
        c->items += items;
    return c->items <= r->items;
}

/* Items of a packed list; -1 if it is none. */
static int64_t packed(const field *f, const uint8_t *p, const uint8_t *end)
{
    if (f->kind == FIXED64 || f->kind == FIXED32) {
        const int64_t size = f->kind == FIXED64 ? 8 : 4;
        return (end - p) % size ? -1 : (end - p) / size;
    }
    int64_t items = 0;
    uint64_t ignored;
    for (; p < end; items++)
        if (*p < 128)
            p++;
        else if (!(p = varint(p, end, VARINT_BYTES, &ignored)))
            return -1;
    return items;
}

static frame inside(const rules *r, const layout *x, const uint8_t *end, uint64_t group)
{
    const field *first = x ? r->fields + x->first : NULL;
    return (frame){x, end, group, first, x ? first + x->count : NULL};
}

/* Whether bytes are a message within all bounds. */
static int walk(const rules *r, const uint8_t *p, const uint8_t *last, counts *c)
{
    frame stack[MOST_DEPTH];
    int64_t top = 0;
    frame now = inside(r, r->layouts, last, 0);
    for (;;) {
        if (p == now.end) {
            if (now.group)
                return 0;
            if (!top)
                return 1;
            now = stack[--top];
            continue;
        }
        uint64_t tag, value;
        if (!(p = varint(p, now.end, TAG_BYTES, &tag)))
            return 0;
        const uint64_t number = tag >> 3;
        const int wire = tag & 7;
        if (tag >> 32 || !number)
            return 0;
        if (wire == END) {
            if (number != now.group)
                return 0;
            now = stack[--top]; /* a group is inside of something */
            continue;
        }
        const field *f = now.next;
        if (f == now.last || (uint64_t)f->number != number) {
            /* The same field again, the one after it, or any. */
            if (f < now.last && f + 1 < now.last && (uint64_t)f[1].number == number)
                now.next = ++f;
            else
                f = find(r, &now, number);
        }
        const layout *inner = NULL;
        const uint8_t *end = now.end;
        uint64_t group = 0;
        switch (wire) {
        case VARINT:
            if (!(p = varint(p, now.end, VARINT_BYTES, &value)))
                return 0;
            break;
        case FIXED64:
        case FIXED32:
            if (now.end - p < (wire == FIXED64 ? 8 : 4))
                return 0;
            p += wire == FIXED64 ? 8 : 4;
            break;
        case LEN:
            if (!(p = varint(p, now.end, LENGTH_BYTES, &value)) || value > INT32_MAX ||
                (int64_t)value > now.end - p)
                return 0;
            if (f && f->kind == MESSAGE) {
                end = p + value;
                inner = r->layouts + f->inner;
                break;
            }
            if (f && f->kind == TEXT && !is_text(p, p + value))
                return 0;
            if (f && f->repeated &&
                (f->kind == VARINT || f->kind == FIXED64 || f->kind == FIXED32)) {
                const int64_t items = packed(f, p, p + value);
                if (items < 0 || !take(r, f, items, c))
                    return 0;
                f = NULL;
            }
            p += value;
            break;
        case START:
            group = number;
            if (f && f->kind == START)
                inner = r->layouts + f->inner;
            break;
        default:
            return 0;
        }
        if (f && (f->repeated || f->width) &&
            wire == (f->kind == TEXT || f->kind == MESSAGE ? LEN : f->kind) && !take(r, f, 1, c))
            return 0;
        if (inner || group) {
            if (top + 1 >= r->depth)
                return 0;
            stack[top++] = now;
            now = inside(r, inner, end, group);
        }
    }
}

static int are_rules(const rules *r)
{
    for (int64_t i = 0; i < r->messages; i++)
        if (r->layouts[i].first < 0 || r->layouts[i].count < 0 ||
            r->layouts[i].first > r->members ||
            r->layouts[i].count > r->members - r->layouts[i].first)
            return 0;
    for (int64_t i = 0; i < r->members; i++) {
        const field *f = &r->fields[i];
        const int holds = f->kind == MESSAGE || f->kind == START;
        if (f->width < 0 || (holds && (f->inner < 0 || f->inner >= r->messages)))
            return 0;
    }
    return r->messages > 0 && r->depth > 0 && r->depth <= MOST_DEPTH && r->items >= 0;
}

/*
 * wire_check(data, offsets, first, rows, layouts, fields, depth, items, widest, right, widths)
 *
 * Sets a byte of `right` for each row whose bytes are a message that a library may read, and in
 * `widths` the bytes that its columns take beside its own, to which 64-bit integers are added.
 * offsets: 32-bit integers, those of an Arrow array; first: the first of its rows that is wanted.
 * layouts: 64-bit integers, for each message its first field and how many it has; the first one is
 * that of the rows. fields: for each number, kind, whether it is repeated, message, width, in the
 * order of numbers.
 */
PyObject *glue_wire_check(PyObject *module, PyObject *args)
{
    PyObject *data, *offsets, *layouts, *fields, *right, *widths;
    long long first, rows, depth, items, widest;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOLLOOLLLOO", &data, &offsets, &first, &rows, &layouts, &fields,
                          &depth, &items, &widest, &right, &widths))
        return NULL;
    if (first < 0 || rows < 0 || first > INT32_MAX - 1 || rows > INT32_MAX - 1)
        return PyErr_Format(PyExc_ValueError, "there are no such rows");
    glue_pins pins;
    if (glue_pins_open(&pins, 6) < 0)
        return NULL;
    PyObject *result = NULL;
    int64_t size = 0, layout_bytes = 0, field_bytes = 0;
    rules r = {.depth = depth, .items = items, .widest = widest};
    const uint8_t *bytes = glue_pin(&pins, data, 0, &size);
    const int32_t *places = bytes ? glue_pin_sized(&pins, offsets, 0, 4 * (first + rows + 1)) : NULL;
    r.layouts = places ? glue_pin(&pins, layouts, 0, &layout_bytes) : NULL;
    r.fields = r.layouts ? glue_pin(&pins, fields, 0, &field_bytes) : NULL;
    uint8_t *ok = r.fields ? glue_pin_sized(&pins, right, 1, rows) : NULL;
    int64_t *wide = ok ? glue_pin_sized(&pins, widths, 1, 8 * rows) : NULL;
    r.messages = layout_bytes / (8 * MESSAGE_CELLS);
    r.members = field_bytes / (8 * FIELD_CELLS);
    if (wide && !are_rules(&r))
        PyErr_SetString(PyExc_ValueError, "these are no rules");
    else if (wide) {
        int status = 1;
        Py_BEGIN_ALLOW_THREADS
        for (int64_t i = 0; i < rows && status; i++) {
            const int64_t begin = places[first + i], end = places[first + i + 1];
            if ((status = begin >= 0 && begin <= end && end <= size)) {
                counts c = {0, 0};
                ok[i] = (uint8_t)walk(&r, bytes + begin, bytes + end, &c);
                wide[i] += c.width;
            }
        }
        Py_END_ALLOW_THREADS
        if (status)
            result = Py_NewRef(Py_None);
        else
            PyErr_SetString(PyExc_ValueError, "offsets are not in the data");
    }
    glue_pins_close(&pins);
    return result;
}
