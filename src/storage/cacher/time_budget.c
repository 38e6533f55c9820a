#include "storage/cacher/time_budget.h"

/* A wait does not begin with less than this. */
#define WAIT_MIN_US 1000

void cor_time_budget_init(struct cor_time_budget *b, uint64_t now_us)
{
    *b = (struct cor_time_budget){.left_us = COR_TIME_BUDGET_MAX_US, .at_us = now_us};
}

static void settle(struct cor_time_budget *b, uint64_t now_us)
{
    uint64_t passed = now_us > b->at_us ? now_us - b->at_us : 0;
    uint64_t earned = passed / (1000000 / COR_TIME_BUDGET_PER_S_US);

    b->left_us += earned;
    if (b->waiting)
        b->left_us = passed < b->left_us ? b->left_us - passed : 0;
    if (b->left_us > COR_TIME_BUDGET_MAX_US)
        b->left_us = COR_TIME_BUDGET_MAX_US;
    /* Time that is too short to earn anything is counted with the next call. */
    if (b->waiting || earned > 0)
        b->at_us = now_us;
}

bool cor_time_budget_wait(struct cor_time_budget *b, uint64_t now_us)
{
    settle(b, now_us);
    b->waiting = b->left_us >= WAIT_MIN_US;
    if (b->waiting)
        b->at_us = now_us;
    return b->waiting;
}

void cor_time_budget_rest(struct cor_time_budget *b, uint64_t now_us)
{
    settle(b, now_us);
    b->waiting = false;
}
