/*
 * An iterator over the records of plain batches: a batch is decoded when its first record is asked
 * for, a record made when it is. Memory that the last record gave back serves the next one.
 */
#include "glue_objects.h"

#include <string.h>

#include "structmember.h"

/* Columns of a table of headers, by what they mean here. */
enum { COMPRESSION, CONTROL, ROWS, ROLES };

typedef struct {
    PyObject_HEAD
    maker m;
    glue_pins pins;
    ks_buffer source;
    const int64_t *column[ROLES];
    const int64_t *position, *size, *kind;
    const int8_t *skipped; /* batches that are passed over, a byte for each; or NULL */
    int64_t count;
    int64_t next; /* batch that is decoded next */
    int64_t row;  /* record of this batch that is made next */
    long long end;
    int64_t flags;
    int64_t most; /* bytes of a batch that is decoded here */
    PyObject *check;
    uint8_t *copy; /* of the batch, where the source may go away between two records */
    int64_t copy_size;
    const uint8_t *base;
    int busy; /* a record is being made: garbage collection and `check` may ask for the next one */
} records;

static void records_dealloc(PyObject *object)
{
    records *self = (records *)object;
    PyTypeObject *type = Py_TYPE(object);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    maker_close(&self->m);
    glue_pins_close(&self->pins);
    Py_XDECREF(self->check);
    PyMem_Free(self->copy);
    release(object);
    Py_DECREF(type);
}

static PyObject *records_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *buffer, *values, *roles, *record, *plan, *check, *skipped;
    long long start, capacity, count, flags, most;
    unsigned long long text;
    if (keywords && PyDict_Size(keywords))
        return PyErr_Format(PyExc_TypeError, "Records takes no keywords");
    if (!PyArg_ParseTuple(args, "OLOLLOLLOOKOO", &buffer, &start, &values, &capacity,
                          &count, &roles, &flags, &most, &record, &plan, &text, &check, &skipped))
        return NULL;
    int64_t role[ROLES];
    if (glue_roles(roles, role, ROLES, count, capacity) < 0)
        return NULL;
    records *self = (records *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (!self)
        return NULL;
    if (maker_open(&self->m, record, plan, text) < 0 || glue_pins_open(&self->pins, 3) < 0)
        goto failed;
    self->source.bytes = glue_pin(&self->pins, buffer, 0, &self->source.size);
    const int64_t *v = self->source.bytes ? glue_pin_sized(&self->pins, values, 0,
                                                           8 * capacity * ks_scan_count)
                                          : NULL;
    if (!v)
        goto failed;
    if (skipped != Py_None && !(self->skipped = glue_pin_sized(&self->pins, skipped, 0, count)))
        goto failed;
    for (int k = 0; k < ROLES; k++)
        self->column[k] = v + role[k] * capacity;
    self->position = v + KS_SCAN_POSITION * capacity;
    self->size = v + KS_SCAN_SIZE * capacity;
    self->kind = v + KS_SCAN_KIND * capacity;
    self->count = count;
    self->end = start;
    self->flags = flags;
    self->most = most;
    self->check = check == Py_None ? NULL : check;
    Py_XINCREF(self->check);
    return (PyObject *)self;
failed:
    Py_DECREF(self);
    return NULL;
}

/* The bytes of the batch, in memory of our own where that is needed; -1 with an exception set. */
static int bring(records *self, int64_t position, int64_t size, ks_buffer *bytes)
{
    *bytes = self->source;
    if (!self->check)
        return 0;
    PyObject *done = PyObject_CallNoArgs(self->check);
    if (!done)
        return -1;
    Py_DECREF(done);
    if (self->copy_size < size) {
        PyMem_Free(self->copy);
        self->copy_size = 0;
        self->copy = PyMem_Malloc((size_t)size);
        if (!self->copy) {
            PyErr_NoMemory();
            return -1;
        }
        self->copy_size = size;
    }
    memcpy(self->copy, self->source.bytes + position, (size_t)size);
    bytes->bytes = self->copy;
    bytes->size = size;
    return 0;
}

