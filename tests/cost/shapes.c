/* clang-format off */
/* Requests of a growing size through the API over an engine in memory, for tests/cost/shapes.py,
 * which counts the instructions of each under valgrind.
 *
 *   shapes_cost N...              every shape with N elements, one after the other
 *   shapes_cost --only NAME N...  the shape with this name
 *
 * Each request runs inside of drive_request(), so that valgrind can tell it from what prepares it.
 * One line is printed for each request, in the order in which they ran: its shape, its number of
 * elements, the bytes of request and answer, and the answer's status. */
/* clang-format on */
#include <stdio.h>
#include <stdlib.h>

#include "api_fixture.h"
#include "base/mem.h"

#define TEXT_MAX (64u << 20)
#define MAPS     "/api/v1/namespaces/default/configmaps"
#define PODS     "/api/v1/namespaces/default/pods"
#define ROLES    "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles"
#define EVENTS   "/apis/events.k8s.io/v1/namespaces/default/events"
#define HPAS_V1  "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
#define HPAS     "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"

/* What a shape fills in. */
struct request {
    struct fx *fx;
    size_t n;
    const char *method;
    struct cor_buf target, body, accept;
    const char *content_type;
    int status; /* that the answer must have */
};

struct shape {
    const char *name;
    void (*make)(struct request *rq); /* prepares what is stored, and describes the request */
    size_t max;                       /* of elements; 0: none */
};

static void add(struct cor_buf *b, const char *fmt, ...) COR_PRINTF(2, 3);
static void add(struct cor_buf *b, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    assert_int_equal(cor_buf_addv(b, fmt, ap), 0);
    va_end(ap);
}

static void post(struct request *rq, const char *target)
{
    rq->method = "POST";
    add(&rq->target, "%s", target);
    rq->status = 201;
}

static void patch(struct request *rq, const char *target, const char *type)
{
    rq->method = "PATCH";
    add(&rq->target, "%s", target);
    rq->content_type = type;
    rq->status = 200;
}

/* Appends `n` times the format with the element's number, twice, between commas. */
#define EACH(b, count, ...)                                                                        \
    for (size_t i = 0; i < (count); i++) {                                                         \
        if (i > 0)                                                                                 \
            add((b), ",");                                                                         \
        add((b), __VA_ARGS__);                                                                     \
    }

/* Creates a config map "x" with this metadata and data. */
static void store_map(struct request *rq, struct cor_buf *meta, struct cor_buf *data)
{
    struct cor_buf body;

    cor_buf_init(&body, TEXT_MAX);
    add(&body, "{\"metadata\":{\"name\":\"x\"%s%s},\"data\":{%s}}", meta ? "," : "",
        meta ? cor_buf_z(meta) : "", data ? cor_buf_z(data) : "");
    (void)fx_do(rq->fx, 201, "POST", MAPS, cor_buf_z(&body));
    cor_buf_deinit(&body);
}

static struct cor_buf text_new(void)
{
    struct cor_buf b;

    cor_buf_init(&b, TEXT_MAX);
    return b;
}

#define TEXT COR_CLEANUP(cor_buf_deinit) struct cor_buf

static void owners(struct cor_buf *b, size_t n, size_t distinct)
{
    add(b, "\"ownerReferences\":[");
    EACH(b, n, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"p\",\"uid\":\"u%zu\"}",
         i % distinct);
    add(b, "]");
}

static void finalizers(struct cor_buf *b, size_t n)
{
    add(b, "\"finalizers\":[");
    EACH(b, n, "\"example.com/f%zu\"", i);
    add(b, "]");
}

static void members(struct cor_buf *b, size_t n, const char *value)
{
    EACH(b, n, "\"k%06zu\":\"%s\"", i, value);
}

static void make_owners(struct request *rq)
{
    post(rq, MAPS);
    add(&rq->body, "{\"metadata\":{\"name\":\"x\",");
    owners(&rq->body, rq->n, rq->n);
    add(&rq->body, "}}");
}

static void make_repeated_owners(struct request *rq)
{
    post(rq, MAPS);
    add(&rq->body, "{\"metadata\":{\"name\":\"x\",");
    owners(&rq->body, rq->n, rq->n / 2);
    add(&rq->body, "}}");
}

static void make_controllers(struct request *rq)
{
    post(rq, MAPS);
    add(&rq->body, "{\"metadata\":{\"name\":\"x\",\"ownerReferences\":[");
    EACH(&rq->body, rq->n,
         "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"p\",\"uid\":\"u%zu\",\"controller\":"
         "true}",
         i);
    add(&rq->body, "]}}");
    rq->status = 422;
}

static void make_finalizers(struct request *rq)
{
    post(rq, MAPS);
    add(&rq->body, "{\"metadata\":{\"name\":\"x\",");
    finalizers(&rq->body, rq->n);
    add(&rq->body, "}}");
}

static void make_finalizers_of_deleted(struct request *rq)
{
    TEXT meta = text_new();

    finalizers(&meta, rq->n);
    store_map(rq, &meta, NULL);
    (void)fx_do(rq->fx, 200, "DELETE", MAPS "/x", "");
    rq->method = "PUT";
    rq->status = 200;
    add(&rq->target, MAPS "/x");
    add(&rq->body, "{\"metadata\":{\"name\":\"x\",%s},\"data\":{\"a\":\"b\"}}", cor_buf_z(&meta));
}

