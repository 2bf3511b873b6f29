/* JSON texts to columns: what is not plain is left to the reader that explains it. */
#include "json_reader.h"
#include "utf8.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NAMES = 256, MOST_DIGITS = 18, NUMBER_TEXT = 64, NAMES_OF_TEXT = 32 };

typedef struct {
    const uint8_t *p, *end;
    jr_node *nodes;
    int depth, most_depth;
    int64_t stamp;
    int status; /* KM_REFUSED: the row is for another reader */
    km_memory name; /* of a field, where it has escapes */
} reader;

typedef struct {
    const uint8_t *at;
    int64_t size;
} part;

static int stop(reader *r, int status)
{
    r->status = status;
    return 0;
}

static int has_room(reader *r, km_memory *m, int64_t more)
{
    if (km_room(m, more))
        return 1;
    return stop(r, KM_NO_MEMORY);
}

static int put_bytes(reader *r, km_memory *m, const void *bytes, int64_t size)
{
    if (!has_room(r, m, size))
        return 0;
    if (size)
        memcpy(m->bytes + m->used, bytes, (size_t)size);
    m->used += size;
    return 1;
}

static int put_byte(reader *r, km_memory *m, uint8_t byte) { return put_bytes(r, m, &byte, 1); }

static int put_bit(reader *r, km_memory *m, int64_t at, int set)
{
    if (!(at & 7)) {
        if (!has_room(r, m, 1))
            return 0;
        m->bytes[m->used++] = 0;
    }
    m->bytes[at >> 3] |= (uint8_t)(set << (at & 7));
    return 1;
}

/* The values before the first `length` bits of a bitmap. */
static void cut_bits(km_memory *m, int64_t length)
{
    m->used = (length + 7) >> 3;
    if (length & 7)
        m->bytes[length >> 3] &= (uint8_t)((1 << (length & 7)) - 1);
}

static int is_divided(int kind)
{
    return kind == JR_STRING || kind == JR_TEXT || kind == JR_UUID || kind == JR_BASE64;
}

static int is_list(int kind) { return kind == JR_LIST || kind == JR_MAP || kind == JR_PAIRS; }

static int width_of(int kind)
{
    switch (kind) {
    case JR_INTEGER: case JR_NUMBER: case JR_DATE: case JR_TIME: case JR_MOMENT:
        return 8;
    case JR_DECIMAL:
        return 16;
    }
    return is_divided(kind) || is_list(kind) ? 4 : 0;
}

/* The end of a value whose parts are there. */
static int ended(reader *r, jr_node *n, int present)
{
    km_out *out = &n->out;
    if (!put_bit(r, &out->validity, out->length, present))
        return 0;
    out->nulls += !present;
    out->length++;
    return 1;
}

static int put_end(reader *r, jr_node *n, int64_t end, int present)
{
    const int32_t offset = (int32_t)end;
    if (end > INT32_MAX)
        return stop(r, KM_TOO_LARGE);
    return put_bytes(r, &n->out.values, &offset, 4) && ended(r, n, present);
}

static int put_text(reader *r, jr_node *n) { return put_end(r, n, n->out.data.used, 1); }

static int put_number(reader *r, jr_node *n, int64_t value)
{
    return put_bytes(r, &n->out.values, &value, 8) && ended(r, n, 1);
}

static int put_wide(reader *r, jr_node *n, int64_t low, int64_t high)
{
    const int64_t value[2] = {low, high};
    return put_bytes(r, &n->out.values, value, 16) && ended(r, n, 1);
}

static int put_null(reader *r, int64_t at)
{
    jr_node *n = &r->nodes[at];
    static const uint8_t zeros[16] = {0};
    if (is_divided(n->kind))
        return put_end(r, n, n->out.data.used, 0);
    if (is_list(n->kind))
        return put_end(r, n, r->nodes[at + 1].out.length, 0);
    if (n->kind == JR_BOOLEAN && !put_bit(r, &n->out.values, n->out.length, 0))
        return 0;
    if (n->kind == JR_STRUCT || n->kind == JR_TUPLE)
        for (int64_t k = at + 1; k < n->end; k = r->nodes[k].end)
            if (!put_null(r, k))
                return 0;
    return put_bytes(r, &n->out.values, zeros, width_of(n->kind)) && ended(r, n, 0);
}

/* -- tokens --------------------------------------------------------------------------------- */

static void blanks(reader *r)
{
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\n' || *r->p == '\t' || *r->p == '\r'))
        r->p++;
}

