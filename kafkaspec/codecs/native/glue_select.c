/* From a table of headers to the descriptions of the batches that are wanted. */
#include "glue.h"

#include <string.h>

/* Columns of the table, by what they mean to a reader. */
enum {
    MAGIC, COMPRESSION, CONTROL, ROWS, BASE_OFFSET, LAST_OFFSET, OFFSET, MAX_TIMESTAMP, RECORDS,
    RECORDS_SIZE, VALUE, VALUE_SIZE, ROLES
};
/* What is wanted. */
enum { UNTIMED, LOW, HIGH, EARLIEST, OPTIONS, FLAGS, MOST, RULES };

typedef struct {
    int64_t next;   /* the first entry that was not looked at, or has to be looked at otherwise */
    int64_t number; /* descriptions made */
    int64_t rows;   /* their records */
    int facts;
} selection;

/* Whether the core can decode an entry as it stands, or when it is decompressed. */
static int describe(const int64_t *const *column, int64_t i, int64_t kind, int64_t whole,
                    const int64_t *rule, int64_t *b, selection *s)
{
    const int64_t codec = column[COMPRESSION][i];
    int64_t records = 1, packed = 0, start = column[RECORDS][i], size = column[RECORDS_SIZE][i];
    if (glue_is_batch(kind)) {
        records = column[ROWS][i];
        packed = codec != 0 && records > 0;
        if (records < 0 || records > INT32_MAX || whole > rule[MOST] ||
            (!packed && records > size / ks_kinds[kind].record_size))
            return 0;
        if (column[CONTROL][i])
            s->facts |= KS_S_MARKERS;
    } else if (codec) {
        start = column[VALUE][i];
        size = column[VALUE_SIZE][i];
        if (size < 0)
            return 0;
        packed = 1;
        records = -1 - i;
    }
    memset(b, 0, KS_BATCH_FIELDS * sizeof *b);
    b[KS_B_PAYLOAD] = -1;
    if (packed) {
        b[KS_B_PAYLOAD] = -1 - codec;
        b[KS_B_PAYLOAD_POSITION] = start;
        b[KS_B_PAYLOAD_SIZE] = size;
        s->facts |= KS_S_COMPRESSED;
    }
    if (glue_has(rule[UNTIMED], column[MAGIC][i]))
        s->facts |= KS_S_UNTIMED;
    b[KS_B_ROWS] = records;
    b[KS_B_FLAGS] = rule[FLAGS];
    return 1;
}

static void choose(const int64_t *values, int64_t capacity, int64_t count, const int64_t *role,
                   const int64_t *rule, const int8_t *left_out, int64_t *batches, selection *s)
{
    const int64_t *column[ROLES];
    for (int k = 0; k < ROLES; k++)
        column[k] = values + role[k] * capacity;
    const int bounded = (rule[OPTIONS] & KS_S_BOUNDED) != 0;
    const int control = (rule[OPTIONS] & KS_S_CONTROL) != 0;
    const int apart = (rule[OPTIONS] & KS_S_APART) != 0;
    const int joined = (rule[OPTIONS] & KS_S_JOINED) != 0;
    for (; s->next < count; s->next++) {
        const int64_t i = s->next;
        const int64_t kind = values[KS_SCAN_KIND * capacity + i];
        const int is_batch = glue_is_batch(kind);
        const int64_t first = is_batch ? column[BASE_OFFSET][i] : column[OFFSET][i];
        const int64_t last = is_batch ? column[LAST_OFFSET][i] : first;
        /* Of a wrapper only the last offset is known. */
        if (bounded && first >= rule[HIGH] && (is_batch || !column[COMPRESSION][i])) {
            s->facts |= KS_S_ENDED;
            return;
        }
        const int ends = bounded && (last >= rule[HIGH] || last + 1 == rule[HIGH]);
        int skipped = last < rule[LOW] || (left_out && left_out[i]);
        if (is_batch)
            skipped |= (column[CONTROL][i] && !control) ||
                       (column[MAX_TIMESTAMP][i] < rule[EARLIEST] && !(apart && column[CONTROL][i]));
        if (!skipped) {
            int64_t *b = batches + s->number * KS_BATCH_FIELDS;
            const int64_t records = is_batch ? column[ROWS][i] : 1;
            if (s->number && (records >= INT32_MAX || s->rows + records >= INT32_MAX))
                return;
            const int64_t size = values[KS_SCAN_SIZE * capacity + i];
            const int wrapped = !is_batch && column[COMPRESSION][i];
            const int cut = wrapped ? bounded || rule[LOW] > INT64_MIN
                                    : first < rule[LOW] || (bounded && last >= rule[HIGH]);
            const int marks = is_batch && column[CONTROL][i] && !joined;
            if ((apart && ((cut && !wrapped) || marks)) || !describe(column, i, kind, size, rule, b, s)) {
                s->facts |= KS_S_OTHERWISE | (ends ? KS_S_ENDED : 0);
                return;
            }
            b[KS_B_POSITION] = values[KS_SCAN_POSITION * capacity + i];
            b[KS_B_SIZE] = size;
            s->number++;
            s->rows += records;
            if (cut)
                s->facts |= KS_S_CUT;
        }
        if (ends) {
            s->facts |= KS_S_ENDED;
            s->next++;
            return;
        }
    }
}

/*
 * select(values, capacity, first, count, roles, rules, left_out, batches)
 *     -> (next, number, rows, facts)
 *
 * values, capacity, count: a table as scan fills it, looked at from entry `first` on. roles: which
 * of its columns mean what. rules: the magics without timestamps, which entries are wanted, and
 * how large a batch is at most that is decoded at once. left_out: None, or a byte for each entry of
 * the table, not 0 if it is not wanted.
 * batches: room for the descriptions of all that are looked at. What is compressed has -1 - codec
 * for its payload, and where that lies in the input; who decompresses it puts the place of the
 * records there. A wrapper, of which only the last offset is known and not how many records it has,
 * counts as one and has -1 - its number in the table for its rows.
 */
PyObject *glue_select(PyObject *module, PyObject *args)
{
    PyObject *values, *roles, *rules, *left_out, *batches;
    long long capacity, first, count;
    (void)module;
    if (!PyArg_ParseTuple(args, "OLLLOOOO", &values, &capacity, &first, &count, &roles, &rules,
                          &left_out, &batches))
        return NULL;
    int64_t role[ROLES], rule[RULES];
    if (glue_roles(roles, role, ROLES, count, capacity) < 0 || glue_integers(rules, rule, RULES) < 0)
        return NULL;
    if (first < 0 || first > count)
        return PyErr_Format(PyExc_ValueError, "no such table");
    glue_pins pins;
    if (glue_pins_open(&pins, 3) < 0)
        return NULL;
    PyObject *result = NULL;
    selection s = {first, 0, 0, 0};
    const int64_t *v = glue_pin_sized(&pins, values, 0, 8 * capacity * ks_scan_count);
    int64_t *out =
        v ? glue_pin_sized(&pins, batches, 1, 8 * (count - first) * KS_BATCH_FIELDS) : NULL;
    const int8_t *marks = NULL;
    if (out && left_out != Py_None && !(marks = glue_pin_sized(&pins, left_out, 0, count)))
        out = NULL;
    if (out) {
        choose(v, capacity, count, role, rule, marks, out, &s);
        result = Py_BuildValue("LLLi", (long long)s.next, (long long)s.number, (long long)s.rows,
                               s.facts);
    }
    glue_pins_close(&pins);
    return result;
}