static void make_new_finalizers_of_deleted(struct request *rq)
{
    TEXT meta = text_new();

    add(&meta, "\"finalizers\":[\"example.com/first\"]");
    store_map(rq, &meta, NULL);
    (void)fx_do(rq->fx, 200, "DELETE", MAPS "/x", "");
    rq->method = "PUT";
    rq->status = 422;
    add(&rq->target, MAPS "/x");
    add(&rq->body, "{\"metadata\":{\"name\":\"x\",");
    finalizers(&rq->body, rq->n);
    add(&rq->body, "}}");
}

static void make_namespace_finalizers(struct request *rq)
{
    (void)fx_do(rq->fx, 201, "POST", "/api/v1/namespaces", "{\"metadata\":{\"name\":\"many\"}}");
    rq->method = "PUT";
    rq->status = 200;
    add(&rq->target, "/api/v1/namespaces/many/finalize");
    add(&rq->body, "{\"metadata\":{\"name\":\"many\"},\"spec\":{");
    finalizers(&rq->body, rq->n);
    add(&rq->body, "}}");
}

static void make_labels(struct request *rq)
{
    post(rq, MAPS);
    add(&rq->body, "{\"metadata\":{\"name\":\"x\",\"labels\":{");
    members(&rq->body, rq->n, "v");
    add(&rq->body, "}}}");
}

static void make_wrong_labels(struct request *rq)
{
    post(rq, MAPS);
    add(&rq->body, "{\"metadata\":{\"name\":\"x\",\"labels\":{");
    members(&rq->body, rq->n, "-");
    add(&rq->body, "}}}");
    rq->status = 422;
}

static void make_annotations(struct request *rq)
{
    post(rq, MAPS);
    add(&rq->body, "{\"metadata\":{\"name\":\"x\",\"annotations\":{");
    members(&rq->body, rq->n, "v");
    add(&rq->body, "}}}");
}

static void make_managed_fields(struct request *rq)
{
    post(rq, MAPS);
    add(&rq->body, "{\"metadata\":{\"name\":\"x\",\"managedFields\":[");
    EACH(&rq->body, rq->n, "{\"manager\":\"m%zu\",\"operation\":\"Update\",\"fieldsV1\":{}}", i);
    add(&rq->body, "]}}");
}

static void make_members(struct request *rq)
{
    post(rq, MAPS);
    add(&rq->body, "{\"metadata\":{\"name\":\"x\"},\"data\":{");
    members(&rq->body, rq->n, "v");
    add(&rq->body, "}}");
}

static void make_reversed_members(struct request *rq)
{
    post(rq, MAPS);
    add(&rq->body, "{\"metadata\":{\"name\":\"x\"},\"data\":{");
    EACH(&rq->body, rq->n, "\"k%06zu\":\"v\"", rq->n - i);
    add(&rq->body, "}}");
}

/* In the order of an insertion sort's worst case and without an order. */
static void make_shuffled_members(struct request *rq)
{
    post(rq, MAPS);
    add(&rq->body, "{\"metadata\":{\"name\":\"x\"},\"data\":{");
    EACH(&rq->body, rq->n, "\"k%zu-%zu\":\"v\"", (i * 7919) % 1000003, i);
    add(&rq->body, "}}");
}

static void make_top_members(struct request *rq)
{
    post(rq, MAPS);
    add(&rq->body, "{\"metadata\":{\"name\":\"x\"},");
    members(&rq->body, rq->n, "v");
    add(&rq->body, "}");
}

static void make_duplicates(struct request *rq)
{
    post(rq, MAPS);
    add(&rq->body, "{\"metadata\":{\"name\":\"x\"},\"data\":{");
    EACH(&rq->body, rq->n, "\"k%zu\":\"v\"", (rq->n - i) / 2);
    add(&rq->body, "}}");
}

static void make_one_duplicate(struct request *rq)
{
    post(rq, MAPS);
    add(&rq->body, "{\"metadata\":{\"name\":\"x\"},\"data\":{");
    EACH(&rq->body, rq->n, "\"k\":\"v%zu\"", i);
    add(&rq->body, "}}");
}

/* Objects inside of objects, each with ten members beside the inner one. */
static void nest(struct cor_buf *b, size_t depth, const char *inner)
{
    for (size_t i = 0; i < depth; i++)
        add(b, "{\"!\":1,\"a\":[1,2,3],\"b\":\"12345678901234567890\",\"n\":");
    add(b, "%s", inner);
    for (size_t i = 0; i < depth; i++)
        add(b, ",\"z\":\"12345678901234567890\"}");
}

static void make_nested(struct request *rq)
{
    post(rq, MAPS);
    add(&rq->body, "{\"metadata\":{\"name\":\"x\"},\"deep\":");
    nest(&rq->body, rq->n, "1");
    add(&rq->body, "}");
}

static void make_nested_duplicates(struct request *rq)
{
    post(rq, MAPS);
    add(&rq->body, "{\"metadata\":{\"name\":\"x\"},\"deep\":");
    for (size_t i = 0; i < rq->n; i++)
        add(&rq->body, "{\"b\":1,\"b\":2,\"a\":1,\"a\":2,\"n\":");
    add(&rq->body, "1");
    for (size_t i = 0; i < rq->n; i++)
        add(&rq->body, "}");
    add(&rq->body, "}");
}

