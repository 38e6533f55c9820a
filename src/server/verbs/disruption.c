/* A disruption budget as JSON bytes: reads its spec and status, and makes the budget that an
 * eviction stores when it takes a disruption.
 *
 * cor_disruption_take() checks in upstream's order: is the status as new as the spec, is
 * disruptionsAllowed not negative, are there few enough unconfirmed evictions, is a disruption
 * left. Then it makes the status with one disruption less, the pod in disruptedPods, and, when none
 * is left, the condition DisruptionAllowed=False. Nothing is kept: all functions are pure. */
#include "server/verbs/disruption.h"

#include <assert.h>
#include <stdio.h>

#include "base/err.h"
#include "base/limits.h"
#include "meta/names/field_error.h"
#include "meta/object/object_edit.h"
#include "meta/select/label_selector.h"
#include "meta/status/gvk.h"
#include "meta/value/time_text.h"
#include "schema/convert/conversion.h"
#include "schema/kinds/resource_row.h"
#include "server/strategy/status_conditions.h"
#include "json/text/scan.h"
#include "json/write/writer.h"

#define VIOLATES "Cannot evict pod as it would violate the pod's disruption budget."
#define CAUSE    "DisruptionBudget"

static struct cor_str status_of(const struct cor_object *budget)
{
    return cor_object_member(budget, COR_STR("status"));
}

/* A number of the object, 0 when it has none. */
static int64_t member_number(struct cor_str object, const char *key)
{
    struct cor_str value = cor_convert_member(object, key);
    int64_t n;

    return value.p && cor_json_to_i64(value, &n) == 0 ? n : 0;
}

int cor_disruption_selects(const struct cor_object *budget, const struct cor_object *pod,
                           bool *ret_selects)
{
    static const struct cor_field_path path = {.name = COR_STR("selector")};
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errs = {0};
    COR_CLEANUP(cor_label_selector_freep) struct cor_label_selector *selector = NULL;
    struct cor_str spec = cor_object_member(budget, COR_STR("spec"));
    struct cor_str labels = cor_object_meta_member(pod, COR_STR("labels"));
    struct cor_str json = cor_convert_member(spec, "selector");
    int r = cor_label_selector_read(json.p ? json : COR_STR("null"), &path, &errs, &selector);

    assert(budget && pod);
    *ret_selects = r == 0 && cor_label_selector_matches(selector, labels.p ? labels : COR_STR(""));
    return r == -COR_EINVALID ? 0 : r;
}

bool cor_disruption_spares_unready(const struct cor_object *budget)
{
    struct cor_str policy = cor_convert_member(cor_object_member(budget, COR_STR("spec")),
                                               "unhealthyPodEvictionPolicy");
    int64_t wanted = member_number(status_of(budget), "desiredHealthy");

    return cor_str_eq(policy.p ? policy : COR_STR(""), COR_STR("\"AlwaysAllow\"")) ||
           (wanted > 0 && member_number(status_of(budget), "currentHealthy") >= wanted);
}

int cor_disruption_is_behind(struct cor_str budget, struct cor_status *st)
{
    char text[512];
    int r = cor_status_too_many_requests(st, VIOLATES, 10);

    snprintf(text, sizeof(text),
             "The disruption budget %.*s is still being processed by the server.",
             COR_STR_ARG(budget));
    (void)cor_status_add_cause(st, CAUSE, text, NULL);
    return r;
}

static int disruption_refuse_last(const struct cor_object *budget, struct cor_status *st)
{
    char text[512];
    int r = cor_status_too_many_requests(st, VIOLATES, 0);

    snprintf(text, sizeof(text),
             "The disruption budget %.*s needs %lld healthy pods and has %lld currently",
             COR_STR_ARG(cor_object_name(budget)),
             (long long)member_number(status_of(budget), "desiredHealthy"),
             (long long)member_number(status_of(budget), "currentHealthy"));
    (void)cor_status_add_cause(st, CAUSE, text, NULL);
    return r;
}

static size_t count_members(struct cor_str object)
{
    struct cor_json_iter it = cor_json_iter(object.p ? object : COR_STR("{}"));
    struct cor_str key;
    size_t n = 0;

    while (cor_json_iter_member(&it, &key))
        n++;
    return n;
}

