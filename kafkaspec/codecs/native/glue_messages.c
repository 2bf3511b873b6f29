/* Messages to columns and back: what Python hands to the interpreter of messages.h. */
#include "glue.h"
#include "glue_memory.h"
#include "messages_text.h"

#include <string.h>

enum { COLUMN_NUMBERS = 5, LINE_NUMBERS = 8, MOST_BUFFERS = 1 << 20, MOST_TABLES = 8 };

/* The table that two arrays of 64-bit numbers are; 0 with an exception set. */
static int pin_table(glue_pins *pins, PyObject *columns, PyObject *lines, km_table *table)
{
    int64_t columns_size = 0, lines_size = 0;
    table->columns = glue_pin(pins, columns, 0, &columns_size);
    table->lines = table->columns ? glue_pin(pins, lines, 0, &lines_size) : NULL;
    if (!table->lines)
        return 0;
    table->columns_count = columns_size / (8 * COLUMN_NUMBERS);
    table->lines_count = lines_size / (8 * LINE_NUMBERS);
    const int whole = columns_size % (8 * COLUMN_NUMBERS) == 0 && lines_size % (8 * LINE_NUMBERS) == 0;
    if (whole && (uintptr_t)table->columns % 8 == 0 && (uintptr_t)table->lines % 8 == 0 &&
        km_valid(table))
        return 1;
    PyErr_SetString(PyExc_ValueError, "no table of a message");
    return 0;
}

static PyObject *failure(int status)
{
    if (status == KM_NO_MEMORY)
        return PyErr_NoMemory();
    if (status == KM_TOO_LARGE)
        return PyErr_Format(PyExc_OverflowError, "a column has more than 2 GiB; hand in a part");
    return PyErr_Format(PyExc_ValueError, "the offsets of the rows are not in order");
}

/* Memory that Python reads as a buffer, and frees. */
typedef struct {
    PyObject_HEAD
    km_memory memory;
} block;

static int block_buffer(PyObject *self, Py_buffer *view, int flags)
{
    static uint8_t nothing[1];
    km_memory *memory = &((block *)self)->memory;
    return PyBuffer_FillInfo(view, self, memory->bytes ? memory->bytes : nothing,
                             (Py_ssize_t)memory->used, 1, flags);
}

static void block_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    km_free(&((block *)self)->memory);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

PyObject *glue_memory_type(PyObject *module)
{
    static PyType_Slot slots[] = {
        {Py_tp_doc, "Memory that the extension has filled; read it as a buffer."},
        {Py_tp_dealloc, block_dealloc},
        {Py_bf_getbuffer, block_buffer},
        {0, NULL},
    };
    static PyType_Spec spec = {
        "kafkaspec._native.Memory", sizeof(block), 0,
        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots,
    };
    return PyType_FromModuleAndSpec(module, &spec, NULL);
}

PyObject *glue_taken(PyTypeObject *type, km_memory *memory, int wanted)
{
    if (!wanted) {
        km_free(memory);
        return Py_NewRef(Py_None);
    }
    block *made = (block *)PyType_GenericAlloc(type, 0);
    if (!made)
        return NULL;
    km_shrink(memory);
    made->memory = *memory;
    memset(memory, 0, sizeof *memory);
    return (PyObject *)made;
}

static PyObject *column_of(PyTypeObject *type, const km_column *column, km_out *out)
{
    const int divided = column->kind == KM_BYTES || column->kind == KM_TEXT;
    PyObject *validity = glue_taken(type, &out->validity, out->nulls > 0);
    PyObject *values = glue_taken(type, &out->values, column->kind != KM_STRUCT);
    PyObject *data = glue_taken(type, &out->data, divided);
    PyObject *result = NULL;
    if (validity && values && data)
        result = Py_BuildValue("LLOOO", (long long)out->length, (long long)out->nulls, validity,
                               values, data);
    Py_XDECREF(validity);
    Py_XDECREF(values);
    Py_XDECREF(data);
    return result;
}