/* Whether a character comes next, which is passed, and the blanks after it. */
static int comes(reader *r, uint8_t c)
{
    if (r->p == r->end || *r->p != c)
        return 0;
    r->p++;
    blanks(r);
    return 1;
}

static int word(reader *r, const char *text, int64_t size)
{
    if (r->end - r->p < size || memcmp(r->p, text, (size_t)size))
        return 0;
    r->p += size;
    return 1;
}

static uint64_t each(uint64_t byte) { return UINT64_C(0x0101010101010101) * byte; }

/* A bit for what is not plain in eight bytes: quotes, backslashes, controls, and beyond ASCII. */
static uint64_t special(uint64_t w)
{
    const uint64_t quotes = w ^ each('"'), slashes = w ^ each('\\');
    return (((quotes - each(1)) & ~quotes) | ((slashes - each(1)) & ~slashes) | (w - each(0x20)) | w) &
           each(0x80);
}

/* The plain characters that come next; they end at a quote, a backslash or what is no text. */
static int plain(reader *r)
{
    for (;;) {
        uint64_t w;
        while (r->end - r->p >= 8 && (memcpy(&w, r->p, 8), !special(w)))
            r->p += 8;
        while (r->p < r->end && *r->p != '"' && *r->p != '\\' && *r->p >= 0x20 && *r->p < 0x80)
            r->p++;
        if (r->p == r->end || *r->p < 0x20)
            return 0;
        if (*r->p < 0x80)
            return 1;
        const int size = utf8_character(r->p, r->end);
        if (!size)
            return 0;
        r->p += size;
    }
}

/* A string without escapes. */
static int plain_string(reader *r, part *found)
{
    if (r->p == r->end || *r->p != '"')
        return 0;
    found->at = ++r->p;
    if (!plain(r) || *r->p != '"')
        return 0;
    found->size = r->p++ - found->at;
    return 1;
}

static int hexadecimal(reader *r, uint32_t *code)
{
    if (r->end - r->p < 4)
        return 0;
    *code = 0;
    for (int i = 0; i < 4; i++) {
        const uint8_t c = *r->p++, lower = c | 0x20;
        const int digit = c >= '0' && c <= '9' ? c - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
        if (digit < 0)
            return 0;
        *code = *code << 4 | (uint32_t)digit;
    }
    return 1;
}

static int letter_of(uint8_t c)
{
    static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    const char *found = c ? strchr(letters, c) : NULL;
    return found ? meant[found - letters] : -1;
}

