/* Buffers, integers and plans of Python, as C reads them. */
#include "glue.h"

#include <string.h>

int glue_pins_open(glue_pins *pins, int capacity)
{
    pins->used = 0;
    pins->capacity = capacity;
    pins->views = PyMem_Malloc((size_t)(capacity > 0 ? capacity : 1) * sizeof *pins->views);
    if (!pins->views)
        PyErr_NoMemory();
    return pins->views ? 0 : -1;
}

void glue_pins_close(glue_pins *pins)
{
    while (pins->used > 0)
        PyBuffer_Release(&pins->views[--pins->used]);
    PyMem_Free(pins->views);
    pins->views = NULL;
}

void *glue_pin(glue_pins *pins, PyObject *object, int writable, int64_t *size)
{
    static char nothing[1];
    if (pins->used == pins->capacity) {
        PyErr_SetString(PyExc_SystemError, "too many buffers");
        return NULL;
    }
    Py_buffer *view = &pins->views[pins->used];
    if (PyObject_GetBuffer(object, view, writable ? PyBUF_WRITABLE : PyBUF_SIMPLE) < 0)
        return NULL;
    pins->used++;
    if (size)
        *size = view->len;
    return view->buf ? view->buf : nothing;
}

void *glue_pin_sized(glue_pins *pins, PyObject *object, int writable, int64_t least)
{
    int64_t size = 0;
    void *bytes = glue_pin(pins, object, writable, &size);
    if (bytes && size < least) {
        PyErr_Format(PyExc_ValueError, "a buffer has %lld bytes and needs %lld", (long long)size,
                     (long long)least);
        return NULL;
    }
    return bytes;
}

int glue_pin_validity(glue_pins *pins, PyObject *object, int64_t rows, const uint8_t **validity)
{
    *validity = NULL;
    if (object == Py_None)
        return 0;
    *validity = glue_pin_sized(pins, object, 0, (rows + 7) / 8);
    return *validity ? 0 : -1;
}

int glue_pin_sources(glue_pins *pins, PyObject *tuple, int layout, ks_buffer *buffers)
{
    const Py_ssize_t count = PyTuple_Check(tuple) ? PyTuple_Size(tuple) : GLUE_SOURCES + 1;
    if (count > GLUE_SOURCES)
        return PyErr_Format(PyExc_ValueError, "a tuple of %d buffers at most", GLUE_SOURCES), -1;
    for (Py_ssize_t i = 0; i < count; i++) {
        buffers[i].bytes = glue_pin(pins, PyTuple_GetItem(tuple, i), 0, &buffers[i].size);
        if (!buffers[i].bytes)
            return -1;
        if (layout == KS_VIEW && buffers[i].size > INT32_MAX) {
            PyErr_SetString(PyExc_ValueError, "views reach 2 GiB of a buffer: hand in a part");
            return -1;
        }
    }
    return (int)count;
}

int glue_integers(PyObject *tuple, int64_t *out, Py_ssize_t count)
{
    if (!PyTuple_Check(tuple) || PyTuple_Size(tuple) != count) {
        PyErr_Format(PyExc_TypeError, "a tuple of %zd integers is needed", count);
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        out[i] = PyLong_AsLongLong(PyTuple_GetItem(tuple, i));
        if (out[i] == -1 && PyErr_Occurred())
            return -1;
    }
    return 0;
}

int glue_roles(PyObject *tuple, int64_t *out, Py_ssize_t roles, int64_t count, int64_t capacity)
{
    if (glue_integers(tuple, out, roles) < 0)
        return -1;
    int bad = count < 0 || count > capacity || capacity > PY_SSIZE_T_MAX / 1024;
    for (Py_ssize_t k = 0; k < roles; k++)
        bad |= out[k] < 0 || out[k] >= ks_scan_count;
    if (bad)
        PyErr_SetString(PyExc_ValueError, "no such table");
    return bad ? -1 : 0;
}

const ks_kind *glue_kind(int number, PyObject *header, int64_t members[GLUE_MOST])
{
    if (number < 0 || number >= ks_kinds_count) {
        PyErr_SetString(PyExc_ValueError, "there is no such kind of entry");
        return NULL;
    }
    const ks_kind *kind = &ks_kinds[number];
    return glue_integers(header, members, kind->members) < 0 ? NULL : kind;
}

int glue_plan_of(PyObject *tuple, glue_plan *plan)
{
    int64_t numbers[MOST_FIELDS];
    const Py_ssize_t fields = PyTuple_Check(tuple) ? PyTuple_Size(tuple) : 0;
    int bad = fields > MOST_FIELDS;
    if (!bad && glue_integers(tuple, numbers, fields) < 0)
        return -1;
    plan->fields = (int)fields;
    for (int i = 0; !bad && i < fields; i++) {
        bad = numbers[i] < 0 || numbers[i] >= ks_columns_count || ks_columns[numbers[i]].list >= 0;
        plan->column[i] = (int)numbers[i];
    }
    if (bad)
        PyErr_SetString(PyExc_ValueError, "the plan names no column of records");
    return bad ? -1 : 0;
}

int glue_parts(const ks_column *list, int parts[MOST_FIELDS])
{
    int count = 0;
    for (int i = 0; i < ks_columns_count && count < MOST_FIELDS; i++)
        if (ks_columns[i].list == list->index && ks_columns[i].kind != KS_INTEGER)
            parts[count++] = i;
    return count;
}

void glue_columns_open(glue_columns *c, int layout)
{
    memset(&c->out, 0, sizeof c->out);
    memset(c->integers, 0, (size_t)ks_integers_count * sizeof *c->integers);
    memset(c->bytes, 0, (size_t)ks_bytes_count * sizeof *c->bytes);
    memset(c->lists, 0, (size_t)ks_lists_count * sizeof *c->lists);
    c->out.layout = layout;
    c->out.integers = c->integers;
    c->out.bytes = c->bytes;
    c->out.lists = c->lists;
}