static PyObject *columns_of(PyTypeObject *type, const km_table *table, km_out *out)
{
    PyObject *columns = PyTuple_New((Py_ssize_t)table->columns_count);
    for (int64_t c = 0; columns && c < table->columns_count; c++) {
        PyObject *column = column_of(type, &table->columns[c], &out[c]);
        if (!column || PyTuple_SetItem(columns, (Py_ssize_t)c, column) < 0)
            Py_CLEAR(columns);
    }
    return columns;
}

/* Pin byte strings: `buffers` has room for as many as `data` has. */
static int pin_rows(glue_pins *pins, PyObject *validity, PyObject *places, PyObject *data,
                    km_rows *rows, km_bytes *buffers)
{
    static const int widths[KM_LAYOUTS] = {4, 8, 16};
    const int64_t last = rows->validity_offset + rows->rows;
    if (rows->rows < 0 || rows->validity_offset < 0 || last > PY_SSIZE_T_MAX / 32 ||
        rows->layout < 0 || rows->layout >= KM_LAYOUTS) {
        PyErr_SetString(PyExc_ValueError, "rows out of range");
        return 0;
    }
    const int64_t width = widths[rows->layout];
    const int64_t count = rows->rows ? last + (rows->layout != KM_VIEWS) : 0;
    if (validity != Py_None &&
        !(rows->validity = glue_pin_sized(pins, validity, 0, (last + 7) >> 3)))
        return 0;
    rows->places = glue_pin_sized(pins, places, 0, width * count);
    if (!rows->places)
        return 0;
    rows->places += rows->rows ? width * rows->validity_offset : 0;
    rows->data = buffers;
    rows->data_count = PyTuple_Size(data);
    for (int64_t i = 0; i < rows->data_count; i++) {
        buffers[i].bytes = glue_pin(pins, PyTuple_GetItem(data, (Py_ssize_t)i), 0, &buffers[i].size);
        if (!buffers[i].bytes)
            return 0;
    }
    return 1;
}

static void free_columns(const km_table *table, km_out *out)
{
    for (int64_t c = 0; out && c < table->columns_count; c++) {
        km_free(&out[c].validity);
        km_free(&out[c].values);
        km_free(&out[c].data);
    }
    PyMem_Free(out);
}

/* Decode; the numbers of rows that were refused, and the columns. */
static PyObject *decode(PyTypeObject *type, const km_table *table, const km_rows *rows)
{
    PyObject *result = NULL;
    km_memory refused = {0};
    km_out *out = PyMem_Calloc((size_t)table->columns_count, sizeof *out);
    if (!out)
        return PyErr_NoMemory();
    int status;
    Py_BEGIN_ALLOW_THREADS
    status = km_decode(table, rows, out, &refused);
    Py_END_ALLOW_THREADS
    PyObject *numbers = status ? failure(status) : glue_taken(type, &refused, 1);
    PyObject *found = numbers ? columns_of(type, table, out) : NULL;
    if (found)
        result = PyTuple_Pack(2, numbers, found);
    Py_XDECREF(numbers);
    Py_XDECREF(found);
    free_columns(table, out);
    km_free(&refused);
    return result;
}

/*
 * messages_decode(columns, lines, rows, first, layout, validity, places, data) -> (refused, columns)
 *
 * Decode an array of bytes: `rows` of it from row `first` on. layout: what `places` are, offsets of 32
 * bits, of 64, or views; data: a tuple of the buffers that they point into. validity may be None.
 * refused: numbers of the rows, from 0 on, that the reference has to look at; they are null. columns:
 * length, nulls, validity, values and data of each, None for what it has not.
 */
