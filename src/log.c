#include "log.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void (*sink)(void *to, const char *line, size_t len);
static void *sink_to;

void log_to(void (*write_line)(void *to, const char *line, size_t len), void *to)
{
    sink = write_line;
    sink_to = to;
}

/* A pipe that polls as writable has room for PIPE_BUF bytes, so this never blocks. */
static void to_stderr(const char *line, size_t len)
{
    struct pollfd p = {STDERR_FILENO, POLLOUT, 0};

    if (poll(&p, 1, 0) == 1 && (p.revents & POLLOUT) != 0)
        (void)!write(STDERR_FILENO, line, len);
}

static void emit(const char *line, size_t len)
{
    if (sink != NULL)
        sink(sink_to, line, len);
    else
        to_stderr(line, len);
}

size_t log_escape(char *to, size_t room, const char *from, size_t len)
{
    static const char hex[] = "0123456789abcdef";
    size_t n = 0;

    for (size_t i = 0; i < len && n + 5 <= room; i++) {
        unsigned char c = (unsigned char)from[i];

        if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\') {
            to[n++] = (char)c;
        } else {
            to[n++] = '\\';
            to[n++] = 'x';
            to[n++] = hex[c >> 4];
            to[n++] = hex[c & 15];
        }
    }
    to[n] = '\0';
    return n;
}

/* Room is always kept for the newline and a NUL. */
static void append(struct log_line *line, const char *text, size_t len)
{
    size_t room = LOG_LINE_MAX - 2 - line->len;

    if (len > room)
        len = room;
    memcpy(line->text + line->len, text, len);
    line->len += len;
}

void log_begin(struct log_line *line)
{
    time_t now = time(NULL);
    struct tm tm;

    gmtime_r(&now, &tm);
    line->len = strftime(line->text, sizeof(line->text), "hookonce: ts=%Y-%m-%dT%H:%M:%SZ", &tm);
}

void log_add(struct log_line *line, const char *key, const char *format, ...)
{
    char value[256];
    va_list args;

    va_start(args, format);
    vsnprintf(value, sizeof(value), format, args);
    va_end(args);
    append(line, " ", 1);
    append(line, key, strlen(key));
    append(line, "=", 1);
    append(line, value, strlen(value));
}

void log_text(struct log_line *line, const char *key, const char *value)
{
    char escaped[LOG_VALUE_MAX * 4 + 5];
    size_t len;

    if (value == NULL)
        return;
    len = strlen(value);
    log_escape(escaped, sizeof(escaped), value, len > LOG_VALUE_MAX ? LOG_VALUE_MAX : len);
    append(line, " ", 1);
    append(line, key, strlen(key));
    append(line, "=\"", 2);
    append(line, escaped, strlen(escaped));
    append(line, len > LOG_VALUE_MAX ? "...\"" : "\"", len > LOG_VALUE_MAX ? 4 : 1);
}

void log_end(struct log_line *line)
{
    line->text[line->len] = '\n';
    emit(line->text, line->len + 1);
}

void log_say(const char *format, ...)
{
    char said[LOG_LINE_MAX / 2], escaped[LOG_LINE_MAX];
    struct log_line line = {.len = 0};
    va_list args;

    va_start(args, format);
    vsnprintf(said, sizeof(said), format, args);
    va_end(args);
    for (char *c = said; *c != '\0'; c++) {
        if (*c == '"')
            *c = '\'';
    }
    log_escape(escaped, sizeof(escaped), said, strlen(said));
    append(&line, "hookonce: ", 10);
    append(&line, escaped, strlen(escaped));
    log_end(&line);
}
