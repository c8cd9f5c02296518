#include "cmd.h"

#include <json-c/json_object.h>
#include <stdio.h>
#include <stdlib.h>

static struct json_object *row_object(const struct db_rows *rows, int row,
                                      const struct cmd_json_key *keys, int count)
{
    struct json_object *object = json_object_new_object();

    for (int c = 0; object != NULL && c < count; c++) {
        const char *value = db_value(rows, row, c);
        struct json_object *member = NULL;

        if (value != NULL && keys[c].number)
            member = json_object_new_int64(strtoll(value, NULL, 10));
        else if (value != NULL)
            member = json_object_new_string(value);
        json_object_object_add(object, keys[c].name, member);
    }
    return object;
}

void cmd_print_json(const struct db_rows *rows, const struct cmd_json_key *keys, int count)
{
    int flags = JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE;

    putchar('[');
    for (int row = 0; row < db_rows_count(rows); row++) {
        struct json_object *object = row_object(rows, row, keys, count);

        fputs(row == 0 ? "\n" : ",\n", stdout);
        if (object != NULL)
            fputs(json_object_to_json_string_ext(object, flags), stdout);
        json_object_put(object);
    }
    puts("\n]");
}
