#include "storage/encryption/encryption.h"

#include <pthread.h>
#include <stdio.h>

#include "base/base64.h"
#include "base/rand.h"
#include "encrypted_values.h"
#include "test.h"

#define HEAD    "kind: EncryptionConfiguration\napiVersion: apiserver.config.k8s.io/v1\nresources:\n"
#define KEY1    "c2VjcmV0IGlzIHNlY3VyZQ=="
#define KEY2    "dGhpcyBpcyBwYXNzd29yZA=="
#define BOX_KEY "YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXoxMjM0NTY="

static const struct cor_gr secrets = {.group = {"", 0}, .resource = {"secrets", 7}};

static struct cor_encryption *make(const char *text)
{
    struct cor_encryption *e;
    struct cor_status st;

    cor_status_init(&st);
    if (cor_encryption_new(cor_strz(text), NULL, &e, &st) < 0)
        fail_msg("%s", cor_status_message(&st));
    return e;
}

/* One rule for secrets. */
static struct cor_encryption *make_rule(const char *providers)
{
    char text[1024];

    snprintf(text, sizeof(text), HEAD "- resources: [secrets]\n  providers: %s\n", providers);
    return make(text);
}

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

static void read_value(const struct cor_encryption *e, const char *key, struct cor_str in,
                       struct got *g)
{
    const struct cor_transformer *t = cor_encryption_peek(e, &secrets);

    *g = (struct got){.scratch.max = 1 << 20};
    g->r = t->from_storage(t, cor_strz(key), in, &g->scratch, &g->out, &g->stale, &g->status);
}

static void write_value(const struct cor_encryption *e, const char *key, struct cor_str in,
                        struct got *g)
{
    const struct cor_transformer *t = cor_encryption_peek(e, &secrets);

    *g = (struct got){.scratch.max = 1 << 20};
    g->r = t->to_storage(t, cor_strz(key), in, &g->scratch, &g->out, &g->status);
    assert_int_equal(g->r, 0);
}

