/* Many payloads in one call, decompressed or compressed without the GIL. */
#include "glue.h"

#include <stdlib.h>
#include <string.h>

#include "compression.h"

/* Compressions have numbers below it; a specification with more of them is served by Python. */
enum { MOST_FORMS = 16 };

typedef struct {
    int codec; /* number in ks_codecs, -1 for none */
    ks_framing framing;
} form;

/* The form of a tuple (codec, start, header, block), or of None; it points into the tuple. */
static int form_of(PyObject *tuple, form *out)
{
    long long header, block;
    const char *start;
    Py_ssize_t size;
    out->codec = -1;
    if (tuple == Py_None)
        return 0;
    if (!PyTuple_Check(tuple))
        return PyErr_Format(PyExc_TypeError, "a form is a tuple"), -1;
    if (!PyArg_ParseTuple(tuple, "iy#LL", &out->codec, &start, &size, &header, &block))
        return -1;
    if (out->codec < 0 || out->codec >= ks_codecs_count || header < size || header > 64 ||
        block < 1 || block > KS_MOST_BYTES)
        return PyErr_Format(PyExc_ValueError, "no such form"), -1;
    out->framing = (ks_framing){(const uint8_t *)start, size, header, block};
    return 0;
}

/* Forms by number of the compression. */
static int forms_of(PyObject *tuple, form out[MOST_FORMS])
{
    for (int i = 0; i < MOST_FORMS; i++)
        out[i].codec = -1;
    const Py_ssize_t count = PyTuple_Check(tuple) ? PyTuple_Size(tuple) : MOST_FORMS + 1;
    if (count > MOST_FORMS)
        return PyErr_Format(PyExc_ValueError, "a tuple of up to %d forms is needed", MOST_FORMS), -1;
    for (Py_ssize_t i = 0; i < count; i++)
        if (form_of(PyTuple_GetItem(tuple, i), &out[i]) < 0)
            return -1;
    return 0;
}

/*
 * decompress(form, payload, most) -> bytes or None
 *
 * Decompress one payload; None if it is left to the caller, as one with more output than `most`.
 */
PyObject *glue_decompress(PyObject *module, PyObject *args)
{
    PyObject *tuple, *payload;
    long long most;
    form f;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOL", &tuple, &payload, &most) || form_of(tuple, &f) < 0)
        return NULL;
    if (f.codec < 0 || most < 0 || most > KS_MOST_BYTES)
        return PyErr_Format(PyExc_ValueError, "no form, or too much output");
    glue_pins pins;
    if (glue_pins_open(&pins, 1) < 0)
        return NULL;
    PyObject *result = NULL;
    int64_t size = 0, made;
    const uint8_t *in = glue_pin(&pins, payload, 0, &size);
    uint8_t *out = in ? malloc((size_t)most + 1) : NULL;
    if (in && !out)
        PyErr_NoMemory();
    if (out) {
        ks_contexts contexts = {0};
        Py_BEGIN_ALLOW_THREADS
        made = ks_decompress(f.codec, &contexts, &f.framing, in, size, out, most);
        ks_contexts_close(&contexts);
        Py_END_ALLOW_THREADS
        result = made < 0 ? Py_NewRef(Py_None)
                          : PyBytes_FromStringAndSize((const char *)out, (Py_ssize_t)made);
        free(out);
    }
    glue_pins_close(&pins);
    return result;
}

/* A table as scan fills it, as far as it is needed here. */
typedef struct {
    const int64_t *values;
    int64_t capacity, count;
} table;

/* The number of the entry at a position; the count if there is none. */
static int64_t entry_at(const table *t, int64_t position)
{
    const int64_t *positions = t->values + KS_SCAN_POSITION * t->capacity;
    int64_t low = 0, high = t->count;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (positions[middle] < position)
            low = middle + 1;
        else
            high = middle;
    }
    return low < t->count && positions[low] == position ? low : t->count;
}

/* Whether so many bytes can hold the records that the header of a batch claims. */
static int can_hold(const table *t, const int64_t *b, int64_t size)
{
    const int64_t entry = entry_at(t, b[KS_B_POSITION]);
    const int64_t kind = entry < t->count ? t->values[KS_SCAN_KIND * t->capacity + entry] : -1;
    return glue_is_batch(kind) && b[KS_B_ROWS] <= size / ks_kinds[kind].record_size;
}

typedef struct {
    uint8_t *bytes;
    int64_t size, used, most;
} arena;

