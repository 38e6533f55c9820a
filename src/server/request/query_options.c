/* The query parameters, by a table: name, type, place in struct cor_api_options, and the verbs that
 * read it. A new parameter is a member of the struct and a row of `known`. The first value of a
 * name counts; a value whose escapes are wrong, and an unknown name, are ignored; a number that
 * cannot be read is refused (400) in the words of Go's strconv. Decoded strings live in one buffer,
 * which is reserved first so that they do not move.
 * Thread: any (values). */
#include "server/request/query_options.h"

#include <assert.h>
#include <stddef.h>

#include "base/duration.h"
#include "base/err.h"
#include "http/url.h"
#include "meta/status/quote.h"

/* No text of a duration is longer. */
#define TIMEOUT_TEXT_MAX 256

enum kind { STRING, INT, BOOL, FLAG, GO_BOOL };

#define LISTING                                                                                    \
    (COR_API_VERB_BIT(LIST) | COR_API_VERB_BIT(WATCH) | COR_API_VERB_BIT(DELETECOLLECTION))
#define DELETING (COR_API_VERB_BIT(DELETE) | COR_API_VERB_BIT(DELETECOLLECTION))
#define ANY_VERB (~0u)

#define OPTION(name, kind, field, ...)                                                             \
    {                                                                                              \
        name, kind, offsetof(struct cor_api_options, field), __VA_ARGS__                           \
    }
#define HAS(field) offsetof(struct cor_api_options, field)

static const struct option {
    const char *name;
    enum kind kind;
    size_t at;
    unsigned verbs; /* which verbs read it; others do not look at the value */
    size_t has_at;  /* 0: none */
} known[] = {
    OPTION("labelSelector", STRING, label_selector, ANY_VERB, 0),
    OPTION("fieldSelector", STRING, field_selector, ANY_VERB, 0),
    OPTION("resourceVersion", STRING, resource_version, ANY_VERB, 0),
    OPTION("resourceVersionMatch", STRING, resource_version_match, ANY_VERB, 0),
    OPTION("continue", STRING, continue_token, ANY_VERB, 0),
    OPTION("propagationPolicy", STRING, propagation_policy, ANY_VERB, HAS(has_propagation_policy)),
    OPTION("uid", STRING, uid, DELETING, 0),
    OPTION("fieldValidation", STRING, field_validation, ANY_VERB, 0),
    OPTION("fieldManager", STRING, field_manager, ANY_VERB, 0),
    OPTION("includeObject", STRING, include_object, ANY_VERB, 0),
    OPTION("dryRun", STRING, dry_run, ANY_VERB, HAS(has_dry_run)),
    OPTION("limit", INT, limit, LISTING, 0),
    OPTION("timeoutSeconds", INT, timeout_seconds, LISTING, 0),
    OPTION("gracePeriodSeconds", INT, grace_period_seconds, DELETING, HAS(has_grace_period)),
    OPTION("watch", BOOL, watch, ANY_VERB, 0),
    OPTION("allowWatchBookmarks", BOOL, allow_bookmarks, ANY_VERB, 0),
    OPTION("sendInitialEvents", BOOL, send_initial_events, ANY_VERB, 0),
    OPTION("orphanDependents", BOOL, orphan_dependents, ANY_VERB, 0),
    OPTION("pretty", GO_BOOL, pretty, ANY_VERB, 0),
    OPTION("force", BOOL, force, ANY_VERB, 0),
    OPTION("export", FLAG, is_export, COR_API_VERB_BIT(GET), 0),
};

static bool is_false(struct cor_str value)
{
    return cor_str_eq(value, COR_STR("0")) ||
           (value.n == 5 && strncasecmp(value.p, "false", 5) == 0);
}

/* What strconv.ParseBool reads as true; all else counts as false. */
static bool is_go_true(struct cor_str value)
{
    static const char *const words[] = {"1", "t", "T", "TRUE", "true", "True"};

    for (size_t i = 0; i < COR_ARRAY_LEN(words); i++) {
        if (cor_str_eqz(value, words[i]))
            return true;
    }
    return false;
}

int cor_api_parse_int(struct cor_str value, int64_t *ret)
{
    bool has_plus = value.n > 1 && value.p[0] == '+' && value.p[1] != '-';

    return cor_str_to_i64(has_plus ? cor_str_from(value, 1) : value, ret);
}

int cor_api_read_int(struct cor_str value, int64_t *ret, struct cor_status *reterr_status)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf quoted = {0};
    int r = cor_api_parse_int(value, ret);

    if (r == 0)
        return 0;
    cor_buf_init(&quoted, COR_API_OPTIONS_BYTES_MAX);
    if (cor_quote(value, &quoted) == -COR_ENOMEM)
        return cor_status_no_memory(reterr_status);
    return cor_status_bad_request(reterr_status, "strconv.ParseInt: parsing %s: %s",
                                  cor_buf_z(&quoted),
                                  r == -COR_ETOOBIG ? "value out of range" : "invalid syntax");
}

/* `seen`: a bit per row of the table. */
static int option_read(struct cor_api_options *options, enum cor_api_verb verb, struct cor_str name,
                       struct cor_str raw_value, unsigned *seen, struct cor_status *reterr_status)
{
    size_t mark = options->text.n;
    char *base = (char *)options;
    struct cor_str value;
    int r;

