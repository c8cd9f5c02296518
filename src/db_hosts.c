#include "db_hosts.h"

#include <stdio.h>
#include <string.h>

/* How many elements a list with commas has; 0 when there is none. */
static int list_count(const char *list)
{
    int count = list == NULL || list[0] == '\0' ? 0 : 1;

    for (; list != NULL && *list != '\0'; list++)
        count += *list == ',';
    return count;
}

/* The n-th element; a list of one serves all. */
static void list_element(const char *list, int n, char *out, size_t room)
{
    out[0] = '\0';
    if (list_count(list) == 0)
        return;
    if (list_count(list) == 1)
        n = 0;
    for (; n > 0 && strchr(list, ',') != NULL; n--)
        list = strchr(list, ',') + 1;
    snprintf(out, room, "%.*s", (int)strcspn(list, ","), list);
}

static const char *option(const PQconninfoOption *options, const char *keyword)
{
    for (; options != NULL && options->keyword != NULL; options++) {
        if (strcmp(options->keyword, keyword) == 0)
            return options->val;
    }
    return NULL;
}

void db_hosts_parse(const struct pq *pq, const char *conninfo, struct db_hosts *hosts)
{
    PQconninfoOption *options = pq->PQconninfoParse(conninfo, NULL);
    const char *host = option(options, "host"), *addr = option(options, "hostaddr");
    int count = list_count(host) > list_count(addr) ? list_count(host) : list_count(addr);

    memset(hosts, 0, sizeof(*hosts));
    hosts->count = count < 1 ? 1 : count > DB_HOSTS_MAX ? DB_HOSTS_MAX : count;
    for (int i = 0; i < hosts->count && hosts->count > 1; i++) {
        struct db_host *h = &hosts->of[i];

        list_element(host, i, h->host, sizeof(h->host));
        list_element(addr, i, h->hostaddr, sizeof(h->hostaddr));
        list_element(option(options, "port"), i, h->port, sizeof(h->port));
    }
    if (options != NULL)
        pq->PQconninfoFree(options);
}
