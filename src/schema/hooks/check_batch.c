/* The hooks of validation for the spec of Jobs and CronJobs (schema/check/check.h describes what
 * they work with). What a Job's status may become is in check_job_status.c. Thread: any. */
#include "schema/hooks/check_batch.h"

#include <string.h>

#include "base/err.h"
#include "base/limits.h"
#include "meta/select/label_selector.h"
#include "schema/go/index_list.h"
#include "schema/hooks/hooks.h"
#include "schema/walk/equal.h"
#include "json/write/writer.h"

#define INDEXES_MAX 65536
#define CODES_MAX   255
#define WORDS_MAX   (8 * COR_OBJECT_BYTES_MAX_DEFAULT) /* they may hold the whole text, quoted */
#define LABELS_MAX  (16u << 20)                        /* a name is as long as the request allows */

static const char *const uid_labels[] = {"controller-uid", "batch.kubernetes.io/controller-uid"};
static const char *const name_labels[] = {"job-name", "batch.kubernetes.io/job-name"};

/* --- Selectors -------------------------------------------------------------------------------- */

static void check_label(struct cor_check *check, const struct cor_place *labels, const char *key,
                        struct cor_str want)
{
    struct cor_place entry;

    if (!cor_place_entry(check, labels, cor_strz(key), &entry))
        cor_check_required(check, &entry,
                           cor_check_printf(check, "must be '%.*s'", COR_STR_ARG(want)));
    else if (!cor_str_eq(cor_place_text(check, &entry), want))
        cor_check_add_value(check, COR_FIELD_INVALID, &entry, cor_check_value(check, labels),
                            cor_check_printf(check, "must be '%.*s'", COR_STR_ARG(want)));
}

/* Returns whether the selector selects the labels that the server gives to the job's pods, and
 * requires no others. */
static bool selects_generated(struct cor_check *check, const struct cor_place *selector,
                              struct cor_str uid, struct cor_str name)
{
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors mistakes = {0};
    COR_CLEANUP(cor_label_selector_freep) struct cor_label_selector *made = NULL;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf labels = {0};
    struct cor_json_writer w;
    int r;

    r = cor_label_selector_read(cor_place_json(check, selector), &selector->path, &mistakes, &made);
    cor_check_note(check, r);
    if (r < 0)
        return true;
    cor_buf_init(&labels, LABELS_MAX);
    cor_json_writer_init(&w, &labels);
    cor_json_begin_object(&w);
    cor_json_member(&w, cor_strz(uid_labels[1]), uid);
    cor_json_member(&w, cor_strz(name_labels[1]), name);
    cor_json_member(&w, cor_strz(uid_labels[0]), uid);
    cor_json_member(&w, cor_strz(name_labels[0]), name);
    cor_json_end_object(&w);
    r = cor_json_writer_finish(&w);
    cor_check_note(check, r);
    return r < 0 || cor_label_selector_matches(made, cor_buf_str(&labels));
}

/* Old jobs may lack the labels with a prefix; an update does not ask for them then. */
COR_HOOK(generated_selector)
{
    struct cor_place spec, metadata, selector, template, template_meta, labels, old, entry, id;
    bool has_prefixed = true;
    struct cor_str uid, name;

    cor_place_field(check, place, "spec", &spec);
    cor_place_field(check, place, "metadata", &metadata);
    if (cor_field_bool(check, &spec, "manualSelector") ||
        !cor_place_field(check, &spec, "selector", &selector))
        return;
    cor_place_field(check, &metadata, "uid", &id);
    uid = cor_place_text(check, &id);
    name = cor_field_text(check, &metadata, "name");
    if (uid.n == 0)
        cor_check_required(check, &id, NULL);
    cor_place_field(check, &spec, "template", &template);
    cor_place_field(check, &template, "metadata", &template_meta);
    cor_place_field(check, &template_meta, "labels", &labels);
    if (check->has_old) {
        old = cor_place_old(&labels);
        has_prefixed = cor_place_entry(check, &old, cor_strz(uid_labels[1]), &entry) &&
                       cor_place_entry(check, &old, cor_strz(name_labels[1]), &entry);
    }
    for (size_t i = 0; i < (has_prefixed ? 2u : 1u); i++) {
        check_label(check, &labels, uid_labels[i], uid);
        check_label(check, &labels, name_labels[i], name);
    }
    if (!selects_generated(check, &selector, uid, name))
        cor_check_invalid(check, &selector, "`selector` not auto-generated");
}

