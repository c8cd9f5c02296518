/* db: one session, one round trip, and what happens when it breaks. */
#include "clock.h"
#include "database.h"
#include "db_session.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct db_limits limits = {.statement_ms = 2000, .lock_ms = 1000};

static enum status run(struct db *db, const char *sql)
{
    struct db_params none = {0};
    struct db_rows *rows;
    enum status status = db_transaction(db, &limits, sql, &none, &rows);

    db_rows_free(rows);
    return status;
}

/* A transaction commits, and its rows are the statement's. */
Test(db, transaction_gives_the_rows)
{
    struct db *db = test_session();
    struct db_params params = {0};
    struct db_rows *rows;

    db_text(&params, "a\xc3\xa9");
    db_int(&params, INT64_MIN);
    db_int_null(&params);
    db_bool(&params, -1);
    db_bool(&params, 1);
    db_bytes(&params, "\0\xff", 2);
    db_json(&params, "{\"n\": 12345678901234567890123}", 30);
    cr_assert_eq(db_transaction(db, &limits,
                                "SELECT $1::text, $2, $3, $4, $5, encode($6, 'hex'), $7->>'n'",
                                &params, &rows),
                 ST_OK, "%s", db_error(db));
    cr_expect_str_eq(db_value(rows, 0, 0), "a\xc3\xa9");
    cr_expect_str_eq(db_value(rows, 0, 1), "-9223372036854775808");
    cr_expect_null(db_value(rows, 0, 2));
    cr_expect_null(db_value(rows, 0, 3));
    cr_expect_str_eq(db_value(rows, 0, 4), "t");
    cr_expect_str_eq(db_value(rows, 0, 5), "00ff");
    cr_expect_str_eq(db_value(rows, 0, 6), "12345678901234567890123");
    db_rows_free(rows);
    db_free(db);
}

/* R126: the limits hold inside the transaction and leave nothing behind, also after errors. */
Test(db, limits_end_with_their_transaction)
{
    static const char *const sqls[] = {"SELECT 1", "SELECT 1/0", "SELECT pg_sleep(60)"};
    struct db *db = test_session();
    struct db_params none = {0};
    struct db_rows *rows;

    cr_assert_eq(db_transaction(db, &limits,
                                "SELECT current_setting('statement_timeout'),"
                                "       current_setting('transaction_isolation')",
                                &none, &rows),
                 ST_OK);
    cr_expect_str_eq(db_value(rows, 0, 0), "2s");
    cr_expect_str_eq(db_value(rows, 0, 1), "read committed");
    db_rows_free(rows);
    for (size_t i = 0; i < ARRAY_LEN(sqls); i++) {
        (void)run(db, sqls[i]);
        cr_expect_str_eq(test_text(db, "SHOW statement_timeout"), "0", "after %s", sqls[i]);
        cr_expect_str_eq(test_text(db, "SHOW lock_timeout"), "0", "after %s", sqls[i]);
    }
    db_free(db);
}

/* R134: the isolation is asked for by name, whatever the database's default is. */
Test(db, isolation_is_asked_for)
{
    struct db *db = test_session();

    test_run(db, "SET default_transaction_isolation = 'serializable'");
    cr_expect_eq(run(db, "SELECT 1/(current_setting('transaction_isolation') = 'read "
                         "committed')::int"),
                 ST_OK, "%s", db_error(db));
    db_free(db);
}

/* R136: an error in the middle of a flight leaves a session that can be used at once. */
Test(db, session_survives_an_sql_error)
{
    struct db *db = test_session();
    long backend = test_number(db, "SELECT pg_backend_pid()");

    test_run(db, "CREATE TABLE t (a int CHECK (a > 0))");
    for (int i = 0; i < 3; i++) {
        cr_expect_eq(run(db, "INSERT INTO t VALUES (-1)"), ST_DB_SQL);
        cr_expect(strncmp(db_error(db), "23514 ", 6) == 0, "%s", db_error(db));
        cr_expect_eq(run(db, "INSERT INTO t VALUES (1)"), ST_OK, "%s", db_error(db));
    }
    cr_expect_eq(test_number(db, "SELECT count(*) FROM t"), 3);
    cr_expect_eq(test_number(db, "SELECT pg_backend_pid()"), backend, "same session");
    db_free(db);
}

/* R131: a transaction that only COMMIT itself finds to be bad is no success. */
Test(db, a_failure_in_commit_is_no_success)
{
    struct db *db = test_session();

    test_run(db, "CREATE TABLE child (a int);"
                 "CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS"
                 " $$ BEGIN RAISE EXCEPTION 'at commit'; END $$;"
                 "CREATE CONSTRAINT TRIGGER late AFTER INSERT ON child DEFERRABLE INITIALLY"
                 " DEFERRED FOR EACH ROW EXECUTE FUNCTION broken()");
    cr_expect_eq(run(db, "INSERT INTO child VALUES (1)"), ST_DB_SQL);
    cr_expect_eq(test_number(db, "SELECT count(*) FROM child"), 0);
    db_free(db);
}

/* Statements that are too slow, or wait too long for a lock, end as time-outs. */
Test(db, time_limits_end_a_statement)
{
    struct db *db = test_session(), *holder = test_session();

    cr_expect_eq(run(db, "SELECT pg_sleep(60)"), ST_DB_TIMEOUT);
    test_run(db, "CREATE TABLE locked (a int)");
    test_run(holder, "BEGIN; LOCK TABLE locked");
    cr_expect_eq(run(db, "INSERT INTO locked VALUES (1)"), ST_DB_TIMEOUT);
    cr_expect(strncmp(db_error(db), "55P03 ", 6) == 0, "%s", db_error(db));
    db_free(holder);
    db_free(db);
}

