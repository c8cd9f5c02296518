#include "clock.h"
#include "cmd.h"
#include "stop.h"
#include "supervise.h"
#include "worker.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { CONFIG, DATABASE, JOBS, DRAIN, MAX_TIME, BATCH, LEASE, MAX_ATTEMPTS, TIMEOUT };
const struct cmd_option cmd_worker_options[] = {
    [CONFIG] = {"config", "FILE", "read this file instead of the usual ones"},
    [DATABASE] = {"database", "URL", "this database instead of the configuration's"},
    [JOBS] = {"jobs", "N", "processes, each with its connection (1)"},
    [DRAIN] = {"drain", NULL, "work what is due and end: for cron"},
    [MAX_TIME] = {"max-time", "TIME", "begin nothing after this time: 50s, 5m"},
    [BATCH] = {"batch", "N", "fresh receipts claimed at a time (16)"},
    [LEASE] = {"lease", "TIME", "a receipt in work is nobody else's (2m)"},
    [MAX_ATTEMPTS] = {"max-attempts", "N", "then a receipt rests for a person (10)"},
    [TIMEOUT] = {"timeout", "TIME", "for one receipt; below the lease (30s)"},
    {NULL, NULL, NULL},
};

struct job {
    const char *url;
    struct claim_policy policy;
    bool drain;
    int64_t until_ms;
    int lock_fd;
};

/* Each worker opens the lock for itself: flock belongs to the open file, not the process. */
static int own_lock(int fd)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return fd < 0 ? -1 : open(path, O_RDWR | O_CLOEXEC);
}

static enum status run_job(void *self, int number UNUSED)
{
    const struct job *job = self;
    struct worker worker = {.policy = &job->policy, .drain = job->drain, .until_ms = job->until_ms};
    enum status status;

    worker.db = db_new(job->url);
    worker.turn_fd = own_lock(job->lock_fd);
    if (worker.db == NULL)
        return ST_NOMEM;
    db_set_name(worker.db, "hookonce worker");
    status = worker_run(&worker);
    if (status != ST_OK)
        (void)cmd_db_fail(worker.db, status);
    db_free(worker.db);
    if (worker.turn_fd >= 0)
        close(worker.turn_fd);
    return status;
}

static enum status read_options(const struct cmd_line *line, struct job *job, long *jobs)
{
    long batch = claim_policy_default.batch, attempts = claim_policy_default.max_attempts;
    long lease = claim_policy_default.lease_seconds * 1000L, max_time = 0;
    long timeout = claim_policy_default.limits.statement_ms;
    enum status status = cmd_number(line->value[JOBS], "--jobs", 1, SUPERVISE_JOBS_MAX, jobs);

    if (status == ST_OK)
        status = cmd_number(line->value[BATCH], "--batch", 1, CLAIM_BATCH_MAX, &batch);
    if (status == ST_OK)
        status = cmd_number(line->value[MAX_ATTEMPTS], "--max-attempts", 1, 1000, &attempts);
    if (status == ST_OK)
        status = cmd_time(line->value[LEASE], "--lease", &lease);
    if (status == ST_OK)
        status = cmd_time(line->value[TIMEOUT], "--timeout", &timeout);
    if (status == ST_OK)
        status = cmd_time(line->value[MAX_TIME], "--max-time", &max_time);
    if (status != ST_OK)
        return status;
    if (lease < 1000 || timeout < 1 || timeout >= lease)
        return cmd_fail(ST_USAGE, "--timeout must be below --lease, and that at least 1s");
    job->policy = claim_policy_default;
    job->policy.batch = (int)batch;
    job->policy.max_attempts = (int)attempts;
    job->policy.lease_seconds = (int)(lease / 1000);
    job->policy.limits.statement_ms = (int)timeout;
    job->drain = line->value[DRAIN] != NULL;
    job->until_ms = max_time == 0 ? INT64_MAX : clock_ms() + max_time;
    return ST_OK;
}

enum status cmd_worker_run(const struct cmd *cmd, int argc, char **argv)
{
    struct job job = {.lock_fd = -1};
    struct supervised all = {.jobs = 1, .run = run_job, .self = &job};
    struct conf *conf = NULL;
    struct cmd_line line;
    FILE *lock = NULL;
    long jobs = 1;
    enum status status = cmd_parse(cmd, argc, argv, &line);

    if (status != ST_OK || line.helped)
        return status;
    status = read_options(&line, &job, &jobs);
    if (status == ST_OK && line.value[DATABASE] == NULL)
        status = cmd_conf(line.value[CONFIG], &conf);
    if (status != ST_OK)
        return status;
    job.url = conf != NULL ? conf->database : line.value[DATABASE];
    all.jobs = (int)jobs;
    all.restart = !job.drain && job.until_ms == INT64_MAX;
    stop_install();
    if (jobs > 1 && !job.drain)
        lock = tmpfile();
    if (lock != NULL)
        job.lock_fd = fileno(lock);
    status = jobs == 1 ? run_job(&job, 0) : supervise(&all);
    if (lock != NULL)
        fclose(lock);
    conf_free(conf);
    return status;
}
