/* RunTestList: one seeded store, and what every way of listing it gives. */
#include <stdio.h>

#include "base/mem.h"
#include "conformance.h"
#include "meta/select/continue_token.h"

/* Revisions by name: init, w1 … w7 (six creates and an update), list (a delete), now (compaction's
 * own write). History before w1 is compacted. */
enum { INIT, W1, W2, W3, W4, W5, W6, W7, LIST, NOW, NREVS };
static const char *const rev_names[] = {"init", "w1", "w2", "w3",   "w4",
                                        "w5",   "w6", "w7", "list", "now"};

struct seeded {
    struct conf c;
    cor_rev revs[NREVS];
};

static void seed(struct seeded *s)
{
    static const struct {
        const char *ns, *name;
    } pods[] = {{"first", "bar"},    {"second", "bar"}, {"second", "foo"},
                {"third", "barfoo"}, {"third", "foo"},  {"second", "baz"}};
    struct cor_object *object;

    conf_open(&s->c);
    conf_bump(&s->c);
    s->revs[INIT] = conf_revision(&s->c);
    for (size_t i = 0; i < COR_ARRAY_LEN(pods); i++) {
        object = conf_put_pod(&s->c, pods[i].ns, pods[i].name, NULL);
        s->revs[W1 + i] = object->rev;
        cor_object_unref(object);
    }
    object = conf_put_pod(&s->c, "first", "bar", "fakeNode");
    s->revs[W7] = object->rev;
    cor_object_unref(object);
    object = conf_remove(&s->c, "/pods/second/baz");
    s->revs[LIST] = object->rev;
    cor_object_unref(object);
    conf_compact(&s->c, s->revs[W1]);
    s->revs[NOW] = conf_revision(&s->c);
    assert_int_equal(s->revs[NOW], s->revs[LIST] + 1);
}

/* "@w1" is the revision of that name, "@latest" a token's -1; anything else stands for itself. */
static const char *resolve(const struct seeded *s, const char *rv)
{
    if (!rv || *rv != '@')
        return rv;
    for (size_t i = 0; i < NREVS; i++)
        if (strcmp(rev_names[i], rv + 1) == 0)
            return conf_rv(s->revs[i]);
    return "-1";
}

static int64_t resolve_number(const struct seeded *s, const char *rv)
{
    int64_t n;

    assert_int_equal(cor_str_to_i64(cor_strz(resolve(s, rv)), &n), 0);
    return n;
}

/* "start@rv" as a token; "" gives "". A start with a `+` at its end goes on after that key. */
static char *token(const struct seeded *s, const char *prefix, const char *text)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 4096}, key = {.max = 4096};
    const char *at = strchr(text, '@');
    struct cor_str start = cor_str(text, at ? (size_t)(at - text) : 0);
    bool after = start.n > 0 && start.p[start.n - 1] == '+';

    if (!at)
        return cor_strdup("");
    start.n -= after;
    assert_int_equal(cor_buf_addf(&key, "/registry%s%.*s", prefix, COR_STR_ARG(start)), 0);
    if (after)
        assert_int_equal(cor_buf_addc(&key, 0), 0);
    {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf pp = {.max = 4096};

        assert_int_equal(cor_buf_addf(&pp, "/registry%s", prefix), 0);
        assert_int_equal(cor_continue_encode(cor_buf_str(&key), cor_buf_str(&pp),
                                             resolve_number(s, at), &out, NULL),
                         0);
    }
    return cor_buf_steal(&out, NULL);
}

/* "ns/name@w2,…" */
static const char *items_text(const struct seeded *s, const struct conf_list *list)
{
    static char text[1024];
    size_t n = 0;

    text[0] = 0;
    for (size_t i = 0; i < list->nitems; i++) {
        const struct cor_object *o = list->items[i];
        const char *rev = "?";

        for (size_t j = 0; j < NREVS; j++)
            if (s->revs[j] == o->rev)
                rev = rev_names[j];
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%.*s/%.*s@%s", i ? "," : "",
                              COR_STR_ARG(cor_object_namespace(o)), COR_STR_ARG(cor_object_name(o)),
                              rev);
    }
    return text;
}

