/* text.h: what people read on a terminal: tables that fit, ages, numbers, and texts from
 * outside that cannot drive it. Owns nothing. */
#ifndef HOOKONCE_TEXT_H
#define HOOKONCE_TEXT_H

#include "compiler.h"
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TEXT_AGE_MAX 32

/* "4s", "3m 12s", "5h 2m", "8d 1h" into out. */
const char *text_age(int64_t seconds, char out[TEXT_AGE_MAX]);

/* Copies UTF-8 of at most columns characters; what is cut ends in "…", and control
 * characters, bidirectional marks and broken bytes become "?". Returns the characters
 * written. room counts bytes with the final NUL. newlines: keep them. */
size_t text_clean(char *to, size_t room, const char *from, size_t columns, int newlines);

struct text_column {
    const char *title;
    int right;   /* numbers stand right */
    int shrinks; /* may be cut when the table is too wide */
};

/* Where a table's cells come from; NULL is an empty one. */
struct text_rows {
    const char *(*cell)(const void *rows, int row, int column);
    const void *rows;
    int count;
};

/* Prints a table no wider than width, the columns parted by two blanks. */
void text_table(FILE *to, const struct text_column *columns, int count,
                const struct text_rows *rows, int width);

/* The terminal's width behind a stream, 100 when it is none. */
int text_width(FILE *stream);

#endif