static void make_nested_merge(struct request *rq)
{
    TEXT body = text_new();

    add(&body, "{\"metadata\":{\"name\":\"x\"},\"deep\":");
    nest(&body, rq->n, "1");
    add(&body, "}");
    (void)fx_do(rq->fx, 201, "POST", MAPS, cor_buf_z(&body));
    patch(rq, MAPS "/x", "application/merge-patch+json");
    add(&rq->body, "{\"deep\":");
    nest(&rq->body, rq->n, "2");
    add(&rq->body, "}");
}

static void make_new_nested_merge(struct request *rq)
{
    store_map(rq, NULL, NULL);
    patch(rq, MAPS "/x", "application/merge-patch+json");
    add(&rq->body, "{\"deep\":");
    nest(&rq->body, rq->n, "2");
    add(&rq->body, "}");
}

static void make_nested_strategic(struct request *rq)
{
    TEXT body = text_new();

    add(&body, "{\"metadata\":{\"name\":\"x\"},\"deep\":");
    nest(&body, rq->n, "1");
    add(&body, "}");
    (void)fx_do(rq->fx, 201, "POST", MAPS, cor_buf_z(&body));
    patch(rq, MAPS "/x", "application/strategic-merge-patch+json");
    add(&rq->body, "{\"deep\":");
    nest(&rq->body, rq->n, "2");
    add(&rq->body, "}");
}

static void make_new_nested_strategic(struct request *rq)
{
    store_map(rq, NULL, NULL);
    patch(rq, MAPS "/x", "application/strategic-merge-patch+json");
    add(&rq->body, "{\"deep\":");
    nest(&rq->body, rq->n, "2");
    add(&rq->body, "}");
}

static void make_nested_answer(struct request *rq, const char *accept)
{
    TEXT body = text_new(), inner = text_new();

    add(&inner, "[");
    EACH(&inner, 10 * rq->n, "%zu", i);
    add(&inner, "]");
    add(&body, "{\"metadata\":{\"name\":\"x\"},\"deep\":");
    nest(&body, rq->n, cor_buf_z(&inner));
    add(&body, "}");
    (void)fx_do(rq->fx, 201, "POST", MAPS, cor_buf_z(&body));
    rq->method = "GET";
    rq->status = 200;
    add(&rq->target, MAPS "/x");
    add(&rq->accept, "%s", accept);
}

static void make_nested_yaml_answer(struct request *rq)
{
    make_nested_answer(rq, "application/yaml");
}

static void make_nested_pretty_answer(struct request *rq)
{
    make_nested_answer(rq, "application/json;pretty=1");
}

static void make_merge(struct request *rq)
{
    TEXT data = text_new();

    members(&data, rq->n, "v");
    store_map(rq, NULL, &data);
    patch(rq, MAPS "/x", "application/merge-patch+json");
    add(&rq->body, "{\"data\":{");
    members(&rq->body, rq->n, "w");
    add(&rq->body, "}}");
}

static void make_strategic_members(struct request *rq)
{
    TEXT data = text_new();

    members(&data, rq->n, "v");
    store_map(rq, NULL, &data);
    patch(rq, MAPS "/x", "application/strategic-merge-patch+json");
    add(&rq->body, "{\"data\":{");
    members(&rq->body, rq->n, "w");
    add(&rq->body, "}}");
}

static void make_strategic_new_members(struct request *rq)
{
    TEXT data = text_new();

    members(&data, rq->n, "v");
    store_map(rq, NULL, &data);
    patch(rq, MAPS "/x", "application/strategic-merge-patch+json");
    add(&rq->body, "{\"data\":{");
    EACH(&rq->body, rq->n, "\"n%06zu\":\"w\"", i);
    add(&rq->body, "}}");
}

static void make_retain_keys(struct request *rq)
{
    TEXT data = text_new();

    members(&data, rq->n, "v");
    store_map(rq, NULL, &data);
    patch(rq, MAPS "/x", "application/strategic-merge-patch+json");
    add(&rq->body, "{\"data\":{\"$retainKeys\":[");
    EACH(&rq->body, rq->n, "\"k%06zu\"", i);
    add(&rq->body, "],");
    members(&rq->body, rq->n, "w");
    add(&rq->body, "}}");
}

static void store_pod(struct request *rq)
{
    TEXT body = text_new();

    add(&body, "{\"metadata\":{\"name\":\"x\",");
    finalizers(&body, rq->n);
    add(&body, "},\"spec\":{\"containers\":[");
    EACH(&body, rq->n, "{\"name\":\"c%06zu\",\"image\":\"a\"}", i);
    add(&body, "]}}");
    (void)fx_do(rq->fx, 201, "POST", PODS, cor_buf_z(&body));
}

static void make_strategic_list(struct request *rq)
{
    store_pod(rq);
    patch(rq, PODS "/x", "application/strategic-merge-patch+json");
    add(&rq->body, "{\"spec\":{\"containers\":[");
    EACH(&rq->body, rq->n, "{\"name\":\"c%06zu\",\"image\":\"b\"}", i);
    add(&rq->body, "]}}");
}

static void make_strategic_new_list(struct request *rq)
{
    store_pod(rq);
    patch(rq, PODS "/x", "application/strategic-merge-patch+json");
    add(&rq->body, "{\"spec\":{\"containers\":[");
    EACH(&rq->body, rq->n, "{\"name\":\"d%06zu\",\"image\":\"b\"}", i);
    add(&rq->body, "]}}");
}