struct row {
    const char *what, *prefix, *rv, *match, *fields, *token; /* NULL: empty */
    int64_t limit;
    const char *items;
    const char *list_rv, *next; /* NULL: not checked; `next` "": none */
    int64_t remaining;          /* 0: absent */
    const char *error;          /* what the message contains */
};

#define ALL     "first/bar@w7,second/bar@w2,second/foo@w3,third/barfoo@w4,third/foo@w5"
#define EXPIRED "The resourceVersion for the provided list is too old."
#define CONTINUE_EXPIRED                                                                           \
    "The provided continue parameter is too old to display a consistent list result."
#define NAME(n) .fields = "metadata.name=" n

static const struct row rows[] = {
    {"invalid resource version", "/pods/", "abc", .error = "invalid resource version: "},
    {"negative resource version", "/pods/", "-1", .error = "invalid resource version: "},
    {"resource version and token", "/pods/", "1", .limit = 1, .token = "second/foo@list",
     .error = "specifying resource version is not allowed when using continue"},
    {"too high", "/pods/", "18446744073709551615",
     .error = "Timeout: Too large resource version: 18446744073709551615, current: "},
    {"too high, exact", "/pods/", "18446744073709551615", "Exact",
     .error = "Timeout: Too large resource version: 18446744073709551615, current: "},
    {"existing", "/pods/first/", .items = "first/bar@w7", .list_rv = "@now", .next = ""},
    {"existing, 0", "/pods/first/", "0", .items = "first/bar@w7", .next = ""},
    {"existing, before update, exact", "/pods/first/", "@w1", "Exact", .items = "first/bar@w1",
     .list_rv = "@w1"},
    {"before creation, exact", "/pods/second/", "@w1", "Exact", .items = "", .list_rv = "@w1"},
    {"after creation, exact", "/pods/second/", "@w2", "Exact", .items = "second/bar@w2",
     .list_rv = "@w2"},
    {"before first write, exact", "/pods/first/", "@init", "Exact", .error = EXPIRED},
    {"0, not older", "/pods/first/", "0", "NotOlderThan", .items = "first/bar@w7"},
    {"0, invalid match", "/pods/first/", "0", "Invalid",
     .error = "unknown ResourceVersionMatch value: Invalid"},
    {"before first write, not older", "/pods/first/", "@init", "NotOlderThan",
     .items = "first/bar@w7"},
    {"before first write, invalid match", "/pods/first/", "@init", "Invalid",
     .error = "unknown ResourceVersionMatch value: Invalid"},
    {"current", "/pods/first/", "@list", .items = "first/bar@w7"},
    {"current, exact", "/pods/first/", "@list", "Exact", .items = "first/bar@w7",
     .list_rv = "@list"},
    {"current, not older", "/pods/first/", "@list", "NotOlderThan", .items = "first/bar@w7"},
    {"non-existing", "/pods/non-existing/", .items = "", .list_rv = "@now"},
    {"name matching", "/pods/first/", .fields = "metadata.name!=bar", .items = ""},
    {"name matching, not older", "/pods/first/", "@list", "NotOlderThan",
     .fields = "metadata.name!=bar", .items = ""},
    {"limit", "/pods/second/", .limit = 1, .items = "second/bar@w2", .list_rv = "@now",
     .next = "bar+@now", .remaining = 1},
    {"limit, current", "/pods/second/", "@list", .limit = 1, .items = "second/bar@w2",
     .list_rv = "@list", .next = "bar+@list", .remaining = 1},
    {"limit, current, exact", "/pods/second/", "@list", "Exact", .limit = 1,
     .items = "second/bar@w2", .list_rv = "@list", .next = "bar+@list", .remaining = 1},
    {"limit, current, not older", "/pods/second/", "@list", "NotOlderThan", .limit = 1,
     .items = "second/bar@w2", .list_rv = "@now", .next = "bar+@now", .remaining = 1},
    {"limit, 0", "/pods/second/", "0", .limit = 1, .items = "second/bar@w2", .list_rv = "@now",
     .next = "bar+@now", .remaining = 1},
    {"limit, 0, not older", "/pods/second/", "0", "NotOlderThan", .limit = 1,
     .items = "second/bar@w2", .list_rv = "@now", .next = "bar+@now", .remaining = 1},
    {"limit before first write, legacy is exact", "/pods/second/", "@init", .limit = 1,
     .error = EXPIRED},
    {"limit before first write, not older", "/pods/second/", "@init", "NotOlderThan", .limit = 1,
     .items = "second/bar@w2", .list_rv = "@now", .next = "bar+@now", .remaining = 1},
    {"limit before created, exact", "/pods/second/", "@w1", "Exact", .limit = 1, .items = "",
     .list_rv = "@w1", .next = ""},
    {"limit after created, exact", "/pods/second/", "@w2", "Exact", .limit = 1,
     .items = "second/bar@w2", .list_rv = "@w2", .next = ""},
    {"pregenerated token", "/pods/second/", .limit = 1, .token = "foo@list",
     .items = "second/foo@w3", .list_rv = "@list", .next = ""},
    {"pregenerated token, 0 is ignored", "/pods/second/", "0", .limit = 1, .token = "foo@list",
     .items = "second/foo@w3"},
    {"flattened", "/pods/second/", .items = "second/bar@w2,second/foo@w3"},
    {"flattened, without slash", "/pods/second", .items = "second/bar@w2,second/foo@w3"},
    {"flattened, not older", "/pods/second/", "@list", "NotOlderThan",
     .items = "second/bar@w2,second/foo@w3"},
    {"filter, limit, more keys", "/pods/", NAME("barfoo"), .limit = 1, .items = "third/barfoo@w4",
     .next = "third/barfoo+@now"},
    {"filter, limit, more keys, not older", "/pods/", "@list", "NotOlderThan", NAME("barfoo"),
     .limit = 1, .items = "third/barfoo@w4", .next = "third/barfoo+@now"},
    {"filter, limit 2, no more", "/pods/", NAME("barfoo"), .limit = 2, .items = "third/barfoo@w4",
     .next = ""},
    {"filter, limit 2, no more, not older", "/pods/", "@list", "NotOlderThan", NAME("barfoo"),
     .limit = 2, .items = "third/barfoo@w4", .next = ""},
    {"filter, 0, limit 2", "/pods/", "0", NAME("barfoo"), .limit = 2, .items = "third/barfoo@w4",
     .next = ""},
    {"filter, two items, more keys", "/pods/", NAME("bar"), .limit = 2,
     .items = "first/bar@w7,second/bar@w2", .next = "second/bar+@now"},
    {"filter, two items at the end", "/pods/", NAME("foo"), .limit = 2,
     .items = "second/foo@w3,third/foo@w5", .next = ""},
    {"filter with token", "/pods/", NAME("foo"), .token = "third/barfoo@list",
     .items = "third/foo@w5", .next = ""},
    {"filter with token, limit 1", "/pods/", NAME("foo"), .limit = 1, .token = "third/barfoo@list",
     .items = "third/foo@w5", .next = ""},
    {"filter with token, limit 2", "/pods/", NAME("foo"), .limit = 2, .token = "third/barfoo@list",
     .items = "third/foo@w5", .next = ""},
    {"filter, no limit", "/pods/", NAME("foo"), .items = "second/foo@w3,third/foo@w5"},
    {"filter by node", "/pods/", "@list", "NotOlderThan", .fields = "spec.nodeName=fakeNode",
     .items = "first/bar@w7"},
    {"filter for the deleted", "/pods/", "@list", "NotOlderThan", NAME("baz"), .items = ""},
    {"all", "/pods/", .items = ALL, .list_rv = "@now", .next = ""},
    {"all, not older", "/pods/", "@list", "NotOlderThan", .items = ALL},
    {"consistent, nothing there", "/pods/empty", .items = "", .list_rv = "@now"},
    {"exact, before first write", "/pods/", "@init", "Exact", .error = EXPIRED},
    {"exact, first write", "/pods/", "@w1", "Exact", .items = "first/bar@w1", .list_rv = "@w1"},
    {"exact, second", "/pods/", "@w2", "Exact", .items = "first/bar@w1,second/bar@w2",
     .list_rv = "@w2"},
    {"exact, third", "/pods/", "@w3", "Exact", .items = "first/bar@w1,second/bar@w2,second/foo@w3",
     .list_rv = "@w3"},
    {"exact, fourth", "/pods/", "@w4", "Exact",
     .items = "first/bar@w1,second/bar@w2,second/foo@w3,third/barfoo@w4", .list_rv = "@w4"},
    {"exact, fifth", "/pods/", "@w5", "Exact",
     .items = "first/bar@w1,second/bar@w2,second/foo@w3,third/barfoo@w4,third/foo@w5",
     .list_rv = "@w5"},
    {"exact, sixth", "/pods/", "@w6", "Exact",
     .items = "first/bar@w1,second/bar@w2,second/baz@w6,second/foo@w3,third/barfoo@w4,third/foo@w5",
     .list_rv = "@w6"},
    {"exact, seventh", "/pods/", "@w7", "Exact",
     .items = "first/bar@w7,second/bar@w2,second/baz@w6,second/foo@w3,third/barfoo@w4,third/foo@w5",
     .list_rv = "@w7"},
    {"exact, eighth", "/pods/", "@list", "Exact", .items = ALL, .list_rv = "@list"},
    {"exact, after all", "/pods/", "@now", "Exact", .items = ALL, .list_rv = "@now"},
    {"exact, limit, first write", "/pods/", "@w1", "Exact", .limit = 1, .items = "first/bar@w1",
     .list_rv = "@w1", .next = ""},
    {"exact, limit, second write", "/pods/", "@w2", "Exact", .limit = 1, .items = "first/bar@w1",
     .list_rv = "@w2", .next = "first/bar+@w2", .remaining = 1},
    {"exact, limit, sixth", "/pods/", "@w6", "Exact", .limit = 3,
     .items = "first/bar@w1,second/bar@w2,second/baz@w6", .list_rv = "@w6",
     .next = "second/baz+@w6", .remaining = 3},
    {"legacy exact, limit, sixth", "/pods/", "@w6", .limit = 2,
     .items = "first/bar@w1,second/bar@w2", .list_rv = "@w6", .next = "second/bar+@w6",
     .remaining = 4},
    {"token before first write", "/pods/", .limit = 1, .token = "first/bar+@init",
     .error = CONTINUE_EXPIRED},
    {"token, second write", "/pods/", .limit = 1, .token = "first/bar+@w2",
     .items = "second/bar@w2", .list_rv = "@w2", .next = ""},
    {"token, third write", "/pods/", .limit = 1, .token = "first/bar+@w3", .items = "second/bar@w2",
     .list_rv = "@w3", .next = "second/bar+@w3", .remaining = 1},
    {"token, fourth write", "/pods/", .limit = 1, .token = "second/bar+@w4",
     .items = "second/foo@w3", .list_rv = "@w4", .next = "second/foo+@w4", .remaining = 1},
    {"token, fifth write", "/pods/", .limit = 1, .token = "first/bar+@w5", .items = "second/bar@w2",
     .list_rv = "@w5", .next = "second/bar+@w5", .remaining = 3},
    {"token, sixth write", "/pods/", .limit = 2, .token = "second/bar+@w6",
     .items = "second/baz@w6,second/foo@w3", .list_rv = "@w6", .next = "second/foo+@w6",
     .remaining = 2},
    {"token, seventh write", "/pods/", .limit = 4, .token = "second/foo+@w7",
     .items = "third/barfoo@w4,third/foo@w5", .list_rv = "@w7", .next = ""},
    {"token, after writes", "/pods/", .limit = 1, .token = "first/bar+@now",
     .items = "second/bar@w2", .list_rv = "@now", .next = "second/bar+@now", .remaining = 3},
    {"negative token is consistent", "/pods/", .token = "first/bar+@latest",
     .items = "second/bar@w2,second/foo@w3,third/barfoo@w4,third/foo@w5", .list_rv = "@now",
     .next = ""},
    {"negative token with limit", "/pods/", .limit = 2, .token = "first/bar+@latest",
     .items = "second/bar@w2,second/foo@w3", .list_rv = "@now", .next = "second/foo+@now",
     .remaining = 2},
    {"negative token from the third", "/pods/", .token = "second/foo+@latest",
     .items = "third/barfoo@w4,third/foo@w5", .list_rv = "@now"},
};

