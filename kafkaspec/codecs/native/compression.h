/*
 * Payloads in the form that Kafka's producers write, through libraries in C. No Python, and no global
 * state but the table of what was found once. Which forms these are is said by kafkaspec/compression;
 * here are the loops over blocks.
 */
#ifndef KAFKASPEC_COMPRESSION_H
#define KAFKASPEC_COMPRESSION_H

#include <stdint.h>

#include "libraries.h"

/* What a payload has around its blocks. */
typedef struct {
    const uint8_t *start; /* the bytes that it begins with */
    int64_t start_size;
    int64_t header; /* where the blocks begin, not less than start_size */
    int64_t block;  /* most bytes of output of a block; zstd: the largest window */
} ks_framing;

/* Memory of the libraries, for one thread at a time: zeros at first. */
typedef struct {
    void *read_zstd, *read_gzip, *write_zstd, *write_gzip;
    int level; /* of write_gzip */
} ks_contexts;

void ks_contexts_close(ks_contexts *contexts);

enum {
    KS_OTHER_FORM = -1, /* not in the form that is known here, or broken */
    KS_NO_ROOM = -2     /* perhaps no more than that: the output does not fit */
};

/* A codec whose library was found. */
typedef struct {
    const char *name; /* as in Kafka's configuration */
    const ks_library *library;
    /* Decompress a payload; the number of bytes written, or one of the two above. Nothing is
     * written beyond `room`. The payload begins as the framing says. */
    int64_t (*decompress)(ks_contexts *contexts, const ks_framing *framing, const uint8_t *payload,
                          int64_t size, uint8_t *out, int64_t room);
    /* Most bytes that so many bytes are compressed to. */
    int64_t (*most)(const ks_framing *framing, int64_t size);
    /* Compress; `out` has room for most(size) bytes. The level is the library's; of lz4, 0 is the
     * fast compressor. The number of bytes, -1: not enough memory. */
    int64_t (*compress)(ks_contexts *contexts, const ks_framing *framing, int level,
                        const uint8_t *data, int64_t size, uint8_t *out);
} ks_codec;

extern ks_codec ks_codecs[KS_LIBRARIES];
extern int ks_codecs_count;

/* Fill the table of codecs, with one of KS_USE_; before the others are called, by one thread. */
void ks_codecs_find(int which);

/* Most bytes of a payload, and of its output, in one call. */
#define KS_MOST_BYTES (INT64_C(1) << 30)

/* Decompress any bytes with a codec of the table; see ks_codec. */
int64_t ks_decompress(int codec, ks_contexts *contexts, const ks_framing *framing,
                      const uint8_t *payload, int64_t size, uint8_t *out, int64_t room);

#endif
