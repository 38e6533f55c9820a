/* clang-format off */
/* Answers about OpenAPI.
 *
 *   the index     is written per request; it has the hash of each document in the document's URL
 *   a document    406 when the client accepts none of its forms
 *                 301 to the current hash when the URL has another one
 *                 304 when the client has the document
 *                 200 with the kept bytes; for a year in caches when the URL has the hash. The
 *                 document of version 2 is kept compressed for clients that accept gzip
 *
 * A document that is not kept:
 *
 *   answer_find_or_make ──► the loop makes it already: the call becomes a follower
 *          │ nobody makes it: the call is among openapi_jobs
 *          ▼
 *   thread: answer_make ──► loop: answer_on_made: keep the document, answer the followers and the call
 *
 * The user of the call that makes a document is charged with the work (server/api/heavy.h). A
 * reader who goes meanwhile is not answered; the document is made and kept all the same, for the
 * followers and for the next request.
 *
 * Failures: unknown documents get an empty 404, as upstream's. Without memory the answers of all that
 * wait are a Status of 500; when the threads have too much to do, the call that would make the
 * document gets 429. */
/* clang-format on */
#include "server/api/openapi_reply.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/limits.h"
#include "codec/gzip.h"
#include "server/api/api_int.h"
#include "server/api/heavy.h"
#include "server/docs/openapi_protobuf.h"

#define JSON_TYPE "application/json"
#define YEAR_S    (INT64_C(365) * 24 * 3600)
/* Of a document that is compressed once and sent many times; as upstream's. */
#define GZIP_LEVEL 6

static int answer_write_json(const struct cor_openapi_answer *answer, struct cor_buf *out)
{
    return answer->version == COR_OPENAPI_3 ? cor_openapi_write_3(answer->served, answer->path, out)
                                            : cor_openapi_write_2(answer->served, out);
}

static int answer_write_plain(const struct cor_openapi_answer *answer, struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {0};
    int r;

    if (!answer->is_protobuf)
        return answer_write_json(answer, out);
    cor_buf_init(&json, COR_OPENAPI_BYTES_MAX);
    r = answer_write_json(answer, &json);
    return r < 0 ? r : cor_openapi_to_protobuf(cor_buf_str(&json), answer->version, out);
}

/* A cor_kept_make. */
static int answer_write(const void *arg, struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf plain = {0};
    const struct cor_openapi_answer *answer = arg;
    int r;

    if (!answer->is_gzip)
        return answer_write_plain(answer, out);
    cor_buf_init(&plain, COR_OPENAPI_BYTES_MAX);
    r = answer_write_plain(answer, &plain);
    return r < 0 ? r : cor_gzip_pack(cor_buf_str(&plain), GZIP_LEVEL, out);
}

static const char *answer_type(const struct cor_openapi_answer *answer)
{
    if (!answer->is_protobuf)
        return JSON_TYPE;
    return answer->version == COR_OPENAPI_3 ? COR_OPENAPI_V3_PROTOBUF : COR_OPENAPI_V2_PROTOBUF;
}

/* Takes the form that the client prefers; false: it accepts none. */
static bool answer_negotiate(struct cor_openapi_answer *answer, struct cor_str accept)
{
    answer->is_protobuf = cor_accept_wants_openapi_protobuf(accept, answer->version);
    return answer->is_protobuf || cor_accept_takes_json(accept);
}

static void reply_empty(struct cor_call *call, int code)
{
    static const struct cor_http_header vary = {COR_STR("Vary"), COR_STR("Accept")};

    cor_call_reply_bytes(call, code, NULL, &vary, code == 406, COR_STR(""));
}

static void reply_failure(struct cor_call *call, int r)
{
    cor_status_set_err(&call->status, r);
    cor_call_fail(call);
}

/* The value of `hash` in a query; empty: it has none. A hash needs no escapes. */
static struct cor_str query_hash(struct cor_str query)
{
    while (query.n > 0) {
        struct cor_str value = cor_str_cut(&query, '&'), name = cor_str_cut(&value, '=');

        if (cor_str_eq(name, COR_STR("hash")))
            return value;
    }
    return COR_STR("");
}

static void format_expires(struct cor_call *call, char *out, size_t max)
{
    time_t at = (time_t)(cor_call_now_ms(call) / 1000 + YEAR_S);
    struct tm tm;

    if (!gmtime_r(&at, &tm) || strftime(out, max, "%a, %d %b %Y %H:%M:%S UTC", &tm) == 0)
        out[0] = '\0';
}

