#include "log.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char said[4 * LOG_LINE_MAX];
static size_t said_len;
static int calls;

static void keep(void *to, const char *line, size_t len)
{
    cr_assert_eq(to, (void *)said);
    cr_assert_lt(said_len + len, sizeof(said));
    memcpy(said + said_len, line, len);
    said_len += len;
    said[said_len] = '\0';
    calls++;
}

static void listen_in(void)
{
    said_len = 0;
    said[0] = '\0';
    calls = 0;
    log_to(keep, said);
}

static void be_deaf(void)
{
    log_to(NULL, NULL);
}

TestSuite(log, .init = listen_in, .fini = be_deaf, .timeout = 20);

/* The line without its newline; there is exactly one, at the end. */
static const char *one_line(const char *name)
{
    cr_expect_eq(calls, 1, "%s: %d writes", name, calls);
    cr_assert_gt(said_len, 0u, "%s: no line", name);
    cr_expect_eq(memchr(said, '\n', said_len), (void *)(said + said_len - 1), "%s: %s", name, said);
    cr_expect_eq(strlen(said), said_len, "%s: a NUL in the line", name);
    cr_expect_leq(said_len, (size_t)LOG_LINE_MAX, "%s: %zu bytes", name, said_len);
    said[said_len - 1] = '\0';
    return said;
}

static size_t count(const char *text, char c)
{
    size_t n = 0;

    for (; *text != '\0'; text++)
        n += *text == c;
    return n;
}

/* Guards that no byte from outside reaches a terminal or ends a line. */
Test(log, escapes)
{
    static const struct {
        const char *from, *to;
    } cases[] = {
        {"", ""},
        {"plain text, 42 ~!", "plain text, 42 ~!"},
        {"a\nb", "a\\x0ab"},
        {"a\r\n", "a\\x0d\\x0a"},
        {"\t", "\\x09"},
        {"\x1b[31m", "\\x1b[31m"},
        {"\"", "\\x22"},
        {"\\", "\\x5c"},
        {"\\x0a", "\\x5cx0a"},
        {"\x7f", "\\x7f"},
        {"\xc3\xa4", "\\xc3\\xa4"},
        {"\xe2\x80\xae", "\\xe2\\x80\\xae"},
        {"\xff", "\\xff"},
        {"\x01", "\\x01"},
    };
    char out[128];

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        size_t n = log_escape(out, sizeof(out), cases[i].from, strlen(cases[i].from));

        cr_expect_str_eq(out, cases[i].to, "case %zu: %s", i, out);
        cr_expect_eq(n, strlen(cases[i].to), "case %zu: %zu", i, n);
    }
    log_escape(out, sizeof(out), "a\0b", 3);
    cr_expect_str_eq(out, "a\\x00b");
}

/* Guards that escaping keeps to its room, and never leaves half an escape. */
Test(log, escape_keeps_to_its_room)
{
    static const char from[] = "ab\n\n\xff z";

    for (size_t room = 1; room < 40; room++) {
        char *out = malloc(room), whole[64];
        size_t n;

        cr_assert_not_null(out);
        n = log_escape(out, room, from, strlen(from));
        cr_expect(n < room && strlen(out) == n, "room %zu: %zu", room, n);
        log_escape(whole, sizeof(whole), from, strlen(from));
        cr_expect_eq(strncmp(whole, out, n), 0, "room %zu: %s", room, out);
        cr_expect(n == 0 || strchr(out, '\\') == NULL || out[n - 1] != '\\', "room %zu", room);
        free(out);
    }
    {
        char out[10];

        cr_expect_eq(log_escape(out, sizeof(out), "\n\n\n", 3), 8u);
        cr_expect_str_eq(out, "\\x0a\\x0a");
    }
}

/* Guards that each line says when, in one form. */
Test(log, begins_with_a_time_stamp)
{
    static const char form[] = "hookonce: ts=dddd-dd-ddTdd:dd:ddZ";
    struct log_line line;
    const char *text;

    log_begin(&line);
    log_end(&line);
    text = one_line("stamp");
    cr_assert_eq(strlen(text), strlen(form), "%s", text);
    for (size_t i = 0; form[i] != '\0'; i++) {
        bool digit = text[i] >= '0' && text[i] <= '9';

        cr_expect(form[i] == 'd' && i > 12 ? digit : text[i] == form[i], "%s at %zu", text, i);
    }
}

/* Guards the form of keys and values. */
Test(log, adds_keys_and_values)
{
    struct log_line line;

    log_begin(&line);
    log_add(&line, "outcome", "%s", "processed");
    log_add(&line, "ms", "%d", 12);
    log_text(&line, "id", "evt_1");
    log_text(&line, "path", "a b");
    log_end(&line);
    cr_expect_not_null(
        strstr(one_line("keys"), "Z outcome=processed ms=12 id=\"evt_1\" path=\"a b\""), "%s",
        said);
}

/* Guards that a value that is not there adds nothing, and an empty one is seen. */
Test(log, null_adds_nothing)
{
    struct log_line line;

    log_begin(&line);
    log_text(&line, "id", NULL);
    log_text(&line, "type", "");
    log_end(&line);
    cr_expect_null(strstr(one_line("null"), "id="), "%s", said);
    cr_expect_not_null(strstr(said, " type=\"\""), "%s", said);
}

