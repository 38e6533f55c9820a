/* clang-format off */
/* Asks a service for its OpenAPI documents (Contract extension 4.5.5, 4.5.6):
 *
 *   GET /openapi/v3                     404: the server has version 2 alone
 *     GET /openapi/v3/apis/GROUP/VERSION  of each version whose hash in the index is another one
 *     GET /openapi/v3/apis/GROUP          the same, for the first version of each group
 *   GET /openapi/v2, If-None-Match      the part of each version; of a server without version 3
 *                                       also converted to it. 404: it has none; what was known stays
 *
 * Documents are read on a thread when they are long. A document that cannot be taken fails the chain,
 * which goes on with the next one; what was known before stays.
 * Failures: the chain's. */
/* clang-format on */
#include "base/err.h"
#include "base/limits.h"
#include "base/mem.h"
#include "server/aggregation/openapi_convert.h"
#include "server/aggregation/remote_follower_int.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define TIMEOUT_MS 60000
#define JSON_TYPE  COR_STR("application/json")
#define PATH_BYTES 400

/* --- Version 2 -------------------------------------------------------------------------------- */

/* On a thread: the part of each version. */
static int make_parts(struct cor_asker *asker, struct cor_openapi_remote *remote)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf v2 = {0}, v3 = {0};
    int r = 0;

    cor_buf_init(&v2, COR_REMOTE_OPENAPI_BYTES);
    cor_buf_init(&v3, COR_REMOTE_OPENAPI_BYTES);
    for (size_t i = 0; r == 0 && i < asker->njob_versions; i++) {
        struct cor_job_version *v = &asker->job_versions[i];

        cor_buf_reset(&v2);
        cor_buf_reset(&v3);
        r = cor_openapi_remote_write(remote, v->service->group, v->service->version, &v2);
        if (r == 0)
            r = cor_remote_text_new(cor_buf_str(&v2), &v->openapi_2);
        if (r == 0 && asker->is_legacy) {
            r = cor_openapi_convert(cor_buf_str(&v2), &v3);
            if (r == 0)
                r = cor_remote_text_new(cor_buf_str(&v3), &v->openapi_3);
        }
    }
    return r;
}

static void work_2(struct cor_asker *asker)
{
    struct cor_openapi_remote *remote = cor_calloc(1, sizeof(*remote));

    if (!remote) {
        asker->made_r = -COR_ENOMEM;
        return;
    }
    asker->made_r = cor_openapi_remote_init(remote, cor_buf_str(&asker->body));
    if (asker->made_r == 0)
        asker->made_r = make_parts(asker, remote);
    cor_openapi_remote_deinit(remote);
    cor_free(remote);
}

static void next_2(struct cor_asker *asker)
{
    struct cor_remote *remote = asker->remote;
    int r = asker->made_r;

    assert(asker->njob_versions == remote->nversions);
    for (size_t i = 0; r == 0 && i < remote->nversions; i++) {
        struct cor_followed_version *v = remote->versions[i];
        struct cor_job_version *made = &asker->job_versions[i];

        r = cor_remote_set_text(remote, &v->openapi_2, COR_STEAL(made->openapi_2));
        if (r == 0 && asker->is_legacy) {
            r = cor_remote_set_text(remote, &v->openapi_3, COR_STEAL(made->openapi_3));
            (void)cor_remote_set_text(remote, &v->openapi_3_group, NULL);
            v->index_hash[0] = v->group_hash[0] = '\0';
        }
    }
    if (r < 0)
        asker->etag[0] = '\0';
    cor_asker_end(asker, r < 0 ? r : asker->step, "its OpenAPI document cannot be taken");
}

static int job_versions(struct cor_asker *asker)
{
    struct cor_remote *remote = asker->remote;

    asker->job_versions = cor_calloc(remote->nversions, sizeof(asker->job_versions[0]));
    if (!asker->job_versions)
        return -COR_ENOMEM;
    asker->njob_versions = remote->nversions;
    for (size_t i = 0; i < remote->nversions; i++)
        asker->job_versions[i].service = cor_api_service_ref(remote->versions[i]->service);
    return 0;
}

