/* clang-format off */
/* The operations of resources as OpenAPI has them.
 *
 *   cor_openapi_write_resource        the paths of one resource: collection, object, subresources,
 *     path_write                      and the old watch paths
 *       operation_write               one method of a path
 *         cor_openapi_write_operation_id   listAppsV1NamespacedDeployment
 *         cor_openapi_write_bits      query and path parameters
 *         responses_write             200, 201, 202 as the action has them, and 401
 *     cor_openapi_write_connect       a subresource that connects, such as exec and proxy
 *
 * The table `operations` has one row for each action. A path has a few of them; the parameters that
 * all operations of a path have are written once, at the path, as upstream does. Parameters are
 * bits, so that these are an intersection.
 *
 * Failures are those of the writer, which reports the first one at the end. */
/* clang-format on */
#include "server/docs/openapi_paths.h"

#include <assert.h>
#include <stdio.h>

#include "meta/names/patch_type.h"
#include "server/docs/openapi_int.h"
#include "json/write/print.h"

/* Longer than any path and any name of an operation: a group has at most 253 bytes, and the other
 * names have 63. */
#define TEXT_MAX       1024
#define OPERATIONS_MAX 4 /* of one path */

#define BIT(id) (UINT32_C(1) << COR_OPENAPI_PARAMETER_##id)
#define LISTED                                                                                     \
    (BIT(CONTINUE) | BIT(FIELD_SELECTOR) | BIT(LABEL_SELECTOR) | BIT(LIMIT) | BIT(PRETTY) |        \
     BIT(RESOURCE_VERSION) | BIT(RESOURCE_VERSION_MATCH) | BIT(SEND_INITIAL) | BIT(TIMEOUT))
#define WATCHED (LISTED | BIT(ALLOW_BOOKMARKS) | BIT(WATCH))
#define DELETED                                                                                    \
    (BIT(DRY_RUN) | BIT(GRACE) | BIT(IGNORE_READ_ERROR) | BIT(ORPHAN) | BIT(PRETTY) |              \
     BIT(PROPAGATION))
#define WRITTEN (BIT(DRY_RUN) | BIT(FIELD_MANAGER) | BIT(FIELD_VALIDATION) | BIT(PRETTY))
#define PATCHED                                                                                    \
    (BIT(DRY_RUN) | BIT(PATCH_MANAGER) | BIT(FIELD_VALIDATION) | BIT(FORCE) | BIT(PRETTY))

enum body { BODY_NONE, BODY_OBJECT, BODY_PATCH, BODY_DELETE_OPTIONS };
enum answer { ANSWER_OBJECT, ANSWER_LIST, ANSWER_EVENT, ANSWER_STATUS, ANSWER_DELETED };
enum codes { CODES_OK = 1 << 0, CODES_CREATED = 1 << 1, CODES_ACCEPTED = 1 << 2 };

enum operation {
    OPERATION_LIST,
    OPERATION_CREATE,
    OPERATION_DELETE_COLLECTION,
    OPERATION_GET,
    OPERATION_REPLACE,
    OPERATION_PATCH,
    OPERATION_DELETE,
    OPERATION_WATCH,
    OPERATION_WATCH_LIST,
    OPERATION_COUNT,
};

