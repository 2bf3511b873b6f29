/* From columns to lines of JSON or text, with a plan that says what stands in a line. */
#include "glue.h"
#include "java_text.h"
#include "json_values.h"

#include <string.h>

/* -- byte strings as JSON ---------------------------------------------------------------------- */

enum { SMALL = 4096 }; /* bytes of a string that may take more room than it needs */
static const char BEFORE64[] = "{\"base64\": \"", CLOSE64[] = "{\"base64\":\"", AFTER64[] = "\"}";
enum { AROUND64 = sizeof BEFORE64 - 1 + sizeof AFTER64 - 1 };

/* How byte strings are shown: those that are UTF-8 as base64 too; without blanks. */
enum { IN_BASE64 = 1, COMPACT = 2 };

static int64_t base64_size(int64_t size) { return 4 * ((size + 2) / 3) + AROUND64; }

static uint8_t *put_base64(uint8_t *out, const uint8_t *bytes, int64_t size, int compact)
{
    const size_t before = compact ? sizeof CLOSE64 - 1 : sizeof BEFORE64 - 1;
    memcpy(out, compact ? CLOSE64 : BEFORE64, before);
    out = put_digits64(out + before, bytes, size, BASE64, '=');
    memcpy(out, AFTER64, sizeof AFTER64 - 1);
    return out + sizeof AFTER64 - 1;
}

/* Size of the text of a string; -1 where the bytes are not UTF-8. */
static int64_t text_size(const uint8_t *p, int64_t size)
{
    const uint8_t *const end = p + size;
    int64_t total = size + 2;
    while (p < end) {
        if (end - p >= 8) {
            uint64_t word;
            memcpy(&word, p, 8);
            if (!odd(word) && !marks(word)) {
                p += 8;
                continue;
            }
        }
        if (*p < 0x80) {
            const uint8_t letter = ESCAPES[*p++];
            total += letter == 'u' ? 5 : letter != 0;
            continue;
        }
        const int count = utf8_character(p, end);
        if (!count)
            return -1;
        p += count;
    }
    return total;
}

/* Bytes that put_string needs at most. A long string is looked at, and base64 set if it must be. */
static int64_t string_room(const uint8_t *bytes, int64_t size, int *how)
{
    if (!(*how & IN_BASE64) && size <= SMALL)
        return 6 * size + DIGITS;
    const int64_t found = *how & IN_BASE64 ? -1 : text_size(bytes, size);
    *how |= found < 0 ? IN_BASE64 : 0;
    return found < 0 ? base64_size(size) : found;
}

/* A string if it is UTF-8 and base64 is not wanted, otherwise an object with base64. */
static uint8_t *put_string(uint8_t *out, const uint8_t *bytes, int64_t size, int how)
{
    uint8_t *after = how & IN_BASE64 ? NULL : put_text(out, bytes, size, LOWER);
    return after ? after : put_base64(out, bytes, size, how & COMPACT);
}

/* -- plans --------------------------------------------------------------------------------------- */

/*
 * json_lines(plan, columns, first, rows, how, out) -> (next, used, needed)
 *
 * Writes one line for each row from `first` up to `rows`, as many as there is room for. `next` is the
 * first row that was not written. If not even one was, `needed` is more room than there is.
 *
 * plan: tuples (before, lowest, names, form), one for each piece of a line: bytes that come first,
 *   then what a column says; bytes that stand for the numbers lowest, lowest + 1 ... instead of
 *   digits. A form other than KS_JSON is one of
 *   KS_SIZE    the size of a byte string, -1 for null
 *   KS_TEXT    a byte string as Java decodes it; without `before` nothing at all for null
 *   KS_KEYS    the first parts of pairs as Java decodes them, in brackets
 *   KS_FIRST   integers: so many pieces as `lowest` says follow only where the integer is not that of
 *              the row before
 *   KS_RAW     a byte string as it is; for null the first of `names`, or nothing
 *   KS_SIZE32  its size in 4 bytes, big endian, -1 for null
 *   KS_EQUATED pairs as they are, "=" in each and "," between them, "NULL" for a second part that is
 *              null
 *   KS_NESTED  the `lowest` pieces that follow: of a structure, the first of `names` instead of them
 *              for null; of a list, once for each item, and `names` are what stands for null, the
 *              start, the separator and the end
 * columns: for each piece one of
 *   None                                            nothing follows
 *   (at, validity, values, others, set)             64-bit integers; where the integer of `others`
 *                                                   is negative or in the set, which has a bit for
 *                                                   each, `lowest` is meant
 *   (at, validity, layout, main, sources)           byte strings: KS_VIEW with the buffers that views
 *                                                   point into, or KS_BINARY with that of the bytes
 *   (at, offsets, items, keys, values)              lists of pairs of byte strings
 *   (at, validity, offsets, items)                  structures, without offsets, or lists; the rows of
 *                                                   the pieces that follow are the items
 *   The first row is number `at` of the buffers. Validity is None where nothing is null.
 * how: IN_BASE64 and COMPACT.
 */
