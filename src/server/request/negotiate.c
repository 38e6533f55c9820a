/* Content negotiation: the Accept header is read into clauses, ordered by quality, and the first
 * clause that the answer can meet decides: JSON, YAML or protobuf; object, Table or
 * PartialObjectMetadata; indented or not. When no clause can be met, the answer is 406 in
 * upstream's words, written as JSON. Thread: any (values). */
#include "server/request/negotiate.h"

#include <assert.h>

#include <stdlib.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/limits.h"
#include "schema/kinds/decode.h"
#include "server/docs/openapi_docs.h"

#define ACCEPTED_LIST "only the following media types are accepted: "
#define PROTOBUF      "application/vnd.kubernetes.protobuf"
#define OBJECT_TYPES  "application/json, application/yaml, " PROTOBUF
#define WATCH_TYPES   "application/json;stream=watch, " PROTOBUF ";stream=watch"

struct clause {
    struct cor_str type;
    struct cor_str as, group, version;
    struct cor_str stream;
    unsigned q; /* in thousandths */
    bool is_pretty;
};

bool cor_media_type_is(struct cor_str type, const char *name)
{
    return type.n == strlen(name) && strncasecmp(type.p, name, type.n) == 0;
}

struct cor_str cor_media_type(struct cor_str value)
{
    return cor_str_trim(cor_str_cut(&value, ';'));
}

static unsigned read_quality(struct cor_str text)
{
    unsigned q = 0, unit = 1000;

    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '.')
            continue;
        if (text.p[i] < '0' || text.p[i] > '9' || unit == 0)
            break;
        q += (unsigned)(text.p[i] - '0') * unit;
        unit /= 10;
    }
    return q > 1000 ? 1000 : q;
}

static struct clause read_clause(struct cor_str text)
{
    struct clause clause = {.type = cor_str_trim(cor_str_cut(&text, ';')), .q = 1000};

    while (text.n > 0) {
        struct cor_str value = cor_str_cut(&text, ';');
        struct cor_str name = cor_str_trim(cor_str_cut(&value, '='));

        value = cor_str_trim(value);
        if (cor_media_type_is(name, "q"))
            clause.q = read_quality(value);
        else if (cor_media_type_is(name, "as"))
            clause.as = value;
        else if (cor_media_type_is(name, "g"))
            clause.group = value;
        else if (cor_media_type_is(name, "v"))
            clause.version = value;
        else if (cor_media_type_is(name, "stream"))
            clause.stream = value;
        else if (cor_media_type_is(name, "pretty"))
            clause.is_pretty = cor_str_eq(value, COR_STR("1"));
    }
    return clause;
}

/* Orders the clauses by quality; equal ones keep their order. As upstream, quality 0 is the last
 * choice, and not a refusal. */
static size_t read_clauses(struct cor_str accept, struct clause *v)
{
    size_t n = 0;

    while (accept.n > 0 && n < COR_ACCEPT_CLAUSES_MAX) {
        struct clause clause = read_clause(cor_str_cut(&accept, ','));
        size_t at = n;

        if (clause.type.n == 0)
            continue;
        while (at > 0 && v[at - 1].q < clause.q) {
            v[at] = v[at - 1];
            at--;
        }
        v[at] = clause;
        n++;
    }
    return n;
}

static bool is_json(const struct clause *clause)
{
    return cor_media_type_is(clause->type, "application/json") ||
           cor_media_type_is(clause->type, "application/*") ||
           cor_media_type_is(clause->type, "*/*");
}

static bool is_yaml(const struct clause *clause)
{
    return cor_media_type_is(clause->type, "application/yaml");
}

static bool is_protobuf(const struct clause *clause)
{
    return cor_media_type_is(clause->type, PROTOBUF);
}

/* Is it a form of objects at all? A Table has no message in protobuf, and neither have custom
 * resources and documents that do not belong to discovery. Upstream refuses a scale, too. */
