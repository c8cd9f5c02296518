/* What the tests of the database layers share: a schema of their own each, in the
 * database that DATABASE_URL names, with the tables of db/ in it. */
#ifndef HOOKONCE_TESTS_DATABASE_H
#define HOOKONCE_TESTS_DATABASE_H

#include "db.h"
#include "event.h"

/* A ready session whose search_path is this process's own schema, made and migrated at
 * the first call. Further calls (from children too) give further sessions to it. */
struct db *test_session(void);
/* The number that a query gives. */
long test_number(struct db *db, const char *sql);
/* The text that a query gives, in a buffer that the next call overwrites. */
const char *test_text(struct db *db, const char *sql);
/* Runs statements that must succeed. */
void test_run(struct db *db, const char *sql);
/* An event from a text, signed and verified. Released by the caller before the next one. */
void test_event(const char *text, struct event *event);
/* Milliseconds that a test may spend on one piece of database work. */
#define TEST_BUDGET_MS 20000

#endif
