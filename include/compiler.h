/* compiler.h: the attributes that the headers use, and nothing else.
 * Owns no data; includes nothing. gcc and clang know all of them. */
#ifndef HOOKONCE_COMPILER_H
#define HOOKONCE_COMPILER_H

/* The caller must look at what is returned. */
#define MUST_CHECK __attribute__((warn_unused_result))
/* Argument f is a printf format, its arguments begin at a. */
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))
/* Declared for a callback's sake, not used. */
#define UNUSED __attribute__((unused))

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#endif