static void check(struct seeded *s, const struct row *row)
{
    struct cor_predicate predicate = conf_predicate("", row->fields);
    COR_CLEANUP(cor_freep) char *from = token(s, row->prefix, row->token ? row->token : "");
    struct cor_store_list_opts opts = {
        .options = {.recursive = true,
                    .limit = row->limit,
                    .resource_version = cor_strz(resolve(s, row->rv)),
                    .resource_version_match = cor_strz(row->match),
                    .continue_token = cor_strz(from)},
        .predicate = &predicate,
    };
    CONF_LIST list = conf_list(&s->c, row->prefix, &opts);

    /* A cache ignores the limit then; its own tests say so. */
    if (s->c.reader && row->limit > 0 && !row->token && row->rv && strcmp(row->rv, "0") == 0) {
        cor_predicate_deinit(&predicate);
        return;
    }
    if (row->error) {
        if (list.err == 0 || !strstr(cor_status_message(&list.status), row->error))
            fail_msg("%s: got %d %s", row->what, list.err, cor_status_message(&list.status));
        if (strcmp(row->error, EXPIRED) == 0 || strcmp(row->error, CONTINUE_EXPIRED) == 0)
            assert_int_equal(list.status.code, 410);
    } else if (list.err < 0) {
        fail_msg("%s: %s", row->what, cor_status_message(&list.status));
    } else {
        if (strcmp(items_text(s, &list), row->items) != 0)
            fail_msg("%s: items %s", row->what, items_text(s, &list));
        if (row->list_rv && strcmp(resolve(s, row->list_rv), conf_rv(list.rev)) != 0)
            fail_msg("%s: list at %llu", row->what, (unsigned long long)list.rev);
        if (row->next) {
            COR_CLEANUP(cor_freep) char *next = token(s, row->prefix, row->next);

            if (strcmp(list.token, next) != 0)
                fail_msg("%s: token %s, expected %s", row->what, list.token, next);
        }
        if (list.remaining != (row->remaining ? row->remaining : -1))
            fail_msg("%s: remaining %lld", row->what, (long long)list.remaining);
    }
    cor_predicate_deinit(&predicate);
}

