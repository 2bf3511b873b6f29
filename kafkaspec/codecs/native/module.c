/* The extension module: tables of the generated core, scans, checksums. */
#include "glue.h"

#include <stdlib.h>
#include <string.h>

#include "compression.h"

PyDoc_STRVAR(scan_doc,
             "scan(buffer, start, end, columns, present, capacity) -> (status, count, position)\n\n"
             "Headers of the entries of a buffer; column k of entry i is columns[k * capacity + i].");

static PyObject *glue_scan(PyObject *module, PyObject *args)
{
    PyObject *buffer, *columns, *present;
    long long start, end, capacity;
    (void)module;
    if (!PyArg_ParseTuple(args, "OLLOOL", &buffer, &start, &end, &columns, &present, &capacity))
        return NULL;
    if (capacity < 0 || capacity > PY_SSIZE_T_MAX / 1024)
        return PyErr_Format(PyExc_ValueError, "capacity out of range");
    glue_pins pins;
    if (glue_pins_open(&pins, 3) < 0)
        return NULL;
    PyObject *result = NULL;
    int64_t size = 0, count = 0, position = start;
    const uint8_t *bytes = glue_pin(&pins, buffer, 0, &size);
    int64_t *out = bytes ? glue_pin_sized(&pins, columns, 1, 8 * capacity * ks_scan_count) : NULL;
    uint64_t *have = out ? glue_pin_sized(&pins, present, 1, 8 * capacity) : NULL;
    if (have && (start < 0 || start > end || end > size))
        PyErr_SetString(PyExc_ValueError, "start and end are not in the buffer");
    else if (have) {
        int status;
        Py_BEGIN_ALLOW_THREADS
        status = ks_scan(bytes, start, end, out, capacity, have, &count, &position);
        Py_END_ALLOW_THREADS
        result = Py_BuildValue("iLL", status, (long long)count, (long long)position);
    }
    glue_pins_close(&pins);
    return result;
}

static PyObject *checksum_of(PyObject *buffer, uint32_t (*function)(const uint8_t *, int64_t))
{
    Py_buffer view;
    if (PyObject_GetBuffer(buffer, &view, PyBUF_SIMPLE) < 0)
        return NULL;
    uint32_t crc;
    const uint8_t *bytes = view.buf;
    int64_t size = view.len;
    if (size < 4096) {
        crc = function(bytes, size);
    } else {
        Py_BEGIN_ALLOW_THREADS
        crc = function(bytes, size);
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&view);
    return PyLong_FromUnsignedLong(crc);
}

static PyObject *glue_crc32c(PyObject *module, PyObject *buffer)
{
    (void)module;
    return checksum_of(buffer, ks_crc32c);
}

static PyObject *glue_crc32(PyObject *module, PyObject *buffer)
{
    (void)module;
    return checksum_of(buffer, ks_crc32);
}

PyDoc_STRVAR(checksums_doc,
             "checksums(kernel, data) -> (crc32c, crc32)\n\n"
             "Both checksums by one of CRC_KERNELS, for tests.");

static PyObject *glue_checksums(PyObject *module, PyObject *args)
{
    int number;
    Py_buffer view;
    (void)module;
    if (!PyArg_ParseTuple(args, "iy*", &number, &view))
        return NULL;
    PyObject *result = NULL;
    if (number < 0 || number >= ks_crc_kernels())
        PyErr_SetString(PyExc_ValueError, "no such kernel");
    else
        result = Py_BuildValue("kk", (unsigned long)ks_crc32c_by(number, view.buf, view.len),
                               (unsigned long)ks_crc32_by(number, view.buf, view.len));
    PyBuffer_Release(&view);
    return result;
}

PyDoc_STRVAR(count_doc,
             "count(values, rows, value) -> number\n\n"
             "How many of the first rows of a column of integers have a value.");

