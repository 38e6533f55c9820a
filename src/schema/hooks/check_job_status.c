/* The hooks of validation for the status of a Job (contract validation 5.5.20): how conditions,
 * times, counts and indexes fit together and may change. Most rules look only at what the write
 * changes, so that a job with a mistake of the past can be written.
 * Thread: any. */
#include "base/err.h"
#include "base/limits.h"
#include "schema/go/index_list.h"
#include "schema/hooks/check_batch.h"
#include "schema/hooks/hooks.h"

#define WORDS_MAX (8 * COR_OBJECT_BYTES_MAX_DEFAULT) /* they may hold the whole text, quoted */

/* Which conditions are true. */
struct conditions {
    bool complete, failed, failure_target, success_criteria_met;
};

static struct conditions read_conditions(struct cor_check *check, const struct cor_place *status)
{
    struct conditions found = {false, false, false, false};
    struct cor_place list, item;

    cor_place_field(check, status, "conditions", &list);
    COR_EACH(check, &list, item) {
        struct cor_str type = cor_field_text(check, &item, "type");
        bool is_true = cor_str_eq(cor_field_text(check, &item, "status"), COR_STR("True"));

        found.complete = found.complete || (is_true && cor_str_eq(type, COR_STR("Complete")));
        found.failed = found.failed || (is_true && cor_str_eq(type, COR_STR("Failed")));
        found.failure_target =
            found.failure_target || (is_true && cor_str_eq(type, COR_STR("FailureTarget")));
        found.success_criteria_met = found.success_criteria_met ||
                                     (is_true && cor_str_eq(type, COR_STR("SuccessCriteriaMet")));
    }
    return found;
}

static bool is_finished(const struct conditions *c)
{
    return c->complete || c->failed;
}

/* Both states of a job. */
struct states {
    const struct cor_place *spec, *status, *old_status;
    struct conditions now, before;
};

static bool has_changed(struct cor_check *check, const struct states *s, const char *field)
{
    struct cor_place place;

    cor_place_field(check, s->status, field, &place);
    return cor_place_is_changed(check, &place);
}

static void refuse_conditions(struct cor_check *check, const struct states *s, const char *detail)
{
    struct cor_place list;

    cor_place_field(check, s->status, "conditions", &list);
    cor_check_add_value(check, COR_FIELD_INVALID, &list, cor_field_none(), detail);
}

static void refuse(struct cor_check *check, const struct states *s, const char *field,
                   const char *detail)
{
    struct cor_place place;

    cor_place_field(check, s->status, field, &place);
    cor_check_invalid(check, &place, detail);
}

static void require(struct cor_check *check, const struct states *s, const char *field,
                    const char *detail)
{
    struct cor_place place;

    cor_place_field(check, s->status, field, &place);
    cor_check_required(check, &place, detail);
}

static bool is_set(struct cor_check *check, const struct cor_place *owner, const char *field)
{
    struct cor_place place;

    return cor_place_field(check, owner, field, &place);
}

/* --- Parts ------------------------------------------------------------------------------------ */

COR_HOOK(uncounted_pods)
{
    static const char *const lists[] = {"succeeded", "failed"};
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set seen = {.nfew = 0};
    struct cor_place pods, list, uid;

    if (!cor_place_field(check, place, "uncountedTerminatedPods", &pods))
        return;
    cor_str_set_init(&seen, COR_OBJECT_BYTES_MAX_DEFAULT);
    for (size_t i = 0; i < COR_ARRAY_LEN(lists); i++) {
        cor_place_field(check, &pods, lists[i], &list);
        COR_EACH(check, &list, uid) {
            struct cor_str text = cor_place_text(check, &uid);
            bool is_new = true;

            if (text.n == 0) {
                cor_check_invalid(check, &uid, "must not be empty");
                continue;
            }
            cor_check_note(check, cor_str_set_add(&seen, text, &is_new));
            if (!is_new)
                cor_check_duplicate(check, &uid);
        }
    }
}

/* Times of a status are RFC 3339 with seconds and Z after normalisation, so their texts are in
 * order. */
static bool is_before(struct cor_check *check, const struct cor_place *status, const char *a,
                      const char *b)
{
    struct cor_str first = cor_field_text(check, status, a);
    struct cor_str second = cor_field_text(check, status, b);

    return first.n > 0 && second.n > 0 && cor_str_cmp(first, second) < 0;
}