static const struct operation_row {
    const char *method, *action;
    const char *id, *id_infix, *id_suffix; /* around the names of version and kind */
    enum cor_api_verb verb;                /* that the resource must have */
    uint32_t parameters;
    enum body body;
    enum answer answer;
    unsigned codes;    /* enum codes */
    bool is_stream;    /* the answer may be a watch */
    const char *words; /* with the kind */
} operations[OPERATION_COUNT] = {
    [OPERATION_LIST] = {"get", "list", "list", "", "", COR_API_VERB_LIST, WATCHED, BODY_NONE,
                        ANSWER_LIST, CODES_OK, true, "Lists or watches objects of the kind %.*s."},
    [OPERATION_CREATE] = {"post", "post", "create", "", "", COR_API_VERB_CREATE, WRITTEN,
                          BODY_OBJECT, ANSWER_OBJECT, CODES_OK | CODES_CREATED | CODES_ACCEPTED,
                          false, "Creates a %.*s."},
    [OPERATION_DELETE_COLLECTION] = {"delete", "deletecollection", "delete", "Collection", "",
                                     COR_API_VERB_DELETECOLLECTION,
                                     DELETED | (LISTED & ~BIT(PRETTY)), BODY_DELETE_OPTIONS,
                                     ANSWER_STATUS, CODES_OK, false,
                                     "Deletes all selected objects of the kind %.*s."},
    [OPERATION_GET] = {"get", "get", "read", "", "", COR_API_VERB_GET, BIT(PRETTY), BODY_NONE,
                       ANSWER_OBJECT, CODES_OK, false, "Reads a %.*s."},
    [OPERATION_REPLACE] = {"put", "put", "replace", "", "", COR_API_VERB_UPDATE, WRITTEN,
                           BODY_OBJECT, ANSWER_OBJECT, CODES_OK | CODES_CREATED, false,
                           "Replaces a %.*s."},
    [OPERATION_PATCH] = {"patch", "patch", "patch", "", "", COR_API_VERB_PATCH, PATCHED, BODY_PATCH,
                         ANSWER_OBJECT, CODES_OK | CODES_CREATED, false,
                         "Changes a part of a %.*s."},
    [OPERATION_DELETE] = {"delete", "delete", "delete", "", "", COR_API_VERB_DELETE, DELETED,
                          BODY_DELETE_OPTIONS, ANSWER_DELETED, CODES_OK | CODES_ACCEPTED, false,
                          "Deletes a %.*s."},
    [OPERATION_WATCH] = {"get", "watch", "watch", "", "", COR_API_VERB_WATCH, WATCHED, BODY_NONE,
                         ANSWER_EVENT, CODES_OK, true,
                         "Watches one %.*s. Deprecated: list with watch and a fieldSelector."},
    [OPERATION_WATCH_LIST] = {"get", "watchlist", "watch", "", "List", COR_API_VERB_WATCH, WATCHED,
                              BODY_NONE, ANSWER_EVENT, CODES_OK, true,
                              "Watches objects of the kind %.*s. Deprecated: list with watch."},
};

/* The same of a custom resource, whose operations upstream describes in other code: what differs,
 * and no operation that is not here. The old watch paths are not described. */
static const struct operation_row custom_operations[OPERATION_COUNT] = {
    [OPERATION_LIST] = {"get", "list", "list", "", "", COR_API_VERB_LIST, WATCHED, BODY_NONE,
                        ANSWER_LIST, CODES_OK, false, "Lists or watches objects of the kind %.*s."},
    [OPERATION_CREATE] = {"post", "post", "create", "", "", COR_API_VERB_CREATE, WRITTEN,
                          BODY_OBJECT, ANSWER_OBJECT, CODES_OK | CODES_CREATED | CODES_ACCEPTED,
                          false, "Creates a %.*s."},
    [OPERATION_DELETE_COLLECTION] = {"delete", "deletecollection", "delete", "Collection", "",
                                     COR_API_VERB_DELETECOLLECTION, WATCHED, BODY_NONE,
                                     ANSWER_STATUS, CODES_OK, false,
                                     "Deletes all selected objects of the kind %.*s."},
    [OPERATION_GET] = {"get", "get", "read", "", "", COR_API_VERB_GET,
                       BIT(PRETTY) | BIT(RESOURCE_VERSION), BODY_NONE, ANSWER_OBJECT, CODES_OK,
                       false, "Reads a %.*s."},
    [OPERATION_REPLACE] = {"put", "put", "replace", "", "", COR_API_VERB_UPDATE, WRITTEN,
                           BODY_OBJECT, ANSWER_OBJECT, CODES_OK | CODES_CREATED, false,
                           "Replaces a %.*s."},
    [OPERATION_PATCH] = {"patch", "patch", "patch", "", "", COR_API_VERB_PATCH, PATCHED, BODY_PATCH,
                         ANSWER_OBJECT, CODES_OK, false, "Changes a part of a %.*s."},
    [OPERATION_DELETE] = {"delete", "delete", "delete", "", "", COR_API_VERB_DELETE, DELETED,
                          BODY_DELETE_OPTIONS, ANSWER_STATUS, CODES_OK | CODES_ACCEPTED, false,
                          "Deletes a %.*s."},
};

