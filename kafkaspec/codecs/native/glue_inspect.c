/* What the records of each batch have in common. Nothing is kept of the records themselves. */
#include "glue.h"
#include "utf8.h"

#include <stdlib.h>
#include <string.h>

/* Columns that are looked at, and records of a batch and items of their lists at most. */
enum { MOST_COLUMNS = 4, MOST_ROWS = 1 << 20, FIRST_ITEMS = 1 << 10, MOST_ITEMS = 1 << 20 };

/* Memory for the records of one batch at a time. */
typedef struct {
    int64_t *values; /* of the columns, one after the other */
    int32_t *offsets;
    int64_t *spans;
    int64_t rows, items;
} room;

static int begin(room *r, int64_t rows, int columns, int listed)
{
    r->rows = rows;
    r->items = FIRST_ITEMS;
    r->values = malloc((size_t)(8 * (rows * columns + 1)));
    r->offsets = listed ? malloc((size_t)(4 * (rows + 1))) : NULL;
    r->spans = listed ? malloc((size_t)(16 * r->items)) : NULL;
    return r->values && (!listed || (r->offsets && r->spans));
}

static void end(room *r)
{
    free(r->values);
    free(r->offsets);
    free(r->spans);
}

/* Room for twice as many items of lists. */
static int grow(room *r)
{
    if (!r->spans || r->items >= MOST_ITEMS)
        return 0;
    int64_t *more = realloc(r->spans, (size_t)(32 * r->items));
    if (!more)
        return 0;
    r->spans = more;
    r->items *= 2;
    return 1;
}

static int is_utf8(const uint8_t *p, const uint8_t *stop)
{
    while (p < stop) {
        const int size = *p < 0x80 ? 1 : utf8_character(p, stop);
        if (!size)
            return 0;
        p += size;
    }
    return 1;
}

/* Columns of the facts: those of a batch, then those of each column of integers. */
enum { STATUS, TEXT, ROWS, OF_BATCH };
enum { FIRST, LAST, LEAST, LARGEST, RISING, OF_COLUMN };

static void look(const int64_t *values, int64_t rows, int64_t *facts, int64_t capacity)
{
    int rising = 1;
    for (int64_t i = 1; i < rows; i++)
        rising &= values[i] > values[i - 1];
    int64_t least = values[0], largest = values[rows - 1];
    if (!rising) {
        largest = least;
        for (int64_t i = 1; i < rows; i++) {
            least = values[i] < least ? values[i] : least;
            largest = values[i] > largest ? values[i] : largest;
        }
    }
    facts[FIRST * capacity] = values[0];
    facts[LAST * capacity] = values[rows - 1];
    facts[LEAST * capacity] = least;
    facts[LARGEST * capacity] = largest;
    facts[RISING * capacity] = rising;
}

typedef struct {
    ks_buffer buffers[GLUE_SOURCES];
    int count;
    glue_columns c;
    room r;
    int number[MOST_COLUMNS]; /* of the columns of integers among those of the core */
    int columns;
    const ks_column *text;
} inspection;

static int decode(inspection *s, const int64_t *batch)
{
    glue_columns *c = &s->c;
    int64_t failed, position;
    int status;
    do {
        c->out.rows = 0;
        if (s->text) {
            c->lists[s->text->list].used = 0;
            c->lists[s->text->list].capacity = s->r.items;
            c->lists[s->text->list].offsets = s->r.offsets;
            c->bytes[s->text->index].spans = s->r.spans;
            c->bytes[s->text->index].high = 0;
        }
        status = ks_decode(s->buffers, s->count, batch, 0, 1, &c->out, &failed, &position);
    } while (status == KS_GROW && batch[KS_B_ROWS] <= s->r.rows && grow(&s->r));
    return status;
}

static int text_is_utf8(const inspection *s, const int64_t *batch)
{
    const int64_t *span = s->r.spans;
    const int64_t items = s->c.lists[s->text->list].used;
    if (!s->c.bytes[s->text->index].high)
        return 1;
    const ks_buffer *from = &s->buffers[batch[KS_B_PAYLOAD] < 0 ? batch[KS_B_BUFFER]
                                                                : batch[KS_B_PAYLOAD]];
    for (int64_t i = 0; i < items; i++, span += 2)
        if (!is_utf8(from->bytes + span[0], from->bytes + span[0] + span[1]))
            return 0;
    return 1;
}

