/* Columns of integers: what they lack, and comparisons, with each other and entries of an index. */
#include "glue.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_COLUMNS = 64, AT_ONCE = 1024 };
/* One comparison: the value of LEFT with that of RIGHT (-1: none, which is 0), taken from BACK rows
 * before, plus NUMBER. MARK is set for a row in which no comparison of a clause holds, and is 0 in
 * all comparisons of a clause but the last. */
enum { MARK, LEFT, OPERATOR, RIGHT, BACK, NUMBER, FIELDS };
enum { EQUAL, OTHER, LESS, AT_MOST, ABOVE, AT_LEAST, OPERATORS };

/* The sum, or the nearest number that there is. */
static inline int64_t sum(int64_t a, int64_t b)
{
    if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b)
        return b > 0 ? INT64_MAX : INT64_MIN;
    return a + b;
}

static void compare(const int64_t *const *column, const int64_t *how, int64_t first, int64_t rows,
                    uint8_t *holds)
{
    static const int64_t zero = 0;
    const int64_t *left = column[how[LEFT]] + first;
    const int64_t step = how[RIGHT] >= 0, more = how[NUMBER], from = step * (first - how[BACK]);
    const int64_t *right = step ? column[how[RIGHT]] : &zero;
    int64_t i = 0;
    for (; i < rows && first + i < how[BACK]; i++) /* nothing is before them: it does not hold */
        continue;
#define COMPARE(operator)                                                                          \
    for (; i < rows; i++)                                                                          \
        holds[i] |= left[i] operator sum(right[from + step * i], more);                            \
    break
    switch (how[OPERATOR]) {
    case EQUAL:
        COMPARE(==);
    case OTHER:
        COMPARE(!=);
    case LESS:
        COMPARE(<);
    case AT_MOST:
        COMPARE(<=);
    case ABOVE:
        COMPARE(>);
    default:
        COMPARE(>=);
    }
#undef COMPARE
}

static void evaluate(const int64_t *const *column, const int64_t *how, int64_t comparisons,
                     int64_t rows, uint8_t *marks)
{
    uint8_t holds[AT_ONCE];
    for (int64_t first = 0; first < rows; first += AT_ONCE) {
        const int64_t count = rows - first < AT_ONCE ? rows - first : AT_ONCE;
        memset(holds, 0, (size_t)count);
        for (int64_t k = 0; k < comparisons; k++) {
            compare(column, how + k * FIELDS, first, count, holds);
            const uint8_t mark = (uint8_t)how[k * FIELDS + MARK];
            if (!mark)
                continue;
            for (int64_t i = 0; i < count; i++)
                marks[first + i] |= holds[i] ? 0 : mark;
            memset(holds, 0, (size_t)count);
        }
    }
}

static int are_comparisons(const int64_t *how, int64_t count, int64_t columns)
{
    for (int64_t k = 0; k < count; k++, how += FIELDS)
        if (how[MARK] < 0 || how[MARK] > UINT8_MAX || how[LEFT] < 0 || how[LEFT] >= columns ||
            how[OPERATOR] < 0 || how[OPERATOR] >= OPERATORS || how[RIGHT] < -1 ||
            how[RIGHT] >= columns || how[BACK] < 0 || how[BACK] > 1)
            return 0;
    return 1;
}

/* Columns of `rows` integers each; -1 with an exception set. */
static int pin_integers(glue_pins *pins, PyObject *columns, Py_ssize_t most, int64_t rows,
                        const int64_t **out)
{
    const Py_ssize_t count = PyTuple_Size(columns);
    if (count > most || rows < 0 || rows > PY_SSIZE_T_MAX / 8) {
        PyErr_SetString(PyExc_ValueError, "too many columns, or rows");
        return -1;
    }
    for (Py_ssize_t k = 0; k < count; k++)
        if (!(out[k] = glue_pin_sized(pins, PyTuple_GetItem(columns, k), 0, 8 * rows)))
            return -1;
    return 0;
}

/*
 * mark(columns, rows, comparisons, marks)
 *
 * Evaluates clauses for each row of columns of integers; marks, a byte each, gets what those that
 * do not hold mark. A row that the one before it is compared with does not hold if it is the first.
 */
