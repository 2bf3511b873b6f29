/* From header to header, of a buffer that may end within an entry, or of an open file. */
#include "glue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#ifndef _WIN32
#include <fcntl.h>
#include <unistd.h>
#endif

enum {
    LARGE = 1 << 12,      /* after an entry of this size, reading takes longer than a call */
    TOGETHER = 1 << 16,   /* bytes read at once where entries are smaller */
    APART = 1 << 16,      /* and between larger entries, nothing is worth being read ahead */
    LEAST_HINT = 1 << 14, /* bytes that the system is told to read ahead, at first and later */
    MOST_HINT = 1 << 21
};

/* What headers are taken from: bytes, or a file of which the last bytes read are kept. */
typedef struct {
    const uint8_t *bytes;
    int64_t start, end; /* of these bytes, in the input */
    int file;           /* its descriptor, -1 for none */
    uint8_t *room;
    int64_t hinted, hint;
} source;

#ifndef _WIN32
/* Tell the system what comes next. Of reads that leave gaps, it would not guess it, and a disk would
 * be asked for each header alone. */
static void tell(source *s, int64_t p, int64_t size)
{
#ifdef POSIX_FADV_WILLNEED
    if (s->hinted < p)
        s->hinted = p;
    if (size > APART)
        s->hint = LEAST_HINT;
    if (size <= APART && p + s->hint > s->hinted) {
        (void)posix_fadvise(s->file, (off_t)s->hinted, (off_t)s->hint, POSIX_FADV_WILLNEED);
        s->hinted += s->hint;
        s->hint = s->hint < MOST_HINT ? 2 * s->hint : MOST_HINT;
    }
#else
    (void)s, (void)p, (void)size;
#endif
}

static int64_t read_at(int file, uint8_t *out, int64_t size, int64_t p)
{
    int64_t done = 0;
    while (done < size) {
        const ssize_t count = pread(file, out + done, (size_t)(size - done), (off_t)(p + done));
        if (count <= 0 && !(count < 0 && errno == EINTR))
            break; /* whoever reads there next finds out why */
        done += count > 0 ? count : 0;
    }
    return done;
}
#endif

/* `size` bytes from `p` on; NULL if they are not there. `before`: bytes of the entry before them. */
static const uint8_t *at(source *s, int64_t p, int64_t size, int64_t limit, int64_t before)
{
    if (p < s->start || p > s->end || size > s->end - p) {
        if (s->file < 0)
            return NULL;
#ifndef _WIN32
        int64_t wanted = before < LARGE ? TOGETHER : size;
        if (wanted > limit - p)
            wanted = limit - p;
        tell(s, p, before);
        s->start = p;
        s->end = p + read_at(s->file, s->room, wanted, p);
        if (size > s->end - p)
            return NULL;
#endif
    }
    return s->bytes + (p - s->start);
}

/* The ends of entries go to ends[0..number], the first of which is where they begin. */
static int64_t hop(const ks_kind *kind, source *s, int64_t limit, int64_t capacity, int64_t *ends,
                   uint8_t *headers)
{
    const int64_t size = kind->header_size;
    int64_t before = LARGE, i = 0, p = ends[0];
    for (; i < capacity && size <= limit - p; i++) {
        const uint8_t *header = at(s, p, size, limit, before);
        before = header ? kind->hop(header) : -1;
        if (before < 0 || before > limit - p)
            break;
        memcpy(headers + i * size, header, (size_t)size);
        ends[i + 1] = p += before;
    }
    return i;
}

/*
 * hop(kind, source, position, limit, capacity) -> (positions, headers)
 *
 * The headers of regular entries of a kind, one after the other, as long as there are any, and where
 * the entries begin, then where the last one ends. source: a buffer that begins at position 0, or
 * the descriptor of a file, of which hardly more than the headers of large entries is read. limit:
 * where the input ends, which may be after the end of the buffer. Bytes that cannot be read end it.
 */
PyObject *glue_hop(PyObject *module, PyObject *args)
{
    PyObject *input;
    long long position, limit, capacity;
    int number;
    (void)module;
    if (!PyArg_ParseTuple(args, "iOLLL", &number, &input, &position, &limit, &capacity))
        return NULL;
    const ks_kind *kind = number >= 0 && number < ks_kinds_count ? &ks_kinds[number] : NULL;
    if (!kind || !kind->hop)
        return PyErr_Format(PyExc_ValueError, "headers of this kind have no fixed size");
    if (position < 0 || limit < position || capacity < 0)
        return PyErr_Format(PyExc_ValueError, "there are no such bytes");
    const int64_t room = (limit - position) / kind->header_size;
    capacity = capacity > room ? room : capacity;
    if (capacity > PY_SSIZE_T_MAX / 1024)
        return PyErr_Format(PyExc_ValueError, "capacity out of range");
    glue_pins pins;
    if (glue_pins_open(&pins, 1) < 0)
        return NULL;
    PyObject *result = NULL, *ends = NULL, *headers = NULL;
    source s = {NULL, position, position, -1, NULL, position, LEAST_HINT};
    if (PyLong_Check(input)) {
#ifdef _WIN32
        PyErr_SetString(PyExc_ValueError, "files are not read here");
#else
        s.file = (int)PyLong_AsLong(input);
        s.bytes = s.room = PyMem_Malloc(TOGETHER);
        if (!s.room)
            PyErr_NoMemory();
#endif
    } else {
        s.start = 0;
        s.bytes = glue_pin(&pins, input, 0, &s.end);
    }
    if (!PyErr_Occurred())
        ends = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)(8 * (capacity + 1)));
    if (ends)
        headers = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)(capacity * kind->header_size));
    if (headers) {
        int64_t *places = (int64_t *)PyByteArray_AsString(ends), count;
        uint8_t *out = (uint8_t *)PyByteArray_AsString(headers);
        places[0] = position;
        Py_BEGIN_ALLOW_THREADS
        count = hop(kind, &s, limit, capacity, places, out);
        Py_END_ALLOW_THREADS
        if (PyByteArray_Resize(ends, (Py_ssize_t)(8 * (count + 1))) == 0 &&
            PyByteArray_Resize(headers, (Py_ssize_t)(count * kind->header_size)) == 0)
            result = Py_BuildValue("OO", ends, headers);
    }
    Py_XDECREF(ends);
    Py_XDECREF(headers);
    PyMem_Free(s.room);
    glue_pins_close(&pins);
    return result;
}
