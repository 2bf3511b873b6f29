/*
 * The interface of the generated core: plain C99, no allocation, no global state, no Python. The
  * caller provides all memory. Nothing in this file depends on one specification.
 *
 * The core never explains a refusal: it says which batch and which byte, and the reference codec
 * then reads that batch again and raises the error.
 */
#ifndef KS_ABI_H
#define KS_ABI_H

#include <stdint.h>

/* The specification that the core is made from; the generated layout holds the same hash. */
#define KS_SPECIFICATION "@SPECIFICATION@"

/* Results. */
enum {
    KS_OK = 0,
    KS_IRREGULAR = 1, /* the bytes do not follow the specification */
    KS_CHECKSUM = 2,  /* a stored checksum does not match the bytes */
    KS_GROW = 3,      /* an output is too small; the state is as before the failed batch */
    KS_SHORT = 4,     /* scan: the bytes end within an entry */
    KS_RANGE = 5      /* encode: a value does not fit its field */
};

/* Kinds of columns. */
enum { KS_INTEGER = 0, KS_BYTES = 1, KS_NULLABLE_BYTES = 2, KS_LIST = 3 };

/* Layouts of byte columns. */
enum {
    KS_VIEW = 0,   /* Arrow's binary_view: 16 bytes a row, long values point into a buffer */
    KS_BINARY = 1, /* Arrow's binary: 32-bit offsets, and the bytes one after the other */
    KS_SPAN = 2    /* two integers of 64 bits a row: position and size, -1 for null */
};

/* A view: its bytes, and where in it a long value has its buffer and the position there. */
enum { KS_VIEW_SIZE = 16, KS_VIEW_BUFFER = 8, KS_VIEW_PLACE = 12 };

/* The most bytes of a value that stand in the view itself, after its size, and a long one's first. */
enum { KS_VIEW_SHORT = 12, KS_VIEW_PREFIX = 4 };

/* Room after the last byte of ks_bytes_out.data that copies may overwrite. */
enum { KS_SLACK = 64 };

/* Most items of a list of one record, whatever its bytes say: 2^20 headers are enough. */
enum { KS_MOST_ITEMS = 1 << 20 };

typedef struct {
    const uint8_t *bytes;
    int64_t size;
} ks_buffer;

typedef struct {
    const char *name;
    int kind;
    int index;        /* among its kind: into integers, bytes or lists of ks_out */
    int list;         /* index of the list that holds it, -1 for none */
} ks_column;

/* A byte column. Of the pointers only those of the layout are used; validity may be NULL. */
typedef struct {
    uint8_t *views;
    int64_t *spans;
    int32_t *offsets;
    uint8_t *data;
    int64_t data_capacity;
    int64_t data_used;
    uint8_t *validity;
    int64_t nulls;
    uint64_t high; /* for columns without null: not 0 if any byte is not ASCII */
    int wanted;
} ks_bytes_out;

/* A list column: the start of the items of each row, and the number of items. */
typedef struct {
    int32_t *offsets;
    int64_t used;
    int64_t capacity;
    int wanted;
} ks_list_out;

typedef struct {
    int layout;
    int64_t rows;
    int64_t capacity;
    int64_t **integers; /* NULL for an unwanted column */
    ks_bytes_out *bytes;
    ks_list_out *lists;
} ks_out;

/* One batch, or a run of messages, for ks_decode: KS_BATCH_FIELDS integers. */
enum {
    KS_B_BUFFER = 0,      /* which buffer holds the entry */
    KS_B_POSITION = 1,    /* where the entry begins in it */
    KS_B_SIZE = 2,        /* bytes of the entry, its framing included */
    KS_B_PAYLOAD = 3,     /* buffer of decompressed records, -1: they are in the entry */
    KS_B_PAYLOAD_POSITION = 4,
    KS_B_PAYLOAD_SIZE = 5,
    KS_B_ROWS = 6,        /* records that it must have */
    KS_B_FLAGS = 7,
    KS_BATCH_FIELDS = 8
};
enum {
    KS_F_CHECKSUM = 1, /* verify checksums */
    KS_F_ENTRIES = 2   /* read a run of entries that are one record each */
};