static void check_times(struct cor_check *check, const struct states *s)
{
    bool completed = s->now.complete != s->before.complete;
    bool time_changed = has_changed(check, s, "completionTime");

    if ((completed || time_changed) && is_set(check, s->status, "completionTime") &&
        !s->now.complete)
        refuse(check, s, "completionTime",
               "cannot set completionTime when there is no Complete=True condition");
    if ((completed || time_changed) && !is_set(check, s->status, "completionTime") &&
        s->now.complete)
        require(check, s, "completionTime", "completionTime is required for Complete jobs");
    if ((time_changed || has_changed(check, s, "startTime")) &&
        is_before(check, s->status, "completionTime", "startTime"))
        refuse(check, s, "completionTime", "must be equal to or after `startTime`");
}

static void check_index_text(struct cor_check *check, const struct states *s, const char *field)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf why = {.max = WORDS_MAX};
    int64_t completions = cor_field_int(check, s->spec, "completions");
    struct cor_place place;
    int32_t total;
    int r;

    cor_place_field(check, s->status, field, &place);
    r = cor_index_list_check(cor_place_text(check, &place), (int32_t)completions, &total, &why);
    if (r > 0)
        cor_check_invalid(check, &place,
                          cor_check_printf(check, "error parsing %s: %s", field, cor_buf_z(&why)));
    else
        cor_check_note(check, r);
}

static void check_indexes(struct cor_check *check, const struct states *s)
{
    bool completed_changed = has_changed(check, s, "completedIndexes");
    bool failed_changed = has_changed(check, s, "failedIndexes");
    bool has_completions = is_set(check, s->spec, "completions");
    bool has_limit = is_set(check, s->spec, "backoffLimitPerIndex");
    bool is_indexed =
        cor_str_eq(cor_field_text(check, s->spec, "completionMode"), COR_STR("Indexed"));
    bool has_failed = is_set(check, s->status, "failedIndexes");
    int32_t shared;

    if (completed_changed && has_completions)
        check_index_text(check, s, "completedIndexes");
    if (failed_changed && has_completions && has_limit && has_failed)
        check_index_text(check, s, "failedIndexes");
    if (completed_changed && !is_indexed &&
        cor_field_text(check, s->status, "completedIndexes").n > 0)
        refuse(check, s, "completedIndexes",
               "cannot set non-empty completedIndexes when non-indexed completion mode");
    if (failed_changed && !has_limit && has_failed)
        refuse(check, s, "failedIndexes",
               "cannot set non-null failedIndexes when backoffLimitPerIndex is null");
    if (!(failed_changed || completed_changed) || !has_completions || !has_failed)
        return;
    shared = cor_index_lists_overlap(cor_field_text(check, s->status, "completedIndexes"),
                                     cor_field_text(check, s->status, "failedIndexes"),
                                     (int32_t)cor_field_int(check, s->spec, "completions"));
    if (shared >= 0)
        refuse(check, s, "failedIndexes",
               cor_check_printf(check, "failedIndexes and completedIndexes overlap at index: %d",
                                (int)shared));
}

/* What a job that has ended may not have any more. */
static void check_finished(struct cor_check *check, const struct states *s)
{
    bool ended = is_finished(&s->now) != is_finished(&s->before);
    bool is_empty_suspended = cor_field_bool(check, s->spec, "suspend") &&
                              is_set(check, s->spec, "completions") &&
                              cor_field_int(check, s->spec, "completions") == 0;
    struct cor_place pods, list;

    if ((ended || has_changed(check, s, "active")) && is_finished(&s->now) &&
        cor_field_int(check, s->status, "active") > 0)
        refuse(check, s, "active", "active>0 is invalid for finished job");
    if ((ended || has_changed(check, s, "startTime")) && !is_empty_suspended &&
        is_finished(&s->now) && !is_set(check, s->status, "startTime"))
        require(check, s, "startTime", "startTime is required for finished job");
    if ((ended || has_changed(check, s, "uncountedTerminatedPods")) && is_finished(&s->now) &&
        cor_place_field(check, s->status, "uncountedTerminatedPods", &pods)) {
        size_t n;

        cor_place_field(check, &pods, "failed", &list);
        n = cor_place_length(check, &list);
        cor_place_field(check, &pods, "succeeded", &list);
        if (n + cor_place_length(check, &list) > 0)
            cor_check_invalid(check, &pods, "must be empty for finished job");
    }
}

