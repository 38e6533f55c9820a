#include "base/dlist.h"
#include "test.h"

struct item {
    struct cor_dlist link;
    int n;
};

TEST(list, keeps_order_of_pushes_and_pops)
{
    struct cor_dlist head;
    struct item a = {.n = 1}, b = {.n = 2}, c = {.n = 0};

    cor_dlist_init(&head);
    cor_dlist_push(&head, &a.link);
    cor_dlist_push(&head, &b.link);
    cor_dlist_push_front(&head, &c.link);
    for (int i = 0; i < 3; i++)
        assert_int_equal(COR_CONTAINER_OF(cor_dlist_pop(&head), struct item, link)->n, i);
    assert_null(cor_dlist_pop(&head));
}

TEST(list, removing_the_current_link_is_safe_in_the_safe_walk)
{
    struct cor_dlist head;
    struct item items[5];
    int seen = 0;

    cor_dlist_init(&head);
    for (int i = 0; i < 5; i++)
        cor_dlist_push(&head, &items[i].link);
    COR_DLIST_FOREACH_SAFE(it, &head) {
        cor_dlist_remove(it);
        seen++;
    }
    assert_int_equal(seen, 5);
    assert_true(cor_dlist_empty(&head));
}

TEST(list, splice_appends_in_order_and_empties_the_source)
{
    struct cor_dlist to, from;
    struct item a = {.n = 0}, b = {.n = 1}, c = {.n = 2};
    int want = 0;

    cor_dlist_init(&to);
    cor_dlist_init(&from);
    cor_dlist_push(&to, &a.link);
    cor_dlist_push(&from, &b.link);
    cor_dlist_push(&from, &c.link);
    cor_dlist_splice(&to, &from);
    cor_dlist_splice(&to, &from);
    assert_true(cor_dlist_empty(&from));
    COR_DLIST_FOREACH(it, &to)
        assert_int_equal(COR_CONTAINER_OF(it, struct item, link)->n, want++);
    assert_int_equal(want, 3);
}
