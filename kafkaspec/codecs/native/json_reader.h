/* JSON texts of one type to columns in Arrow's layout; nothing here knows Python. */
#ifndef KAFKASPEC_JSON_READER_H
#define KAFKASPEC_JSON_READER_H

#include "messages.h"

/* Types of values; the numbers are those of values/json_schema/columns.py. */
enum {
    JR_NULL,
    JR_BOOLEAN, /* a bit */
    JR_INTEGER, /* 64 bits, from `low` to `high` */
    JR_NUMBER,  /* a double */
    JR_STRING,
    JR_TEXT,    /* anything, as JSON without blanks */
    JR_UUID,    /* its text */
    JR_DATE,    /* 64 bits: days since the epoch */
    JR_TIME,    /* 64 bits: us of the day */
    JR_MOMENT,  /* 64 bits: us since the epoch */
    JR_BASE64,  /* bytes */
    JR_DECIMAL, /* 128 bits with the scale `low`: a number, or base64 if `high` */
    JR_STRUCT,  /* the nodes in it are fields; if `high`, the last one takes all others as JSON */
    JR_LIST,    /* of the node in it */
    JR_MAP,     /* from the first node in it, a JR_STRING, to the second */
    JR_PAIRS,   /* the same as an array of pairs; keys are JR_STRING or JR_INTEGER */
    JR_TUPLE,   /* an array: the nodes in it are items, the last one takes all others as JSON */
    JR_KINDS
};

typedef struct {
    int kind;
    int refused;   /* whether null and absence are for another reader */
    int64_t low, high;
    const uint8_t *name;
    int64_t name_size;
    int64_t end;   /* the number of the first node that is not in this one */
    int64_t stamp; /* the last object that had this field */
    int64_t kept, kept_nulls; /* values before the row */
    km_out out;
} jr_node;

/* Levels of arrays and objects in each other, at most. */
enum { JR_DEPTH = 250 };

/* Whether nodes are nested as they should be. */
int jr_valid(const jr_node *nodes, int64_t count);

/*
 * Read the texts that `offsets` divide, without the first `skip` and the last `drop` bytes of each. A
 * text that is not surely what the nodes say is left out: its number goes to `unsure`, as a 64-bit
 * integer. KM_NO_MEMORY, KM_TOO_LARGE: nothing is of use.
 */
int jr_read(jr_node *nodes, int64_t count, const uint8_t *data, const int32_t *offsets, int64_t rows,
            int64_t skip, int64_t drop, int depth, km_memory *unsure);

#endif