/* Guards that an event's id cannot forge a line, a key or the end of its quotes. */
Test(log, input_forges_nothing)
{
    static const char *const evil[] = {
        "x\nhookonce: ts=2026-01-01T00:00:00Z status=ok",
        "x\" status=ok id=\"y",
        "x\\",
        "x\r\n",
        "\xe2\x80\xa8x\xc2\x85y",
    };

    for (size_t i = 0; i < ARRAY_LEN(evil); i++) {
        struct log_line line;

        listen_in();
        log_begin(&line);
        log_text(&line, "id", evil[i]);
        log_end(&line);
        one_line(evil[i]);
        cr_expect_eq(count(said, '"'), 2u, "case %zu: %s", i, said);
        cr_expect_eq(said[strlen(said) - 1], '"', "case %zu: %s", i, said);
    }
}

/* Guards that a long value is cut, seen to be cut, and closed. */
Test(log, cuts_long_values)
{
    static const struct {
        size_t len;
        bool cut;
    } cases[] = {{LOG_VALUE_MAX - 1, false},
                 {LOG_VALUE_MAX, false},
                 {LOG_VALUE_MAX + 1, true},
                 {9999, true}};
    static char value[10000];

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct log_line line;
        size_t shown = cases[i].cut ? LOG_VALUE_MAX : cases[i].len;

        memset(value, 'v', cases[i].len);
        value[cases[i].len] = '\0';
        listen_in();
        log_begin(&line);
        log_text(&line, "id", value);
        log_add(&line, "status", "%s", "ok");
        log_end(&line);
        one_line("long");
        cr_expect_eq(count(said, 'v'), shown, "%zu bytes: %s", cases[i].len, said);
        cr_expect_not_null(strstr(said, cases[i].cut ? "v...\" status=ok" : "v\" status=ok"),
                           "%zu bytes: %s", cases[i].len, said);
    }
}

/* Guards that the longest value keeps its bounds when each byte is escaped. */
Test(log, cuts_long_escapes)
{
    struct log_line line;
    char value[LOG_VALUE_MAX * 2];

    memset(value, '\n', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    log_begin(&line);
    log_text(&line, "id", value);
    log_end(&line);
    one_line("escapes");
    cr_expect_eq(count(said, '\\'), (size_t)LOG_VALUE_MAX, "%s", said);
}

/* Guards that lines of several processes never mix: each is one write within PIPE_BUF. */
Test(log, line_is_bounded)
{
    struct log_line line;
    char value[LOG_VALUE_MAX + 1];

    cr_expect_leq(LOG_LINE_MAX, PIPE_BUF);
    memset(value, '"', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    log_begin(&line);
    for (int i = 0; i < 100; i++) {
        log_text(&line, "text", value);
        log_add(&line, "number", "%s", value);
    }
    log_end(&line);
    one_line("bounded");
    cr_expect_geq(strlen(said), (size_t)LOG_LINE_MAX - 2, "%zu", strlen(said));
}

/* Guards that a sentence of ours has one form and cannot be broken into two lines. */
Test(log, says)
{
    static const struct {
        const char *arg, *line;
    } cases[] = {
        {"all is well", "hookonce: it is all is well"},
        {"a\nhookonce: b", "hookonce: it is a\\x0ahookonce: b"},
        {"\"quoted\"", "hookonce: it is 'quoted'"},
        {"100 %s", "hookonce: it is 100 %s"},
        {"\x1b]0;x\x07", "hookonce: it is \\x1b]0;x\\x07"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        listen_in();
        log_say("it is %s", cases[i].arg);
        cr_expect_str_eq(one_line(cases[i].arg), cases[i].line, "%s", said);
    }
}

/* Guards that a sentence of any length stays one bounded line. */
Test(log, says_long)
{
    static char text[5000];

    memset(text, '\x01', sizeof(text) - 1);
    log_say("%s", text);
    one_line("long");
    cr_expect_geq(strlen(said), 500u);
}

/* Puts the writing end of a pipe on fd 2; returns the reading end. */
static int pipe_on_stderr(int *saved)
{
    int ends[2];

    cr_assert_eq(pipe(ends), 0);
    *saved = dup(STDERR_FILENO);
    cr_assert_geq(dup2(ends[1], STDERR_FILENO), 0);
    close(ends[1]);
    log_to(NULL, NULL);
    return ends[0];
}

static void restore_stderr(int saved)
{
    dup2(saved, STDERR_FILENO);
    close(saved);
}

/* Guards that lines go to fd 2 when nobody else takes them. */
Test(log, writes_to_stderr)
{
    char got[256] = "";
    int saved, from = pipe_on_stderr(&saved);
    ssize_t n;

    log_say("hello");
    restore_stderr(saved);
    n = read(from, got, sizeof(got) - 1);
    close(from);
    cr_expect_eq(n, 16);
    cr_expect_str_eq(got, "hookonce: hello\n");
    cr_expect_eq(calls, 0);
}

/* Guards that a log that takes no more bytes never holds up a request. */
Test(log, full_pipe_does_not_block, .timeout = 10)
{
    static const char waste[4096];
    int saved, from = pipe_on_stderr(&saved), flags = fcntl(STDERR_FILENO, F_GETFL);

    fcntl(STDERR_FILENO, F_SETFL, flags | O_NONBLOCK);
    while (write(STDERR_FILENO, waste, sizeof(waste)) > 0)
        continue;
    cr_expect_eq(errno, EAGAIN);
    fcntl(STDERR_FILENO, F_SETFL, flags);
    log_say("lost");
    restore_stderr(saved);
    close(from);
}

/* Guards that a closed fd 2 is no failure of a request. */
Test(log, closed_stderr_is_survived)
{
    int saved = dup(STDERR_FILENO);

    log_to(NULL, NULL);
    close(STDERR_FILENO);
    log_say("to nobody");
    restore_stderr(saved);
    cr_expect_eq(calls, 0);
}
