/* What clients have asked a fake for, and the functions of a test that react to it.
 *
 * Reactions are added under the lock and are never changed afterwards, so that the loop calls a
 * reactor without it. A reactor is given an action with texts of its own, since the test may clear
 * the recorded ones meanwhile.
 * Thread: any. */
#include <assert.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "testing/testing_int.h"

static int set_pattern(struct cor_testing_pattern *pattern, const char *verb, const char *resource)
{
    if (strlen(verb) >= sizeof(pattern->verb) || strlen(resource) >= sizeof(pattern->resource))
        return -COR_EINVAL;
    memcpy(pattern->verb, verb, strlen(verb) + 1);
    memcpy(pattern->resource, resource, strlen(resource) + 1);
    return 0;
}

bool cor_testing_matches(const struct cor_testing_pattern *pattern,
                         const struct cor_testing_action *action)
{
    struct cor_str subresource = cor_strz(pattern->resource);
    struct cor_str resource = cor_str_cut(&subresource, '/');

    if (strcmp(pattern->verb, "*") != 0 && !cor_str_eqz(action->verb, pattern->verb))
        return false;
    if (strcmp(pattern->resource, "*") == 0)
        return true;
    return cor_str_eq(action->resource, resource) &&
           (!subresource.p || cor_str_eq(action->subresource, subresource));
}

int cor_testing_keep(struct cor_testing_action *action, char **ret_texts)
{
    struct cor_str *const texts[] = {&action->verb,     &action->group,       &action->version,
                                     &action->resource, &action->subresource, &action->ns,
                                     &action->name,     &action->query,       &action->content_type,
                                     &action->body};

    return cor_str_gather(texts, COR_ARRAY_LEN(texts), ret_texts);
}

int cor_testing_note(struct cor_testing *testing, const struct cor_testing_action *action)
{
    struct cor_testing_record *record = cor_calloc(1, sizeof(*record));
    int r = -COR_ENOMEM;

    if (record) {
        record->action = *action;
        r = cor_testing_keep(&record->action, &record->texts);
    }
    cor_lock_acquire(&testing->lock);
    if (r == 0)
        r = COR_ARRAY_RESERVE(&testing->records, testing->nrecords, &testing->cap,
                              COR_TESTING_ACTIONS_MAX);
    if (r == 0) {
        testing->records[testing->nrecords++] = record;
        cor_cond_broadcast(&testing->changed);
    }
    cor_lock_release(&testing->lock);
    if (r < 0 && record) {
        cor_free(record->texts);
        cor_free(record);
    }
    return r;
}

size_t cor_testing_actions(struct cor_testing *testing)
{
    return COR_LOCKED(&testing->lock, testing->nrecords);
}

bool cor_testing_action(struct cor_testing *testing, size_t i,
                        struct cor_testing_action *ret_action)
{
    bool is_there;

    cor_lock_acquire(&testing->lock);
    is_there = i < testing->nrecords;
    if (is_there)
        *ret_action = testing->records[i]->action;
    cor_lock_release(&testing->lock);
    return is_there;
}

void cor_testing_clear_actions(struct cor_testing *testing)
{
    cor_lock_acquire(&testing->lock);
    for (size_t i = 0; i < testing->nrecords; i++) {
        cor_free(testing->records[i]->texts);
        cor_free(testing->records[i]);
    }
    testing->nrecords = 0;
    cor_lock_release(&testing->lock);
}

static size_t count_locked(const struct cor_testing *testing,
                           const struct cor_testing_pattern *pattern)
{
    size_t n = 0;

    for (size_t i = 0; i < testing->nrecords; i++)
        n += cor_testing_matches(pattern, &testing->records[i]->action);
    return n;
}

size_t cor_testing_count(struct cor_testing *testing, const char *verb, const char *resource)
{
    struct cor_testing_pattern pattern;

    if (set_pattern(&pattern, verb, resource) < 0)
        return 0;
    return COR_LOCKED(&testing->lock, count_locked(testing, &pattern));
}

int cor_testing_wait_for_actions(struct cor_testing *testing, const char *verb,
                                 const char *resource, size_t n, uint64_t timeout_ms)
{
    const struct timespec until = cor_deadline_in_ms(timeout_ms);
    struct cor_testing_pattern pattern;
    bool is_enough, is_time = true;
    int r = set_pattern(&pattern, verb, resource);

    if (r < 0)
        return r;
    cor_lock_acquire(&testing->lock);
    while (!(is_enough = count_locked(testing, &pattern) >= n) && is_time)
        is_time = cor_cond_wait_until(&testing->changed, &testing->lock, &until);
    cor_lock_release(&testing->lock);
    return is_enough ? 0 : -COR_ETIMEOUT;
}

int cor_testing_prepend_reactor(struct cor_testing *testing, const char *verb, const char *resource,
                                cor_testing_reactor fn, void *arg)
{
    struct cor_testing_reaction *made = cor_calloc(1, sizeof(*made));
    int r = made ? set_pattern(&made->pattern, verb, resource) : -COR_ENOMEM;

    assert(fn);
    cor_lock_acquire(&testing->lock);
    if (r == 0 && testing->nreactions >= COR_TESTING_REACTORS_MAX)
        r = -COR_ETOOBIG;
    if (r == 0) {
        made->fn = fn;
        made->arg = arg;
        made->next = testing->reactions;
        testing->reactions = made;
        testing->nreactions++;
    }
    cor_lock_release(&testing->lock);
    if (r < 0)
        cor_free(made);
    return r;
}

const struct cor_testing_reaction *cor_testing_first_reaction(struct cor_testing *testing)
{
    return COR_LOCKED(&testing->lock, testing->reactions);
}

void cor_testing_free_actions(struct cor_testing *testing)
{
    struct cor_testing_reaction *next;

    cor_testing_clear_actions(testing);
    cor_free(testing->records);
    for (struct cor_testing_reaction *r = testing->reactions; r; r = next) {
        next = r->next;
        cor_free(r);
    }
}