static int keep_body(struct cor_asker *asker, const struct cor_fetch_answer *answer)
{
    cor_buf_deinit(&asker->body);
    cor_buf_init(&asker->body, COR_REMOTE_OPENAPI_BYTES);
    return cor_buf_adds(&asker->body, answer->body);
}

static void on_2(void *arg, int r, const char *text, const struct cor_fetch_answer *answer)
{
    struct cor_asker *asker = arg;

    asker->fetch = NULL;
    if (r == 0 && (answer->status == 404 || (answer->status == 304 && asker->etag[0]))) {
        cor_asker_end(asker, asker->step, "one of its OpenAPI documents cannot be taken");
        return;
    }
    if (r == 0 && answer->status != 200) {
        r = -COR_EPROTOCOL;
        text = "it does not answer with its OpenAPI document";
    }
    if (r == 0)
        r = keep_body(asker, answer);
    if (r == 0)
        r = job_versions(asker);
    if (r == 0) {
        asker->etag[0] = '\0';
        if (answer->etag.n < sizeof(asker->etag))
            snprintf(asker->etag, sizeof(asker->etag), "%.*s", COR_STR_ARG(answer->etag));
        r = cor_asker_work(asker, work_2, next_2);
        if (r < 0)
            asker->etag[0] = '\0';
    }
    if (r < 0)
        cor_asker_end(asker, r, text ? text : "its OpenAPI document cannot be read");
}

static int fetch(struct cor_asker *asker, const char *path, struct cor_str etag, size_t body_max,
                 cor_fetch_cb on_done)
{
    const struct cor_followed_version *v = cor_remote_available(asker->remote);

    if (!v)
        return -COR_EUNAVAILABLE;
    return cor_asker_fetch(asker, v,
                           &(struct cor_fetch_opts){.path = cor_strz(path),
                                                    .accept = JSON_TYPE,
                                                    .if_none_match = etag,
                                                    .body_max = body_max,
                                                    .timeout_ms = TIMEOUT_MS},
                           on_done);
}

static void ask_2(struct cor_asker *asker)
{
    int r = fetch(asker, "/openapi/v2", cor_strz(asker->etag), COR_REMOTE_OPENAPI_BYTES, on_2);

    if (r < 0)
        cor_asker_end(asker, r, "it cannot be asked for its OpenAPI document");
}

/* --- Version 3 -------------------------------------------------------------------------------- */

/* The chain goes over pages: of each version its own, and that of its group. */
struct openapi_page {
    struct cor_followed_version *version;
    bool is_group;
    struct cor_remote_text **place;
    char *hash; /* what the index said when it was taken */
    char path[PATH_BYTES];
};

static struct openapi_page page_at(const struct cor_asker *asker)
{
    struct cor_followed_version *v = asker->remote->versions[asker->at / 2];
    struct openapi_page page = {.version = v, .is_group = asker->at % 2 == 1};

    page.place = page.is_group ? &v->openapi_3_group : &v->openapi_3;
    page.hash = page.is_group ? v->group_hash : v->index_hash;
    snprintf(page.path, sizeof(page.path), "apis/%.*s%s%.*s", COR_STR_ARG(v->service->group),
             page.is_group ? "" : "/", page.is_group ? 0 : (int)v->service->version.n,
             v->service->version.p);
    return page;
}

/* Does an earlier version have the page of this group? */
static bool page_is_repeated(const struct cor_asker *asker, const struct openapi_page *page)
{
    for (size_t i = 0; page->is_group && i < asker->at / 2; i++) {
        if (cor_str_eq(asker->remote->versions[i]->service->group, page->version->service->group))
            return true;
    }
    return false;
}

static void ask_page(struct cor_asker *asker);

static void work_3(struct cor_asker *asker)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {0};

    cor_buf_init(&out, COR_REMOTE_OPENAPI_BYTES);
    asker->made_r = cor_openapi_take_3(cor_buf_str(&asker->body), &out);
    if (asker->made_r == 0)
        asker->made_r = cor_remote_text_new(cor_buf_str(&out), &asker->made);
}

