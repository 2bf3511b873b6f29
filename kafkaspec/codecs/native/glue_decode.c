/* Columns: pins the caller's memory, checks that it is large enough, and runs the core. */
#include "glue.h"

/*
 * outputs: a tuple with an item for each of ks_columns, None for a column that is not wanted:
 *   integers  a buffer of 8 bytes a row
 *   bytes     (validity or None, main, data or None); main has 16 bytes a row (views, spans) or
 *             4 a row and 4 more (offsets)
 *   lists     a buffer of 4 bytes a row and 4 more
 * state: a buffer of integers, which say how far the outputs are filled and are brought up to date:
 *   rows, then data_used and nulls of each byte column, then used of each list, then for each byte
 *   column 1 if it cannot be null and has a byte beyond ASCII.
 * capacities: rows, then items of each list.
 */
static int pin_bytes(glue_pins *pins, PyObject *item, int layout, int64_t capacity,
                     ks_bytes_out *column)
{
    if (!PyTuple_Check(item) || PyTuple_Size(item) != 3) {
        PyErr_SetString(PyExc_TypeError, "a byte column is (validity, main, data)");
        return -1;
    }
    PyObject *validity = PyTuple_GetItem(item, 0), *data = PyTuple_GetItem(item, 2);
    int64_t least = layout == KS_BINARY ? 4 * (capacity + 1) : KS_VIEW_SIZE * capacity;
    void *main = glue_pin_sized(pins, PyTuple_GetItem(item, 1), 1, least);
    if (!main)
        return -1;
    if (layout == KS_VIEW)
        column->views = main;
    else if (layout == KS_SPAN)
        column->spans = main;
    else
        column->offsets = main;
    if (validity != Py_None &&
        !(column->validity = glue_pin_sized(pins, validity, 1, (capacity + 7) / 8)))
        return -1;
    if (layout == KS_BINARY &&
        !(column->data = glue_pin(pins, data, 1, &column->data_capacity)))
        return -1;
    column->wanted = 1;
    return 0;
}

static int pin_column(glue_pins *pins, const ks_column *meta, PyObject *item, glue_columns *c)
{
    if (item == Py_None)
        return 0;
    if (meta->list >= 0 && !c->lists[meta->list].wanted) {
        PyErr_Format(PyExc_ValueError, "%s needs its list", meta->name);
        return -1;
    }
    int64_t rows = meta->list < 0 ? c->out.capacity : c->lists[meta->list].capacity;
    if (meta->kind == KS_INTEGER) {
        c->integers[meta->index] = glue_pin_sized(pins, item, 1, 8 * rows);
        return c->integers[meta->index] ? 0 : -1;
    }
    if (meta->kind == KS_LIST) {
        ks_list_out *list = &c->lists[meta->index];
        list->offsets = glue_pin_sized(pins, item, 1, 4 * (rows + 1));
        list->wanted = 1;
        return list->offsets ? 0 : -1;
    }
    return pin_bytes(pins, item, c->out.layout, rows, &c->bytes[meta->index]);
}

static int pin_columns(glue_pins *pins, PyObject *outputs, PyObject *capacities, glue_columns *c)
{
    int64_t limits[1 + GLUE_MOST];
    if (glue_integers(capacities, limits, 1 + ks_lists_count) < 0)
        return -1;
    for (int i = 0; i <= ks_lists_count; i++)
        if (limits[i] < 0 || limits[i] >= INT32_MAX) {
            PyErr_SetString(PyExc_ValueError, "a column has 2^31 - 2 rows at most");
            return -1;
        }
    c->out.capacity = limits[0];
    for (int i = 0; i < ks_lists_count; i++)
        c->lists[i].capacity = limits[1 + i];
    if (!PyTuple_Check(outputs) || PyTuple_Size(outputs) != ks_columns_count) {
        PyErr_Format(PyExc_TypeError, "outputs must be a tuple of %d items", ks_columns_count);
        return -1;
    }
    for (int pass = 0; pass < 2; pass++) /* lists before what is in them */
        for (int i = 0; i < ks_columns_count; i++)
            if ((ks_columns[i].kind == KS_LIST) == !pass &&
                pin_column(pins, &ks_columns[i], PyTuple_GetItem(outputs, i), c) < 0)
                return -1;
    return 0;
}

static int load_state(const int64_t *state, glue_columns *c)
{
    int bad = state[0] < 0 || state[0] > c->out.capacity;
    c->out.rows = *state++;
    for (int i = 0; i < ks_bytes_count; i++) {
        c->bytes[i].data_used = *state++;
        c->bytes[i].nulls = *state++;
        bad |= c->bytes[i].data_used < 0 ||
               (c->bytes[i].data && c->bytes[i].data_used > c->bytes[i].data_capacity);
    }
    for (int i = 0; i < ks_lists_count; i++) {
        c->lists[i].used = *state++;
        bad |= c->lists[i].used < 0 || c->lists[i].used > c->lists[i].capacity;
    }
    for (int i = 0; i < ks_bytes_count; i++)
        c->bytes[i].high = (uint64_t)*state++;
    if (bad)
        PyErr_SetString(PyExc_ValueError, "the state does not fit the outputs");
    return bad ? -1 : 0;
}

