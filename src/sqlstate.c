#include "sqlstate.h"

#include "compiler.h"

#include <stdio.h>
#include <string.h>

/* The first row whose prefix fits decides. */
static const struct {
    const char *prefix;
    enum status status;
} rows[] = {
    {"08", ST_DB_LOST},       /* connection exceptions */
    {"57P", ST_DB_LOST},      /* shutdown, crash, starting up, database dropped */
    {"25006", ST_DB_LOST},    /* read-only: the primary is elsewhere now */
    {"57014", ST_DB_TIMEOUT}, /* statement_timeout */
    {"55P03", ST_DB_TIMEOUT}, /* lock_timeout */
    {"25P03", ST_DB_TIMEOUT}, /* idle_in_transaction_session_timeout */
    {"40", ST_DB_RETRY},      /* serialization failure, deadlock */
    {"53", ST_DB_DOWN},       /* too many connections, disk full, out of memory */
    {"58", ST_DB_DOWN},       /* the server's own files */
    {"28", ST_DB_DOWN},       /* not let in */
    {"3D000", ST_DB_DOWN},    /* no such database */
    {"42P01", ST_DB_SCHEMA},  /* no such table */
    {"42703", ST_DB_SCHEMA},  /* no such column */
    {"42501", ST_DB_SCHEMA},  /* no right */
    {"3F000", ST_DB_SCHEMA},  /* no such schema */
};

enum status sqlstate_judge(const char *sqlstate)
{
    if (sqlstate == NULL)
        return ST_DB_LOST;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (strncmp(sqlstate, rows[i].prefix, strlen(rows[i].prefix)) == 0)
            return rows[i].status;
    }
    return ST_DB_SQL;
}

/* How much of a message is surely not the value that it complains of: what comes before
 * the first quotation mark or digit, in whatever language. */
static size_t before_value(const char *message, size_t len)
{
    size_t n = 0;

    while (n < len && message[n] != '"' && message[n] != '\'' && (unsigned char)message[n] < 0x80 &&
           (message[n] < '0' || message[n] > '9'))
        n++;
    while (n > 0 && n < len && strchr(" :", message[n - 1]) != NULL)
        n--;
    return n;
}

/* Takes away a character that was cut: half of one is no text for the database. */
static void cut_to_character(char *text)
{
    size_t len = strlen(text), tail = 0;
    unsigned char lead;

    while (tail < len && tail < 3 && ((unsigned char)text[len - 1 - tail] & 0xc0) == 0x80)
        tail++;
    if (tail == len)
        return;
    lead = (unsigned char)text[len - 1 - tail];
    if ((lead >= 0xf0 && tail < 3) || (lead >= 0xe0 && tail < 2) || (lead >= 0xc0 && tail < 1))
        text[len - 1 - tail] = '\0';
}

void sqlstate_describe(const char *sqlstate, const char *message, char *out, size_t room)
{
    size_t len = strcspn(message, "\n");

    if (sqlstate == NULL)
        sqlstate = "-----";
    if (strncmp(sqlstate, "22", 2) == 0)
        len = before_value(message, len);
    snprintf(out, room, "%s %.*s", sqlstate, (int)len, message);
    cut_to_character(out);
}
