#include "storage/store/transformer.h"
#include "test.h"

/* Turns bytes around, so that reading needs the same transformer; refuses a `!`. */
static int turn(struct cor_str in, struct cor_buf *scratch, struct cor_str *ret_out)
{
    size_t mark = scratch->n;

    for (size_t i = in.n; i > 0; i--)
        if (cor_buf_addc(scratch, in.p[i - 1]) < 0)
            return -COR_ENOMEM;
    *ret_out = cor_str_from(cor_buf_str(scratch), mark);
    return 0;
}

static int turn_from(const struct cor_transformer *t, struct cor_str key, struct cor_str in,
                     struct cor_buf *scratch, struct cor_str *ret_out, bool *ret_stale,
                     struct cor_status *reterr_status)
{
    if (cor_str_find(in, '!') >= 0)
        return cor_status_set(reterr_status, -COR_EINTERNAL, "bad turn of %zu", in.n);
    *ret_stale = false;
    cor_buf_reset(scratch);
    return turn(in, scratch, ret_out);
}

static int turn_to(const struct cor_transformer *t, struct cor_str key, struct cor_str in,
                   struct cor_buf *scratch, struct cor_str *ret_out,
                   struct cor_status *reterr_status)
{
    return turn(in, scratch, ret_out);
}

static const struct cor_transformer turner = {turn_from, turn_to};

struct got {
    int r;
    struct cor_buf scratch;
    struct cor_str out;
    bool stale;
    struct cor_status status;
};

static void got_deinit(struct got *g)
{
    cor_buf_deinit(&g->scratch);
    cor_status_deinit(&g->status);
}

static void read_value(const struct cor_transformer *t, const char *in, struct got *g)
{
    *g = (struct got){.scratch.max = 4096};
    g->r = t->from_storage(t, COR_STR("/registry/a"), cor_strz(in), &g->scratch, &g->out, &g->stale,
                           &g->status);
}

TEST(transformer, identity_passes_values_through)
{
    const struct cor_transformer *t = cor_transformer_identity();
    COR_CLEANUP(got_deinit) struct got g;
    struct cor_str out;

    read_value(t, "{}", &g);
    assert_int_equal(g.r, 0);
    assert_str(g.out, "{}");
    assert_false(g.stale);
    assert_int_equal(t->to_storage(t, COR_STR("k"), COR_STR("{\"a\":1}"), &g.scratch, &out, NULL),
                     0);
    assert_str(out, "{\"a\":1}");
}

TEST(transformer, identity_refuses_encrypted_data)
{
    COR_CLEANUP(got_deinit) struct got g;

    read_value(cor_transformer_identity(), "k8s:enc:aescbc:v1:key1:xyz", &g);
    assert_int_equal(g.r, -COR_EINTERNAL);
    assert_string_equal(cor_status_message(&g.status),
                        "identity transformer tried to read encrypted data");
}

TEST(transformer, chain_writes_with_its_first_link_and_prefix)
{
    const struct cor_transformer_link links[] = {{COR_STR("turn:"), &turner},
                                                 {COR_STR(""), cor_transformer_identity()}};
    struct cor_transformer_chain chain;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf scratch = {.max = 4096};
    struct cor_str out;

    cor_transformer_chain_init(&chain, links, 2, NULL);
    assert_int_equal(chain.transformer.to_storage(&chain.transformer, COR_STR("k"), COR_STR("abc"),
                                                  &scratch, &out, NULL),
                     0);
    assert_str(out, "turn:cba");
}

TEST(transformer, chain_reads_what_any_link_can_and_calls_the_others_stale)
{
    const struct cor_transformer_link links[] = {{COR_STR("turn:"), &turner},
                                                 {COR_STR(""), cor_transformer_identity()}};
    struct cor_transformer_chain chain;
    COR_CLEANUP(got_deinit) struct got first;
    COR_CLEANUP(got_deinit) struct got second;

    cor_transformer_chain_init(&chain, links, 2, NULL);
    read_value(&chain.transformer, "turn:cba", &first);
    assert_int_equal(first.r, 0);
    assert_str(first.out, "abc");
    assert_false(first.stale);
    read_value(&chain.transformer, "plain", &second);
    assert_int_equal(second.r, 0);
    assert_str(second.out, "plain");
    assert_true(second.stale);
}

