/* The extension of Python around the tables. Stable ABI of CPython 3.11; it knows no format. */
#define PY_SSIZE_T_CLEAN
#include <pyconfig.h>
#ifndef Py_GIL_DISABLED /* the free-threaded build has no stable ABI */
#define Py_LIMITED_API 0x030B0000
#endif
#include <Python.h>
#include <stdlib.h>
#include <string.h>

#include "tables.h"

#ifndef KS_SOURCES
#define KS_SOURCES unknown
#endif
#define QUOTED(text) #text
#define TEXT(macro) QUOTED(macro)

static const ks_format *format_of(const char *key)
{
    for (int i = 0; i < ks_formats_count; i++)
        if (strcmp(ks_formats[i].key, key) == 0)
            return &ks_formats[i];
    PyErr_Format(PyExc_KeyError, "the specification has no file %s", key);
    return NULL;
}

/* The cells of a table as a tuple of bytes, one for each cell of a row. */
static PyObject *columns_of(const ks_table *table)
{
    PyObject *made = PyTuple_New(table->width);
    for (int i = 0; made && i < table->width; i++) {
        PyObject *column = PyBytes_FromStringAndSize(NULL, table->rows * (int64_t)sizeof(int64_t));
        if (!column) {
            Py_DECREF(made);
            return NULL;
        }
        char *bytes = PyBytes_AsString(column);
        for (int64_t row = 0; row < table->rows; row++)
            memcpy(bytes + row * (int64_t)sizeof(int64_t), table->cells + row * table->width + i,
                   sizeof(int64_t));
        PyTuple_SetItem(made, i, column);
    }
    return made;
}

/* read(key, data): a tuple of columns for each table, None if the bytes are irregular. */
static PyObject *read_tables(PyObject *module, PyObject *args)
{
    const char *key;
    Py_buffer data;
    (void)module;
    if (!PyArg_ParseTuple(args, "sy*", &key, &data))
        return NULL;
    PyObject *result = NULL;
    const ks_format *format = format_of(key);
    ks_table *tables = format ? malloc((size_t)format->tables * sizeof *tables) : NULL;
    if (tables) {
        ks_open(format, tables);
        int status;
        Py_BEGIN_ALLOW_THREADS
        status = format->read(data.buf, data.len, tables);
        Py_END_ALLOW_THREADS
        if (status == KS_MEMORY) {
            PyErr_NoMemory();
        } else if (status != KS_OK) {
            Py_INCREF(Py_None);
            result = Py_None;
        } else if ((result = PyTuple_New(format->tables))) {
            for (int i = 0; i < format->tables; i++) {
                PyObject *columns = columns_of(&tables[i]);
                if (!columns) {
                    Py_CLEAR(result);
                    break;
                }
                PyTuple_SetItem(result, i, columns);
            }
        }
        ks_close(format, tables);
    } else if (format) {
        PyErr_NoMemory();
    }
    free(tables);
    PyBuffer_Release(&data);
    return result;
}

/* The rows of a table from a tuple of columns of equal size; -1 with an exception set. */
static int fill(ks_table *table, PyObject *columns)
{
    for (int i = 0; i < table->width; i++) {
        PyObject *column = PyTuple_GetItem(columns, i); /* a TypeError if it is no tuple */
        char *bytes;
        Py_ssize_t size;
        if (!column || PyBytes_AsStringAndSize(column, &bytes, &size) < 0)
            return -1;
        int64_t rows = size / (int64_t)sizeof(int64_t);
        for (int64_t row = 0; i == 0 && row < rows; row++)
            if (!ks_row(table, 0)) {
                PyErr_NoMemory();
                return -1;
            }
        if (rows != table->rows) {
            PyErr_SetString(PyExc_ValueError, "columns of a table differ in size");
            return -1;
        }
        for (int64_t row = 0; row < rows; row++)
            memcpy(table->cells + row * table->width + i, bytes + row * (int64_t)sizeof(int64_t),
                   sizeof(int64_t));
    }
    return 0;
}

/* write(key, tables, heap): bytes, or (table, row, cell) of what does not fit. */
static PyObject *write_tables(PyObject *module, PyObject *args)
{
    const char *key;
    PyObject *given;
    Py_buffer heap;
    (void)module;
    if (!PyArg_ParseTuple(args, "sO!y*", &key, &PyTuple_Type, &given, &heap))
        return NULL;
    PyObject *result = NULL;
    const ks_format *format = format_of(key);
    ks_table *tables = NULL;
    if (format && PyTuple_Size(given) != format->tables)
        PyErr_SetString(PyExc_ValueError, "another number of tables is needed");
    else if (format && !(tables = malloc((size_t)format->tables * sizeof *tables)))
        PyErr_NoMemory();
    if (tables) {
        int filled = 0;
        ks_open(format, tables);
        for (int i = 0; i < format->tables && filled == 0; i++)
            filled = fill(&tables[i], PyTuple_GetItem(given, i));
        if (filled == 0) {
            ks_bytes out = {NULL, 0, 0};
            ks_place place = {0, 0, 0};
            int status;
            Py_BEGIN_ALLOW_THREADS
            status = format->write(tables, heap.buf, heap.len, &out, &place);
            Py_END_ALLOW_THREADS
            if (status == KS_OK)
                result = PyBytes_FromStringAndSize((const char *)out.bytes, out.used);
            else if (status == KS_MISFIT)
                result = Py_BuildValue("(iLi)", place.table, (long long)place.row, place.cell);
            else if (status == KS_IRREGULAR)
                PyErr_SetString(PyExc_NotImplementedError, "C does not write this; use serialize");
            else
                PyErr_NoMemory();
            free(out.bytes);
        }
        ks_close(format, tables);
    }
    free(tables);
    PyBuffer_Release(&heap);
    return result;
}

static PyObject *crc32c_of(PyObject *module, PyObject *args)
{
    Py_buffer data;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*", &data))
        return NULL;
    PyObject *result = PyLong_FromUnsignedLong(ks_crc32c(data.buf, data.len));
    PyBuffer_Release(&data);
    return result;
}

static PyMethodDef methods[] = {
    {"read", read_tables, METH_VARARGS, "Return the columns of a file, None if it is irregular."},
    {"write", write_tables, METH_VARARGS, "Return the bytes of a file, or what does not fit."},
    {"crc32c", crc32c_of, METH_VARARGS, "Return the CRC-32C of bytes."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_core", "Tables of files, in C.", -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void)
{
    PyObject *module = PyModule_Create(&definition);
    ks_crc_kernels(); /* only one thread imports */
    /* The hash of what it was compiled from. */
    if (module && PyModule_AddStringConstant(module, "sources", TEXT(KS_SOURCES)) < 0)
        Py_CLEAR(module);
    return module;
}