/* What stands after a backslash, as UTF-8. */
static int escaped(reader *r, km_memory *out)
{
    uint8_t text[4];
    uint32_t code, low;
    if (r->p == r->end)
        return 0;
    const uint8_t c = *r->p++;
    if (c != 'u') {
        const int meant = letter_of(c);
        return meant >= 0 && put_byte(r, out, (uint8_t)meant);
    }
    if (!hexadecimal(r, &code) || (code >= 0xdc00 && code < 0xe000))
        return 0;
    if (code >= 0xd800 && code < 0xdc00) {
        if (!word(r, "\\u", 2) || !hexadecimal(r, &low) || low < 0xdc00 || low >= 0xe000)
            return 0;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    int size = 0;
    if (code < 0x80)
        text[size++] = (uint8_t)code;
    else if (code < 0x800)
        text[size++] = (uint8_t)(0xc0 | code >> 6);
    else if (code < 0x10000)
        text[size++] = (uint8_t)(0xe0 | code >> 12);
    else {
        text[size++] = (uint8_t)(0xf0 | code >> 18);
        text[size++] = (uint8_t)(0x80 | (code >> 12 & 63));
    }
    if (code >= 0x800)
        text[size++] = (uint8_t)(0x80 | (code >> 6 & 63));
    if (code >= 0x80)
        text[size++] = (uint8_t)(0x80 | (code & 63));
    return put_bytes(r, out, text, size);
}

/* A string, its characters in UTF-8. */
static int string(reader *r, km_memory *out)
{
    if (r->p == r->end || *r->p++ != '"')
        return 0;
    for (;;) {
        const uint8_t *from = r->p;
        if (!plain(r) || !put_bytes(r, out, from, r->p - from))
            return 0;
        if (*r->p++ == '"')
            return 1;
        if (!escaped(r, out))
            return 0;
    }
}

/* The name of a field. */
static int field_name(reader *r, part *found)
{
    const uint8_t *from = r->p;
    if (plain_string(r, found))
        return 1;
    r->p = from;
    r->name.used = 0;
    if (!string(r, &r->name))
        return 0;
    found->at = r->name.bytes;
    found->size = r->name.used;
    return 1;
}

typedef struct {
    const uint8_t *at;
    int64_t size;
    int negative, is_integer, has_power;
    uint64_t digits; /* without the point; of no use if there are more than 19 */
    int count;       /* of digits that matter: without zeros before the first */
    int64_t fraction, exponent;
} number;

static int digits_of(reader *r, number *n, int64_t *count)
{
    const uint8_t *from = r->p;
    for (; r->p < r->end && *r->p >= '0' && *r->p <= '9'; r->p++) {
        n->digits = n->digits * 10 + (uint64_t)(*r->p - '0');
        n->count += n->count || *r->p != '0';
    }
    *count = r->p - from;
    return *count > 0;
}

static int number_of(reader *r, number *n)
{
    int64_t whole;
    memset(n, 0, sizeof *n);
    n->at = r->p;
    n->negative = r->p < r->end && *r->p == '-';
    r->p += n->negative;
    const uint8_t *first = r->p;
    if (!digits_of(r, n, &whole) || (whole > 1 && *first == '0') || whole > INT32_MAX)
        return 0;
    n->is_integer = 1;
    if (r->p < r->end && *r->p == '.') {
        r->p++;
        n->is_integer = 0;
        if (!digits_of(r, n, &n->fraction))
            return 0;
    }
    if (r->p < r->end && (*r->p | 0x20) == 'e') {
        r->p++;
        n->is_integer = 0;
        n->has_power = 1;
        const int minus = r->p < r->end && *r->p == '-';
        r->p += minus || (r->p < r->end && *r->p == '+');
        number e = {0};
        int64_t count;
        if (!digits_of(r, &e, &count) || e.count > 4)
            return 0;
        n->exponent = minus ? -(int64_t)e.digits : (int64_t)e.digits;
    }
    n->size = r->p - n->at;
    return 1;
}

/* -- anything, as JSON without blanks ----------------------------------------------------------- */

static int copied_string(reader *r, km_memory *out)
{
    const uint8_t *from = r->p++;
    for (;;) {
        if (!plain(r))
            return 0;
        if (*r->p == '"')
            break;
        /* Only what is written so again. */
        if (r->end - r->p < 2 || r->p[1] == '/' || letter_of(r->p[1]) < 0)
            return 0;
        r->p += 2;
    }
    r->p++;
    return !out || put_bytes(r, out, from, r->p - from);
}

/* Numbers that are written as they are: of no more digits than are exact, and none too small. */
static int copied_number(reader *r, km_memory *out)
{
    number n;
    if (!number_of(r, &n))
        return 0;
    if (!out)
        return n.count <= 300 && n.exponent <= 0 && n.exponent >= -300;
    const uint8_t last = n.at[n.size - 1];
    if (n.has_power || n.count > 15 || (!n.digits && n.negative))
        return 0;
    if (!n.is_integer && ((last == '0' && n.fraction > 1) || n.fraction - n.count >= 4))
        return 0;
    return put_bytes(r, out, n.at, n.size);
}

static int copied(reader *r, km_memory *out);

/* The value of a name that none of the names before is. */
static int copied_field(reader *r, km_memory *out, part *names, int *count)
{
    const uint8_t *from = r->p;
    if (r->p == r->end || *r->p != '"' || *count == NAMES_OF_TEXT || !copied_string(r, out))
        return 0;
    const int64_t size = r->p - from;
    for (int i = 0; i < *count; i++)
        if (names[i].size == size && !memcmp(names[i].at, from, (size_t)size))
            return 0;
    names[*count].at = from;
    names[(*count)++].size = size;
    blanks(r);
    return comes(r, ':') && (!out || put_byte(r, out, ':')) && copied(r, out);
}

static int copied_parts(reader *r, km_memory *out, uint8_t end)
{
    part names[NAMES_OF_TEXT];
    int count = 0, first = 1;
    r->p++;
    blanks(r);
    if (out && !put_byte(r, out, end == '}' ? '{' : '['))
        return 0;
    if (r->p < r->end && *r->p == end)
        r->p++;
    else
        for (;; first = 0) {
            if (!first && out && !put_byte(r, out, ','))
                return 0;
            if (end == '}' ? !copied_field(r, out, names, &count) : !copied(r, out))
                return 0;
            blanks(r);
            if (r->p < r->end && *r->p == end) {
                r->p++;
                break;
            }
            if (!comes(r, ','))
                return 0;
        }
    return !out || put_byte(r, out, end);
}

/* A value as it is written again; without `out` only passed. */
static int copied(reader *r, km_memory *out)
{
    if (r->p == r->end)
        return 0;
    const uint8_t *from = r->p;
    int done;
    switch (*r->p) {
    case '"':
        return copied_string(r, out);
    case '{': case '[':
        if (r->depth == r->most_depth)
            return 0;
        r->depth++;
        done = copied_parts(r, out, *r->p == '{' ? '}' : ']');
        r->depth--;
        return done;
    case 't':
        return word(r, "true", 4) && (!out || put_bytes(r, out, from, 4));
    case 'f':
        return word(r, "false", 5) && (!out || put_bytes(r, out, from, 5));
    case 'n':
        return word(r, "null", 4) && (!out || put_bytes(r, out, from, 4));
    }
    return copied_number(r, out);
}

/* -- values of types ------------------------------------------------------------------------- */

static int integer(reader *r, jr_node *n)
{
    number found;
    if (!number_of(r, &found) || !found.is_integer || found.count > MOST_DIGITS + 1 ||
        found.digits > (uint64_t)INT64_MAX + (found.negative ? 1 : 0))
        return 0;
    const int64_t value = (int64_t)(found.negative ? 0 - found.digits : found.digits);
    return value >= n->low && value <= n->high && put_number(r, n, value);
}

static int floating(reader *r, jr_node *n)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    number found;
    if (!number_of(r, &found) || (found.negative && !found.digits && found.is_integer))
        return 0;
    const int64_t power = found.exponent - found.fraction;
    double value;
    if (found.count <= 15 && power >= -22 && power <= 22) {
        value = (double)found.digits; /* both are exact, so that the result is the nearest one */
        value = power < 0 ? value / powers[-power] : value * powers[power];
        value = found.negative ? -value : value;
    } else {
        char text[NUMBER_TEXT], *end;
        if (found.size >= NUMBER_TEXT)
            return 0;
        memcpy(text, found.at, (size_t)found.size);
        text[found.size] = 0;
        value = strtod(text, &end);
        if (end != text + found.size || !isfinite(value)) /* also where the locale has a comma */
            return 0;
    }
    return put_bytes(r, &n->out.values, &value, 8) && ended(r, n, 1);
}