static bool is_known_form(const struct clause *clause, enum cor_answer answer,
                          const struct cor_resource_row *resource)
{
    if (clause->stream.n > 0 && !cor_str_eq(clause->stream, COR_STR("watch")))
        return false;
    if (is_protobuf(clause) && resource && resource->custom && clause->as.n == 0)
        return false;
    if (is_protobuf(clause))
        return (resource || answer == COR_ANSWER_DISCOVERY) &&
               !cor_str_eq(clause->as, COR_STR("Table"));
    return is_json(clause) || is_yaml(clause);
}

/* Objects that are answered and never stored (reviews, bindings) have no tables. */
static bool has_tables(const struct cor_resource_row *resource)
{
    return resource &&
           (resource->action == COR_ACTION_NONE || resource->action == COR_ACTION_COMPONENT_STATUS);
}

/* Can the clause be met? Then `accept` has its view. */
static bool read_view(const struct clause *clause, const struct cor_resource_row *resource,
                      struct cor_accept *accept)
{
    bool v1 = cor_str_eq(clause->version, COR_STR("v1"));
    bool v1beta1 = cor_str_eq(clause->version, COR_STR("v1beta1"));

    *accept = (struct cor_accept){.is_pretty = clause->is_pretty,
                                  .is_yaml = is_yaml(clause),
                                  .is_protobuf = is_protobuf(clause)};
    if (clause->as.n == 0)
        return true;
    if (!cor_str_eq(clause->group, COR_STR("meta.k8s.io")) || (!v1 && !v1beta1))
        return false;
    accept->is_v1beta1 = v1beta1;
    if (cor_str_eq(clause->as, COR_STR("Table")) && has_tables(resource))
        accept->view = COR_VIEW_TABLE;
    else if (cor_str_eq(clause->as, COR_STR("PartialObjectMetadata")) ||
             cor_str_eq(clause->as, COR_STR("PartialObjectMetadataList")))
        accept->view = COR_VIEW_PARTIAL;
    else
        return false;
    return true;
}

static int check_partial(const struct clause *clause, enum cor_answer answer,
                         const struct cor_resource_row *resource, struct cor_status *reterr_status)
{
    bool is_list = cor_str_eq(clause->as, COR_STR("PartialObjectMetadataList"));
    struct cor_str package;

    assert(resource);
    package = cor_decode_package(resource);
    if (!is_list && (answer == COR_ANSWER_LIST || answer == COR_ANSWER_DELETED_LIST))
        return cor_status_set(reterr_status, -COR_ENOTACCEPTABLE,
                              "you requested PartialObjectMetadata, but the requested object is a "
                              "list (*%.*s.%.*s)",
                              COR_STR_ARG(package), COR_STR_ARG(resource->list_kind));
    if (is_list && answer == COR_ANSWER_OBJECT)
        return cor_status_set(reterr_status, -COR_ENOTACCEPTABLE,
                              "you requested PartialObjectMetadataList, but the requested object "
                              "is not a list (*%.*s.%.*s)",
                              COR_STR_ARG(package), COR_STR_ARG(resource->kind));
    return 0;
}

/* No media type of the request is known at all: the words of upstream's router. */
static int refuse_accept(bool is_collection, struct cor_status *reterr_status)
{
    int r = cor_status_set(reterr_status, -COR_ENOTACCEPTABLE,
                           "406: Not Acceptable\n\nAvailable representations: " OBJECT_TYPES "%s",
                           is_collection ? ", " WATCH_TYPES : "");

    if (reterr_status)
        reterr_status->has_details = true;
    return r;
}

int cor_negotiate(struct cor_str accept, enum cor_answer answer,
                  const struct cor_resource_row *resource, struct cor_accept *ret_accept,
                  struct cor_status *reterr_status)
{
    struct clause clauses[COR_ACCEPT_CLAUSES_MAX];
    size_t n = read_clauses(accept, clauses), known = 0, met = 0;

