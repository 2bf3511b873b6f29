/* Messages in columns as texts; plain C99 without Python in it. */
#ifndef KAFKASPEC_MESSAGES_TEXT_H
#define KAFKASPEC_MESSAGES_TEXT_H

#include "messages.h"

/*
 * Texts of decoded rows, by a plan: TextStep of kafkaspec/messages/text_plans.py says what each step
 * does. A line is of a column of one of some tables, of which the first has a value for each row.
 */
enum {
    KM_T_LITERAL, KM_T_NUMBER, KM_T_BOOLEAN, KM_T_TEXT, KM_T_BASE64, KM_T_UUID, KM_T_LIST,
    KM_T_STRUCT, KM_T_CHOICE, KM_T_CASE, KM_T_EMPTY, KM_T_REFUSE, KM_T_STEPS
};
enum { KM_T_NULL = 1, KM_T_DEFAULT = 2, KM_T_BARE = 4, KM_T_ROW = 8, KM_T_OTHER = 16 };
/* Bytes that can be read from the start of each literal. */
enum { KM_T_PADDING = 32 };

typedef struct {
    int64_t step, next, table, column, start, size, flags, number;
} km_text_line;

typedef struct {
    const km_text_line *lines;
    int64_t lines_count;
    const uint8_t *literals;
    int64_t literals_size;
    const km_table *tables;
    km_out *const *columns; /* of each table */
    int64_t tables_count;
} km_text;

int km_text_valid(const km_text *plan);
/* Fill the tables of its writers, once. */
void km_text_open(void);
/*
 * Write the texts of the rows that are not null. They go to `data`, and to `views` as views into the
 * buffer with a number; views of other rows stay. The numbers of rows for which
 * the plan has no text go to `untold`. There is no text beyond 2 GiB of `data`.
 */
int km_text_write(const km_text *plan, uint8_t *views, int32_t buffer, km_memory *data,
                  km_memory *untold);

#endif