    for (size_t i = 0; i < COR_ARRAY_LEN(known); i++) {
        if ((*seen & (1u << i)) || !(known[i].verbs & (1u << verb)) ||
            !cor_url_query_is(name, cor_strz(known[i].name)))
            continue;
        r = cor_url_unescape(raw_value, COR_URL_QUERY, &options->text);
        if (r == -COR_EINVAL)
            return 0;
        if (r < 0)
            return cor_status_set_err(reterr_status, r);
        *seen |= 1u << i;
        if (known[i].has_at > 0)
            *(bool *)(base + known[i].has_at) = true;
        value = cor_str_from(cor_buf_str(&options->text), mark);
        switch (known[i].kind) {
        case STRING:
            *(struct cor_str *)(base + known[i].at) = value;
            return 0;
        case INT:
            return cor_api_read_int(value, (int64_t *)(base + known[i].at), reterr_status);
        case BOOL:
            *(enum cor_tristate *)(base + known[i].at) = is_false(value) ? COR_FALSE : COR_TRUE;
            return 0;
        case GO_BOOL:
            *(enum cor_tristate *)(base + known[i].at) = is_go_true(value) ? COR_TRUE : COR_FALSE;
            return 0;
        case FLAG:
            *(bool *)(base + known[i].at) = !is_false(value);
            return 0;
        }
    }
    return 0;
}

int cor_api_options_parse(struct cor_str query, enum cor_api_verb verb,
                          struct cor_api_options *ret_options, struct cor_status *reterr_status)
{
    struct cor_str name, value;
    unsigned seen = 0;
    int r;

    assert(verb <= COR_API_VERB_NONE);
    *ret_options = (struct cor_api_options){0};
    cor_buf_init(&ret_options->text, COR_API_OPTIONS_BYTES_MAX);
    /* Decoding never lengthens a value: with room for the whole query no value moves. */
    r = query.n > 0 ? cor_buf_reserve(&ret_options->text, query.n) : 0;
    if (r < 0)
        return cor_status_set_err(reterr_status, r);
    while ((r = cor_url_query_next(&query, &name, &value)) != 0) {
        if (r < 0)
            continue;
        r = option_read(ret_options, verb, name, value, &seen, reterr_status);
        if (r < 0) {
            cor_buf_deinit(&ret_options->text);
            return r;
        }
    }
    return 0;
}

void cor_api_options_deinit(struct cor_api_options *options)
{
    cor_buf_deinit(&options->text);
}

int cor_api_options_to_list(const struct cor_api_options *options, bool watch,
                            struct cor_list_options *ret_list, struct cor_status *reterr_status)
{
    *ret_list = (struct cor_list_options){
        .resource_version = options->resource_version,
        .resource_version_match = options->resource_version_match,
        .continue_token = options->continue_token,
        .limit = watch ? 0 : options->limit,
        .recursive = true,
        .watch = watch,
        .allow_bookmarks = watch && options->allow_bookmarks == COR_TRUE,
        .send_initial_events = options->send_initial_events,
    };
    if (watch)
        cor_list_options_set_defaults(ret_list);
    return cor_list_options_validate(ret_list, reterr_status);
}

int cor_api_query_is_watch(struct cor_str query, bool *ret_is_watch)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf value = {.max = COR_API_OPTIONS_BYTES_MAX};
    int r = cor_url_query_get(query, COR_STR("watch"), &value);

    if (r < 0 && r != -COR_ENOTFOUND)
        return r;
    *ret_is_watch = r == 0 && !is_false(cor_buf_str(&value));
    return 0;
}

/* Refuses the text in the words of Go's time.ParseDuration(). `unit` is what is where a unit is
 * expected; p == NULL: the text is wrong elsewhere. */
static int refuse_timeout(struct cor_str text, struct cor_str unit,
                          struct cor_status *reterr_status)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf quoted = {.max = 8 * TIMEOUT_TEXT_MAX};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf quoted_unit = {.max = 8 * TIMEOUT_TEXT_MAX};

    (void)cor_quote(text, &quoted);
    (void)cor_quote(unit, &quoted_unit);
    return cor_status_bad_request(
        reterr_status, "invalid timeout specified in the request URL - time: %s%s%s duration %s",
        !unit.p       ? "invalid"
        : unit.n == 0 ? "missing unit in"
                      : "unknown unit ",
        unit.n > 0 ? cor_buf_z(&quoted_unit) : "", unit.n > 0 ? " in" : "", cor_buf_z(&quoted));
}

int cor_api_query_timeout(struct cor_str query, int64_t *ret_ns, struct cor_status *reterr_status)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = TIMEOUT_TEXT_MAX};
    struct cor_str unit = {NULL, 0};
    int64_t ns = 0;
    int r = cor_url_query_get(query, COR_STR("timeout"), &text);

    if (r == -COR_ENOMEM)
        return cor_status_set_err(reterr_status, r);
    /* A text that is too long to be a duration was not kept: the refusal quotes none of it. */
    if (r == -COR_ETOOBIG ||
        (r == 0 && text.n > 0 && cor_duration_parse_why(cor_buf_str(&text), &ns, &unit) < 0))
        return refuse_timeout(cor_buf_str(&text), unit, reterr_status);
    *ret_ns = ns;
    return 0;
}
