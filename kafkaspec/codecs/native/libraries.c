/* Finds the libraries that are used, once, before any of them is. */
#include "libraries.h"

#include <stdio.h>
#include <string.h>

#ifndef _WIN32
#include <dlfcn.h>
#endif

/* What the headers say is what is expected. */
#define EQUAL(theirs, ours) _Static_assert((int)(theirs) == (int)(ours), "another interface")
#define USED(version, least) \
    _Static_assert((version) >= (least) && (version) < KS_VERSION_END, "another version")
#ifdef KS_LIBLZ4
USED(LZ4_VERSION_NUMBER, KS_LZ4_LEAST);
#endif
#ifdef KS_LIBZSTD
USED(ZSTD_VERSION_NUMBER, KS_ZSTD_LEAST);
EQUAL(ZSTD_e_flush, KS_ZSTD_FLUSH);
EQUAL(ZSTD_e_end, KS_ZSTD_END);
EQUAL(ZSTD_reset_session_and_parameters, KS_ZSTD_RESET_ALL);
EQUAL(ZSTD_c_compressionLevel, KS_ZSTD_LEVEL);
#endif
#ifdef KS_LIBSNAPPY
EQUAL(SNAPPY_OK, KS_SNAPPY_OK);
#endif
#ifdef KS_LIBDEFLATE
EQUAL(LIBDEFLATE_SUCCESS, KS_DEFLATE_OK);
#endif

#define NAME(type, name, parameters) #name,
#define ADDRESS(type, name, parameters) name,

ks_lz4_calls ks_lz4;
ks_zstd_calls ks_zstd;
ks_snappy_calls ks_snappy;
ks_deflate_calls ks_deflate;

#ifdef KS_LIBLZ4
static const ks_lz4_calls linked_lz4 = {KS_LZ4_CALLS(ADDRESS)};
#define LINKED_LZ4 &linked_lz4
#else
#define LINKED_LZ4 NULL
#endif
#ifdef KS_LIBZSTD
static const ks_zstd_calls linked_zstd = {KS_ZSTD_CALLS(ADDRESS)};
#define LINKED_ZSTD &linked_zstd
#else
#define LINKED_ZSTD NULL
#endif
#ifdef KS_LIBSNAPPY
static const ks_snappy_calls linked_snappy = {KS_SNAPPY_CALLS(ADDRESS)};
#define LINKED_SNAPPY &linked_snappy
#else
#define LINKED_SNAPPY NULL
#endif
#ifdef KS_LIBDEFLATE
static const ks_deflate_calls linked_deflate = {KS_DEFLATE_CALLS(ADDRESS)};
#define LINKED_DEFLATE &linked_deflate
#define DEFLATE_VERSION LIBDEFLATE_VERSION_STRING
#else
#define LINKED_DEFLATE NULL
#define DEFLATE_VERSION ""
#endif

static const char *const lz4_names[] = {KS_LZ4_CALLS(NAME)};
static const char *const zstd_names[] = {KS_ZSTD_CALLS(NAME)};
static const char *const snappy_names[] = {KS_SNAPPY_CALLS(NAME)};
static const char *const deflate_names[] = {KS_DEFLATE_CALLS(NAME)};

static unsigned lz4_version(void)
{
    return (unsigned)ks_lz4.LZ4_versionNumber();
}

static unsigned zstd_version(void)
{
    return ks_zstd.ZSTD_versionNumber();
}

/* How a library is found. */
typedef struct {
    const char *file; /* the name stands for the ABI */
    const char *const *names;
    void *calls; /* as many pointers as there are names */
    size_t size;
    const void *linked;        /* the same, NULL if it is not linked */
    unsigned (*version)(void); /* NULL: it does not say it */
    unsigned least;
    const char *text; /* the version where no call says it */
} source;

static const source sources[KS_LIBRARIES] = {
    [KS_DEFLATE] = {"libdeflate.so.0", deflate_names, &ks_deflate, sizeof ks_deflate,
                    LINKED_DEFLATE, NULL, 0, DEFLATE_VERSION},
    [KS_SNAPPY] = {"libsnappy.so.1", snappy_names, &ks_snappy, sizeof ks_snappy, LINKED_SNAPPY,
                   NULL, 0, ""},
    [KS_LZ4] = {"liblz4.so.1", lz4_names, &ks_lz4, sizeof ks_lz4, LINKED_LZ4, lz4_version,
                KS_LZ4_LEAST, ""},
    [KS_ZSTD] = {"libzstd.so.1", zstd_names, &ks_zstd, sizeof ks_zstd, LINKED_ZSTD, zstd_version,
                 KS_ZSTD_LEAST, ""},
};

ks_library ks_libraries[KS_LIBRARIES] = {
    [KS_DEFLATE] = {.name = "libdeflate"},
    [KS_SNAPPY] = {.name = "libsnappy"},
    [KS_LZ4] = {.name = "liblz4"},
    [KS_ZSTD] = {.name = "libzstd"},
};

/* Load a library and look its calls up; those before it are kept until the process ends. */
static void load(const source *from, char *why, size_t room)
{
#if defined(_WIN32) || defined(__APPLE__)
    (void)from;
    snprintf(why, room, "not linked");
#else
    void *handle = dlopen(from->file, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char *said = dlerror();
        const int missing = !said || strstr(said, "No such file");
        snprintf(why, room, "%s", missing ? KS_NOT_INSTALLED : said);
        return;
    }
    for (size_t i = 0; i < from->size / sizeof(void *); i++) {
        void *symbol = dlsym(handle, from->names[i]);
        if (!symbol) {
            snprintf(why, room, "it has no %s", from->names[i]);
            dlclose(handle);
            return;
        }
        memcpy((char *)from->calls + i * sizeof symbol, &symbol, sizeof symbol);
    }
#endif
}

static void number_text(unsigned number, char *text, size_t room)
{
    snprintf(text, room, "%u.%u.%u", number / 10000, number / 100 % 100, number % 100);
}

static void find(const source *from, ks_library *library, int which)
{
    library->version[0] = library->why[0] = 0;
    if (which == KS_USE_NONE)
        snprintf(library->why, sizeof library->why, "switched off");
    else if (from->linked && which == KS_USE_ALL)
        memcpy(from->calls, from->linked, from->size);
    else
        load(from, library->why, sizeof library->why);
    if (!library->why[0] && from->version) {
        const unsigned number = from->version();
        number_text(number, library->version, sizeof library->version);
        if (number < from->least || number >= KS_VERSION_END) {
            char least[16], end[16];
            number_text(from->least, least, sizeof least);
            number_text(KS_VERSION_END, end, sizeof end);
            snprintf(library->why, sizeof library->why, "%s is not from %s on and before %s",
                     library->version, least, end);
        }
    } else if (!library->why[0] && from->linked) {
        snprintf(library->version, sizeof library->version, "%s", from->text);
    }
    if (library->why[0])
        memset(from->calls, 0, from->size);
}

void ks_libraries_find(int which)
{
    for (int i = 0; i < KS_LIBRARIES; i++)
        find(&sources[i], &ks_libraries[i], which);
}
