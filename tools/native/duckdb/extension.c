/*
 * The table function read_kafka of DuckDB, over the reader of kafkaspec.h. Columns and their types are
 * those of read_kafka in Python; facts.h is made from them.
 *
 * Segments are read one after the other, in parts of WINDOW bytes, or more where an entry is larger;
 * of their records those columns alone are decoded that a query names.
 */
#define _XOPEN_SOURCE 700
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "duckdb_extension.h"

#include "kafkaspec.h"

#include "facts.h"
#include "java_text.h"

DUCKDB_EXTENSION_EXTERN

enum { WINDOW = 8 << 20, PER_MILLISECOND = 1000, TEXT = 1 << 10 };

/* What a query is over. */
typedef struct {
    char **paths;
    size_t count;
    int skip_tail;
} logs;

typedef struct {
    const logs *from;
    size_t next; /* among the paths */
    const char *path;
    int fd;
    int64_t size, start; /* of the file; where the window begins in it */
    uint8_t *window;
    int64_t held, room;
    ks_reader *reader;
    int64_t end; /* in the window, after the entries that were read */
    ks_rows rows;
    int64_t row; /* the next one */
    idx_t *columns; /* of the output */
    idx_t count;
    const char *sources[SOURCES + 1];
    char *topic; /* NULL: the directory is not named as a partition */
    int32_t partition;
    char *text; /* of a value that has to be UTF-8 */
    int64_t text_room;
    idx_t *selected; /* rows of a chunk */
    char error[TEXT];
} scan;

static int failed(scan *s, const char *why)
{
    snprintf(s->error, sizeof s->error, "%s: %s", s->path, why);
    return 0;
}

/* Names */

static int ends_with(const char *name, const char *suffix)
{
    const size_t size = strlen(name), end = strlen(suffix);
    return size >= end && !strcmp(name + size - end, suffix);
}

static int is_segment(const char *name)
{
    return strspn(name, "0123456789") == DIGITS && !strcmp(name + DIGITS, LOG);
}

/* Whether a directory is named as a partition: topic-0, or topic-0.<id>-delete, where `state` is set then.
 * See kafkaspec.files.names. */
static int is_partition(const char *name, size_t *topic, int32_t *partition, int *state)
{
    size_t size = strlen(name);
    *state = 0;
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        *state = *state || ends_with(name, states[i]);
    if (*state) {
        while (size && name[size - 1] != '.')
            size--;
        if (!size || strcspn(name, " \t\n\v\f\r") < strlen(name))
            return 0;
        size--;
    }
    size_t first = size;
    int64_t number = 0, tens = 1;
    for (; first && name[first - 1] >= '0' && name[first - 1] <= '9'; first--) {
        const int64_t digit = name[first - 1] - '0';
        number = digit && tens > INT32_MAX ? INT64_MAX - 9 : number + digit * tens;
        tens = tens > INT32_MAX ? tens : tens * 10;
        if (number > INT32_MAX)
            return 0;
    }
    if (first == size)
        return 0;
    first -= first && name[first - 1] == '+';
    if (first < 2 || name[first - 1] != '-')
        return 0;
    *topic = first - 1;
    *partition = (int32_t)number;
    return 1;
}

/* Paths */

static int add(logs *l, const char *path)
{
    char **more = realloc(l->paths, (l->count + 1) * sizeof *more);
    if (!more)
        return 0;
    l->paths = more;
    more[l->count] = malloc(strlen(path) + 1);
    if (!more[l->count])
        return 0;
    strcpy(more[l->count++], path);
    return 1;
}

static int is_directory(const char *path)
{
    struct stat found;
    return !stat(path, &found) && S_ISDIR(found.st_mode);
}

static int by_name(const void *one, const void *other)
{
    return strcmp(*(char *const *)one, *(char *const *)other);
}

