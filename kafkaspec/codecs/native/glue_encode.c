/* Records as bytes, from columns or from record objects. */
#include "glue.h"

#include <string.h>

typedef struct {
    ks_in in;
    const int64_t *integers[GLUE_INTEGERS];
    ks_bytes_in bytes[GLUE_MOST];
    ks_list_in lists[GLUE_MOST];
    void *block;
    int64_t estimate; /* bytes that the output needs, more or less */
    void *copies[GLUE_INTEGERS];
    int copied;
} inputs;

static void inputs_open(inputs *x)
{
    memset(x, 0, sizeof *x);
    x->in.integers = x->integers;
    x->in.bytes = x->bytes;
    x->in.lists = x->lists;
}

static void inputs_close(inputs *x)
{
    while (x->copied > 0)
        PyMem_Free(x->copies[--x->copied]);
    PyMem_Free(x->block);
}

/* Runs the encoder into a bytes object of the right size; `wrap` puts a header in front. */
static PyObject *encoded(const ks_kind *kind, const int64_t *header, const inputs *x, int64_t rows,
                         int wrap)
{
    int64_t before = wrap ? kind->header_size : 0;
    int64_t capacity = before + x->estimate + 64;
    for (;;) {
        PyObject *result = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)capacity);
        if (!result)
            return NULL;
        uint8_t *out = (uint8_t *)PyBytes_AsString(result);
        int64_t used = 0;
        int status;
        Py_BEGIN_ALLOW_THREADS
        status = kind->encode(header, &x->in, 0, rows, out + before, capacity - before, &used);
        if (status == KS_OK && wrap)
            status = kind->finish(header, out, used);
        Py_END_ALLOW_THREADS
        if (status == KS_OK) {
            /* The stable ABI cannot shrink a bytes object in place; a slice is one copy. */
            PyObject *whole = PyBytes_FromStringAndSize((char *)out, (Py_ssize_t)(before + used));
            Py_DECREF(result);
            return whole;
        }
        Py_DECREF(result);
        if (status != KS_GROW)
            Py_RETURN_NONE;
        if (capacity > PY_SSIZE_T_MAX / 4)
            return PyErr_NoMemory();
        capacity *= 2;
    }
}

/* A copy of the first bytes of a buffer. What bounds reads and writes is read several times, and
 * other threads may write to the buffer meanwhile. */
static void *copied(glue_pins *pins, PyObject *object, int64_t size, inputs *x)
{
    const void *bytes = glue_pin_sized(pins, object, 0, size);
    void *copy = bytes ? PyMem_Malloc((size_t)size + 1) : NULL;
    if (copy)
        x->copies[x->copied++] = memcpy(copy, bytes, (size_t)size);
    else if (bytes)
        PyErr_NoMemory();
    return copy;
}

/* A copy of `count` + 1 offsets, none of them below that before it or zero; NULL with an exception
 * set. */
static const int32_t *offsets_of(glue_pins *pins, const ks_column *c, PyObject *object,
                                 int64_t count, inputs *x)
{
    const int32_t *offsets = copied(pins, object, 4 * (count + 1), x);
    int bad = offsets && offsets[0] < 0;
    for (int64_t i = 0; offsets && i < count; i++)
        bad |= offsets[i + 1] < offsets[i];
    if (bad)
        PyErr_Format(PyExc_ValueError, "the column %s is not a column of Arrow", c->name);
    return bad ? NULL : offsets;
}

static int pin_input(glue_pins *pins, const ks_column *c, PyObject *item, int64_t rows,
                     int64_t *items, inputs *x)
{
    if (item == Py_None)
        return 0;
    int64_t count = c->list < 0 ? rows : items[c->list];
    if (c->kind == KS_INTEGER) {
        x->integers[c->index] = glue_pin_sized(pins, item, 0, 8 * count);
        return x->integers[c->index] ? 0 : -1;
    }
    if (c->kind == KS_LIST) {
        const int32_t *offsets = offsets_of(pins, c, item, rows, x);
        if (!offsets)
            return -1;
        x->lists[c->index].offsets = offsets;
        items[c->index] = offsets[rows];
        return 0;
    }
    if (!PyTuple_Check(item) || PyTuple_Size(item) != 3)
        goto bad;
    PyObject *validity = PyTuple_GetItem(item, 0);
    int64_t size = 0;
    ks_bytes_in *column = &x->bytes[c->index];
    const int32_t *offsets = offsets_of(pins, c, PyTuple_GetItem(item, 1), count, x);
    column->data = offsets ? glue_pin(pins, PyTuple_GetItem(item, 2), 0, &size) : NULL;
    if (!column->data)
        return -1;
    if (offsets[count] > size)
        goto bad;
    column->offsets = offsets;
    x->estimate += offsets[count];
    if (validity != Py_None && !(column->validity = copied(pins, validity, (count + 7) / 8, x)))
        return -1;
    return 0;
bad:
    PyErr_Format(PyExc_ValueError, "the column %s is not a column of Arrow", c->name);
    return -1;
}