static int number_at(const uint8_t *p, int digits)
{
    int value = 0;
    for (; digits--; p++) {
        if (*p < '0' || *p > '9')
            return -1;
        value = value * 10 + (*p - '0');
    }
    return value;
}

/* Days since the epoch of YYYY-MM-DD; 0 if it is none. */
static int day_of(const uint8_t *p, int64_t *days)
{
    static const uint8_t lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const int year = number_at(p, 4), month = number_at(p + 5, 2), day = number_at(p + 8, 2);
    if (p[4] != '-' || p[7] != '-' || year < 1 || month < 1 || month > 12 || day < 1)
        return 0;
    const int leap = (year % 4 == 0 && year % 100) || year % 400 == 0;
    if (day > lengths[month - 1] + (leap && month == 2))
        return 0;
    const int64_t y = year - (month <= 2), era = y / 400, of_era = y - era * 400;
    const int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    *days = era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
    return 1;
}

/* Microseconds of HH:MM:SS. */
static int clock_of(const uint8_t *p, int64_t *micros)
{
    const int hour = number_at(p, 2), minute = number_at(p + 3, 2), second = number_at(p + 6, 2);
    if (p[2] != ':' || p[5] != ':' || hour < 0 || hour > 23 || minute < 0 || minute > 59 ||
        second < 0 || second > 59)
        return 0;
    *micros = INT64_C(1000000) * (3600 * hour + 60 * minute + second);
    return 1;
}

/* Microseconds of the digits after a point; how many of them. */
static int fraction_of(const uint8_t *p, const uint8_t *end, int64_t *micros)
{
    int count = 0;
    int64_t value = 0;
    for (; p + count < end && p[count] >= '0' && p[count] <= '9'; count++)
        value = count < 6 ? value * 10 + (p[count] - '0') : value;
    for (int i = count; i < 6; i++)
        value *= 10;
    *micros += value;
    return count;
}

