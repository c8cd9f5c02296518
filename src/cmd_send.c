#include "clock.h"
#include "cmd.h"
#include "scheme_sign.h"

#include <curl/curl.h>
#include <stdio.h>
#include <string.h>

enum { SEND_SECONDS = 30, ANSWER_MAX = 65536 };

enum { URL, SECRET, PROVIDER, ENDPOINT, CONFIG, ID, TYPE, FORM, FORGED };
const struct cmd_option cmd_send_options[] = {
    [URL] = {"url", "URL", "where to (http://127.0.0.1 and the endpoint's path)"},
    [SECRET] = {"secret", "SECRET", "literal, env:NAME or file:PATH; else the configuration's"},
    [PROVIDER] = {"provider", "NAME", "whose signature, with --secret (stripe)"},
    [ENDPOINT] = {"endpoint", "NAME", "whose secret and path (the first endpoint's)"},
    [CONFIG] = {"config", "FILE", "read this file instead of the usual ones"},
    [ID] = {"id", "ID", "the event's, where a header tells it (made of the body)"},
    [TYPE] = {"type", "TYPE", "the event's, where a header tells it"},
    [FORM] = {"form", NULL, "the files are forms, not JSON"},
    [FORGED] = {"forged", NULL, "change the signature, to see it refused"},
    {NULL, NULL, NULL},
};

struct sending {
    CURL *curl;
    const char *url;
    struct scheme_signing signing; /* what all files have alike */
};

static size_t take_answer(char *data, size_t size, size_t count, void *to)
{
    buf_add(to, data, size * count);
    return size * count;
}

/* Appends each line as a header of the request. */
static bool add_headers(struct curl_slist **headers, char *lines)
{
    struct curl_slist *longer;
    char *rest;

    for (char *line = strtok_r(lines, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        longer = curl_slist_append(*headers, line);
        if (longer == NULL)
            return false;
        *headers = longer;
    }
    return true;
}

static enum status post(const struct sending *s, const char *url, char *lines, struct buf *answer,
                        long *code)
{
    struct curl_slist *headers = NULL;
    CURLcode rc = CURLE_OUT_OF_MEMORY;
    char type[] = "Content-Type: application/json; charset=utf-8";
    char form[] = "Content-Type: application/x-www-form-urlencoded";

    if (!add_headers(&headers, s->signing.form ? form : type) || !add_headers(&headers, lines))
        goto out;
    curl_easy_setopt(s->curl, CURLOPT_URL, url);
    curl_easy_setopt(s->curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(s->curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(s->curl, CURLOPT_POSTFIELDS, s->signing.body);
    curl_easy_setopt(s->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)s->signing.len);
    curl_easy_setopt(s->curl, CURLOPT_TIMEOUT, (long)SEND_SECONDS);
    curl_easy_setopt(s->curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(s->curl, CURLOPT_WRITEFUNCTION, take_answer);
    curl_easy_setopt(s->curl, CURLOPT_WRITEDATA, answer);
    rc = curl_easy_perform(s->curl);
    curl_easy_getinfo(s->curl, CURLINFO_RESPONSE_CODE, code);
out:
    curl_slist_free_all(headers);
    if (rc != CURLE_OK)
        return cmd_fail(ST_REFUSED, "%s: %s", url, curl_easy_strerror(rc));
    return ST_OK;
}

static enum status send_file(struct sending *s, const char *path)
{
    struct buf file, url, lines, answer;
    long code = 0;
    enum status status;

    buf_init(&lines, 16384);
    buf_init(&url, 8192);
    buf_init(&answer, ANSWER_MAX);
    buf_text(&url, s->url);
    status = cmd_read(path, &file);
    s->signing.body = file.data == NULL ? "" : file.data;
    s->signing.len = file.len;
    s->signing.time = clock_wall();
    if (status == ST_OK)
        status = scheme_sign(&s->signing, &url, &lines);
    if (status == ST_OK)
        status = post(s, url.data, lines.data, &answer, &code);
    if (status == ST_OK) {
        size_t len = answer.data == NULL ? 0 : strcspn(answer.data, "\r\n");

        for (size_t i = 0; i < len; i++) {
            if ((unsigned char)answer.data[i] < 0x20 || (unsigned char)answer.data[i] > 0x7e)
                answer.data[i] = '?'; /* whoever answered must not drive the terminal */
        }
        printf("%ld %.*s %s\n", code, (int)len, answer.data == NULL ? "" : answer.data, path);
        status = code == 200 ? ST_OK : ST_REFUSED;
    }
    buf_release(&answer);
    buf_release(&lines);
    buf_release(&url);
    buf_release(&file);
    return status;
}

enum status cmd_send_run(const struct cmd *cmd, int argc, char **argv)
{
    struct sending s = {.curl = NULL};
    struct cmd_signer signer = {.conf = NULL};
    struct cmd_line line;
    struct buf url;
    enum status status = cmd_parse(cmd, argc, argv, &line), sent;

    if (status != ST_OK || line.helped)
        return status;
    if (line.count < 1)
        return cmd_fail(ST_USAGE, "send needs a file: see hookonce send --help");
    buf_init(&url, 4096);
    status = cmd_signer(line.value[PROVIDER], line.value[SECRET], line.value[ENDPOINT],
                        line.value[CONFIG], &signer);
    if (status != ST_OK)
        goto out;
    if (line.value[URL] != NULL)
        buf_text(&url, line.value[URL]);
    else if (signer.path != NULL)
        buf_format(&url, "http://127.0.0.1%s", signer.path);
    else
        status = cmd_fail(ST_USAGE, "say where to: --url URL");
    if (signer.policy.url == NULL)
        signer.policy.url = url.data; /* signed, where the provider does that */
    s.url = url.data;
    s.signing = (struct scheme_signing){.policy = &signer.policy,
                                        .id = line.value[ID],
                                        .type = line.value[TYPE],
                                        .form = line.value[FORM] != NULL,
                                        .forged = line.value[FORGED] != NULL};
    s.curl = status == ST_OK ? curl_easy_init() : NULL;
    if (status == ST_OK && s.curl == NULL)
        status = cmd_fail(ST_NOMEM, "out of memory");
    for (int i = 0; i < line.count && s.curl != NULL; i++) {
        sent = send_file(&s, line.args[i]);
        if (status == ST_OK)
            status = sent;
    }
out:
    curl_easy_cleanup(s.curl);
    cmd_signer_release(&signer);
    buf_release(&url);
    return status;
}
