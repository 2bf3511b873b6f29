/*
 * Record objects. Each batch is decoded into spans in memory that is used again for the next one,
 * and objects are made from the spans, so that there is one decoder and it knows no Python.
 *
 * A plan says what a record is made of: for each item of the record a number of ks_columns, and a
 * bit set of byte columns that are text (UTF-8, other bytes as surrogate escapes).
 */
#include "glue_objects.h"

#include <stddef.h>
#include <string.h>
#include <structmember.h>

/*
 * PyTuple_SetItem costs more than anything else that is done to a record but its allocation. Items
 * follow the fixed part of a tuple in every version so far. The stable ABI does not promise it:
 * so it is tried on a tuple first, and where it is not so, PyTuple_SetItem does the work.
 */
static void find_items(maker *m)
{
    PyObject *size = PyObject_GetAttrString((PyObject *)&PyTuple_Type, "__basicsize__");
    PyObject *probe = PyTuple_New(2);
    const Py_ssize_t at = size ? PyLong_AsSsize_t(size) : 0;
    const Py_ssize_t fixed = (Py_ssize_t)sizeof(PyVarObject);
    PyObject *const values[2] = {(PyObject *)m->type, Py_None};
    if (probe && at >= fixed && at <= fixed + FRESH_SIZE) {
        m->fresh_size = (size_t)(at - fixed);
        memcpy(m->fresh, (char *)probe + fixed, m->fresh_size);
        for (int i = 0; i < 2; i++) {
            Py_INCREF(values[i]);
            PyTuple_SetItem(probe, i, values[i]);
        }
        m->items = memcmp((char *)probe + at, values, sizeof values) == 0 ? at : 0;
    }
    PyErr_Clear();
    Py_XDECREF(size);
    Py_XDECREF(probe);
}

/* Whether the type adds nothing to the memory of a tuple. */
static int is_bare(PyTypeObject *type)
{
    static const char *const sizes[] = {"__basicsize__", "__itemsize__", "__dictoffset__",
                                        "__weakrefoffset__"};
    int bare = (PyType_GetFlags(type) & Py_TPFLAGS_HAVE_GC) != 0;
    for (size_t i = 0; bare && i < sizeof sizes / sizeof *sizes; i++) {
        PyObject *own = PyObject_GetAttrString((PyObject *)type, sizes[i]);
        PyObject *plain = PyObject_GetAttrString((PyObject *)&PyTuple_Type, sizes[i]);
        bare = own && plain && PyObject_RichCompareBool(own, plain, Py_EQ) == 1;
        Py_XDECREF(own);
        Py_XDECREF(plain);
    }
    PyErr_Clear();
    return bare;
}

/*
 * name_items(type): give the items of a tuple type the names in its `_fields`, as members of its
 * memory. The descriptors of a named tuple are called for each read; a member is read in place
 * since Python 3.11. Nothing changes where items do not lie as expected.
 */
PyObject *glue_name_items(PyObject *module, PyObject *type)
{
    (void)module;
    if (!PyType_Check(type) || !PyType_IsSubtype((PyTypeObject *)type, &PyTuple_Type))
        return PyErr_Format(PyExc_TypeError, "a subtype of tuple is needed");
    maker m = {.type = (PyTypeObject *)type};
    find_items(&m);
    PyObject *names = PyObject_GetAttrString(type, "_fields");
    const Py_ssize_t count = names && m.items ? PySequence_Size(names) : 0;
    /* The members live as long as the type, which has them for good. */
    PyMemberDef *members = count > 0 ? PyMem_Calloc((size_t)count, sizeof *members) : NULL;
    for (Py_ssize_t i = 0; members && i < count; i++) {
        PyObject *name = PySequence_GetItem(names, i); /* kept: the member points into it */
        members[i].name = name ? (char *)PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
        members[i].type = T_OBJECT_EX;
        members[i].offset = m.items + i * (Py_ssize_t)sizeof(PyObject *);
        members[i].flags = READONLY;
        PyObject *member =
            members[i].name ? PyDescr_NewMember((PyTypeObject *)type, &members[i]) : NULL;
        const int done = member ? PyObject_SetAttr(type, name, member) : -1;
        Py_XDECREF(member);
        if (done < 0)
            break;
    }
    Py_XDECREF(names);
    if (PyErr_Occurred())
        return NULL;
    Py_RETURN_NONE;
}

/* Takes the reference to `item`; a tuple that was made just now and nobody else has. */
static inline void put_item(const maker *m, PyObject *tuple, Py_ssize_t i, PyObject *item)
{
    if (m->items)
        ((PyObject **)((char *)tuple + m->items))[i] = item;
    else
        PyTuple_SetItem(tuple, i, item);
}