enum { NOTHING, NUMBER, STRING, PAIRS, NESTED };
enum {
    KS_JSON,
    KS_SIZE,
    KS_TEXT,
    KS_KEYS,
    KS_FIRST,
    KS_RAW,
    KS_SIZE32,
    KS_EQUATED,
    KS_NESTED,
    KS_FORMS
};
enum { OF_NULL, AT_START, BETWEEN, AT_END, OF_LIST }; /* names of KS_NESTED */

typedef struct {
    int layout;
    int64_t at;
    const uint8_t *validity;
    const uint8_t *views;
    const int32_t *offsets;
    const ks_buffer *sources;
    int64_t count;
} strings;

typedef struct {
    ks_buffer before;
    int what;
    int form;
    int64_t at;
    const uint8_t *validity;
    /* numbers */
    const int64_t *values, *others;
    int64_t set, lowest, names_count, most;
    const ks_buffer *names;
    int64_t last; /* the number before, and its digits */
    int64_t last_size;
    uint8_t last_text[LITERAL];
    /* byte strings, pairs */
    strings string, second;
    const int32_t *offsets;
    int64_t items;
} piece;

/* Memory for what the plan holds: literals that 32 bytes can be copied from, and lists of buffers. */
typedef struct {
    piece *pieces;
    Py_ssize_t count;
    ks_buffer *buffers;
    uint8_t *literals;
} lines;

static int is_null(const uint8_t *validity, int64_t i)
{
    return validity && !(validity[i >> 3] >> (i & 7) & 1);
}

static uint8_t *put_digits(uint8_t *out, piece *p, int64_t value)
{
    if (value != p->last || !p->last_size) {
        p->last = value;
        p->last_size = digits_of(p->last_text, value);
    }
    memcpy(out, p->last_text, LITERAL);
    return out + p->last_size;
}

static uint8_t *put_number(uint8_t *out, piece *p, int64_t row)
{
    const int64_t i = p->at + row;
    if (is_null(p->validity, i))
        return put_null(out);
    int64_t value = p->values[i];
    if (p->others && (p->others[i] < 0 || glue_has(p->set, p->others[i])))
        value = p->lowest;
    const uint64_t name = (uint64_t)value - (uint64_t)p->lowest;
    if (name < (uint64_t)p->names_count)
        return put(out, p->names[name].bytes, p->names[name].size);
    return put_digits(out, p, value);
}

/* The bytes of a row, NULL for null; -1 if the column is not sound. */
static int string_of(const strings *s, int64_t row, const uint8_t **bytes, int64_t *size)
{
    const int64_t i = s->at + row;
    *bytes = NULL;
    *size = 0;
    if (is_null(s->validity, i))
        return 0;
    int64_t source = 0, start;
    if (s->layout == KS_BINARY) {
        start = s->offsets[i];
        *size = (int64_t)s->offsets[i + 1] - start;
    } else {
        const uint8_t *view = s->views + KS_VIEW_SIZE * i;
        int32_t count, number, place;
        memcpy(&count, view, 4);
        *size = count;
        if (count >= 0 && count <= KS_VIEW_SHORT) {
            *bytes = view + 4;
            return 0;
        }
        memcpy(&number, view + KS_VIEW_BUFFER, 4);
        memcpy(&place, view + KS_VIEW_PLACE, 4);
        source = number;
        start = place;
    }
    if (source < 0 || source >= s->count || start < 0 || *size < 0 ||
        s->sources[source].size - *size < start)
        return -1;
    *bytes = s->sources[source].bytes + start;
    return 0;
}