PyObject *glue_messages_decode(PyObject *module, PyObject *args)
{
    PyObject *columns, *lines, *validity, *places, *data, *result = NULL;
    long long count, first;
    km_rows rows = {0};
    if (!PyArg_ParseTuple(args, "OOLLiOOO!", &columns, &lines, &count, &first, &rows.layout,
                          &validity, &places, &PyTuple_Type, &data))
        return NULL;
    const Py_ssize_t buffers_count = PyTuple_Size(data);
    if (buffers_count > MOST_BUFFERS)
        return PyErr_Format(PyExc_ValueError, "rows out of range");
    rows.rows = count;
    rows.validity_offset = first;
    PyObject *type = PyObject_GetAttrString(module, "Memory");
    km_bytes *buffers = PyMem_Calloc((size_t)buffers_count + 1, sizeof *buffers);
    glue_pins pins;
    if (!type || !buffers || glue_pins_open(&pins, (int)buffers_count + 4) < 0) {
        if (type && !buffers)
            PyErr_NoMemory();
        PyMem_Free(buffers);
        Py_XDECREF(type);
        return NULL;
    }
    km_table table;
    if (pin_table(&pins, columns, lines, &table) &&
        pin_rows(&pins, validity, places, data, &rows, buffers))
        result = decode((PyTypeObject *)type, &table, &rows);
    glue_pins_close(&pins);
    PyMem_Free(buffers);
    Py_DECREF(type);
    return result;
}

void glue_messages_open(void) { km_text_open(); }

/* Tables, with their columns when they are decoded; what decodes them; a plan of their texts. */
typedef struct {
    km_table tables[MOST_TABLES];
    km_out *columns[MOST_TABLES];
    int64_t source[MOST_TABLES]; /* the column of the first table that has the bytes */
    km_text plan;
} texts;

/* Pin tables and a plan; 0 with an exception set. */
static int pin_texts(glue_pins *pins, PyObject *programs, PyObject *plan, PyObject *literals,
                     texts *t)
{
    const Py_ssize_t count = PyTuple_Size(programs);
    if (count < 1 || count > MOST_TABLES) {
        PyErr_SetString(PyExc_ValueError, "not so many tables");
        return 0;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *program = PyTuple_GetItem(programs, i), *columns, *lines;
        long long source;
        if (!PyTuple_Check(program) || !PyArg_ParseTuple(program, "OOL", &columns, &lines, &source) ||
            !pin_table(pins, columns, lines, &t->tables[i]))
            return PyErr_Occurred() ? 0 : (PyErr_SetString(PyExc_TypeError, "no program"), 0);
        t->source[i] = source;
        if (i && (source < 1 || source >= t->tables[0].columns_count ||
                  t->tables[0].columns[source].kind != KM_BYTES)) {
            PyErr_SetString(PyExc_ValueError, "no column has the bytes of a table");
            return 0;
        }
    }
    int64_t size = 0;
    t->plan.lines = glue_pin(pins, plan, 0, &size);
    t->plan.literals = t->plan.lines ? glue_pin(pins, literals, 0, &t->plan.literals_size) : NULL;
    if (!t->plan.literals)
        return 0;
    t->plan.lines_count = size / (8 * LINE_NUMBERS);
    t->plan.tables = t->tables;
    t->plan.columns = t->columns;
    t->plan.tables_count = count;
    if (size % (8 * LINE_NUMBERS) == 0 && (uintptr_t)t->plan.lines % 8 == 0 && km_text_valid(&t->plan))
        return 1;
    PyErr_SetString(PyExc_ValueError, "no plan of texts");
    return 0;
}

/* Decode rows into the first table, columns of that into the others, and write the texts. */
static int write_texts(texts *t, const km_rows *rows, uint8_t *views, int buffer, km_memory *data,
                       km_memory *refused, km_memory *untold)
{
    int status = km_decode(&t->tables[0], rows, t->columns[0], refused);
    for (int64_t i = 1; !status && i < t->plan.tables_count; i++) {
        const km_out *from = &t->columns[0][t->source[i]];
        const km_bytes bytes = {from->data.bytes, from->data.used};
        const km_rows inner = {from->length, from->nulls ? from->validity.bytes : NULL, 0, KM_NARROW,
                               from->values.bytes, &bytes, 1};
        km_memory others = {0};
        status = km_decode(&t->tables[i], &inner, t->columns[i], &others);
        km_free(&others);
    }
    return status ? status : km_text_write(&t->plan, views, buffer, data, untold);
}