static void make_strategic_order(struct request *rq)
{
    store_pod(rq);
    patch(rq, PODS "/x", "application/strategic-merge-patch+json");
    add(&rq->body, "{\"spec\":{\"$setElementOrder/containers\":[");
    EACH(&rq->body, rq->n, "{\"name\":\"c%06zu\"}", rq->n - 1 - i);
    add(&rq->body, "]}}");
}

static void make_strategic_deletes(struct request *rq)
{
    store_pod(rq);
    patch(rq, PODS "/x", "application/strategic-merge-patch+json");
    add(&rq->body, "{\"spec\":{\"containers\":[");
    EACH(&rq->body, rq->n, "{\"name\":\"c%06zu\",\"$patch\":\"delete\"}", rq->n - 1 - i);
    add(&rq->body, "]}}");
}

static void make_strategic_finalizers(struct request *rq)
{
    store_pod(rq);
    patch(rq, PODS "/x", "application/strategic-merge-patch+json");
    add(&rq->body, "{\"metadata\":{\"$deleteFromPrimitiveList/finalizers\":[");
    EACH(&rq->body, rq->n / 2, "\"example.com/f%zu\"", i);
    add(&rq->body, "]}}");
}

static void store_array(struct request *rq)
{
    TEXT body = text_new();

    /* One verb more than is ever removed. */
    add(&body, "{\"rules\":[{\"verbs\":[");
    EACH(&body, rq->n + 1, "\"%zu\"", i);
    add(&body, "]}],\"metadata\":{\"name\":\"x\",\"annotations\":{");
    members(&body, rq->n, "v");
    add(&body, "}}}");
    (void)fx_do(rq->fx, 201, "POST", ROLES, cor_buf_z(&body));
    patch(rq, ROLES "/x", "application/json-patch+json");
}

#define JSON_PATCH_SHAPE(name, ...)                                                                \
    static void name(struct request *rq)                                                           \
    {                                                                                              \
        store_array(rq);                                                                           \
        add(&rq->body, "[");                                                                       \
        EACH(&rq->body, rq->n, __VA_ARGS__);                                                       \
        add(&rq->body, "]");                                                                       \
    }

JSON_PATCH_SHAPE(make_add_members,
                 "{\"op\":\"add\",\"path\":\"/metadata/annotations/n%zu\",\"value\":\"v\"}", i)
JSON_PATCH_SHAPE(make_replace_members,
                 "{\"op\":\"replace\",\"path\":\"/metadata/annotations/k%06zu\",\"value\":\"w\"}",
                 i)
JSON_PATCH_SHAPE(make_remove_members,
                 "{\"op\":\"remove\",\"path\":\"/metadata/annotations/k%06zu\"}", rq->n - 1 - i)
JSON_PATCH_SHAPE(make_test_members,
                 "{\"op\":\"test\",\"path\":\"/metadata/annotations/k%06zu\",\"value\":\"v\"}",
                 rq->n - 1 - i)
JSON_PATCH_SHAPE(make_append_elements,
                 "{\"op\":\"add\",\"path\":\"/rules/0/verbs/-\",\"value\":\"%zu\"}", i)
JSON_PATCH_SHAPE(make_insert_elements,
                 "{\"op\":\"add\",\"path\":\"/rules/0/verbs/%zu\",\"value\":\"w\"}", rq->n / 2 + i)
JSON_PATCH_SHAPE(make_replace_elements,
                 "{\"op\":\"replace\",\"path\":\"/rules/0/verbs/%zu\",\"value\":\"w\"}", i)
JSON_PATCH_SHAPE(make_remove_elements, "{\"op\":\"remove\",\"path\":\"/rules/0/verbs/%zu\"}",
                 rq->n - 1 - i)
JSON_PATCH_SHAPE(
    make_move_elements,
    "{\"op\":\"move\",\"from\":\"/rules/0/verbs/%zu\",\"path\":\"/rules/0/verbs/%zu\"}", rq->n / 2,
    i)
JSON_PATCH_SHAPE(
    make_move_members,
    "{\"op\":\"move\",\"from\":\"/metadata/annotations/k%06zu\",\"path\":\"/metadata/annotations/m%zu\"}",
    i, i)
JSON_PATCH_SHAPE(make_move_whole,
                 "{\"op\":\"move\",\"from\":\"/rules/0/%s\",\"path\":\"/rules/0/%s\"}",
                 i % 2 ? "resources" : "verbs", i % 2 ? "verbs" : "resources")
JSON_PATCH_SHAPE(
    make_copy_members,
    "{\"op\":\"copy\",\"from\":\"/metadata/annotations/k%06zu\",\"path\":\"/metadata/annotations/m%zu\"}",
    i, i)

/* The whole object is tested, after its members were put in another order. */
static void make_test_whole(struct request *rq)
{
    store_array(rq);
    add(&rq->body,
        "[{\"op\":\"remove\",\"path\":\"/metadata/annotations/k000000\"},{\"op\":\"add\",\"path\":"
        "\"/metadata/annotations/k000000\",\"value\":\"v\"},{\"op\":\"test\",\"path\":\"/metadata/annotations\","
        "\"value\":{");
    members(&rq->body, rq->n, "v");
    add(&rq->body, "}}]");
}

static void get(struct request *rq, const char *target)
{
    rq->method = "GET";
    add(&rq->target, "%s", target);
    rq->status = 200;
}