/* -- lines ----------------------------------------------------------------------------------- */

/* One string where there is room for it: the position after it, NULL if there is none. */
static uint8_t *fit_string(uint8_t *out, const uint8_t *end, const strings *s, int64_t row,
                           int how, int64_t *needed)
{
    const uint8_t *bytes;
    int64_t size;
    if (string_of(s, row, &bytes, &size) < 0) {
        *needed = -1;
        return NULL;
    }
    const int64_t room = bytes ? string_room(bytes, size, &how) : 4;
    if (end - out < room) {
        *needed = room;
        return NULL;
    }
    return bytes ? put_string(out, bytes, size, how) : put_null(out);
}

static uint8_t *fit_pairs(uint8_t *out, const uint8_t *end, const piece *p, int64_t row, int how,
                          int64_t *needed, uint8_t **reached)
{
    const int64_t first = p->offsets[p->at + row], last = p->offsets[p->at + row + 1];
    *reached = out;
    *needed = first < 0 || first > last || last > p->items ? -1 : 2;
    if (*needed < 0 || end - out < 2)
        return NULL;
    *out++ = '[';
    for (int64_t i = first; i < last; i++) {
        for (int part = 0; part < 2; part++) {
            *reached = out;
            *needed = 3;
            if (end - out < 3)
                return NULL;
            if (part || i > first) {
                *out++ = ',';
                *out++ = ' ';
            }
            if (!part)
                *out++ = '[';
            *reached = out;
            if (!(out = fit_string(out, end, part ? &p->second : &p->string, i, how, needed)))
                return NULL;
        }
        *reached = out;
        *needed = 2; /* the ends of this pair and of the list */
        if (end - out < 2)
            return NULL;
        *out++ = ']';
    }
    *reached = out;
    *needed = 1;
    if (end - out < 1)
        return NULL;
    *out++ = ']';
    return out;
}

/* The size of a string; there is room for it. */
static uint8_t *fit_size(uint8_t *out, piece *p, int64_t row, int64_t *needed)
{
    const uint8_t *bytes;
    int64_t size;
    if (string_of(&p->string, row, &bytes, &size) < 0) {
        *needed = -1;
        return NULL;
    }
    return put_digits(out, p, bytes ? size : -1);
}

/* What stands before a string, and it as text, where there is room; nothing for null. */
static uint8_t *fit_text(uint8_t *out, const uint8_t *end, const ks_buffer *before,
                         const strings *s, int64_t row, int64_t *needed)
{
    const uint8_t *bytes;
    int64_t size;
    if (string_of(s, row, &bytes, &size) < 0) {
        *needed = -1;
        return NULL;
    }
    if (!bytes)
        return out;
    const int64_t room = size <= SMALL ? JAVA_MOST * size : java_size(bytes, size);
    *needed = before->size + room;
    if (end - out < *needed)
        return NULL;
    return put_java(put(out, before->bytes, before->size), bytes, size);
}

static uint8_t *fit_keys(uint8_t *out, const uint8_t *end, const piece *p, int64_t row,
                         int64_t *needed, uint8_t **reached)
{
    static const uint8_t comma[LITERAL] = ",";
    const ks_buffer none = {comma, 0}, separator = {comma, 1};
    const int64_t first = p->offsets[p->at + row], last = p->offsets[p->at + row + 1];
    *reached = out;
    *needed = first < 0 || first > last || last > p->items ? -1 : 1;
    if (*needed < 0 || end - out < 1)
        return NULL;
    *out++ = '[';
    for (int64_t i = first; i < last; i++) {
        *reached = out;
        if (!(out = fit_text(out, end, i > first ? &separator : &none, &p->string, i, needed)))
            return NULL;
    }
    *reached = out;
    *needed = 1;
    if (end - out < 1)
        return NULL;
    *out++ = ']';
    return out;
}