/* RunTestList */
TEST(conformance, list_at_every_revision_with_limits_selectors_and_tokens)
{
    struct seeded s;

    seed(&s);
    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++)
        check(&s, &rows[i]);
    conf_close(&s.c);
}

/* RunTestList: tokens that are none. */
TEST(conformance, list_refuses_tokens_that_are_not_valid)
{
    /* base64 of {"v":"meta.k8s.io/v1","rv":5,"start":""} and of one with "rv":0 */
    static const struct {
        const char *token, *message;
    } bad[] = {
        {"eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NSwic3RhcnQiOiIifQ",
         "invalid continue token: continue key is not valid: encoded start key empty (version "
         "meta.k8s.io/v1)"},
        {"eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MCwic3RhcnQiOiJhIn0",
         "invalid continue token: continue key is not valid: incorrect encoded start "
         "resourceVersion (version meta.k8s.io/v1)"},
        {"!", "invalid continue token: continue key is not valid: "},
    };
    struct conf c;

    conf_open(&c);
    for (size_t i = 0; i < COR_ARRAY_LEN(bad); i++) {
        struct cor_store_list_opts opts = {
            .options = {.recursive = true, .continue_token = cor_strz(bad[i].token)}};
        CONF_LIST list = conf_list(&c, "/pods", &opts);

        assert_int_equal(list.status.code, 400);
        assert_non_null(strstr(cor_status_message(&list.status), bad[i].message));
    }
    conf_close(&c);
}