/* Byte columns and lists for the encoder. Row i of a byte column: data[offsets[i]..offsets[i+1]]
 * or, with spans, spans[2i+1] bytes from the address data + spans[2i]. */
typedef struct {
    const uint8_t *data;
    const int32_t *offsets;
    const int64_t *spans;
    const uint8_t *validity;
} ks_bytes_in;

typedef struct {
    const int32_t *offsets;
} ks_list_in;

typedef struct {
    const int64_t **integers; /* NULL: the default of the specification */
    const ks_bytes_in *bytes;
    const ks_list_in *lists;
} ks_in;

/* A kind of entry. Headers are arrays of integers in the order of `members`. */
typedef struct {
    const char *key;            /* of the type, "recordbatch.record_batch" */
    int members;
    const char *const *names;   /* dotted ids */
    uint64_t used;              /* one bit for each member that decoding needs */
    int is_batch;               /* its records are in a payload of their own */
    int64_t record_size;        /* least number of bytes of a record; batches only */
    int64_t header_size;        /* bytes that `finish` writes; batches only */
    /* Decode the payload of one batch whose header is given. KS_IRREGULAR leaves in out->rows how
     * many records could be read; if they are all there should be, *position is where they end. */
    int (*decode)(const int64_t *header, const ks_buffer *payload, ks_out *out, int64_t *position);
    /* Write the payload of one batch: rows first..first+rows of the columns. */
    int (*encode)(const int64_t *header, const ks_in *in, int64_t first, int64_t rows, uint8_t *out,
                  int64_t capacity, int64_t *used);
    /* Write a header before a payload of `size` bytes, which is already in place. NULL
     * where a header is more than numbers. */
    int (*finish)(const int64_t *header, uint8_t *out, int64_t size);
    /* The bytes of the entry that a header of `header_size` bytes begins; -1 if it is not regular.
     * NULL where `finish` is. */
    int64_t (*hop)(const uint8_t *header);
} ks_kind;

/* The columns that ks_decode can fill, those of records first, then those of their batches. */
extern const ks_column ks_columns[];
extern const int ks_columns_count;
extern const int ks_integers_count, ks_bytes_count, ks_lists_count;

/* The columns that ks_scan fills. The first three are those of this enum, whatever the format. */
enum {
    KS_SCAN_POSITION = 0,
    KS_SCAN_SIZE = 1,
    KS_SCAN_KIND = 2 /* number of the kind in ks_kinds */
};
extern const char *const ks_scan_names[];
extern const int ks_scan_count;

extern const ks_kind ks_kinds[];
extern const int ks_kinds_count;

/*
 * The headers of all entries between two positions, at most `capacity`. Column k of entry i goes to
 * columns[k * capacity + i]; bit k of present[i] says whether the entry has it.
 * KS_OK: the end is reached; KS_GROW: no room for more; KS_SHORT: the rest is less than an entry;
 * KS_IRREGULAR: there is no entry at *position.
 */
int ks_scan(const uint8_t *bytes, int64_t start, int64_t end, int64_t *columns, int64_t capacity,
            uint64_t *present, int64_t *count, int64_t *position);

/*
 * The records of batches first..first+count. Unless KS_OK is returned, *failed is the number of the
 * batch that could not be decoded and *position the byte (of the buffer that is read) where it
  * failed; the outputs then hold all batches before it.
 */
int ks_decode(const ks_buffer *buffers, int buffers_count, const int64_t *batches, int64_t first,
              int64_t count, ks_out *out, int64_t *failed, int64_t *position);

/* Checksums, with the fastest way that this CPU has. */
uint32_t ks_crc32c(const uint8_t *bytes, int64_t size);
uint32_t ks_crc32(const uint8_t *bytes, int64_t size);
/* The same with each way that it has, fastest first, for tests: their number and their names. */
int ks_crc_kernels(void);
const char *ks_crc_kernel(int number);
uint32_t ks_crc32c_by(int number, const uint8_t *bytes, int64_t size);
uint32_t ks_crc32_by(int number, const uint8_t *bytes, int64_t size);

#endif
