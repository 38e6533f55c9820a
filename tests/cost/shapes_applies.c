/* Managers of fields: lists of managedFields that a client sends, and applies whose configurations
 * have many items with keys. */
#include "shapes.h"

#define APPLY_TYPE "application/apply-patch+yaml"
/* The beginning of every configuration of a PodTemplate; more of its metadata may follow. */
#define CONFIG     "{\"apiVersion\":\"v1\",\"kind\":\"PodTemplate\",\"metadata\":{\"name\":\"x\""
#define CONTAINERS "},\"template\":{\"spec\":{\"containers\":["

static void make_managed_fields(struct request *rq)
{
    shape_post(rq, MAPS);
    shape_add(&rq->body, "{\"metadata\":{\"name\":\"x\",\"managedFields\":[");
    EACH(&rq->body, rq->n, "{\"manager\":\"m%zu\",\"operation\":\"Update\",\"fieldsV1\":{}}", i);
    shape_add(&rq->body, "]}}");
}

#define ENTRY(name, version, operation, fields)                                                    \
    "{\"manager\":\"" name "\",\"operation\":\"" operation "\",\"apiVersion\":\"" version          \
    "\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":" fields "}"
#define STALE "{\"f:data\":{\"f:zz\":{}}}"

/* Updates that are joined, because there may be ten. */
static void make_updaters(struct request *rq)
{
    shape_post(rq, MAPS);
    shape_add(&rq->body, "{\"metadata\":{\"name\":\"x\",\"managedFields\":[");
    EACH(&rq->body, rq->n,
         ENTRY("m%zu", "v1", "Update", "{\"f:metadata\":{\"f:labels\":{\"f:l%06zu\":{}}}}"), i, i);
    shape_add(&rq->body, "]}}");
}

/* Each entry replaces the one before it. */
static void make_repeated_manager(struct request *rq)
{
    shape_post(rq, MAPS);
    shape_add(&rq->body, "{\"metadata\":{\"name\":\"x\",\"managedFields\":[");
    EACH(&rq->body, rq->n, ENTRY("m", "v1", "Apply", "{\"f:data\":{\"f:k%06zu\":{}}}"), i);
    shape_add(&rq->body, "]}}");
}

/* Half of the entries are of a version that nobody knows. */
static void make_lost_versions(struct request *rq)
{
    shape_post(rq, MAPS);
    shape_add(&rq->body, "{\"metadata\":{\"name\":\"x\",\"managedFields\":[");
    EACH(&rq->body, rq->n, ENTRY("m%zu", "v%zu", "Apply", STALE), i, 1 + i % 2);
    shape_add(&rq->body, "]},\"data\":{\"k\":\"v\"}}");
}

static void store_appliers(struct request *rq)
{
    TEXT body = shape_text();

    shape_add(&body, "{\"metadata\":{\"name\":\"x\",\"managedFields\":[");
    EACH(&body, rq->n, ENTRY("m%zu", "v1", "Apply", STALE), i);
    shape_add(&body, "]},\"data\":{\"k\":\"v\"}}");
    (void)fx_do(rq->fx, 201, "POST", MAPS, cor_buf_z(&body));
}

/* All managers own the field that is applied. */
static void make_conflicts(struct request *rq)
{
    store_appliers(rq);
    shape_patch(rq, MAPS "/x?fieldManager=n", APPLY_TYPE);
    shape_add(&rq->body, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"data\":{\"zz\":\"1\"}}");
    rq->status = 409;
}

/* The same, with force. */
static void make_forced_apply(struct request *rq)
{
    store_appliers(rq);
    shape_patch(rq, MAPS "/x?fieldManager=n&force=true", APPLY_TYPE);
    shape_add(&rq->body, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"data\":{\"zz\":\"1\"}}");
}

/* One of many appliers gives up its field, so that the fields of all are looked at. */
static void make_pruning_apply(struct request *rq)
{
    store_appliers(rq);
    shape_patch(rq, MAPS "/x?fieldManager=m0", APPLY_TYPE);
    shape_add(&rq->body, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\"}");
}

/* ---- items with keys ---- */

/* How a configuration of many items differs from the first one. */
struct items {
    const char *field, *value; /* that each item has beside its key */
    bool is_reversed;
};

static const struct items first = {.field = "image", .value = "a"};
static const struct items changed = {.field = "image", .value = "b"};
static const struct items reversed = {.field = "image", .value = "a", .is_reversed = true};
static const struct items others = {.field = "workingDir", .value = "/"};

/* Appends a configuration with `n` containers, which have one key. */
static void add_containers(struct cor_buf *b, size_t n, const struct items *items)
{
    shape_add(b, CONFIG CONTAINERS);
    EACH(b, n, "{\"name\":\"c%06zu\",\"%s\":\"%s\"}", items->is_reversed ? n - 1 - i : i,
         items->field, items->value);
    shape_add(b, "]}}}");
}