static PyObject *glue_count(PyObject *module, PyObject *args)
{
    PyObject *values;
    long long rows, value;
    (void)module;
    if (!PyArg_ParseTuple(args, "OLL", &values, &rows, &value))
        return NULL;
    if (rows < 0 || rows > PY_SSIZE_T_MAX / 8)
        return PyErr_Format(PyExc_ValueError, "rows out of range");
    glue_pins pins;
    if (glue_pins_open(&pins, 1) < 0)
        return NULL;
    PyObject *result = NULL;
    const int64_t *items = glue_pin_sized(&pins, values, 0, 8 * rows);
    if (items) {
        int64_t found = 0;
        for (int64_t i = 0; i < rows; i++)
            found += items[i] == value;
        result = PyLong_FromLongLong(found);
    }
    glue_pins_close(&pins);
    return result;
}

PyDoc_STRVAR(memory_doc,
             "memory(size) -> bytearray\n\n"
             "Memory that is not cleared, which would take as long as to fill it.");

static PyObject *glue_memory(PyObject *module, PyObject *size)
{
    (void)module;
    const Py_ssize_t count = PyLong_AsSsize_t(size);
    if (count == -1 && PyErr_Occurred())
        return NULL;
    if (count < 0)
        return PyErr_Format(PyExc_ValueError, "negative size");
    return PyByteArray_FromStringAndSize(NULL, count);
}

static PyMethodDef methods[] = {
    {"scan", glue_scan, METH_VARARGS, scan_doc},
    {"decode", glue_decode, METH_VARARGS, "Records of batches into columns."},
    {"whole", glue_whole, METH_VARARGS, "Records that a payload begins with."},
    {"entry_objects", glue_entry_objects, METH_VARARGS, "Records of a run of entries as objects."},
    {"payload_objects", glue_payload_objects, METH_VARARGS, "Records of one payload as objects."},
    {"name_items", glue_name_items, METH_O, "Read the items of a tuple type by name in place."},
    {"select", glue_select, METH_VARARGS, "Descriptions of the batches that are wanted."},
    {"survey", glue_survey, METH_VARARGS, "What the entries of a buffer have in common."},
    {"adjust", glue_adjust, METH_VARARGS, "Add to rows of a column of integers, or set them."},
    {"inspect", glue_inspect, METH_VARARGS, "What the records of batches have in common."},
    {"mark", glue_mark, METH_VARARGS, "Rows of columns of integers for which clauses do not hold."},
    {"fill", glue_fill, METH_VARARGS, "Rows of a column of integers that have no value."},
    {"follow", glue_follow, METH_VARARGS, "How many batches agree with the entries of an index."},
    {"widen", glue_widen, METH_VARARGS, "Integers of the entries of an array, in 64 bits."},
    {"key_digests", glue_key_digests, METH_VARARGS, "The MD5 of each value of a column."},
    {"keys_put", glue_keys_put, METH_VARARGS, "Put keys and their last offsets into a table."},
    {"keys_judge", glue_keys_judge, METH_VARARGS, "Which rows a table of keys supersedes."},
    {"fits", glue_fits, METH_VARARGS, "Which byte strings of a column fit a pattern."},
    {"same", glue_same, METH_VARARGS, "Whether rows of two columns are the same."},
    {"wire_check", glue_wire_check, METH_VARARGS, "Which rows are messages of Protobuf."},
    {"count", glue_count, METH_VARARGS, count_doc},
    {"memory", glue_memory, METH_O, memory_doc},
    {"hashes", glue_hashes, METH_VARARGS, "Keyed hashes of rows of byte strings."},
    {"json_read", glue_json_read, METH_VARARGS, "JSON texts of one type to columns."},
    {"json_lines", glue_json_lines, METH_VARARGS, "Rows of columns as lines of JSON."},
    {"encode", glue_encode, METH_VARARGS, "Columns as bytes."},
    {"encode_objects", glue_encode_objects, METH_VARARGS, "Record objects as bytes."},
    {"intact", glue_intact, METH_VARARGS, "How many of the first entries have their checksum."},
    {"seek", glue_seek, METH_VARARGS, "Places at which an entry may begin."},
    {"hop", glue_hop, METH_VARARGS, "Headers that come one after the other."},
    {"headed", glue_headed, METH_VARARGS, "Headers before payloads that are in place."},
    {"unpack", glue_unpack, METH_VARARGS, "Decompress the payloads of many entries."},
    {"decompress", glue_decompress, METH_VARARGS, "Decompress one payload into memory."},
    {"compress", glue_compress, METH_VARARGS, "Compress many payloads."},
    {"find_libraries", glue_find_libraries, METH_O, "Find the libraries again, for tests."},
    {"parts", glue_parts_of, METH_VARARGS, "Parts of batches of at most so many bytes."},
    {"joined", glue_joined, METH_VARARGS, "Parts of batches put together."},
    {"encode_groups", glue_encode_groups, METH_VARARGS, "Groups of rows as payloads."},
    {"messages_decode", glue_messages_decode, METH_VARARGS, "Messages into columns."},
    {"messages_encode", glue_messages_encode, METH_VARARGS, "Columns into messages."},
    {"messages_texts", glue_messages_texts, METH_VARARGS, "Messages as texts."},
    {"crc32c", glue_crc32c, METH_O, "CRC-32C of a buffer."},
    {"crc32", glue_crc32, METH_O, "CRC-32 of a buffer."},
    {"checksums", glue_checksums, METH_VARARGS, checksums_doc},
    {NULL, NULL, 0, NULL},
};

