/* JSON texts to columns: what Python hands to the reader of json_reader.h. */
#include "glue_memory.h"
#include "json_reader.h"

#include <string.h>

enum { MOST_NODES = 1 << 16 };

/* The nodes of a plan, whose names stay those of its objects; 0 with an exception set. */
static int nodes_of(PyObject *plan, jr_node *nodes)
{
    const Py_ssize_t count = PyTuple_Size(plan);
    for (Py_ssize_t i = 0; i < count; i++) {
        jr_node *n = &nodes[i];
        PyObject *item = PyTuple_GetItem(plan, i);
        const char *name;
        Py_ssize_t size;
        long long low, high, end;
        if (!PyTuple_Check(item) ||
            !PyArg_ParseTuple(item, "iLLpLy#", &n->kind, &low, &high, &n->refused, &end, &name, &size))
            return 0;
        n->low = low;
        n->high = high;
        n->end = end;
        n->name = (const uint8_t *)name;
        n->name_size = size;
    }
    if (jr_valid(nodes, count))
        return 1;
    PyErr_SetString(PyExc_ValueError, "the nodes are not those of a type");
    return 0;
}

static PyObject *column_of(PyTypeObject *type, jr_node *n)
{
    km_out *out = &n->out;
    PyObject *validity = glue_taken(type, &out->validity, out->nulls > 0);
    PyObject *values = glue_taken(type, &out->values, 1);
    PyObject *data = glue_taken(type, &out->data, 1);
    PyObject *result = NULL;
    if (validity && values && data)
        result = Py_BuildValue("LLOOO", (long long)out->length, (long long)out->nulls, validity,
                               values, data);
    Py_XDECREF(validity);
    Py_XDECREF(values);
    Py_XDECREF(data);
    return result;
}

static PyObject *result_of(PyTypeObject *type, jr_node *nodes, Py_ssize_t count, km_memory *unsure)
{
    PyObject *numbers = glue_taken(type, unsure, 1), *columns = numbers ? PyTuple_New(count) : NULL;
    for (Py_ssize_t i = 0; columns && i < count; i++) {
        PyObject *column = column_of(type, &nodes[i]);
        if (!column || PyTuple_SetItem(columns, i, column) < 0)
            Py_CLEAR(columns);
    }
    PyObject *result = columns ? PyTuple_Pack(2, numbers, columns) : NULL;
    Py_XDECREF(numbers);
    Py_XDECREF(columns);
    return result;
}

static int in_order(const int32_t *offsets, int64_t rows, int64_t size)
{
    if (offsets[0] < 0 || offsets[rows] > size)
        return 0;
    for (int64_t i = 0; i < rows; i++)
        if (offsets[i] > offsets[i + 1])
            return 0;
    return 1;
}

/*
 * json_read(plan, rows, first, offsets, data, skip, drop, depth) -> (unsure, columns)
 *
 * plan: tuples (kind, low, high, refused, end, name), see json_reader.h. The texts are `rows` of an
 * array from row `first` on, which 32-bit offsets divide. columns: length, nulls, validity, values and
 * data of each node.
 */
PyObject *glue_json_read(PyObject *module, PyObject *args)
{
    PyObject *plan, *offsets, *data, *result = NULL;
    long long rows, first, skip, drop;
    int depth;
    if (!PyArg_ParseTuple(args, "O!LLOOLLi", &PyTuple_Type, &plan, &rows, &first, &offsets, &data,
                          &skip, &drop, &depth))
        return NULL;
    const Py_ssize_t count = PyTuple_Size(plan);
    if (rows < 0 || first < 0 || rows > INT32_MAX || first > INT32_MAX || count > MOST_NODES ||
        skip < 0 || drop < 0 || skip > INT32_MAX || drop > INT32_MAX)
        return PyErr_Format(PyExc_ValueError, "no such rows, or too many nodes");
    glue_pins pins;
    km_memory unsure = {0};
    jr_node *nodes = PyMem_Calloc((size_t)count + 1, sizeof *nodes);
    PyObject *type = PyObject_GetAttrString(module, "Memory");
    if (!nodes || !type || glue_pins_open(&pins, 2) < 0) {
        if (!nodes)
            PyErr_NoMemory();
        PyMem_Free(nodes);
        Py_XDECREF(type);
        return NULL;
    }
    int64_t size = 0;
    const int32_t *ends = glue_pin_sized(&pins, offsets, 0, 4 * (first + rows + 1));
    const uint8_t *bytes = ends ? glue_pin(&pins, data, 0, &size) : NULL;
    if (bytes && nodes_of(plan, nodes)) {
        int status = KM_TOO_LARGE;
        Py_BEGIN_ALLOW_THREADS
        if (in_order(ends + first, rows, size))
            status = jr_read(nodes, count, bytes, ends + first, rows, skip, drop, depth, &unsure);
        Py_END_ALLOW_THREADS
        if (status == KM_NO_MEMORY)
            PyErr_NoMemory();
        else if (status)
            PyErr_SetString(PyExc_OverflowError, "the offsets are in no order, or a column is too long");
        else
            result = result_of((PyTypeObject *)type, nodes, count, &unsure);
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        km_free(&nodes[i].out.validity);
        km_free(&nodes[i].out.values);
        km_free(&nodes[i].out.data);
    }
    km_free(&unsure);
    glue_pins_close(&pins);
    PyMem_Free(nodes);
    Py_DECREF(type);
    return result;
}
