/* What the parts of the extension share. Stable ABI of CPython 3.11; nothing here knows a format. */
#ifndef KAFKASPEC_GLUE_H
#define KAFKASPEC_GLUE_H

#define PY_SSIZE_T_CLEAN
#include <pyconfig.h>
#ifndef Py_GIL_DISABLED /* the free-threaded build has no stable ABI */
#define Py_LIMITED_API 0x030B0000
#endif
#include <Python.h>

#include "abi.h"

#include <string.h>

/* Between them no other thread works with the object, unless this one waits for something. */
#ifdef Py_GIL_DISABLED
#define GLUE_BEGIN_ALONE(object) Py_BEGIN_CRITICAL_SECTION(object);
#define GLUE_END_ALONE Py_END_CRITICAL_SECTION();
#else
#define GLUE_BEGIN_ALONE(object) {
#define GLUE_END_ALONE }
#endif

/* Buffers that are held while C reads or writes them. */
typedef struct {
    Py_buffer *views;
    int used;
    int capacity;
} glue_pins;

int glue_pins_open(glue_pins *pins, int capacity);
void glue_pins_close(glue_pins *pins);
/* The bytes of an object, which stays pinned; NULL with an exception set. A NULL `size` is fine. */
void *glue_pin(glue_pins *pins, PyObject *object, int writable, int64_t *size);
/* The same, and at least `least` bytes long. */
void *glue_pin_sized(glue_pins *pins, PyObject *object, int writable, int64_t least);

/* Buffers that entries are decoded from, at most: the input, and what was decompressed. */
enum { GLUE_SOURCES = 4 };
/* The bytes of a tuple of them, for views if the layout says so; how many, -1 with an exception set. */
int glue_pin_sources(glue_pins *pins, PyObject *tuple, int layout, ks_buffer *buffers);
/* The validity of a column or NULL; -1 with an exception set. */
int glue_pin_validity(glue_pins *pins, PyObject *object, int64_t rows, const uint8_t **validity);

static inline int glue_is_there(const uint8_t *validity, int64_t row)
{
    return !validity || (validity[row >> 3] >> (row & 7) & 1);
}

/* The bytes of a row of a column, whose place other threads may write to; 0 if there are none. */
static inline int glue_bytes_of(int layout, const void *main, const ks_buffer *sources, int count,
                                int64_t row, const uint8_t **bytes, int64_t *size)
{
    if (layout == KS_BINARY) {
        int32_t place[2];
        memcpy(place, (const uint8_t *)main + 4 * row, sizeof place);
        if (place[0] < 0 || place[1] < place[0] || count < 1 || place[1] > sources[0].size)
            return 0;
        *bytes = sources[0].bytes + place[0];
        *size = place[1] - place[0];
        return 1;
    }
    const uint8_t *view = (const uint8_t *)main + KS_VIEW_SIZE * row;
    int32_t length, place[2];
    memcpy(&length, view, 4);
    *size = length;
    *bytes = view + 4;
    if (length >= 0 && length <= KS_VIEW_SHORT)
        return 1;
    memcpy(place, view + KS_VIEW_BUFFER, sizeof place);
    if (length < 0 || place[0] < 0 || place[0] >= count || place[1] < 0 ||
        place[1] > sources[place[0]].size - length)
        return 0;
    *bytes = sources[place[0]].bytes + place[1];
    return 1;
}


/* What `select` is told beside bounds, and what it says of the entries that it chose. */
enum {
    KS_S_BOUNDED = 1, /* offsets have an upper bound */
    KS_S_CONTROL = 2, /* control batches are wanted */
    KS_S_APART = 4,   /* these, and batches that a bound cuts, are not for the core */
    KS_S_JOINED = 8   /* control batches are for the core even then */
};
enum {
    KS_S_CUT = 1,        /* some records are outside of the bounds */
    KS_S_COMPRESSED = 2, /* some entries are to be decompressed */
    KS_S_UNTIMED = 4,    /* there are entries of a kind without timestamps */
    KS_S_ENDED = 8,      /* nothing that follows is wanted */
    KS_S_OTHERWISE = 16, /* the next entry is wanted, but not one for the core */
    KS_S_MARKERS = 32    /* there are control records */
};

/* Number of the buffer for decompressed payloads; that of the input is 0. */
enum { GLUE_ARENA = 1 };

/* Most columns of each sort, and members of a header; the module refuses a core that has more. */
enum { GLUE_INTEGERS = 256, GLUE_MOST = 64 };

/* The columns that the core fills. */
typedef struct {
    ks_out out;
    int64_t *integers[GLUE_INTEGERS];
    ks_bytes_out bytes[GLUE_MOST];
    ks_list_out lists[GLUE_MOST];
} glue_columns;

