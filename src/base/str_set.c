/* Strings of a set. The first COR_STR_SET_FEW are compared one by one. The next one moves all of
 * them into the map, which then has every string; `few` is not looked at any more.
 * Failures: a map that cannot grow leaves the set as it was. */
#include "base/str_set.h"

#include "base/err.h"

/* The map wants a value that is not NULL. */
static char present;

void cor_str_set_init(struct cor_str_set *set, size_t max)
{
    set->nfew = 0;
    cor_map_init(&set->many, max);
}

void cor_str_set_deinit(struct cor_str_set *set)
{
    set->nfew = 0;
    cor_map_deinit(&set->many);
}

bool cor_str_set_has(const struct cor_str_set *set, struct cor_str s)
{
    if (cor_map_len(&set->many) > 0)
        return cor_map_peek(&set->many, s) != NULL;
    for (size_t i = 0; i < set->nfew; i++) {
        if (cor_str_eq(set->few[i], s))
            return true;
    }
    return false;
}

static int move_to_map(struct cor_str_set *set)
{
    for (size_t i = 0; i < set->nfew; i++) {
        int r = cor_map_put(&set->many, set->few[i], &present, NULL);

        if (r < 0) {
            cor_map_clear(&set->many);
            return r;
        }
    }
    return 0;
}

int cor_str_set_add(struct cor_str_set *set, struct cor_str s, bool *ret_is_new)
{
    bool is_new = !cor_str_set_has(set, s);
    int r = 0;

    if (is_new && cor_map_len(&set->many) == 0 && set->nfew < COR_STR_SET_FEW) {
        if (set->nfew == set->many.max)
            return -COR_ETOOBIG;
        set->few[set->nfew++] = s;
    } else if (is_new) {
        if (cor_map_len(&set->many) == 0)
            r = move_to_map(set);
        if (r == 0)
            r = cor_map_put(&set->many, s, &present, NULL);
    }
    if (r == 0)
        *ret_is_new = is_new;
    return r;
}