static void store_labelled(struct request *rq)
{
    TEXT meta = text_new();

    add(&meta, "\"labels\":{");
    members(&meta, rq->n, "v");
    add(&meta, "}");
    store_map(rq, &meta, NULL);
}

static void make_label_set(struct request *rq)
{
    store_labelled(rq);
    get(rq, MAPS "?labelSelector=k000001+in+(");
    EACH(&rq->target, rq->n, "v%zu", rq->n - i);
    add(&rq->target, ")");
}

static void make_label_requirements(struct request *rq)
{
    store_labelled(rq);
    get(rq, MAPS "?labelSelector=");
    EACH(&rq->target, rq->n, "k%06zu!=w", rq->n - i);
}

static void make_wrong_label_set(struct request *rq)
{
    get(rq, MAPS "?labelSelector=k000001+in+(");
    EACH(&rq->target, rq->n, "-%zu", rq->n - i);
    add(&rq->target, ")");
    rq->status = 400;
}

static void make_field_terms(struct request *rq)
{
    store_map(rq, NULL, NULL);
    get(rq, MAPS "?fieldSelector=");
    EACH(&rq->target, rq->n, "metadata.name!=a%zu", i);
}

static void make_parameters(struct request *rq)
{
    store_map(rq, NULL, NULL);
    get(rq, MAPS "/x?p=0");
    for (size_t i = 0; i < rq->n; i++)
        add(&rq->target, "&p%zu=%%41%zu", i, i);
}

static void make_dry_runs(struct request *rq)
{
    post(rq, MAPS "?dryRun=All");
    for (size_t i = 0; i < rq->n; i++)
        add(&rq->target, "&dryRun=All");
    add(&rq->body, "{\"metadata\":{\"name\":\"x\"}}");
}

static void make_accept(struct request *rq)
{
    store_map(rq, NULL, NULL);
    get(rq, MAPS "/x");
    add(&rq->accept, "application/json;q=0.1");
    for (size_t i = 0; i < rq->n; i++)
        add(&rq->accept, ",application/x%zu;q=0.%zu", i, i % 10);
}

static void make_delete_dry_runs(struct request *rq)
{
    store_map(rq, NULL, NULL);
    rq->method = "DELETE";
    add(&rq->target, MAPS "/x");
    rq->status = 200;
    add(&rq->body, "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"dryRun\":[");
    EACH(&rq->body, rq->n, "\"All\"");
    add(&rq->body, "]}");
}

static void make_review_groups(struct request *rq)
{
    post(rq, "/apis/authorization.k8s.io/v1/subjectaccessreviews");
    add(&rq->body,
        "{\"spec\":{\"user\":\"u\",\"resourceAttributes\":{\"verb\":\"get\",\"resource\":"
        "\"pods\"},\"groups\":[");
    EACH(&rq->body, rq->n, "\"g%zu\"", i);
    add(&rq->body, "],\"extra\":{");
    EACH(&rq->body, rq->n, "\"e%zu\":[\"v\"]", i);
    add(&rq->body, "}}}");
}

static void make_string_data(struct request *rq)
{
    post(rq, "/api/v1/namespaces/default/secrets");
    add(&rq->body, "{\"metadata\":{\"name\":\"x\"},\"data\":{");
    members(&rq->body, rq->n, "dg==");
    add(&rq->body, "},\"stringData\":{");
    members(&rq->body, rq->n, "w");
    add(&rq->body, "}}");
}

static void make_conditions(struct request *rq)
{
    (void)fx_do(
        rq->fx, 201, "POST", PODS,
        "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"containers\":[{\"name\":\"a\",\"image\":"
        "\"a\"}]}}");
    patch(rq, PODS "/x/status", "application/strategic-merge-patch+json");
    add(&rq->body, "{\"status\":{\"conditions\":[");
    EACH(&rq->body, rq->n, "{\"type\":\"t%zu\",\"status\":\"True\"}", i);
    add(&rq->body, "]}}");
}

/* A binding adds a condition to those that are there. */
static void make_binding(struct request *rq)
{
    make_conditions(rq);
    (void)fx_do_with(rq->fx, 200, "PATCH", PODS "/x/status", cor_buf_z(&rq->body),
                     &(struct fx_headers){.content_type = rq->content_type});
    cor_buf_reset(&rq->target);
    cor_buf_reset(&rq->body);
    rq->content_type = NULL;
    post(rq, PODS "/x/binding");
    add(&rq->body, "{\"metadata\":{\"name\":\"x\",\"annotations\":{");
    members(&rq->body, rq->n, "v");
    add(&rq->body, "},\"labels\":{");
    members(&rq->body, rq->n, "v");
    add(&rq->body, "}},\"target\":{\"kind\":\"Node\",\"name\":\"n\"}}");
}

static void make_ephemeral(struct request *rq)
{
    store_pod(rq);
    patch(rq, PODS "/x/ephemeralcontainers", "application/strategic-merge-patch+json");
    add(&rq->body, "{\"spec\":{\"ephemeralContainers\":[");
    EACH(&rq->body, rq->n, "{\"name\":\"e%06zu\",\"image\":\"b\"}", i);
    add(&rq->body, "]}}");
}

static void make_resize(struct request *rq)
{
    store_pod(rq);
    patch(rq, PODS "/x/resize", "application/strategic-merge-patch+json");
    add(&rq->body, "{\"spec\":{\"containers\":[");
    EACH(&rq->body, rq->n, "{\"name\":\"c%06zu\",\"resources\":{\"limits\":{\"cpu\":\"1\"}}}", i);
    add(&rq->body, "]}}");
}

