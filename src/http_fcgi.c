/* Requests from a FastCGI socket, one at a time. The only file that knows libfcgi.
 *
 * libfcgi is not trusted with signals: its own handlers have a window between the test
 * of their flag and accept(), and a signal in the middle of a read cuts the body. So
 * the listening socket is non-blocking, the stop signals arrive only inside stop_wait,
 * and a silent peer is ended by an alarm that shuts its socket down. */
#include "http.h"

#include "log.h"
#include "stop.h"

#include <errno.h>
#include <fcgiapp.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ANSWER_SECONDS = 5 }; /* a peer must take the answer within this time */

static FCGX_Request current; /* global for on_alarm */

static void on_alarm(int sig UNUSED)
{
    int saved = errno;

    if (current.ipcFd >= 0)
        shutdown(current.ipcFd, SHUT_RDWR);
    errno = saved;
}

/* The n-th parameter of that name, counted from 0. */
static const char *nth_param(const char *name, int n)
{
    size_t len = strlen(name);

    for (char **p = current.envp; *p != NULL; p++) {
        if (strncmp(*p, name, len) == 0 && (*p)[len] == '=' && n-- == 0)
            return *p + len + 1;
    }
    return NULL;
}

/* nginx passes a header that came twice as two parameters of one name; the other servers
 * join the two, and so does this. A joined value lives until the next one. */
static const char *fcgi_param(void *io UNUSED, const char *name)
{
    static char joined[8192];
    const char *first = nth_param(name, 0), *next;
    size_t at;

    if (first == NULL || strncmp(name, "HTTP_", 5) != 0 || nth_param(name, 1) == NULL)
        return first;
    at = (size_t)snprintf(joined, sizeof(joined), "%s", first);
    for (int n = 1; at < sizeof(joined) && (next = nth_param(name, n)) != NULL; n++)
        at += (size_t)snprintf(joined + at, sizeof(joined) - at, ", %s", next);
    return joined;
}

static ssize_t fcgi_read(void *io UNUSED, void *to, size_t len)
{
    int want = len > 65536 ? 65536 : (int)len;
    int got = FCGX_GetStr(to, want, current.in);

    if (got == want)
        return got;
    if (FCGX_GetError(current.in) != 0)
        return -1;
    alarm(0); /* the body's end: from here on the peer cannot hold us up */
    return got;
}

static void fcgi_log(void *to UNUSED, const char *line, size_t len)
{
    FCGX_PutStr(line, (int)len, current.err);
}

/* Everything between accept and finish. The alarm bounds reading the parameters and the
 * body (fcgi_read ends it), then writing the answer; the database has its own deadline. */
static void serve_one(const struct http_handler *handler)
{
    struct http_request request = {NULL, fcgi_param, fcgi_read, true};
    struct http_reply reply = {.status = ST_INTERNAL, .outcome = ""};
    struct buf answer;

    buf_init(&answer, 1024);
    current.keepConnection = 0; /* a kept connection would hold this process for its peer */
    log_to(fcgi_log, NULL);     /* the one log that every web server keeps */
    handler->handle(handler->self, &request, &reply);
    if (reply.status != ST_OK)
        http_drain(&request);
    http_format(&reply, &answer);
    buf_release(&reply.answer);
    alarm(ANSWER_SECONDS);
    FCGX_PutStr(answer.data, (int)answer.len, current.out);
    FCGX_Finish_r(&current); /* the answer leaves here; a peer that is gone will ask again */
    alarm(0);
    log_to(NULL, NULL);
    buf_release(&answer);
    handler->after(handler->self);
}

/* Takes one connection. False when there was no whole request in it. */
static bool accept_one(int *failed)
{
    int rc = FCGX_Accept_r(&current);

    *failed = rc < 0 && rc != -EAGAIN && rc != -EINTR && rc != -ECONNABORTED ? rc : 0;
    if (rc < 0)
        return false;
    /* A stream that broke off in the parameters is delivered with the half of them. */
    if (FCGX_GetError(current.in) != 0) {
        log_say("a request was cut off in its parameters and dropped");
        FCGX_Free(&current, 1);
        return false;
    }
    return true;
}

int http_serve_fcgi(const struct http_handler *handler)
{
    struct sigaction on_alrm;
    int failed = 0;

    memset(&on_alrm, 0, sizeof(on_alrm));
    on_alrm.sa_handler = on_alarm; /* without SA_RESTART: it ends the read it interrupts */
    sigaction(SIGALRM, &on_alrm, NULL);
    if (FCGX_Init() != 0 || fcntl(0, F_SETFL, fcntl(0, F_GETFL) | O_NONBLOCK) < 0 ||
        FCGX_InitRequest(&current, 0, FCGI_FAIL_ACCEPT_ON_INTR) != 0) {
        log_say("the FastCGI socket on fd 0 cannot be used");
        return status_exit(ST_IO);
    }
    while (!stop_asked() && failed == 0) {
        if (!stop_wait(0, -1))
            continue;
        alarm(HTTP_BODY_SECONDS);
        if (accept_one(&failed))
            serve_one(handler);
        alarm(0);
    }
    if (failed != 0)
        log_say("accept on the FastCGI socket failed (%d)", failed);
    return status_exit(failed == 0 ? ST_OK : ST_IO);
}
