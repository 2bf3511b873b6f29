/* See messages_text.h. */
#include "messages_text.h"

#include "json_values.h"
#include "runtime.h"

static const char URL64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
enum { UUID_SIZE = 16, MOST_TEXTS = INT32_MAX };

/* -- plans ------------------------------------------------------------------------------------ */

static int valid_kind(const km_text_line *l, int64_t kind)
{
    switch (l->step) {
    case KM_T_NUMBER:
    case KM_T_BOOLEAN:
        return kind == KM_INTEGER || kind == KM_BOOLEAN;
    case KM_T_TEXT:
        return kind == KM_TEXT;
    case KM_T_BASE64:
        return kind == KM_BYTES || kind == KM_FIXED;
    case KM_T_UUID:
        return kind == KM_FIXED;
    case KM_T_LIST:
        return kind == KM_LIST;
    case KM_T_STRUCT:
        return kind == KM_STRUCT;
    case KM_T_CHOICE:
        return kind == KM_INTEGER || kind == KM_BOOLEAN || kind == KM_TEXT;
    case KM_T_EMPTY:
        return kind == KM_BYTES;
    }
    return 1;
}

static int valid_lines(const km_text *t, int64_t pc, int64_t stop, int inside, int levels)
{
    if (levels > KM_MOST_LEVELS)
        return 0;
    for (; pc < stop; pc = t->lines[pc].next) {
        const km_text_line *l = &t->lines[pc];
        const int nested = l->step == KM_T_LIST || l->step == KM_T_STRUCT || l->step == KM_T_CHOICE ||
                           l->step == KM_T_CASE;
        if (l->step < 0 || l->step >= KM_T_STEPS || l->next <= pc || l->next > stop ||
            (!nested && l->next != pc + 1) || (l->step == KM_T_CASE) != (inside == KM_T_CHOICE))
            return 0;
        if (l->start < 0 || l->size < 0 || l->size > t->literals_size ||
            l->start > t->literals_size - KM_T_PADDING - l->size)
            return 0;
        if (l->step != KM_T_LITERAL && l->step != KM_T_CASE && l->step != KM_T_REFUSE) {
            if (l->table < 0 || l->table >= t->tables_count || l->column < 0 ||
                l->column >= t->tables[l->table].columns_count ||
                !valid_kind(l, t->tables[l->table].columns[l->column].kind))
                return 0;
            if (l->step == KM_T_UUID && t->tables[l->table].columns[l->column].size != UUID_SIZE)
                return 0;
        }
        if (nested && !valid_lines(t, pc + 1, l->next, (int)l->step, levels + 1))
            return 0;
    }
    return 1;
}

int km_text_valid(const km_text *t)
{
    return t->lines_count >= 1 && t->lines_count <= KM_MOST_LINES && t->tables_count >= 1 &&
           t->literals_size >= KM_T_PADDING && valid_lines(t, 0, t->lines_count, KM_T_LITERAL, 0);
}

void km_text_open(void)
{
#ifdef KS_SPREAD
    fill_spread();
#endif
}

/* -- texts ------------------------------------------------------------------------------------ */

typedef struct {
    const km_text *plan;
    km_memory *data;
    int64_t row;
    int status; /* KM_OK: the plan has no text for the row */
} writer;

static int fail(writer *w, int status)
{
    w->status = status;
    return 0;
}

/* Where so many bytes can be written, and more by copies of whole words; NULL on failure. */
static inline uint8_t *place(writer *w, int64_t size)
{
    if (KS_UNLIKELY(w->data->used > MOST_TEXTS - size - ROOM))
        return NULL;
    if (KS_UNLIKELY(!km_room(w->data, size + ROOM))) {
        w->status = KM_NO_MEMORY;
        return NULL;
    }
    return w->data->bytes + w->data->used;
}

static inline int done(writer *w, const uint8_t *end)
{
    w->data->used = end - w->data->bytes;
    return 1;
}

static int literal(writer *w, const km_text_line *l)
{
    uint8_t *out = place(w, l->size);
    return out && done(w, put(out, w->plan->literals + l->start, l->size));
}

