/* Options of verbs as HTTP carries them; see the header. The first failure (no memory, too long)
 * ends the writing, and the target is of no use then. Thread: any (values). */
#include "kit/request_options.h"

#include <stdio.h>

#include "http/url.h"
#include "json/write/writer.h"

int cor_query_add(struct cor_buf *target, const char *name, struct cor_str value)
{
    char mark = cor_str_find(cor_buf_str(target), '?') < 0 ? '?' : '&';
    int r;

    if (value.n == 0)
        return 0;
    r = cor_buf_addf(target, "%c%s=", mark, name);
    return r < 0 ? r : cor_url_escape(value, COR_URL_QUERY, target);
}

static int query_add_number(struct cor_buf *target, const char *name, int64_t value)
{
    char text[24];
    int n = snprintf(text, sizeof(text), "%lld", (long long)value);

    return value ? cor_query_add(target, name, cor_str(text, (size_t)n)) : 0;
}

static int query_add_flag(struct cor_buf *target, const char *name, enum cor_tristate value)
{
    return cor_query_add(target, name,
                         value == COR_TRUE    ? COR_STR("true")
                         : value == COR_FALSE ? COR_STR("false")
                                              : COR_STR(""));
}

int cor_list_query_write(const struct cor_list_query *query, struct cor_buf *target)
{
    const struct cor_list_options *list = &query->list;
    int r = cor_query_add(target, "labelSelector", query->label_selector);

    if (r == 0)
        r = cor_query_add(target, "fieldSelector", query->field_selector);
    if (r == 0)
        r = query_add_flag(target, "watch", list->watch ? COR_TRUE : COR_UNSET);
    if (r == 0)
        r = query_add_flag(target, "allowWatchBookmarks",
                           list->allow_bookmarks ? COR_TRUE : COR_UNSET);
    if (r == 0)
        r = query_add_flag(target, "sendInitialEvents", list->send_initial_events);
    if (r == 0)
        r = cor_query_add(target, "resourceVersion", list->resource_version);
    if (r == 0)
        r = cor_query_add(target, "resourceVersionMatch", list->resource_version_match);
    if (r == 0)
        r = query_add_number(target, "limit", list->limit);
    if (r == 0)
        r = cor_query_add(target, "continue", list->continue_token);
    return r < 0 ? r : query_add_number(target, "timeoutSeconds", query->timeout_s);
}

int cor_write_options_write(const struct cor_write_options *opts, struct cor_buf *target)
{
    int r = cor_query_add(target, "dryRun", opts->dry_run ? COR_STR("All") : COR_STR(""));

    if (r == 0)
        r = query_add_flag(target, "force", opts->force);
    if (r == 0)
        r = cor_query_add(target, "fieldManager", opts->field_manager);
    return r < 0 ? r : cor_query_add(target, "fieldValidation", opts->field_validation);
}

static void write_preconditions(struct cor_json_writer *w, const struct cor_removal_options *opts)
{
    cor_json_key(w, COR_STR("preconditions"));
    cor_json_begin_object(w);
    if (opts->uid.n > 0)
        cor_json_member(w, COR_STR("uid"), opts->uid);
    if (opts->resource_version.n > 0)
        cor_json_member(w, COR_STR("resourceVersion"), opts->resource_version);
    cor_json_end_object(w);
}

int cor_removal_options_write(const struct cor_removal_options *opts, struct cor_buf *body)
{
    struct cor_json_writer w;

    cor_json_writer_init(&w, body);
    cor_json_begin_object(&w);
    cor_json_member(&w, COR_STR("kind"), COR_STR("DeleteOptions"));
    cor_json_member(&w, COR_STR("apiVersion"), COR_STR("v1"));
    if (opts->has_grace) {
        cor_json_key(&w, COR_STR("gracePeriodSeconds"));
        cor_json_i64(&w, opts->grace_s);
    }
    if (opts->uid.n > 0 || opts->resource_version.n > 0)
        write_preconditions(&w, opts);
    if (opts->propagation.n > 0)
        cor_json_member(&w, COR_STR("propagationPolicy"), opts->propagation);
    if (opts->dry_run) {
        cor_json_key(&w, COR_STR("dryRun"));
        cor_json_begin_array(&w);
        cor_json_string(&w, COR_STR("All"));
        cor_json_end_array(&w);
    }
    cor_json_end_object(&w);
    return cor_json_writer_finish(&w);
}