/* One string as it is where there is room for it; `null` for null. */
static uint8_t *fit_raw(uint8_t *out, const uint8_t *end, const strings *s, int64_t row,
                        const ks_buffer *null, int64_t *needed)
{
    const uint8_t *bytes;
    int64_t size;
    if (string_of(s, row, &bytes, &size) < 0) {
        *needed = -1;
        return NULL;
    }
    if (!bytes) {
        bytes = null ? null->bytes : NULL;
        size = null ? null->size : 0;
    }
    *needed = size;
    if (end - out < size)
        return NULL;
    if (size)
        memcpy(out, bytes, (size_t)size);
    return out + size;
}

/* The size of a string in 4 bytes; there is room for them. */
static uint8_t *fit_size32(uint8_t *out, const piece *p, int64_t row, int64_t *needed)
{
    const uint8_t *bytes;
    int64_t size;
    if (string_of(&p->string, row, &bytes, &size) < 0) {
        *needed = -1;
        return NULL;
    }
    const uint32_t stored = bytes ? (uint32_t)size : UINT32_MAX;
    for (int shift = 24; shift >= 0; shift -= 8)
        *out++ = (uint8_t)(stored >> shift);
    return out;
}

static uint8_t *fit_equated(uint8_t *out, const uint8_t *end, const piece *p, int64_t row,
                            int64_t *needed, uint8_t **reached)
{
    static const uint8_t null_text[] = "NULL";
    const ks_buffer null = {null_text, sizeof null_text - 1};
    const int64_t first = p->offsets[p->at + row], last = p->offsets[p->at + row + 1];
    *reached = out;
    if (first < 0 || first > last || last > p->items) {
        *needed = -1;
        return NULL;
    }
    for (int64_t i = first; i < last; i++)
        for (int part = 0; part < 2; part++) {
            if (part || i > first) {
                *reached = out;
                *needed = 1;
                if (end - out < 1)
                    return NULL;
                *out++ = part ? '=' : ',';
            }
            *reached = out;
            if (!(out = fit_raw(out, end, part ? &p->second : &p->string, i, part ? &null : NULL,
                                needed)))
                return NULL;
        }
    return out;
}

/* How many of the pieces that follow are left out. */
static int64_t left_out(const piece *p, int64_t row)
{
    const int64_t i = p->at + row;
    return p->form == KS_FIRST && i > 0 && p->values[i] == p->values[i - 1] ? p->lowest : 0;
}

static uint8_t *span(lines *l, Py_ssize_t from, Py_ssize_t to, int64_t row, int how, uint8_t *out,
                     const uint8_t *end, int64_t *needed, uint8_t **reached);

/* The items of a list, for each of them the pieces that follow, where there is room. */
static uint8_t *fit_items(lines *l, Py_ssize_t k, int64_t row, int how, uint8_t *out,
                          const uint8_t *end, int64_t *needed, uint8_t **reached)
{
    const piece *p = &l->pieces[k];
    const int64_t first = p->offsets[p->at + row], last = p->offsets[p->at + row + 1];
    if (first < 0 || first > last || last > p->items) {
        *needed = -1;
        return NULL;
    }
    out = put(out, p->names[AT_START].bytes, p->names[AT_START].size);
    for (int64_t i = first; i < last; i++) {
        *reached = out;
        *needed = p->most;
        if (end - out < p->most)
            return NULL;
        if (i > first)
            out = put(out, p->names[BETWEEN].bytes, p->names[BETWEEN].size);
        if (!(out = span(l, k + 1, k + 1 + (Py_ssize_t)p->lowest, i, how, out, end, needed, reached)))
            return NULL;
    }
    *reached = out;
    *needed = p->most;
    if (end - out < p->most)
        return NULL;
    return put(out, p->names[AT_END].bytes, p->names[AT_END].size);
}