static void make_yaml(struct request *rq)
{
    post(rq, MAPS);
    rq->content_type = "application/yaml";
    add(&rq->body, "metadata:\n  name: x\ndata:\n");
    for (size_t i = 0; i < rq->n; i++)
        add(&rq->body, "  k%zu: v\n", rq->n - i);
}

static void make_yaml_duplicates(struct request *rq)
{
    post(rq, MAPS);
    rq->content_type = "application/yaml";
    add(&rq->body, "metadata:\n  name: x\ndata:\n");
    for (size_t i = 0; i < rq->n; i++)
        add(&rq->body, "  k%zu: v\n", i / 2);
}

static void make_yaml_anchors(struct request *rq)
{
    post(rq, MAPS);
    rq->content_type = "application/yaml";
    add(&rq->body, "metadata:\n  name: x\ndata:\n");
    for (size_t i = 0; i < rq->n; i++)
        add(&rq->body, "  a%zu: &a%zu v\n  b%zu: *a%zu\n", i, i, i, i / 2);
}

static void make_yaml_merges(struct request *rq)
{
    post(rq, MAPS);
    rq->content_type = "application/yaml";
    add(&rq->body, "metadata:\n  name: x\nbase: &b {a: b}\ndata:\n");
    for (size_t i = 0; i < rq->n; i++)
        add(&rq->body, "  a%zu: v\n  <<: *b\n", i);
}

static void make_yaml_flow(struct request *rq)
{
    post(rq, MAPS);
    rq->content_type = "application/yaml";
    add(&rq->body, "{metadata: {name: x}, data: {");
    EACH(&rq->body, rq->n, "k%zu: v", i);
    add(&rq->body, "}}");
}

static void make_yaml_nested(struct request *rq)
{
    post(rq, MAPS);
    rq->content_type = "application/yaml";
    add(&rq->body, "{metadata: {name: x}, deep: ");
    nest(&rq->body, rq->n, "1");
    add(&rq->body, "}");
}

static void make_yaml_nested_block(struct request *rq)
{
    post(rq, MAPS);
    rq->content_type = "application/yaml";
    add(&rq->body, "metadata:\n  name: x\ndeep:\n");
    for (size_t i = 0; i < rq->n; i++)
        add(&rq->body, "%*sk%zu: v\n%*sn:\n", (int)i + 1, "", i, (int)i + 1, "");
    add(&rq->body, "%*sk: v\n", (int)rq->n + 1, "");
}

static void make_yaml_nested_merges(struct request *rq)
{
    post(rq, MAPS);
    rq->content_type = "application/yaml";
    add(&rq->body, "{metadata: {name: x}, deep: ");
    for (size_t i = 0; i < rq->n; i++)
        add(&rq->body, "{a%zu: 12345678901234567890, <<: ", i);
    add(&rq->body, "{}");
    for (size_t i = 0; i < rq->n; i++)
        add(&rq->body, "}");
    add(&rq->body, "}");
}

static void make_yaml_nested_anchors(struct request *rq)
{
    post(rq, MAPS);
    rq->content_type = "application/yaml";
    add(&rq->body, "{metadata: {name: x}, deep: ");
    for (size_t i = 0; i < rq->n; i++)
        add(&rq->body, "&a%zu [12345678901234567890, ", i);
    add(&rq->body, "1");
    for (size_t i = 0; i < rq->n; i++)
        add(&rq->body, "]");
    add(&rq->body, "}");
}

static void make_yaml_lines(struct request *rq)
{
    post(rq, MAPS);
    rq->content_type = "application/yaml";
    add(&rq->body, "metadata:\n  name: x\ndata:\n  text: |\n");
    for (size_t i = 0; i < rq->n; i++)
        add(&rq->body, "    a line of text\n");
}

static void make_yaml_answer(struct request *rq)
{
    TEXT data = text_new();

    EACH(&data, rq->n, "\"k%zu\":\"v\"", i);
    store_map(rq, NULL, &data);
    get(rq, MAPS "/x");
    add(&rq->accept, "application/yaml");
}

static void make_pretty_answer(struct request *rq)
{
    TEXT data = text_new();

    members(&data, rq->n, "v");
    store_map(rq, NULL, &data);
    get(rq, MAPS "/x");
    add(&rq->accept, "application/json;pretty=1");
}

static void store_many(struct request *rq)
{
    for (size_t i = 0; i < rq->n; i++) {
        char body[64];

        snprintf(body, sizeof(body), "{\"metadata\":{\"name\":\"m%zu\"}}", i);
        (void)fx_do(rq->fx, 201, "POST", MAPS, body);
    }
}

static void make_list(struct request *rq)
{
    store_many(rq);
    get(rq, MAPS);
}

static void make_table(struct request *rq)
{
    store_many(rq);
    get(rq, MAPS);
    add(&rq->accept, "application/json;as=Table;v=v1;g=meta.k8s.io");
}

static void make_yaml_list(struct request *rq)
{
    store_many(rq);
    get(rq, MAPS);
    add(&rq->accept, "application/yaml");
}

static void make_delete_collection(struct request *rq)
{
    store_many(rq);
    rq->method = "DELETE";
    add(&rq->target, MAPS);
    rq->status = 200;
}