COR_HOOK(indexed_name)
{
    struct cor_place spec, metadata, name, completions;
    const char *last;
    int64_t n;

    cor_place_field(check, place, "spec", &spec);
    cor_place_field(check, place, "metadata", &metadata);
    cor_place_field(check, &metadata, "name", &name);
    cor_place_field(check, &spec, "completions", &completions);
    n = cor_place_int(check, &completions);
    if (n <= 0)
        return;
    last = cor_check_printf(check, "%.*s-%lld", COR_STR_ARG(cor_place_text(check, &name)),
                            (long long)n - 1);
    if (!cor_format_ok(COR_FORMAT_DNS_LABEL, cor_strz(last)))
        cor_check_invalid(check, &name,
                          cor_check_printf(check,
                                           "will not able to create pod with invalid DNS label: %s",
                                           last));
}

/* --- What an update may change ---------------------------------------------------------------- */

/* Is everything in a struct unchanged, except for the members named? */
static bool is_kept_but(struct cor_check *check, const struct cor_place *place,
                        const char *const *names, size_t n)
{
    for (size_t i = 0; i < cor_type_nmembers(place->type); i++) {
        struct cor_member member;
        struct cor_place field;
        bool may_change = false;

        cor_type_member(place->type, i, &member);
        for (size_t j = 0; j < n; j++)
            may_change =
                may_change || cor_str_eq(cor_type_field_name(member.field), cor_strz(names[j]));
        if (may_change)
            continue;
        cor_place_member(check, place, i, &field);
        if (cor_place_is_changed(check, &field))
            return false;
    }
    return true;
}

/* Node affinity may change; the rest of an affinity may not. */
static bool is_affinity_kept(struct cor_check *check, const struct cor_place *spec)
{
    static const char *const free[] = {"nodeAffinity"};
    struct cor_place affinity;

    cor_place_field(check, spec, "affinity", &affinity);
    return is_kept_but(check, &affinity, free, COR_ARRAY_LEN(free));
}

/* While a job is suspended and has never started, where its pods may run can be changed. */
static bool may_be_placed(struct cor_check *check, const struct cor_place *template)
{
    struct cor_place old_spec = cor_place_old(template->parent), status, old_status, start;

    cor_place_field(check, template->parent->parent, "status", &status);
    old_status = cor_place_old(&status);
    return cor_field_bool(check, &old_spec, "suspend") &&
           !cor_place_field(check, &old_status, "startTime", &start);
}

COR_HOOK(job_template)
{
    static const char *const of_meta[] = {"annotations", "labels"};
    static const char *const of_spec[] = {"affinity", "nodeSelector", "schedulingGates",
                                          "tolerations"};
    struct cor_place metadata, spec;

    if (!cor_place_is_changed(check, place))
        return;
    cor_place_field(check, place, "metadata", &metadata);
    cor_place_field(check, place, "spec", &spec);
    if (may_be_placed(check, place) &&
        is_kept_but(check, &metadata, of_meta, COR_ARRAY_LEN(of_meta)) &&
        is_kept_but(check, &spec, of_spec, COR_ARRAY_LEN(of_spec)) &&
        is_affinity_kept(check, &spec))
        return;
    cor_check_invalid(check, place, "field is immutable");
}

/* --- Policies --------------------------------------------------------------------------------- */

COR_HOOK(fail_index)
{
    const struct cor_place *spec = cor_place_around(place, "JobSpec");
    struct cor_place limit, action;

    if (!spec || cor_place_field(check, spec, "backoffLimitPerIndex", &limit))
        return;
    cor_place_field(check, place, "action", &action);
    cor_check_invalid(check, &action, "requires the backoffLimitPerIndex to be set");
}

