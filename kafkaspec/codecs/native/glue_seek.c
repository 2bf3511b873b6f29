/* Places in any bytes at which an entry may begin. */
#include "glue.h"

#include <string.h>

/* A big-endian signed number at a distance from a place, and the bounds that it has there. */
typedef struct {
    int64_t at, width, least, most;
} bound;

enum { MOST_BOUNDS = 16, BOUND_FIELDS = 4 };

static int64_t number_at(const uint8_t *p, int64_t width)
{
    uint64_t value = p[0] & 0x80 ? ~UINT64_C(0) : 0;
    for (int64_t k = 0; k < width; k++)
        value = value << 8 | p[k];
    return (int64_t)value;
}

/*
 * seek(buffer, start, stop, byte, value, bounds, size, extra, out) -> (count, position)
 *
 * Places from `start` to before `stop` that have `value` at distance `byte`, and numbers within all
 * `bounds`, four integers each: distance, width, least and most. The number of bound `size`, and
 * `extra` more bytes, must reach no further than the buffer. Ends early where `out` has no room;
 * `position` is where to go on.
 */
PyObject *glue_seek(PyObject *module, PyObject *args)
{
    PyObject *buffer, *bounds, *out;
    long long start, stop, byte, size, extra;
    int value;
    (void)module;
    if (!PyArg_ParseTuple(args, "OLLLiOLLO", &buffer, &start, &stop, &byte, &value, &bounds, &size,
                          &extra, &out))
        return NULL;
    glue_pins pins;
    if (glue_pins_open(&pins, 3) < 0)
        return NULL;
    PyObject *result = NULL;
    int64_t length = 0, octets = 0, room = 0, reach = byte + 1, count = 0;
    const uint8_t *bytes = glue_pin(&pins, buffer, 0, &length);
    const int64_t *given = bytes ? glue_pin(&pins, bounds, 0, &octets) : NULL;
    int64_t *places = given ? glue_pin(&pins, out, 1, &room) : NULL;
    const int64_t tests = octets / (8 * BOUND_FIELDS);
    bound b[MOST_BOUNDS];
    int bad = tests > MOST_BOUNDS || byte < 0 || byte > 1 << 16 || start < 0 || start > stop ||
              stop > length || size < 0 || size >= tests || extra < 0 || extra > 1 << 16 ||
              value < 0 || value > 255;
    for (int64_t k = 0; places && !bad && k < tests; k++) {
        memcpy(&b[k], given + BOUND_FIELDS * k, sizeof b[k]);
        bad = b[k].at < 0 || b[k].at > 1 << 16 || b[k].width < 1 || b[k].width > 8;
        if (!bad && b[k].at + b[k].width > reach)
            reach = b[k].at + b[k].width;
    }
    if (places && bad)
        PyErr_SetString(PyExc_ValueError, "there are no such bounds");
    else if (places) {
        int64_t at = start;
        Py_BEGIN_ALLOW_THREADS
        const int64_t last = stop < length - reach + 1 ? stop : length - reach + 1;
        room /= 8;
        while (at < last && count < room) {
            const uint8_t *found = memchr(bytes + at + byte, value, (size_t)(last - at));
            if (!found)
                break;
            at = found - bytes - byte;
            int fits = 1;
            for (int64_t k = 0; fits && k < tests; k++) {
                const int64_t own = number_at(bytes + at + b[k].at, b[k].width);
                fits = own >= b[k].least && own <= b[k].most &&
                       (k != size || own <= length - at - extra);
            }
            if (fits)
                places[count++] = at;
            at++;
        }
        if (count < room || at > last)
            at = stop;
        Py_END_ALLOW_THREADS
        result = Py_BuildValue("LL", (long long)count, (long long)at);
    }
    glue_pins_close(&pins);
    return result;
}