/* Lists first: they say how many items the columns inside of them have. */
static int pin_inputs(glue_pins *pins, PyObject *given, int64_t rows, int64_t *items, inputs *x)
{
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < ks_columns_count; i++)
            if ((ks_columns[i].kind == KS_LIST) == !pass &&
                pin_input(pins, &ks_columns[i], PyTuple_GetItem(given, i), rows, items, x) < 0)
                return -1;
    return 0;
}

/* encode(kind, header, rows, inputs, wrap): inputs as the outputs of decode in layout BINARY. */
PyObject *glue_encode(PyObject *module, PyObject *args)
{
    PyObject *header, *given;
    long long rows;
    int number, wrap;
    (void)module;
    if (!PyArg_ParseTuple(args, "iOLO!p", &number, &header, &rows, &PyTuple_Type, &given, &wrap))
        return NULL;
    int64_t members[GLUE_MOST], items[GLUE_MOST] = {0};
    const ks_kind *kind = glue_kind(number, header, members);
    if (!kind)
        return NULL;
    if (wrap && !kind->finish)
        return PyErr_Format(PyExc_ValueError, "the core writes no header of this kind");
    if (rows < 0 || rows >= INT32_MAX || PyTuple_Size(given) != ks_columns_count)
        return PyErr_Format(PyExc_ValueError, "the columns do not fit");
    glue_pins pins;
    inputs x;
    PyObject *result = NULL;
    if (glue_pins_open(&pins, 3 * ks_columns_count) < 0)
        return NULL;
    inputs_open(&x);
    const int status = pin_inputs(&pins, given, rows, items, &x);
    if (status == 0) {
        x.estimate += 48 * rows;
        for (int i = 0; i < ks_lists_count; i++)
            x.estimate += 12 * items[i];
        result = encoded(kind, members, &x, rows, wrap);
    }
    inputs_close(&x);
    glue_pins_close(&pins);
    return result;
}

/*
 * encode_groups(kind, values, capacity, groups, members, firsts, rows, inputs, out, ends) -> number
 *
 * Groups of rows as the payloads of batches, with room for a header before each. values, capacity,
 * groups, members: headers of the groups, as for headed. firsts: the first row of each group, and the
 * row after the last one. inputs: as for encode. ends: where each payload ends in `out`. The number
 * of payloads written before one that does not fit its fields, or `out`.
 */