static unsigned nibble(char c)
{
    return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

TEST(encryption, reads_what_kubernetes_wrote)
{
    for (size_t i = 0; i < COR_ARRAY_LEN(encrypted_values); i++) {
        const struct encrypted_value *v = &encrypted_values[i];
        char bytes[512], raw_key[32], providers[256];
        struct cor_encryption *e;
        struct cor_buf secret;
        size_t n = 0;

        for (const char *p = v->hex; *p; p += 2)
            bytes[n++] = (char)(nibble(p[0]) << 4 | nibble(p[1]));
        for (size_t j = 0; j < v->key_bytes; j++)
            raw_key[j] = (char)(j + 1);
        cor_buf_init(&secret, 64);
        assert_int_equal(cor_base64_encode(COR_BASE64_STD, cor_str(raw_key, v->key_bytes), &secret),
                         0);
        snprintf(providers, sizeof(providers), "[%s: {keys: [{name: key1, secret: %s}]}]",
                 v->provider, cor_buf_z(&secret));
        e = make_rule(providers);
        {
            COR_CLEANUP(got_deinit) struct got g;

            read_value(e, ENCRYPTED_VALUES_KEY, cor_str(bytes, n), &g);
            assert_int_equal(g.r, 0);
            assert_str(g.out, v->plain);
            assert_false(g.stale);
        }
        cor_buf_deinit(&secret);
        cor_encryption_unref(e);
    }
}

TEST(encryption, writes_with_the_first_key_of_the_first_provider_under_a_fresh_nonce)
{
    static const struct {
        const char *providers, *prefix;
        size_t more; /* than the plain text, behind the prefix */
    } rows[] = {
        {"[aesgcm: {keys: [{name: key2, secret: " KEY2 "}, {name: key1, secret: " KEY1
         "}]}, identity: {}]",
         "k8s:enc:aesgcm:v1:key2:", 12 + 16},
        {"[aescbc: {keys: [{name: key1, secret: " KEY1 "}]}]", "k8s:enc:aescbc:v1:key1:", 16 + 3},
        {"[secretbox: {keys: [{name: box, secret: " BOX_KEY "}]}]",
         "k8s:enc:secretbox:v1:box:", 24 + 16},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        COR_CLEANUP(got_deinit) struct got one;
        COR_CLEANUP(got_deinit) struct got two;
        COR_CLEANUP(got_deinit) struct got back;
        struct cor_str plain = COR_STR("thirteen long");
        struct cor_encryption *e = make_rule(rows[i].providers);

        write_value(e, "/k", plain, &one);
        write_value(e, "/k", plain, &two);
        assert_true(cor_str_starts(one.out, cor_strz(rows[i].prefix)));
        assert_int_equal(one.out.n, strlen(rows[i].prefix) + plain.n + rows[i].more);
        assert_false(cor_str_eq(one.out, two.out));
        assert_null(memmem(one.out.p, one.out.n, plain.p, plain.n));
        read_value(e, "/k", one.out, &back);
        assert_int_equal(back.r, 0);
        assert_true(cor_str_eq(back.out, plain));
        assert_false(back.stale);
        cor_encryption_unref(e);
    }
}

TEST(encryption, rotation_reads_the_old_key_as_stale_and_writes_the_new_one)
{
    struct cor_encryption *old = make_rule("[aescbc: {keys: [{name: key1, secret: " KEY1 "}]}]");
    struct cor_encryption *both = make_rule("[aescbc: {keys: [{name: key2, secret: " KEY2
                                            "}, {name: key1, secret: " KEY1 "}]}]");
    struct cor_encryption *fresh = make_rule("[aescbc: {keys: [{name: key2, secret: " KEY2 "}]}]");
    struct cor_encryption *away =
        make(HEAD "- resources: [secrets]\n  providers:\n  - identity: {}\n  - aescbc: {keys: "
                  "[{name: key1, secret: " KEY1 "}]}\n");
    COR_CLEANUP(got_deinit) struct got before;
    COR_CLEANUP(got_deinit) struct got between;
    COR_CLEANUP(got_deinit) struct got after;
    COR_CLEANUP(got_deinit) struct got gone;
    COR_CLEANUP(got_deinit) struct got plain;

    write_value(old, "/k", COR_STR("{}"), &before);
    read_value(both, "/k", before.out, &between);
    assert_int_equal(between.r, 0);
    assert_str(between.out, "{}");
    assert_true(between.stale);
    write_value(both, "/k", COR_STR("{}"), &after);
    assert_true(cor_str_starts(after.out, COR_STR("k8s:enc:aescbc:v1:key2:")));
    read_value(fresh, "/k", before.out, &gone);
    assert_int_equal(gone.r, -COR_EINTERNAL);
    assert_string_equal(cor_status_message(&gone.status),
                        "no matching key was found for the provided AES transformer");
    read_value(away, "/k", before.out, &plain);
    assert_int_equal(plain.r, 0);
    assert_true(plain.stale);
    cor_encryption_unref(old);
    cor_encryption_unref(both);
    cor_encryption_unref(fresh);
    cor_encryption_unref(away);
}

TEST(encryption, refuses_what_was_moved_changed_cut_or_sealed_with_another_secret)
{
    struct cor_encryption *e = make_rule("[aesgcm: {keys: [{name: key1, secret: " KEY1 "}]}]");
    struct cor_encryption *other = make_rule("[aesgcm: {keys: [{name: key1, secret: " KEY2 "}]}]");
    COR_CLEANUP(got_deinit) struct got sealed;
    COR_CLEANUP(got_deinit) struct got moved;
    COR_CLEANUP(got_deinit) struct got wrong;
    COR_CLEANUP(got_deinit) struct got cut;
    COR_CLEANUP(got_deinit) struct got none;
    COR_CLEANUP(got_deinit) struct got clear;

    write_value(e, "/a", COR_STR("{}"), &sealed);
    read_value(e, "/b", sealed.out, &moved);
    assert_int_equal(moved.r, -COR_EINTERNAL);
    assert_string_equal(cor_status_message(&moved.status), "cipher: message authentication failed");
    read_value(other, "/a", sealed.out, &wrong);
    assert_string_equal(cor_status_message(&wrong.status), "cipher: message authentication failed");
    read_value(e, "/a", COR_STR("k8s:enc:aesgcm:v1:key1:abc"), &cut);
    assert_string_equal(cor_status_message(&cut.status),
                        "the stored data was shorter than the required size");
    read_value(e, "/a", COR_STR("k8s:enc:kms:v2:vault:abc"), &none);
    assert_string_equal(cor_status_message(&none.status), "no matching prefix found");
    read_value(e, "/a", COR_STR("{}"), &clear);
    assert_string_equal(cor_status_message(&clear.status), "no matching prefix found");
    cor_encryption_unref(e);
    cor_encryption_unref(other);
}

/* Which key of the configuration writes a resource: its name, or "identity". */
static void writes(const struct cor_encryption *e, const char *group, const char *resource,
                   const char *key)
{
    const struct cor_gr gr = {.group = cor_strz(group), .resource = cor_strz(resource)};
    const struct cor_transformer *t = cor_encryption_peek(e, &gr);
    COR_CLEANUP(cor_buf_deinit) struct cor_buf scratch = {.max = 4096};
    struct cor_str out;
    char prefix[64];

    assert_int_equal(t->to_storage(t, COR_STR("/k"), COR_STR("{}"), &scratch, &out, NULL), 0);
    snprintf(prefix, sizeof(prefix), "k8s:enc:aescbc:v1:%s:", key);
    if (strcmp(key, "identity") == 0)
        assert_str(out, "{}");
    else
        assert_true(cor_str_starts(out, cor_strz(prefix)));
}

#define CBC(name) "[aescbc: {keys: [{name: " name ", secret: " KEY1 "}]}]\n"

TEST(encryption, the_closest_rule_counts)
{
    struct cor_encryption *e =
        make(HEAD "- resources: [events]\n  providers: [identity: {}]\n"
                  "- resources: [secrets, pandas.bears.example]\n"
                  "  providers: " CBC("key1") "- resources: ['*.apps']\n"
                                              "  providers: " CBC(
                                                  "key2") "- resources: ['*.']\n"
                                                          "  providers: " CBC(
                                                              "key3") "- resources: ['*.*']\n"
                                                                      "  providers: " CBC("key4"));

    writes(e, "", "events", "identity");
    writes(e, "events.k8s.io", "events", "identity");
    writes(e, "", "secrets", "key1");
    writes(e, "bears.example", "pandas", "key1");
    writes(e, "apps", "deployments", "key2");
    writes(e, "", "pods", "key3");
    writes(e, "batch", "jobs", "key4");
    writes(e, "bears.example", "koalas", "key4");
    cor_encryption_unref(e);
    e = make_rule("[identity: {}]");
    writes(e, "", "pods", "identity");
    cor_encryption_unref(e);
}

TEST(encryption, a_resource_in_two_rules_has_the_providers_of_both)
{
    struct cor_encryption *e = make(HEAD "- resources: [secrets]\n  providers: " CBC(
        "key2") "- resources: [secrets]\n  providers: [identity: {}]\n");
    COR_CLEANUP(got_deinit) struct got clear;

    writes(e, "", "secrets", "key2");
    read_value(e, "/k", COR_STR("{}"), &clear);
    assert_int_equal(clear.r, 0);
    assert_true(clear.stale);
    cor_encryption_unref(e);
}

TEST(encryption, a_masked_rule_is_refused)
{
    static const struct {
        const char *first, *second, *message;
    } rows[] = {
        {"'*.'", "secrets", "resource \"secrets\" is masked by earlier rule \"*.\""},
        {"'*.'", "'*.'", "resource \"*.\" is masked by earlier rule \"*.\""},
        {"'*.foo'", "'*.foo'", "resource \"*.foo\" is masked by earlier rule \"*.foo\""},
        {"'*.*'", "'*.*'", "resource \"*.*\" is masked by earlier rule \"*.*\""},
        {"'*.*'", "secrets", "resource \"secrets\" is masked by earlier rule \"*.*\""},
        {"'*.*'", "'*.'", "resource \"*.\" is masked by earlier rule \"*.*\""},
        {"'*.apps'", "deployments.apps",
         "resource \"deployments.apps\" is masked by earlier rule \"*.apps\""},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        COR_CLEANUP(cor_status_deinit) struct cor_status st;
        struct cor_encryption *e;
        char text[1024], message[256];

        snprintf(text, sizeof(text),
                 HEAD "- resources: [%s]\n  providers: %s- resources: [%s]\n  providers: %s",
                 rows[i].first, CBC("a"), rows[i].second, CBC("b"));
        snprintf(message, sizeof(message), "error while building transformers: %s",
                 rows[i].message);
        cor_status_init(&st);
        assert_int_equal(cor_encryption_new(cor_strz(text), NULL, &e, &st), -COR_EINVAL);
        assert_string_equal(cor_status_message(&st), message);
    }
}

TEST(encryption, says_where_a_file_is_wrong)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status st;
    struct cor_encryption *e;

    cor_status_init(&st);
    assert_int_equal(cor_encryption_new(COR_STR(HEAD "- {}\n"), NULL, &e, &st), -COR_EINVAL);
    assert_true(cor_str_starts(cor_strz(cor_status_message(&st)),
                               COR_STR("error while parsing file: [resources[0].resources: ")));
}