/* The segments in a directory, or those in the partitions in it. 0: errno says why not. */
static int add_directory(logs *l, const char *path, int is_log_directory)
{
    DIR *directory = opendir(path);
    logs found = {NULL, 0, 0};
    char *inner = malloc(strlen(path) + sizeof ((struct dirent *)0)->d_name + 2);
    int good = directory && inner;
    size_t topic;
    int32_t partition;
    for (struct dirent *each; good && (each = readdir(directory));) {
        int state = 1;
        sprintf(inner, "%s%s%s", path, ends_with(path, "/") ? "" : "/", each->d_name);
        if (is_log_directory
                ? is_partition(each->d_name, &topic, &partition, &state) && !state && is_directory(inner)
                : is_segment(each->d_name))
            good = add(&found, inner);
    }
    if (found.count)
        qsort(found.paths, found.count, sizeof *found.paths, by_name);
    for (size_t i = 0; i < found.count; i++) {
        good = good && (is_log_directory ? add_directory(l, found.paths[i], 0) : add(l, found.paths[i]));
        free(found.paths[i]);
    }
    free(found.paths);
    free(inner);
    if (directory)
        closedir(directory);
    return good;
}

static int add_any_directory(logs *l, const char *path)
{
    const size_t before = l->count;
    return add_directory(l, path, 0) && (l->count > before || add_directory(l, path, 1));
}

/* What a pattern matches and a broker delivers: segments, and directories that hold them. */
static int add_matching(logs *l, const char *pattern)
{
    glob_t matches;
    const int status = glob(pattern, 0, NULL, &matches);
    if (status)
        return status == GLOB_NOMATCH;
    int good = 1;
    for (size_t i = 0; good && i < matches.gl_pathc; i++) {
        const char *path = matches.gl_pathv[i], *name = strrchr(path, '/');
        size_t topic;
        int32_t partition;
        int state;
        name = name ? name + 1 : path;
        if (is_segment(name))
            good = add(l, path);
        else if ((!is_partition(name, &topic, &partition, &state) || !state) && is_directory(path))
            good = add_any_directory(l, path);
    }
    globfree(&matches);
    return good;
}

/* Why there is nothing to read at a path, or NULL. */
static const char *find(logs *l, const char *path)
{
    struct stat found;
    errno = 0;
    if (!stat(path, &found)) {
        if (!(S_ISDIR(found.st_mode) ? add_any_directory(l, path) : add(l, path)))
            return errno ? strerror(errno) : "not enough memory";
        return l->count ? NULL : "the directory holds neither segments nor partition directories";
    }
    if (!path[strcspn(path, "*?[")])
        return strerror(errno);
    if (strstr(path, "**"))
        return "a glob has no **";
    errno = 0;
    if (!add_matching(l, path))
        return errno ? strerror(errno) : "not enough memory";
    return l->count ? NULL : "no segment matches it";
}

static void free_logs(void *given)
{
    logs *l = given;
    for (size_t i = 0; i < l->count; i++)
        free(l->paths[i]);
    free(l->paths);
    free(l);
}

/* Files */

static int64_t read_at(scan *s, int64_t position, uint8_t *into, int64_t size)
{
    int64_t done = 0;
    while (done < size) {
        const ssize_t some = pread(s->fd, into + done, (size_t)(size - done), (off_t)(position + done));
        if (some < 0 && errno == EINTR)
            continue;
        if (some <= 0)
            return some < 0 ? failed(s, strerror(errno)) : failed(s, "the file became shorter");
        done += some;
    }
    return 1;
}

/* Begin with the window of a file that starts at `start` and has `size` bytes or, at the end, fewer. */
static int open_window(scan *s, int64_t start, int64_t size)
{
    const ks_options options = {s->sources, 0, 0, NULL, NULL, start};
    ks_close(s->reader);
    s->reader = NULL;
    size = size < s->size - start ? size : s->size - start;
    if (size > s->room) {
        free(s->window);
        s->room = 0;
        s->window = malloc((size_t)size);
        if (!s->window)
            return failed(s, "not enough memory");
        s->room = size;
    }
    if (!read_at(s, start, s->window, size))
        return 0;
    s->start = start;
    s->held = size;
    s->end = 0;
    s->reader = ks_open(s->window, size, &options);
    return s->reader ? 1 : failed(s, "not enough memory");
}