/* Sends the document, or, without one, that the client has it. */
static void answer_send(struct cor_openapi_answer *answer)
{
    char etag[COR_OPENAPI_HASH_MAX + 2], expires[64];
    struct cor_http_header headers[6] = {{COR_STR("Etag"), COR_STR("")},
                                         {COR_STR("Vary"), COR_STR("Accept")}};
    size_t nheaders = 2;

    snprintf(etag, sizeof(etag), "\"%s\"", answer->hash);
    headers[0].value = cor_strz(etag);
    if (answer->version == COR_OPENAPI_2)
        headers[nheaders++] = (struct cor_http_header){COR_STR("Vary"), COR_STR("Accept-Encoding")};
    if (answer->doc && answer->is_gzip)
        headers[nheaders++] =
            (struct cor_http_header){COR_STR("Content-Encoding"), COR_STR("gzip")};
    if (answer->is_named) {
        format_expires(answer->call, expires, sizeof(expires));
        headers[nheaders++] =
            (struct cor_http_header){COR_STR("Cache-Control"), COR_STR("public, immutable")};
        headers[nheaders++] = (struct cor_http_header){COR_STR("Expires"), cor_strz(expires)};
    }
    if (answer->doc)
        cor_call_reply_bytes(answer->call, 200, answer_type(answer), headers, nheaders,
                             cor_kept_doc_bytes(answer->doc));
    else
        cor_call_reply_bytes(answer->call, 304, NULL, headers, nheaders, COR_STR(""));
}

/* --- Documents that are not kept ---------------------------------------------------------------
 */

/* The answer of a call that a loop or a thread works on: the call's stage_arg. */
static struct cor_openapi_answer *answer_of(struct cor_call *call)
{
    return call->stage_arg;
}

/* On a thread. */
static int answer_make(struct cor_call *call)
{
    struct cor_openapi_answer *answer = answer_of(call);
    int r =
        cor_kept_doc_make(cor_str(answer->key, answer->key_n), answer_write, answer, &answer->doc);

    return r < 0 ? cor_status_set_err(&call->status, r) : 0;
}

/* Answers a call that has waited for another one's document; NULL: that failed with `r`. */
static void follower_end(struct cor_openapi_answer *answer, struct cor_kept_doc *doc, int r)
{
    struct cor_call *call = answer->call;

    cor_dlist_remove(&answer->link);
    if (!call->is_over && doc) {
        answer->doc = cor_kept_doc_ref(doc);
        answer_send(answer);
    } else if (!call->is_over) {
        reply_failure(call, r);
    }
    (void)cor_call_end_op(call);
}

/* The document is made, or `r` is a failure in the status. The call's own answer is the last,
 * because it may free the call. */
static void answer_on_made(struct cor_call *call, int r)
{
    struct cor_openapi_answer *answer = answer_of(call);

    cor_dlist_remove(&answer->link);
    if (answer->doc)
        cor_kept_docs_keep(&cor_loop_part(call->loop)->kept_docs, answer->doc);
    while (!cor_dlist_empty(&answer->followers))
        follower_end(COR_CONTAINER_OF(answer->followers.next, struct cor_openapi_answer, link),
                     answer->doc, r);
    if (call->is_over)
        return;
    if (answer->doc)
        answer_send(answer);
    else
        cor_call_fail(call);
}

/* The answer whose call makes this document on the loop; NULL: none. */
static struct cor_openapi_answer *find_maker(struct cor_api_loop *loop, struct cor_str key)
{
    COR_DLIST_FOREACH(link, &cor_loop_part(loop)->openapi_jobs) {
        struct cor_openapi_answer *answer = COR_CONTAINER_OF(link, struct cor_openapi_answer, link);

        if (cor_str_eq(cor_str(answer->key, answer->key_n), key))
            return answer;
    }
    return NULL;
}

static void answer_find_or_make(struct cor_openapi_answer *answer)
{
    struct cor_call *call = answer->call;
    struct cor_str key = cor_str(answer->key, answer->key_n);
    struct cor_openapi_answer *maker;
    size_t bytes;

    answer->doc = cor_kept_docs_find(&cor_loop_part(call->loop)->kept_docs, key);
    if (answer->doc) {
        answer_send(answer);
        return;
    }
    maker = find_maker(call->loop, key);
    if (maker) {
        cor_dlist_push(&maker->followers, &answer->link);
        cor_call_begin_op(call);
        return;
    }
    cor_dlist_push(&cor_loop_part(call->loop)->openapi_jobs, &answer->link);
    call->stage_is_shared = true;
    /* The JSON is in memory beside the message that is made of it. */
    bytes = cor_openapi_weigh(answer->served, answer->path) *
            (answer->is_protobuf || answer->is_gzip ? 2 : 1);
    cor_heavy_run(call, bytes, answer_make, answer_on_made);
}