TEST(encryption, a_seeded_generator_repeats_the_bytes)
{
    const char *text = HEAD "- resources: [secrets]\n  providers: " CBC("a");
    struct cor_buf first = {.max = 4096}, second = {.max = 4096};

    for (int i = 0; i < 2; i++) {
        struct cor_encryption *e;
        struct cor_rand rand;
        struct got g;

        cor_rand_init_seeded(&rand, 7);
        assert_int_equal(cor_encryption_new(cor_strz(text), &rand, &e, NULL), 0);
        write_value(e, "/k", COR_STR("{}"), &g);
        assert_int_equal(cor_buf_adds(i ? &second : &first, g.out), 0);
        got_deinit(&g);
        cor_encryption_unref(e);
    }
    assert_true(cor_str_eq(cor_buf_str(&first), cor_buf_str(&second)));
    cor_buf_deinit(&first);
    cor_buf_deinit(&second);
}

#define THREADS 4
#define ROUNDS  200

static void *use_from_a_thread(void *arg)
{
    struct cor_encryption *e = arg;
    const struct cor_transformer *t = cor_encryption_peek(e, &secrets);

    for (int i = 0; i < ROUNDS; i++) {
        struct cor_buf sealed = {.max = 4096}, plain = {.max = 4096};
        struct cor_str out, back;
        bool stale;

        if (t->to_storage(t, COR_STR("/k"), COR_STR("{}"), &sealed, &out, NULL) < 0 ||
            t->from_storage(t, COR_STR("/k"), out, &plain, &back, &stale, NULL) < 0 ||
            !cor_str_eq(back, COR_STR("{}")))
            abort();
        cor_buf_deinit(&sealed);
        cor_buf_deinit(&plain);
    }
    cor_encryption_unref(e);
    return NULL;
}