static void close_file(scan *s)
{
    ks_close(s->reader);
    s->reader = NULL;
    free(s->topic);
    s->topic = NULL;
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
}

/* Topic and partition of a segment, from the name of its directory. */
static int take_place(scan *s)
{
    const char *slash = strrchr(s->path, '/');
    const size_t size = slash ? (size_t)(slash - s->path) : 0;
    char *path = malloc(size + 2), *name = path, *real = NULL;
    int state, good = 1;
    size_t topic = 0;
    if (!path)
        return failed(s, "not enough memory");
    memcpy(path, s->path, size);
    strcpy(path + size, slash ? "" : ".");
    name = (slash = strrchr(path, '/')) ? path + (slash - path) + 1 : path;
    if (!strcmp(name, ".") || !strcmp(name, "..")) {
        real = realpath(path, NULL);
        name = real && strrchr(real, '/') ? strrchr(real, '/') + 1 : name;
    }
    if (is_partition(name, &topic, &s->partition, &state)) {
        s->topic = malloc((size_t)java_size((const uint8_t *)name, (int64_t)topic) + 1);
        if (s->topic)
            *put_java((uint8_t *)s->topic, (const uint8_t *)name, (int64_t)topic) = 0;
        else
            good = failed(s, "not enough memory");
    }
    free(path);
    free(real);
    return good;
}

static int open_file(scan *s, const char *path)
{
    struct stat found;
    s->path = path;
    s->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (s->fd < 0 || fstat(s->fd, &found))
        return failed(s, strerror(errno));
    if (!S_ISREG(found.st_mode))
        return failed(s, "it is not a file");
    s->size = (int64_t)found.st_size;
    return take_place(s) && open_window(s, 0, WINDOW);
}

/* Whether a file has nothing but zeros from a position on; -1: it cannot be read. */
static int has_zeros(scan *s, int64_t position)
{
    uint8_t bytes[1 << 12];
    for (int64_t size; position < s->size; position += size) {
        size = s->size - position < (int64_t)sizeof bytes ? s->size - position : (int64_t)sizeof bytes;
        if (!read_at(s, position, bytes, size))
            return -1;
        for (int64_t i = 0; i < size; i++)
            if (bytes[i])
                return 0;
    }
    return 1;
}

/* Go on after the last entry in the window. 0: an error. */
static int advance(scan *s, int status)
{
    const int64_t place = s->start + s->end;
    if (status == KS_SHORT && s->start + s->held < s->size) {
        const int64_t larger = s->held > INT64_MAX / 2 ? s->held : 2 * s->held;
        return open_window(s, place, s->end ? WINDOW : larger);
    }
    if (status == KS_END && place < s->size)
        return open_window(s, place, WINDOW);
    if (status == KS_END || (status == KS_SHORT && s->from->skip_tail)) {
        close_file(s);
        return 1;
    }
    if (status == KS_IRREGULAR && s->from->skip_tail) {
        const int zeros = has_zeros(s, place);
        if (zeros) {
            close_file(s);
            return zeros > 0;
        }
    }
    return failed(s, ks_problem(s->reader));
}

/* Have a next row. 0: there is none, or an error. */
static int have_row(scan *s)
{
    while (s->row == s->rows.columns.rows) {
        s->row = s->rows.columns.rows = 0;
        if (!s->reader) {
            if (s->next == s->from->count)
                return 0;
            if (!open_file(s, s->from->paths[s->next++]))
                return 0;
        }
        const int status = ks_next(s->reader, &s->rows);
        if (status == KS_OK) {
            s->end = s->rows.position + s->rows.size;
        } else {
            memset(&s->rows, 0, sizeof s->rows);
            if (!advance(s, status))
                return 0;
        }
    }
    return 1;
}