/*
 * messages_texts(programs, plan, literals, rows, first, layout, validity, places, data, views, number)
 *     -> (refused, untold, texts)
 *
 * Decode an array of bytes as messages_decode does, and write a text of each row by a plan. programs:
 * (columns, lines, source) of each table; the first decodes the rows, another the bytes in column
 * `source` of the first. views: of all rows, where those that have a text get a view into the buffer
 * `number`, which is `texts`. refused: numbers of the rows that are no such message; untold: of those
 * of which the plan has no text, and the reference has to look at.
 */
PyObject *glue_messages_texts(PyObject *module, PyObject *args)
{
    PyObject *programs, *plan, *literals, *validity, *places, *data, *views, *result = NULL;
    long long count, first;
    int number;
    km_rows rows = {0};
    if (!PyArg_ParseTuple(args, "O!OOLLiOOO!Oi", &PyTuple_Type, &programs, &plan, &literals, &count,
                          &first, &rows.layout, &validity, &places, &PyTuple_Type, &data, &views,
                          &number))
        return NULL;
    const Py_ssize_t buffers_count = PyTuple_Size(data);
    if (buffers_count > MOST_BUFFERS || count < 0 || count > INT32_MAX)
        return PyErr_Format(PyExc_ValueError, "rows out of range");
    rows.rows = count;
    rows.validity_offset = first;
    PyObject *type = PyObject_GetAttrString(module, "Memory");
    km_bytes *buffers = PyMem_Calloc((size_t)buffers_count + 1, sizeof *buffers);
    texts *t = PyMem_Calloc(1, sizeof *t);
    glue_pins pins;
    if (!type || !buffers || !t ||
        glue_pins_open(&pins, (int)buffers_count + 2 * MOST_TABLES + 5) < 0) {
        if (type && (!buffers || !t))
            PyErr_NoMemory();
        PyMem_Free(t);
        PyMem_Free(buffers);
        Py_XDECREF(type);
        return NULL;
    }
    uint8_t *target = NULL;
    if (pin_texts(&pins, programs, plan, literals, t) &&
        pin_rows(&pins, validity, places, data, &rows, buffers))
        target = glue_pin_sized(&pins, views, 1, KS_VIEW_SIZE * count);
    for (int64_t i = 0; target && i < t->plan.tables_count; i++)
        if (!(t->columns[i] = PyMem_Calloc((size_t)t->tables[i].columns_count, sizeof **t->columns))) {
            PyErr_NoMemory();
            target = NULL;
        }
    if (target) {
        km_memory text = {0}, refused = {0}, untold = {0};
        int status;
        Py_BEGIN_ALLOW_THREADS
        status = write_texts(t, &rows, target, number, &text, &refused, &untold);
        Py_END_ALLOW_THREADS
        PyObject *numbers = status ? failure(status) : glue_taken((PyTypeObject *)type, &refused, 1);
        PyObject *others = numbers ? glue_taken((PyTypeObject *)type, &untold, 1) : NULL;
        PyObject *found = others ? glue_taken((PyTypeObject *)type, &text, 1) : NULL;
        if (found)
            result = PyTuple_Pack(3, numbers, others, found);
        Py_XDECREF(numbers);
        Py_XDECREF(others);
        Py_XDECREF(found);
        km_free(&text);
        km_free(&refused);
        km_free(&untold);
    }
    for (int64_t i = 0; i < MOST_TABLES; i++)
        free_columns(&t->tables[i], t->columns[i]);
    glue_pins_close(&pins);
    PyMem_Free(t);
    PyMem_Free(buffers);
    Py_DECREF(type);
    return result;
}

