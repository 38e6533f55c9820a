/* clang-format off */
/* Asks a service for its discovery (Contract extension 4.5.2, 4.5.3):
 *
 *   not available ──► all versions are stale
 *   GET /apis, aggregated, If-None-Match
 *     304                    as before
 *     200, aggregated        the entry of each version; one that has none has no resources
 *     503, or no answer      all versions are stale
 *     others                 GET /apis/GROUP/VERSION of each version, the older form
 *
 * A stale version has no resources, as upstream's.
 * Failures: the chain's; the versions that were not answered for are stale. */
/* clang-format on */
#include "base/err.h"
#include "base/limits.h"
#include "base/mem.h"
#include "server/aggregation/discovery_parse.h"
#include "server/aggregation/remote_follower_int.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define TIMEOUT_MS 5000
#define ACCEPT                                                                                     \
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"                        \
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"

/* What is known about a version from now on. `resources` may be NULL. */
static int version_tell(struct cor_remote *remote, struct cor_followed_version *v, bool is_current,
                        const struct cor_buf *resources)
{
    struct cor_remote_text *text = NULL;
    int r = 0;

    if (is_current && resources)
        r = cor_remote_text_new(cor_buf_str(resources), &text);
    if (r == 0)
        r = cor_remote_set_text(remote, &v->resources, text);
    if (!v->is_told || v->is_current != (is_current && r == 0))
        cor_remote_changed(remote);
    v->is_told = true;
    v->is_current = is_current && r == 0;
    return r;
}

static void tell_stale(struct cor_remote *remote)
{
    for (size_t i = 0; i < remote->nversions; i++)
        (void)version_tell(remote, remote->versions[i], false, NULL);
    /* The next answer must be a whole one. */
    remote->askers[COR_REMOTE_DISCOVERY].etag[0] = '\0';
}

static void end_stale(struct cor_asker *asker, int r, const char *text)
{
    tell_stale(asker->remote);
    cor_asker_end(asker, r, text);
}

/* A version of the list. 0, or why it is stale. */
static int version_take(struct cor_remote *remote, struct cor_followed_version *v,
                        const struct cor_discovery_list *list)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {0};
    const struct cor_discovery_entry *entry =
        cor_discovery_list_find(list, v->service->group, v->service->version);
    int r = 0;

    if (!cor_api_service_is_available(v->service))
        return version_tell(remote, v, false, NULL);
    cor_buf_init(&out, COR_REMOTE_DISCOVERY_BYTES);
    if (entry)
        r = cor_discovery_write_resources(entry, &out);
    if (r == 0)
        r = version_tell(remote, v, true, entry ? &out : NULL);
    if (r < 0)
        (void)version_tell(remote, v, false, NULL);
    return r;
}

static void on_list(struct cor_asker *asker, const struct cor_fetch_answer *answer)
{
    struct cor_remote *remote = asker->remote;
    struct cor_discovery_list list;
    int r = cor_discovery_list_init(&list, answer->body), worst = r;

    for (size_t i = 0; r == 0 && i < remote->nversions; i++) {
        int failed = version_take(remote, remote->versions[i], &list);

        worst = failed < 0 ? failed : worst;
    }
    cor_discovery_list_deinit(&list);
    if (r < 0) {
        end_stale(asker, r, "its list of groups cannot be read");
        return;
    }
    asker->etag[0] = '\0';
    if (worst == 0 && answer->etag.n < sizeof(asker->etag))
        snprintf(asker->etag, sizeof(asker->etag), "%.*s", COR_STR_ARG(answer->etag));
    cor_asker_end(asker, worst, "its resources cannot be read");
}

static void ask_legacy(struct cor_asker *asker);

static void on_legacy(void *arg, int r, const char *text, const struct cor_fetch_answer *answer)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {0};
    struct cor_asker *asker = arg;
    struct cor_remote *remote = asker->remote;
    struct cor_followed_version *v = remote->versions[asker->at];

    (void)text;
    asker->fetch = NULL;
    cor_buf_init(&out, COR_REMOTE_DISCOVERY_BYTES);
    if (r == 0 && answer->status != 200)
        r = -COR_EPROTOCOL;
    if (r == 0)
        r = cor_discovery_write_legacy(answer->body, &out);
    if (r == 0)
        r = version_tell(remote, v, true, &out);
    if (r < 0) {
        (void)version_tell(remote, v, false, NULL);
        asker->step = r;
    }
    asker->at++;
    ask_legacy(asker);
}

/* The version at `at`; `step` has the last failure. */
static void ask_legacy(struct cor_asker *asker)
{
    const struct cor_followed_version *v;
    char path[384];
    int r;

    if (asker->at == asker->remote->nversions) {
        cor_asker_end(asker, asker->step, "the list of its resources cannot be read");
        return;
    }
    v = asker->remote->versions[asker->at];
    snprintf(path, sizeof(path), "/apis/%.*s/%.*s", COR_STR_ARG(v->service->group),
             COR_STR_ARG(v->service->version));
    r = cor_asker_fetch(asker, v,
                        &(struct cor_fetch_opts){.path = cor_strz(path),
                                                 .accept = COR_STR("application/json"),
                                                 .body_max = COR_REMOTE_DISCOVERY_BYTES,
                                                 .timeout_ms = TIMEOUT_MS},
                        on_legacy);
    if (r < 0)
        end_stale(asker, r, "no memory");
}

static void on_apis(void *arg, int r, const char *text, const struct cor_fetch_answer *answer)
{
    struct cor_asker *asker = arg;

    asker->fetch = NULL;
    if (r < 0) {
        end_stale(asker, r, text);
    } else if (answer->status == 304 && asker->etag[0]) {
        cor_asker_end(asker, 0, NULL);
    } else if (answer->status == 503 || answer->status == 304) {
        end_stale(asker, -COR_EUNAVAILABLE, "it answers that it is not available");
    } else if (answer->status == 200 && cor_discovery_is_aggregated(answer->content_type)) {
        on_list(asker, answer);
    } else {
        asker->at = 0;
        asker->step = 0;
        asker->etag[0] = '\0';
        ask_legacy(asker);
    }
}

void cor_discovery_ask(struct cor_asker *asker)
{
    const struct cor_followed_version *v = cor_remote_available(asker->remote);
    int r;

    if (!v) {
        tell_stale(asker->remote);
        /* Availability has its own log and condition. */
        cor_asker_end(asker, 0, NULL);
        return;
    }
    r = cor_asker_fetch(asker, v,
                        &(struct cor_fetch_opts){.path = COR_STR("/apis"),
                                                 .accept = COR_STR(ACCEPT),
                                                 .if_none_match = cor_strz(asker->etag),
                                                 .body_max = COR_REMOTE_DISCOVERY_BYTES,
                                                 .timeout_ms = TIMEOUT_MS},
                        on_apis);
    if (r < 0)
        end_stale(asker, r, "no memory");
}
