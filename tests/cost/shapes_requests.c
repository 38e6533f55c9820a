/* Requests whose parameters, options or results grow: selectors, reviews, subresources, lists,
 * other versions, protobuf. */
#include "shapes.h"

#define EVENTS  "/apis/events.k8s.io/v1/namespaces/default/events"
#define HPAS_V1 "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
#define HPAS    "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"

static void store_labelled(struct request *rq)
{
    TEXT meta = shape_text();

    shape_add(&meta, "\"labels\":{");
    shape_members(&meta, rq->n, "v");
    shape_add(&meta, "}");
    shape_store_map(rq, &meta, NULL);
}

static void make_label_set(struct request *rq)
{
    store_labelled(rq);
    shape_get(rq, MAPS "?labelSelector=k000001+in+(");
    EACH(&rq->target, rq->n, "v%zu", rq->n - i);
    shape_add(&rq->target, ")");
}

static void make_label_requirements(struct request *rq)
{
    store_labelled(rq);
    shape_get(rq, MAPS "?labelSelector=");
    EACH(&rq->target, rq->n, "k%06zu!=w", rq->n - i);
}

static void make_wrong_label_set(struct request *rq)
{
    shape_get(rq, MAPS "?labelSelector=k000001+in+(");
    EACH(&rq->target, rq->n, "-%zu", rq->n - i);
    shape_add(&rq->target, ")");
    rq->status = 400;
}

static void make_field_terms(struct request *rq)
{
    shape_store_map(rq, NULL, NULL);
    shape_get(rq, MAPS "?fieldSelector=");
    EACH(&rq->target, rq->n, "metadata.name!=a%zu", i);
}

static void make_parameters(struct request *rq)
{
    shape_store_map(rq, NULL, NULL);
    shape_get(rq, MAPS "/x?p=0");
    for (size_t i = 0; i < rq->n; i++)
        shape_add(&rq->target, "&p%zu=%%41%zu", i, i);
}

static void make_dry_runs(struct request *rq)
{
    shape_post(rq, MAPS "?dryRun=All");
    for (size_t i = 0; i < rq->n; i++)
        shape_add(&rq->target, "&dryRun=All");
    shape_add(&rq->body, "{\"metadata\":{\"name\":\"x\"}}");
}

static void make_accept(struct request *rq)
{
    shape_store_map(rq, NULL, NULL);
    shape_get(rq, MAPS "/x");
    shape_add(&rq->accept, "application/json;q=0.1");
    for (size_t i = 0; i < rq->n; i++)
        shape_add(&rq->accept, ",application/x%zu;q=0.%zu", i, i % 10);
}

static void make_delete_dry_runs(struct request *rq)
{
    shape_store_map(rq, NULL, NULL);
    rq->method = "DELETE";
    shape_add(&rq->target, MAPS "/x");
    rq->status = 200;
    shape_add(&rq->body, "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"dryRun\":[");
    EACH(&rq->body, rq->n, "\"All\"");
    shape_add(&rq->body, "]}");
}

static void make_review_groups(struct request *rq)
{
    shape_post(rq, "/apis/authorization.k8s.io/v1/subjectaccessreviews");
    shape_add(&rq->body,
              "{\"spec\":{\"user\":\"u\",\"resourceAttributes\":{\"verb\":\"get\",\"resource\":"
              "\"pods\"},\"groups\":[");
    EACH(&rq->body, rq->n, "\"g%zu\"", i);
    shape_add(&rq->body, "],\"extra\":{");
    EACH(&rq->body, rq->n, "\"e%zu\":[\"v\"]", i);
    shape_add(&rq->body, "}}}");
}

static void make_string_data(struct request *rq)
{
    shape_post(rq, "/api/v1/namespaces/default/secrets");
    shape_add(&rq->body, "{\"metadata\":{\"name\":\"x\"},\"data\":{");
    shape_members(&rq->body, rq->n, "dg==");
    shape_add(&rq->body, "},\"stringData\":{");
    shape_members(&rq->body, rq->n, "w");
    shape_add(&rq->body, "}}");
}

static void make_conditions(struct request *rq)
{
    (void)fx_do(
        rq->fx, 201, "POST", PODS,
        "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"containers\":[{\"name\":\"a\",\"image\":"
        "\"a\"}]}}");
    shape_patch(rq, PODS "/x/status", "application/strategic-merge-patch+json");
    shape_add(&rq->body, "{\"status\":{\"conditions\":[");
    EACH(&rq->body, rq->n, "{\"type\":\"t%zu\",\"status\":\"True\"}", i);
    shape_add(&rq->body, "]}}");
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
    shape_post(rq, PODS "/x/binding");
    shape_add(&rq->body, "{\"metadata\":{\"name\":\"x\",\"annotations\":{");
    shape_members(&rq->body, rq->n, "v");
    shape_add(&rq->body, "},\"labels\":{");
    shape_members(&rq->body, rq->n, "v");
    shape_add(&rq->body, "}},\"target\":{\"kind\":\"Node\",\"name\":\"n\"}}");
}

