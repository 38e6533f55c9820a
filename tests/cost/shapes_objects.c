/* Objects of a growing size: what their metadata has, members in any order, members that are
 * repeated, nesting. */
#include "shapes.h"

static void owners(struct cor_buf *b, size_t n, size_t distinct)
{
    shape_add(b, "\"ownerReferences\":[");
    EACH(b, n, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"p\",\"uid\":\"u%zu\"}",
         i % distinct);
    shape_add(b, "]");
}

static void make_owners(struct request *rq)
{
    shape_post(rq, MAPS);
    shape_add(&rq->body, "{\"metadata\":{\"name\":\"x\",");
    owners(&rq->body, rq->n, rq->n);
    shape_add(&rq->body, "}}");
}

static void make_repeated_owners(struct request *rq)
{
    shape_post(rq, MAPS);
    shape_add(&rq->body, "{\"metadata\":{\"name\":\"x\",");
    owners(&rq->body, rq->n, rq->n / 2);
    shape_add(&rq->body, "}}");
}

static void make_controllers(struct request *rq)
{
    shape_post(rq, MAPS);
    shape_add(&rq->body, "{\"metadata\":{\"name\":\"x\",\"ownerReferences\":[");
    EACH(&rq->body, rq->n,
         "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"p\",\"uid\":\"u%zu\",\"controller\":"
         "true}",
         i);
    shape_add(&rq->body, "]}}");
    rq->status = 422;
}

static void make_finalizers(struct request *rq)
{
    shape_post(rq, MAPS);
    shape_add(&rq->body, "{\"metadata\":{\"name\":\"x\",");
    shape_finalizers(&rq->body, rq->n);
    shape_add(&rq->body, "}}");
}

static void make_finalizers_of_deleted(struct request *rq)
{
    TEXT meta = shape_text();

    shape_finalizers(&meta, rq->n);
    shape_store_map(rq, &meta, NULL);
    (void)fx_do(rq->fx, 200, "DELETE", MAPS "/x", "");
    rq->method = "PUT";
    rq->status = 200;
    shape_add(&rq->target, MAPS "/x");
    shape_add(&rq->body, "{\"metadata\":{\"name\":\"x\",%s},\"data\":{\"a\":\"b\"}}",
              cor_buf_z(&meta));
}

static void make_new_finalizers_of_deleted(struct request *rq)
{
    TEXT meta = shape_text();

    shape_add(&meta, "\"finalizers\":[\"example.com/first\"]");
    shape_store_map(rq, &meta, NULL);
    (void)fx_do(rq->fx, 200, "DELETE", MAPS "/x", "");
    rq->method = "PUT";
    rq->status = 422;
    shape_add(&rq->target, MAPS "/x");
    shape_add(&rq->body, "{\"metadata\":{\"name\":\"x\",");
    shape_finalizers(&rq->body, rq->n);
    shape_add(&rq->body, "}}");
}

static void make_namespace_finalizers(struct request *rq)
{
    (void)fx_do(rq->fx, 201, "POST", "/api/v1/namespaces", "{\"metadata\":{\"name\":\"many\"}}");
    rq->method = "PUT";
    rq->status = 200;
    shape_add(&rq->target, "/api/v1/namespaces/many/finalize");
    shape_add(&rq->body, "{\"metadata\":{\"name\":\"many\"},\"spec\":{");
    shape_finalizers(&rq->body, rq->n);
    shape_add(&rq->body, "}}");
}

static void make_labels(struct request *rq)
{
    shape_post(rq, MAPS);
    shape_add(&rq->body, "{\"metadata\":{\"name\":\"x\",\"labels\":{");
    shape_members(&rq->body, rq->n, "v");
    shape_add(&rq->body, "}}}");
}

static void make_wrong_labels(struct request *rq)
{
    shape_post(rq, MAPS);
    shape_add(&rq->body, "{\"metadata\":{\"name\":\"x\",\"labels\":{");
    shape_members(&rq->body, rq->n, "-");
    shape_add(&rq->body, "}}}");
    rq->status = 422;
}

static void make_annotations(struct request *rq)
{
    shape_post(rq, MAPS);
    shape_add(&rq->body, "{\"metadata\":{\"name\":\"x\",\"annotations\":{");
    shape_members(&rq->body, rq->n, "v");
    shape_add(&rq->body, "}}}");
}

