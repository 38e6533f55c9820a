/* clang-format off */
/* Answers about OpenAPI.
 *
 *   the index     is written per request; it has the hash of each document in the document's URL
 *   a document    406 when the client accepts none of its forms
 *                 301 to the current hash when the URL has another one
 *                 304 when the client has the document
 *                 200 with the kept bytes; for a year in caches when the URL has the hash
 *
 * Unknown documents get an empty 404, as upstream's. Without memory the answer is a Status. */
/* clang-format on */
#include "server/api/openapi_reply.h"

#include <assert.h>
#include <stdio.h>
#include <time.h>

#include "base/err.h"
#include "server/docs/openapi.h"
#include "server/docs/openapi_protobuf.h"

#define JSON_TYPE "application/json"
#define YEAR_S    (INT64_C(365) * 24 * 3600)

/* What makes one document. */
struct source {
    const struct cor_served *served;
    enum cor_openapi_version version;
    struct cor_str path; /* of version 3 */
    bool is_protobuf;
};

static int source_make_json(const struct source *source, struct cor_buf *out)
{
    return source->version == COR_OPENAPI_3 ? cor_openapi_write_3(source->served, source->path, out)
                                            : cor_openapi_write_2(source->served, out);
}

static int source_make(const void *arg, struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {0};
    const struct source *source = arg;
    int r;

    if (!source->is_protobuf)
        return source_make_json(source, out);
    cor_buf_init(&json, COR_OPENAPI_BYTES_MAX);
    r = source_make_json(source, &json);
    return r < 0 ? r : cor_openapi_to_protobuf(cor_buf_str(&json), source->version, out);
}

static const char *source_type(const struct source *source)
{
    if (!source->is_protobuf)
        return JSON_TYPE;
    return source->version == COR_OPENAPI_3 ? COR_OPENAPI_V3_PROTOBUF : COR_OPENAPI_V2_PROTOBUF;
}

/* Takes the form that the client prefers; false: it accepts none. */
static bool source_negotiate(struct source *source, struct cor_str accept)
{
    source->is_protobuf = cor_accept_wants_openapi_protobuf(accept, source->version);
    return source->is_protobuf || cor_accept_takes_json(accept);
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

/* Sends the document, or that the client has it. `is_named`: the URL has its hash. */
static void reply_document(struct cor_call *call, const struct source *source, const char *hash,
                           bool is_named, struct cor_kept_doc **ret_doc)
{
    char key[COR_KEPT_KEY_MAX], etag[COR_OPENAPI_HASH_MAX + 2], expires[64];
    struct cor_http_header headers[5] = {{COR_STR("Etag"), COR_STR("")},
                                         {COR_STR("Vary"), COR_STR("Accept")}};
    size_t nheaders = 2;
    int n, r;

    snprintf(etag, sizeof(etag), "\"%s\"", hash);
    headers[0].value = cor_strz(etag);
    if (source->version == COR_OPENAPI_2) /* it may be compressed (server/http/gzip_answer.h) */
        headers[nheaders++] = (struct cor_http_header){COR_STR("Vary"), COR_STR("Accept-Encoding")};
    if (is_named) {
        format_expires(call, expires, sizeof(expires));
        headers[nheaders++] =
            (struct cor_http_header){COR_STR("Cache-Control"), COR_STR("public, immutable")};
        headers[nheaders++] = (struct cor_http_header){COR_STR("Expires"), cor_strz(expires)};
    }
    if (cor_str_eqz(call->req->if_none_match, etag)) {
        cor_call_reply_bytes(call, 304, NULL, headers, nheaders, COR_STR(""));
        return;
    }
    n = snprintf(key, sizeof(key), "%s %.*s%s", hash, COR_STR_ARG(source->path),
                 source->is_protobuf ? " protobuf" : "");
    assert(n > 0 && (size_t)n < sizeof(key));
    r = cor_kept_docs_get(&call->loop->kept_docs, cor_str(key, (size_t)n), source_make, source,
                          ret_doc);
    if (r < 0)
        reply_failure(call, r);
    else
        cor_call_reply_bytes(call, 200, source_type(source), headers, nheaders,
                             cor_kept_doc_bytes(*ret_doc));
}

static void reply_v3(struct cor_call *call, const struct cor_served *served, struct cor_str path,
                     struct cor_kept_doc **ret_doc)
{
    struct source source = {.served = served, .version = COR_OPENAPI_3, .path = path};
    char hash[COR_OPENAPI_HASH_MAX], location[COR_KEPT_KEY_MAX];
    struct cor_str named = query_hash(call->req->query);
    struct cor_http_header headers[] = {{COR_STR("Location"), COR_STR("")},
                                        {COR_STR("Vary"), COR_STR("Accept")}};

    if (cor_openapi_hash(served, path, hash) < 0) {
        reply_empty(call, 404);
    } else if (!source_negotiate(&source, call->req->accept)) {
        reply_empty(call, 406);
    } else if (named.n > 0 && !cor_str_eqz(named, hash)) {
        snprintf(location, sizeof(location), "/openapi/v3/%.*s?hash=%s", COR_STR_ARG(path), hash);
        headers[0].value = cor_strz(location);
        cor_call_reply_bytes(call, 301, source_type(&source), headers, COR_ARRAY_LEN(headers),
                             COR_STR(""));
    } else {
        reply_document(call, &source, hash, named.n > 0, ret_doc);
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

static void reply_v2(struct cor_call *call, const struct cor_served *served,
                     struct cor_kept_doc **ret_doc)
{
    struct source source = {.served = served, .version = COR_OPENAPI_2};
    char hash[COR_OPENAPI_HASH_MAX];
    int r = cor_openapi_hash(served, source.path, hash);

    assert(r == 0);
    (void)r;
    if (!source_negotiate(&source, call->req->accept))
        reply_empty(call, 406);
    else
        reply_document(call, &source, hash, false, ret_doc);
}

bool cor_openapi_reply(struct cor_call *call, const struct cor_served *served, struct cor_str path,
                       struct cor_kept_doc **ret_doc)
{
    static const struct cor_str root = COR_STR("/openapi/v3");

    *ret_doc = NULL;
    if (cor_str_eq(path, COR_STR("/openapi/v2")))
        reply_v2(call, served, ret_doc);
    else if (cor_str_eq(path, root))
        reply_index(call, served);
    else if (cor_str_starts(path, COR_STR("/openapi/v3/")))
        reply_v3(call, served, cor_str_from(path, root.n + 1), ret_doc);
    else
        return false;
    return true;
}