/* No column is wanted yet. */
void glue_columns_open(glue_columns *c, int layout);

/* Whether an entry is a batch, by what a scan says of its kind; the caller may have made that up. */
static inline int glue_is_batch(int64_t kind)
{
    return kind >= 0 && kind < ks_kinds_count && ks_kinds[kind].is_batch;
}

/* Whether a magic is in a set: a bit for each. */
static inline int glue_has(int64_t set, int64_t magic)
{
    return magic >= 0 && magic < 63 && (set >> magic & 1);
}

/* Integers of a tuple; -1 with an exception set. */
int glue_integers(PyObject *tuple, int64_t *out, Py_ssize_t count);
/* The same for numbers of columns of a scan with room for `capacity` entries, `count` of them used. */
int glue_roles(PyObject *tuple, int64_t *out, Py_ssize_t roles, int64_t count, int64_t capacity);
/* A kind of entry and the members of a header of it; NULL with an exception set. */
const ks_kind *glue_kind(int number, PyObject *header, int64_t members[GLUE_MOST]);

/* What a record is made of: for each of its items a number of ks_columns. */
enum { MOST_FIELDS = 16 };
typedef struct {
    int fields;
    int column[MOST_FIELDS];
} glue_plan;

/* The plan of a tuple; -1 with an exception set. */
int glue_plan_of(PyObject *tuple, glue_plan *plan);
/* The byte columns in a list of records; their number. */
int glue_parts(const ks_column *list, int parts[MOST_FIELDS]);

PyObject *glue_decode(PyObject *module, PyObject *args);
PyObject *glue_whole(PyObject *module, PyObject *args);
PyObject *glue_entry_objects(PyObject *module, PyObject *args);
PyObject *glue_name_items(PyObject *module, PyObject *type);
PyObject *glue_payload_objects(PyObject *module, PyObject *args);
PyObject *glue_select(PyObject *module, PyObject *args);
PyObject *glue_survey(PyObject *module, PyObject *args);
PyObject *glue_adjust(PyObject *module, PyObject *args);
/* Most pieces of a line, and structures and lists in each other. */
enum { GLUE_LINE_PIECES = 1 << 14, GLUE_LINE_DEPTH = 64 };
PyObject *glue_json_lines(PyObject *module, PyObject *args);
PyObject *glue_hashes(PyObject *module, PyObject *args);
PyObject *glue_json_read(PyObject *module, PyObject *args);
/* Fill the tables of json_lines, once. */
void glue_json_open(void);
PyObject *glue_inspect(PyObject *module, PyObject *args);
PyObject *glue_mark(PyObject *module, PyObject *args);
PyObject *glue_fill(PyObject *module, PyObject *args);
PyObject *glue_follow(PyObject *module, PyObject *args);
PyObject *glue_widen(PyObject *module, PyObject *args);
/* Most parts of a pattern. */
enum { GLUE_PATTERN_PARTS = 64 };
PyObject *glue_fits(PyObject *module, PyObject *args);
PyObject *glue_same(PyObject *module, PyObject *args);
PyObject *glue_wire_check(PyObject *module, PyObject *args);
PyObject *glue_key_digests(PyObject *module, PyObject *args);
PyObject *glue_keys_put(PyObject *module, PyObject *args);
PyObject *glue_keys_judge(PyObject *module, PyObject *args);
/* The type of the iterator over records; a new reference. */
PyObject *glue_records_type(PyObject *module);
PyObject *glue_unpack(PyObject *module, PyObject *args);
PyObject *glue_decompress(PyObject *module, PyObject *args);
PyObject *glue_compress(PyObject *module, PyObject *args);
PyObject *glue_find_libraries(PyObject *module, PyObject *which);
PyObject *glue_encode(PyObject *module, PyObject *args);
PyObject *glue_encode_objects(PyObject *module, PyObject *args);
PyObject *glue_intact(PyObject *module, PyObject *args);
PyObject *glue_seek(PyObject *module, PyObject *args);
PyObject *glue_hop(PyObject *module, PyObject *args);
PyObject *glue_headed(PyObject *module, PyObject *args);
PyObject *glue_parts_of(PyObject *module, PyObject *args);
PyObject *glue_joined(PyObject *module, PyObject *args);
PyObject *glue_encode_groups(PyObject *module, PyObject *args);
PyObject *glue_messages_decode(PyObject *module, PyObject *args);
PyObject *glue_messages_encode(PyObject *module, PyObject *args);
PyObject *glue_messages_texts(PyObject *module, PyObject *args);
/* Fill the tables of messages_texts, once. */
void glue_messages_open(void);
/* The type of the memory that they fill; a new reference. */
PyObject *glue_memory_type(PyObject *module);

#endif