static void make_members(struct request *rq)
{
    shape_post(rq, MAPS);
    shape_add(&rq->body, "{\"metadata\":{\"name\":\"x\"},\"data\":{");
    shape_members(&rq->body, rq->n, "v");
    shape_add(&rq->body, "}}");
}

static void make_reversed_members(struct request *rq)
{
    shape_post(rq, MAPS);
    shape_add(&rq->body, "{\"metadata\":{\"name\":\"x\"},\"data\":{");
    EACH(&rq->body, rq->n, "\"k%06zu\":\"v\"", rq->n - i);
    shape_add(&rq->body, "}}");
}

/* In the order of an insertion sort's worst case and without an order. */
static void make_shuffled_members(struct request *rq)
{
    shape_post(rq, MAPS);
    shape_add(&rq->body, "{\"metadata\":{\"name\":\"x\"},\"data\":{");
    EACH(&rq->body, rq->n, "\"k%zu-%zu\":\"v\"", (i * 7919) % 1000003, i);
    shape_add(&rq->body, "}}");
}

static void make_top_members(struct request *rq)
{
    shape_post(rq, MAPS);
    shape_add(&rq->body, "{\"metadata\":{\"name\":\"x\"},");
    shape_members(&rq->body, rq->n, "v");
    shape_add(&rq->body, "}");
}

static void make_duplicates(struct request *rq)
{
    shape_post(rq, MAPS);
    shape_add(&rq->body, "{\"metadata\":{\"name\":\"x\"},\"data\":{");
    EACH(&rq->body, rq->n, "\"k%zu\":\"v\"", (rq->n - i) / 2);
    shape_add(&rq->body, "}}");
}

static void make_one_duplicate(struct request *rq)
{
    shape_post(rq, MAPS);
    shape_add(&rq->body, "{\"metadata\":{\"name\":\"x\"},\"data\":{");
    EACH(&rq->body, rq->n, "\"k\":\"v%zu\"", i);
    shape_add(&rq->body, "}}");
}

/* Each element of the second list is decoded into the one at its place. */
static void make_repeated_lists(struct request *rq)
{
    shape_post(rq, PODS);
    shape_add(&rq->body, "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"containers\":[");
    EACH(&rq->body, rq->n, "{\"name\":\"c%06zu\"}", i);
    shape_add(&rq->body, "],\"containers\":[");
    EACH(&rq->body, rq->n, "{\"image\":\"a%zu\"}", i);
    shape_add(&rq->body, "]}}");
}

static void make_repeated_structs(struct request *rq)
{
    shape_post(rq, PODS);
    shape_add(&rq->body, "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"containers\":[{\"name\":\"c\","
                         "\"image\":\"a\"}]},");
    EACH(&rq->body, rq->n, "\"spec\":{\"hostname\":\"h%zu\"}", i);
    shape_add(&rq->body, "}");
}

static void make_nested(struct request *rq)
{
    shape_post(rq, MAPS);
    shape_add(&rq->body, "{\"metadata\":{\"name\":\"x\"},\"deep\":");
    shape_nest(&rq->body, rq->n, "1");
    shape_add(&rq->body, "}");
}

static void make_nested_duplicates(struct request *rq)
{
    shape_post(rq, MAPS);
    shape_add(&rq->body, "{\"metadata\":{\"name\":\"x\"},\"deep\":");
    for (size_t i = 0; i < rq->n; i++)
        shape_add(&rq->body, "{\"b\":1,\"b\":2,\"a\":1,\"a\":2,\"n\":");
    shape_add(&rq->body, "1");
    for (size_t i = 0; i < rq->n; i++)
        shape_add(&rq->body, "}");
    shape_add(&rq->body, "}");
}

static const struct shape table[] = {
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
    {"members", make_members, 0},
    {"members-reversed", make_reversed_members, 0},
    {"members-shuffled", make_shuffled_members, 0},
    {"members-of-the-object", make_top_members, 0},
    {"duplicate-members", make_duplicates, 0},
    {"one-duplicate-member", make_one_duplicate, 0},
    {"repeated-lists", make_repeated_lists, 0},
    {"repeated-structs", make_repeated_structs, 0},
    {"nested", make_nested, 980},
    {"nested-duplicates", make_nested_duplicates, 980},
};

const struct shapes shapes_of_objects = SHAPES(table);