PyObject *glue_mark(PyObject *module, PyObject *args)
{
    PyObject *columns, *comparisons, *marks;
    long long rows;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!LOO", &PyTuple_Type, &columns, &rows, &comparisons, &marks))
        return NULL;
    glue_pins pins;
    if (glue_pins_open(&pins, MOST_COLUMNS + 2) < 0)
        return NULL;
    PyObject *result = NULL;
    const int64_t *column[MOST_COLUMNS];
    int64_t size = 0;
    const int64_t *given = pin_integers(&pins, columns, MOST_COLUMNS, rows, column) < 0
                               ? NULL
                               : glue_pin(&pins, comparisons, 0, &size);
    uint8_t *out = given ? glue_pin_sized(&pins, marks, 1, rows) : NULL;
    if (out) {
        const int64_t count = size / (8 * FIELDS);
        int64_t *how = malloc((size_t)size + 1); /* what is checked is what is used */
        if (!how)
            PyErr_NoMemory();
        else {
            memcpy(how, given, (size_t)size);
            if (are_comparisons(how, count, PyTuple_Size(columns))) {
                Py_BEGIN_ALLOW_THREADS
                evaluate(column, how, count, rows, out);
                Py_END_ALLOW_THREADS
                result = Py_NewRef(Py_None);
            } else
                PyErr_SetString(PyExc_ValueError, "no such comparison");
        }
        free(how);
    }
    glue_pins_close(&pins);
    return result;
}

/*
 * fill(column, present, bit, values, number, rows)
 *
 * Rows of a column of integers that do not have a bit of `present` set become those of another
 * column, or a number if values is None.
 */
PyObject *glue_fill(PyObject *module, PyObject *args)
{
    PyObject *column, *present, *values;
    long long number, rows;
    int bit;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOiOLL", &column, &present, &bit, &values, &number, &rows))
        return NULL;
    if (bit < 0 || bit > 63 || rows < 0 || rows > PY_SSIZE_T_MAX / 8)
        return PyErr_Format(PyExc_ValueError, "no such bit, or too many rows");
    glue_pins pins;
    if (glue_pins_open(&pins, 3) < 0)
        return NULL;
    int64_t *out = glue_pin_sized(&pins, column, 1, 8 * rows);
    const uint64_t *bits = out ? glue_pin_sized(&pins, present, 0, 8 * rows) : NULL;
    const int64_t *from = NULL;
    if (bits && values != Py_None && !(from = glue_pin_sized(&pins, values, 0, 8 * rows)))
        bits = NULL;
    for (int64_t i = 0; bits && i < rows; i++)
        if (!(bits[i] >> bit & 1))
            out[i] = from ? from[i] : number;
    glue_pins_close(&pins);
    return bits ? Py_NewRef(Py_None) : NULL;
}

/* Entries of an index: ENTRY_OFFSET, then positions or timestamps. */
enum { ENTRY_OFFSET, ENTRY_OTHER, ENTRY_COLUMNS };
/* Batches: offsets of the first and last record and of the header, largest timestamp. */
enum { POSITION, FIRST, LAST, BASE_OFFSET, LAST_OFFSET, LARGEST, BATCH_COLUMNS };
/* How far the entries are compared; see the functions. */
enum { NEXT, OPEN, REACHED, STATES };

typedef struct {
    const int64_t *entry[ENTRY_COLUMNS];
    int64_t count;
    const int64_t *batch[BATCH_COLUMNS];
    int64_t start; /* positions of batches count from here */
    int64_t first, stop;
    int64_t *state;
} index_run;

/* REACHED: last offset so far. OPEN: an entry whose offset is that of a later batch, or -1. */
static int64_t follow_positions(const index_run *r)
{
    int64_t next = r->state[NEXT], open = r->state[OPEN], i = r->first;
    for (; i < r->stop; i++) {
        const int64_t at = sum(r->batch[POSITION][i], r->start);
        int64_t n = next, o = open;
        for (; n < r->count && r->entry[ENTRY_OTHER][n] <= at; n++) {
            const int64_t offset = r->entry[ENTRY_OFFSET][n];
            if (o >= 0 || r->entry[ENTRY_OTHER][n] < at || offset <= r->state[REACHED])
                return i;
            o = offset == r->batch[FIRST][i] || offset == r->batch[BASE_OFFSET][i] ? -1 : n;
        }
        if (o >= 0 && (r->entry[ENTRY_OFFSET][o] == r->batch[LAST_OFFSET][i] ||
                       r->entry[ENTRY_OFFSET][o] == r->batch[LAST][i]))
            o = -1;
        next = r->state[NEXT] = n;
        open = r->state[OPEN] = o;
        r->state[REACHED] = r->batch[LAST_OFFSET][i];
    }
    return i;
}