PyObject *glue_encode_groups(PyObject *module, PyObject *args)
{
    PyObject *values, *members, *firsts, *given, *target, *places;
    long long capacity, groups, rows;
    int number;
    (void)module;
    if (!PyArg_ParseTuple(args, "iOLLOOLO!OO", &number, &values, &capacity, &groups, &members,
                          &firsts, &rows, &PyTuple_Type, &given, &target, &places))
        return NULL;
    const ks_kind *kind = number >= 0 && number < ks_kinds_count ? &ks_kinds[number] : NULL;
    if (!kind || !kind->finish)
        return PyErr_Format(PyExc_ValueError, "the core writes no header of this kind");
    int64_t place[GLUE_MOST], items[GLUE_MOST] = {0};
    if (glue_roles(members, place, kind->members, groups, capacity) < 0)
        return NULL;
    if (rows < 0 || rows >= INT32_MAX || PyTuple_Size(given) != ks_columns_count)
        return PyErr_Format(PyExc_ValueError, "the columns do not fit");
    glue_pins pins;
    inputs x;
    PyObject *result = NULL;
    if (glue_pins_open(&pins, 4 + 3 * ks_columns_count) < 0)
        return NULL;
    inputs_open(&x);
    const int status = pin_inputs(&pins, given, rows, items, &x);
    int64_t size = 0, used = 0, group = 0;
    const int64_t *v = NULL, *first = NULL;
    uint8_t *out = NULL;
    int64_t *end = NULL;
    if (status == 0 &&
        (v = glue_pin_sized(&pins, values, 0, 8 * capacity * ks_scan_count)) &&
        (first = glue_pin_sized(&pins, firsts, 0, 8 * (groups + 1))) &&
        (out = glue_pin(&pins, target, 1, &size)) &&
        (end = glue_pin_sized(&pins, places, 1, 8 * groups))) {
        int bad = 0;
        Py_BEGIN_ALLOW_THREADS
        for (; group < groups; group++) {
            const int64_t from = first[group], to = first[group + 1];
            int64_t header[GLUE_MOST], written = 0;
            bad = from < 0 || to < from || to > rows;
            if (bad || size - used < kind->header_size)
                break;
            for (int k = 0; k < kind->members; k++)
                header[k] = v[place[k] * capacity + group];
            used += kind->header_size;
            if (kind->encode(header, &x.in, from, to - from, out + used, size - used, &written) !=
                KS_OK)
                break;
            end[group] = used += written;
        }
        Py_END_ALLOW_THREADS
        result = bad ? PyErr_Format(PyExc_ValueError, "there are no such rows")
                     : PyLong_FromLongLong(group);
    }
    inputs_close(&x);
    glue_pins_close(&pins);
    return result;
}

/* The address and size of a value in two words. A column is either text, which is written as UTF-8
 * with its surrogate escapes, or bytes. */
static int span_of(PyObject *value, int text_wanted, int64_t *span, PyObject *keep,
                   int64_t *estimate)
{
    if (value == Py_None) {
        span[0] = 0;
        span[1] = -1;
        return 0;
    }
    char *bytes;
    Py_ssize_t size;
    if (text_wanted && !PyUnicode_Check(value)) {
        PyErr_SetString(PyExc_TypeError, "text is needed");
        return -1;
    }
    if (text_wanted) {
        const char *text = PyUnicode_AsUTF8AndSize(value, &size);
        bytes = (char *)text;
        if (!text) {
            PyErr_Clear();
            PyObject *encoded_text = PyUnicode_AsEncodedString(value, "utf-8", "surrogateescape");
            if (!encoded_text)
                return -1;
            int status = PyList_Append(keep, encoded_text);
            Py_DECREF(encoded_text);
            if (status < 0 || PyBytes_AsStringAndSize(encoded_text, &bytes, &size) < 0)
                return -1;
        }
    } else if (PyBytes_AsStringAndSize(value, &bytes, &size) < 0) {
        return -1;
    }
    span[0] = (int64_t)(uintptr_t)bytes;
    span[1] = size;
    *estimate += size;
    return 0;
}

typedef struct {
    glue_plan plan;
    uint64_t text; /* a bit for each byte column that is text */
    int64_t rows;
    int64_t items;
} shape;

static int items_total(PyObject *records, shape *s)
{
    for (int64_t row = 0; row < s->rows; row++) {
        PyObject *record = PyTuple_GetItem(records, (Py_ssize_t)row);
        if (!record || !PyTuple_Check(record) || PyTuple_Size(record) != s->plan.fields) {
            PyErr_SetString(PyExc_TypeError, "what is to be encoded must be records");
            return -1;
        }
        for (int i = 0; i < s->plan.fields; i++)
            if (ks_columns[s->plan.column[i]].kind == KS_LIST) {
                PyObject *list = PyTuple_GetItem(record, i);
                if (!PyTuple_Check(list)) {
                    PyErr_SetString(PyExc_TypeError, "lists of a record must be tuples");
                    return -1;
                }
                s->items += PyTuple_Size(list);
            }
    }
    return 0;
}

static int gather_list(PyObject *list, const ks_column *meta, const shape *s, int64_t *used,
                       inputs *x, PyObject *keep)
{
    int parts[MOST_FIELDS];
    const int count = glue_parts(meta, parts);
    for (Py_ssize_t k = 0; k < PyTuple_Size(list); k++, (*used)++) {
        PyObject *item = PyTuple_GetItem(list, k);
        if (!PyTuple_Check(item) || PyTuple_Size(item) < count) {
            PyErr_SetString(PyExc_TypeError, "items of a list must be tuples");
            return -1;
        }
        for (int part = 0; part < count; part++) {
            int index = ks_columns[parts[part]].index;
            int64_t *span = (int64_t *)x->bytes[index].spans + 2 * *used;
            if (span_of(PyTuple_GetItem(item, part), s->text >> index & 1, span, keep,
                        &x->estimate) < 0)
                return -1;
        }
    }
    return 0;
}

