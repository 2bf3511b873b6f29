/* Whether rows of two columns are the same. */
#include "glue.h"

#include <string.h>

/* A byte column: a bit for each row that is not null or None, the views, and what they point into. */
enum { VALIDITY, VIEWS, SOURCES, BYTES_PARTS };
/* A column of lists: where the items of each row begin, and the columns of the items. */
enum { OFFSETS, ITEMS, LIST_PARTS };
/* Pins of a column that is no list. */
enum { MOST_PINS = 2 * (2 + GLUE_SOURCES), MOST_ROWS = INT32_MAX - 1 };

typedef struct {
    const uint8_t *validity;
    const uint8_t *views;
    ks_buffer sources[GLUE_SOURCES];
    int count;
    int64_t first;
} octets;

static int is_null(const octets *x, int64_t row)
{
    row += x->first;
    return x->validity && !(x->validity[row >> 3] >> (row & 7) & 1);
}

/* The bytes of a long view, NULL where it does not point into its sources. */
static const uint8_t *target_of(const octets *x, const uint8_t *view, int64_t size)
{
    int32_t place[2];
    memcpy(place, view + KS_VIEW_BUFFER, sizeof place);
    if (place[0] < 0 || place[0] >= x->count || place[1] < 0 ||
        size > x->sources[place[0]].size - place[1])
        return NULL;
    return x->sources[place[0]].bytes + place[1];
}

static int same_octets(const octets *a, const octets *b, int64_t rows)
{
    const uint8_t *one = a->views + KS_VIEW_SIZE * a->first;
    const uint8_t *other = b->views + KS_VIEW_SIZE * b->first;
    const int nullable = a->validity || b->validity;
    for (int64_t i = 0; i < rows; i++, one += KS_VIEW_SIZE, other += KS_VIEW_SIZE) {
        int32_t size;
        /* The caller's memory may change meanwhile. */
        uint8_t left[KS_VIEW_SIZE], right[KS_VIEW_SIZE];
        memcpy(left, one, KS_VIEW_SIZE);
        memcpy(right, other, KS_VIEW_SIZE);
        memcpy(&size, left, sizeof size);
        if (memcmp(left, right, sizeof size + KS_VIEW_PREFIX) || size < 0 ||
            (nullable && is_null(a, i) != is_null(b, i)))
            return 0;
        if (size <= KS_VIEW_SHORT) {
            if (memcmp(left + 8, right + 8, KS_VIEW_SIZE - 8))
                return 0;
            continue;
        }
        const uint8_t *from = target_of(a, left, size), *to = target_of(b, right, size);
        if (!from || !to || memcmp(from, to, (size_t)size))
            return 0;
    }
    return 1;
}

static int pin_octets(glue_pins *pins, PyObject *column, int64_t first, int64_t rows, octets *x)
{
    PyObject *validity = PyTuple_GetItem(column, VALIDITY);
    memset(x, 0, sizeof *x);
    x->first = first;
    if (!(x->views = glue_pin_sized(pins, PyTuple_GetItem(column, VIEWS), 0,
                                    KS_VIEW_SIZE * (first + rows))) ||
        (validity != Py_None &&
         !(x->validity = glue_pin_sized(pins, validity, 0, (first + rows + 7) / 8))))
        return -1;
    x->count = glue_pin_sources(pins, PyTuple_GetItem(column, SOURCES), KS_VIEW, x->sources);
    return x->count < 0 ? -1 : 0;
}

static int is_list(PyObject *column)
{
    return PyTuple_Check(column) && PyTuple_Size(column) == LIST_PARTS;
}

/* 1 or 0, or -1 with an exception set; the same for what follows. */
static int same_rows(PyObject *one, PyObject *other, int64_t first, int64_t second, int64_t rows);

