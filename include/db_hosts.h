/* db_hosts.h: the hosts of a connection string, for db_session.c alone.
 * libpq, driven without blocking, never goes on from a host that does not answer to the
 * next one (connect_timeout is for its blocking calls), so each is tried by itself. */
#ifndef HOOKONCE_DB_HOSTS_H
#define HOOKONCE_DB_HOSTS_H

#include "pq.h"

#define DB_HOSTS_MAX 8

struct db_host {
    char host[256];
    char hostaddr[64];
    char port[8];
};

struct db_hosts {
    int count; /* 1: the connection string stands as it is, and of[0] is empty */
    struct db_host of[DB_HOSTS_MAX];
};

/* A string that libpq cannot read counts as one host: connecting then tells why. */
void db_hosts_parse(const struct pq *pq, const char *conninfo, struct db_hosts *hosts);

#endif
