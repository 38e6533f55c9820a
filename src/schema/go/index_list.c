/* Lists of a Job's indexes. A list is cut at its commas, and each part is an index or an interval
 * with a dash in it. cor_index_list_check() reads the parts in order and stops at the first
 * mistake, which it words as upstream does; cor_index_lists_overlap() reads two lists side by side
 * and passes over parts that are not an interval, because their mistakes were reported before.
 *
 * The only failures are those of the buffer that gets the words: no memory, or its maximum.
 * Thread: any (nothing is kept between calls). */
#include "schema/go/index_list.h"

#include <inttypes.h>
#include <stdbool.h>

#include "base/err.h"
#include "meta/status/quote.h"
#include "schema/go/go_int.h"

struct interval {
    int64_t first, last;
};

/* Reports a mistake: the words before and after a text in quotes. */
static int index_refuse(struct cor_buf *why, const char *before, struct cor_str text,
                        const char *after)
{
    int r = cor_buf_addz(why, before);

    if (r == 0)
        r = cor_quote(text, why);
    if (r == 0)
        r = cor_buf_addz(why, after);
    return r < 0 ? r : 1;
}

static int index_refuse_order(struct cor_buf *why, int64_t previous, int64_t current)
{
    int r = cor_buf_addf(why, "non-increasing order, previous: %" PRId64 ", current: %" PRId64,
                         previous, current);

    return r < 0 ? r : 1;
}

static int read_index(struct cor_str text, int32_t completions, int64_t *ret, struct cor_buf *why)
{
    if (cor_go_atoi(text, ret) < 0)
        return index_refuse(why, "cannot convert string to integer for index: ", text, "");
    return *ret < completions ? 0 : index_refuse(why, "too large index: ", text, "");
}

static int read_interval(struct cor_str text, int32_t completions, struct interval *ret,
                         struct cor_buf *why)
{
    struct cor_str last = text, first = cor_str_cut(&last, '-');
    int r;

    if (last.p && cor_str_find(last, '-') >= 0)
        return index_refuse(why, "the fragment ", text,
                            " violates the requirement that an index interval can have at most two "
                            "parts separated by '-'");
    r = read_index(first, completions, &ret->first, why);
    ret->last = ret->first;
    if (r != 0 || !last.p)
        return r;
    r = read_index(last, completions, &ret->last, why);
    if (r != 0)
        return r;
    return ret->first < ret->last ? 0 : index_refuse_order(why, ret->first, ret->last);
}

int cor_index_list_check(struct cor_str text, int32_t completions, int32_t *ret_total,
                         struct cor_buf *why)
{
    int64_t total = 0, previous = -1;
    struct interval interval;
    int r;

    *ret_total = 0;
    if (text.n == 0)
        return 0;
    do {
        r = read_interval(cor_str_cut(&text, ','), completions, &interval, why);
        if (r != 0)
            return r;
        if (previous >= interval.first)
            return index_refuse_order(why, previous, interval.first);
        total += interval.last - interval.first + 1;
        previous = interval.last;
    } while (text.p);
    *ret_total = (int32_t)total;
    return 0;
}

/* Moves to the next interval that is one. False: there is no more. */
static bool next_interval(struct cor_str *rest, int32_t completions, struct interval *ret)
{
    /* The message is never read: there is no room for it, and the result is negative. */
    struct cor_buf unread = {.max = 0};

    while (rest->p) {
        if (read_interval(cor_str_cut(rest, ','), completions, ret, &unread) == 0)
            return true;
    }
    return false;
}

int32_t cor_index_lists_overlap(struct cor_str a, struct cor_str b, int32_t completions)
{
    struct interval x, y;
    bool has_x, has_y;

    if (a.n == 0 || b.n == 0)
        return -1;
    has_x = next_interval(&a, completions, &x);
    has_y = next_interval(&b, completions, &y);
    while (has_x && has_y) {
        if (x.first <= y.last && y.first <= x.last)
            return (int32_t)(x.first > y.first ? x.first : y.first);
        if (x.first <= y.first)
            has_x = next_interval(&a, completions, &x);
        else
            has_y = next_interval(&b, completions, &y);
    }
    return -1;
}
