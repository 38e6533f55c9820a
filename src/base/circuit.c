/* The state changes of a circuit. Only a trial decides while it is not closed: questions that were
 * asked before it opened, and fail later, change nothing. Nothing here can fail. */
#include "base/circuit.h"

#include <assert.h>

void cor_circuit_init(struct cor_circuit *c, const struct cor_circuit_opts *opts)
{
    assert(opts->failures > 0 && opts->open_ms > 0 && opts->open_ms <= opts->open_max_ms);
    *c = (struct cor_circuit){.opts = opts};
}

bool cor_circuit_enter(struct cor_circuit *c, struct cor_circuit_pass *pass, uint64_t now_ms)
{
    if (c->state == COR_CIRCUIT_CLOSED)
        return true;
    if (now_ms < c->until_ms)
        return false;
    c->until_ms = now_ms + c->opts->open_max_ms;
    c->state = COR_CIRCUIT_TRIAL;
    pass->is_trial = true;
    return true;
}

static bool take_trial(struct cor_circuit_pass *pass)
{
    bool was_trial = pass->is_trial;

    pass->is_trial = false;
    return was_trial;
}

bool cor_circuit_answered(struct cor_circuit *c, struct cor_circuit_pass *pass)
{
    bool was_closed = c->state == COR_CIRCUIT_CLOSED;

    (void)take_trial(pass);
    c->state = COR_CIRCUIT_CLOSED;
    c->nfailures = 0;
    return !was_closed;
}

bool cor_circuit_failed(struct cor_circuit *c, struct cor_circuit_pass *pass, uint64_t now_ms)
{
    bool was_closed = c->state == COR_CIRCUIT_CLOSED, was_trial = take_trial(pass);

    c->nfailures++;
    if (!was_trial && (!was_closed || c->nfailures < c->opts->failures))
        return false;
    c->open_ms = was_closed ? c->opts->open_ms : 2 * c->open_ms;
    if (c->open_ms > c->opts->open_max_ms)
        c->open_ms = c->opts->open_max_ms;
    c->state = COR_CIRCUIT_OPEN;
    c->until_ms = now_ms + c->open_ms;
    return was_closed;
}

void cor_circuit_left(struct cor_circuit *c, struct cor_circuit_pass *pass)
{
    if (!take_trial(pass) || c->state == COR_CIRCUIT_CLOSED)
        return;
    c->state = COR_CIRCUIT_OPEN;
    c->until_ms = 0;
}