/* The next batch; 0 where the plain ones end, -1 with an exception set. */
static int advance(records *self)
{
    for (; self->skipped && self->next < self->count && self->skipped[self->next]; self->next++)
        self->end = (int64_t)((uint64_t)self->position[self->next] + (uint64_t)self->size[self->next]);
    const int64_t i = self->next;
    maker *m = &self->m;
    if (i >= self->count || !glue_is_batch(self->kind[i]) || self->column[COMPRESSION][i] ||
        (self->column[CONTROL][i] && !self->skipped))
        return 0;
    const int64_t position = self->position[i], size = self->size[i];
    const int64_t rows = self->column[ROWS][i];
    /* A record has more than one byte. */
    if (rows < 0 || rows > size || size > self->most || position < 0 || size < 0 || size > self->source.size ||
        position > self->source.size - size)
        return 0;
    ks_buffer bytes;
    if (bring(self, position, size, &bytes) < 0)
        return -1;
    int64_t batch[KS_BATCH_FIELDS] = {0}, failed, where;
    batch[KS_B_POSITION] = bytes.bytes == self->copy ? 0 : position;
    batch[KS_B_SIZE] = size;
    batch[KS_B_PAYLOAD] = -1;
    batch[KS_B_ROWS] = rows;
    batch[KS_B_FLAGS] = self->flags;
    if (maker_room(m, rows, rows) < 0)
        return -1;
    for (;;) {
        maker_reset(m);
        int status = ks_decode(&bytes, 1, batch, 0, 1, &m->c.out, &failed, &where);
        if (status == KS_OK)
            break;
        if (status != KS_GROW || maker_more_items(m) < 0) {
            maker_reset(m);
            return 0;
        }
        if (maker_room(m, rows, maker_more_items(m)) < 0)
            return -1;
    }
    self->base = bytes.bytes;
    self->row = 0;
    self->next++;
    self->end = position + size;
    return 1;
}

static PyObject *next_record(records *self)
{
    while (self->row >= self->m.c.out.rows)
        if (advance(self) <= 0) {
            self->count = 0; /* what has ended has ended */
            return NULL;
        }
    return record_of(&self->m, self->base, self->row++);
}

static PyObject *records_next(PyObject *object)
{
    records *self = (records *)object;
    PyObject *record = NULL;
    GLUE_BEGIN_ALONE(object)
    if (self->busy) {
        PyErr_SetString(PyExc_ValueError, "the iterator is already in use");
    } else {
        self->busy = 1;
        record = next_record(self);
        self->busy = 0;
    }
    GLUE_END_ALONE
    return record;
}

PyDoc_STRVAR(records_doc,
             "Records(buffer, start, values, capacity, count, roles, flags, most, record, plan,"
             " text, check, skipped)\n\n"
             "Records of the first batches of a table of headers that need nothing but decoding.\n"
             "skipped has a byte for each entry, not 0 if it is passed over; None: up to the first\n"
             "control batch.\n"
             "check is called before each batch is looked at, which is copied then; None: neither.");

PyObject *glue_records_type(PyObject *module)
{
    static PyMemberDef members[] = {
        {"end", T_LONGLONG, offsetof(records, end), READONLY,
         "Where the last batch that was decoded or passed over ends."},
        {NULL, 0, 0, 0, NULL},
    };
    static PyType_Slot slots[] = {
        {Py_tp_doc, (void *)records_doc},      {Py_tp_new, records_new},
        {Py_tp_dealloc, records_dealloc},      {Py_tp_iter, PyObject_SelfIter},
        {Py_tp_iternext, records_next},        {Py_tp_members, members},
        {0, NULL},
    };
    static PyType_Spec spec = {
        "kafkaspec._native.Records", sizeof(records), 0, Py_TPFLAGS_DEFAULT, slots,
    };
    return PyType_FromModuleAndSpec(module, &spec, NULL);
}
