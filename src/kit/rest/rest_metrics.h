/* What a REST client counts of its requests, with client-go's names in the metrics: answers by
 * method and code, attempts that were repeated, and how long requests took. Owner: the REST client.
 * Thread: the loop; a copy is a value. */
#ifndef COR_KIT_REST_METRICS_H
#define COR_KIT_REST_METRICS_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/* Methods that are counted by themselves; others share the last place. */
#define COR_REST_METHODS 6
/* Pairs of a method and a code; answers beyond them are not counted. */
#define COR_REST_ANSWERS_MAX 64
#define COR_REST_TIMES       12

struct cor_rest_answers {
    int method; /* of cor_rest_method_name() */
    int code;   /* 0: there was no answer */
    uint64_t n, retries;
};

struct cor_rest_metrics {
    struct cor_rest_answers answers[COR_REST_ANSWERS_MAX];
    size_t nanswers;
    /* Of whole requests, watches left out; not cumulative. The last count is of those that took
     * longer than the highest bound. */
    uint64_t times[COR_REST_METHODS][COR_REST_TIMES + 1];
    uint64_t sum_ms[COR_REST_METHODS];
};

/* An attempt has ended with an answer, or without one (`code` is 0), and is repeated or not. */
void cor_rest_metrics_answer(struct cor_rest_metrics *metrics, struct cor_str method, int code,
                             bool is_repeated);

/* A request has ended. */
void cor_rest_metrics_time(struct cor_rest_metrics *metrics, struct cor_str method, uint64_t ms);

/* Adds the counts of one client to those of another. */
void cor_rest_metrics_add(struct cor_rest_metrics *to, const struct cor_rest_metrics *from);

/* "GET", …; "OTHER" is the last. */
const char *cor_rest_method_name(int method);

/* The upper bound of a count of `times`; client-go's. */
uint64_t cor_rest_time_bound_ms(size_t i);

#endif