static int date(reader *r, jr_node *n, part text)
{
    int64_t days;
    return text.size == 10 && day_of(text.at, &days) && put_number(r, n, days);
}

static int time_of_day(reader *r, jr_node *n, part text)
{
    int64_t micros;
    if (text.size && (text.at[text.size - 1] | 0x20) == 'z')
        text.size--;
    if (text.size < 8 || !clock_of(text.at, &micros))
        return 0;
    if (text.size > 8) {
        const int count = fraction_of(text.at + 9, text.at + text.size, &micros);
        if (text.at[8] != '.' || 9 + count != text.size || (count != 3 && count != 6))
            return 0;
    }
    return put_number(r, n, micros);
}

static int moment(reader *r, jr_node *n, part text)
{
    int64_t days, micros;
    if (text.size < 20 || !day_of(text.at, &days) || !clock_of(text.at + 11, &micros) ||
        !strchr("Tt ", text.at[10]))
        return 0;
    const uint8_t *p = text.at + 19, *end = text.at + text.size;
    if (*p == '.') {
        const int count = fraction_of(p + 1, end, &micros);
        if (!count || count > 9)
            return 0;
        p += 1 + count;
    }
    int64_t zone = 0;
    if (end - p == 6 && (*p == '+' || *p == '-')) {
        const int hours = number_at(p + 1, 2), minutes = number_at(p + 4, 2);
        if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59 || p[3] != ':')
            return 0;
        zone = (*p == '-' ? -60 : 60) * (60 * hours + minutes);
    } else if (end - p != 1 || (*p | 0x20) != 'z')
        return 0;
    /* The first and the last day may lie outside of what dates can be, in UTC. */
    if (zone && (days <= -719162 || days >= 2932896))
        return 0;
    return put_number(r, n, (86400 * days - zone) * 1000000 + micros);
}

static int uuid(reader *r, jr_node *n, part text)
{
    uint8_t lower[36];
    if (text.size != sizeof lower)
        return 0;
    for (int i = 0; i < (int)sizeof lower; i++) {
        const uint8_t c = text.at[i], small = c | 0x20;
        const int hyphen = i == 8 || i == 13 || i == 18 || i == 23;
        const int digit = (c >= '0' && c <= '9') || (small >= 'a' && small <= 'f');
        if (hyphen ? c != '-' : !digit)
            return 0;
        lower[i] = c >= '0' && c <= '9' ? c : hyphen ? c : small;
    }
    return put_bytes(r, &n->out.data, lower, sizeof lower) && put_text(r, n);
}