/* What stands before a value, a comma first if there is a value before. */
static inline int before(writer *w, const km_text_line *l, int *first)
{
    uint8_t *out = place(w, l->size + 1);
    if (!out)
        return 0;
    *out = ',';
    out += !*first && !(l->flags & KM_T_BARE);
    *first = 0;
    return done(w, put(out, w->plan->literals + l->start, l->size));
}

static int character(writer *w, uint8_t c)
{
    uint8_t *out = place(w, 1);
    if (!out)
        return 0;
    *out = c;
    return done(w, out + 1);
}

/* The span of a value of bytes or of a list. */
static inline void span(const km_out *column, int64_t i, int64_t *first, int64_t *last)
{
    int32_t ends[2];
    memcpy(ends, column->values.bytes + 4 * i, 8);
    *first = ends[0];
    *last = ends[1];
}

/* The bytes of a value, and how many. */
static inline int64_t bytes_of(const km_column *c, const km_out *column, int64_t i,
                           const uint8_t **bytes)
{
    int64_t first = c->size * i, last = first + c->size;
    if (c->kind != KM_FIXED)
        span(column, i, &first, &last);
    *bytes = (c->kind == KM_FIXED ? column->values.bytes : column->data.bytes) + first;
    return last - first;
}

/* Whether a value is its default: the number of the line, nothing, or zeros. */
static int is_default(const km_text_line *l, const km_column *c, const km_out *column, int64_t i)
{
    int64_t first, last;
    const uint8_t *bytes;
    switch (c->kind) {
    case KM_INTEGER:
    case KM_BOOLEAN:
        return km_number(c, column->values.bytes, i) == l->number;
    case KM_LIST:
        span(column, i, &first, &last);
        return first == last;
    case KM_BYTES:
    case KM_TEXT:
        return !bytes_of(c, column, i, &bytes);
    case KM_FIXED:
        for (last = bytes_of(c, column, i, &bytes); last > 0; last--)
            if (bytes[last - 1])
                return 0;
        return 1;
    }
    return 0;
}

static int write_bytes(writer *w, const km_text_line *l, const km_column *c, const km_out *column,
                       int64_t i)
{
    const uint8_t *bytes;
    const int64_t size = bytes_of(c, column, i, &bytes);
    uint8_t *out = place(w, 6 * size + 2);
    if (!out)
        return 0;
    if (l->step == KM_T_TEXT) {
        out = put_text(out, bytes, size, UPPER);
        return out && done(w, out);
    }
    *out = '"';
    out = put_digits64(out + 1, bytes, size, l->step == KM_T_UUID ? URL64 : BASE64,
                       l->step == KM_T_UUID ? 0 : '=');
    *out = '"';
    return done(w, out + 1);
}

static int lines(writer *w, int64_t pc, int64_t stop, int64_t i, int *first);

static int write_list(writer *w, int64_t pc, const km_out *column, int64_t i)
{
    int64_t from, to;
    span(column, i, &from, &to);
    if (!character(w, '['))
        return 0;
    for (int64_t item = from; item < to; item++) {
        int first = 1;
        if ((item > from && !character(w, ',')) ||
            !lines(w, pc + 1, w->plan->lines[pc].next, item, &first))
            return 0;
    }
    return character(w, ']');
}

static int write_struct(writer *w, int64_t pc, int64_t i)
{
    int first = 1;
    return character(w, '{') && lines(w, pc + 1, w->plan->lines[pc].next, i, &first) &&
           character(w, '}');
}

/* The line of the case for a value; the end of the choice if there is none. */
static int64_t case_of(const writer *w, int64_t pc, const km_column *c, const km_out *column,
                       int64_t i)
{
    const km_text_line *all = w->plan->lines;
    const int64_t stop = all[pc].next;
    const uint8_t *bytes = NULL;
    int64_t value = 0;
    if (c->kind == KM_TEXT)
        value = bytes_of(c, column, i, &bytes);
    else
        value = km_number(c, column->values.bytes, i);
    for (pc++; pc < stop; pc = all[pc].next) {
        const km_text_line *l = &all[pc];
        if ((l->flags & KM_T_OTHER) ||
            (c->kind == KM_TEXT
                 ? value == l->size &&
                       (!value || !memcmp(bytes, w->plan->literals + l->start, (size_t)value))
                 : value == l->number))
            break;
    }
    return pc;
}

