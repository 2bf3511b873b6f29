/* Buffers and integers of Python, as C reads them. */
#include "glue.h"

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