static void next_3(struct cor_asker *asker)
{
    const struct openapi_page page = page_at(asker);
    int r = asker->made_r;

    if (r == 0)
        r = cor_remote_set_text(asker->remote, page.place, COR_STEAL(asker->made));
    if (r == 0)
        r = cor_openapi_index_find(cor_buf_str(&asker->index), cor_strz(page.path), page.hash);
    if (r < 0)
        asker->step = r;
    asker->at++;
    ask_page(asker);
}

static void on_page(void *arg, int r, const char *text, const struct cor_fetch_answer *answer)
{
    struct cor_asker *asker = arg;

    asker->fetch = NULL;
    if (r == 0 && answer->status != 200) {
        r = -COR_EPROTOCOL;
        text = "it does not answer with a document of its index";
    }
    if (r == 0)
        r = keep_body(asker, answer);
    if (r == 0)
        r = cor_asker_work(asker, work_3, next_3);
    if (r < 0)
        cor_asker_end(asker, r, text ? text : "its OpenAPI document cannot be read");
}

/* Asks for the next page that has changed; after the last one for version 2. */
static void ask_page(struct cor_asker *asker)
{
    char hash[COR_REMOTE_INDEX_HASH_MAX], path[PATH_BYTES + 16];
    int r;

    for (; asker->at < 2 * asker->remote->nversions; asker->at++) {
        const struct openapi_page page = page_at(asker);

        r = page_is_repeated(asker, &page)
                ? -COR_ENOTFOUND
                : cor_openapi_index_find(cor_buf_str(&asker->index), cor_strz(page.path), hash);
        if (r < 0) {
            (void)cor_remote_set_text(asker->remote, page.place, NULL);
            page.hash[0] = '\0';
            continue;
        }
        if (*page.place && strcmp(hash, page.hash) == 0)
            continue;
        snprintf(path, sizeof(path), "/openapi/v3/%s", page.path);
        r = fetch(asker, path, COR_STR(""), COR_REMOTE_OPENAPI_BYTES, on_page);
        if (r < 0)
            cor_asker_end(asker, r, "it cannot be asked for its OpenAPI document");
        return;
    }
    ask_2(asker);
}

static void on_index(void *arg, int r, const char *text, const struct cor_fetch_answer *answer)
{
    struct cor_asker *asker = arg;
    bool was_legacy = asker->is_legacy;
    char hash[COR_REMOTE_INDEX_HASH_MAX];

    asker->fetch = NULL;
    if (r == 0 && answer->status != 200 && answer->status != 404) {
        r = -COR_EPROTOCOL;
        text = "it does not answer with its index of OpenAPI documents";
    }
    if (r == 0)
        asker->is_legacy = answer->status == 404;
    if (asker->is_legacy != was_legacy)
        asker->etag[0] = '\0';
    if (r == 0 && !asker->is_legacy) {
        cor_buf_init(&asker->index, COR_REMOTE_INDEX_BYTES);
        r = cor_buf_adds(&asker->index, answer->body);
        if (r == 0 && cor_openapi_index_find(answer->body, COR_STR("apis"), hash) == -COR_EINVAL) {
            r = -COR_EINVAL;
            text = "its index of OpenAPI documents cannot be read";
        }
    }
    if (r < 0) {
        cor_asker_end(asker, r, text ? text : "no memory");
        return;
    }
    asker->at = asker->is_legacy ? 2 * asker->remote->nversions : 0;
    asker->step = 0;
    ask_page(asker);
}

void cor_openapi_ask(struct cor_asker *asker)
{
    int r = fetch(asker, "/openapi/v3", COR_STR(""), COR_REMOTE_INDEX_BYTES, on_index);

    /* Availability has its own log and condition. */
    if (r < 0)
        cor_asker_end(asker, r == -COR_EUNAVAILABLE ? 0 : r, "no memory");
}
