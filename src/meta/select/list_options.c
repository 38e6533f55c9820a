#include "meta/select/list_options.h"

#include "base/err.h"
#include "base/limits.h"
#include "meta/names/field_error.h"
#include "meta/names/key.h"
#include "meta/select/continue_token.h"
#include "meta/status/resource_version.h"

#define EXPIRED "The resourceVersion for the provided list is too old."
#define CONTINUE_EXPIRED                                                                           \
    "The provided continue parameter is too old to display a consistent list result. You can "     \
    "start a new list without the continue parameter."
#define CONTINUE_INCONSISTENT                                                                      \
    "The provided continue parameter is too old to display a consistent list result. You can "     \
    "start a new list without the continue parameter, or use the continue token in this response " \
    "to retrieve the remainder of the results. Continuing with the provided token results in an "  \
    "inconsistent list - objects that were created, modified, or deleted between the time the "    \
    "first chunk was returned and now may show up in the list."

static const char *const list_matches[] = {"Exact", "NotOlderThan", ""};
static const char *const watch_matches[] = {"NotOlderThan"};
static const struct cor_field_path match_path = {.name = COR_STR("resourceVersionMatch")};
static const struct cor_field_path initial_path = {.name = COR_STR("sendInitialEvents")};

static bool is_legacy_version(struct cor_str rv)
{
    return rv.n == 0 || cor_str_eq(rv, COR_STR("0"));
}

void cor_list_options_set_defaults(struct cor_list_options *opts)
{
    if (!opts->watch || opts->send_initial_events != COR_UNSET ||
        opts->resource_version_match.n > 0 || !is_legacy_version(opts->resource_version))
        return;
    opts->send_initial_events = COR_TRUE;
    opts->resource_version_match = COR_STR("NotOlderThan");
}

static void forbid(struct cor_field_errors *errs, const struct cor_field_path *path,
                   const char *detail)
{
    cor_field_errors_add(errs, COR_FIELD_FORBIDDEN, path, cor_field_none(), detail);
}