TEST(transformer, chain_tries_every_link_of_the_prefix_and_collects_errors)
{
    const struct cor_transformer_link links[] = {{COR_STR(""), cor_transformer_identity()},
                                                 {COR_STR("k8s:enc:"), &turner},
                                                 {COR_STR("k8s:enc:a:"), &turner}};
    struct cor_transformer_chain chain;
    COR_CLEANUP(got_deinit) struct got both;
    COR_CLEANUP(got_deinit) struct got one;
    COR_CLEANUP(got_deinit) struct got none;

    cor_transformer_chain_init(&chain, links, 3, NULL);
    read_value(&chain.transformer, "k8s:enc:a:!", &both);
    assert_int_equal(both.r, -COR_EINTERNAL);
    assert_string_equal(cor_status_message(&both.status), "[bad turn of 3, bad turn of 1]");
    cor_transformer_chain_init(&chain, links, 2, NULL);
    read_value(&chain.transformer, "k8s:enc:a:!", &one);
    assert_string_equal(cor_status_message(&one.status), "bad turn of 3");
    cor_transformer_chain_init(&chain, links + 1, 1, NULL);
    read_value(&chain.transformer, "other", &none);
    assert_string_equal(cor_status_message(&none.status), "no matching prefix found");
}

TEST(transformer, chain_says_a_repeated_error_once)
{
    const struct cor_transformer_link links[] = {{COR_STR("k8s:enc:"), &turner},
                                                 {COR_STR("k8s:enc:"), &turner},
                                                 {COR_STR("k8s:enc:a:"), &turner},
                                                 {COR_STR("k8s:enc:a:"), &turner}};
    struct cor_transformer_chain chain;
    COR_CLEANUP(got_deinit) struct got same;
    COR_CLEANUP(got_deinit) struct got two;

    cor_transformer_chain_init(&chain, links, 2, NULL);
    read_value(&chain.transformer, "k8s:enc:a:!", &same);
    assert_string_equal(cor_status_message(&same.status), "bad turn of 3");
    cor_transformer_chain_init(&chain, links, 4, NULL);
    read_value(&chain.transformer, "k8s:enc:a:!", &two);
    assert_string_equal(cor_status_message(&two.status), "[bad turn of 3, bad turn of 1]");
}

TEST(transformer, chains_in_chains_put_their_prefixes_one_behind_the_other)
{
    const struct cor_transformer_link keys[] = {{COR_STR("key2:"), &turner},
                                                {COR_STR("key1:"), &turner}};
    struct cor_transformer_chain outer, inner;
    const struct cor_transformer_link providers[] = {{COR_STR("p:"), &inner.transformer},
                                                     {COR_STR("q:"), cor_transformer_identity()}};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf scratch = {.max = 4096};
    COR_CLEANUP(got_deinit) struct got fresh;
    COR_CLEANUP(got_deinit) struct got old;
    COR_CLEANUP(got_deinit) struct got unknown;
    struct cor_str out;

    cor_transformer_chain_init(&inner, keys, 2, "no such key");
    cor_transformer_chain_init(&outer, providers, 2, NULL);
    assert_int_equal(outer.transformer.to_storage(&outer.transformer, COR_STR("k"), COR_STR("abc"),
                                                  &scratch, &out, NULL),
                     0);
    assert_str(out, "p:key2:cba");
    read_value(&outer.transformer, "p:key2:cba", &fresh);
    assert_str(fresh.out, "abc");
    assert_false(fresh.stale);
    read_value(&outer.transformer, "p:key1:cba", &old);
    assert_str(old.out, "abc");
    assert_true(old.stale);
    read_value(&outer.transformer, "p:key9:cba", &unknown);
    assert_string_equal(cor_status_message(&unknown.status), "no such key");
    cor_transformer_chain_init(&outer, providers + 1, 1, NULL);
    assert_int_equal(outer.transformer.to_storage(&outer.transformer, COR_STR("k"), COR_STR("abc"),
                                                  &scratch, &out, NULL),
                     0);
    assert_str(out, "q:abc");
}

TEST(transformer, chain_survives_every_failed_allocation)
{
    const struct cor_transformer_link links[] = {{COR_STR("turn:"), &turner},
                                                 {COR_STR("turn:"), &turner}};
    struct cor_transformer_chain chain;

    cor_transformer_chain_init(&chain, links, 2, NULL);
    FOR_EACH_FAILED_ALLOC(n) {
        COR_CLEANUP(got_deinit) struct got g;
        COR_CLEANUP(cor_buf_deinit) struct cor_buf scratch = {.max = 4096};
        struct cor_str out;
        int r;

        read_value(&chain.transformer, "turn:cba!", &g);
        assert_true(g.r == -COR_EINTERNAL || (g.r == -COR_ENOMEM && test_alloc_failed()));
        if (test_alloc_failed())
            continue;
        r = chain.transformer.to_storage(&chain.transformer, COR_STR("k"), COR_STR("abc"), &scratch,
                                         &out, NULL);
        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        if (r == 0)
            assert_str(out, "turn:cba");
    }
}
