/* The counts of a REST client. Nothing fails and nothing is allocated. A pair of method and code
 * that finds no place is left out; a server would have to answer with dozens of different codes for
 * that to happen.
 * Thread: the loop. */
#include "kit/rest/rest_metrics.h"

#include <assert.h>

static const char *const methods[COR_REST_METHODS] = {"GET",   "POST",   "PUT",
                                                      "PATCH", "DELETE", "OTHER"};

static const uint64_t bounds_ms[COR_REST_TIMES] = {5,    25,   100,  250,   500,   1000,
                                                   2000, 4000, 8000, 15000, 30000, 60000};

const char *cor_rest_method_name(int method)
{
    assert(method >= 0 && method < COR_REST_METHODS);
    return methods[method];
}

uint64_t cor_rest_time_bound_ms(size_t i)
{
    assert(i < COR_REST_TIMES);
    return bounds_ms[i];
}

static int method_of(struct cor_str name)
{
    int i = 0;

    while (i < COR_REST_METHODS - 1 && !cor_str_eqz(name, methods[i]))
        i++;
    return i;
}

static struct cor_rest_answers *answers_of(struct cor_rest_metrics *metrics, int method, int code)
{
    struct cor_rest_answers *at = metrics->answers;

    for (size_t i = 0; i < metrics->nanswers; i++)
        if (at[i].method == method && at[i].code == code)
            return &at[i];
    if (metrics->nanswers == COR_REST_ANSWERS_MAX)
        return NULL;
    at[metrics->nanswers] = (struct cor_rest_answers){.method = method, .code = code};
    return &at[metrics->nanswers++];
}

void cor_rest_metrics_answer(struct cor_rest_metrics *metrics, struct cor_str method, int code,
                             bool is_repeated)
{
    struct cor_rest_answers *answers = answers_of(metrics, method_of(method), code);

    if (!answers)
        return;
    answers->n++;
    answers->retries += is_repeated;
}

void cor_rest_metrics_time(struct cor_rest_metrics *metrics, struct cor_str method, uint64_t ms)
{
    int m = method_of(method);
    size_t i = 0;

    while (i < COR_REST_TIMES && ms > bounds_ms[i])
        i++;
    metrics->times[m][i]++;
    metrics->sum_ms[m] += ms;
}

void cor_rest_metrics_add(struct cor_rest_metrics *to, const struct cor_rest_metrics *from)
{
    for (size_t i = 0; i < from->nanswers; i++) {
        const struct cor_rest_answers *answers = &from->answers[i];
        struct cor_rest_answers *sum = answers_of(to, answers->method, answers->code);

        if (!sum)
            continue;
        sum->n += answers->n;
        sum->retries += answers->retries;
    }
    for (int m = 0; m < COR_REST_METHODS; m++) {
        for (size_t i = 0; i <= COR_REST_TIMES; i++)
            to->times[m][i] += from->times[m][i];
        to->sum_ms[m] += from->sum_ms[m];
    }
}