/* Some pieces of a row; NULL if there is no room for them after `reached`, or needed is -1 for an
 * unsound column. */
static uint8_t *span(lines *l, Py_ssize_t from, Py_ssize_t to, int64_t row, int how, uint8_t *out,
                     const uint8_t *end, int64_t *needed, uint8_t **reached)
{
    for (Py_ssize_t k = from; k < to; k++) {
        piece *p = &l->pieces[k];
        *reached = out;
        if (p->form == KS_FIRST) {
            k += (Py_ssize_t)left_out(p, row);
            continue;
        }
        *needed = p->most;
        if (p->form == KS_TEXT) {
            if (!(out = fit_text(out, end, &p->before, &p->string, row, needed)))
                return NULL;
            continue;
        }
        if (end - out < p->most)
            return NULL;
        *reached = out = put(out, p->before.bytes, p->before.size);
        if (p->form == KS_NESTED) {
            if (is_null(p->validity, p->at + row))
                out = put(out, p->names[OF_NULL].bytes, p->names[OF_NULL].size);
            else if (p->offsets)
                out = fit_items(l, k, row, how, out, end, needed, reached);
            else
                continue;
            k += (Py_ssize_t)p->lowest;
        } else if (p->form == KS_SIZE)
            out = fit_size(out, p, row, needed);
        else if (p->form == KS_KEYS)
            out = fit_keys(out, end, p, row, needed, reached);
        else if (p->form == KS_RAW)
            out = fit_raw(out, end, &p->string, row, p->names_count ? p->names : NULL, needed);
        else if (p->form == KS_SIZE32)
            out = fit_size32(out, p, row, needed);
        else if (p->form == KS_EQUATED)
            out = fit_equated(out, end, p, row, needed, reached);
        else if (p->what == NUMBER)
            out = put_number(out, p, row);
        else if (p->what == STRING)
            out = fit_string(out, end, &p->string, row, how, needed);
        else if (p->what == PAIRS)
            out = fit_pairs(out, end, p, row, how, needed, reached);
        if (!out)
            return NULL;
    }
    return out;
}

/* The line of a row; NULL if there is no room for it, or needed is -1 for an unsound column. */
static uint8_t *line(lines *l, int64_t row, int how, uint8_t *start, const uint8_t *end,
                     int64_t *needed)
{
    uint8_t *reached = start;
    uint8_t *const out = span(l, 0, l->count, row, how, start, end, needed, &reached);
    if (!out && *needed >= 0)
        *needed += reached - start;
    return out;
}

/* -- the plan and its columns ------------------------------------------------------------------ */

/* The leaves of nested tuples: no fewer than there are buffers among them. */
static Py_ssize_t leaves(PyObject *item, int depth)
{
    if (!PyTuple_Check(item) || depth > 4)
        return 1;
    Py_ssize_t found = 0;
    for (Py_ssize_t i = 0; i < PyTuple_Size(item); i++)
        found += leaves(PyTuple_GetItem(item, i), depth + 1);
    return found;
}

/* Copy a bytes object to where 32 bytes can be read from it; -1 with an exception set. */
static int literal(PyObject *bytes, uint8_t **free, ks_buffer *out)
{
    char *content;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(bytes, &content, &size) < 0)
        return -1;
    memcpy(*free, content, (size_t)size);
    out->bytes = *free;
    out->size = size;
    *free += size + LITERAL;
    return 0;
}

/* Bytes that the literals of a plan take; -1 with an exception set. */
static int64_t literals_size(PyObject *plan, Py_ssize_t *names)
{
    int64_t total = 0;
    *names = 0;
    for (Py_ssize_t i = 0; i < PyTuple_Size(plan); i++) {
        PyObject *item = PyTuple_GetItem(plan, i), *list = NULL;
        if (PyTuple_Check(item) && PyTuple_Size(item) == 4)
            list = PyTuple_GetItem(item, 2);
        if (!list || !PyTuple_Check(list) || !PyBytes_Check(PyTuple_GetItem(item, 0))) {
            PyErr_SetString(PyExc_TypeError, "a piece of a plan is (before, lowest, names, form)");
            return -1;
        }
        total += PyBytes_Size(PyTuple_GetItem(item, 0)) + LITERAL;
        for (Py_ssize_t k = 0; k < PyTuple_Size(list); k++, ++*names) {
            PyObject *name = PyTuple_GetItem(list, k);
            if (!PyBytes_Check(name)) {
                PyErr_SetString(PyExc_TypeError, "names are bytes");
                return -1;
            }
            total += PyBytes_Size(name) + LITERAL;
        }
    }
    return total;
}