/* Where a path stands. */
struct place {
    const struct cor_resource_row *row;
    const struct cor_api_subresource *sub; /* NULL: none */
    bool in_namespace;                     /* the path has a namespace */
    bool for_all;                          /* it is about the objects of all namespaces */
    uint32_t path_parameters;
};

/* The first letter of each word of a group as a capital, without ".k8s.io": "RbacAuthorization",
 * "Core". With `first_is_small`: "rbacAuthorization". */
static size_t group_name(struct cor_str group, bool first_is_small, char *out, size_t max)
{
    struct cor_str rest = group;
    size_t n = 0;

    if (group.n == 0)
        rest = COR_STR("core");
    else if (cor_str_ends(rest, COR_STR(".k8s.io")))
        rest.n -= 7;
    for (bool is_start = true; rest.n > 0 && n + 1 < max; rest = cor_str_from(rest, 1)) {
        char c = rest.p[0];

        if (c == '.' || c == '-') {
            is_start = true;
            continue;
        }
        if (is_start && c >= 'a' && c <= 'z' && !(first_is_small && n == 0))
            c = (char)(c - 'a' + 'A');
        is_start = false;
        out[n++] = c;
    }
    out[n] = '\0';
    return n;
}

static void capital(char *text)
{
    if (text[0] >= 'a' && text[0] <= 'z')
        text[0] = (char)(text[0] - 'a' + 'A');
}

void cor_openapi_write_operation_id(struct cor_openapi_doc *doc, const struct cor_openapi_id *id)
{
    const struct cor_resource_row *row = id->row;
    char group[TEXT_MAX / 4], version[TEXT_MAX / 8], sub[TEXT_MAX / 8], text[TEXT_MAX];

    (void)group_name(row->group, false, group, sizeof(group));
    snprintf(version, sizeof(version), "%.*s", COR_STR_ARG(row->version));
    snprintf(sub, sizeof(sub), "%s", id->sub ? id->sub->name : "");
    capital(version);
    capital(sub);
    snprintf(text, sizeof(text), "%s%s%s%s%s%.*s%s%s%s", id->verb, group, version, id->infix,
             id->in_namespace ? "Namespaced" : "", COR_STR_ARG(row->kind), sub, id->suffix,
             id->for_all ? "ForAllNamespaces" : "");
    cor_json_member(&doc->w, COR_STR("operationId"), cor_strz(text));
}

void cor_openapi_write_tag(struct cor_openapi_doc *doc, struct cor_str group,
                           struct cor_str version)
{
    char tag[TEXT_MAX / 2];
    size_t n = group_name(group, true, tag, sizeof(tag));

    if (version.n > 0)
        snprintf(tag + n, sizeof(tag) - n, "_%.*s", COR_STR_ARG(version));
    cor_json_print(&doc->w, "tags:[%s]", tag);
}

static const struct cor_type *meta_type(const char *name)
{
    const struct cor_type *type = cor_type_named(cor_strz(name));

    assert(type);
    return type;
}

/* What bodies and answers of a path are. */
static void object_schema_write(struct cor_openapi_doc *doc, const struct place *place)
{
    const struct cor_resource_row *row =
        place->sub && place->sub->type ? place->sub->type : place->row;

    cor_openapi_write_schema_of(doc, cor_row_schema(row), row, row->kind);
}

static void answer_schema_write(struct cor_openapi_doc *doc, const struct place *place,
                                enum answer answer)
{
    const struct cor_resource_row *row = place->row;

    switch (answer) {
    case ANSWER_OBJECT:
        object_schema_write(doc, place);
        return;
    case ANSWER_LIST:
        cor_openapi_write_schema_of(doc, cor_type_of_kind(row->group, row->version, row->list_kind),
                                    row, row->list_kind);
        return;
    case ANSWER_EVENT:
        cor_openapi_write_schema_of(doc, meta_type("meta_v1.WatchEvent"), NULL, COR_STR(""));
        return;
    case ANSWER_DELETED:
        /* Upstream's documents promise a Status for a namespace, whatever the server answers. */
        if (row->flags & COR_API_RETURN_DELETED && row->role != COR_ROLE_NAMESPACES) {
            object_schema_write(doc, place);
            return;
        }
        /* fall through */
    case ANSWER_STATUS:
        cor_openapi_write_schema_of(doc, meta_type("meta_v1.Status"), NULL, COR_STR(""));
        return;
    }
}