/* Columns */

static void set_null(duckdb_vector vector, idx_t at)
{
    duckdb_vector_ensure_validity_writable(vector);
    duckdb_validity_set_row_invalid(duckdb_vector_get_validity(vector), at);
}

static void put_bytes(const scan *s, int column, int64_t row, duckdb_vector vector, idx_t at)
{
    const int64_t *span = s->rows.columns.bytes[column].spans + 2 * row;
    if (span[1] < 0)
        set_null(vector, at);
    else
        duckdb_vector_assign_string_element_len(vector, at, (const char *)s->rows.bytes + span[0],
                                                (idx_t)span[1]);
}

static int put_text(scan *s, int column, int64_t row, duckdb_vector vector, idx_t at)
{
    const int64_t *span = s->rows.columns.bytes[column].spans + 2 * row;
    const uint8_t *bytes = s->rows.bytes + span[0];
    const int64_t size = java_size(bytes, span[1]);
    if (size > s->text_room || !s->text) {
        free(s->text);
        s->text_room = 0;
        s->text = malloc((size_t)size + 1);
        if (!s->text)
            return failed(s, "not enough memory");
        s->text_room = size;
    }
    put_java((uint8_t *)s->text, bytes, span[1]);
    duckdb_vector_assign_string_element_len(vector, at, s->text, (idx_t)size);
    return 1;
}

static int put_headers(scan *s, idx_t count, duckdb_vector vector, idx_t at)
{
    const int32_t *offsets = s->rows.columns.lists[KS_COLUMN_HEADERS].offsets;
    idx_t items = duckdb_list_vector_get_size(vector);
    idx_t more = items;
    for (idx_t i = 0; i < count; i++)
        more += (idx_t)(offsets[s->selected[i] + 1] - offsets[s->selected[i]]);
    if (duckdb_list_vector_reserve(vector, more) == DuckDBError ||
        duckdb_list_vector_set_size(vector, more) == DuckDBError)
        return failed(s, "not enough memory");
    duckdb_list_entry *entries = duckdb_vector_get_data(vector);
    duckdb_vector pairs = duckdb_list_vector_get_child(vector);
    duckdb_vector keys = duckdb_struct_vector_get_child(pairs, 0);
    duckdb_vector values = duckdb_struct_vector_get_child(pairs, 1);
    for (idx_t i = 0; i < count; i++) {
        const int32_t *of_row = offsets + s->selected[i];
        entries[at + i].offset = items;
        entries[at + i].length = (uint64_t)(of_row[1] - of_row[0]);
        for (int64_t item = of_row[0]; item < of_row[1]; item++, items++) {
            if (!put_text(s, KS_COLUMN_HEADERS_KEY, item, keys, items))
                return 0;
            put_bytes(s, KS_COLUMN_HEADERS_VALUE, item, values, items);
        }
    }
    return 1;
}

static void put_timestamp(int64_t milliseconds, duckdb_vector vector, idx_t at)
{
    const int64_t most = INT64_MAX / PER_MILLISECOND; /* beyond it, DuckDB has no timestamp */
    if (milliseconds == NO_TIMESTAMP || milliseconds > most || milliseconds < -most)
        set_null(vector, at);
    else
        ((int64_t *)duckdb_vector_get_data(vector))[at] = milliseconds * PER_MILLISECOND;
}

static void put_timestamp_type(const scan *s, idx_t row, duckdb_vector vector, idx_t at)
{
    const int64_t magic = s->rows.columns.integers[KS_COLUMN_BATCH_MAGIC][row];
    const int64_t type = s->rows.columns.integers[KS_COLUMN_BATCH_ATTRIBUTES_TIMESTAMP_TYPE][row];
    const int is_untimed = type < 0 || (UNTIMED >> magic & 1);
    duckdb_vector_assign_string_element(vector, at,
                                        timestamp_types[is_untimed ? NO_TIMESTAMP_TYPE : type]);
}