/* The names of the template's containers are remembered at the first rule that names one. */
COR_HOOK(policy_container)
{
    static const char *const lists[] = {"containers", "initContainers"};
    const struct cor_place *spec = cor_place_around(place, "JobSpec");
    struct cor_place template, pod, list, container;

    if (!spec || !cor_place_is_present(place))
        return;
    cor_place_field(check, spec, "template", &template);
    cor_place_field(check, &template, "spec", &pod);
    if (cor_check_see(check, COR_SEEN_POLICY_CONTAINERS, spec, COR_STR(""))) {
        for (size_t i = 0; i < COR_ARRAY_LEN(lists); i++) {
            cor_place_field(check, &pod, lists[i], &list);
            COR_EACH(check, &list, container)
                (void)cor_check_see(check, COR_SEEN_POLICY_CONTAINERS, spec,
                                    cor_field_text(check, &container, "name"));
        }
    }
    if (cor_place_is_empty(check, place) ||
        !cor_check_has_seen(check, COR_SEEN_POLICY_CONTAINERS, cor_place_text(check, place)))
        cor_check_invalid(
            check, place,
            "must be one of the container or initContainer names in the pod template");
}

COR_HOOK(exit_codes)
{
    bool is_in = cor_str_eq(cor_field_text(check, place->parent, "operator"), COR_STR("In"));
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set seen = {.nfew = 0};
    size_t n = cor_place_length(check, place), i = 0;
    struct cor_each each = cor_each(check, place);
    struct cor_place code;
    bool is_ordered = true;
    int64_t last = 0;

    if (n == 0)
        cor_check_invalid(check, place, "at least one value is required");
    else if (n > CODES_MAX)
        cor_check_too_many(check, place, CODES_MAX);
    cor_str_set_init(&seen, COR_OBJECT_BYTES_MAX_DEFAULT);
    for (; cor_each_next(check, &each, &code); i++) {
        int64_t value = cor_place_int(check, &code);
        bool is_new = true;

        if (is_in && value == 0)
            cor_check_invalid(check, &code, "must not be 0 for the In operator");
        cor_check_note(check, cor_str_set_add(&seen, cor_place_json(check, &code), &is_new));
        if (!is_new)
            cor_check_duplicate(check, &code);
        is_ordered = is_ordered && (i == 0 || last <= value);
        last = value;
    }
    if (!is_ordered)
        cor_check_invalid(check, place, "must be ordered");
}

COR_HOOK(success_rule)
{
    const struct cor_place *spec = cor_place_around(place, "JobSpec");
    COR_CLEANUP(cor_buf_deinit) struct cor_buf why = {.max = WORDS_MAX};
    struct cor_place indexes, count;
    int64_t completions, n;
    int32_t total = 0;
    bool has_indexes;
    int r;

    completions = spec ? cor_field_int(check, spec, "completions") : 0;
    has_indexes = cor_place_field(check, place, "succeededIndexes", &indexes);
    if (has_indexes) {
        if (cor_place_length(check, &indexes) > INDEXES_MAX)
            cor_check_too_long(check, &indexes, INDEXES_MAX);
        r = cor_index_list_check(cor_place_text(check, &indexes), (int32_t)completions, &total,
                                 &why);
        if (r > 0)
            cor_check_invalid(
                check, &indexes,
                cor_check_printf(check, "error parsing succeededIndexes: %s", cor_buf_z(&why)));
        else
            cor_check_note(check, r);
    }
    if (!cor_place_field(check, place, "succeededCount", &count))
        return;
    n = cor_place_int(check, &count);
    if (n < 0)
        cor_check_invalid(check, &count, "must be greater than or equal to 0");
    if (n > completions)
        cor_check_invalid(
            check, &count,
            cor_check_printf(
                check, "must be less than or equal to %lld (the number of specified completions)",
                (long long)completions));
    if (has_indexes && n > total)
        cor_check_invalid(
            check, &count,
            cor_check_printf(check,
                             "must be less than or equal to %d (the number of indexes "
                             "in the specified succeededIndexes field)",
                             (int)total));
}

/* --- CronJob ---------------------------------------------------------------------------------- */

static bool has_zone(struct cor_str schedule)
{
    return memmem(schedule.p, schedule.n, "TZ", 2) != NULL;
}

COR_HOOK(schedule)
{
    struct cor_str text = cor_place_text(check, place);
    struct cor_place old = cor_place_old(place), zone;
    bool had_zone = check->has_old && has_zone(cor_place_text(check, &old));

    cor_check_format(check, place, COR_FORMAT_CRON);
    if (!has_zone(text))
        return;
    if (!had_zone)
        cor_check_invalid(check, place,
                          "cannot use TZ or CRON_TZ in schedule, use timeZone field instead");
    else if (cor_place_field(check, place->parent, "timeZone", &zone))
        cor_check_invalid(check, place,
                          "cannot use both timeZone field and TZ or CRON_TZ in schedule");
}