static int code_of(uint8_t c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    return c >= '0' && c <= '9' ? c - '0' + 52 : c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* The bytes of base64, in memory for as many as its characters; how many, -1 if it is not plain. */
static int64_t base64(uint8_t *out, part text)
{
    int64_t size = 0;
    if (text.size % 4)
        return -1;
    for (int64_t i = 0; i < text.size; i += 4) {
        const int last = i + 4 == text.size;
        const int padding = last && text.at[i + 3] == '=' ? 1 + (text.at[i + 2] == '=') : 0;
        uint32_t bits = 0;
        for (int k = 0; k < 4; k++) {
            const int code = k >= 4 - padding ? 0 : code_of(text.at[i + k]);
            if (code < 0)
                return -1;
            bits = bits << 6 | (uint32_t)code;
        }
        if ((padding == 1 && bits & 0xff) || (padding == 2 && bits & 0xffff))
            return -1;
        for (int k = 0; k < 3 - padding; k++)
            out[size++] = (uint8_t)(bits >> (16 - 8 * k));
    }
    return size;
}

static int octets(reader *r, jr_node *n, part text)
{
    km_memory *out = &n->out.data;
    if (!has_room(r, out, text.size))
        return 0;
    const int64_t size = base64(out->bytes + out->used, text);
    if (size < 0)
        return 0;
    out->used += size;
    return put_text(r, n);
}

/* A big-endian integer in base64, of fewer bits than any decimal has. */
static int unscaled(reader *r, jr_node *n, part text)
{
    uint8_t bytes[20];
    if (text.size > 20)
        return 0;
    const int64_t size = base64(bytes, text);
    if (size < 0 || size > 15)
        return 0;
    const uint64_t sign = size && bytes[0] & 0x80 ? UINT64_MAX : 0;
    uint64_t low = sign, high = sign;
    for (int64_t i = 0; i < size; i++) {
        high = high << 8 | low >> 56;
        low = low << 8 | bytes[i];
    }
    return put_wide(r, n, (int64_t)low, (int64_t)high);
}

static int decimal(reader *r, jr_node *n)
{
    number found;
    if (!number_of(r, &found) || found.has_power || found.count > MOST_DIGITS ||
        (!found.is_integer && found.count > 15))
        return 0;
    uint64_t value = found.digits;
    int64_t scale = found.fraction;
    for (; scale > n->low && value % 10 == 0 && scale > 0; scale--)
        value /= 10;
    if (scale > n->low || n->low > MOST_DIGITS)
        return 0;
    for (; scale < n->low; scale++) {
        if (value > UINT64_C(100000000000000000))
            return 0;
        value *= 10;
    }
    const int64_t signed_value = found.negative ? -(int64_t)value : (int64_t)value;
    return put_wide(r, n, signed_value, signed_value < 0 ? -1 : 0);
}

static int value(reader *r, int64_t at);

/* A name that none of the last `count` names of this object is; they are the data of a node. */
static int is_new(const jr_node *n, int64_t count)
{
    const int32_t *starts = (const int32_t *)n->out.values.bytes;
    const uint8_t *data = n->out.data.bytes;
    const int64_t last = n->out.length - 1;
    const int64_t size = starts[last + 1] - starts[last];
    if (count > MOST_NAMES)
        return 0;
    for (int64_t i = last + 1 - count; i < last; i++)
        if (starts[i + 1] - starts[i] == size &&
            !memcmp(data + starts[i], data + starts[last], (size_t)size))
            return 0;
    return 1;
}

static int map(reader *r, int64_t at)
{
    jr_node *n = &r->nodes[at];
    const int64_t key = at + 1, item = r->nodes[key].end;
    int64_t count = 0;
    if (!comes(r, '{'))
        return 0;
    if (!comes(r, '}'))
        do {
            if (!string(r, &r->nodes[key].out.data) || !put_text(r, &r->nodes[key]) ||
                !is_new(&r->nodes[key], ++count))
                return 0;
            blanks(r);
            if (!comes(r, ':') || !value(r, item))
                return 0;
            blanks(r);
        } while (comes(r, ','));
    if (count && !comes(r, '}'))
        return 0;
    return put_end(r, n, r->nodes[key].out.length, 1);
}

static int pairs(reader *r, int64_t at)
{
    jr_node *n = &r->nodes[at];
    const int64_t key = at + 1, item = r->nodes[key].end;
    part names[MOST_NAMES];
    int count = 0;
    if (!comes(r, '['))
        return 0;
    if (!comes(r, ']'))
        do {
            if (count == MOST_NAMES || !comes(r, '['))
                return 0;
            const uint8_t *from = names[count].at = r->p;
            if (r->p == r->end || *r->p == 'n' || !value(r, key))
                return 0;
            const int64_t size = names[count].size = r->p - from;
            if (memchr(from, '\\', (size_t)size) || (size > 1 && from[0] == '-' && from[1] == '0'))
                return 0;
            for (int i = 0; i < count; i++)
                if (names[i].size == size && !memcmp(names[i].at, from, (size_t)size))
                    return 0;
            count++;
            blanks(r);
            if (!comes(r, ',') || !value(r, item))
                return 0;
            blanks(r);
            if (!comes(r, ']'))
                return 0;
        } while (comes(r, ','));
    if (count && !comes(r, ']'))
        return 0;
    return put_end(r, n, r->nodes[key].out.length, 1);
}

static int list(reader *r, int64_t at)
{
    int64_t count = 0;
    if (!comes(r, '['))
        return 0;
    if (!comes(r, ']'))
        do {
            if (!value(r, at + 1))
                return 0;
            blanks(r);
            count++;
        } while (comes(r, ','));
    if (count && !comes(r, ']'))
        return 0;
    return put_end(r, &r->nodes[at], r->nodes[at + 1].out.length, 1);
}

/* The node that takes what has no other, -1 if there is none. */
static int64_t rest_of(const reader *r, int64_t at)
{
    int64_t last = -1;
    for (int64_t k = at + 1; k < r->nodes[at].end; k = r->nodes[k].end)
        last = k;
    return last;
}

static int tuple(reader *r, int64_t at)
{
    jr_node *n = &r->nodes[at];
    const int64_t rest = rest_of(r, at);
    km_memory *others = &r->nodes[rest].out.data;
    const int64_t before = others->used;
    int64_t k = at + 1;
    int count = 0;
    if (!comes(r, '['))
        return 0;
    if (!comes(r, ']'))
        do {
            if (k < rest) {
                if (!value(r, k))
                    return 0;
                k = r->nodes[k].end;
            } else if (!put_byte(r, others, others->used == before ? '[' : ',') || !copied(r, others))
                return 0;
            blanks(r);
            count = 1;
        } while (comes(r, ','));
    if (count && !comes(r, ']'))
        return 0;
    for (; k < rest; k = r->nodes[k].end)
        if (!put_null(r, k))
            return 0;
    if (others->used == before ? !put_null(r, rest)
                               : !put_byte(r, others, ']') || !put_text(r, &r->nodes[rest]))
        return 0;
    return ended(r, n, 1);
}

/* The field of a name, tried first where it is expected; -1 if there is none. */
static int64_t field_of(const reader *r, int64_t at, int64_t fields_end, int64_t expected, part name)
{
    const jr_node *nodes = r->nodes;
    for (int turn = 0; turn < 2; turn++) {
        const int64_t to = turn ? fields_end : expected < fields_end ? nodes[expected].end : expected;
        for (int64_t k = turn ? at + 1 : expected; k < to && k < fields_end; k = nodes[k].end)
            if (nodes[k].name_size == name.size && !memcmp(nodes[k].name, name.at, (size_t)name.size))
                return k;
    }
    return -1;
}

static int structure(reader *r, int64_t at)
{
    jr_node *n = &r->nodes[at];
    const int64_t rest = n->high ? rest_of(r, at) : -1, fields_end = rest < 0 ? n->end : rest;
    const int64_t stamp = ++r->stamp;
    km_memory *others = rest < 0 ? NULL : &r->nodes[rest].out.data;
    const int64_t before = others ? others->used : 0;
    part names[NAMES_OF_TEXT], name;
    int others_count = 0, count = 0;
    int64_t expected = at + 1;
    if (!comes(r, '{'))
        return 0;
    if (!comes(r, '}'))
        do {
            const uint8_t *from = r->p;
            if (!field_name(r, &name))
                return 0;
            const int64_t k = field_of(r, at, fields_end, expected, name);
            if (k < 0) {
                r->p = from;
                if (others && !put_byte(r, others, others->used == before ? '{' : ','))
                    return 0;
                if (!copied_field(r, others, names, &others_count))
                    return 0;
            } else {
                blanks(r);
                if (r->nodes[k].stamp == stamp || !comes(r, ':') || !value(r, k))
                    return 0;
                r->nodes[k].stamp = stamp;
                expected = r->nodes[k].end;
            }
            blanks(r);
            count = 1;
        } while (comes(r, ','));
    if (count && !comes(r, '}'))
        return 0;
    for (int64_t k = at + 1; k < fields_end; k = r->nodes[k].end)
        if (r->nodes[k].stamp != stamp && (r->nodes[k].refused || !put_null(r, k)))
            return 0;
    if (others && (others->used == before
                       ? !put_null(r, rest)
                       : !put_byte(r, others, '}') || !put_text(r, &r->nodes[rest])))
        return 0;
    return ended(r, n, 1);
}

static int of_text(reader *r, jr_node *n)
{
    part text;
    if (!plain_string(r, &text))
        return 0;
    switch (n->kind) {
    case JR_UUID:
        return uuid(r, n, text);
    case JR_DATE:
        return date(r, n, text);
    case JR_TIME:
        return time_of_day(r, n, text);
    case JR_MOMENT:
        return moment(r, n, text);
    case JR_BASE64:
        return octets(r, n, text);
    }
    return unscaled(r, n, text);
}

static int nested(reader *r, int64_t at)
{
    switch (r->nodes[at].kind) {
    case JR_STRUCT:
        return structure(r, at);
    case JR_LIST:
        return list(r, at);
    case JR_MAP:
        return map(r, at);
    case JR_PAIRS:
        return pairs(r, at);
    }
    return tuple(r, at);
}

/* A value of the type of a node. Blanks after what is nested are passed. */
static int value(reader *r, int64_t at)
{
    jr_node *n = &r->nodes[at];
    if (r->p == r->end)
        return 0;
    if (*r->p == 'n')
        return word(r, "null", 4) && !n->refused && put_null(r, at);
    int done;
    switch (n->kind) {
    case JR_NULL:
        return 0;
    case JR_BOOLEAN:
        if (*r->p == 't' ? !word(r, "true", 4) : !word(r, "false", 5))
            return 0;
        return put_bit(r, &n->out.values, n->out.length, r->p[-2] == 'u') && ended(r, n, 1);
    case JR_INTEGER:
        return integer(r, n);
    case JR_NUMBER:
        return floating(r, n);
    case JR_STRING:
        return string(r, &n->out.data) && put_text(r, n);
    case JR_TEXT:
        return copied(r, &n->out.data) && put_text(r, n);
    case JR_DECIMAL:
        return n->high && *r->p == '"' ? of_text(r, n) : decimal(r, n);
    case JR_STRUCT: case JR_LIST: case JR_MAP: case JR_PAIRS: case JR_TUPLE:
        if (r->depth == r->most_depth)
            return 0;
        r->depth++;
        done = nested(r, at);
        r->depth--;
        return done;
    }
    return of_text(r, n);
}

/* -- rows ------------------------------------------------------------------------------------- */

int jr_valid(const jr_node *nodes, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        const jr_node *n = &nodes[i];
        const int64_t end = n->end;
        if (n->kind < 0 || n->kind >= JR_KINDS || end <= i || end > count || (!i && end != count))
            return 0;
        int64_t inner = 0, last = i;
        for (int64_t k = i + 1; k < end; k = nodes[k].end, inner++) {
            if (nodes[k].end <= k || nodes[k].end > end)
                return 0;
            last = k;
        }
        const int is_pair = n->kind == JR_MAP || n->kind == JR_PAIRS;
        const int takes_rest = n->kind == JR_TUPLE || (n->kind == JR_STRUCT && n->high);
        if ((n->kind < JR_STRUCT && inner) || (n->kind == JR_LIST && inner != 1) ||
            (is_pair && inner != 2) || (takes_rest && (!inner || nodes[last].kind != JR_TEXT)))
            return 0;
        if (is_pair && nodes[i + 1].kind != JR_STRING &&
            (n->kind == JR_MAP || nodes[i + 1].kind != JR_INTEGER))
            return 0;
        if (n->kind == JR_DECIMAL && (n->low < -76 || n->low > 76))
            return 0;
    }
    return count > 0;
}

