/* The options of pods/log (PodLogOptions). Numbers are read first, in the order of the type's
 * fields, and the first that cannot be read is a 400. Then the values are judged together, and all
 * that is wrong is one 422. Booleans accept any text, as upstream's do. */
#include "server/verbs/log_options.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "http/url.h"
#include "meta/names/field_error.h"
#include "server/request/query_options.h"

#define VALUE_MAX 4096

struct log_number {
    const char *name;
    int64_t min;
    const char *detail; /* of a smaller one */
    bool is_given;
    int64_t value;
};

enum { SINCE_SECONDS, TAIL_LINES, LIMIT_BYTES, NUMBER_COUNT };

/* 0, or the failure of reading the number in the status. */
static int log_number_read(struct cor_str query, struct log_number *number,
                           struct cor_status *reterr_status)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text;
    int r;

    cor_buf_init(&text, VALUE_MAX);
    r = cor_url_query_get(query, cor_strz(number->name), &text);
    if (r == -COR_ENOTFOUND)
        return 0;
    if (r < 0)
        return cor_status_set_err(reterr_status, r == -COR_ENOMEM ? r : -COR_EINVAL);
    number->is_given = true;
    return cor_api_read_int(cor_buf_str(&text), &number->value, reterr_status);
}

static void log_number_judge(const struct log_number *number, struct cor_field_errors *errors)
{
    struct cor_field_path path = cor_field_root(cor_strz(number->name));
    char text[24];
    int n;

    if (!number->is_given || number->value >= number->min)
        return;
    n = snprintf(text, sizeof(text), "%lld", (long long)number->value);
    assert(n > 0 && (size_t)n < sizeof(text));
    cor_field_errors_add(errors, COR_FIELD_INVALID, &path, cor_field_json(cor_str(text, (size_t)n)),
                         number->detail);
}

/* 1: the query has it; 0: it does not; -COR_ENOMEM. */
static int log_has_option(struct cor_str query, const char *name)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text;
    int r;

    cor_buf_init(&text, VALUE_MAX);
    r = cor_url_query_get(query, cor_strz(name), &text);
    if (r == -COR_ENOMEM)
        return r;
    return r != -COR_ENOTFOUND;
}

int cor_log_options_check(struct cor_str query, struct cor_str name,
                          struct cor_status *reterr_status)
{
    static const struct cor_gk gk = {COR_STR(""), COR_STR("PodLogOptions")};
    struct log_number numbers[NUMBER_COUNT] = {
        [SINCE_SECONDS] = {"sinceSeconds", 1, "must be greater than 0", false, 0},
        [TAIL_LINES] = {"tailLines", 0, "must be greater than or equal to 0", false, 0},
        [LIMIT_BYTES] = {"limitBytes", 1, "must be greater than 0", false, 0},
    };
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errors;
    int has_time = log_has_option(query, "sinceTime"), has_stream = log_has_option(query, "stream");

    cor_field_errors_init(&errors);
    if (has_time < 0 || has_stream < 0)
        return cor_status_no_memory(reterr_status);
    for (size_t i = 0; i < NUMBER_COUNT; i++) {
        int r = log_number_read(query, &numbers[i], reterr_status);

        if (r < 0)
            return r;
    }
    log_number_judge(&numbers[TAIL_LINES], &errors);
    log_number_judge(&numbers[LIMIT_BYTES], &errors);
    if (numbers[SINCE_SECONDS].is_given && has_time) {
        const struct cor_field_path both = cor_field_root(COR_STR("[]"));

        cor_field_errors_add(&errors, COR_FIELD_FORBIDDEN, &both, cor_field_none(),
                             "at most one of `sinceTime` or `sinceSeconds` may be specified");
    } else {
        log_number_judge(&numbers[SINCE_SECONDS], &errors);
    }
    if (has_stream) {
        const struct cor_field_path stream = cor_field_root(COR_STR("stream"));

        /* The feature gate that would allow it is off in 1.34. */
        cor_field_errors_add(&errors, COR_FIELD_FORBIDDEN, &stream, cor_field_none(),
                             "may not be specified");
    }
    if (errors.n == 0 && errors.error == 0)
        return 0;
    return cor_status_invalid(reterr_status, &gk, name, &errors);
}