static int disruption_check(const struct cor_object *budget, struct cor_status *st)
{
    const struct cor_resource_row *budgets = cor_api_of_role(COR_ROLE_BUDGETS);
    const struct cor_gr gr = {budgets->group, budgets->singular};
    struct cor_str status = status_of(budget), name = cor_object_name(budget);
    int64_t allowed = member_number(status, "disruptionsAllowed");

    if (member_number(status, "observedGeneration") <
        cor_object_meta_int(budget, COR_STR("generation"), 0))
        return cor_disruption_is_behind(name, st);
    if (allowed < 0)
        return cor_status_forbidden(st, &gr, name, "pdb disruptions allowed is negative");
    if (count_members(cor_convert_member(status, "disruptedPods")) > COR_DISRUPTED_PODS_MAX)
        return cor_status_forbidden(st, &gr, name,
                                    "DisruptedPods map too big - too many evictions not confirmed "
                                    "by PDB controller");
    return allowed == 0 ? disruption_refuse_last(budget, st) : 0;
}

struct status_parts {
    char allowed[24];
    struct cor_buf pods, conditions, status;
};

static void status_parts_deinit(struct status_parts *p)
{
    cor_buf_deinit(&p->pods);
    cor_buf_deinit(&p->conditions);
    cor_buf_deinit(&p->status);
}

static int disruption_add_pod(struct cor_str pods, struct cor_str pod, int64_t now_s,
                              struct cor_buf *out)
{
    char text[COR_TIME_TEXT_MAX], quoted[COR_TIME_TEXT_MAX + 2];
    struct cor_str now = cor_time_print(now_s, text);
    struct cor_edits edits = {.n = 0};

    snprintf(quoted, sizeof(quoted), "\"%.*s\"", COR_STR_ARG(now));
    cor_edits_set(&edits, pod, cor_strz(quoted));
    return cor_edits_apply(&edits, pods.p ? pods : COR_STR("{}"), out);
}

/* The status with one disruption less, and with this pod among those that are being evicted. */
static int disruption_make_status(const struct cor_object *budget, struct cor_str pod,
                                  int64_t now_s, struct status_parts *p)
{
    const struct cor_condition none_left = {
        .type = "DisruptionAllowed",
        .status = "False",
        .reason = "InsufficientPods",
        .message = "",
        .observed_generation = member_number(status_of(budget), "observedGeneration"),
    };
    struct cor_str status = status_of(budget);
    int64_t left = member_number(status, "disruptionsAllowed") - 1;
    struct cor_edits edits = {.n = 0};
    int r;

    cor_buf_init(&p->pods, COR_OBJECT_BYTES_MAX_DEFAULT);
    cor_buf_init(&p->conditions, COR_OBJECT_BYTES_MAX_DEFAULT);
    cor_buf_init(&p->status, COR_OBJECT_BYTES_MAX_DEFAULT);
    r = disruption_add_pod(cor_convert_member(status, "disruptedPods"), pod, now_s, &p->pods);
    if (r == 0 && left == 0) {
        r = cor_condition_set(cor_convert_member(status, "conditions"), &none_left, now_s,
                              &p->conditions);
        cor_edits_set(&edits, COR_STR("conditions"), cor_buf_str(&p->conditions));
    }
    snprintf(p->allowed, sizeof(p->allowed), "%lld", (long long)left);
    cor_edits_set(&edits, COR_STR("disruptionsAllowed"), cor_strz(p->allowed));
    cor_edits_set(&edits, COR_STR("disruptedPods"), cor_buf_str(&p->pods));
    return r < 0 ? r : cor_edits_apply(&edits, status.p ? status : COR_STR("{}"), &p->status);
}

int cor_disruption_take(const struct cor_object *budget, struct cor_str pod, int64_t now_s,
                        struct cor_object **ret_budget, struct cor_status *reterr_status)
{
    COR_CLEANUP(status_parts_deinit) struct status_parts p = {0};
    struct cor_object_edit edit = {
        .kind = cor_object_kind(budget),
        .api_version = cor_object_api_version(budget),
        .top = cor_object_json(budget),
        .metadata = cor_object_metadata(budget),
    };
    int r;

    assert(pod.n > 0);
    r = disruption_check(budget, reterr_status);
    if (r < 0)
        return r;
    r = disruption_make_status(budget, pod, now_s, &p);
    if (r < 0)
        return cor_status_set_err(reterr_status, r);
    cor_edits_set(&edit.top_edits, COR_STR("status"), cor_buf_str(&p.status));
    return cor_object_edit(&edit, ret_budget, reterr_status);
}
