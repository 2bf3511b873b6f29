/* Whole entries: whether their checksums hold, and headers before payloads that are in place. */
#include "glue.h"

/*
 * intact(buffer, start, positions, sizes, checksums, count, skip, castagnoli) -> number
 *
 * How many of the first entries have the checksum that they hold: CRC-32C or CRC-32 of all but their
 * first `skip` bytes. Positions count from `start` bytes before the buffer.
 */
PyObject *glue_intact(PyObject *module, PyObject *args)
{
    PyObject *buffer, *columns[3];
    long long start, count, skip;
    int castagnoli;
    (void)module;
    if (!PyArg_ParseTuple(args, "OLOOOLLp", &buffer, &start, &columns[0], &columns[1], &columns[2],
                          &count, &skip, &castagnoli))
        return NULL;
    if (count < 0 || count > PY_SSIZE_T_MAX / 8 || skip < 0 || start < 0)
        return PyErr_Format(PyExc_ValueError, "there are no such entries");
    glue_pins pins;
    if (glue_pins_open(&pins, 4) < 0)
        return NULL;
    PyObject *result = NULL;
    int64_t size = 0, i = 0;
    const int64_t *column[3] = {NULL, NULL, NULL};
    const uint8_t *bytes = glue_pin(&pins, buffer, 0, &size);
    int ready = bytes != NULL;
    for (int k = 0; ready && k < 3; k++)
        ready = (column[k] = glue_pin_sized(&pins, columns[k], 0, 8 * count)) != NULL;
    if (ready) {
        uint32_t (*const sum)(const uint8_t *, int64_t) = castagnoli ? ks_crc32c : ks_crc32;
        int outside = 0;
        Py_BEGIN_ALLOW_THREADS
        for (; i < count; i++) {
            const int64_t at = column[0][i], length = column[1][i];
            outside = at < start || at - start > size || length < skip ||
                      length > size - (at - start);
            if (outside ||
                sum(bytes + (at - start) + skip, length - skip) != (uint32_t)column[2][i])
                break;
        }
        Py_END_ALLOW_THREADS
        result = outside ? PyErr_Format(PyExc_ValueError, "an entry is not in the buffer")
                         : PyLong_FromLongLong(i);
    }
    glue_pins_close(&pins);
    return result;
}

/*
 * headed(kind, values, capacity, count, members, out, ends) -> number
 *
 * Writes headers of batches before payloads that lie in `out`, with sizes and checksums; returns how
 * many it wrote before one that a number does not fit. values, capacity, count: a table as scan fills
 * it, changed or not; members: its columns that a header of that kind consists of. ends: where each
 * payload ends, after which there is room for the next header.
 */
PyObject *glue_headed(PyObject *module, PyObject *args)
{
    PyObject *values, *members, *out, *ends;
    long long capacity, count;
    int number;
    (void)module;
    if (!PyArg_ParseTuple(args, "iOLLOOO", &number, &values, &capacity, &count, &members, &out,
                          &ends))
        return NULL;
    const ks_kind *kind = number >= 0 && number < ks_kinds_count ? &ks_kinds[number] : NULL;
    if (!kind || !kind->finish)
        return PyErr_Format(PyExc_ValueError, "the core writes no header of this kind");
    int64_t place[GLUE_MOST];
    if (glue_roles(members, place, kind->members, count, capacity) < 0)
        return NULL;
    glue_pins pins;
    if (glue_pins_open(&pins, 3) < 0)
        return NULL;
    PyObject *result = NULL;
    int64_t size = 0, i = 0, from = 0;
    const int64_t *v = glue_pin_sized(&pins, values, 0, 8 * capacity * ks_scan_count);
    uint8_t *bytes = v ? glue_pin(&pins, out, 1, &size) : NULL;
    const int64_t *end = bytes ? glue_pin_sized(&pins, ends, 0, 8 * count) : NULL;
    if (end) {
        int outside = 0, status = KS_OK;
        Py_BEGIN_ALLOW_THREADS
        for (; i < count; i++) {
            const int64_t to = end[i];
            outside = to < from || to > size || to - from < kind->header_size;
            if (outside)
                break;
            int64_t header[GLUE_MOST];
            for (int k = 0; k < kind->members; k++)
                header[k] = v[place[k] * capacity + i];
            status = kind->finish(header, bytes + from, to - from - kind->header_size);
            if (status != KS_OK)
                break;
            from = to;
        }
        Py_END_ALLOW_THREADS
        result = outside ? PyErr_Format(PyExc_ValueError, "a payload is not in the buffer")
                         : PyLong_FromLongLong(i);
    }
    glue_pins_close(&pins);
    return result;
}