static int same_lists(PyObject *one, PyObject *other, int64_t first, int64_t second, int64_t rows)
{
    PyObject *mine = PyTuple_GetItem(one, ITEMS), *others = PyTuple_GetItem(other, ITEMS);
    int bad = !PyTuple_Check(mine) || !PyTuple_Check(others) ||
              PyTuple_Size(mine) != PyTuple_Size(others);
    for (Py_ssize_t k = 0; !bad && k < PyTuple_Size(mine); k++)
        bad = is_list(PyTuple_GetItem(mine, k));
    if (bad)
        return PyErr_Format(PyExc_ValueError, "the items of lists are columns, and no lists"), -1;
    glue_pins pins;
    if (glue_pins_open(&pins, 2) < 0)
        return -1;
    int64_t from = 0, to = 0, items = 0;
    const int32_t *a =
        glue_pin_sized(&pins, PyTuple_GetItem(one, OFFSETS), 0, 4 * (first + rows + 1));
    const int32_t *b =
        a ? glue_pin_sized(&pins, PyTuple_GetItem(other, OFFSETS), 0, 4 * (second + rows + 1))
          : NULL;
    int same = b ? 1 : -1;
    if (b) {
        from = a[first];
        to = b[second];
        items = (int64_t)a[first + rows] - from;
        for (int64_t i = 0; i <= rows; i++)
            same &= (int64_t)a[first + i] - from == (int64_t)b[second + i] - to;
        same &= from >= 0 && to >= 0 && items >= 0;
    }
    glue_pins_close(&pins);
    for (Py_ssize_t k = 0; same > 0 && items && k < PyTuple_Size(mine); k++)
        same = same_rows(PyTuple_GetItem(mine, k), PyTuple_GetItem(others, k), from, to, items);
    return same;
}

static int same_rows(PyObject *one, PyObject *other, int64_t first, int64_t second, int64_t rows)
{
    const Py_ssize_t parts = PyTuple_Check(one) ? PyTuple_Size(one) : 0;
    if ((PyTuple_Check(other) ? PyTuple_Size(other) : 0) != parts ||
        (parts && parts != BYTES_PARTS && parts != LIST_PARTS))
        return PyErr_Format(PyExc_TypeError, "two columns of the same kind"), -1;
    if (is_list(one))
        return same_lists(one, other, first, second, rows);
    glue_pins pins;
    if (glue_pins_open(&pins, MOST_PINS) < 0)
        return -1;
    int same = -1;
    if (parts) {
        octets a, b;
        if (pin_octets(&pins, one, first, rows, &a) == 0 &&
            pin_octets(&pins, other, second, rows, &b) == 0) {
            Py_BEGIN_ALLOW_THREADS
            same = same_octets(&a, &b, rows);
            Py_END_ALLOW_THREADS
        }
    } else {
        const int64_t *a = glue_pin_sized(&pins, one, 0, 8 * (first + rows));
        const int64_t *b = a ? glue_pin_sized(&pins, other, 0, 8 * (second + rows)) : NULL;
        if (b)
            same = !memcmp(a + first, b + second, (size_t)(8 * rows));
    }
    glue_pins_close(&pins);
    return same;
}

/*
 * same(one, other, first, second, rows) -> whether the rows of two columns are the same
 *
 * A column is a buffer of 64-bit integers; or (validity or None, views, sources), byte strings in
 * layout KS_VIEW; or (offsets, columns of the items), lists. first, second: the first row of each.
 */
PyObject *glue_same(PyObject *module, PyObject *args)
{
    PyObject *one, *other;
    long long first, second, rows;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOLLL", &one, &other, &first, &second, &rows))
        return NULL;
    if (first < 0 || second < 0 || rows < 0 || first > MOST_ROWS || second > MOST_ROWS ||
        rows > MOST_ROWS)
        return PyErr_Format(PyExc_ValueError, "there are no such rows");
    const int same = same_rows(one, other, first, second, rows);
    return same < 0 ? NULL : PyBool_FromLong(same);
}