/* A line about a value of a column; `i` is its number. */
static int value_line(writer *w, int64_t pc, int64_t i, int *first)
{
    const km_text_line *l = &w->plan->lines[pc];
    const km_column *c = &w->plan->tables[l->table].columns[l->column];
    const km_out *column = &w->plan->columns[l->table][l->column];
    const int64_t at = l->flags & KM_T_ROW ? w->row : i;
    if (KS_UNLIKELY(at < 0 || at >= column->length))
        return fail(w, KM_REFUSED);
    if ((c->flags & KM_NULLABLE) && !km_bit(column->validity.bytes, at)) {
        if (l->step == KM_T_EMPTY || !(l->flags & KM_T_NULL))
            return l->step != KM_T_CHOICE;
        if (!before(w, l, first))
            return 0;
        uint8_t *out = place(w, 4);
        return out && done(w, put_null(out));
    }
    if (l->step == KM_T_CHOICE) {
        const int64_t found = case_of(w, pc, c, column, at);
        return found < l->next && lines(w, found + 1, w->plan->lines[found].next, i, first);
    }
    if (l->step == KM_T_EMPTY) {
        const uint8_t *bytes;
        return !bytes_of(c, column, at, &bytes);
    }
    if ((l->flags & KM_T_DEFAULT) && is_default(l, c, column, at))
        return 1;
    if (!before(w, l, first))
        return 0;
    if (l->step == KM_T_LIST)
        return write_list(w, pc, column, at);
    if (l->step == KM_T_STRUCT)
        return write_struct(w, pc, at);
    if (l->step != KM_T_NUMBER && l->step != KM_T_BOOLEAN)
        return write_bytes(w, l, c, column, at);
    const int64_t number = km_number(c, column->values.bytes, at);
    uint8_t *out = place(w, DIGITS);
    if (!out)
        return 0;
    if (l->step == KM_T_NUMBER)
        return done(w, out + digits_of(out, number));
    memcpy(out, number ? "true " : "false", 5);
    return done(w, out + (number ? 4 : 5));
}

static int lines(writer *w, int64_t pc, int64_t stop, int64_t i, int *first)
{
    for (; pc < stop; pc = w->plan->lines[pc].next) {
        const km_text_line *l = &w->plan->lines[pc];
        if (l->step == KM_T_REFUSE)
            return 0;
        if (l->step == KM_T_LITERAL) {
            if (!literal(w, l))
                return 0;
            *first = (l->flags & KM_T_BARE) != 0;
        } else if (!value_line(w, pc, i, first)) {
            return 0;
        }
    }
    return 1;
}

int km_text_write(const km_text *plan, uint8_t *views, int32_t buffer, km_memory *data,
                  km_memory *untold)
{
    const km_column *root = plan->tables[0].columns;
    const km_out *rows = plan->columns[0];
    writer w = {plan, data, 0, KM_OK};
    for (w.row = 0; w.row < rows->length; w.row++) {
        if ((root->flags & KM_NULLABLE) && !km_bit(rows->validity.bytes, w.row))
            continue;
        const int64_t start = data->used;
        int first = 1;
        if (lines(&w, 0, plan->lines_count, w.row, &first) && data->used > start) {
            ks_put_view(views + KS_VIEW_SIZE * w.row, data->bytes + start, data->used - start, buffer,
                        start, data->bytes + data->used);
            continue;
        }
        if (w.status)
            return w.status;
        data->used = start;
        if (!km_room(untold, 8))
            return KM_NO_MEMORY;
        memcpy(untold->bytes + untold->used, &w.row, 8);
        untold->used += 8;
    }
    return KM_OK;
}