/* Decompress payloads one after the other; why it ended, with *next at the entry it ended at. */
static int unpack(const uint8_t *region, int64_t size, const table *t, int64_t *batches,
                  int64_t number, const form forms[2][MOST_FORMS], arena *a, int64_t *next)
{
    ks_contexts contexts = {0};
    int status = KS_OK;
    for (; *next < number; ++*next) {
        int64_t *b = batches + *next * KS_BATCH_FIELDS;
        if (b[KS_B_PAYLOAD] >= -1)
            continue; /* the records are in the entry */
        const int wrapped = b[KS_B_ROWS] < 0;
        const int64_t start = b[KS_B_PAYLOAD_POSITION], length = b[KS_B_PAYLOAD_SIZE];
        const int64_t left = a->size - a->used, room = left < a->most ? left : a->most;
        status = KS_OTHER_FORM;
        if (b[KS_B_PAYLOAD] < -MOST_FORMS || start < 0 || length < 0 || length > size ||
            start > size - length)
            break;
        const form *f = &forms[wrapped][-1 - b[KS_B_PAYLOAD]];
        if (f->codec < 0)
            break;
        const int64_t made = ks_decompress(f->codec, &contexts, &f->framing, region + start, length,
                                           a->bytes + a->used, room);
        if (made < 0) {
            /* With as much room as any payload may have it is not the room. */
            status = made == KS_NO_ROOM && left < a->most ? KS_NO_ROOM : KS_OTHER_FORM;
            break;
        }
        if (!wrapped && !can_hold(t, b, made))
            break;
        status = KS_OK;
        b[KS_B_PAYLOAD] = GLUE_ARENA;
        b[KS_B_PAYLOAD_POSITION] = a->used;
        b[KS_B_PAYLOAD_SIZE] = made;
        a->used += made;
    }
    ks_contexts_close(&contexts);
    return status;
}

/*
 * unpack(region, values, capacity, count, batches, next, arena, used, most, forms, inner)
 *     -> (next, used, status)
 *
 * Decompress the payloads of descriptions that select made, from `next` on, into an arena of which
 * some bytes are used. values, capacity, count: the table that select was given. most: most bytes of
 * one payload. forms, inner: forms of the payloads of batches and of wrappers, by number of the
 * compression. It ends at the first payload that it leaves to the caller: one in another form, one
 * for which there is perhaps no room (NO_ROOM), or records that cannot all be in it.
 */
PyObject *glue_unpack(PyObject *module, PyObject *args)
{
    PyObject *region, *values, *batches, *memory, *outer, *inner;
    long long capacity, count, next, used, most;
    form forms[2][MOST_FORMS];
    (void)module;
    if (!PyArg_ParseTuple(args, "OOLLOLOLLOO", &region, &values, &capacity, &count, &batches, &next,
                          &memory, &used, &most, &outer, &inner))
        return NULL;
    if (forms_of(outer, forms[0]) < 0 || forms_of(inner, forms[1]) < 0)
        return NULL;
    if (count < 0 || count > capacity || capacity > PY_SSIZE_T_MAX / 1024 || next < 0 || used < 0 ||
        most < 0)
        return PyErr_Format(PyExc_ValueError, "no such table");
    glue_pins pins;
    if (glue_pins_open(&pins, 4) < 0)
        return NULL;
    PyObject *result = NULL;
    int64_t size = 0, room = 0, described = 0, reached = next;
    const uint8_t *bytes = glue_pin(&pins, region, 0, &size);
    const int64_t *v = bytes ? glue_pin_sized(&pins, values, 0, 8 * capacity * ks_scan_count) : NULL;
    int64_t *b = v ? glue_pin(&pins, batches, 1, &described) : NULL;
    uint8_t *out = b ? glue_pin(&pins, memory, 1, &room) : NULL;
    if (out && used > room)
        PyErr_SetString(PyExc_ValueError, "more of the arena is used than there is");
    else if (out) {
        const table t = {v, capacity, count};
        arena a = {out, room, used, most};
        int status;
        Py_BEGIN_ALLOW_THREADS
        status = unpack(bytes, size, &t, b, described / (8 * KS_BATCH_FIELDS), forms, &a, &reached);
        Py_END_ALLOW_THREADS
        result = Py_BuildValue("LLi", (long long)reached, (long long)a.used, status);
    }
    glue_pins_close(&pins);
    return result;
}