static int load_plan(lines *l, PyObject *plan)
{
    uint8_t *free = l->literals;
    ks_buffer *names = l->buffers;
    for (Py_ssize_t i = 0; i < l->count; i++) {
        PyObject *item = PyTuple_GetItem(plan, i), *list = PyTuple_GetItem(item, 2);
        piece *p = &l->pieces[i];
        p->lowest = PyLong_AsLongLong(PyTuple_GetItem(item, 1));
        p->form = (int)PyLong_AsLong(PyTuple_GetItem(item, 3));
        if (!PyErr_Occurred() && (p->form < 0 || p->form >= KS_FORMS ||
                                  (p->form == KS_FIRST && (p->lowest < 0 || p->lowest > l->count))))
            PyErr_SetString(PyExc_ValueError, "there is no such form, or not so many pieces");
        if (PyErr_Occurred() ||
            literal(PyTuple_GetItem(item, 0), &free, &p->before) < 0)
            return -1;
        p->names = names;
        p->names_count = PyTuple_Size(list);
        p->most = DIGITS;
        for (Py_ssize_t k = 0; k < p->names_count; k++, names++) {
            if (literal(PyTuple_GetItem(list, k), &free, names) < 0)
                return -1;
            p->most = names->size > p->most ? names->size : p->most;
        }
        p->most += p->before.size;
    }
    return 0;
}

/* `at` and the validity of a column with so many rows; -1 with an exception set. */
static int load_rows(glue_pins *pins, PyObject *at, PyObject *validity, int64_t rows, int64_t *first,
                     const uint8_t **bits)
{
    *first = PyLong_AsLongLong(at);
    if (*first == -1 && PyErr_Occurred())
        return -1;
    if (*first < 0 || *first > INT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "a column has 2^31 - 1 rows at most");
        return -1;
    }
    *bits = NULL;
    if (validity != Py_None)
        *bits = glue_pin_sized(pins, validity, 0, (*first + rows + 7) / 8);
    return validity != Py_None && !*bits ? -1 : 0;
}

static int load_strings(glue_pins *pins, PyObject *column, int64_t rows, ks_buffer **free,
                        strings *s)
{
    PyObject *at, *validity, *main, *sources;
    if (!PyTuple_Check(column) ||
        !PyArg_ParseTuple(column, "OOiOO!", &at, &validity, &s->layout, &main, &PyTuple_Type,
                          &sources) ||
        load_rows(pins, at, validity, rows, &s->at, &s->validity) < 0) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "a column of byte strings is a tuple");
        return -1;
    }
    if (s->layout == KS_VIEW)
        s->views = glue_pin_sized(pins, main, 0, KS_VIEW_SIZE * (s->at + rows));
    else if (s->layout == KS_BINARY)
        s->offsets = glue_pin_sized(pins, main, 0, 4 * (s->at + rows + 1));
    else
        PyErr_SetString(PyExc_ValueError, "the layout is neither views nor offsets");
    if (!s->views && !s->offsets)
        return -1;
    s->sources = *free;
    s->count = PyTuple_Size(sources);
    for (Py_ssize_t i = 0; i < s->count; i++, ++*free) {
        (*free)->bytes = glue_pin(pins, PyTuple_GetItem(sources, i), 0, &(*free)->size);
        if (!(*free)->bytes)
            return -1;
    }
    return 0;
}

