#include "pq.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

static const struct {
    const char *name;
    size_t where;
} functions[] = {
#define PQ_ROW(name) {#name, offsetof(struct pq, name)},
    PQ_FUNCTIONS(PQ_ROW)
#undef PQ_ROW
};

const struct pq *pq_load(const char **why)
{
    static struct pq pq;
    static void *library;

    if (library != NULL)
        return &pq;
    library = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; library != NULL && i < ARRAY_LEN(functions); i++) {
        void *found = dlsym(library, functions[i].name);

        if (found == NULL) {
            *why = "it is older than version 14";
            dlclose(library);
            library = NULL;
            return NULL;
        }
        memcpy((char *)&pq + functions[i].where, &found, sizeof(found));
    }
    if (library != NULL)
        return &pq;
    *why = dlerror();
    return NULL;
}