/* Write rows of a column, from row `at` on. */
static int put(scan *s, idx_t column, idx_t count, duckdb_vector vector, idx_t at)
{
    int64_t *const *integers = s->rows.columns.integers;
    if (column == COLUMN_HEADERS)
        return put_headers(s, count, vector, at);
    for (idx_t i = 0; i < count; i++) {
        const idx_t row = s->selected[i];
        switch (column) {
        case COLUMN_TOPIC:
        case COLUMN_PARTITION:
            if (!s->topic)
                set_null(vector, at + i);
            else if (column == COLUMN_TOPIC)
                duckdb_vector_assign_string_element(vector, at + i, s->topic);
            else
                ((int32_t *)duckdb_vector_get_data(vector))[at + i] = s->partition;
            break;
        case COLUMN_OFFSET:
            ((int64_t *)duckdb_vector_get_data(vector))[at + i] = integers[KS_COLUMN_OFFSET][row];
            break;
        case COLUMN_TIMESTAMP:
            put_timestamp(integers[KS_COLUMN_TIMESTAMP][row], vector, at + i);
            break;
        case COLUMN_TIMESTAMP_TYPE:
            put_timestamp_type(s, row, vector, at + i);
            break;
        case COLUMN_KEY:
        case COLUMN_VALUE:
            put_bytes(s, column == COLUMN_KEY ? KS_COLUMN_KEY : KS_COLUMN_VALUE, (int64_t)row, vector,
                      at + i);
            break;
        }
    }
    return 1;
}

/* The next rows that are no control records, at most `most`. */
static idx_t select_rows(scan *s, idx_t most)
{
    const int64_t *control = s->rows.columns.integers[KS_COLUMN_BATCH_ATTRIBUTES_IS_CONTROL];
    idx_t count = 0;
    for (; s->row < s->rows.columns.rows && count < most; s->row++)
        if (control[s->row] != 1)
            s->selected[count++] = (idx_t)s->row;
    return count;
}

static void function(duckdb_function_info info, duckdb_data_chunk output)
{
    scan *s = duckdb_function_get_init_data(info);
    const idx_t most = duckdb_vector_size();
    idx_t made = 0;
    s->error[0] = 0;
    while (made < most && have_row(s)) {
        const idx_t count = select_rows(s, most - made);
        for (idx_t i = 0; count && i < s->count; i++)
            if (s->columns[i] < COLUMNS &&
                !put(s, s->columns[i], count, duckdb_data_chunk_get_vector(output, i), made))
                break;
        made += count;
        if (s->error[0])
            break;
    }
    if (s->error[0])
        duckdb_function_set_error(info, s->error);
    duckdb_data_chunk_set_size(output, made);
}

static void free_scan(void *given)
{
    scan *s = given;
    close_file(s);
    free(s->window);
    free(s->columns);
    free(s->text);
    free(s->selected);
    free(s);
}

static void init(duckdb_init_info info)
{
    scan *s = calloc(1, sizeof *s);
    const idx_t count = duckdb_init_get_column_count(info);
    if (s) {
        s->fd = -1;
        s->columns = malloc((count + 1) * sizeof *s->columns);
        s->selected = malloc(duckdb_vector_size() * sizeof *s->selected);
    }
    if (!s || !s->columns || !s->selected) {
        if (s)
            free_scan(s);
        duckdb_init_set_error(info, "read_kafka: not enough memory");
        return;
    }
    s->from = duckdb_init_get_bind_data(info);
    int wanted[COLUMNS] = {0}, sources = 0;
    for (idx_t i = 0; i < count; i++) {
        s->columns[i] = duckdb_init_get_column_index(info, i);
        if (s->columns[i] < COLUMNS) /* count(*) wants none of them */
            wanted[s->columns[i]] = 1;
    }
    s->count = count;
    s->sources[sources++] = IS_CONTROL;
    for (int column = 0; column < COLUMNS; column++)
        for (int i = 0; wanted[column] && columns[column].sources[i]; i++)
            s->sources[sources++] = columns[column].sources[i];
    duckdb_init_set_init_data(info, s, free_scan);
}

