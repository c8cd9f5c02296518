/* One request: the variables are the environment, the body is stdin (RFC 3875). */
#include "http.h"

#include "clock.h"
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct cgi {
    int64_t deadline; /* for the whole body */
    uint64_t left;    /* bytes of the declared length still unread */
};

static const char *cgi_param(void *io UNUSED, const char *name)
{
    return getenv(name);
}

static ssize_t cgi_read(void *io, void *to, size_t len)
{
    struct cgi *cgi = io;
    struct pollfd p = {STDIN_FILENO, POLLIN, 0};
    ssize_t got;

    if (len > cgi->left)
        len = (size_t)cgi->left;
    if (len == 0)
        return 0;
    for (;;) {
        int ready = poll(&p, 1, clock_left(cgi->deadline));

        if (ready == 0)
            return -2;
        if (ready > 0)
            got = read(STDIN_FILENO, to, len);
        if (ready > 0 && got >= 0)
            break;
        if (errno != EINTR && errno != EAGAIN)
            return -1;
    }
    if (cgi->left != HTTP_LENGTH_UNKNOWN)
        cgi->left -= (uint64_t)got;
    return got;
}

static bool chunked(void)
{
    const char *coding = getenv("HTTP_TRANSFER_ENCODING");

    return coding != NULL && strcmp(coding, "chunked") == 0;
}

static void write_all(const struct buf *answer)
{
    size_t done = 0;

    while (done < answer->len) {
        ssize_t n = write(STDOUT_FILENO, answer->data + done, answer->len - done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            log_say("the answer could not be written: %s", strerror(errno));
            return;
        }
        done += (size_t)n;
    }
}

/* The server sees the answer's end only when nobody holds its pipes any more. */
static void let_go(void)
{
    int null = open("/dev/null", O_RDWR);

    for (int fd = 0; fd < 3 && null >= 0; fd++)
        dup2(null, fd);
    if (null > 2)
        close(null);
}

int http_serve_cgi(const struct http_handler *handler)
{
    struct cgi cgi = {clock_ms() + HTTP_BODY_SECONDS * 1000, 0};
    struct http_request request = {&cgi, cgi_param, cgi_read, chunked()};
    struct http_reply reply = {.status = ST_INTERNAL, .outcome = ""};
    struct buf answer;

    if (http_length(&request, &cgi.left) != ST_OK)
        cgi.left = 0;
    buf_init(&answer, 1024);
    handler->handle(handler->self, &request, &reply);
    if (reply.status != ST_OK)
        http_drain(&request);
    http_format(&reply, &answer);
    buf_release(&reply.answer);
    write_all(&answer);
    buf_release(&answer);
    let_go();
    handler->after(handler->self);
    return 0;
}
