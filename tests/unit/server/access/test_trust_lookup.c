/* The ConfigMap of a delegate, read once and then followed: which requests that takes, and what is
 * in force after each answer. The delegate is played on the same loop. */
#include "server/access/trust_lookup.h"

#include "rest_fixture.h"

#define MAPS "/api/v1/namespaces/kube-system/configmaps"
#define MAP(rv, header)                                                                              \
    "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":"                          \
    "\"extension-apiserver-authentication\",\"namespace\":\"kube-system\",\"resourceVersion\":\"" rv \
    "\"},\"data\":{\"requestheader-username-headers\":\"" header "\"}}"
#define GOOD     "[\\\"X-Name\\\"]"
#define EVENT(m) "{\"type\":\"MODIFIED\",\"object\":" m "}\n"

struct follower {
    struct world w;
    struct cor_delegate *delegate;
    struct cor_client_trust *trust;
    struct cor_trust_lookup *lookup;
    bool is_told, is_closed;
    int r;
    char text[300];
    struct cor_front_proxy *before; /* what was in force; borrowed, only compared */
};

static void follower_on_first(void *arg, int r, const char *text)
{
    struct follower *f = arg;

    assert_false(f->is_told);
    f->is_told = true;
    f->r = r;
    snprintf(f->text, sizeof(f->text), "%s", text);
}

static void follower_begin(struct follower *f, const struct answer *script, size_t n)
{
    *f = (struct follower){0};
    world_begin(&f->w, NULL);
    world_script(&f->w, script, n);
    assert_int_equal(cor_client_trust_new(&f->trust), 0);
    assert_int_equal(cor_delegate_open(f->w.net, &f->w.config, &f->delegate, NULL), 0);
}

static int follower_open(struct follower *f)
{
    const struct cor_trust_lookup_opts opts = {.delegate = f->delegate,
                                               .trust = f->trust,
                                               .wants_client_ca = true,
                                               .wants_proxy = true,
                                               .on_first = follower_on_first,
                                               .arg = f};

    f->is_told = false;
    return cor_trust_lookup_open(&opts, &f->lookup);
}

static void follower_end(struct follower *f)
{
    f->lookup = cor_trust_lookup_close(f->lookup);
    cor_delegate_close(f->delegate, set_flag, &f->is_closed);
    world_until(&f->w, is_flag, &f->is_closed);
    cor_client_trust_free(f->trust);
    world_end(&f->w);
}

static struct cor_front_proxy *in_force(struct follower *f)
{
    struct cor_front_proxy *proxy = cor_client_trust_get_proxy(f->trust);

    cor_front_proxy_unref(proxy);
    return proxy;
}

static bool is_replaced(void *arg)
{
    struct follower *f = arg;

    return in_force(f) != f->before;
}

static bool is_watched(void *arg)
{
    return ((struct follower *)arg)->w.held != NULL;
}

TEST(trust_lookup, reads_the_map_and_follows_it_from_its_version)
{
    static const struct answer script[] = {{.body = MAP("7", GOOD)},
                                           {.body = EVENT(MAP("8", GOOD)), .move = HOLD}};
    struct follower f;

    follower_begin(&f, script, COR_ARRAY_LEN(script));
    assert_int_equal(follower_open(&f), 0);
    assert_false(f.is_told);
    world_until(&f.w, is_flag, &f.is_told);
    assert_int_equal(f.r, 0);
    f.before = in_force(&f);
    assert_non_null(f.before);
    world_until(&f.w, is_replaced, &f);
    assert_str(cor_buf_str(&f.w.asked),
               "GET " MAPS "/extension-apiserver-authentication?timeout=10s\n"
               "GET " MAPS "?fieldSelector=metadata.name%3Dextension-apiserver-authentication"
               "&watch=true&resourceVersion=7&timeoutSeconds=300\n");
    follower_end(&f);
}

TEST(trust_lookup, tells_once_what_the_first_reading_came_to)
{
    static const struct answer script[] = {
        {.status = 404,
         .body = "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"message\":"
                 "\"there is none\",\"reason\":\"NotFound\",\"code\":404}"},
        {.body = MAP("7", "no list")},
        {.body = MAP("8", GOOD)},
        {.move = HOLD}};
    struct follower f;

    follower_begin(&f, script, COR_ARRAY_LEN(script));
    assert_int_equal(follower_open(&f), 0);
    world_until(&f.w, is_flag, &f.is_told);
    assert_int_equal(f.r, -COR_EINTERNAL);
    assert_string_equal(f.text, "there is none");
    /* The ConfigMap is read again until it can be used; nobody is told of these readings. */
    world_until(&f.w, is_replaced, &f);
    world_until(&f.w, is_watched, &f);
    follower_end(&f);
}

TEST(trust_lookup, an_event_that_cannot_be_used_leaves_what_is_in_force)
{
    static const struct answer script[] = {
        {.body = MAP("7", GOOD)},
        {.body = EVENT(MAP("8", "no list")) "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\","
                                            "\"code\":410}}\n",
         .move = HOLD},
        {.body = MAP("9", GOOD)},
        {.move = HOLD}};
    struct follower f;

    follower_begin(&f, script, COR_ARRAY_LEN(script));
    assert_int_equal(follower_open(&f), 0);
    world_until(&f.w, is_flag, &f.is_told);
    f.before = in_force(&f);
    /* The ERROR ended the watch: the map is read again, and followed from there. */
    world_until(&f.w, is_replaced, &f);
    world_until(&f.w, is_watched, &f);
    assert_int_equal(f.w.nasked, 4);
    follower_end(&f);
}

static bool is_told_or_failed(void *arg)
{
    return ((struct follower *)arg)->is_told || test_alloc_failed();
}

static bool is_replaced_or_failed(void *arg)
{
    return is_replaced(arg) || test_alloc_failed();
}

/* Closed at once after the failure, which may have been the delegate's: the pauses that follow are
 * not waited for. */
TEST(trust_lookup, without_memory_it_fails_or_goes_on_and_can_be_closed)
{
    static const struct answer script[] = {{.body = MAP("7", GOOD)},
                                           {.body = EVENT(MAP("8", GOOD)), .move = HOLD}};
    struct follower f;

    follower_begin(&f, script, COR_ARRAY_LEN(script));
    FOR_EACH_FAILED_ALLOC(n) {
        int r = follower_open(&f);

        f.w.nasked = 0;
        if (r < 0) {
            assert_int_equal(r, -COR_ENOMEM);
            continue;
        }
        world_until(&f.w, is_told_or_failed, &f);
        if (!test_alloc_failed())
            assert_int_equal(f.r, 0);
        if (f.is_told && f.r == 0) {
            f.before = in_force(&f);
            assert_non_null(f.before);
            world_until(&f.w, is_replaced_or_failed, &f);
        }
        f.lookup = cor_trust_lookup_close(f.lookup);
    }
    follower_end(&f);
}