static void body_schema_write(struct cor_openapi_doc *doc, const struct place *place,
                              enum body body)
{
    if (body == BODY_PATCH)
        cor_openapi_write_patch_schema(doc);
    else if (body == BODY_DELETE_OPTIONS)
        cor_openapi_write_schema_of(doc, meta_type("meta_v1.DeleteOptions"), NULL, COR_STR(""));
    else
        object_schema_write(doc, place);
}

/* The forms of bodies and answers. A resource that is defined at run time has no protobuf and no
 * strategic merge patch. */
static const char *const forms[] = {
    "application/json", "application/yaml", "application/vnd.kubernetes.protobuf",
    "application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch"};

static bool has_form(const struct cor_resource_row *row, bool is_stream, size_t i)
{
    bool is_protobuf = i == 2 || i == 4;

    return (is_stream || i < 3) && !(is_protobuf && row && row->life);
}

static bool has_patch_type(const struct cor_resource_row *row, enum cor_patch_type type)
{
    return type != COR_PATCH_STRATEGIC || !row->life;
}

/* The i-th form of a body; empty: there are no more. Built-in kinds take any. */
static struct cor_str body_form(const struct cor_resource_row *row, size_t i)
{
    if (!row->life)
        return i == 0 ? COR_STR("*/*") : COR_STR("");
    return i < 2 ? cor_strz(forms[i]) : COR_STR("");
}

static void body_write_3(struct cor_openapi_doc *doc, const struct place *place, enum body body)
{
    struct cor_json_writer *w = &doc->w;

    cor_json_print(w, "requestBody:{content:{");
    for (size_t i = 0; i < COR_PATCH_TYPES; i++) {
        struct cor_str form = body == BODY_PATCH ? cor_patch_media_type((enum cor_patch_type)i)
                                                 : body_form(place->row, i);

        if (form.n == 0 ||
            (body == BODY_PATCH && !has_patch_type(place->row, (enum cor_patch_type)i)))
            continue;
        cor_json_key(w, form);
        cor_json_begin_object(w);
        body_schema_write(doc, place, body);
        cor_json_end_object(w);
    }
    cor_json_end_object(w);
    if (body != BODY_DELETE_OPTIONS) {
        cor_json_key(w, COR_STR("required"));
        cor_json_bool(w, true);
    }
    cor_json_end_object(w);
}

static void body_write_2(struct cor_openapi_doc *doc, const struct place *place, enum body body)
{
    struct cor_json_writer *w = &doc->w;

    cor_json_print(w, "{name:'body',in:'body'");
    if (body != BODY_DELETE_OPTIONS) {
        cor_json_key(w, COR_STR("required"));
        cor_json_bool(w, true);
    }
    body_schema_write(doc, place, body);
    cor_json_end_object(w);
}

void cor_openapi_begin_response(struct cor_openapi_doc *doc, const char *code, const char *words)
{
    cor_json_key(&doc->w, cor_strz(code));
    cor_json_begin_object(&doc->w);
    cor_json_member(&doc->w, COR_STR("description"), cor_strz(words));
}

void cor_openapi_write_unauthorized(struct cor_openapi_doc *doc)
{
    cor_openapi_begin_response(doc, "401", "Unauthorized");
    cor_json_end_object(&doc->w);
}