static void metrics(struct cor_buf *b, size_t n)
{
    EACH(b, n,
         "{\"type\":\"Pods\",\"pods\":{\"metric\":{\"name\":\"m%zu\"},\"target\":{\"type\":"
         "\"AverageValue\",\"averageValue\":\"1\"}}}",
         i);
}

static void make_hpa_v1_answer(struct request *rq)
{
    TEXT body = text_new();

    add(&body, "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"maxReplicas\":1,\"scaleTargetRef\":{"
               "\"kind\":\"a\",\"name\":\"b\"},\"metrics\":[");
    metrics(&body, rq->n);
    add(&body, "]}}");
    (void)fx_do(rq->fx, 201, "POST", HPAS, cor_buf_z(&body));
    get(rq, HPAS_V1 "/x");
}

static void make_hpa_v1(struct request *rq)
{
    post(rq, HPAS_V1);
    add(&rq->body,
        "{\"metadata\":{\"name\":\"x\",\"annotations\":{\"autoscaling.alpha.kubernetes.io"
        "/metrics\":\"[");
    EACH(&rq->body, rq->n,
         "{\\\"type\\\":\\\"Pods\\\",\\\"pods\\\":{\\\"metricName\\\":\\\"m%zu\\\","
         "\\\"targetAverageValue\\\":\\\"1\\\"}}",
         i);
    add(&rq->body, "]\"}},\"spec\":{\"maxReplicas\":1,\"scaleTargetRef\":{\"kind\":\"a\",\"name\":"
                   "\"b\"}}}");
}

static void make_event(struct request *rq)
{
    post(rq, EVENTS);
    add(&rq->body, "{\"metadata\":{\"name\":\"x\",\"annotations\":{");
    members(&rq->body, rq->n, "v");
    add(&rq->body, "}},\"eventTime\":\"2025-01-01T00:00:00.000000Z\",\"action\":\"a\","
                   "\"reason\":\"r\",\"type\":\"Normal\",\"regarding\":{\"namespace\":\"default\"},"
                   "\"reportingController\":\"c/d\",\"reportingInstance\":\"i\"}");
}

/* The length of a message is written in four bytes. */
static void put_field(struct cor_buf *b, unsigned number, struct cor_str bytes)
{
    unsigned char head[] = {(unsigned char)(number << 3 | 2), (unsigned char)(bytes.n & 127) | 128,
                            (unsigned char)(bytes.n >> 7 & 127) | 128,
                            (unsigned char)(bytes.n >> 14 & 127) | 128,
                            (unsigned char)(bytes.n >> 21 & 127)};

    assert_int_equal(cor_buf_add(b, head, sizeof(head)), 0);
    assert_int_equal(cor_buf_adds(b, bytes), 0);
}

/* A ConfigMap whose annotations are n. */
static void make_protobuf(struct request *rq)
{
    TEXT meta = text_new(), entry = text_new(), map = text_new(), type = text_new();

    post(rq, MAPS);
    rq->content_type = "application/vnd.kubernetes.protobuf";
    put_field(&meta, 1, COR_STR("x"));
    for (size_t i = 0; i < rq->n; i++) {
        char key[32];

        snprintf(key, sizeof(key), "k%zu", i);
        cor_buf_reset(&entry);
        put_field(&entry, 1, cor_strz(key));
        put_field(&entry, 2, COR_STR("v"));
        put_field(&meta, 12, cor_buf_str(&entry));
    }
    put_field(&map, 1, cor_buf_str(&meta));
    put_field(&type, 1, COR_STR("v1"));
    put_field(&type, 2, COR_STR("ConfigMap"));
    assert_int_equal(cor_buf_add(&rq->body, "k8s\0", 4), 0);
    put_field(&rq->body, 1, cor_buf_str(&type));
    put_field(&rq->body, 2, cor_buf_str(&map));
}

