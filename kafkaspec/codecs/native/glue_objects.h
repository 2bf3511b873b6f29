/* Makes record objects from spans; shared by those who make all at once and one at a time. */
#ifndef KAFKASPEC_GLUE_OBJECTS_H
#define KAFKASPEC_GLUE_OBJECTS_H

#include "glue.h"

enum { CACHED_NAMES = 64, CACHED_SIZE = 56, FRESH_SIZE = 32 };

/* Text that occurs again and again, such as the keys of headers, is made once. */
typedef struct {
    int64_t size;
    PyObject *text;
    uint8_t bytes[CACHED_SIZE];
} name;

typedef struct {
    glue_columns c;
    int64_t row_capacity;
    void *blocks;
    PyTypeObject *type;
    allocfunc allocate;
    glue_plan plan;
    uint64_t text;
    PyObject *nothing;
    int bare;         /* whether a record is the memory of a tuple and nothing more */
    Py_ssize_t items; /* bytes before the items of a tuple, 0 if unknown */
    /* What a fresh tuple has between its size and its items: since 3.14 the place of its hash. */
    uint8_t fresh[FRESH_SIZE];
    size_t fresh_size;
    name names[CACHED_NAMES];
    /* The last integer of each field: timestamps in milliseconds repeat from record to record. */
    int64_t number[MOST_FIELDS];
    PyObject *number_object[MOST_FIELDS];
} maker;

/* The maker is zeroed first, so that it can be closed whatever became of it. */
int maker_open(maker *m, PyObject *type, PyObject *plan, unsigned long long text);
void maker_close(maker *m);
/* Memory for `rows` records with `items` items in each list, in one block. */
int maker_room(maker *m, int64_t rows, int64_t items);
/* No rows yet. */
void maker_reset(maker *m);
/* Items to try next where those there is room for are too few; -1 for no more. */
int64_t maker_more_items(const maker *m);
/* One record of those that were decoded; `base` is what its spans count from. */
PyObject *record_of(maker *m, const uint8_t *base, int64_t row);

#endif