static void want(maker *m, const ks_column *c)
{
    int parts[MOST_FIELDS];
    if (c->kind == KS_INTEGER) {
        m->c.integers[c->index] = (int64_t *)1;
    } else if (c->kind == KS_LIST) {
        m->c.lists[c->index].wanted = 1;
        for (int k = glue_parts(c, parts); k > 0; k--)
            want(m, &ks_columns[parts[k - 1]]);
    } else {
        m->c.bytes[c->index].wanted = 1;
    }
}

int maker_open(maker *m, PyObject *type, PyObject *plan, unsigned long long text)
{
    memset((char *)m + sizeof m->c, 0, sizeof *m - sizeof m->c);
    glue_columns_open(&m->c, KS_SPAN);
    if (!PyType_Check(type) || !PyType_IsSubtype((PyTypeObject *)type, &PyTuple_Type)) {
        PyErr_SetString(PyExc_TypeError, "a subtype of tuple is needed");
        return -1;
    }
    m->type = (PyTypeObject *)type;
    Py_INCREF(type);
    m->allocate = (allocfunc)PyType_GetSlot(m->type, Py_tp_alloc);
    find_items(m);
    m->bare = m->items && is_bare(m->type);
    m->text = text;
    if (glue_plan_of(plan, &m->plan) < 0 || !(m->nothing = PyTuple_New(0)))
        return -1;
    for (int i = 0; i < m->plan.fields; i++)
        want(m, &ks_columns[m->plan.column[i]]);
    return 0;
}

void maker_close(maker *m)
{
    for (int i = 0; i < CACHED_NAMES; i++)
        Py_XDECREF(m->names[i].text);
    for (int i = 0; i < MOST_FIELDS; i++)
        Py_XDECREF(m->number_object[i]);
    Py_XDECREF(m->nothing);
    Py_XDECREF((PyObject *)m->type);
    PyMem_Free(m->blocks);
}

/* Memory for `rows` records with `items` items in each list, in one block. */
int maker_room(maker *m, int64_t rows, int64_t items)
{
    int64_t have = ks_lists_count ? m->c.lists[0].capacity : 0;
    if (m->blocks && rows <= m->row_capacity && (items <= have || !ks_lists_count))
        return 0;
    rows = rows > m->row_capacity ? rows : m->row_capacity;
    items = items > have ? items : have;
    size_t words = 0;
    for (int pass = 0; pass < 2; pass++) {
        int64_t *next = m->blocks;
        words = 0;
        for (int i = 0; i < ks_columns_count; i++) {
            const ks_column *c = &ks_columns[i];
            int64_t count = c->list < 0 ? rows : items;
            int64_t need = 0;
            if (c->kind == KS_INTEGER && m->c.integers[c->index])
                need = count;
            else if (c->kind == KS_LIST && m->c.lists[c->index].wanted)
                need = rows / 2 + 1;
            else if ((c->kind == KS_BYTES || c->kind == KS_NULLABLE_BYTES) &&
                     m->c.bytes[c->index].wanted)
                need = 2 * count;
            if (pass && need) {
                if (c->kind == KS_INTEGER)
                    m->c.integers[c->index] = next + words;
                else if (c->kind == KS_LIST)
                    m->c.lists[c->index].offsets = (int32_t *)(next + words);
                else
                    m->c.bytes[c->index].spans = next + words;
            }
            words += (size_t)need;
        }
        if (!pass) {
            PyMem_Free(m->blocks);
            m->blocks = PyMem_Malloc((words + 1) * sizeof(int64_t));
            if (!m->blocks) {
                PyErr_NoMemory();
                return -1;
            }
        }
    }
    m->row_capacity = rows;
    m->c.out.capacity = rows;
    for (int i = 0; i < ks_lists_count; i++)
        m->c.lists[i].capacity = items;
    return 0;
}

static PyObject *text_of(maker *m, const uint8_t *bytes, int64_t size)
{
    if (size > CACHED_SIZE)
        return PyUnicode_DecodeUTF8((const char *)bytes, size, "surrogateescape");
    uint32_t hash = (uint32_t)size;
    if (size > 0)
        hash = hash * 31 + bytes[0] * 7u + bytes[size / 2] * 5u + bytes[size - 1] * 3u;
    name *slot = &m->names[hash % CACHED_NAMES];
    if (slot->text && slot->size == size && memcmp(slot->bytes, bytes, (size_t)size) == 0) {
        Py_INCREF(slot->text);
        return slot->text;
    }
    PyObject *text = PyUnicode_DecodeUTF8((const char *)bytes, size, "surrogateescape");
    if (text) {
        Py_XDECREF(slot->text);
        Py_INCREF(text);
        slot->text = text;
        slot->size = size;
        memcpy(slot->bytes, bytes, (size_t)size);
    }
    return text;
}