static const struct shape shapes[] = {
    {"owner-references", make_owners, 0},
    {"repeated-owner-references", make_repeated_owners, 0},
    {"controllers", make_controllers, 0},
    {"finalizers", make_finalizers, 0},
    {"finalizers-under-deletion", make_finalizers_of_deleted, 0},
    {"new-finalizers-under-deletion", make_new_finalizers_of_deleted, 0},
    {"namespace-finalizers", make_namespace_finalizers, 0},
    {"labels", make_labels, 0},
    {"wrong-labels", make_wrong_labels, 0},
    {"annotations", make_annotations, 0},
    {"managed-fields", make_managed_fields, 0},
    {"members", make_members, 0},
    {"members-reversed", make_reversed_members, 0},
    {"members-shuffled", make_shuffled_members, 0},
    {"members-of-the-object", make_top_members, 0},
    {"duplicate-members", make_duplicates, 0},
    {"one-duplicate-member", make_one_duplicate, 0},
    {"nested", make_nested, 980},
    {"nested-duplicates", make_nested_duplicates, 980},
    {"nested-yaml-answer", make_nested_yaml_answer, 980},
    {"nested-pretty-answer", make_nested_pretty_answer, 980},
    {"merge-patch", make_merge, 0},
    {"merge-patch-nested", make_nested_merge, 980},
    {"merge-patch-nested-new", make_new_nested_merge, 980},
    {"strategic-members", make_strategic_members, 0},
    {"strategic-new-members", make_strategic_new_members, 0},
    {"strategic-retain-keys", make_retain_keys, 0},
    {"strategic-list", make_strategic_list, 0},
    {"strategic-new-list", make_strategic_new_list, 0},
    {"strategic-order", make_strategic_order, 0},
    {"strategic-delete-markers", make_strategic_deletes, 0},
    {"strategic-delete-scalars", make_strategic_finalizers, 0},
    {"strategic-nested", make_nested_strategic, 980},
    {"strategic-nested-new", make_new_nested_strategic, 980},
    {"json-patch-add-members", make_add_members, 10000},
    {"json-patch-replace-members", make_replace_members, 10000},
    {"json-patch-remove-members", make_remove_members, 10000},
    {"json-patch-test-members", make_test_members, 10000},
    {"json-patch-append-elements", make_append_elements, 10000},
    {"json-patch-insert-elements", make_insert_elements, 10000},
    {"json-patch-replace-elements", make_replace_elements, 10000},
    {"json-patch-remove-elements", make_remove_elements, 10000},
    {"json-patch-move-elements", make_move_elements, 10000},
    {"json-patch-move-members", make_move_members, 10000},
    {"json-patch-move-whole", make_move_whole, 10000},
    {"json-patch-copy-members", make_copy_members, 10000},
    {"json-patch-test-whole", make_test_whole, 10000},
    {"label-set", make_label_set, 1000},
    {"label-requirements", make_label_requirements, 1000},
    {"wrong-label-set", make_wrong_label_set, 1000},
    {"field-terms", make_field_terms, 64},
    {"query-parameters", make_parameters, 4000},
    {"dry-runs", make_dry_runs, 4000},
    {"accept", make_accept, 4000},
    {"delete-options-dry-runs", make_delete_dry_runs, 0},
    {"review-groups", make_review_groups, 0},
    {"secret-string-data", make_string_data, 0},
    {"conditions", make_conditions, 0},
    {"binding", make_binding, 0},
    {"ephemeral-containers", make_ephemeral, 0},
    {"resize", make_resize, 0},
    {"yaml", make_yaml, 0},
    {"yaml-duplicates", make_yaml_duplicates, 0},
    {"yaml-anchors", make_yaml_anchors, 0},
    {"yaml-merges", make_yaml_merges, 0},
    {"yaml-flow", make_yaml_flow, 0},
    {"yaml-nested", make_yaml_nested, 120},
    {"yaml-nested-merges", make_yaml_nested_merges, 16},
    {"yaml-nested-anchors", make_yaml_nested_anchors, 120},
    {"yaml-nested-block", make_yaml_nested_block, 980},
    {"yaml-lines", make_yaml_lines, 0},
    {"yaml-answer", make_yaml_answer, 0},
    {"pretty-answer", make_pretty_answer, 0},
    {"list", make_list, 2000},
    {"table", make_table, 2000},
    {"yaml-list", make_yaml_list, 2000},
    {"delete-collection", make_delete_collection, 2000},
    {"hpa-v1-answer", make_hpa_v1_answer, 0},
    {"hpa-v1", make_hpa_v1, 0},
    {"event", make_event, 0},
    {"protobuf", make_protobuf, 0},
};

/* Valgrind counts what happens in here. */
__attribute__((noinline)) static void drive_request(struct request *rq, struct fx_call *call)
{
    struct fx_headers headers = {.accept = cor_buf_z(&rq->accept),
                                 .content_type = rq->content_type};

    fx_start_with_body(rq->fx, call, rq->method, cor_buf_z(&rq->target), cor_buf_str(&rq->body),
                       &headers);
    fx_wait(call);
}

static void run_shape(const struct shape *shape, size_t n)
{
    struct fx fx = {.opts = {.random_seed = 1}};
    struct request rq = {.fx = &fx, .n = n};
    struct fx_call call;

    fx_open(&fx);
    fx_bootstrap(&fx);
    cor_buf_init(&rq.target, TEXT_MAX);
    cor_buf_init(&rq.body, TEXT_MAX);
    cor_buf_init(&rq.accept, TEXT_MAX);
    shape->make(&rq);
    drive_request(&rq, &call);
    printf("%s %zu %zu %d\n", shape->name, n, rq.target.n + rq.body.n + call.sink.body.n,
           call.sink.status);
    fflush(stdout);
    if (call.sink.status != rq.status)
        fail_msg("%s: %d instead of %d: %.300s", shape->name, call.sink.status, rq.status,
                 cor_buf_z(&call.sink.body));
    fx_call_deinit(&call);
    cor_buf_deinit(&rq.target);
    cor_buf_deinit(&rq.body);
    cor_buf_deinit(&rq.accept);
    fx_close(&fx);
}

int main(int argc, char **argv)
{
    const char *only = NULL;

    if (argc > 2 && strcmp(argv[1], "--only") == 0) {
        only = argv[2];
        argv += 2;
        argc -= 2;
    }
    for (size_t s = 0; s < COR_ARRAY_LEN(shapes); s++) {
        for (int i = 1; i < argc; i++) {
            size_t n = strtoull(argv[i], NULL, 10), max = shapes[s].max;

            /* A shape with a maximum is driven at the same ratios below it. */
            if (max > 0) {
                size_t largest = strtoull(argv[argc - 1], NULL, 10);

                if (largest > max)
                    n = n * max / largest;
            }
            if (!only || strcmp(only, shapes[s].name) == 0)
                run_shape(&shapes[s], n);
        }
    }
    return 0;
}
