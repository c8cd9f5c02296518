#include "http.h"

#include "stop.h"

#include <errno.h>
#include <sys/socket.h>

/* A listening socket has no peer; a pipe, a file or a connected socket is a CGI's. */
static bool listens(int fd)
{
    struct sockaddr_storage peer;
    socklen_t len = sizeof(peer);

    return getpeername(fd, (struct sockaddr *)&peer, &len) != 0 && errno == ENOTCONN;
}

int http_serve(const struct http_handler *handler)
{
    stop_install();
    return listens(0) ? http_serve_fcgi(handler) : http_serve_cgi(handler);
}