static void check_list_match(const struct cor_list_options *opts, struct cor_field_errors *errs)
{
    struct cor_str match = opts->resource_version_match;
    bool exact = cor_str_eq(match, COR_STR("Exact"));

    if (match.n == 0)
        return;
    if (opts->resource_version.n == 0)
        forbid(errs, &match_path,
               "resourceVersionMatch is forbidden unless resourceVersion is provided");
    if (opts->continue_token.n > 0)
        forbid(errs, &match_path, "resourceVersionMatch is forbidden when continue is provided");
    if (!exact && !cor_str_eq(match, COR_STR("NotOlderThan")))
        cor_field_errors_add_not_supported(errs, &match_path, cor_field_string(match), list_matches,
                                           COR_ARRAY_LEN(list_matches));
    if (exact && cor_str_eq(opts->resource_version, COR_STR("0")))
        forbid(errs, &match_path,
               "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
}

static void check_watch_match(const struct cor_list_options *opts, struct cor_field_errors *errs)
{
    struct cor_str match = opts->resource_version_match;
    bool not_older = cor_str_eq(match, COR_STR("NotOlderThan"));

    if (opts->send_initial_events != COR_UNSET && !not_older)
        forbid(errs, &match_path,
               "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
    if (match.n == 0)
        return;
    if (opts->send_initial_events == COR_UNSET)
        forbid(errs, &match_path,
               "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
    if (!not_older)
        cor_field_errors_add_not_supported(errs, &match_path, cor_field_string(match),
                                           watch_matches, COR_ARRAY_LEN(watch_matches));
    if (opts->continue_token.n > 0)
        forbid(errs, &match_path, "resourceVersionMatch is forbidden when continue is provided");
}

int cor_list_options_validate(const struct cor_list_options *opts, struct cor_status *reterr_status)
{
    static const struct cor_gk gk = {COR_STR("meta.k8s.io"), COR_STR("ListOptions")};
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errs = {0};

    if (opts->watch) {
        check_watch_match(opts, &errs);
    } else {
        check_list_match(opts, &errs);
        if (opts->send_initial_events != COR_UNSET)
            forbid(&errs, &initial_path, "sendInitialEvents is forbidden for list");
    }
    if (errs.n == 0 && errs.error == 0)
        return 0;
    return cor_status_invalid(reterr_status, &gk, COR_STR(""), &errs);
}

void cor_list_plan_deinit(struct cor_list_plan *plan)
{
    cor_buf_deinit(&plan->start);
}

static int resolve_continue(const struct cor_list_options *opts, struct cor_str key_prefix,
                            struct cor_list_plan *ret_plan, struct cor_status *st)
{
    struct cor_buf start;
    int64_t rev;
    int r;

    cor_buf_init(&start, key_prefix.n + COR_KEY_BYTES_MAX);
    r = cor_continue_decode(opts->continue_token, key_prefix, &start, &rev, st);
    if (r == 0 && !is_legacy_version(opts->resource_version))
        r = cor_status_bad_request(
            st, "specifying resource version is not allowed when using continue");
    if (r < 0) {
        cor_buf_deinit(&start);
        return r;
    }
    *ret_plan =
        (struct cor_list_plan){.mode = rev > 0 ? COR_READ_CONTINUE : COR_READ_CONTINUE_LATEST,
                               .rev = rev > 0 ? (cor_rev)rev : 0,
                               .start = start};
    return 0;
}

static struct cor_list_plan plan_at(enum cor_read_mode mode, cor_rev rev)
{
    return (struct cor_list_plan){.mode = mode, .rev = rev};
}

int cor_list_options_resolve(const struct cor_list_options *opts, struct cor_str key_prefix,
                             struct cor_list_plan *ret_plan, struct cor_status *reterr_status)
{
    struct cor_str match = opts->resource_version_match;
    bool exact = cor_str_eq(match, COR_STR("Exact"));
    cor_rev rev;
    int r;

    if (opts->recursive && opts->continue_token.n > 0)
        return resolve_continue(opts, key_prefix, ret_plan, reterr_status);
    if (opts->resource_version.n == 0) {
        *ret_plan = plan_at(COR_READ_CONSISTENT, 0);
        return 0;
    }
    r = cor_resource_version_parse_request(opts->resource_version, &rev, reterr_status);
    if (r < 0)
        return r;
    if (match.n > 0 && !exact && !cor_str_eq(match, COR_STR("NotOlderThan")))
        return cor_status_untyped(reterr_status, -COR_EINVAL,
                                  "unknown ResourceVersionMatch value: %.*s", COR_STR_ARG(match));
    if (rev == 0)
        *ret_plan = plan_at(exact ? COR_READ_CONSISTENT : COR_READ_ANY, 0);
    else if (exact || (match.n == 0 && opts->recursive && opts->limit > 0))
        *ret_plan = plan_at(COR_READ_EXACT, rev);
    else
        *ret_plan = plan_at(COR_READ_NOT_OLDER_THAN, rev);
    return 0;
}

int cor_list_plan_expired(const struct cor_list_plan *plan, struct cor_str start,
                          struct cor_str key_prefix, struct cor_status *st)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf token = {.max = 16 * COR_KEY_BYTES_MAX};

    if (!st)
        return -COR_EEXPIRED;
    if (plan->mode != COR_READ_CONTINUE && plan->mode != COR_READ_CONTINUE_LATEST)
        return cor_status_expired(st, "%s", EXPIRED);
    if (cor_continue_encode(start, key_prefix, COR_CONTINUE_AT_LATEST, &token, NULL) < 0)
        return cor_status_expired(st, "%s", CONTINUE_EXPIRED);
    cor_status_expired(st, "%s", CONTINUE_INCONSISTENT);
    if (cor_status_set_continue(st, cor_buf_str(&token)) < 0)
        cor_status_expired(st, "%s", CONTINUE_EXPIRED);
    return -COR_EEXPIRED;
}

int cor_watch_options_resolve(const struct cor_list_options *opts, struct cor_watch_plan *ret_plan,
                              struct cor_status *reterr_status)
{
    bool asked = opts->send_initial_events == COR_TRUE;
    struct cor_watch_plan plan = {.end_bookmark = asked && opts->allow_bookmarks};
    int r;

    r = cor_resource_version_parse(opts->resource_version, &plan.rev, reterr_status);
    if (r < 0)
        return r;
    plan.initial_events = asked || (plan.rev == 0 && opts->send_initial_events == COR_UNSET);
    if (plan.rev > 0)
        plan.mode = asked ? COR_READ_NOT_OLDER_THAN : COR_READ_EXACT;
    else
        plan.mode = opts->resource_version.n == 0 ? COR_READ_CONSISTENT : COR_READ_ANY;
    *ret_plan = plan;
    return 0;
}
