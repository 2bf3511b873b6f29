/* Which byte strings of a column fit a pattern: parts in order, with any bytes between them. */
#include "glue.h"

#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
enum { LANES = 16, MANY = 4 };
#endif

/* Rows that are searched as one string, and bytes between two of them that cost as much as a row. */
enum { TOGETHER = 64, APART = 256 };
enum { SAME, ANY_ONE, ANY_NUMBER }; /* what is said of each byte of a pattern */

/* Bytes between two ANY_NUMBERs. */
typedef struct {
    const uint8_t *bytes, *kinds;
    int64_t size;
    int64_t first, last; /* bytes that have to be the same, -1 if none has to */
    int plain;           /* all have to be */
} part;

typedef struct {
    part parts[GLUE_PATTERN_PARTS];
    int count;
} pattern;

static void add_part(pattern *p, const uint8_t *bytes, const uint8_t *kinds, int64_t size)
{
    part *new = &p->parts[p->count++];
    *new = (part){bytes, kinds, size, -1, -1, 1};
    for (int64_t i = 0; i < size; i++) {
        if (kinds[i] != SAME) {
            new->plain = 0;
            continue;
        }
        new->first = new->first < 0 ? i : new->first;
        new->last = i;
    }
}

/* Divide a pattern; 0 if it has too many parts. The first and the last part may be empty. */
static int divide(pattern *p, const uint8_t *bytes, const uint8_t *kinds, int64_t size)
{
    int64_t start = 0;
    p->count = 0;
    for (int64_t i = 0; i <= size; i++) {
        if (i < size && kinds[i] != ANY_NUMBER)
            continue;
        if (p->count == GLUE_PATTERN_PARTS)
            return 0;
        add_part(p, bytes + start, kinds + start, i - start);
        start = i + 1;
    }
    return 1;
}

static inline int is_at(const part *p, const uint8_t *at)
{
    if (p->plain)
        return !memcmp(at, p->bytes, (size_t)p->size);
    for (int64_t i = 0; i < p->size; i++)
        if (p->kinds[i] == SAME && at[i] != p->bytes[i])
            return 0;
    return 1;
}

#if defined(__SSE2__)
/* The places from one on where the first and the last byte of a part are as they have to be. */
static inline __m128i both_at(const part *p, const uint8_t *at, __m128i head, __m128i tail)
{
    const __m128i heads = _mm_loadu_si128((const __m128i *)(at + p->first));
    const __m128i tails = _mm_loadu_si128((const __m128i *)(at + p->last));
    return _mm_and_si128(_mm_cmpeq_epi8(heads, head), _mm_cmpeq_epi8(tails, tail));
}
#endif

/* The first place of a part in bytes[from..end), -1 for none. */
static int64_t place_of(const part *p, const uint8_t *bytes, int64_t from, int64_t end)
{
    const int64_t last = end - p->size;
    int64_t at = from;
    if (p->first < 0)
        return at <= last ? at : -1;
#if defined(__SSE2__)
    const __m128i head = _mm_set1_epi8((char)p->bytes[p->first]);
    const __m128i tail = _mm_set1_epi8((char)p->bytes[p->last]);
    while (last - at >= LANES - 1) {
        for (; last - at >= MANY * LANES - 1; at += MANY * LANES) {
            __m128i any = _mm_setzero_si128();
            for (int64_t i = at; i < at + MANY * LANES; i += LANES)
                any = _mm_or_si128(any, both_at(p, bytes + i, head, tail));
            if (_mm_movemask_epi8(any))
                break;
        }
        if (last - at < LANES - 1)
            at = last - (LANES - 1); /* some places once more, and no byte after them */
        int mask = _mm_movemask_epi8(both_at(p, bytes + at, head, tail));
        for (int64_t i = at; mask; i++, mask >>= 1)
            if ((mask & 1) && is_at(p, bytes + i))
                return i;
        at += LANES;
        if (at <= last && last - at < LANES - 1)
            at = last - (LANES - 1);
    }
#endif
    for (; at <= last; at++) {
        const uint8_t *next =
            memchr(bytes + at + p->first, p->bytes[p->first], (size_t)(last - at + 1));
        if (!next)
            return -1;
        at = next - bytes - p->first;
        if (is_at(p, next - p->first))
            return at;
    }
    return -1;
}

/* The longest part that may be anywhere; NULL if there is none. */
static const part *longest(const pattern *p)
{
    const part *found = NULL;
    for (int i = 1; i + 1 < p->count; i++)
        if (p->parts[i].first >= 0 && (!found || p->parts[i].size > found->size))
            found = &p->parts[i];
    return found;
}

