#include "status.h"

#include "compiler.h"

/* Exit codes: 0 done, 1 failed, 2 usage, 3 configuration, 4 database. */
enum { EXIT_DONE, EXIT_FAILED, EXIT_USAGE, EXIT_CONF, EXIT_DB };

struct status_row {
    const char *word;
    const char *text;
    int http;
    int exit_code;
    bool retry;
};

static const struct status_row rows[ST_COUNT] = {
    [ST_OK] = {"ok", "done", 200, EXIT_DONE, false},

    [ST_METHOD] = {"method_not_allowed", "only POST is taken here", 405, EXIT_FAILED, false},
    [ST_PATH] = {"no_such_endpoint", "no endpoint has this path", 404, EXIT_FAILED, false},
    [ST_LENGTH_MISSING] = {"length_required", "the request has no length", 411, EXIT_FAILED, false},
    [ST_LENGTH] = {"length_malformed", "the length is no plain number", 400, EXIT_FAILED, false},
    [ST_TOO_LARGE] = {"body_too_large", "the body is over the limit", 413, EXIT_FAILED, false},
    [ST_ENCODING] = {"content_encoding", "the body is encoded", 415, EXIT_FAILED, false},

    [ST_BODY_SHORT] = {"body_short", "the body broke off", 400, EXIT_FAILED, false},
    [ST_BODY_LONG] = {"body_long", "the body is longer than declared", 400, EXIT_FAILED, false},
    [ST_BODY_SLOW] = {"body_slow", "the body did not come in time", 400, EXIT_FAILED, false},

    [ST_SIG_MISSING] = {"signature_missing", "the signature header is missing", 400, EXIT_FAILED,
                        false},
    [ST_SIG_MALFORMED] = {"signature_malformed", "the signature header cannot be read", 400,
                          EXIT_FAILED, false},
    [ST_SIG_T_TWICE] = {"timestamp_given_twice", "the time stamp is given twice", 400, EXIT_FAILED,
                        false},
    [ST_SIG_FORGED] = {"signature_mismatch", "no signature matches", 400, EXIT_FAILED, false},
    [ST_SIG_STALE] = {"signature_stale", "signed too long ago", 400, EXIT_FAILED, false},
    [ST_SIG_EARLY] = {"signature_early", "signed in the future: is a clock wrong?", 400,
                      EXIT_FAILED, false},
    [ST_SIG_BODY] = {"body_not_signed", "the URL holds no digest of this body", 400, EXIT_FAILED,
                     false},

    [ST_JSON] = {"not_json", "the body is not JSON in UTF-8", 400, EXIT_FAILED, false},
    [ST_JSON_DEPTH] = {"json_too_deep", "the JSON is nested too deep", 400, EXIT_FAILED, false},
    [ST_JSON_OBJECT] = {"not_an_object", "the JSON is not an object", 400, EXIT_FAILED, false},
    [ST_FORM] = {"form_malformed", "the form's fields are no event", 400, EXIT_FAILED, false},
    [ST_EVENT_ID] = {"no_event_id", "the event has no usable id", 400, EXIT_FAILED, false},
    [ST_EVENT_TYPE] = {"no_event_type", "the event has no usable type", 400, EXIT_FAILED, false},
    [ST_EVENT_ACCOUNT] = {"bad_account", "the event's account is no text", 400, EXIT_FAILED, false},

    [ST_DB_DOWN] = {"database_unavailable", "the database cannot be reached", 503, EXIT_DB, true},
    [ST_DB_LOST] = {"database_lost", "the connection to the database was lost", 503, EXIT_DB, true},
    [ST_DB_RETRY] = {"database_conflict", "another transaction was in the way", 503, EXIT_DB, true},
    [ST_DB_TIMEOUT] = {"database_timeout", "the database did not answer in time", 503, EXIT_DB,
                       false},
    [ST_DB_SQL] = {"handler_failed", "an SQL statement failed", 500, EXIT_DB, false},
    [ST_DB_SCHEMA] = {"schema_missing",
                      "a table or a right is missing (run: hookonce migrate, see db/roles.sql)",
                      500, EXIT_DB, false},
    [ST_DB_CHARSET] = {"database_not_utf8", "the database's encoding is not UTF8", 500, EXIT_DB,
                       false},

    [ST_PARK] = {"parked", "the event cannot be applied as it is", 200, EXIT_FAILED, false},

    [ST_CONF] = {"not_configured", "the configuration is missing or wrong", 500, EXIT_CONF, false},
    [ST_NOMEM] = {"out_of_memory", "out of memory", 500, EXIT_FAILED, false},
    [ST_INTERNAL] = {"internal_error", "a library refused to work", 500, EXIT_FAILED, false},
    [ST_IO] = {"io_error", "a file or connection could not be read or written", 500, EXIT_FAILED,
               false},
    [ST_USAGE] = {"usage", "the command line is wrong", 500, EXIT_USAGE, false},
    [ST_CHECK_WARNING] = {"warning", "a threshold is passed", 500, 1, false},
    [ST_CHECK_CRITICAL] = {"critical", "a critical threshold is passed", 500, 2, false},
    [ST_CHECK_UNKNOWN] = {"unknown", "it could not be told", 500, 3, false},
    [ST_REFUSED] = {"refused", "the server refused the request", 500, EXIT_FAILED, false},
};

static const struct status_row *row(enum status s)
{
    return &rows[(unsigned)s < ST_COUNT ? s : ST_INTERNAL];
}

const char *status_word(enum status s)
{
    return row(s)->word;
}

const char *status_text(enum status s)
{
    return row(s)->text;
}

int status_http(enum status s)
{
    return row(s)->http;
}

int status_exit(enum status s)
{
    return row(s)->exit_code;
}

bool status_retry(enum status s)
{
    return row(s)->retry;
}