TEST(encryption, is_used_from_many_threads_at_once)
{
    struct cor_encryption *e = make_rule("[aesgcm: {keys: [{name: key1, secret: " KEY1 "}]}]");
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, use_from_a_thread, cor_encryption_ref(e)), 0);
    cor_encryption_unref(e);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

TEST(encryption, survives_every_failed_allocation)
{
    const char *text = HEAD "- resources: [secrets, '*.apps']\n  providers:\n"
                            "  - secretbox: {keys: [{name: b, secret: " BOX_KEY "}]}\n"
                            "  - aesgcm: {keys: [{name: a, secret: " KEY1 "}]}\n"
                            "  - identity: {}\n"
                            "- resources: [secrets]\n  providers: " CBC("c");

    FOR_EACH_FAILED_ALLOC(n) {
        COR_CLEANUP(cor_status_deinit) struct cor_status st;
        struct cor_encryption *e = NULL;
        int r;

        cor_status_init(&st);
        r = cor_encryption_new(cor_strz(text), NULL, &e, &st);
        if (r == 0) {
            const struct cor_transformer *t = cor_encryption_peek(e, &secrets);
            COR_CLEANUP(cor_buf_deinit) struct cor_buf sealed = {.max = 4096};
            COR_CLEANUP(cor_buf_deinit) struct cor_buf plain = {.max = 4096};
            struct cor_str out, back;
            bool stale;

            r = t->to_storage(t, COR_STR("/k"), COR_STR("{}"), &sealed, &out, &st);
            if (r == 0)
                r = t->from_storage(t, COR_STR("/k"), out, &plain, &back, &stale, &st);
            if (r == 0)
                assert_str(back, "{}");
        }
        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        cor_encryption_unref(e);
    }
}