static PyObject *names_tuple(const char *const *names, int count)
{
    PyObject *tuple = PyTuple_New(count);
    for (int i = 0; tuple && i < count; i++) {
        PyObject *name = PyUnicode_FromString(names[i]);
        if (!name || PyTuple_SetItem(tuple, i, name) < 0)
            Py_CLEAR(tuple);
    }
    return tuple;
}

/* Put into a tuple what may be NULL; the tuple is lost on failure. */
static PyObject *set_item(PyObject *tuple, int i, PyObject *item)
{
    if (!item || PyTuple_SetItem(tuple, i, item) < 0) {
        Py_DECREF(tuple);
        return NULL;
    }
    return tuple;
}

static PyObject *columns_table(void)
{
    PyObject *table = PyTuple_New(ks_columns_count);
    for (int i = 0; table && i < ks_columns_count; i++) {
        const ks_column *c = &ks_columns[i];
        table = set_item(table, i, Py_BuildValue("siii", c->name, c->kind, c->index, c->list));
    }
    return table;
}

static PyObject *kinds_table(void)
{
    PyObject *table = PyTuple_New(ks_kinds_count);
    for (int i = 0; table && i < ks_kinds_count; i++) {
        const ks_kind *k = &ks_kinds[i];
        PyObject *names = names_tuple(k->names, k->members);
        table = set_item(table, i,
                         names ? Py_BuildValue("sNKiLL", k->key, names, (unsigned long long)k->used,
                                               k->is_batch, (long long)k->record_size,
                                               (long long)k->header_size)
                               : NULL);
    }
    return table;
}

static int add(PyObject *module, const char *name, PyObject *value)
{
    int status = value ? PyModule_AddObjectRef(module, name, value) : -1;
    Py_XDECREF(value);
    return status;
}

static int add_libraries(PyObject *module)
{
    const char *wanted = getenv("KAFKASPEC_LIBRARIES"); /* WITHOUT of kafkaspec/extension.py */
    const int which = wanted && strcmp(wanted, "none") == 0 ? KS_USE_NONE : KS_USE_ALL;
    PyObject *number = PyLong_FromLong(which);
    PyObject *found = number ? glue_find_libraries(module, number) : NULL;
    int status = -1;
    if (found)
        status = PyModule_AddObjectRef(module, "CODECS", PyTuple_GetItem(found, 0));
    if (status == 0)
        status = PyModule_AddObjectRef(module, "MISSING", PyTuple_GetItem(found, 1));
    Py_XDECREF(number);
    Py_XDECREF(found);
    return status;
}

#ifndef KS_SOURCES
#error "KS_SOURCES is to be the hash of all sources; see kafkaspec/extension.py"
#endif
#define TEXT_OF(macro) #macro
#define TEXT(macro) TEXT_OF(macro)