/* Pin what a column is read from; 0 with an exception set. */
static int pin_column(glue_pins *pins, PyObject *item, const km_column *column, km_in *in)
{
    PyObject *validity, *values, *data;
    long long length, offset;
    if (!PyTuple_Check(item) ||
        !PyArg_ParseTuple(item, "LLOOO", &length, &offset, &validity, &values, &data))
        return 0;
    if (length < 0 || offset < 0 || length > PY_SSIZE_T_MAX / (1 << 20) ||
        offset > PY_SSIZE_T_MAX / (1 << 20)) {
        PyErr_SetString(PyExc_ValueError, "a column out of range");
        return 0;
    }
    const int64_t last = offset + length;
    int64_t least = column->size * last;
    if (column->kind == KM_LIST || column->kind == KM_BYTES || column->kind == KM_TEXT)
        least = length ? 4 * (last + 1) : 0;
    else if (column->kind == KM_BOOLEAN)
        least = (last + 7) >> 3;
    in->length = length;
    in->offset = offset;
    if (validity != Py_None &&
        !(in->validity = glue_pin_sized(pins, validity, 0, (last + 7) >> 3)))
        return 0;
    if (column->kind != KM_STRUCT && !(in->values = glue_pin_sized(pins, values, 0, least)))
        return 0;
    return (column->kind != KM_BYTES && column->kind != KM_TEXT) ||
           (in->data = glue_pin(pins, data, 0, &in->data_size)) != NULL;
}

static int pin_columns(glue_pins *pins, PyObject *columns, const km_table *table, km_in *in)
{
    if (!PyTuple_Check(columns) || PyTuple_Size(columns) != table->columns_count) {
        PyErr_SetString(PyExc_ValueError, "other columns than those of the table");
        return 0;
    }
    for (int64_t c = 0; c < table->columns_count; c++)
        if (!pin_column(pins, PyTuple_GetItem(columns, (Py_ssize_t)c), &table->columns[c], &in[c]))
            return 0;
    for (int64_t c = 0; c < table->columns_count; c++)
        for (int64_t child = c + 1; table->columns[c].kind == KM_STRUCT && child < table->columns[c].end;
             child = table->columns[child].end)
            if (in[child].length < in[c].length) {
                PyErr_SetString(PyExc_ValueError, "a column is shorter than its structure");
                return 0;
            }
    return 1;
}

/*
 * messages_encode(columns, lines, values) -> (offsets, data) or (row, column)
 *
 * values: length, offset, validity, values and data of each column. Offsets have 32 bits; rows that
 * are null have no bytes. Two numbers: the value that does not fit.
 */
PyObject *glue_messages_encode(PyObject *module, PyObject *args)
{
    PyObject *columns, *lines, *values, *result = NULL;
    if (!PyArg_ParseTuple(args, "OOO", &columns, &lines, &values))
        return NULL;
    glue_pins tables, pins;
    if (glue_pins_open(&tables, 2) < 0)
        return NULL;
    km_table table;
    if (!pin_table(&tables, columns, lines, &table) ||
        glue_pins_open(&pins, (int)(3 * table.columns_count)) < 0) {
        glue_pins_close(&tables);
        return NULL;
    }
    km_in *in = PyMem_Calloc((size_t)table.columns_count, sizeof *in);
    if (!in)
        PyErr_NoMemory();
    if (in && pin_columns(&pins, values, &table, in)) {
        km_memory offsets = {0}, data = {0};
        int64_t row = 0, column = 0;
        int status;
        Py_BEGIN_ALLOW_THREADS
        status = km_encode(&table, in, in[0].length, &offsets, &data, &row, &column);
        Py_END_ALLOW_THREADS
        if (status == KM_REFUSED) {
            result = Py_BuildValue("LL", (long long)row, (long long)column);
        } else if (status) {
            failure(status);
        } else {
            PyObject *type = PyObject_GetAttrString(module, "Memory");
            PyObject *ends = type ? glue_taken((PyTypeObject *)type, &offsets, 1) : NULL;
            PyObject *bytes = ends ? glue_taken((PyTypeObject *)type, &data, 1) : NULL;
            result = bytes ? PyTuple_Pack(2, ends, bytes) : NULL;
            Py_XDECREF(type);
            Py_XDECREF(ends);
            Py_XDECREF(bytes);
        }
        km_free(&offsets);
        km_free(&data);
    }
    PyMem_Free(in);
    glue_pins_close(&pins);
    glue_pins_close(&tables);
    return result;
}