static int fits(const pattern *p, const uint8_t *bytes, int64_t size)
{
    const part *first = &p->parts[0], *last = &p->parts[p->count - 1];
    if (first == last)
        return size == first->size && is_at(first, bytes);
    int64_t at = first->size, end = size - last->size;
    if (end < at || !is_at(first, bytes) || !is_at(last, bytes + end))
        return 0;
    for (const part *next = first + 1; next < last; next++) {
        at = place_of(next, bytes, at, end);
        if (at < 0)
            return 0;
        at += next->size;
    }
    return 1;
}

/* A column, and which of its rows are not null. */
typedef struct {
    int layout, count;
    const uint8_t *validity;
    const void *values;
    const ks_buffer *sources;
} column;

/*
 * Whether none of some rows has a part, as far as one search of all bytes between them can tell. It
 * costs less than one for each row, whose size no CPU can foresee.
 */
static int have_not(const column *c, const part *p, int64_t row, int64_t end)
{
    const uint8_t *start = NULL, *last = NULL;
    int64_t most = APART * (end - row);
    for (; row < end; row++) {
        const uint8_t *bytes;
        int64_t size;
        if (!glue_is_there(c->validity, row))
            continue;
        if (!glue_bytes_of(c->layout, c->values, c->sources, c->count, row, &bytes, &size))
            return 0;
        if (size < p->size)
            continue;
        if (c->layout == KS_VIEW && size <= KS_VIEW_SHORT)
            return 0;
        start = start ? start : bytes;
        if (bytes < last)
            return 0;
        last = bytes + size;
        most += size;
    }
    if (!start)
        return 1;
    for (int i = 0; i < c->count; i++) {
        const uint8_t *all = c->sources[i].bytes;
        if (start >= all && last <= all + c->sources[i].size)
            return last - start <= most && place_of(p, start, 0, last - start) < 0;
    }
    return 0;
}

/*
 * fits(layout, rows, validity, main, sources, bytes, kinds, out)
 *
 * Sets the bit of each row whose bytes fit a pattern: each of `bytes` is to be the same, may be any,
 * or stands for any number of bytes, by `kinds`. Rows that are null fit none. out: zeros.
 */
PyObject *glue_fits(PyObject *module, PyObject *args)
{
    PyObject *given, *main, *tuple, *text, *sorts, *target;
    long long rows;
    int layout;
    (void)module;
    if (!PyArg_ParseTuple(args, "iLOOOOOO", &layout, &rows, &given, &main, &tuple, &text, &sorts,
                          &target))
        return NULL;
    if (rows < 0 || rows >= INT32_MAX || (layout != KS_VIEW && layout != KS_BINARY))
        return PyErr_Format(PyExc_ValueError, "there are no such rows");
    glue_pins pins;
    if (glue_pins_open(&pins, GLUE_SOURCES + 5) < 0)
        return NULL;
    ks_buffer sources[GLUE_SOURCES];
    const uint8_t *validity = NULL, *bytes = NULL, *kinds = NULL;
    const void *values = NULL;
    uint8_t *out = NULL;
    int64_t size = 0;
    int divided = 1, bad = 0;
    const int count = glue_pin_sources(&pins, tuple, layout, sources);
    if (count >= 0 && glue_pin_validity(&pins, given, rows, &validity) == 0 &&
        (values = glue_pin_sized(&pins, main, 0,
                                 layout == KS_VIEW ? KS_VIEW_SIZE * rows : 4 * (rows + 1))) &&
        (bytes = glue_pin(&pins, text, 0, &size)) &&
        (kinds = glue_pin_sized(&pins, sorts, 0, size)) &&
        (out = glue_pin_sized(&pins, target, 1, (rows + 7) / 8))) {
        pattern wanted;
        Py_BEGIN_ALLOW_THREADS
        divided = divide(&wanted, bytes, kinds, size);
        const part *rare = divided ? longest(&wanted) : NULL;
        const column c = {layout, count, validity, values, sources};
        for (int64_t row = 0; divided && row < rows && !bad; row++) {
            const uint8_t *value;
            int64_t length;
            if (rare && row % TOGETHER == 0) {
                const int64_t end = rows - row < TOGETHER ? rows : row + TOGETHER;
                if (have_not(&c, rare, row, end)) {
                    row = end - 1;
                    continue;
                }
            }
            if (!glue_is_there(validity, row))
                continue;
            if (!glue_bytes_of(layout, values, sources, count, row, &value, &length))
                bad = 1;
            else if (fits(&wanted, value, length))
                out[row >> 3] |= (uint8_t)(1 << (row & 7));
        }
        Py_END_ALLOW_THREADS
    }
    glue_pins_close(&pins);
    if (!divided)
        return PyErr_Format(PyExc_ValueError, "the pattern has too many parts");
    if (bad)
        return PyErr_Format(PyExc_ValueError, "the column is not a column of Arrow");
    if (!out)
        return NULL;
    Py_RETURN_NONE;
}