static void responses_write(struct cor_openapi_doc *doc, const struct place *place,
                            const struct operation_row *op)
{
    static const struct {
        const char *code, *words;
    } codes[] = {{"200", "OK"}, {"201", "Created"}, {"202", "Accepted"}};
    struct cor_json_writer *w = &doc->w;

    cor_json_key(w, COR_STR("responses"));
    cor_json_begin_object(w);
    for (size_t c = 0; c < COR_ARRAY_LEN(codes); c++) {
        if (!(op->codes >> c & 1))
            continue;
        cor_openapi_begin_response(doc, codes[c].code, codes[c].words);
        if (doc->version == COR_OPENAPI_2) {
            answer_schema_write(doc, place, op->answer);
        } else {
            cor_json_key(w, COR_STR("content"));
            cor_json_begin_object(w);
            for (size_t i = 0; i < COR_ARRAY_LEN(forms); i++) {
                if (!has_form(place->row, op->is_stream, i))
                    continue;
                cor_json_key(w, cor_strz(forms[i]));
                cor_json_begin_object(w);
                answer_schema_write(doc, place, op->answer);
                cor_json_end_object(w);
            }
            cor_json_end_object(w);
        }
        cor_json_end_object(w);
    }
    cor_openapi_write_unauthorized(doc);
    cor_json_end_object(w);
}

/* Version 2: what the operation reads and writes, by which scheme. `row` is NULL for discovery. */
static void media_write_2(struct cor_openapi_doc *doc, const struct cor_resource_row *row,
                          const struct operation_row *op, size_t nforms)
{
    struct cor_json_writer *w = &doc->w;

    cor_json_key(w, COR_STR("consumes"));
    cor_json_begin_array(w);
    if (op && op->body == BODY_PATCH) {
        for (size_t i = 0; i < COR_PATCH_TYPES; i++) {
            if (has_patch_type(row, (enum cor_patch_type)i))
                cor_json_string(w, cor_patch_media_type((enum cor_patch_type)i));
        }
    }
    for (size_t i = 0; op && op->body != BODY_PATCH && body_form(row, i).n > 0; i++)
        cor_json_string(w, body_form(row, i));
    for (size_t i = 0; !op && i < nforms; i++)
        cor_json_string(w, cor_strz(forms[i]));
    cor_json_print(w, "],produces:[");
    for (size_t i = 0; i < nforms; i++) {
        if (has_form(row, op && op->is_stream, i))
            cor_json_string(w, cor_strz(forms[i]));
    }
    cor_json_print(w, "],schemes:['https']");
}

static void operation_write(struct cor_openapi_doc *doc, const struct place *place,
                            const struct operation_row *op, uint32_t own_parameters)
{
    const struct cor_resource_row *row = place->row, *type = row;
    struct cor_json_writer *w = &doc->w;
    char words[TEXT_MAX];

    /* The operations on the scale of a custom resource have the kind of the resource. */
    if (place->sub && place->sub->type && !row->life)
        type = place->sub->type;
    cor_json_key(w, cor_strz(op->method));
    cor_json_begin_object(w);
    snprintf(words, sizeof(words), op->words, COR_STR_ARG(type->kind));
    cor_json_member(w, COR_STR("description"), cor_strz(words));
    if (doc->version == COR_OPENAPI_2)
        media_write_2(doc, row, op, COR_ARRAY_LEN(forms));
    cor_openapi_write_tag(doc, row->group, row->version);
    cor_openapi_write_operation_id(
        doc, &(struct cor_openapi_id){row, place->sub, op->id, op->id_infix, op->id_suffix,
                                      place->in_namespace, place->for_all});
    if (own_parameters || (doc->version == COR_OPENAPI_2 && op->body != BODY_NONE)) {
        cor_json_key(w, COR_STR("parameters"));
        cor_json_begin_array(w);
        if (doc->version == COR_OPENAPI_2 && op->body != BODY_NONE)
            body_write_2(doc, place, op->body);
        cor_openapi_write_bits(doc, own_parameters);
        cor_json_end_array(w);
    }
    if (doc->version == COR_OPENAPI_3 && op->body != BODY_NONE)
        body_write_3(doc, place, op->body);
    responses_write(doc, place, op);
    cor_json_member(w, COR_STR("x-kubernetes-action"), cor_strz(op->action));
    cor_json_key(w, COR_STR("x-kubernetes-group-version-kind"));
    cor_openapi_write_kind(w, type->group, type->kind, type->version);
    cor_json_end_object(w);
}