static void restore(jr_node *n)
{
    km_out *out = &n->out;
    out->length = n->kept;
    out->nulls = n->kept_nulls;
    cut_bits(&out->validity, out->length);
    if (n->kind == JR_BOOLEAN) {
        cut_bits(&out->values, out->length);
        return;
    }
    const int divided = is_divided(n->kind);
    out->values.used = width_of(n->kind) * (out->length + (divided || is_list(n->kind)));
    if (divided)
        out->data.used = ((const int32_t *)out->values.bytes)[out->length];
}

static int read_rows(reader *r, int64_t count, const uint8_t *data, const int32_t *offsets,
                     int64_t rows, int64_t skip, int64_t drop, km_memory *unsure)
{
    jr_node *nodes = r->nodes;
    static const uint8_t zeros[4] = {0};
    for (int64_t i = 0; i < count; i++)
        if ((is_divided(nodes[i].kind) || is_list(nodes[i].kind)) &&
            !put_bytes(r, &nodes[i].out.values, zeros, 4))
            return r->status;
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t i = 0; i < count; i++) {
            nodes[i].kept = nodes[i].out.length;
            nodes[i].kept_nulls = nodes[i].out.nulls;
        }
        r->p = data + offsets[row];
        r->end = data + offsets[row + 1];
        r->depth = 0;
        int read = 0;
        if (r->end - r->p >= skip + drop) {
            r->p += skip;
            r->end -= drop;
            blanks(r);
            read = value(r, 0);
            blanks(r);
        }
        if (read && r->p == r->end)
            continue;
        if (r->status != KM_REFUSED || !put_bytes(r, unsure, &row, 8))
            return r->status;
        for (int64_t i = 0; i < count; i++)
            restore(&nodes[i]);
    }
    return KM_OK;
}

int jr_read(jr_node *nodes, int64_t count, const uint8_t *data, const int32_t *offsets, int64_t rows,
            int64_t skip, int64_t drop, int depth, km_memory *unsure)
{
    reader r = {0};
    r.nodes = nodes;
    r.most_depth = depth < JR_DEPTH ? depth : JR_DEPTH;
    r.status = KM_REFUSED;
    const int status = read_rows(&r, count, data, offsets, rows, skip, drop, unsure);
    km_free(&r.name);
    return status;
}