static int load_pairs(glue_pins *pins, PyObject *column, int64_t rows, ks_buffer **free, piece *p)
{
    PyObject *at, *offsets, *keys, *values;
    long long items;
    if (!PyArg_ParseTuple(column, "OOLOO", &at, &offsets, &items, &keys, &values) ||
        load_rows(pins, at, Py_None, rows, &p->at, &p->validity) < 0)
        return -1;
    if (items < 0 || items > INT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "a list has 2^31 - 1 items at most");
        return -1;
    }
    p->what = PAIRS;
    p->items = items;
    p->offsets = glue_pin_sized(pins, offsets, 0, 4 * (p->at + rows + 1));
    return !p->offsets || load_strings(pins, keys, items, free, &p->string) < 0 ||
                   load_strings(pins, values, items, free, &p->second) < 0
               ? -1
               : 0;
}

static int load_numbers(glue_pins *pins, PyObject *column, int64_t rows, piece *p)
{
    PyObject *at, *validity, *values, *others;
    long long set;
    if (!PyArg_ParseTuple(column, "OOOOL", &at, &validity, &values, &others, &set) ||
        load_rows(pins, at, validity, rows, &p->at, &p->validity) < 0)
        return -1;
    p->what = NUMBER;
    p->set = set;
    p->values = glue_pin_sized(pins, values, 0, 8 * (p->at + rows));
    if (p->values && others != Py_None)
        p->others = glue_pin_sized(pins, others, 0, 8 * (p->at + rows));
    return p->values && (others == Py_None || p->others) ? 0 : -1;
}

static int load_columns(glue_pins *pins, lines *l, PyObject *columns, Py_ssize_t from, Py_ssize_t to,
                        int64_t rows, int depth, ks_buffer **free);

/* A structure or a list, and the columns of the pieces in it. */
static int load_nested(glue_pins *pins, lines *l, PyObject *columns, Py_ssize_t k, Py_ssize_t to,
                       int64_t rows, int depth, ks_buffer **free)
{
    PyObject *at, *validity, *offsets;
    long long items;
    piece *p = &l->pieces[k];
    if (!PyArg_ParseTuple(PyTuple_GetItem(columns, k), "OOOL", &at, &validity, &offsets, &items) ||
        load_rows(pins, at, validity, rows, &p->at, &p->validity) < 0)
        return -1;
    const int64_t names = offsets == Py_None ? AT_START : OF_LIST;
    if (p->form != KS_NESTED || p->lowest < 0 || p->lowest >= to - k || p->names_count < names ||
        items < 0 || items > INT32_MAX || depth >= GLUE_LINE_DEPTH) {
        PyErr_SetString(PyExc_ValueError, "no structure or list has such pieces or items");
        return -1;
    }
    p->what = NESTED;
    p->items = items;
    if (offsets != Py_None && !(p->offsets = glue_pin_sized(pins, offsets, 0, 4 * (p->at + rows + 1))))
        return -1;
    return load_columns(pins, l, columns, k + 1, k + 1 + (Py_ssize_t)p->lowest,
                        p->offsets ? items : rows, depth + 1, free);
}

/* The columns of some pieces that have so many rows; -1 with an exception set. */
static int load_columns(glue_pins *pins, lines *l, PyObject *columns, Py_ssize_t from, Py_ssize_t to,
                        int64_t rows, int depth, ks_buffer **free)
{
    for (Py_ssize_t i = from; i < to; i++) {
        PyObject *column = PyTuple_GetItem(columns, i);
        piece *p = &l->pieces[i];
        if (column == Py_None)
            continue;
        if (PyTuple_Check(column) && PyTuple_Size(column) == 4) {
            if (load_nested(pins, l, columns, i, to, rows, depth, free) < 0)
                return -1;
            i += (Py_ssize_t)p->lowest;
            continue;
        }
        if (!PyTuple_Check(column) || PyTuple_Size(column) != 5) {
            PyErr_SetString(PyExc_TypeError, "a column is a tuple of four or five");
            return -1;
        }
        const int pairs = PyTuple_Check(PyTuple_GetItem(column, 3));
        if (pairs ? load_pairs(pins, column, rows, free, p) < 0
            : PyTuple_Check(PyTuple_GetItem(column, 4))
                ? load_strings(pins, column, rows, free, &p->string) < 0
                : load_numbers(pins, column, rows, p) < 0)
            return -1;
        p->what = p->what ? p->what : STRING;
    }
    for (Py_ssize_t i = from; i < to; i++) {
        const piece *p = &l->pieces[i];
        const int wanted = p->form == KS_FIRST                              ? NUMBER
                           : p->form == KS_NESTED                        ? NESTED
                           : p->form == KS_KEYS || p->form == KS_EQUATED ? PAIRS
                           : p->form != KS_JSON                          ? STRING
                                                                         : p->what;
        if (p->what != wanted) {
            PyErr_SetString(PyExc_TypeError, "a form does not suit its column");
            return -1;
        }
    }
    return 0;
}