/* Promise 6: past the deadline the session is closed, not cancelled, and a new one works. */
Test(db, deadline_closes_the_session)
{
    static const struct db_limits none = {.statement_ms = 0, .lock_ms = 0};
    struct db *db = test_session();
    struct db_params params = {0};
    struct db_rows *rows;
    int64_t began = clock_ms();

    db_until(db, began + 300);
    cr_expect_eq(db_transaction(db, &none, "SELECT pg_sleep(5)", &params, &rows), ST_DB_TIMEOUT);
    cr_expect_lt(clock_ms() - began, 1000);
    cr_expect_null(db->conn);
    db_until(db, clock_ms() + TEST_BUDGET_MS);
    cr_assert_eq(db_ready(db), ST_OK, "%s", db_error(db));
    cr_expect_eq(run(db, "SELECT 1"), ST_OK);
    db_free(db);
}

/* R118: a session that was ended while idle is found dead before it is used. */
Test(db, idle_session_that_was_ended_is_replaced)
{
    struct db *db = test_session(), *other = test_session();
    char sql[96];

    snprintf(sql, sizeof(sql), "SELECT pg_terminate_backend(%ld, 5000)",
             test_number(db, "SELECT pg_backend_pid()"));
    test_run(other, sql);
    cr_expect_eq(db_ready(db), ST_OK, "%s", db_error(db));
    cr_expect_eq(run(db, "SELECT 1"), ST_OK, "%s", db_error(db));
    db_free(other);
    db_free(db);
}

/* A session that is ended in mid-statement is lost, and the caller may begin again. */
Test(db, session_ended_in_mid_statement_is_lost)
{
    struct db *db = test_session();

    cr_expect_eq(run(db, "SELECT pg_terminate_backend(pg_backend_pid())"), ST_DB_LOST);
    cr_expect(status_retry(ST_DB_LOST));
    cr_expect_eq(db_ready(db), ST_OK);
    cr_expect_eq(run(db, "SELECT 1"), ST_OK);
    db_free(db);
}

/* A server that takes no writes counts as lost: the primary is elsewhere now. */
Test(db, read_only_server_is_lost)
{
    struct db *db = test_session();

    test_run(db, "CREATE TABLE w (a int); SET default_transaction_read_only = on");
    cr_expect_eq(run(db, "INSERT INTO w VALUES (1)"), ST_DB_LOST);
    cr_expect_null(db->conn);
    db_free(db);
}

/* Nobody listens: told at once, with a message, and nothing hangs. */
Test(db, nobody_there)
{
    struct db *db = db_new("host=/nonexistent dbname=x");
    int64_t began = clock_ms();

    db_until(db, clock_ms() + 5000);
    cr_expect_eq(db_ready(db), ST_DB_DOWN);
    cr_expect_lt(clock_ms() - began, 2000);
    cr_expect(db_error(db)[0] != '\0');
    db_free(db);
}

/* R139: a database that cannot hold every event is refused, with a clear message. */
Test(db, other_encodings_are_refused)
{
    struct db *db = test_session();
    char name[64], sql[160], info[1024];

    snprintf(name, sizeof(name), "unit_latin_%ld", test_number(db, "SELECT pg_backend_pid()"));
    snprintf(sql, sizeof(sql), "CREATE DATABASE %s ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0",
             name);
    test_run(db, sql);
    snprintf(info, sizeof(info), "%s dbname=%s", getenv("DATABASE_URL"), name);
    {
        struct db *latin = db_new(info);

        db_until(latin, clock_ms() + TEST_BUDGET_MS);
        cr_expect_eq(db_ready(latin), ST_DB_CHARSET);
        cr_expect(strstr(db_error(latin), "LATIN1") != NULL, "%s", db_error(latin));
        db_free(latin);
    }
    snprintf(sql, sizeof(sql), "DROP DATABASE %s", name);
    test_run(db, sql);
    db_free(db);
}

/* A host that is silent is given up for the next one, within the deadline. */
Test(db, silent_host_is_passed_over)
{
    struct sockaddr_in silent = {.sin_family = AF_INET};
    socklen_t len = sizeof(silent);
    char info[1024], good[512];
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct db *db = test_session();
    int64_t began = clock_ms();
    struct db *two;

    silent.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    cr_assert_eq(bind(fd, (struct sockaddr *)&silent, len), 0);
    cr_assert_eq(listen(fd, 5), 0); /* takes connections and never says a word */
    cr_assert_eq(getsockname(fd, (struct sockaddr *)&silent, &len), 0);
    snprintf(good, sizeof(good), "%s", strstr(getenv("DATABASE_URL"), "host=") + 5);
    good[strcspn(good, " ")] = '\0';
    snprintf(info, sizeof(info),
             "host=127.0.0.1,%s port=%d,5432 user=postgres dbname=postgres"
             " target_session_attrs=read-write",
             good, ntohs(silent.sin_port));
    two = db_new(info);
    db_until(two, clock_ms() + 3000);
    cr_expect_eq(db_ready(two), ST_OK, "%s", db_error(two));
    cr_expect_eq(run(two, "SELECT 1"), ST_OK, "%s", db_error(two));
    cr_expect_lt(clock_ms() - began, 2500);
    db_free(two);
    db_free(db);
    close(fd);
}

/* More parameters than fit are refused, not cut. */
Test(db, too_many_parameters_are_refused)
{
    struct db *db = test_session();
    struct db_params params = {0};
    struct db_rows *rows;

    for (int i = 0; i <= DB_PARAMS_MAX; i++)
        db_int(&params, i);
    cr_expect_eq(db_transaction(db, &limits, "SELECT 1", &params, &rows), ST_INTERNAL);
    db_free(db);
}