/* Answers with the document of the hash and path in `answer`. */
static void reply_document(struct cor_openapi_answer *answer, struct cor_str path)
{
    struct cor_call *call = answer->call;
    char etag[COR_OPENAPI_HASH_MAX + 2];
    int n;

    snprintf(etag, sizeof(etag), "\"%s\"", answer->hash);
    if (cor_str_eqz(call->req->if_none_match, etag)) {
        answer_send(answer);
        return;
    }
    /* The request may be gone before the document is made: the path is taken from the key. */
    n = snprintf(answer->key, sizeof(answer->key), "%s %.*s%s%s", answer->hash, COR_STR_ARG(path),
                 answer->is_protobuf ? " protobuf" : "", answer->is_gzip ? " gzip" : "");
    assert(n > 0 && (size_t)n < sizeof(answer->key));
    answer->key_n = (size_t)n;
    answer->path = cor_str(answer->key + strlen(answer->hash) + 1, path.n);
    answer_find_or_make(answer);
}

static void reply_v3(struct cor_openapi_answer *answer, struct cor_str path)
{
    struct cor_call *call = answer->call;
    char location[COR_KEPT_KEY_MAX];
    struct cor_str named = query_hash(call->req->query);
    struct cor_http_header headers[] = {{COR_STR("Location"), COR_STR("")},
                                        {COR_STR("Vary"), COR_STR("Accept")}};

    answer->version = COR_OPENAPI_3;
    answer->is_named = named.n > 0;
    if (cor_openapi_hash(answer->served, path, answer->hash) < 0) {
        reply_empty(call, 404);
    } else if (!answer_negotiate(answer, call->req->accept)) {
        reply_empty(call, 406);
    } else if (answer->is_named && !cor_str_eqz(named, answer->hash)) {
        snprintf(location, sizeof(location), "/openapi/v3/%.*s?hash=%s", COR_STR_ARG(path),
                 answer->hash);
        headers[0].value = cor_strz(location);
        cor_call_reply_bytes(call, 301, answer_type(answer), headers, COR_ARRAY_LEN(headers),
                             COR_STR(""));
    } else {
        reply_document(answer, path);
    }
}

static void reply_index(struct cor_call *call, const struct cor_served *served)
{
    int r;

    if (!cor_accept_takes_json(call->req->accept)) {
        reply_empty(call, 406);
        return;
    }
    r = cor_openapi_index(served, &call->out);
    if (r < 0)
        reply_failure(call, r);
    else /* upstream names no type, and Go's server takes the bytes for text */
        cor_call_reply_bytes(call, 200, "text/plain; charset=utf-8", NULL, 0,
                             cor_buf_str(&call->out));
}

static void reply_v2(struct cor_openapi_answer *answer)
{
    int r = cor_openapi_hash(answer->served, COR_STR(""), answer->hash);

    assert(r == 0);
    (void)r;
    answer->version = COR_OPENAPI_2;
    answer->is_gzip = answer->call->req->takes_gzip_docs;
    if (!answer_negotiate(answer, answer->call->req->accept))
        reply_empty(answer->call, 406);
    else
        reply_document(answer, COR_STR(""));
}

bool cor_openapi_reply(struct cor_call *call, const struct cor_served *served, struct cor_str path,
                       struct cor_openapi_answer *answer)
{
    static const struct cor_str root = COR_STR("/openapi/v3");

    assert(!answer->call && !call->stage_arg);
    answer->call = call;
    answer->served = served;
    cor_dlist_init(&answer->link);
    cor_dlist_init(&answer->followers);
    call->stage_arg = answer;
    if (cor_str_eq(path, COR_STR("/openapi/v2")))
        reply_v2(answer);
    else if (cor_str_eq(path, root))
        reply_index(call, served);
    else if (cor_str_starts(path, COR_STR("/openapi/v3/")))
        reply_v3(answer, cor_str_from(path, root.n + 1));
    else
        return false;
    return true;
}

void cor_openapi_answer_deinit(struct cor_openapi_answer *answer)
{
    assert(!answer->call ||
           (cor_dlist_empty(&answer->link) && cor_dlist_empty(&answer->followers)));
    answer->doc = cor_kept_doc_unref(answer->doc);
}
