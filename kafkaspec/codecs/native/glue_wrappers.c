/* Entries inside of an entry: what they have in common, and what the outer one does to their rows. */
#include "glue.h"

/* Columns of a scan, by what they mean to a reader. */
enum { MAGIC, COMPRESSION, OFFSET, ROLES };
/* Headers that are looked at together: few enough that they stay in the cache. */
enum { AT_ONCE = 64 };

typedef struct {
    int64_t count;
    int64_t batches;
    int64_t untimed;     /* entries of a kind without timestamps */
    int64_t compressed;  /* entries with a codec */
    int64_t first, last; /* offsets */
} survey;

static void look(const int64_t *values, int64_t count, const int64_t *role, int64_t untimed,
                 survey *s)
{
    const int64_t *kind = values + KS_SCAN_KIND * AT_ONCE;
    const int64_t *magic = values + role[MAGIC] * AT_ONCE;
    const int64_t *codec = values + role[COMPRESSION] * AT_ONCE;
    const int64_t *offset = values + role[OFFSET] * AT_ONCE;
    if (!count)
        return;
    if (!s->count)
        s->first = offset[0];
    for (int64_t i = 0; i < count; i++) {
        s->batches += glue_is_batch(kind[i]);
        s->untimed += glue_has(untimed, magic[i]);
        s->compressed += codec[i] != 0;
    }
    s->last = offset[count - 1];
    s->count += count;
}

/*
 * survey(buffer, roles, untimed) -> (status, count, batches, untimed, compressed, first, last, end)
 *
 * The entries that a buffer begins with: why they end, as for scan, how many there are, how many of
 * them are batches, of a magic without timestamps, and compressed, the first and the last offset,
 * and the position after the last one.
 */
PyObject *glue_survey(PyObject *module, PyObject *args)
{
    PyObject *buffer, *roles;
    long long untimed;
    int64_t role[ROLES];
    (void)module;
    if (!PyArg_ParseTuple(args, "OOL", &buffer, &roles, &untimed) ||
        glue_roles(roles, role, ROLES, 0, AT_ONCE) < 0)
        return NULL;
    glue_pins pins;
    if (glue_pins_open(&pins, 1) < 0)
        return NULL;
    PyObject *result = NULL;
    int64_t size = 0;
    const uint8_t *bytes = glue_pin(&pins, buffer, 0, &size);
    /* What an entry does not have stays as it was: it must not be undefined. */
    int64_t *values =
        bytes ? PyMem_Calloc((size_t)(ks_scan_count * AT_ONCE), sizeof *values) : NULL;
    if (values) {
        survey s = {0, 0, 0, 0, 0, 0};
        uint64_t present[AT_ONCE];
        int64_t position = 0, count = 0;
        int status;
        Py_BEGIN_ALLOW_THREADS
        do {
            status = ks_scan(bytes, position, size, values, AT_ONCE, present, &count, &position);
            look(values, count, role, untimed, &s);
        } while (status == KS_GROW);
        Py_END_ALLOW_THREADS
        result = Py_BuildValue("iLLLLLLL", status, (long long)s.count, (long long)s.batches,
                               (long long)s.untimed, (long long)s.compressed, (long long)s.first,
                               (long long)s.last, (long long)position);
    } else if (bytes) {
        PyErr_NoMemory();
    }
    PyMem_Free(values);
    glue_pins_close(&pins);
    return result;
}

/*
 * adjust(values, first, count, replace, number)
 *
 * Rows of a column of integers: a number is put in their place, or is added and wraps around.
 */
PyObject *glue_adjust(PyObject *module, PyObject *args)
{
    PyObject *values;
    long long first, count, number;
    int replace;
    (void)module;
    if (!PyArg_ParseTuple(args, "OLLpL", &values, &first, &count, &replace, &number))
        return NULL;
    if (first < 0 || count < 0 || first > INT32_MAX || count > INT32_MAX)
        return PyErr_Format(PyExc_ValueError, "rows out of range");
    glue_pins pins;
    if (glue_pins_open(&pins, 1) < 0)
        return NULL;
    PyObject *result = NULL;
    int64_t *items = glue_pin_sized(&pins, values, 1, 8 * (first + count));
    if (items) {
        const uint64_t mask = replace ? 0 : ~UINT64_C(0);
        for (int64_t i = first; i < first + count; i++)
            items[i] = (int64_t)(((uint64_t)items[i] & mask) + (uint64_t)number);
        result = Py_NewRef(Py_None);
    }
    glue_pins_close(&pins);
    return result;
}
