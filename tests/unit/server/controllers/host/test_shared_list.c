/* Lists that several works share, over a scripted port. */
#include "base/err.h"
#include "scripted_port.h"
#include "server/controllers/host/shared_list.h"
#include "test.h"

#define POD(name) "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"a\"}}"

static const struct cor_gvr pods = {COR_STR_INIT(""), COR_STR_INIT("v1"), COR_STR_INIT("pods")};

struct member {
    struct cor_list_member member;
    int nitems, ndone, err;
    struct cor_shared_lists *again_in; /* joins again when it is done */
    struct scripted_port *sp;
    struct member *ends; /* another one that leaves when this one is done */
};

static void on_item(struct cor_dlist *members, struct cor_object *item)
{
    COR_DLIST_FOREACH(link, members)
        COR_CONTAINER_OF(cor_list_member_at(link), struct member, member)->nitems++;
}

static void join(struct cor_shared_lists *lists, struct scripted_port *sp, struct member *m,
                 const char *ns);

static void on_done(struct cor_list_member *member, const struct cor_api_answer *answer)
{
    struct member *m = COR_CONTAINER_OF(member, struct member, member);
    struct cor_shared_lists *again_in = COR_STEAL(m->again_in);

    m->ndone++;
    m->err = answer->error ? answer->error->err : 0;
    if (again_in)
        join(again_in, m->sp, m, "a");
    if (m->ends)
        cor_list_member_leave(&m->ends->member);
}

static void join(struct cor_shared_lists *lists, struct scripted_port *sp, struct member *m,
                 const char *ns)
{
    m->member.on_item = on_item;
    m->member.on_done = on_done;
    m->sp = sp;
    assert_int_equal(cor_shared_lists_join(lists, &sp->port, &pods, cor_strz(ns), &m->member), 0);
}

TEST(shared_list, who_comes_meanwhile_is_served_by_the_next_list)
{
    static const char *one[] = {POD("p"), NULL}, *two[] = {POD("p"), POD("q"), NULL};
    struct member m[4] = {{.nitems = 0}};
    struct cor_shared_lists lists;
    struct scripted_port sp;

    scripted_port_init(&sp);
    cor_shared_lists_init(&lists);
    scripted_items(&sp, 10, one, false);
    scripted_items(&sp, 10, two, false);
    join(&lists, &sp, &m[0], "a");
    for (int i = 1; i < 4; i++)
        join(&lists, &sp, &m[i], "a");
    m[0].again_in = &lists; /* once more, with the others */
    scripted_run(&sp, 10);
    assert_int_equal(m[0].ndone, 1);
    assert_int_equal(m[0].nitems, 1);
    assert_int_equal(m[1].ndone, 0);
    scripted_run(&sp, 10);
    for (int i = 1; i < 4; i++) {
        assert_int_equal(m[i].ndone, 1);
        assert_int_equal(m[i].nitems, 2);
    }
    assert_int_equal(m[0].ndone, 2);
    assert_int_equal(m[0].nitems, 3);
    scripted_assert_log(&sp, "LIST v1 pods a/\nLIST v1 pods a/\n");
    assert_true(cor_dlist_empty(&lists.all));
    scripted_port_deinit(&sp);
}

TEST(shared_list, other_namespaces_have_lists_of_their_own)
{
    static const char *none[] = {NULL};
    struct member a = {.nitems = 0}, b = {.nitems = 0};
    struct cor_shared_lists lists;
    struct scripted_port sp;

    scripted_port_init(&sp);
    cor_shared_lists_init(&lists);
    scripted_items(&sp, 0, none, false);
    scripted_fail(&sp, 0, -COR_EINTERNAL);
    join(&lists, &sp, &a, "a");
    join(&lists, &sp, &b, "b");
    scripted_run(&sp, 1);
    assert_int_equal(a.ndone + b.ndone, 2);
    assert_int_equal(a.err, 0);
    assert_int_equal(b.err, -COR_EINTERNAL);
    scripted_port_deinit(&sp);
}

TEST(shared_list, who_leaves_hears_nothing_and_the_last_one_cancels_the_list)
{
    static const char *one[] = {POD("p"), NULL};
    struct member m[3] = {{.nitems = 0}}, never = {.nitems = 0};
    struct cor_shared_lists lists;
    struct scripted_port sp;

    cor_list_member_leave(&never.member);
    scripted_port_init(&sp);
    cor_shared_lists_init(&lists);
    scripted_items(&sp, 10, one, false);
    scripted_items(&sp, 10, one, false);
    join(&lists, &sp, &m[0], "a");
    join(&lists, &sp, &m[1], "a");
    join(&lists, &sp, &m[2], "a");
    /* The first list is for nobody then: the next one begins at once. */
    cor_list_member_leave(&m[0].member);
    m[1].ends = &m[2];
    scripted_run(&sp, 10);
    assert_int_equal(m[0].ndone, 0);
    assert_int_equal(m[1].ndone, 1);
    assert_int_equal(m[2].ndone, 0);
    scripted_assert_log(&sp, "LIST v1 pods a/\nCANCEL v1 pods a/\nLIST v1 pods a/\n");
    scripted_items(&sp, 10, one, false);
    join(&lists, &sp, &m[0], "a");
    cor_list_member_leave(&m[0].member);
    assert_true(cor_dlist_empty(&lists.all));
    scripted_run(&sp, 10);
    assert_int_equal(m[0].ndone, 0);
    scripted_port_deinit(&sp);
}

/* The reason of a refusal is in the request, which belongs to the list. */
TEST(shared_list, an_error_is_that_of_every_member)
{
    struct member m[2] = {{.nitems = 0}};
    struct cor_shared_lists lists;
    struct scripted_port sp;

    scripted_port_init(&sp);
    cor_shared_lists_init(&lists);
    scripted_refuse(&sp, -COR_ENOMEM);
    scripted_refuse(&sp, -COR_EBUSY);
    join(&lists, &sp, &m[0], "a");
    join(&lists, &sp, &m[1], "a");
    scripted_run(&sp, 1);
    assert_int_equal(m[0].err, -COR_ENOMEM);
    scripted_run(&sp, 1);
    assert_int_equal(m[1].err, -COR_EBUSY);
    assert_true(cor_dlist_empty(&lists.all));
    scripted_port_deinit(&sp);
}

TEST(shared_list, fails_cleanly_without_memory)
{
    static const char *none[] = {NULL};
    struct cor_shared_lists lists;

    cor_shared_lists_init(&lists);
    FOR_EACH_FAILED_ALLOC(n) {
        struct member m = {.member = {.on_item = on_item, .on_done = on_done}};
        struct scripted_port sp;
        int r;

        scripted_port_init(&sp);
        scripted_items(&sp, 0, none, false);
        r = cor_shared_lists_join(&lists, &sp.port, &pods, COR_STR("a"), &m.member);
        if (r == 0) {
            scripted_run(&sp, 1);
            assert_int_equal(m.ndone, 1);
        } else {
            assert_int_equal(r, -COR_ENOMEM);
            sp.next = sp.nsteps;
        }
        scripted_port_deinit(&sp);
    }
}