static int prepare(PyObject *module)
{
    glue_json_open();
    glue_messages_open();
    static const struct {
        const char *name;
        int value;
    } constants[] = {
        {"OK", KS_OK},         {"IRREGULAR", KS_IRREGULAR}, {"CHECKSUM", KS_CHECKSUM},
        {"GROW", KS_GROW},     {"SHORT", KS_SHORT},         {"RANGE", KS_RANGE},
        {"INTEGER", KS_INTEGER}, {"BYTES", KS_BYTES},       {"NULLABLE_BYTES", KS_NULLABLE_BYTES},
        {"LIST", KS_LIST},     {"VIEW", KS_VIEW},           {"BINARY", KS_BINARY},
        {"SPAN", KS_SPAN},     {"SLACK", KS_SLACK}, {"MOST_ITEMS", KS_MOST_ITEMS},
                {"BATCH_FIELDS", KS_BATCH_FIELDS},
        {"VERIFY", KS_F_CHECKSUM}, {"ENTRIES", KS_F_ENTRIES},
        {"POSITION", KS_B_POSITION}, {"SIZE", KS_B_SIZE}, {"PAYLOAD", KS_B_PAYLOAD},
        {"PAYLOAD_POSITION", KS_B_PAYLOAD_POSITION}, {"PAYLOAD_SIZE", KS_B_PAYLOAD_SIZE},
        {"ROWS", KS_B_ROWS}, {"FLAGS", KS_B_FLAGS},
        {"BOUNDED", KS_S_BOUNDED}, {"CONTROL", KS_S_CONTROL}, {"APART", KS_S_APART}, {"JOINED", KS_S_JOINED},
        {"CUT", KS_S_CUT},
        {"COMPRESSED", KS_S_COMPRESSED}, {"UNTIMED", KS_S_UNTIMED}, {"ENDED", KS_S_ENDED},
        {"OTHERWISE", KS_S_OTHERWISE}, {"MARKERS", KS_S_MARKERS},
        {"ARENA", GLUE_ARENA}, {"MOST_BYTES", KS_MOST_BYTES}, {"OTHER_FORM", KS_OTHER_FORM}, {"NO_ROOM", KS_NO_ROOM},
        {"LINE_PIECES", GLUE_LINE_PIECES}, {"LINE_DEPTH", GLUE_LINE_DEPTH},
        {"PATTERN_PARTS", GLUE_PATTERN_PARTS},
        {"USE_NONE", KS_USE_NONE}, {"USE_LOADED", KS_USE_LOADED}, {"USE_ALL", KS_USE_ALL},
    };
    int most = ks_bytes_count > ks_lists_count ? ks_bytes_count : ks_lists_count;
    for (int i = 0; i < ks_kinds_count; i++)
        most = ks_kinds[i].members > most ? ks_kinds[i].members : most;
    if (ks_integers_count > GLUE_INTEGERS || most > GLUE_MOST) {
        PyErr_SetString(PyExc_ImportError, "the specification has more fields than the core holds");
        return -1;
    }
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
        if (PyModule_AddIntConstant(module, constants[i].name, constants[i].value) < 0)
            return -1;
    if (add(module, "COLUMNS", columns_table()) < 0 || add(module, "KINDS", kinds_table()) < 0 ||
        add(module, "SCAN", names_tuple(ks_scan_names, ks_scan_count)) < 0)
        return -1;
    if (add_libraries(module) < 0)
        return -1;
    if (add(module, "Memory", glue_memory_type(module)) < 0)
        return -1;
    if (add(module, "Records", glue_records_type(module)) < 0)
        return -1;
    if (PyModule_AddStringConstant(module, "SPECIFICATION", KS_SPECIFICATION) < 0 ||
        PyModule_AddStringConstant(module, "NOT_INSTALLED", KS_NOT_INSTALLED) < 0 ||
        PyModule_AddStringConstant(module, "SOURCES", TEXT(KS_SOURCES)) < 0)
        return -1;
    const char *kernels[8];
    const int found = ks_crc_kernels();
    for (int i = 0; i < found; i++)
        kernels[i] = ks_crc_kernel(i);
    return add(module, "CRC_KERNELS", names_tuple(kernels, found));
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, prepare},
#ifdef Py_GIL_DISABLED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_native", "The native codec's core.", 0, methods, slots, NULL, NULL,
    NULL,
};

PyMODINIT_FUNC PyInit__native(void)
{
    return PyModuleDef_Init(&definition);
}
