#include "http.h"

#include "stop.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

/* A listening socket has no peer; a pipe, a file or a connected socket is a CGI's. */
static bool listens(int fd)
{
    struct sockaddr_storage peer;
    socklen_t len = sizeof(peer);

    return getpeername(fd, (struct sockaddr *)&peer, &len) != 0 && errno == ENOTCONN;
}

/* FastCGI leaves only fd 0 open: what is opened later must not become fd 1 or 2, where a
 * log line would go into it. */
static void fill_standard_fds(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= 2);
    if (fd > 2)
        close(fd);
}

int http_serve(const struct http_handler *handler)
{
    fill_standard_fds();
    stop_install();
    return listens(0) ? http_serve_fcgi(handler) : http_serve_cgi(handler);
}
