/* Watches of every kind, paused and resumed at random while random changes come: each must see
 * every change that it selects once, in order, and so end with the objects that it selects. */
#include <stdio.h>

#include "base/rand.h"
#include "fake_engine.h"

#define NAMESPACES 3
#define NAMES      5
#define NODES      4
#define CHANGES    4000

/* The node of every pod; -1: it does not exist. */
static int world[NAMESPACES][NAMES];

struct kind {
    const char *key;
    const char *fields;
    bool one;           /* not recursive */
    int ns, name, node; /* what it selects; -1: any */
};

static const struct kind kinds[] = {
    {"/pods", "", false, -1, -1, -1},
    {"/pods/ns1", "", false, 1, -1, -1},
    {"/pods/ns2/p3", "", true, 2, 3, -1},
    {"/pods", "spec.nodeName=n2", false, -1, -1, 2},
    {"/pods/ns0", "spec.nodeName=n1", false, 0, -1, 1},
    {"/pods/ns1", "metadata.name=p2", false, 1, 2, -1},
    {"/pods", "metadata.name=p1", false, -1, 1, -1},
    {"/pods", "metadata.namespace=ns2", false, 2, -1, -1},
    {"/pods", "metadata.name=p1,spec.nodeName=n0", false, -1, 1, 0},
    {"/pods", "spec.nodeName!=n0", false, -1, -1, -2},
};

struct follower {
    struct fake_watch w; /* for its predicate and its end */
    const struct kind *kind;
    bool has[NAMESPACES][NAMES];
    cor_rev last;
    bool initial; /* objects of the initial state come by key */
    bool pause_each;
};

static struct fake f;

static bool selects(const struct kind *k, int ns, int name)
{
    int node = world[ns][name];

    if (node < 0 || (k->ns >= 0 && k->ns != ns) || (k->name >= 0 && k->name != name))
        return false;
    if (k->node == -2)
        return node != 0;
    return k->node < 0 || k->node == node;
}

static void on_open(void *arg, int err, struct cor_status *status)
{
    assert_int_equal(err, 0);
}

static void on_event(void *arg, const struct cor_reader_event *event)
{
    struct follower *fo = arg;
    struct cor_str ns, name;
    bool *has;

    assert_non_null(event);
    if (event->type == COR_WATCH_BOOKMARK) {
        fo->initial = false;
        fo->last = event->rev;
        return;
    }
    assert_int_not_equal(event->type, COR_WATCH_ERROR);
    assert_true(fo->initial || event->rev > fo->last);
    fo->last = fo->initial ? 0 : event->rev;
    ns = cor_object_namespace(event->object);
    name = cor_object_name(event->object);
    has = &fo->has[ns.p[2] - '0'][name.p[1] - '0'];
    assert_int_equal(*has, event->type != COR_WATCH_ADDED);
    *has = event->type != COR_WATCH_DELETED;
    if (fo->pause_each)
        cor_watch_pause(fo->w.watch);
}

static void follow(struct follower *fo, const struct kind *kind, bool initial)
{
    struct cor_reader_watch_opts opts = fake_watch_opts(&fo->w, initial ? "" : "0", kind->fields);

    fo->kind = kind;
    fo->initial = true;
    fo->last = 0;
    memset(fo->has, 0, sizeof(fo->has));
    opts.options.recursive = !kind->one;
    opts.options.send_initial_events = COR_TRUE;
    opts.options.allow_bookmarks = true;
    opts.on_open = on_open;
    opts.on_event = on_event;
    opts.arg = fo;
    fake_watch_open(&f, &fo->w, kind->key, &opts);
}

static void change(struct cor_rand *rand)
{
    int ns = (int)cor_rand_below(rand, NAMESPACES), name = (int)cor_rand_below(rand, NAMES);
    char ns_text[8], name_text[8], node_text[8], more[16];

    snprintf(ns_text, sizeof(ns_text), "ns%d", ns);
    snprintf(name_text, sizeof(name_text), "p%d", name);
    if (world[ns][name] >= 0 && cor_rand_below(rand, 4) == 0) {
        world[ns][name] = -1;
        fake_delete(&f, ns_text, name_text);
        return;
    }
    world[ns][name] = (int)cor_rand_below(rand, NODES);
    snprintf(node_text, sizeof(node_text), "n%d", world[ns][name]);
    snprintf(more, sizeof(more), "%llu", (unsigned long long)f.rev);
    fake_put(&f, ns_text, name_text, node_text, more);
}

static void check(const struct follower *fo)
{
    for (int ns = 0; ns < NAMESPACES; ns++) {
        for (int name = 0; name < NAMES; name++) {
            if (fo->has[ns][name] != selects(fo->kind, ns, name))
                fail_msg("%s %s: ns%d/p%d", fo->kind->key, fo->kind->fields, ns, name);
        }
    }
}

TEST(watch_model, every_kind_of_watch_sees_every_change_that_it_selects_once)
{
    static struct follower followers[2 * COR_ARRAY_LEN(kinds)];
    struct cor_rand rand;

    cor_rand_init_seeded(&rand, test_random());
    memset(world, -1, sizeof(world));
    fake_open(&f, 0);
    for (size_t i = 0; i < COR_ARRAY_LEN(followers); i++) {
        memset(&followers[i], 0, sizeof(followers[i]));
        follow(&followers[i], &kinds[i / 2], i % 2);
    }
    for (int i = 0; i < CHANGES; i++) {
        struct follower *fo = &followers[cor_rand_below(&rand, COR_ARRAY_LEN(followers))];

        change(&rand);
        switch (cor_rand_below(&rand, 8)) {
        case 0:
            cor_watch_pause(fo->w.watch);
            break;
        case 1:
            cor_watch_resume(fo->w.watch);
            break;
        case 2:
            fo->pause_each = !fo->pause_each;
            break;
        case 3:
            fake_settle(&f);
            break;
        case 4:
            if (cor_rand_below(&rand, 10) == 0) {
                fake_watch_close(&fo->w);
                follow(fo, fo->kind, i % 2);
            }
            break;
        default:
            break;
        }
    }
    for (size_t i = 0; i < COR_ARRAY_LEN(followers); i++) {
        followers[i].pause_each = false;
        cor_watch_resume(followers[i].w.watch);
    }
    fake_settle(&f);
    fake_settle(&f);
    for (size_t i = 0; i < COR_ARRAY_LEN(followers); i++) {
        check(&followers[i]);
        fake_watch_close(&followers[i].w);
    }
    assert_int_equal(cor_cacher_reader_stats(f.reader).idle, 0);
    assert_int_equal(cor_cacher_reader_stats(f.reader).lagging, 0);
    fake_close(&f);
}
