/* clang-format off */
/* Reads OpenAPI documents of other servers.
 *
 *   bytes ──► canonical form (no member twice, one spelling of each text)
 *         ──► written as protobuf into nothing: every member has the type that OpenAPI gives it
 *         ──► an index of the parts (docs/openapi_spec.h); every reference leads to something
 *         ──► per group version: its paths, and the definitions that they need
 *
 * A definition that no path of the whole document needs is kept for every version, as upstream keeps
 * it: only what became unused by the removal of paths goes.
 *
 * Failures: -COR_EINVAL for a document that is refused, -COR_ETOOBIG, -COR_ENOMEM. */
/* clang-format on */
#include "server/aggregation/openapi_parse.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/limits.h"
#include "server/docs/openapi_protobuf.h"
#include "json/text/json.h"
#include "json/text/scan.h"
#include "json/write/writer.h"

/* The document as protobuf is smaller than as JSON, except for the lengths of its messages. */
#define PROTOBUF_BYTES (2 * COR_REMOTE_OPENAPI_BYTES)

/* Which definitions are needed. */
enum { MARK_ANY = 1u, MARK_KEPT = 2u };

static const struct cor_json_limits limits = {.bytes_max = COR_REMOTE_OPENAPI_BYTES,
                                              .depth_max = COR_OPENAPI_DEPTH_MAX};

static int check_types(struct cor_str json, enum cor_openapi_version version)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf message = {0};

    cor_buf_init(&message, PROTOBUF_BYTES);
    return cor_openapi_to_protobuf(json, version, &message);
}

/* Does every reference of the part lead to something? */
static int check_refs(struct cor_openapi_spec *spec, const struct cor_openapi_part *part)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < part->n; i++)
        r = cor_openapi_check_refs(spec, part->v[i].value);
    return r;
}

int cor_openapi_remote_init(struct cor_openapi_remote *remote, struct cor_str json)
{
    struct cor_openapi_spec *spec = &remote->spec;
    int r;

    memset(remote, 0, sizeof(*remote));
    cor_buf_init(&remote->json, COR_REMOTE_OPENAPI_BYTES);
    r = cor_json_canonicalize(json, &limits, &remote->json, NULL, NULL);
    if (r == 0)
        r = check_types(cor_buf_str(&remote->json), COR_OPENAPI_2);
    if (r < 0)
        return r;
    r = cor_openapi_spec_init(spec, cor_buf_str(&remote->json));
    if (r == 0)
        r = check_refs(spec, &spec->definitions);
    if (r == 0)
        r = check_refs(spec, &spec->parameters);
    if (r == 0)
        r = cor_openapi_mark(spec, COR_STR(""), MARK_ANY);
    return r == -COR_ENOTFOUND ? -COR_EINVAL : r;
}

void cor_openapi_remote_deinit(struct cor_openapi_remote *remote)
{
    if (remote->spec.nodes.v)
        cor_openapi_spec_deinit(&remote->spec);
    cor_buf_deinit(&remote->json);
}

static void write_member(struct cor_json_writer *w, const struct cor_openapi_spec *spec,
                         const struct cor_openapi_member *m)
{
    cor_json_raw_key(w, m->name);
    cor_json_raw(w, cor_json_node_bytes(&spec->nodes, m->value));
}

/* A member of the document that is copied as it is. */
static void write_other(struct cor_json_writer *w, struct cor_str json, const char *key)
{
    struct cor_str value;

    if (cor_json_get(json, cor_strz(key), COR_JSON_SORTED, &value) < 0)
        return;
    cor_json_key(w, cor_strz(key));
    cor_json_raw(w, value);
}

static bool is_kept(const struct cor_openapi_member *definition)
{
    return definition->marks & MARK_KEPT || !(definition->marks & MARK_ANY);
}

int cor_openapi_remote_write(struct cor_openapi_remote *remote, struct cor_str group,
                             struct cor_str version, struct cor_buf *out)
{
    struct cor_openapi_spec *spec = &remote->spec;
    struct cor_str json = cor_buf_str(&remote->json);
    struct cor_json_writer w;
    char prefix[384];
    int r, n = snprintf(prefix, sizeof(prefix), "/apis/%.*s/%.*s/", COR_STR_ARG(group),
                        COR_STR_ARG(version));

