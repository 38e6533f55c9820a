/* The hash table of pages (addr_set.h): open addressing with linear probing. A page that becomes
 * empty stays until the table grows; growing drops the empty pages. */
#include "server/alloc/addr_set.h"

#include <assert.h>

#include "base/err.h"
#include "base/mem.h"

#define CAP_MIN 16

static uint64_t page_hash(const struct cor_addr_set *set, uint64_t hi, uint64_t number)
{
    uint64_t h = (hi ^ set->seed) * UINT64_C(0x9e3779b97f4a7c15) + number;

    h = (h ^ h >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    h = (h ^ h >> 27) * UINT64_C(0x94d049bb133111eb);
    return h ^ h >> 31;
}

/* The page of these addresses, or the free place where it would be. A free place has the number 0;
 * page_number() gives UINT64_MAX, which no page has, to the page that is the first of its half. */
static struct cor_addr_page *page_find(const struct cor_addr_set *set, uint64_t hi, uint64_t number)
{
    size_t at = page_hash(set, hi, number) & (set->cap - 1);

    while (set->pages[at].number != 0 &&
           (set->pages[at].number != number || set->pages[at].hi != hi))
        at = (at + 1) & (set->cap - 1);
    return &set->pages[at];
}

static uint64_t page_number(struct cor_addr ip)
{
    return ip.lo >> 6 ? ip.lo >> 6 : UINT64_MAX;
}

static int set_grow(struct cor_addr_set *set)
{
    struct cor_addr_set grown = {.cap = CAP_MIN, .seed = set->seed};
    size_t used = 0;

    for (size_t i = 0; i < set->cap; i++)
        used += set->pages[i].bits != 0;
    while (grown.cap < 4 * (used + 1))
        grown.cap *= 2;
    grown.pages = cor_calloc(grown.cap, sizeof(grown.pages[0]));
    if (!grown.pages)
        return -COR_ENOMEM;
    for (size_t i = 0; i < set->cap; i++)
        if (set->pages[i].bits != 0)
            *page_find(&grown, set->pages[i].hi, set->pages[i].number) = set->pages[i];
    grown.n = used;
    cor_free(set->pages);
    *set = grown;
    return 0;
}

int cor_addr_set_add(struct cor_addr_set *set, struct cor_addr ip)
{
    uint64_t number = page_number(ip);
    struct cor_addr_page *page;

    if (2 * (set->n + 1) > set->cap && set_grow(set) < 0)
        return -COR_ENOMEM;
    page = page_find(set, ip.hi, number);
    set->n += page->number == 0;
    page->hi = ip.hi;
    page->number = number;
    page->bits |= UINT64_C(1) << (ip.lo & 63);
    return 0;
}

void cor_addr_set_remove(struct cor_addr_set *set, struct cor_addr ip)
{
    if (set->cap > 0)
        page_find(set, ip.hi, page_number(ip))->bits &= ~(UINT64_C(1) << (ip.lo & 63));
}

uint64_t cor_addr_set_page(const struct cor_addr_set *set, struct cor_addr ip)
{
    return set->cap > 0 ? page_find(set, ip.hi, page_number(ip))->bits : 0;
}

bool cor_addr_set_has(const struct cor_addr_set *set, struct cor_addr ip)
{
    return cor_addr_set_page(set, ip) >> (ip.lo & 63) & 1;
}

void cor_addr_set_clear(struct cor_addr_set *set)
{
    set->pages = cor_free(set->pages);
    set->n = set->cap = 0;
}
