#include "server/catalog/version_order.h"

#include <stdbool.h>
#include <stdint.h>

enum stage { STAGE_ALPHA, STAGE_BETA, STAGE_GA };

struct kube_version {
    enum stage stage;
    uint64_t major, minor;
};

/* Takes a number without leading zeros, as upstream's pattern has it: [1-9][0-9]*. */
static bool take_number(struct cor_str *text, uint64_t *ret)
{
    size_t n = 0;

    while (n < text->n && text->p[n] >= '0' && text->p[n] <= '9')
        n++;
    if (n == 0 || text->p[0] == '0' || cor_str_to_u64(cor_str(text->p, n), ret) < 0)
        return false;
    *text = cor_str_from(*text, n);
    return true;
}

static bool version_parse(struct cor_str text, struct kube_version *ret)
{
    *ret = (struct kube_version){.stage = STAGE_GA};
    if (text.n == 0 || text.p[0] != 'v')
        return false;
    text = cor_str_from(text, 1);
    if (!take_number(&text, &ret->major))
        return false;
    if (text.n == 0)
        return true;
    if (cor_str_starts(text, COR_STR("alpha"))) {
        ret->stage = STAGE_ALPHA;
        text = cor_str_from(text, 5);
    } else if (cor_str_starts(text, COR_STR("beta"))) {
        ret->stage = STAGE_BETA;
        text = cor_str_from(text, 4);
    } else {
        return false;
    }
    return take_number(&text, &ret->minor) && text.n == 0;
}

int cor_version_order(struct cor_str a, struct cor_str b)
{
    struct kube_version x, y;
    bool has_x = version_parse(a, &x), has_y = version_parse(b, &y);

    if (!has_x || !has_y)
        return has_x != has_y ? (has_x ? -1 : 1) : cor_str_cmp(a, b);
    if (x.stage != y.stage)
        return x.stage > y.stage ? -1 : 1;
    if (x.major != y.major)
        return x.major > y.major ? -1 : 1;
    return x.minor == y.minor ? 0 : x.minor > y.minor ? -1 : 1;
}
