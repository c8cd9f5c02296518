/* hookonce.fcgi: takes deliveries, as FastCGI or as plain CGI. It looks at no argument:
 * web servers turn a query string into arguments (RFC 3875 section 4.4). */
#include "http.h"
#include "log.h"
#include "receive.h"
#include "status.h"

int main(void)
{
    struct receive *rx = receive_new();
    struct http_handler handler = {receive_handle, receive_after, rx};
    int code;

    if (rx == NULL) {
        log_say("out of memory");
        return status_exit(ST_NOMEM);
    }
    code = http_serve(&handler);
    receive_free(rx);
    return code;
}
