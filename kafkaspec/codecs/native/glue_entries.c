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
/* Of a batch, by what becomes of it: what the new batch of its records has in its header. */
enum { COMPRESSION, LEADER_EPOCH, TRAITS };
/* Of a part of a batch, or of parts that become one batch. */
enum {
    PART_FIRST, PART_LAST, PART_SIZE, PART_TIMESTAMP, PART_COMPRESSION, PART_EPOCH, PART_OFFSET,
    PART_DELTA, PART_BASE, PART_COUNT, PART_FIELDS
};

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

/* Columns of `rows` integers each, one for each item of a tuple; -1 with an exception set. */
static int pin_each(glue_pins *pins, PyObject *columns, Py_ssize_t count, int64_t rows,
                    const int64_t **out)
{
    if (PyTuple_Size(columns) != count)
        return PyErr_Format(PyExc_ValueError, "there are not as many columns"), -1;
    for (Py_ssize_t k = 0; k < count; k++)
        if (!(out[k] = glue_pin_sized(pins, PyTuple_GetItem(columns, k), 0, 8 * rows)))
            return -1;
    return 0;
}

/* The records of batches, and what their headers say. */
typedef struct {
    const int64_t *bound, *fact[FACTS], *trait[TRAITS], *offset, *time;
    const int32_t *sizes[SIZES];
    int64_t rows, items, limit, overhead;
} records;

/* The parts of one batch, from `part` on in `out`; their number, or 0 for a batch to end before. */
static int64_t divide(const records *r, int64_t batch, int64_t *out, int64_t part, int64_t most)
{
    const int64_t first = r->bound[batch], stop = r->bound[batch + 1];
    const int64_t *offset = r->offset, *time = r->time;
    if (first < 0 || first >= stop || stop > r->rows || stop - first > most - part ||
        offset[first] != r->fact[BASE_OFFSET][batch] ||
        offset[stop - 1] != r->fact[LAST_OFFSET][batch] ||
        time[first] != r->fact[BASE_TIMESTAMP][batch])
        return 0;
    int64_t *p = out + part, number = 0;
    int64_t size = 0, latest = INT64_MIN, largest = INT64_MIN;
    for (int64_t row = first; row < stop; row++) {
        const int64_t own = row_size(r->sizes, row, r->items), t = time[row];
        if (own < 0 || t >= MOST_TIME || t <= -MOST_TIME ||
            (row > first && offset[row] <= offset[row - 1]))
            return 0;
        if (row == first || size + own + r->overhead > r->limit) {
            p = out + part + number++;
            p[PART_FIRST * most] = row;
            p[PART_COMPRESSION * most] = r->trait[COMPRESSION][batch];
            p[PART_EPOCH * most] = r->trait[LEADER_EPOCH][batch];
            size = 0;
            largest = INT64_MIN;
        }
        size += own + r->overhead;
        largest = t > largest ? t : largest;
        latest = t > latest ? t : latest;
        p[PART_LAST * most] = row + 1;
        p[PART_SIZE * most] = size;
        p[PART_TIMESTAMP * most] = largest;
    }
    return latest == r->fact[MAX_TIMESTAMP][batch] ? number : 0;
}

/*
 * parts(bounds, facts, traits, batches, offsets, timestamps, sizes, limit, overhead, out)
 *     -> (batches, parts)
 *
 * Divides the rows of each batch into parts of at most `limit` bytes, or of one row, where each row
 * counts `overhead` bytes more than its keys and values. Ends before a batch whose header does not
 * say what its rows do: the first and last offset, and the first and largest timestamp; or whose
 * offsets do not go up. bounds: the first row of each batch, and the row after the last one. facts,
 * traits: a column for each of FACTS and TRAITS. out: PART_FIELDS columns, each with room for as
 * many parts, one after the other; those from PART_OFFSET on are for `joined`.
 */