static int gather(PyObject *records, const shape *s, inputs *x, PyObject *keep)
{
    int64_t used[GLUE_MOST] = {0};
    for (int64_t row = 0; row < s->rows; row++) {
        PyObject *record = PyTuple_GetItem(records, (Py_ssize_t)row);
        for (int i = 0; i < s->plan.fields; i++) {
            const ks_column *c = &ks_columns[s->plan.column[i]];
            PyObject *value = PyTuple_GetItem(record, i);
            if (c->kind == KS_INTEGER) {
                int64_t number = PyLong_AsLongLong(value);
                if (number == -1 && PyErr_Occurred())
                    return -1;
                ((int64_t *)x->integers[c->index])[row] = number;
            } else if (c->kind == KS_LIST) {
                int32_t *offsets = (int32_t *)x->lists[c->index].offsets;
                if (gather_list(value, c, s, &used[c->index], x, keep) < 0)
                    return -1;
                offsets[row + 1] = (int32_t)used[c->index];
            } else if (span_of(value, s->text >> c->index & 1,
                               (int64_t *)x->bytes[c->index].spans + 2 * row, keep,
                               &x->estimate) < 0) {
                return -1;
            }
        }
    }
    return 0;
}

/* Columns in one block of memory, as the plan wants them. */
static int room_for(const shape *s, inputs *x)
{
    int parts[MOST_FIELDS];
    for (int pass = 0; pass < 2; pass++) {
        int64_t *next = x->block;
        size_t words = 0;
        for (int i = 0; i < s->plan.fields; i++) {
            const ks_column *c = &ks_columns[s->plan.column[i]];
            if (c->kind == KS_INTEGER) {
                x->integers[c->index] = next + words;
                words += (size_t)s->rows;
            } else if (c->kind == KS_LIST) {
                x->lists[c->index].offsets = (int32_t *)(next + words);
                if (pass)
                    *(int32_t *)(next + words) = 0;
                words += (size_t)s->rows / 2 + 1;
                for (int k = glue_parts(c, parts); k > 0; k--) {
                    x->bytes[ks_columns[parts[k - 1]].index].spans = next + words;
                    words += 2 * (size_t)s->items;
                }
            } else {
                x->bytes[c->index].spans = next + words;
                words += 2 * (size_t)s->rows;
            }
        }
        if (!pass && !(x->block = PyMem_Calloc(words + 1, sizeof(int64_t)))) {
            PyErr_NoMemory();
            return -1;
        }
    }
    return 0;
}

/*
 * encode_objects(kind, header, records, plan, text) -> bytes, None if a value does not fit.
 *
 * Records are tuples in a tuple: what they hold stays alive and in its place while integers run
 * their __index__ and while other threads run.
 */
PyObject *glue_encode_objects(PyObject *module, PyObject *args)
{
    PyObject *header, *records, *plan;
    int number;
    (void)module;
    unsigned long long text;
    if (!PyArg_ParseTuple(args, "iOO!O!K", &number, &header, &PyTuple_Type, &records, &PyTuple_Type,
                          &plan, &text))
        return NULL;
    int64_t members[GLUE_MOST];
    shape s = {0};
    s.text = text;
    const ks_kind *kind = glue_kind(number, header, members);
    if (!kind || glue_plan_of(plan, &s.plan) < 0)
        return NULL;
    s.rows = PyTuple_Size(records);
    inputs x;
    PyObject *result = NULL, *keep = PyList_New(0);
    inputs_open(&x);
    if (keep && items_total(records, &s) == 0) {
        if (s.rows >= INT32_MAX || s.items >= INT32_MAX)
            PyErr_SetString(PyExc_ValueError, "too many records");
        else if (room_for(&s, &x) == 0 && gather(records, &s, &x, keep) == 0) {
            x.estimate += 48 * s.rows + 12 * s.items;
            result = encoded(kind, members, &x, s.rows, 0);
        }
    }
    Py_XDECREF(keep);
    inputs_close(&x);
    return result;
}