/* Writes a path with those of the given operations that the resource has; without any, nothing. */
static void path_write(struct cor_openapi_doc *doc, const struct place *place, const char *path,
                       const enum operation *ids, size_t nids)
{
    unsigned verbs = place->sub ? place->sub->verbs : place->row->verbs;
    const struct operation_row *ops[OPERATIONS_MAX];
    uint32_t common = UINT32_MAX;
    size_t n = 0;

    for (size_t i = 0; i < nids; i++) {
        const struct operation_row *op =
            place->row->life ? &custom_operations[ids[i]] : &operations[ids[i]];

        if (!op->method || !(verbs >> op->verb & 1))
            continue;
        common &= op->parameters;
        ops[n++] = op;
    }
    if (n == 0)
        return;
    cor_json_key(&doc->w, cor_strz(path));
    cor_json_begin_object(&doc->w);
    for (size_t i = 0; i < n; i++)
        operation_write(doc, place, ops[i], ops[i]->parameters & ~common);
    cor_json_key(&doc->w, COR_STR("parameters"));
    cor_json_begin_array(&doc->w);
    cor_openapi_write_bits(doc, common | place->path_parameters);
    cor_json_end_array(&doc->w);
    cor_json_end_object(&doc->w);
}

#define PATH_WRITE(doc, place, path, ...)                                                          \
    path_write((doc), (place), (path), (const enum operation[]){__VA_ARGS__},                      \
               COR_ARRAY_LEN(((const enum operation[]){__VA_ARGS__})))

static struct cor_str version_prefix(const struct cor_resource_row *row, char *out, size_t max)
{
    int n = snprintf(out, max, "/%s/%.*s", row->group.n > 0 ? "apis" : "api",
                     COR_STR_ARG(row->api_version));

    return cor_str(out, n > 0 ? (size_t)n : 0);
}

void cor_openapi_write_resource(struct cor_openapi_doc *doc, const struct cor_resource_row *row)
{
    bool in_namespace = cor_api_is_namespaced(row);
    const char *scope = in_namespace ? "/namespaces/{namespace}" : "";
    uint32_t in = in_namespace ? BIT(NAMESPACE) : 0;
    struct place all = {.row = row, .for_all = true};
    struct place many = {.row = row, .in_namespace = in_namespace, .path_parameters = in};
    struct place one = {
        .row = row, .in_namespace = in_namespace, .path_parameters = in | BIT(NAME)};
    char prefix[TEXT_MAX / 2], path[TEXT_MAX];

    (void)version_prefix(row, prefix, sizeof(prefix));
    if (in_namespace) {
        snprintf(path, sizeof(path), "%s/%.*s", prefix, COR_STR_ARG(row->plural));
        PATH_WRITE(doc, &all, path, OPERATION_LIST);
        snprintf(path, sizeof(path), "%s/watch/%.*s", prefix, COR_STR_ARG(row->plural));
        PATH_WRITE(doc, &all, path, OPERATION_WATCH_LIST);
    }
    snprintf(path, sizeof(path), "%s%s/%.*s", prefix, scope, COR_STR_ARG(row->plural));
    PATH_WRITE(doc, &many, path, OPERATION_LIST, OPERATION_CREATE, OPERATION_DELETE_COLLECTION);
    snprintf(path, sizeof(path), "%s%s/%.*s/{name}", prefix, scope, COR_STR_ARG(row->plural));
    PATH_WRITE(doc, &one, path, OPERATION_GET, OPERATION_REPLACE, OPERATION_DELETE,
               OPERATION_PATCH);
    snprintf(path, sizeof(path), "%s/watch%s/%.*s", prefix, scope, COR_STR_ARG(row->plural));
    PATH_WRITE(doc, &many, path, OPERATION_WATCH_LIST);
    snprintf(path, sizeof(path), "%s/watch%s/%.*s/{name}", prefix, scope, COR_STR_ARG(row->plural));
    PATH_WRITE(doc, &one, path, OPERATION_WATCH);
    for (size_t i = 0; i < row->nsubresources; i++) {
        one.sub = &row->subresources[i];
        if (!one.sub->is_served)
            continue;
        snprintf(path, sizeof(path), "%s%s/%.*s/{name}/%s", prefix, scope, COR_STR_ARG(row->plural),
                 one.sub->name);
        if (one.sub->connect != COR_CONNECT_NONE)
            cor_openapi_write_connect(doc, row, one.sub, path);
        else
            PATH_WRITE(doc, &one, path, OPERATION_GET, OPERATION_REPLACE, OPERATION_PATCH,
                       OPERATION_CREATE);
    }
}

