#include "cmd.h"
#include "ops.h"

#include <stdio.h>

enum { MIGRATE_SECONDS = 600 };

enum { CONFIG, DATABASE };
const struct cmd_option cmd_migrate_options[] = {
    [CONFIG] = {"config", "FILE", "read this file instead of the usual ones"},
    [DATABASE] = {"database", "URL", "this database instead of the configuration's"},
    {NULL, NULL, NULL},
};

enum status cmd_migrate_run(const struct cmd *cmd, int argc, char **argv)
{
    struct cmd_line line;
    struct db *db;
    int applied;
    enum status status = cmd_parse(cmd, argc, argv, &line);

    if (status != ST_OK || line.helped)
        return status;
    status = cmd_db(line.value[CONFIG], line.value[DATABASE], MIGRATE_SECONDS, &db);
    if (status != ST_OK)
        return status;
    status = ops_migrate(db, &applied);
    if (status != ST_OK)
        (void)cmd_db_fail(db, status);
    else if (applied == 0)
        printf("nothing to do: the tables are at version %d\n",
               migrations[migrations_count - 1].version);
    else
        printf("applied %d of %zu migrations: the tables are at version %d\n", applied,
               migrations_count, migrations[migrations_count - 1].version);
    db_free(db);
    return status;
}
