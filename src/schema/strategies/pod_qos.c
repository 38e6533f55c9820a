/* clang-format off */
/* The class follows from cpu and memory alone, and only amounts above zero count:
 *
 *   BestEffort   nothing requests or limits any of the two;
 *   Guaranteed   every container limits both, and what all request together is what all limit
 *                together, resource by resource;
 *   Burstable    everything else.
 *
 * A Pod with resources of its own is looked at as a whole, without its containers. Ephemeral
 * containers have no resources. Amounts are added only while the Pod can still be Guaranteed.
 * Thread: any. */
/* clang-format on */
#include "schema/strategies/pod_qos.h"

#include <stdbool.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "meta/value/quantity.h"
#include "schema/convert/conversion.h"
#include "json/text/scan.h"

enum { QOS_CPU, QOS_MEMORY, QOS_RESOURCES };
#define QUANTITY_BYTES_MAX 256

/* The sums of a list "requests" or "limits" over all containers. */
struct qos_sum {
    struct cor_buf text[QOS_RESOURCES]; /* empty: nothing */
};

struct qos {
    struct qos_sum requests, limits;
    bool can_be_guaranteed;
    int error; /* 0 or -COR_ENOMEM */
};

static void qos_init(struct qos *qos)
{
    *qos = (struct qos){.can_be_guaranteed = true};
    for (size_t i = 0; i < QOS_RESOURCES; i++) {
        cor_buf_init(&qos->requests.text[i], QUANTITY_BYTES_MAX);
        cor_buf_init(&qos->limits.text[i], QUANTITY_BYTES_MAX);
    }
}

static void qos_deinit(struct qos *qos)
{
    for (size_t i = 0; i < QOS_RESOURCES; i++) {
        cor_buf_deinit(&qos->requests.text[i]);
        cor_buf_deinit(&qos->limits.text[i]);
    }
}

/* Adds a quantity above zero to a sum. A sum with too many digits cannot be compared, and its Pod
 * is not Guaranteed. */
static void qos_add(struct qos *qos, struct cor_buf *sum, struct cor_str quantity)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf total = {.max = QUANTITY_BYTES_MAX};
    int r;

    if (sum->n == 0) {
        r = cor_buf_adds(sum, quantity);
    } else {
        r = cor_quantity_add(cor_buf_str(sum), quantity, &total);
        if (r == 0) {
            cor_buf_reset(sum);
            r = cor_buf_adds(sum, cor_buf_str(&total));
        }
    }
    if (r == -COR_ENOMEM)
        qos->error = r;
    else if (r < 0)
        qos->can_be_guaranteed = false;
}

/* Adds the list of one container. True: it has both resources. */
static bool qos_add_list(struct qos *qos, struct qos_sum *sum, struct cor_str list)
{
    static const char *const names[QOS_RESOURCES] = {"cpu", "memory"};
    size_t n = 0;

    for (size_t i = 0; list.p && i < QOS_RESOURCES; i++) {
        struct cor_str raw;
        int order;

        if (cor_json_to_raw(cor_convert_member(list, names[i]), &raw) < 0 ||
            cor_quantity_cmp(raw, COR_STR("0"), &order) < 0 || order <= 0)
            continue;
        qos_add(qos, &sum->text[i], raw);
        n++;
    }
    return n == QOS_RESOURCES;
}

/* Adds the resources of a container or of the Pod. */
static void qos_add_resources(struct qos *qos, struct cor_str resources, bool needs_limits)
{
    struct cor_str limits = cor_convert_member(resources, "limits");

    qos_add_list(qos, &qos->requests, cor_convert_member(resources, "requests"));
    if (!qos_add_list(qos, &qos->limits, limits) && (needs_limits || limits.p))
        qos->can_be_guaranteed = false;
}

/* Adds the containers of the list at the iterator's place, and moves behind it. */
static void qos_add_containers(struct qos *qos, struct cor_json_iter *it)
{
    struct cor_json_iter list = cor_json_iter(cor_json_iter_open_value(it));

    while (qos->error == 0 && cor_json_iter_elem(&list)) {
        struct cor_json_iter container = cor_json_iter(cor_json_iter_open_value(&list));
        struct cor_str key, resources = {NULL, 0};

        while (!resources.p && cor_json_iter_member(&container, &key)) {
            if (cor_str_eq(key, COR_STR("resources")))
                resources = cor_json_iter_value(&container);
        }
        qos_add_resources(qos, resources, true);
        cor_json_iter_leave(&list, &container);
    }
    cor_json_iter_leave(it, &list);
}

static bool qos_sums_agree(const struct qos *qos)
{
    for (size_t i = 0; i < QOS_RESOURCES; i++) {
        struct cor_str request = cor_buf_str(&qos->requests.text[i]);
        struct cor_str limit = cor_buf_str(&qos->limits.text[i]);
        int order = 0;

        if ((request.n == 0) != (limit.n == 0))
            return false;
        if (request.n > 0 && (cor_quantity_cmp(request, limit, &order) < 0 || order != 0))
            return false;
    }
    return true;
}

static bool qos_is_empty(const struct qos_sum *sum)
{
    return sum->text[QOS_CPU].n == 0 && sum->text[QOS_MEMORY].n == 0;
}

static const char *qos_class(const struct qos *qos)
{
    if (qos_is_empty(&qos->requests) && qos_is_empty(&qos->limits))
        return "BestEffort";
    return qos->can_be_guaranteed && qos_sums_agree(qos) ? "Guaranteed" : "Burstable";
}

int cor_pod_look(struct cor_str spec, struct cor_pod_look *ret_look)
{
    COR_CLEANUP(qos_deinit) struct qos qos;
    struct cor_json_iter it = cor_json_iter(spec), gates;
    struct cor_str key;

    qos_init(&qos);
    ret_look->is_gated = false;
    while (qos.error == 0 && cor_json_iter_member(&it, &key)) {
        if (cor_str_eq(key, COR_STR("containers")) || cor_str_eq(key, COR_STR("initContainers"))) {
            qos_add_containers(&qos, &it);
        } else if (cor_str_eq(key, COR_STR("resources"))) {
            /* Both lists of containers precede it, and do not count beside it. */
            qos_deinit(&qos);
            qos_init(&qos);
            qos_add_resources(&qos, cor_json_iter_value(&it), false);
        } else if (cor_str_eq(key, COR_STR("schedulingGates"))) {
            gates = cor_json_iter(cor_json_iter_value(&it));
            ret_look->is_gated = cor_json_iter_elem(&gates);
        }
    }
    ret_look->qos_class = qos_class(&qos);
    return qos.error;
}