    assert(out && n > 0 && (size_t)n < sizeof(prefix));
    (void)n;
    for (size_t i = 0; i < spec->definitions.n; i++)
        spec->definitions.v[i].marks &= ~(unsigned)MARK_KEPT;
    for (size_t i = 0; i < spec->parameters.n; i++)
        spec->parameters.v[i].marks &= ~(unsigned)MARK_KEPT;
    r = cor_openapi_mark(spec, cor_strz(prefix), MARK_KEPT);
    if (r < 0)
        return r;
    cor_json_writer_init(&w, out);
    cor_json_begin_object(&w);
    cor_json_key(&w, COR_STR("definitions"));
    cor_json_begin_object(&w);
    for (size_t i = 0; i < spec->definitions.n; i++) {
        if (is_kept(&spec->definitions.v[i]))
            write_member(&w, spec, &spec->definitions.v[i]);
    }
    cor_json_end_object(&w);
    write_other(&w, json, "info");
    cor_json_key(&w, COR_STR("parameters"));
    cor_json_begin_object(&w);
    for (size_t i = 0; i < spec->parameters.n; i++)
        write_member(&w, spec, &spec->parameters.v[i]);
    cor_json_end_object(&w);
    cor_json_key(&w, COR_STR("paths"));
    cor_json_begin_object(&w);
    for (size_t i = 0; i < spec->paths.n; i++) {
        if (cor_str_starts(spec->paths.v[i].name, cor_strz(prefix)))
            write_member(&w, spec, &spec->paths.v[i]);
    }
    cor_json_end_object(&w);
    write_other(&w, json, "securityDefinitions");
    cor_json_member(&w, COR_STR("swagger"), COR_STR("2.0"));
    cor_json_end_object(&w);
    return cor_json_writer_finish(&w);
}

int cor_openapi_take_3(struct cor_str json, struct cor_buf *out)
{
    size_t start = out->n;
    int r = cor_json_canonicalize(json, &limits, out, NULL, NULL);

    if (r < 0)
        return r;
    r = check_types(cor_str_from(cor_buf_str(out), start), COR_OPENAPI_3);
    if (r < 0)
        cor_buf_truncate(out, start);
    return r;
}

int cor_openapi_index_find(struct cor_str json, struct cor_str path,
                           char ret_hash[COR_REMOTE_INDEX_HASH_MAX])
{
    static const struct cor_json_limits index_limits = {.bytes_max = COR_REMOTE_INDEX_BYTES,
                                                        .depth_max = COR_OPENAPI_DEPTH_MAX};
    struct cor_str paths, entry, url, raw;
    bool is_canonical;

    if (cor_json_check(json, &index_limits, &is_canonical, NULL) < 0 ||
        cor_json_get(json, COR_STR("paths"), COR_JSON_ANY_ORDER, &paths) < 0 ||
        cor_json_type(paths) != COR_JSON_OBJECT)
        return -COR_EINVAL;
    if (cor_json_get(paths, path, COR_JSON_ANY_ORDER, &entry) < 0)
        return -COR_ENOTFOUND;
    if (cor_json_get(entry, COR_STR("serverRelativeURL"), COR_JSON_ANY_ORDER, &url) < 0 ||
        cor_json_to_raw(url, &raw) < 0)
        return -COR_EINVAL;
    /* The hash is the last parameter of the URL; of a longer one the end is enough. */
    while (raw.n > 0 && cor_str_starts(raw, COR_STR("/")))
        raw = cor_str_from(raw, 1);
    if (raw.n >= COR_REMOTE_INDEX_HASH_MAX)
        raw = cor_str_from(raw, raw.n - (COR_REMOTE_INDEX_HASH_MAX - 1));
    memcpy(ret_hash, raw.p, raw.n);
    ret_hash[raw.n] = '\0';
    return 0;
}