/* REACHED: largest timestamp so far. */
static int64_t follow_timestamps(const index_run *r)
{
    int64_t i = r->first;
    for (; i < r->stop; i++) {
        const int64_t latest = r->state[REACHED], largest = r->batch[LARGEST][i];
        int64_t n = r->state[NEXT];
        for (; n < r->count && r->entry[ENTRY_OFFSET][n] < r->batch[FIRST][i]; n++)
            if (r->entry[ENTRY_OTHER][n] > latest)
                return i;
        for (int64_t m = n; m < r->count; m++) { /* those that limit a record of the batch */
            if (largest > r->entry[ENTRY_OTHER][m])
                return i;
            if (r->entry[ENTRY_OFFSET][m] >= r->batch[LAST][i])
                break;
        }
        r->state[NEXT] = n;
        r->state[REACHED] = largest > latest ? largest : latest;
    }
    return i;
}

/*
 * follow(times, entries, count, batches, start, first, stop, state) -> end
 *
 * Whether batches first..stop agree with the entries of an index by offset (times false, entries
 * are offsets and positions) or by timestamp (offsets and timestamps). They do up to end; the state
 * is the one before that batch.
 */
PyObject *glue_follow(PyObject *module, PyObject *args)
{
    PyObject *entries, *batches, *state;
    long long count, start, first, stop;
    int times;
    (void)module;
    if (!PyArg_ParseTuple(args, "pO!LO!LLLO", &times, &PyTuple_Type, &entries, &count,
                          &PyTuple_Type, &batches, &start, &first, &stop, &state))
        return NULL;
    if (PyTuple_Size(entries) != ENTRY_COLUMNS || PyTuple_Size(batches) != BATCH_COLUMNS ||
        first < 0 || first > stop)
        return PyErr_Format(PyExc_ValueError, "no such entries, or batches");
    glue_pins pins;
    if (glue_pins_open(&pins, ENTRY_COLUMNS + BATCH_COLUMNS + 1) < 0)
        return NULL;
    PyObject *result = NULL;
    index_run r = {.count = count, .start = start, .first = first, .stop = stop};
    if (pin_integers(&pins, entries, ENTRY_COLUMNS, count, r.entry) == 0 &&
        pin_integers(&pins, batches, BATCH_COLUMNS, stop, r.batch) == 0 &&
        (r.state = glue_pin_sized(&pins, state, 1, 8 * STATES))) {
        if (r.state[NEXT] < 0 || r.state[OPEN] < -1 || r.state[OPEN] >= count)
            PyErr_SetString(PyExc_ValueError, "no such state");
        else
            result = PyLong_FromLongLong(times ? follow_timestamps(&r) : follow_positions(&r));
    }
    glue_pins_close(&pins);
    return result;
}

/*
 * widen(data, size, start, width, signed, plus, out) -> whether all of them fit
 *
 * The sums of `plus` and an integer of each entry of an array: of `width` bytes, the highest first,
 * `start` bytes after the begin of the entry.
 */
PyObject *glue_widen(PyObject *module, PyObject *args)
{
    PyObject *data, *out;
    long long size, start, width, plus;
    int is_signed;
    (void)module;
    if (!PyArg_ParseTuple(args, "OLLLpLO", &data, &size, &start, &width, &is_signed, &plus, &out))
        return NULL;
    if (width < 1 || width > 8 || start < 0 || size < width ||
        start > size - width)
        return PyErr_Format(PyExc_ValueError, "no such field");
    glue_pins pins;
    if (glue_pins_open(&pins, 2) < 0)
        return NULL;
    PyObject *result = NULL;
    int64_t bytes = 0;
    const uint8_t *p = glue_pin(&pins, data, 0, &bytes);
    const int64_t count = bytes / size;
    int64_t *sums = p ? glue_pin_sized(&pins, out, 1, 8 * count) : NULL;
    if (sums) {
        int fits = 1;
        const uint64_t sign = is_signed ? UINT64_C(1) << (8 * width - 1) : 0;
        p += start;
        for (int64_t i = 0; i < count; i++, p += size) {
            uint64_t bits = 0;
            for (int64_t k = 0; k < width; k++)
                bits = bits << 8 | p[k];
            bits = (bits ^ sign) - sign;
            int64_t value;
            memcpy(&value, &bits, sizeof value);
            fits &= is_signed || value >= 0; /* of 8 bytes without a sign */
            fits &= plus > 0 ? value <= INT64_MAX - plus : value >= INT64_MIN - plus;
            sums[i] = sum(value, plus);
        }
        result = PyBool_FromLong(fits);
    }
    glue_pins_close(&pins);
    return result;
}
