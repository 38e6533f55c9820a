#include "base/err.h"
#include "base/lru.h"
#include "base/mem.h"
#include "test.h"

struct item {
    struct cor_lru_link link;
    char name[2];
};

static char dropped[16];
static size_t ndropped;

static void drop(struct cor_lru_link *take)
{
    struct item *it = COR_CONTAINER_OF(take, struct item, link);

    dropped[ndropped++] = it->name[0];
    dropped[ndropped] = '\0';
    cor_free(it);
}

static void begin(struct cor_lru *l, size_t max)
{
    dropped[0] = '\0';
    ndropped = 0;
    cor_lru_init(l, max, drop);
}

static int add(struct cor_lru *l, char name)
{
    struct item *it = cor_alloc(sizeof(*it));

    if (!it)
        return -COR_ENOMEM;
    *it = (struct item){.name = {name, '\0'}};
    it->link.key = cor_str(it->name, 1);
    if (cor_lru_add(l, &it->link) == 0)
        return 0;
    cor_free(it);
    return -COR_ENOMEM;
}

TEST(lru, drops_what_was_not_used_for_longest)
{
    struct cor_lru l;

    begin(&l, 3);
    add(&l, 'a');
    add(&l, 'b');
    add(&l, 'c');
    assert_non_null(cor_lru_use(&l, COR_STR("a")));
    add(&l, 'd');
    assert_string_equal(dropped, "b");
    assert_null(cor_lru_use(&l, COR_STR("b")));
    add(&l, 'e');
    assert_string_equal(dropped, "bc");
    assert_int_equal(cor_lru_len(&l), 3);
    cor_lru_deinit(&l);
    assert_string_equal(dropped, "bcade");
}

TEST(lru, drops_the_one_that_it_is_told_to)
{
    struct cor_lru l;

    begin(&l, 3);
    add(&l, 'a');
    add(&l, 'b');
    cor_lru_drop(&l, cor_lru_use(&l, COR_STR("a")));
    assert_string_equal(dropped, "a");
    assert_null(cor_lru_use(&l, COR_STR("a")));
    assert_int_equal(cor_lru_len(&l), 1);
    cor_lru_deinit(&l);
    assert_string_equal(dropped, "ab");
}

TEST(lru, takes_nothing_without_memory)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_lru l;
        int r;

        begin(&l, 2);
        r = add(&l, 'a');
        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        assert_int_equal(cor_lru_len(&l), r == 0 ? 1 : 0);
        cor_lru_deinit(&l);
    }
}