static void check_condition_pairs(struct cor_check *check, const struct states *s)
{
    const struct conditions *now = &s->now, *before = &s->before;
    bool completed = now->complete != before->complete, failed = now->failed != before->failed;

    if ((completed || failed) && now->complete && now->failed)
        refuse_conditions(check, s, "cannot set Complete=True and Failed=true conditions");
    if ((completed || now->failure_target != before->failure_target) && now->complete &&
        now->failure_target)
        refuse_conditions(check, s, "cannot set Complete=True and FailureTarget=true conditions");
    check_times(check, s);
    if ((failed || has_changed(check, s, "failedIndexes")) && now->failed && !now->failure_target)
        refuse_conditions(
            check, s, "cannot set Failed=True condition without the FailureTarget=true condition");
    if ((completed || now->success_criteria_met != before->success_criteria_met) && now->complete &&
        !now->success_criteria_met)
        refuse_conditions(check, s,
                          "cannot set Complete=True condition without the SuccessCriteriaMet=true "
                          "condition");
}

static void check_success_criteria(struct cor_check *check, const struct states *s)
{
    const struct conditions *now = &s->now;

    if (now->success_criteria_met && now->failed)
        refuse_conditions(check, s,
                          "cannot set SuccessCriteriaMet=True and Failed=true conditions");
    if (now->success_criteria_met && now->failure_target)
        refuse_conditions(check, s,
                          "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions");
    if (is_set(check, s->spec, "successPolicy") && !now->success_criteria_met && now->complete)
        refuse_conditions(check, s,
                          "cannot set Complete=True for Job with SuccessPolicy unless "
                          "SuccessCriteriaMet=True");
}

/* What may not be taken back. */
static void check_progress(struct cor_check *check, const struct states *s)
{
    const struct conditions *now = &s->now, *before = &s->before;
    bool is_indexed =
        cor_str_eq(cor_field_text(check, s->spec, "completionMode"), COR_STR("Indexed"));
    bool may_shrink = is_indexed && cor_field_int(check, s->spec, "completions") ==
                                        cor_field_int(check, s->spec, "parallelism");

    if (before->failed && !now->failed)
        refuse_conditions(check, s, "cannot disable the terminal Failed=True condition");
    if (before->complete && !now->complete)
        refuse_conditions(check, s, "cannot disable the terminal Complete=True condition");
    if (before->failure_target && !now->failure_target)
        refuse_conditions(check, s, "cannot disable the terminal FailureTarget=True condition");
    if (cor_field_int(check, s->status, "failed") < cor_field_int(check, s->old_status, "failed"))
        refuse(check, s, "failed", "cannot decrease the failed counter");
    if (!may_shrink && cor_field_int(check, s->status, "succeeded") <
                           cor_field_int(check, s->old_status, "succeeded"))
        refuse(check, s, "succeeded", "cannot decrease the succeeded counter");
    if (is_set(check, s->status, "completionTime") &&
        is_set(check, s->old_status, "completionTime") && has_changed(check, s, "completionTime"))
        refuse(check, s, "completionTime", "field is immutable");
    if (is_set(check, s->old_status, "startTime") && has_changed(check, s, "startTime") &&
        !cor_field_bool(check, s->spec, "suspend"))
        require(check, s, "startTime", "startTime cannot be removed for unsuspended job");
    if (before->success_criteria_met && !now->success_criteria_met)
        refuse_conditions(check, s, "cannot disable the SuccessCriteriaMet=True condition");
    if (before->complete && !before->success_criteria_met && now->success_criteria_met)
        refuse_conditions(check, s,
                          "cannot set SuccessCriteriaMet=True for Job already has Complete=true "
                          "conditions");
}

/* The place is the Job. */
COR_HOOK(job_status)
{
    bool ended;
    struct cor_place spec, status, old_status;
    struct states s = {.spec = &spec, .status = &status, .old_status = &old_status};

    cor_place_field(check, place, "spec", &spec);
    cor_place_field(check, place, "status", &status);
    old_status = cor_place_old(&status);
    s.now = read_conditions(check, &status);
    s.before = read_conditions(check, &old_status);
    ended = is_finished(&s.now) != is_finished(&s.before);
    check_condition_pairs(check, &s);
    check_finished(check, &s);
    check_indexes(check, &s);
    if ((ended || has_changed(check, &s, "terminating")) && is_finished(&s.now) &&
        cor_field_int(check, &status, "terminating") > 0)
        refuse(check, &s, "terminating", "terminating>0 is invalid for finished job");
    if ((has_changed(check, &s, "ready") || has_changed(check, &s, "active")) &&
        cor_field_int(check, &status, "ready") > cor_field_int(check, &status, "active"))
        refuse(check, &s, "ready", "cannot set more ready pods than active");
    check_success_criteria(check, &s);
    check_progress(check, &s);
}