/* Describes an apply of `n` containers by this manager. */
static void apply_containers(struct request *rq, const char *manager, size_t n,
                             const struct items *items)
{
    rq->method = "PATCH";
    rq->content_type = APPLY_TYPE;
    rq->status = 200;
    shape_add(&rq->target, TEMPLATES "/x?fieldManager=%s", manager);
    add_containers(&rq->body, n, items);
}

/* Stores a template "x" that the manager "m" applies. */
static void store_config(struct request *rq, struct cor_buf *config)
{
    const struct fx_headers headers = {.content_type = APPLY_TYPE};

    (void)fx_do_with(rq->fx, 201, "PATCH", TEMPLATES "/x?fieldManager=m", cor_buf_z(config),
                     &headers);
}

/* The same, with as many containers as the request has elements. */
static void store_applied(struct request *rq)
{
    TEXT body = shape_text();

    add_containers(&body, rq->n, &first);
    store_config(rq, &body);
}

static void make_apply_creates(struct request *rq)
{
    apply_containers(rq, "m", rq->n, &first);
    rq->status = 201;
}

static void make_apply_again(struct request *rq)
{
    store_applied(rq);
    apply_containers(rq, "m", rq->n, &first);
}

static void make_apply_changes(struct request *rq)
{
    store_applied(rq);
    apply_containers(rq, "m", rq->n, &changed);
}

static void make_apply_reversed(struct request *rq)
{
    store_applied(rq);
    apply_containers(rq, "m", rq->n, &reversed);
}

/* Items that are not in the configuration any more go. */
static void make_apply_fewer(struct request *rq)
{
    store_applied(rq);
    apply_containers(rq, "m", rq->n / 2, &first);
}

/* Both managers own the items afterwards, and each a field of them. */
static void make_apply_by_second(struct request *rq)
{
    store_applied(rq);
    apply_containers(rq, "n", rq->n, &others);
}

static void make_apply_against_first(struct request *rq)
{
    store_applied(rq);
    apply_containers(rq, "n", rq->n, &changed);
    rq->status = 409;
}

static void make_apply_takes(struct request *rq)
{
    store_applied(rq);
    apply_containers(rq, "n&force=true", rq->n, &changed);
}

/* An update of every item that the applier owns. */
static void make_update_of_applied(struct request *rq)
{
    store_applied(rq);
    apply_containers(rq, "n", rq->n, &changed);
    rq->content_type = "application/strategic-merge-patch+json";
}

/* Two keys, of which one has a default. */
static void make_apply_ports(struct request *rq)
{
    TEXT body = shape_text();

    shape_add(&body, CONFIG CONTAINERS "{\"name\":\"c\",\"image\":\"a\",\"ports\":[");
    EACH(&body, rq->n, "{\"containerPort\":%zu%s}", 1 + i / 2,
         i % 2 ? ",\"protocol\":\"UDP\"" : "");
    shape_add(&body, "]}]}}}");
    store_config(rq, &body);
    shape_patch(rq, TEMPLATES "/x?fieldManager=n", APPLY_TYPE);
    shape_add(&rq->body, "%s", cor_buf_z(&body));
}

/* Items that are their own keys. */
static void make_apply_set(struct request *rq)
{
    TEXT body = shape_text();

    shape_add(&body, CONFIG ",");
    shape_finalizers(&body, rq->n);
    shape_add(&body, CONTAINERS "{\"name\":\"c\",\"image\":\"a\"}]}}}");
    store_config(rq, &body);
    shape_patch(rq, TEMPLATES "/x?fieldManager=n", APPLY_TYPE);
    shape_add(&rq->body, "%s", cor_buf_z(&body));
}

static const struct shape table[] = {
    {"managed-fields", make_managed_fields, 0},
    {"managed-fields-of-updates", make_updaters, 0},
    {"managed-fields-of-one-manager", make_repeated_manager, 0},
    {"managed-fields-of-lost-versions", make_lost_versions, 0},
    {"apply-conflicts", make_conflicts, 0},
    {"forced-apply", make_forced_apply, 0},
    {"pruning-apply", make_pruning_apply, 0},
    {"apply-creates-items", make_apply_creates, 0},
    {"apply-of-the-same-items", make_apply_again, 0},
    {"apply-changes-items", make_apply_changes, 0},
    {"apply-of-reversed-items", make_apply_reversed, 0},
    {"apply-of-fewer-items", make_apply_fewer, 0},
    {"apply-of-items-by-a-second-manager", make_apply_by_second, 0},
    {"apply-of-items-that-conflict", make_apply_against_first, 0},
    {"apply-takes-items", make_apply_takes, 0},
    {"update-of-applied-items", make_update_of_applied, 0},
    {"apply-of-items-with-two-keys", make_apply_ports, 0},
    {"apply-of-a-set", make_apply_set, 0},
};

const struct shapes shapes_of_applies = SHAPES(table);