/* Bytes that payloads have at most when they are compressed; -1 with an exception set. */
static int64_t most_of(const form *f, const int64_t *places, int64_t count, int64_t size,
                       int64_t gap)
{
    int64_t most = 0;
    for (int64_t i = 0; i < count; i++) {
        const int64_t start = places[2 * i], length = places[2 * i + 1];
        if (start < 0 || length < 0 || length > size || start > size - length ||
            length > KS_MOST_BYTES || most > PY_SSIZE_T_MAX / 2) {
            PyErr_SetString(PyExc_ValueError, "a place is not in the data");
            return -1;
        }
        most += gap + ks_codecs[f->codec].most(&f->framing, length);
    }
    return most;
}

/*
 * compress(form, level, data, places, gap, ends) -> bytearray
 *
 * Compress parts of some data, one after the other. places: position and size of each part, 64-bit
 * integers. gap: bytes before each payload that are left as they are. ends: room for the positions at
 * which payloads end in the result.
 */
PyObject *glue_compress(PyObject *module, PyObject *args)
{
    PyObject *tuple, *data, *parts, *stops;
    int level, gap;
    form f;
    (void)module;
    if (!PyArg_ParseTuple(args, "OiOOiO", &tuple, &level, &data, &parts, &gap, &stops) ||
        form_of(tuple, &f) < 0)
        return NULL;
    if (f.codec < 0 || gap < 0)
        return PyErr_Format(PyExc_ValueError, "no form");
    glue_pins pins;
    if (glue_pins_open(&pins, 3) < 0)
        return NULL;
    PyObject *result = NULL;
    int64_t size = 0, described = 0;
    const uint8_t *in = glue_pin(&pins, data, 0, &size);
    const int64_t *places = in ? glue_pin(&pins, parts, 0, &described) : NULL;
    const int64_t count = described / 16;
    int64_t *ends = places ? glue_pin_sized(&pins, stops, 1, 8 * count) : NULL;
    const int64_t most = ends ? most_of(&f, places, count, size, gap) : -1;
    if (most >= 0)
        result = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)most);
    if (result) {
        uint8_t *out = (uint8_t *)PyByteArray_AsString(result);
        const ks_codec *codec = &ks_codecs[f.codec];
        ks_contexts contexts = {0};
        int64_t used = 0, made = 0;
        Py_BEGIN_ALLOW_THREADS
        for (int64_t i = 0; i < count && made >= 0; i++) {
            used += gap;
            made = codec->compress(&contexts, &f.framing, level, in + places[2 * i],
                                   places[2 * i + 1], out + used);
            used += made;
            ends[i] = used;
        }
        ks_contexts_close(&contexts);
        Py_END_ALLOW_THREADS
        if (made < 0)
            PyErr_NoMemory();
        if (made < 0 || PyByteArray_Resize(result, (Py_ssize_t)used) < 0)
            Py_CLEAR(result);
    }
    glue_pins_close(&pins);
    return result;
}

/* (name of the codec, library, version) of those that serve. */
static PyObject *serving(void)
{
    PyObject *tuple = PyTuple_New(ks_codecs_count);
    for (int i = 0; tuple && i < ks_codecs_count; i++) {
        const ks_library *library = ks_codecs[i].library;
        PyObject *item = Py_BuildValue("sss", ks_codecs[i].name, library->name, library->version);
        if (!item || PyTuple_SetItem(tuple, i, item) < 0)
            Py_CLEAR(tuple);
    }
    return tuple;
}

/* (library, why) of those that do not. */
static PyObject *missing(void)
{
    PyObject *tuple = PyTuple_New(KS_LIBRARIES - ks_codecs_count);
    Py_ssize_t at = 0;
    for (int i = 0; tuple && i < KS_LIBRARIES; i++) {
        if (!ks_libraries[i].why[0])
            continue;
        const char *why = ks_libraries[i].why; /* with a path perhaps, and cut anywhere */
        PyObject *text = PyUnicode_DecodeUTF8(why, (Py_ssize_t)strlen(why), "replace");
        PyObject *item = text ? Py_BuildValue("sN", ks_libraries[i].name, text) : NULL;
        if (!item || PyTuple_SetItem(tuple, at++, item) < 0)
            Py_CLEAR(tuple);
    }
    return tuple;
}

/*
 * find_libraries(which) -> (codecs, missing)
 *
 * Find the libraries, as when the module is imported; for tests, while nothing uses them.
 */
PyObject *glue_find_libraries(PyObject *module, PyObject *which)
{
    (void)module;
    const long number = PyLong_AsLong(which);
    if (number == -1 && PyErr_Occurred())
        return NULL;
    ks_codecs_find((int)number);
    PyObject *codecs = serving(), *others = codecs ? missing() : NULL;
    if (!others) {
        Py_XDECREF(codecs);
        return NULL;
    }
    return Py_BuildValue("NN", codecs, others);
}