static duckdb_logical_type type_of(duckdb_type type)
{
    if (type != DUCKDB_TYPE_LIST)
        return duckdb_create_logical_type(type);
    duckdb_logical_type members[2] = {duckdb_create_logical_type(DUCKDB_TYPE_VARCHAR),
                                      duckdb_create_logical_type(DUCKDB_TYPE_BLOB)};
    const char *names[2] = {"key", "value"};
    duckdb_logical_type pair = duckdb_create_struct_type(members, names, 2);
    duckdb_logical_type list = duckdb_create_list_type(pair);
    duckdb_destroy_logical_type(&members[0]);
    duckdb_destroy_logical_type(&members[1]);
    duckdb_destroy_logical_type(&pair);
    return list;
}

/* The text of an argument, to be freed by DuckDB; NULL if there is none, or it is NULL. */
static char *text_of(duckdb_value value)
{
    char *text = value && !duckdb_is_null_value(value) ? duckdb_get_varchar(value) : NULL;
    if (value)
        duckdb_destroy_value(&value);
    return text;
}

static void bind(duckdb_bind_info info)
{
    char error[TEXT] = "";
    logs *l = calloc(1, sizeof *l);
    char *path = text_of(duckdb_bind_get_parameter(info, 0));
    char *tail = text_of(duckdb_bind_get_named_parameter(info, "tail"));
    if (!l)
        snprintf(error, sizeof error, "read_kafka: not enough memory");
    else if (!path)
        snprintf(error, sizeof error, "read_kafka: the path is NULL");
    else if (tail && strcmp(tail, "raise") && strcmp(tail, "skip"))
        snprintf(error, sizeof error, "read_kafka: tail is raise or skip, not %s", tail);
    else {
        const char *why = find(l, path);
        if (why)
            snprintf(error, sizeof error, "%s: %s", path, why);
        l->skip_tail = tail && !strcmp(tail, "skip");
    }
    if (path)
        duckdb_free(path);
    if (tail)
        duckdb_free(tail);
    if (error[0])
        duckdb_bind_set_error(info, error);
    for (int column = 0; !error[0] && column < COLUMNS; column++) {
        duckdb_logical_type type = type_of(columns[column].type);
        duckdb_bind_add_result_column(info, columns[column].name, type);
        duckdb_destroy_logical_type(&type);
    }
    if (l)
        duckdb_bind_set_bind_data(info, l, free_logs);
}

DUCKDB_EXTENSION_ENTRYPOINT(duckdb_connection connection, duckdb_extension_info info,
                            struct duckdb_extension_access *access)
{
    ks_close(ks_open("", 0, NULL)); /* finds the libraries, before there are threads */
    duckdb_table_function table = duckdb_create_table_function();
    duckdb_logical_type text = duckdb_create_logical_type(DUCKDB_TYPE_VARCHAR);
    duckdb_table_function_set_name(table, "read_kafka");
    duckdb_table_function_add_parameter(table, text);
    duckdb_table_function_add_named_parameter(table, "tail", text);
    duckdb_table_function_set_bind(table, bind);
    duckdb_table_function_set_init(table, init);
    duckdb_table_function_set_function(table, function);
    duckdb_table_function_supports_projection_pushdown(table, true);
    const duckdb_state state = duckdb_register_table_function(connection, table);
    duckdb_destroy_logical_type(&text);
    duckdb_destroy_table_function(&table);
    if (state == DuckDBError)
        access->set_error(info, "read_kafka cannot be registered");
    return state == DuckDBSuccess;
}
