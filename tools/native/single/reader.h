/*
 * The records of a log segment as columns, in C99, without Python.
 *
 *     ks_reader *reader = ks_open(bytes, size, NULL);
 *     ks_rows rows;
 *     while (ks_next(reader, &rows) == KS_OK)
 *         ... rows.columns.integers[KS_COLUMN_OFFSET][row] ...
 *     puts(ks_problem(reader));
 *     ks_close(reader);
 *
 * Compile kafkaspec.c with your program. Libraries of compression are loaded when they are needed, from
 * what the machine has (liblz4, libzstd, libsnappy, libdeflate); -DKS_LIBLZ4=1 and the like link them.
 * Where one is missing, or a payload has a form that no producer of Kafka's writes, `decompress` of the
 * options is asked.
 */
#include <stddef.h>

/* More results, of ks_next. */
enum {
    KS_END = 16,         /* every entry has been read */
    KS_UNSUPPORTED = 17, /* a payload that neither a library nor `decompress` has decompressed */
    KS_TOO_LARGE = 18,   /* a payload of more than `most_output` bytes */
    KS_NO_MEMORY = 19
};

/* Most bytes of a payload after decompression, unless the options say another number. */
#define KS_MOST_OUTPUT (INT64_C(256) << 20)

typedef struct {
    /* Names of the columns that are wanted, up to NULL; NULL for those of records. */
    const char *const *columns;
    int unchecked;       /* do not verify checksums */
    int64_t most_output; /* 0: KS_MOST_OUTPUT */
    /* Decompress a payload, `codec` as in Kafka's configuration: the number of bytes written, which is
     * at most `room`; -1 if it cannot, -2 if there is not enough room. May be NULL. */
    int64_t (*decompress)(void *context, const char *codec, const uint8_t *payload, int64_t size,
                          uint8_t *out, int64_t room);
    void *context;
    int64_t position; /* of the first byte in the log, where the bytes are a part: for ks_problem */
} ks_options;

/*
 * Some records. Columns are those of the options, others are NULL; those named batch are of the entry
 * that holds the record, -1 where an entry of its kind has no such field. `spans` of a byte column has two
 * numbers for each value: where it begins in `bytes`, and its size, -1 for null. Values in a list, such
 * as headers.key, belong to the record whose `offsets` of the list say so. All memory is the reader's, up
 * to the next call.
 */
typedef struct {
    int64_t position, size; /* of the entries in the bytes */
    const uint8_t *bytes;   /* what spans count from */
    ks_out columns;
} ks_rows;

typedef struct ks_reader ks_reader;

/* Begin to read the bytes of a segment, which stay the caller's. NULL: not enough memory, or the options
 * name a column that does not exist. The first call finds the libraries, and has to end before another
 * thread calls; after that, each thread may have readers. */
ks_reader *ks_open(const void *bytes, int64_t size, const ks_options *options);

/*
 * The records of the next entries, control records included. Anything but KS_OK comes with a text, see
 * ks_problem. After KS_IRREGULAR, KS_CHECKSUM, KS_UNSUPPORTED, KS_TOO_LARGE or KS_NO_MEMORY for an entry,
 * reading goes on with the next one; where no entry begins, and at the end, the same is returned again. KS_SHORT: the
 * log ends within an entry.
 */
int ks_next(ks_reader *reader, ks_rows *rows);

/* Why ks_next did not return KS_OK, with the position in bytes; empty if it did. */
const char *ks_problem(const ks_reader *reader);

void ks_close(ks_reader *reader);