    *ret_accept = (struct cor_accept){0};
    if (n == 0)
        return 0;
    for (size_t i = 0; i < n; i++) {
        known += is_json(&clauses[i]) || is_yaml(&clauses[i]) || is_protobuf(&clauses[i]);
        if (!is_known_form(&clauses[i], answer, resource) ||
            !read_view(&clauses[i], resource, ret_accept) ||
            (ret_accept->view != COR_VIEW_OBJECT && !resource))
            continue;
        met++;
        /* YAML has no frames. */
        if (answer == COR_ANSWER_WATCH && ret_accept->is_yaml)
            continue;
        return ret_accept->view == COR_VIEW_PARTIAL
                   ? check_partial(&clauses[i], answer, resource, reterr_status)
                   : 0;
    }
    *ret_accept = (struct cor_accept){0};
    /* Custom resources are behind no router that knows their types. */
    if (known == 0 && !(resource && resource->custom)) {
        ret_accept->is_pretty = true;
        return refuse_accept(answer == COR_ANSWER_LIST || answer == COR_ANSWER_WATCH,
                             reterr_status);
    }
    return cor_status_set(reterr_status, -COR_ENOTACCEPTABLE, ACCEPTED_LIST "%s",
                          met > 0 ? WATCH_TYPES : OBJECT_TYPES);
}

struct cor_accept cor_negotiate_failure(struct cor_str accept)
{
    struct clause clauses[COR_ACCEPT_CLAUSES_MAX];
    size_t n = read_clauses(accept, clauses);

    for (size_t i = 0; i < n; i++) {
        if (clauses[i].as.n == 0 && is_known_form(&clauses[i], COR_ANSWER_DISCOVERY, NULL))
            return (struct cor_accept){.is_pretty = clauses[i].is_pretty,
                                       .is_yaml = is_yaml(&clauses[i]),
                                       .is_protobuf = is_protobuf(&clauses[i])};
    }
    return (struct cor_accept){0};
}

bool cor_accept_takes_json(struct cor_str accept)
{
    struct clause clauses[COR_ACCEPT_CLAUSES_MAX];
    size_t n = read_clauses(accept, clauses), taken = 0;

    for (size_t i = 0; i < n; i++)
        taken += is_json(&clauses[i]);
    return n == 0 || taken > 0;
}

bool cor_accept_wants_aggregated(struct cor_str accept, bool *ret_protobuf)
{
    struct clause clauses[COR_ACCEPT_CLAUSES_MAX];
    size_t n = read_clauses(accept, clauses);

    for (size_t i = 0; i < n; i++) {
        *ret_protobuf = is_protobuf(&clauses[i]);
        if (!is_json(&clauses[i]) && !*ret_protobuf)
            continue;
        if (clauses[i].as.n == 0)
            return false;
        if (cor_str_eq(clauses[i].as, COR_STR("APIGroupDiscoveryList")) &&
            cor_str_eq(clauses[i].group, COR_STR("apidiscovery.k8s.io")) &&
            cor_str_eq(clauses[i].version, COR_STR("v2")))
            return true;
    }
    return false;
}

bool cor_accept_wants_openapi_protobuf(struct cor_str accept, enum cor_openapi_version version)
{
    static const char *const types[][2] = {
        [COR_OPENAPI_2] = {COR_OPENAPI_V2_PROTOBUF, COR_OPENAPI_V2_PROTOBUF_OLD},
        [COR_OPENAPI_3] = {COR_OPENAPI_V3_PROTOBUF, COR_OPENAPI_V3_PROTOBUF_OLD},
    };
    struct clause clauses[COR_ACCEPT_CLAUSES_MAX];
    size_t n = read_clauses(accept, clauses);

    for (size_t i = 0; i < n; i++) {
        if (is_json(&clauses[i]))
            return false;
        if (cor_media_type_is(clauses[i].type, types[version][0]) ||
            cor_media_type_is(clauses[i].type, types[version][1]))
            return true;
    }
    return false;
}

bool cor_wants_pretty(enum cor_tristate pretty, struct cor_str user_agent)
{
    if (pretty != COR_UNSET)
        return pretty == COR_TRUE;
    return cor_str_starts(user_agent, COR_STR("curl")) ||
           cor_str_starts(user_agent, COR_STR("Wget")) ||
           cor_str_starts(user_agent, COR_STR("Mozilla/5.0"));
}