static void inspect(inspection *s, const int64_t *batches, int64_t count, int64_t *facts,
                    int64_t capacity)
{
    for (int64_t i = 0; i < count; i++, facts++) {
        int64_t batch[KS_BATCH_FIELDS]; /* the caller's memory may change meanwhile */
        memcpy(batch, batches + i * KS_BATCH_FIELDS, sizeof batch);
        const int status = batch[KS_B_ROWS] < 0 ? KS_IRREGULAR : decode(s, batch);
        facts[STATUS * capacity] = status;
        facts[ROWS * capacity] = status == KS_OK ? s->c.out.rows : 0;
        if (status != KS_OK || !s->c.out.rows)
            continue;
        facts[TEXT * capacity] = !s->text || text_is_utf8(s, batch);
        for (int k = 0; k < s->columns; k++)
            look(s->r.values + k * s->r.rows, s->c.out.rows,
                 facts + (OF_BATCH + k * OF_COLUMN) * capacity, capacity);
    }
}

/* The columns that are wanted; -1 with an exception set. */
static int choose(inspection *s, PyObject *columns, int text)
{
    int64_t numbers[MOST_COLUMNS];
    s->columns = PyTuple_Check(columns) ? (int)PyTuple_Size(columns) : MOST_COLUMNS + 1;
    int bad = s->columns > MOST_COLUMNS || text >= ks_columns_count;
    if (!bad && glue_integers(columns, numbers, s->columns) < 0)
        return -1;
    for (int k = 0; !bad && k < s->columns; k++) {
        bad = numbers[k] < 0 || numbers[k] >= ks_columns_count ||
              ks_columns[numbers[k]].kind != KS_INTEGER || ks_columns[numbers[k]].list >= 0;
        s->number[k] = (int)numbers[k];
    }
    s->text = text < 0 ? NULL : bad ? NULL : &ks_columns[text];
    bad |= s->text && (s->text->kind != KS_BYTES || s->text->list < 0);
    if (bad)
        PyErr_SetString(PyExc_ValueError, "columns of integers of records, and text in a list");
    return bad ? -1 : 0;
}

/* Memory for the largest batch. */
static int prepare(inspection *s, const int64_t *batches, int64_t count)
{
    int64_t rows = 0;
    for (int64_t i = 0; i < count; i++) {
        const int64_t own = batches[i * KS_BATCH_FIELDS + KS_B_ROWS];
        rows = own > rows && own <= MOST_ROWS ? own : rows;
    }
    if (!begin(&s->r, rows, s->columns, s->text != NULL))
        return 0;
    s->c.out.capacity = rows;
    for (int k = 0; k < s->columns; k++)
        s->c.integers[ks_columns[s->number[k]].index] = s->r.values + k * rows;
    if (s->text) {
        s->r.offsets[0] = 0;
        s->c.lists[s->text->list].wanted = s->c.bytes[s->text->index].wanted = 1;
    }
    return 1;
}

/*
 * inspect(sources, batches, columns, text, facts, first, capacity)
 *
 * batches: descriptions, as for decode. columns: numbers of columns of integers. text: number of a
 * column of bytes in a list that has to be UTF-8, -1 for none.
 * facts: 64-bit integers; fact k of batch i goes to facts[k * capacity + first + i]. Facts are
 * OF_BATCH for a batch, then OF_COLUMN for each column. Without records only two are written: the
 * status, OK or why the batch could not be decoded, and their number.
 */
PyObject *glue_inspect(PyObject *module, PyObject *args)
{
    PyObject *sources, *batches, *columns, *facts;
    long long first, capacity;
    int text;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOOiOLL", &sources, &batches, &columns, &text, &facts, &first,
                          &capacity))
        return NULL;
    if (capacity < 0 || capacity > PY_SSIZE_T_MAX / 1024)
        return PyErr_Format(PyExc_ValueError, "there is no room for the facts");
    inspection s;
    glue_columns_open(&s.c, KS_SPAN);
    memset(&s.r, 0, sizeof s.r);
    if (choose(&s, columns, text) < 0)
        return NULL;
    glue_pins pins;
    if (glue_pins_open(&pins, GLUE_SOURCES + 2) < 0)
        return NULL;
    PyObject *result = NULL;
    int64_t size = 0;
    s.count = glue_pin_sources(&pins, sources, KS_SPAN, s.buffers);
    const int64_t *list = s.count < 0 ? NULL : glue_pin(&pins, batches, 0, &size);
    const int64_t width = OF_BATCH + OF_COLUMN * s.columns, count = size / (8 * KS_BATCH_FIELDS);
    int64_t *out = list ? glue_pin_sized(&pins, facts, 1, 8 * capacity * width) : NULL;
    if (out && (first < 0 || first > capacity || count > capacity - first))
        PyErr_SetString(PyExc_ValueError, "there is no room for that many batches");
    else if (out) {
        int enough;
        Py_BEGIN_ALLOW_THREADS
        enough = prepare(&s, list, count);
        if (enough)
            inspect(&s, list, count, out + first, capacity);
        Py_END_ALLOW_THREADS
        result = enough ? Py_NewRef(Py_None) : PyErr_NoMemory();
    }
    end(&s.r);
    glue_pins_close(&pins);
    return result;
}
