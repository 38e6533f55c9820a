/* The query parameters of the API's verbs, decoded.
 * Thread: any (a value).  Owner: whoever embeds it. */
#ifndef COR_SERVER_REQUEST_QUERY_OPTIONS_H
#define COR_SERVER_REQUEST_QUERY_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "meta/select/list_options.h"
#include "meta/status/status.h"
#include "schema/kinds/resource_row.h"

#define COR_API_OPTIONS_BYTES_MAX (256u * 1024)

struct cor_api_options {
    /* Strings are in `text`; "" when absent. */
    struct cor_str label_selector, field_selector;
    struct cor_str resource_version, resource_version_match, continue_token;
    struct cor_str propagation_policy, field_validation, field_manager, include_object, dry_run;
    struct cor_str uid; /* a precondition of a deletion, as its resource_version is */
    int64_t limit, timeout_seconds, grace_period_seconds;
    bool has_grace_period, has_propagation_policy, has_dry_run, is_export;
    enum cor_tristate watch, allow_bookmarks, send_initial_events, orphan_dependents, pretty, force;
    struct cor_buf text;
};

/* The first value of a name counts; unknown names, and parameters that the verb does not read, are
 * ignored. 0, -COR_EINVAL (400 in upstream's words), -COR_ENOMEM, -COR_ETOOBIG; there is nothing to
 * release on failure. */
int cor_api_options_parse(struct cor_str query, enum cor_api_verb verb,
                          struct cor_api_options *ret_options, struct cor_status *reterr_status);

void cor_api_options_deinit(struct cor_api_options *options); /* safe on a zeroed struct */

/* The options of a list or, with `watch`, of a watch, with a watch's defaults set, and validated.
 * The strings are those of `options`. `recursive` is true: the caller narrows it. 0, -COR_EINVAL or
 * -COR_EINVALID in upstream's words. */
int cor_api_options_to_list(const struct cor_api_options *options, bool watch,
                            struct cor_list_options *ret_list, struct cor_status *reterr_status);

/* A number as strconv.ParseInt(value, 10, 64) reads it: digits, with one sign before them if any.
 * 0, -COR_EINVAL (no number), -COR_ETOOBIG (out of range). */
int cor_api_parse_int(struct cor_str value, int64_t *ret);

/* The same for the value of a parameter. 0, -COR_EINVAL (400 in upstream's words), -COR_ENOMEM. */
int cor_api_read_int(struct cor_str value, int64_t *ret, struct cor_status *reterr_status);

/* Does a query ask for a watch? 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_api_query_is_watch(struct cor_str query, bool *ret_is_watch);

/* The query's ?timeout= in nanoseconds; 0 when the query has none, or an empty one. 0, -COR_EINVAL
 * (400 in upstream's words), -COR_ENOMEM. */
int cor_api_query_timeout(struct cor_str query, int64_t *ret_ns, struct cor_status *reterr_status);

#endif
