/* pq.h: libpq, loaded at the first use.
 * libpq brings some twenty further libraries (LDAP, Kerberos, GnuTLS, …), and linking
 * them at start is half of what a plain CGI run costs. A request that is refused before
 * the database never needs them. So the functions are found by dlopen, once a process,
 * with the types that libpq-fe.h gives them; db.c and db_session.c alone
 * call them. */
#ifndef HOOKONCE_PQ_H
#define HOOKONCE_PQ_H

#include "compiler.h"
#include <libpq-fe.h>

#define PQ_FUNCTIONS(X)                                                                            \
    X(PQcmdStatus)                                                                                 \
    X(PQclear)                                                                                     \
    X(PQconnectPoll)                                                                               \
    X(PQconninfoFree)                                                                              \
    X(PQconninfoParse)                                                                             \
    X(PQconnectStartParams)                                                                        \
    X(PQconsumeInput)                                                                              \
    X(PQenterPipelineMode)                                                                         \
    X(PQerrorMessage)                                                                              \
    X(PQexitPipelineMode)                                                                          \
    X(PQfinish)                                                                                    \
    X(PQflush)                                                                                     \
    X(PQgetisnull)                                                                                 \
    X(PQgetResult)                                                                                 \
    X(PQgetvalue)                                                                                  \
    X(PQisBusy)                                                                                    \
    X(PQntuples)                                                                                   \
    X(PQparameterStatus)                                                                           \
    X(PQpipelineSync)                                                                              \
    X(PQresultErrorField)                                                                          \
    X(PQresultStatus)                                                                              \
    X(PQsendQuery)                                                                                 \
    X(PQsendQueryParams)                                                                           \
    X(PQsetnonblocking)                                                                            \
    X(PQsetNoticeProcessor)                                                                        \
    X(PQsocket)                                                                                    \
    X(PQstatus)                                                                                    \
    X(PQtransactionStatus)

struct pq {
#define PQ_MEMBER(name) __typeof__(&name) name;
    PQ_FUNCTIONS(PQ_MEMBER)
#undef PQ_MEMBER
};

/* The functions, or NULL when libpq cannot be loaded: *why then says so. */
const struct pq *pq_load(const char **why) MUST_CHECK;

#endif
