#include "base/list.h"
#include "test.h"

struct item {
    struct cor_list link;
    int n;
};

TEST(list, keeps_order_of_pushes_and_pops)
{
    struct cor_list head;
    struct item a = {.n = 1}, b = {.n = 2}, c = {.n = 0};

    cor_list_init(&head);
    cor_list_push(&head, &a.link);
    cor_list_push(&head, &b.link);
    cor_list_push_front(&head, &c.link);
    for (int i = 0; i < 3; i++)
        assert_int_equal(COR_CONTAINER_OF(cor_list_pop(&head), struct item, link)->n, i);
    assert_null(cor_list_pop(&head));
}

TEST(list, removing_the_current_link_is_safe_in_the_safe_walk)
{
    struct cor_list head;
    struct item items[5];
    int seen = 0;

    cor_list_init(&head);
    for (int i = 0; i < 5; i++)
        cor_list_push(&head, &items[i].link);
    COR_LIST_FOREACH_SAFE(it, &head) {
        cor_list_remove(it);
        seen++;
    }
    assert_int_equal(seen, 5);
    assert_true(cor_list_empty(&head));
}

TEST(list, splice_appends_in_order_and_empties_the_source)
{
    struct cor_list to, from;
    struct item a = {.n = 0}, b = {.n = 1}, c = {.n = 2};
    int want = 0;

    cor_list_init(&to);
    cor_list_init(&from);
    cor_list_push(&to, &a.link);
    cor_list_push(&from, &b.link);
    cor_list_push(&from, &c.link);
    cor_list_splice(&to, &from);
    cor_list_splice(&to, &from);
    assert_true(cor_list_empty(&from));
    COR_LIST_FOREACH(it, &to)
        assert_int_equal(COR_CONTAINER_OF(it, struct item, link)->n, want++);
    assert_int_equal(want, 3);
}
