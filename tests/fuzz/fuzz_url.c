/* Input: one byte that chooses the method, then a request target. What is decoded and encoded again
 * is the same; however a parameter is written, everybody who looks for it finds the same value. */
#include <string.h>

#include "base/limits.h"
#include "fuzz.h"
#include "http/url.h"
#include "server/request/query_options.h"
#include "server/request/request_info.h"

static void check_round_trip(struct cor_str in, enum cor_url_part part)
{
    struct cor_buf escaped, plain;

    cor_buf_init(&escaped, 3 * in.n + 1);
    cor_buf_init(&plain, in.n);
    FUZZ_CHECK(cor_url_escape(in, part, &escaped) == 0);
    FUZZ_CHECK(cor_url_unescape(cor_buf_str(&escaped), part, &plain) == 0);
    FUZZ_CHECK(cor_str_eq(cor_buf_str(&plain), in));
    cor_buf_deinit(&plain);
    if (cor_url_unescape(in, part, &plain) < 0)
        FUZZ_CHECK(plain.n == 0 && cor_str_find(in, '%') >= 0);
    cor_buf_deinit(&escaped);
    cor_buf_deinit(&plain);
}

static bool decodes_to(struct cor_str raw, struct cor_str want)
{
    struct cor_buf plain;
    bool same;

    cor_buf_init(&plain, raw.n);
    same =
        cor_url_unescape(raw, COR_URL_QUERY, &plain) == 0 && cor_str_eq(cor_buf_str(&plain), want);
    cor_buf_deinit(&plain);
    return same;
}

/* The value of the first pair whose name and value can be decoded, as Go's Query().Get() has it. */
static bool find(struct cor_str query, struct cor_str name, struct cor_buf *out)
{
    struct cor_str raw_name, raw_value;
    int r;

    while ((r = cor_url_query_next(&query, &raw_name, &raw_value)) != 0) {
        FUZZ_CHECK(r < 0 || (cor_str_find(raw_name, '&') < 0 && cor_str_find(raw_name, '=') < 0 &&
                             cor_str_find(raw_value, '&') < 0));
        if (r > 0 && decodes_to(raw_name, name) &&
            cor_url_unescape(raw_value, COR_URL_QUERY, out) == 0)
            return true;
    }
    return false;
}

static void check_get(struct cor_str query, struct cor_str name)
{
    struct cor_buf want, got;
    bool has;

    cor_buf_init(&want, query.n);
    cor_buf_init(&got, query.n);
    has = find(query, name, &want);
    FUZZ_CHECK((cor_url_query_get(query, name, &got) == 0) == has);
    FUZZ_CHECK(cor_str_eq(cor_buf_str(&got), cor_buf_str(&want)));
    cor_buf_deinit(&want);
    cor_buf_deinit(&got);
}

static void check_option(struct cor_str query, const char *name, struct cor_str value)
{
    struct cor_buf want;

    cor_buf_init(&want, query.n);
    (void)find(query, cor_strz(name), &want);
    FUZZ_CHECK(cor_str_eq(cor_buf_str(&want), value));
    cor_buf_deinit(&want);
}

static void check_options(struct cor_str query, const struct cor_request_info *info)
{
    struct cor_api_options options;
    struct cor_status status;

    cor_status_init(&status);
    if (cor_api_options_parse(query, COR_API_VERB_DELETECOLLECTION, &options, &status) < 0) {
        FUZZ_CHECK(status.code >= 400 && cor_status_message(&status)[0]);
        cor_status_deinit(&status);
        return;
    }
    check_option(query, "labelSelector", options.label_selector);
    check_option(query, "fieldSelector", options.field_selector);
    check_option(query, "resourceVersion", options.resource_version);
    check_option(query, "continue", options.continue_token);
    if (info->is_resource && !info->is_watch_path && info->name.n == 0 &&
        (info->verb == COR_API_VERB_LIST || info->verb == COR_API_VERB_WATCH))
        FUZZ_CHECK((info->verb == COR_API_VERB_WATCH) == (options.watch == COR_TRUE));
    cor_api_options_deinit(&options);
    cor_status_deinit(&status);
}

static void check_inside(const struct cor_request_info *info, struct cor_str part)
{
    FUZZ_CHECK(part.n == 0 ||
               (part.p >= info->text.p && part.p + part.n <= info->text.p + info->text.n));
    FUZZ_CHECK(cor_str_find(part, '/') < 0);
}

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    struct cor_str rest, path, query;
    struct cor_request_info info;

    if (size == 0 || size > COR_REQUEST_PATH_MAX)
        return 0;
    rest = cor_str((const char *)data + 1, size - 1);
    check_round_trip(rest, COR_URL_PATH);
    check_round_trip(rest, COR_URL_QUERY);
    path = cor_str_cut(&rest, '?');
    query = rest.p ? rest : COR_STR("");
    check_get(query, COR_STR("timeout"));
    check_get(query, COR_STR("a b"));
    if (cor_request_info_init(&info, (enum cor_http_method)(data[0] % (COR_HTTP_OTHER + 1)), path,
                              query) < 0)
        return 0;
    check_inside(&info, info.group);
    check_inside(&info, info.version);
    check_inside(&info, info.resource);
    check_inside(&info, info.subresource);
    check_inside(&info, info.ns);
    check_inside(&info, info.name);
    check_options(query, &info);
    cor_request_info_deinit(&info);
    return 0;
}