static PyObject *bytes_of(maker *m, const ks_column *c, const uint8_t *base, int64_t row)
{
    const int64_t *span = m->c.bytes[c->index].spans + 2 * row;
    if (span[1] < 0) {
        Py_INCREF(Py_None);
        return Py_None;
    }
    if (m->text >> c->index & 1)
        return text_of(m, base + span[0], span[1]);
    return PyBytes_FromStringAndSize((const char *)base + span[0], span[1]);
}

/* The items of a list as tuples; one and the same empty tuple for none. */
static PyObject *items_of(maker *m, const ks_column *list, const uint8_t *base, int64_t row)
{
    const int32_t *offsets = m->c.lists[list->index].offsets;
    int64_t first = offsets[row], last = offsets[row + 1];
    if (first == last) {
        Py_INCREF(m->nothing);
        return m->nothing;
    }
    int parts[MOST_FIELDS];
    const int count = glue_parts(list, parts);
    PyObject *items = PyTuple_New((Py_ssize_t)(last - first));
    for (int64_t i = first; items && i < last; i++) {
        PyObject *item = PyTuple_New(count);
        for (int k = 0; item && k < count; k++) {
            PyObject *value = bytes_of(m, &ks_columns[parts[k]], base, i);
            if (value)
                put_item(m, item, k, value);
            else
                Py_CLEAR(item);
        }
        if (item) {
            PyObject_GC_UnTrack(item);
            put_item(m, items, (Py_ssize_t)(i - first), item);
        } else {
            Py_CLEAR(items);
        }
    }
    if (items)
        PyObject_GC_UnTrack(items);
    return items;
}

static PyObject *number_of(maker *m, int field, int64_t number)
{
    PyObject *last = m->number_object[field];
    if (!last || m->number[field] != number) {
        Py_XDECREF(last);
        last = m->number_object[field] = PyLong_FromLongLong(number);
        m->number[field] = number;
    }
    Py_XINCREF(last);
    return last;
}

/* Memory of a record as it comes, which nobody tracks and whose items are not set; where a type has
 * more to it than a tuple, the way that knows all types. */
static PyObject *new_record(const maker *m)
{
    PyObject *record = m->bare ? (PyObject *)PyObject_GC_NewVar(PyVarObject, m->type, m->plan.fields)
                               : m->allocate(m->type, m->plan.fields);
    if (record)
        memcpy((char *)record + sizeof(PyVarObject), m->fresh, m->fresh_size);
    return record;
}

/* One record. What is in it is immutable and refers to no container that could refer back, so the
 * collector need not look at it: as it does with plain tuples. */
PyObject *record_of(maker *m, const uint8_t *base, int64_t row)
{
    PyObject *values[MOST_FIELDS], *record = NULL;
    int made = 0;
    for (; made < m->plan.fields; made++) {
        const ks_column *c = &ks_columns[m->plan.column[made]];
        values[made] = c->kind == KS_INTEGER ? number_of(m, made, m->c.integers[c->index][row])
                       : c->kind == KS_LIST  ? items_of(m, c, base, row)
                                             : bytes_of(m, c, base, row);
        if (!values[made])
            break;
    }
    if (made == m->plan.fields)
        record = new_record(m);
    if (!record) {
        while (made > 0)
            Py_DECREF(values[--made]);
        return NULL;
    }
    for (int i = 0; i < made; i++)
        put_item(m, record, i, values[i]);
    if (!m->bare)
        PyObject_GC_UnTrack(record);
    return record;
}

static int append_records(maker *m, PyObject *list, const uint8_t *base)
{
    for (int64_t row = 0; row < m->c.out.rows; row++) {
        PyObject *record = record_of(m, base, row);
        if (!record)
            return -1;
        int status = PyList_Append(list, record);
        Py_DECREF(record);
        if (status < 0)
            return -1;
    }
    return 0;
}

/* All records that were decoded; the garbage collector would find nothing, again and again. */
static PyObject *records_of(maker *m, const uint8_t *base)
{
    int enabled = 0;
#ifndef Py_GIL_DISABLED /* what other threads want of the collector is theirs */
    enabled = PyGC_Disable();
#endif
    PyObject *list = PyList_New(0);
    if (list && append_records(m, list, base) < 0)
        Py_CLEAR(list);
    if (enabled)
        PyGC_Enable();
    return list;
}

void maker_reset(maker *m)
{
    m->c.out.rows = 0;
    for (int i = 0; i < ks_lists_count; i++) {
        m->c.lists[i].used = 0;
        if (m->c.lists[i].wanted)
            m->c.lists[i].offsets[0] = 0;
    }
}

