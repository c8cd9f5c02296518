/* jsontext.h: makes sure that json-c and PostgreSQL's jsonb read a text alike.
 * Both are given the same bytes. json-c takes things that jsonb refuses (overlong UTF-8,
 * raw control characters, NaN, a comma at the end, numbers out of range), and an
 * event that only the database refuses would fail on every repeat, for ever. So the
 * tokens are checked here against RFC 8259 (the structure is json-c's to check), and
 * what is valid JSON but cannot be held by jsonb is replaced: \u0000 and surrogates
 * without their other half by \ufffd, a number beyond numeric's range by null. */
#ifndef HOOKONCE_JSONTEXT_H
#define HOOKONCE_JSONTEXT_H

#include "buf.h"
#include "compiler.h"
#include "status.h"

/* Checks len bytes. When something had to be replaced, the whole text with the
 * replacements (of the same length) goes into fixed; otherwise fixed stays empty.
 * ST_JSON for a bad token, bytes that are no UTF-8, or a NUL; ST_NOMEM. */
enum status jsontext_check(const char *text, size_t len, struct buf *fixed) MUST_CHECK;

/* The length of the UTF-8 sequence (RFC 3629) that len bytes begin with, 0 when they begin
 * with none. */
size_t jsontext_utf8(const char *text, size_t len) MUST_CHECK;

#endif