static void make_ephemeral(struct request *rq)
{
    shape_store_pod(rq);
    shape_patch(rq, PODS "/x/ephemeralcontainers", "application/strategic-merge-patch+json");
    shape_add(&rq->body, "{\"spec\":{\"ephemeralContainers\":[");
    EACH(&rq->body, rq->n, "{\"name\":\"e%06zu\",\"image\":\"b\"}", i);
    shape_add(&rq->body, "]}}");
}

/* The QoS class must stay: requests become other requests. */
static void make_resize(struct request *rq)
{
    TEXT body = shape_text();

    shape_add(&body, "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"containers\":[");
    EACH(&body, rq->n,
         "{\"name\":\"c%06zu\",\"image\":\"a\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}", i);
    shape_add(&body, "]}}");
    (void)fx_do(rq->fx, 201, "POST", PODS, cor_buf_z(&body));
    shape_patch(rq, PODS "/x/resize", "application/strategic-merge-patch+json");
    shape_add(&rq->body, "{\"spec\":{\"containers\":[");
    EACH(&rq->body, rq->n, "{\"name\":\"c%06zu\",\"resources\":{\"requests\":{\"cpu\":\"2\"}}}", i);
    shape_add(&rq->body, "]}}");
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
    shape_get(rq, MAPS);
}

static void make_table(struct request *rq)
{
    store_many(rq);
    shape_get(rq, MAPS);
    shape_add(&rq->accept, "application/json;as=Table;v=v1;g=meta.k8s.io");
}

static void make_yaml_list(struct request *rq)
{
    store_many(rq);
    shape_get(rq, MAPS);
    shape_add(&rq->accept, "application/yaml");
}

static void make_delete_collection(struct request *rq)
{
    store_many(rq);
    rq->method = "DELETE";
    shape_add(&rq->target, MAPS);
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
    TEXT body = shape_text();

    shape_add(&body,
              "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"maxReplicas\":1,\"scaleTargetRef\":{"
              "\"apiVersion\":\"apps/v1\",\"kind\":\"a\",\"name\":\"b\"},\"metrics\":[");
    metrics(&body, rq->n);
    shape_add(&body, "]}}");
    (void)fx_do(rq->fx, 201, "POST", HPAS, cor_buf_z(&body));
    shape_get(rq, HPAS_V1 "/x");
}

static void make_hpa_v1(struct request *rq)
{
    shape_post(rq, HPAS_V1);
    shape_add(&rq->body,
              "{\"metadata\":{\"name\":\"x\",\"annotations\":{\"autoscaling.alpha.kubernetes.io"
              "/metrics\":\"[");
    EACH(&rq->body, rq->n,
         "{\\\"type\\\":\\\"Pods\\\",\\\"pods\\\":{\\\"metricName\\\":\\\"m%zu\\\","
         "\\\"targetAverageValue\\\":\\\"1\\\"}}",
         i);
    shape_add(&rq->body,
              "]\"}},\"spec\":{\"maxReplicas\":1,\"scaleTargetRef\":{\"apiVersion\":\"apps/v1\","
              "\"kind\":\"a\",\"name\":\"b\"}}}");
}

static void make_event(struct request *rq)
{
    shape_post(rq, EVENTS);
    shape_add(&rq->body, "{\"metadata\":{\"name\":\"x\",\"annotations\":{");
    shape_members(&rq->body, rq->n, "v");
    shape_add(&rq->body,
              "}},\"eventTime\":\"2025-01-01T00:00:00.000000Z\",\"action\":\"a\","
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
    TEXT meta = shape_text(), entry = shape_text(), map = shape_text(), type = shape_text();

    shape_post(rq, MAPS);
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

static const struct shape table[] = {
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
    {"list", make_list, 2000},
    {"table", make_table, 2000},
    {"yaml-list", make_yaml_list, 2000},
    {"delete-collection", make_delete_collection, 2000},
    {"hpa-v1-answer", make_hpa_v1_answer, 0},
    {"hpa-v1", make_hpa_v1, 0},
    {"event", make_event, 0},
    {"protobuf", make_protobuf, 0},
};

const struct shapes shapes_of_requests = SHAPES(table);