int64_t maker_more_items(const maker *m)
{
    int64_t have = ks_lists_count ? m->c.lists[0].capacity : 0;
    return have > INT32_MAX / 4 ? -1 : 4 * have + 64;
}

/*
 * entry_objects(buffer, position, size, rows, flags, offset, shift, timestamp, time, type, plan,
 *               text) -> list or None
 *
 * Records of a run of entries that are one record each. `shift` is added to the column `offset`;
 * unless `timestamp` is -1, `time` is that of all records.
 */
PyObject *glue_entry_objects(PyObject *module, PyObject *args)
{
    PyObject *buffer, *type, *plan;
    long long position, size, rows, flags, shift, time;
    int offset, timestamp;
    unsigned long long text;
    (void)module;
    if (!PyArg_ParseTuple(args, "OLLLLiLiLOOK", &buffer, &position, &size, &rows, &flags, &offset,
                          &shift, &timestamp, &time, &type, &plan, &text))
        return NULL;
    if (offset < 0 || offset >= ks_columns_count || timestamp < -1 ||
        timestamp >= ks_columns_count || ks_columns[offset].kind != KS_INTEGER ||
        (timestamp >= 0 && ks_columns[timestamp].kind != KS_INTEGER))
        return PyErr_Format(PyExc_ValueError, "no such columns");
    glue_pins pins;
    maker m;
    PyObject *list = NULL;
    if (glue_pins_open(&pins, 1) < 0)
        return NULL;
    ks_buffer source;
    if (maker_open(&m, type, plan, text) < 0 ||
        !(source.bytes = glue_pin(&pins, buffer, 0, &source.size)))
        goto done;
    if (rows < 0 || rows > source.size) { /* an entry has more than one byte */
        PyErr_SetString(PyExc_ValueError, "rows out of range");
        goto done;
    }
    if (maker_room(&m, rows, 0) < 0)
        goto done;
    maker_reset(&m);
    int64_t batch[KS_BATCH_FIELDS] = {0}, failed, where;
    batch[KS_B_POSITION] = position;
    batch[KS_B_SIZE] = size;
    batch[KS_B_PAYLOAD] = -1;
    batch[KS_B_ROWS] = rows;
    batch[KS_B_FLAGS] = flags | KS_F_ENTRIES;
    if (ks_decode(&source, 1, batch, 0, 1, &m.c.out, &failed, &where) != KS_OK) {
        list = Py_NewRef(Py_None);
        goto done;
    }
    int64_t *offsets = m.c.integers[ks_columns[offset].index];
    int64_t *times = timestamp < 0 ? NULL : m.c.integers[ks_columns[timestamp].index];
    for (int64_t i = 0; offsets && i < rows; i++)
        offsets[i] = (int64_t)((uint64_t)offsets[i] + (uint64_t)shift);
    for (int64_t i = 0; times && i < rows; i++)
        times[i] = time;
    list = records_of(&m, source.bytes);
done:
    maker_close(&m);
    glue_pins_close(&pins);
    return list;
}

PyObject *glue_payload_objects(PyObject *module, PyObject *args)
{
    PyObject *header, *buffer, *type, *plan;
    long long rows;
    unsigned long long text;
    int number;
    (void)module;
    if (!PyArg_ParseTuple(args, "iOLOOOK", &number, &header, &rows, &buffer, &type, &plan, &text))
        return NULL;
    int64_t members[GLUE_MOST];
    const ks_kind *kind = glue_kind(number, header, members);
    if (!kind)
        return NULL;
    if (!kind->decode)
        return PyErr_Format(PyExc_ValueError, "there is no such batch");
    glue_pins pins;
    maker m;
    PyObject *list = NULL;
    if (glue_pins_open(&pins, 1) < 0)
        return NULL;
    ks_buffer payload;
    int64_t position = 0;
    int status = KS_IRREGULAR;
    if (maker_open(&m, type, plan, text) < 0 ||
        !(payload.bytes = glue_pin(&pins, buffer, 0, &payload.size)))
        goto done;
    /* A record has more than one byte: what claims more records than bytes is refused below. */
    int64_t room = rows < 0 ? 0 : rows < payload.size ? rows : payload.size;
    if (maker_room(&m, room, room) < 0)
        goto done;
    for (;;) {
        maker_reset(&m);
        status = kind->decode(members, &payload, &m.c.out, &position);
        if (status != KS_GROW || room < rows || maker_more_items(&m) < 0)
            break;
        if (maker_room(&m, room, maker_more_items(&m)) < 0)
            goto done;
    }
    if (status != KS_OK) {
        list = Py_None;
        Py_INCREF(list);
        goto done;
    }
    list = records_of(&m, payload.bytes);
done:
    maker_close(&m);
    glue_pins_close(&pins);
    return list;
}
