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

/* Columns of bytes in lists: offsets of the lists, and of both columns of their items. */
enum { KEY, VALUE, LISTS, ITEM_KEY, ITEM_VALUE, SIZES };
/* Of a batch, by its header. */
enum { BASE_OFFSET, LAST_OFFSET, BASE_TIMESTAMP, MAX_TIMESTAMP, FACTS };
/* Of a part of a batch. */
enum { PART_FIRST, PART_SIZE, PART_TIMESTAMP, PART_BATCH, PART_FIELDS };

/* Timestamps whose differences always fit 64 bits. */
static const int64_t MOST_TIME = INT64_C(1) << 62;

/* Bytes of a row, or -1 where offsets go back or leave the items. */
static int64_t row_size(const int32_t *const *sizes, int64_t row, int64_t items)
{
    int64_t size = 0;
    for (int k = KEY; k <= VALUE; k++)
        size += (int64_t)sizes[k][row + 1] - sizes[k][row];
    if (sizes[LISTS]) {
        const int64_t from = sizes[LISTS][row], to = sizes[LISTS][row + 1];
        if (from < 0 || to < from || to > items)
            return -1;
        for (int k = ITEM_KEY; k <= ITEM_VALUE; k++)
            size += (int64_t)sizes[k][to] - sizes[k][from];
    }
    return size;
}

/*
 * parts(bounds, facts, batches, offsets, timestamps, sizes, limit, overhead, out)
 *     -> (batches, parts)
 *
 * Divides the rows of each batch into parts of at most `limit` bytes, or of one row, where each row
 * counts `overhead` bytes more than its keys and values. Ends before a batch whose header does not
 * say what its rows do: the first and last offset, and the first and largest timestamp; or whose
 * offsets do not go up. bounds: the first row of each batch, and the row after the last one. facts:
 * FACTS numbers of each batch. out: PART_FIELDS numbers of each part.
 */
PyObject *glue_parts_of(PyObject *module, PyObject *args)
{
    PyObject *bounds, *facts, *offsets, *timestamps, *given, *target;
    long long batches, limit, overhead;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOLOOO!LLO", &bounds, &facts, &batches, &offsets, &timestamps,
                          &PyTuple_Type, &given, &limit, &overhead, &target))
        return NULL;
    if (batches < 0 || batches > PY_SSIZE_T_MAX / 64 || PyTuple_Size(given) != SIZES || limit < 0 ||
        overhead < 0 || overhead > INT32_MAX)
        return PyErr_Format(PyExc_ValueError, "there are no such batches");
    glue_pins pins;
    if (glue_pins_open(&pins, 5 + SIZES) < 0)
        return NULL;
    PyObject *result = NULL;
    const int32_t *sizes[SIZES] = {NULL};
    int64_t octets = 0, rows = -1, items = INT32_MAX, room = 0;
    const int64_t *bound = glue_pin_sized(&pins, bounds, 0, 8 * (batches + 1));
    const int64_t *fact = bound ? glue_pin_sized(&pins, facts, 0, 8 * FACTS * batches) : NULL;
    const int64_t *offset = fact ? glue_pin(&pins, offsets, 0, &octets) : NULL;
    rows = octets / 8;
    const int64_t *time = offset ? glue_pin_sized(&pins, timestamps, 0, 8 * rows) : NULL;
    int64_t *out = time ? glue_pin(&pins, target, 1, &room) : NULL;
    int ready = out != NULL;
    for (int k = 0; ready && k < SIZES; k++) {
        PyObject *item = PyTuple_GetItem(given, k);
        if (item == Py_None && k >= LISTS)
            continue;
        sizes[k] = glue_pin(&pins, item, 0, &octets);
        ready = sizes[k] != NULL;
        const int64_t there = octets / 4 - 1;
        if (k < ITEM_KEY)
            rows = there < rows ? there : rows;
        else
            items = there < items ? there : items;
    }
    if (ready && sizes[LISTS] && (!sizes[ITEM_KEY] || !sizes[ITEM_VALUE])) {
        PyErr_SetString(PyExc_ValueError, "lists need their items");
        ready = 0;
    }
    if (ready) {
        int64_t batch = 0, part = 0;
        const int64_t most = room / (8 * PART_FIELDS);
        Py_BEGIN_ALLOW_THREADS
        for (; batch < batches; batch++) {
            const int64_t first = bound[batch], stop = bound[batch + 1];
            const int64_t *known = fact + batch * FACTS;
            if (first < 0 || first >= stop || stop > rows || stop - first > most - part ||
                offset[first] != known[BASE_OFFSET] || offset[stop - 1] != known[LAST_OFFSET] ||
                time[first] != known[BASE_TIMESTAMP])
                break;
            int64_t *p = out + part * PART_FIELDS;
            int64_t number = 0, size = 0, latest = INT64_MIN, largest = INT64_MIN, row = first;
            for (; row < stop; row++) {
                const int64_t own = row_size(sizes, row, items);
                const int64_t t = time[row];
                if (own < 0 || t >= MOST_TIME || t <= -MOST_TIME ||
                    (row > first && offset[row] <= offset[row - 1]))
                    break;
                if (row == first || size + own + overhead > limit) {
                    if (number)
                        p += PART_FIELDS;
                    number++;
                    p[PART_FIRST] = row;
                    p[PART_BATCH] = batch;
                    size = 0;
                    largest = INT64_MIN;
                }
                size += own + overhead;
                largest = t > largest ? t : largest;
                latest = t > latest ? t : latest;
                p[PART_SIZE] = size;
                p[PART_TIMESTAMP] = largest;
            }
            if (row < stop || latest != known[MAX_TIMESTAMP])
                break;
            part += number;
        }
        Py_END_ALLOW_THREADS
        result = Py_BuildValue("LL", (long long)batch, (long long)part);
    }
    glue_pins_close(&pins);
    return result;
}
