/* sqlstate.h: what a SQLSTATE means for us. Failures are judged by it, never by a
 * message's text. Codes: PostgreSQL documentation, appendix A. */
#ifndef HOOKONCE_SQLSTATE_H
#define HOOKONCE_SQLSTATE_H

#include "status.h"
#include <stddef.h>

/* The status of a failed statement; sqlstate may be NULL (the connection broke). */
enum status sqlstate_judge(const char *sqlstate);

/* "SQLSTATE MESSAGE" into out, cut to room. Messages of class 22 quote the value that
 * did not fit, which may be payload: they are cut before it. */
void sqlstate_describe(const char *sqlstate, const char *message, char *out, size_t room);

#endif