static void store_state(int64_t *state, const glue_columns *c)
{
    *state++ = c->out.rows;
    for (int i = 0; i < ks_bytes_count; i++) {
        *state++ = c->bytes[i].data_used;
        *state++ = c->bytes[i].nulls;
    }
    for (int i = 0; i < ks_lists_count; i++)
        *state++ = c->lists[i].used;
    for (int i = 0; i < ks_bytes_count; i++)
        *state++ = c->bytes[i].high != 0;
}

/* Offsets begin with 0: their first element belongs to no row. */
static void first_offsets(glue_columns *c)
{
    for (int i = 0; i < ks_lists_count; i++)
        if (c->lists[i].wanted && c->out.rows == 0)
            c->lists[i].offsets[0] = 0;
    for (int i = 0; i < ks_bytes_count; i++)
        if (c->bytes[i].offsets && c->bytes[i].data_used == 0)
            c->bytes[i].offsets[0] = 0;
}

/*
 * whole(kind, header, rows, payload) -> (status, rows, position)
 *
 * How many records a payload begins with, `rows` at most: nothing is made of them. If they are as
 * many as were asked for, position is where they end.
 */
PyObject *glue_whole(PyObject *module, PyObject *args)
{
    PyObject *header, *buffer;
    long long rows;
    int number;
    int64_t members[GLUE_MOST], position = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "iOLO", &number, &header, &rows, &buffer))
        return NULL;
    const ks_kind *kind = glue_kind(number, header, members);
    if (!kind)
        return NULL;
    if (!kind->decode)
        return PyErr_Format(PyExc_ValueError, "there is no such batch");
    glue_pins pins;
    if (glue_pins_open(&pins, 1) < 0)
        return NULL;
    PyObject *result = NULL;
    glue_columns c;
    ks_buffer payload;
    glue_columns_open(&c, KS_VIEW);
    c.out.capacity = rows;
    payload.bytes = glue_pin(&pins, buffer, 0, &payload.size);
    if (payload.bytes) {
        int status;
        Py_BEGIN_ALLOW_THREADS
        status = kind->decode(members, &payload, &c.out, &position);
        Py_END_ALLOW_THREADS
        if (status == KS_OK)
            position = payload.size;
        result = Py_BuildValue("iLL", status, (long long)c.out.rows, (long long)position);
    }
    glue_pins_close(&pins);
    return result;
}

PyObject *glue_decode(PyObject *module, PyObject *args)
{
    PyObject *sources, *batches, *outputs, *capacities, *state;
    long long first, count;
    int layout;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!OLLiOOO", &PyTuple_Type, &sources, &batches, &first, &count,
                          &layout, &outputs, &capacities, &state))
        return NULL;
    ks_buffer buffers[GLUE_SOURCES];
    if (layout < KS_VIEW || layout > KS_SPAN)
        return PyErr_Format(PyExc_ValueError, "a layout is 0 to 2");
    glue_pins pins;
    glue_columns c;
    PyObject *result = NULL;
    if (glue_pins_open(&pins, GLUE_SOURCES + 2 + 3 * ks_columns_count) < 0)
        return NULL;
    glue_columns_open(&c, layout);
    int64_t size = 0, failed = -1, position = 0;
    int64_t fields = 1 + 3 * ks_bytes_count + ks_lists_count;
    const int used = glue_pin_sources(&pins, sources, layout, buffers);
    if (used < 0 ||
        pin_columns(&pins, outputs, capacities, &c) < 0)
        goto done;
    const int64_t *list = glue_pin(&pins, batches, 0, &size);
    int64_t *kept = list ? glue_pin_sized(&pins, state, 1, 8 * fields) : NULL;
    if (!kept || load_state(kept, &c) < 0)
        goto done;
    int64_t most = size / (8 * KS_BATCH_FIELDS);
    if (first < 0 || count < 0 || first > most || count > most - first) {
        PyErr_SetString(PyExc_ValueError, "there are not as many batches");
        goto done;
    }
    first_offsets(&c);
    int status;
    Py_BEGIN_ALLOW_THREADS
    status = ks_decode(buffers, used, list, first, count, &c.out, &failed,
                       &position);
    Py_END_ALLOW_THREADS
    store_state(kept, &c);
    result = Py_BuildValue("iLL", status, (long long)failed, (long long)position);
done:
    glue_pins_close(&pins);
    return result;
}
