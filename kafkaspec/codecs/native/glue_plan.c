/* From a table of headers to chunks of batches that one call decodes. */
#include "glue.h"

#include <string.h>

/*
 * plan(values, present, capacity, count, rows, compression, most, flags, batches)
 *   -> [(first, last, start, end, rows, compressed), ...]
 *
 * values, present, capacity, count: a table as scan fills it. rows, compression: its columns of
 * these meanings. most: bytes of a chunk, a compressed batch counted four times. batches: room for
 * the descriptions of all entries, in terms of the chunk's first byte. What is compressed has -2
 * for its payload, which the caller replaces.
 */
PyObject *glue_plan(PyObject *module, PyObject *args)
{
    PyObject *values, *present, *batches;
    long long capacity, count, most;
    int rows_column, compression_column, flags;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOLLiiLiO", &values, &present, &capacity, &count, &rows_column,
                          &compression_column, &most, &flags, &batches))
        return NULL;
    if (rows_column < 0 || rows_column >= ks_scan_count || compression_column < 0 ||
        compression_column >= ks_scan_count || count < 0 || count > capacity ||
        capacity > PY_SSIZE_T_MAX / 1024)
        return PyErr_Format(PyExc_ValueError, "no such table");
    glue_pins pins;
    if (glue_pins_open(&pins, 3) < 0)
        return NULL;
    PyObject *chunks = NULL;
    const int64_t *v = glue_pin_sized(&pins, values, 0, 8 * capacity * ks_scan_count);
    const uint64_t *have = v ? glue_pin_sized(&pins, present, 0, 8 * capacity) : NULL;
    int64_t *out = have ? glue_pin_sized(&pins, batches, 1, 8 * count * KS_BATCH_FIELDS) : NULL;
    if (!out)
        goto done;
    chunks = PyList_New(0);
    int64_t first = 0, start = 0, weight = 0, rows = 0, compressed = 0, end = 0;
    for (int64_t i = 0; chunks && i <= count; i++) {
        int64_t position = 0, size = 0, records = 1, packed = 0;
        if (i < count) {
            position = v[i];
            size = v[capacity + i];
            if (have[i] >> rows_column & 1)
                records = v[rows_column * capacity + i];
            packed = (have[i] >> compression_column & 1) && records > 0 &&
                     v[compression_column * capacity + i] != 0;
        }
        int64_t more = packed ? 4 * size : size;
        if (i > first && (i == count || weight + more > most || rows + records >= INT32_MAX)) {
            PyObject *chunk = Py_BuildValue("LLLLLL", (long long)first, (long long)i,
                                            (long long)start, (long long)end, (long long)rows,
                                            (long long)compressed);
            if (!chunk || PyList_Append(chunks, chunk) < 0)
                Py_CLEAR(chunks);
            Py_XDECREF(chunk);
            first = i;
            weight = rows = compressed = 0;
        }
        if (i == count)
            break;
        if (i == first)
            start = position;
        int64_t *b = out + i * KS_BATCH_FIELDS;
        memset(b, 0, KS_BATCH_FIELDS * sizeof *b);
        b[KS_B_POSITION] = position - start;
        b[KS_B_SIZE] = size;
        b[KS_B_PAYLOAD] = packed ? -2 : -1;
        b[KS_B_ROWS] = records;
        b[KS_B_FLAGS] = flags;
        weight += more;
        rows += records;
        compressed += packed;
        end = position + size;
    }
done:
    glue_pins_close(&pins);
    return chunks;
}