PyObject *glue_parts_of(PyObject *module, PyObject *args)
{
    PyObject *bounds, *facts, *traits, *offsets, *timestamps, *given, *target;
    long long batches, limit, overhead;
    (void)module;
    if (!PyArg_ParseTuple(args, "OO!O!LOOO!LLO", &bounds, &PyTuple_Type, &facts, &PyTuple_Type,
                          &traits, &batches, &offsets, &timestamps, &PyTuple_Type, &given, &limit,
                          &overhead, &target))
        return NULL;
    if (batches < 0 || batches > PY_SSIZE_T_MAX / 64 || PyTuple_Size(given) != SIZES || limit < 0 ||
        overhead < 0 || overhead > INT32_MAX)
        return PyErr_Format(PyExc_ValueError, "there are no such batches");
    glue_pins pins;
    if (glue_pins_open(&pins, 4 + FACTS + TRAITS + SIZES) < 0)
        return NULL;
    PyObject *result = NULL;
    records r = {.items = INT32_MAX, .limit = limit, .overhead = overhead};
    int64_t octets = 0, room = 0;
    int64_t *out = NULL;
    int ready = pin_each(&pins, facts, FACTS, batches, r.fact) == 0 &&
                pin_each(&pins, traits, TRAITS, batches, r.trait) == 0 &&
                (r.bound = glue_pin_sized(&pins, bounds, 0, 8 * (batches + 1))) &&
                (r.offset = glue_pin(&pins, offsets, 0, &octets));
    r.rows = octets / 8;
    ready = ready && (r.time = glue_pin_sized(&pins, timestamps, 0, 8 * r.rows)) &&
            (out = glue_pin(&pins, target, 1, &room));
    for (int k = 0; ready && k < SIZES; k++) {
        PyObject *item = PyTuple_GetItem(given, k);
        if (item == Py_None && k >= LISTS)
            continue;
        r.sizes[k] = glue_pin(&pins, item, 0, &octets);
        ready = r.sizes[k] != NULL;
        const int64_t there = octets / 4 - 1;
        if (k < ITEM_KEY)
            r.rows = there < r.rows ? there : r.rows;
        else
            r.items = there < r.items ? there : r.items;
    }
    if (ready && r.sizes[LISTS] && (!r.sizes[ITEM_KEY] || !r.sizes[ITEM_VALUE])) {
        PyErr_SetString(PyExc_ValueError, "lists need their items");
        ready = 0;
    }
    if (ready) {
        int64_t batch = 0, part = 0, number = 0;
        const int64_t most = room / (8 * PART_FIELDS);
        Py_BEGIN_ALLOW_THREADS
        for (; batch < batches && (number = divide(&r, batch, out, part, most)) > 0; batch++)
            part += number;
        Py_END_ALLOW_THREADS
        result = Py_BuildValue("LL", (long long)batch, (long long)part);
    }
    glue_pins_close(&pins);
    return result;
}

/*
 * joined(parts, first, count, offsets, timestamps, limit, delta) -> number
 *
 * Puts consecutive parts together, from `first` of `count` on, as long as they have the same traits,
 * at most `limit` bytes, and offsets that differ by `delta` at most. They take the place of the parts
 * from `first` on, and get all of PART_FIELDS; their number is returned.
 */
PyObject *glue_joined(PyObject *module, PyObject *args)
{
    PyObject *parts, *offsets, *timestamps;
    long long first, count, limit, delta;
    (void)module;
    if (!PyArg_ParseTuple(args, "OLLOOLL", &parts, &first, &count, &offsets, &timestamps, &limit,
                          &delta))
        return NULL;
    glue_pins pins;
    if (glue_pins_open(&pins, 3) < 0)
        return NULL;
    PyObject *result = NULL;
    int64_t size = 0, rows = 0, number = 0;
    int64_t *p = glue_pin(&pins, parts, 1, &size);
    const int64_t *offset = p ? glue_pin(&pins, offsets, 0, &rows) : NULL;
    rows /= 8;
    const int64_t *time = offset ? glue_pin_sized(&pins, timestamps, 0, 8 * rows) : NULL;
    const int64_t most = size / (8 * PART_FIELDS);
    if (time && (first < 0 || count < first || count > most))
        PyErr_SetString(PyExc_ValueError, "there are not as many parts");
    else if (time) {
        int64_t *group = p;
        int bad = 0;
        for (int64_t i = first; i < count; i++) {
            const int64_t *part = p + i;
            const int64_t from = part[PART_FIRST * most], last = part[PART_LAST * most];
            const int64_t own = part[PART_SIZE * most];
            bad = from < 0 || from >= last || last > rows || own < 0;
            if (bad)
                break;
            if (number && group[PART_SIZE * most] <= limit && own <= limit - group[PART_SIZE * most] &&
                group[PART_COMPRESSION * most] == part[PART_COMPRESSION * most] &&
                group[PART_EPOCH * most] == part[PART_EPOCH * most] &&
                (uint64_t)offset[last - 1] - (uint64_t)group[PART_OFFSET * most] <=
                    (uint64_t)delta) {
                group[PART_SIZE * most] += own;
                if (group[PART_TIMESTAMP * most] < part[PART_TIMESTAMP * most])
                    group[PART_TIMESTAMP * most] = part[PART_TIMESTAMP * most];
            } else {
                group = p + first + number++;
                for (int k = 0; k < PART_OFFSET; k++)
                    group[k * most] = part[k * most];
                group[PART_OFFSET * most] = offset[from];
                group[PART_BASE * most] = time[from];
            }
            group[PART_LAST * most] = last;
            group[PART_COUNT * most] = last - group[PART_FIRST * most];
            group[PART_DELTA * most] =
                (int64_t)((uint64_t)offset[last - 1] - (uint64_t)group[PART_OFFSET * most]);
        }
        result = bad ? PyErr_Format(PyExc_ValueError, "there are no such rows")
                     : PyLong_FromLongLong(number);
    }
    glue_pins_close(&pins);
    return result;
}