/* A path with one GET that answers with a kind of discovery; NULL: with the form of /version. */
static void get_write(struct cor_openapi_doc *doc, const char *path, const char *id,
                      struct cor_str group, struct cor_str version, const char *tag,
                      const char *words, const char *type)
{
    struct cor_json_writer *w = &doc->w;
    size_t nforms = type ? 3 : 1;

    cor_json_key(w, cor_strz(path));
    cor_json_print(w, "{get:{description:%s", words);
    if (doc->version == COR_OPENAPI_2)
        media_write_2(doc, NULL, NULL, nforms);
    if (tag) {
        cor_json_print(w, "tags:[%s]", tag);
    } else {
        cor_openapi_write_tag(doc, group, version);
    }
    cor_json_print(w, "operationId:%s,responses:{", id);
    cor_openapi_begin_response(doc, "200", "OK");
    if (doc->version == COR_OPENAPI_3) {
        cor_json_key(w, COR_STR("content"));
        cor_json_begin_object(w);
    }
    for (size_t i = 0; i < (doc->version == COR_OPENAPI_3 ? nforms : 1); i++) {
        if (doc->version == COR_OPENAPI_3) {
            cor_json_key(w, cor_strz(forms[i]));
            cor_json_begin_object(w);
        }
        if (type) {
            cor_openapi_write_schema_of(doc, meta_type(type), NULL, COR_STR(""));
        } else {
            cor_openapi_write_info_schema(doc);
        }
        if (doc->version == COR_OPENAPI_3)
            cor_json_end_object(w);
    }
    if (doc->version == COR_OPENAPI_3)
        cor_json_end_object(w);
    cor_json_end_object(w);
    cor_openapi_write_unauthorized(doc);
    cor_json_print(w, "}}}");
}

void cor_openapi_write_resource_list(struct cor_openapi_doc *doc,
                                     const struct cor_resource_row *row)
{
    char group[TEXT_MAX / 4], version[TEXT_MAX / 8], id[TEXT_MAX], path[TEXT_MAX / 2];
    struct cor_str prefix = version_prefix(row, path, sizeof(path));

    snprintf(path + prefix.n, sizeof(path) - prefix.n, "/");
    (void)group_name(row->group, false, group, sizeof(group));
    snprintf(version, sizeof(version), "%.*s", COR_STR_ARG(row->version));
    capital(version);
    snprintf(id, sizeof(id), "get%s%sAPIResources", group, version);
    get_write(doc, path, id, row->group, row->version, NULL, "Lists the resources of this version.",
              "meta_v1.APIResourceList");
}

void cor_openapi_write_root(struct cor_openapi_doc *doc, enum cor_openapi_root root,
                            struct cor_str group)
{
    char name[TEXT_MAX / 4], id[TEXT_MAX], path[TEXT_MAX];

    switch (root) {
    case COR_OPENAPI_ROOT_API:
        get_write(doc, "/api/", "getCoreAPIVersions", COR_STR(""), COR_STR(""), "core",
                  "Lists the versions of the core group.", "meta_v1.APIVersions");
        return;
    case COR_OPENAPI_ROOT_APIS:
        get_write(doc, "/apis/", "getAPIVersions", COR_STR(""), COR_STR(""), "apis",
                  "Lists the groups and their versions.", "meta_v1.APIGroupList");
        return;
    case COR_OPENAPI_ROOT_VERSION:
        get_write(doc, "/version/", "getCodeVersion", COR_STR(""), COR_STR(""), "version",
                  "Reads the version of the server.", NULL);
        return;
    case COR_OPENAPI_ROOT_GROUP:
        (void)group_name(group, false, name, sizeof(name));
        snprintf(id, sizeof(id), "get%sAPIGroup", name);
        snprintf(path, sizeof(path), "/apis/%.*s/", COR_STR_ARG(group));
        get_write(doc, path, id, group, COR_STR(""), NULL, "Lists the versions of this group.",
                  "meta_v1.APIGroup");
        return;
    }
}
