#include "clock.h"
#include "cmd.h"

#include <curl/curl.h>
#include <stdio.h>
#include <string.h>

enum { SEND_SECONDS = 30, ANSWER_MAX = 65536 };

enum { URL, SECRET, PROVIDER, ENDPOINT, CONFIG, FORGED };
const struct cmd_option cmd_send_options[] = {
    [URL] = {"url", "URL", "where to (http://127.0.0.1 and the endpoint's path)"},
    [SECRET] = {"secret", "SECRET", "literal, env:NAME or file:PATH; else the configuration's"},
    [PROVIDER] = {"provider", "NAME", "whose signature, with --secret (stripe)"},
    [ENDPOINT] = {"endpoint", "NAME", "whose secret and path (the first endpoint's)"},
    [CONFIG] = {"config", "FILE", "read this file instead of the usual ones"},
    [FORGED] = {"forged", NULL, "change the signature, to see it refused"},
    {NULL, NULL, NULL},
};

struct sending {
    CURL *curl;
    const char *url;
    struct cmd_signer signer;
    bool forged;
};

static size_t take_answer(char *data, size_t size, size_t count, void *to)
{
    buf_add(to, data, size * count);
    return size * count;
}

/* The whole header line; forged: its last digit is another one. */
static enum status sign(const struct sending *s, const struct buf *file, struct buf *header)
{
    enum status status =
        scheme_sign(s->signer.scheme, s->signer.secrets.of[0].key, s->signer.secrets.of[0].len,
                    file->data, file->len, clock_wall(), header);

    if (status == ST_OK && s->forged)
        header->data[header->len - 1] = header->data[header->len - 1] == '0' ? '1' : '0';
    return status;
}

static enum status post(const struct sending *s, const struct buf *file, const char *header,
                        struct buf *answer, long *code)
{
    struct curl_slist *headers = NULL;
    CURLcode rc;

    headers = curl_slist_append(headers, "Content-Type: application/json; charset=utf-8");
    headers = curl_slist_append(headers, header);
    if (headers == NULL)
        return cmd_fail(ST_NOMEM, "out of memory");
    curl_easy_setopt(s->curl, CURLOPT_URL, s->url);
    curl_easy_setopt(s->curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(s->curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(s->curl, CURLOPT_POSTFIELDS, file->data == NULL ? "" : file->data);
    curl_easy_setopt(s->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)file->len);
    curl_easy_setopt(s->curl, CURLOPT_TIMEOUT, (long)SEND_SECONDS);
    curl_easy_setopt(s->curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(s->curl, CURLOPT_WRITEFUNCTION, take_answer);
    curl_easy_setopt(s->curl, CURLOPT_WRITEDATA, answer);
    rc = curl_easy_perform(s->curl);
    curl_easy_getinfo(s->curl, CURLINFO_RESPONSE_CODE, code);
    curl_slist_free_all(headers);
    if (rc != CURLE_OK)
        return cmd_fail(ST_REFUSED, "%s: %s", s->url, curl_easy_strerror(rc));
    return ST_OK;
}

static enum status send_file(const struct sending *s, const char *path)
{
    struct buf file, header, answer;
    long code = 0;
    enum status status;

    buf_init(&header, 4096);
    buf_init(&answer, ANSWER_MAX);
    status = cmd_read(path, &file);
    if (status == ST_OK)
        status = sign(s, &file, &header);
    if (status == ST_OK)
        status = post(s, &file, header.data, &answer, &code);
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
    buf_release(&header);
    buf_release(&file);
    return status;
}

/* http://127.0.0.1 and the path of the endpoint. */
static enum status default_url(const struct cmd_line *line, struct buf *url)
{
    const struct conf_endpoint *e;
    struct conf *conf;
    enum status status = cmd_conf(line->value[CONFIG], &conf);

    if (status != ST_OK)
        return status;
    e = line->value[ENDPOINT] == NULL ? &conf->endpoints[0]
                                      : conf_endpoint(conf, line->value[ENDPOINT]);
    if (e == NULL)
        status = cmd_fail(ST_USAGE, "the configuration has no endpoint %s", line->value[ENDPOINT]);
    else
        buf_format(url, "http://127.0.0.1%s", e->path == NULL ? "/" : e->path);
    conf_free(conf);
    return status;
}

enum status cmd_send_run(const struct cmd *cmd, int argc, char **argv)
{
    struct sending s = {.curl = NULL};
    struct cmd_line line;
    struct buf url;
    enum status status = cmd_parse(cmd, argc, argv, &line), sent;

    if (status != ST_OK || line.helped)
        return status;
    if (line.count < 1)
        return cmd_fail(ST_USAGE, "send needs a file: see hookonce send --help");
    buf_init(&url, 4096);
    if (line.value[URL] != NULL)
        buf_text(&url, line.value[URL]);
    else
        status = default_url(&line, &url);
    if (status == ST_OK)
        status = cmd_signer(line.value[PROVIDER], line.value[SECRET], line.value[ENDPOINT],
                            line.value[CONFIG], &s.signer);
    if (status != ST_OK)
        goto out;
    s.url = url.data;
    s.forged = line.value[FORGED] != NULL;
    s.curl = curl_easy_init();
    if (s.curl == NULL)
        status = cmd_fail(ST_NOMEM, "out of memory");
    for (int i = 0; i < line.count && s.curl != NULL; i++) {
        sent = send_file(&s, line.args[i]);
        if (status == ST_OK)
            status = sent;
    }
out:
    curl_easy_cleanup(s.curl);
    secrets_release(&s.signer.secrets);
    buf_release(&url);
    return status;
}