static void lines_close(lines *l)
{
    PyMem_Free(l->pieces);
    PyMem_Free(l->buffers);
    PyMem_Free(l->literals);
}

static int lines_open(lines *l, PyObject *plan, Py_ssize_t pins)
{
    Py_ssize_t names = 0;
    memset(l, 0, sizeof *l);
    const int64_t size = literals_size(plan, &names);
    if (size < 0)
        return -1;
    l->count = PyTuple_Size(plan);
    l->pieces = PyMem_Calloc((size_t)l->count + 1, sizeof *l->pieces);
    l->buffers = PyMem_Calloc((size_t)(names + pins) + 1, sizeof *l->buffers);
    l->literals = PyMem_Calloc((size_t)size + 1, 1);
    if (!l->pieces || !l->buffers || !l->literals) {
        lines_close(l);
        PyErr_NoMemory();
        return -1;
    }
    return 0;
}

void glue_json_open(void)
{
#ifdef KS_SPREAD
    fill_spread();
#endif
}

PyObject *glue_json_lines(PyObject *module, PyObject *args)
{
    PyObject *plan, *columns, *target;
    long long first, rows;
    int how;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!LLiO", &PyTuple_Type, &plan, &PyTuple_Type, &columns, &first,
                          &rows, &how, &target))
        return NULL;
    if (first < 0 || rows < first || rows > INT32_MAX || PyTuple_Size(plan) > GLUE_LINE_PIECES ||
        PyTuple_Size(plan) != PyTuple_Size(columns))
        return PyErr_Format(PyExc_ValueError, "no such rows, or not a column for each piece");
    const Py_ssize_t buffers = leaves(columns, 0);
    glue_pins pins;
    lines l;
    if (buffers > INT32_MAX / 64 || lines_open(&l, plan, buffers) < 0)
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "too many buffers");
    if (glue_pins_open(&pins, (int)buffers + 1) < 0) {
        lines_close(&l);
        return NULL;
    }
    PyObject *result = NULL;
    int64_t size = 0, needed = 0, row = first;
    uint8_t *start = NULL, *out = NULL;
    if (load_plan(&l, plan) == 0) {
        ks_buffer *free = l.buffers;
        for (Py_ssize_t i = 0; i < l.count; i++)
            free += l.pieces[i].names_count;
        if (load_columns(&pins, &l, columns, 0, l.count, rows, 0, &free) == 0)
            out = start = glue_pin(&pins, target, 1, &size);
    }
    if (out) {
        /* What is copied in whole words may go beyond what it means. */
        const uint8_t *const end = start + (size > ROOM ? size - ROOM : 0);
        Py_BEGIN_ALLOW_THREADS
        for (; row < rows; row++) {
            uint8_t *const after = line(&l, row, how, out, end, &needed);
            if (!after)
                break;
            out = after;
        }
        Py_END_ALLOW_THREADS
        if (needed < 0 && row < rows)
            PyErr_SetString(PyExc_ValueError, "a byte string lies outside of its buffer");
        else
            result = Py_BuildValue("LLL", (long long)row, (long long)(out - start),
                                   (long long)(row == first && row < rows ? needed + ROOM : 0));
    }
    glue_pins_close(&pins);
    lines_close(&l);
    return result;
}
