/* log.h: one line an event, "hookonce: key=value key=value".
 * A line lives on the caller's stack and is written by one call, under PIPE_BUF bytes,
 * so lines of several processes never mix. Untrusted values are escaped and cut, so
 * that no input can forge a line or drive a terminal. Never a payload, a secret or a
 * signature: the callers see to that. Lines go to fd 2, or where log_to sends them; a
 * log that takes no more bytes loses lines, it never holds up a request. */
#ifndef HOOKONCE_LOG_H
#define HOOKONCE_LOG_H

#include "compiler.h"
#include <stddef.h>

#define LOG_LINE_MAX  1024 /* bytes of one line, its newline included */
#define LOG_VALUE_MAX 200  /* bytes of one untrusted value before escaping */

struct log_line {
    char text[LOG_LINE_MAX];
    size_t len;
};

/* Where lines go from now on: a function of the caller's, or fd 2 when it is NULL. */
void log_to(void (*write)(void *to, const char *line, size_t len), void *to);

void log_begin(struct log_line *line);
/* A value of ours: must need no escaping. */
void log_add(struct log_line *line, const char *key, const char *format, ...) PRINTF_LIKE(3, 4);
/* A value from outside: escaped and quoted. NULL adds nothing. */
void log_text(struct log_line *line, const char *key, const char *value);
void log_end(struct log_line *line);

/* A sentence of ours outside any request: "hookonce: SENTENCE". Escaped as well. */
void log_say(const char *format, ...) PRINTF_LIKE(1, 2);

/* Escapes what is not printable ASCII, and quotes and backslashes, as \xNN.
 * Writes at most room bytes (one at least) with the final NUL, returns the bytes before it. */
size_t log_escape(char *to, size_t room, const char *from, size_t len);

#endif
