/*
 * The calls of libraries in C that compress and decompress. Those whose headers were there at
 * compilation are linked; others are loaded from what the machine has, by the name that stands for
 * their ABI. The prototypes are ours: where there are headers, the compiler compares them.
 */
#ifndef KAFKASPEC_LIBRARIES_H
#define KAFKASPEC_LIBRARIES_H

#include <stddef.h>

#ifdef KS_LIBLZ4
#include <lz4.h>
#include <lz4hc.h>
#endif
#ifdef KS_LIBZSTD
#include <zstd.h>
#else
typedef struct {
    const void *src;
    size_t size, pos;
} ZSTD_inBuffer;
typedef struct {
    void *dst;
    size_t size, pos;
} ZSTD_outBuffer;
#endif
#ifdef KS_LIBSNAPPY
#include <snappy-c.h>
#endif
#ifdef KS_LIBDEFLATE
#include <libdeflate.h>
#endif

/* Constants of their interfaces. */
enum { KS_SNAPPY_OK = 0, KS_DEFLATE_OK = 0 };
enum { KS_ZSTD_FLUSH = 1, KS_ZSTD_END = 2, KS_ZSTD_RESET_ALL = 3, KS_ZSTD_LEVEL = 100 };

/*
 * Versions that are used, as the libraries number them: not older, and not of another ABI. Before
 * 1.9.2, LZ4_compress_default may write behind an output that is smaller than the worst case; since
 * 1.4.0, ZSTD_compressStream2 is stable. The other two say no version in C; the name of their files
 * and their symbols have to do.
 */
enum { KS_LZ4_LEAST = 10902, KS_ZSTD_LEAST = 10400, KS_VERSION_END = 20000 };

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;
struct libdeflate_compressor;
struct libdeflate_decompressor;

/* call(type, name, parameters) for each call; enumerations are unsigned integers. */
#define KS_LZ4_CALLS(call)                                                      \
    call(int, LZ4_versionNumber, (void))                                        \
    call(int, LZ4_decompress_safe, (const char *, char *, int, int))            \
    call(int, LZ4_compress_default, (const char *, char *, int, int))           \
    call(int, LZ4_compress_HC, (const char *, char *, int, int, int))

#define KS_ZSTD_CALLS(call)                                                                      \
    call(unsigned, ZSTD_versionNumber, (void))                                                   \
    call(unsigned, ZSTD_isError, (size_t))                                                       \
    call(size_t, ZSTD_findFrameCompressedSize, (const void *, size_t))                           \
    call(struct ZSTD_DCtx_s *, ZSTD_createDCtx, (void))                                          \
    call(size_t, ZSTD_freeDCtx, (struct ZSTD_DCtx_s *))                                          \
    call(size_t, ZSTD_decompressDCtx,                                                            \
         (struct ZSTD_DCtx_s *, void *, size_t, const void *, size_t))                           \
    call(struct ZSTD_CCtx_s *, ZSTD_createCCtx, (void))                                          \
    call(size_t, ZSTD_freeCCtx, (struct ZSTD_CCtx_s *))                                          \
    call(size_t, ZSTD_CCtx_reset, (struct ZSTD_CCtx_s *, unsigned))                              \
    call(size_t, ZSTD_CCtx_setParameter, (struct ZSTD_CCtx_s *, unsigned, int))                  \
    call(size_t, ZSTD_compressBound, (size_t))                                                   \
    call(size_t, ZSTD_compressStream2,                                                           \
         (struct ZSTD_CCtx_s *, ZSTD_outBuffer *, ZSTD_inBuffer *, unsigned))

#define KS_SNAPPY_CALLS(call)                                                      \
    call(unsigned, snappy_uncompressed_length, (const char *, size_t, size_t *))   \
    call(unsigned, snappy_uncompress, (const char *, size_t, char *, size_t *))    \
    call(unsigned, snappy_compress, (const char *, size_t, char *, size_t *))      \
    call(size_t, snappy_max_compressed_length, (size_t))

#define KS_DEFLATE_CALLS(call)                                                                   \
    call(struct libdeflate_decompressor *, libdeflate_alloc_decompressor, (void))                \
    call(void, libdeflate_free_decompressor, (struct libdeflate_decompressor *))                 \
    call(unsigned, libdeflate_deflate_decompress_ex,                                             \
         (struct libdeflate_decompressor *, const void *, size_t, void *, size_t, size_t *,      \
          size_t *))                                                                             \
    call(struct libdeflate_compressor *, libdeflate_alloc_compressor, (int))                     \
    call(void, libdeflate_free_compressor, (struct libdeflate_compressor *))                     \
    call(size_t, libdeflate_deflate_compress_bound, (struct libdeflate_compressor *, size_t))    \
    call(size_t, libdeflate_deflate_compress,                                                    \
         (struct libdeflate_compressor *, const void *, size_t, void *, size_t))

#define KS_MEMBER(type, name, parameters) type(*name) parameters;

typedef struct { KS_LZ4_CALLS(KS_MEMBER) } ks_lz4_calls;
typedef struct { KS_ZSTD_CALLS(KS_MEMBER) } ks_zstd_calls;
typedef struct { KS_SNAPPY_CALLS(KS_MEMBER) } ks_snappy_calls;
typedef struct { KS_DEFLATE_CALLS(KS_MEMBER) } ks_deflate_calls;

/* NULL as long as the library is not used. */
extern ks_lz4_calls ks_lz4;
extern ks_zstd_calls ks_zstd;
extern ks_snappy_calls ks_snappy;
extern ks_deflate_calls ks_deflate;

enum { KS_DEFLATE, KS_SNAPPY, KS_LZ4, KS_ZSTD, KS_LIBRARIES };

/* What is known of a library after ks_libraries_find. */
typedef struct {
    const char *name;
    char version[16]; /* as text; empty if the library does not say it */
    char why[96];     /* why it is not used; empty if it is */
} ks_library;

extern ks_library ks_libraries[KS_LIBRARIES];

#define KS_NOT_INSTALLED "not installed" /* a reason that a package mends */

/* Which of the libraries are used. */
enum {
    KS_USE_NONE,
    KS_USE_LOADED, /* even those that are linked are looked up by name, for tests */
    KS_USE_ALL     /* those that are linked, and of others those that can be loaded */
};

void ks_libraries_find(int which);

#endif
