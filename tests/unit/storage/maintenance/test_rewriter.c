#include "storage/maintenance/rewriter.h"

#include <stdio.h>

#include "base/err.h"
#include "engine_fixture.h"
#include "server/stored/stored_form.h"
#include "storage/encryption/encryption.h"

#define HEAD                                                                                       \
    "kind: EncryptionConfiguration\napiVersion: apiserver.config.k8s.io/v1\nresources:\n"          \
    "- resources: ['*.*']\n  providers:\n"
#define KEY1  "  - aesgcm: {keys: [{name: key1, secret: c2VjcmV0IGlzIHNlY3VyZQ==}]}\n"
#define KEY2  "  - aesgcm: {keys: [{name: key2, secret: dGhpcyBpcyBwYXNzd29yZA==}]}\n"
#define CLEAR "  - identity: {}\n"

struct run {
    struct cor_encryption *encryption;
    struct cor_transformer transformer; /* passes to the encryption's */
    struct fx *fx;
    struct cor_write_req rival; /* handed in while a value is transformed */
    const char *rival_key, *rival_value;
    cor_rev rival_expected;
    int rivals;
    bool done;
    int err;
    bool changes_form;
    enum cor_stored_form form;
    struct cor_rewriter_counts counts;
    char failures[512];
    unsigned progress;
};

static const struct cor_transformer *inner(const struct run *run)
{
    const struct cor_gr pods = {.group = COR_STR(""), .resource = COR_STR("pods")};

    return cor_encryption_peek(run->encryption, &pods);
}

static int from_storage(const struct cor_transformer *t, struct cor_str key, struct cor_str in,
                        struct cor_buf *scratch, struct cor_str *ret_out, bool *ret_stale,
                        struct cor_status *reterr_status)
{
    t = inner(COR_CONTAINER_OF(t, struct run, transformer));
    return t->from_storage(t, key, in, scratch, ret_out, ret_stale, reterr_status);
}

static void on_rival(struct cor_engine_req *req)
{
    struct run *run = COR_CONTAINER_OF(req, struct run, rival.req);

    assert_int_equal(req->result, 0);
    run->rival_expected = run->rival.ret_rev;
    cor_write_req_deinit(&run->rival);
}

static int to_storage(const struct cor_transformer *t, struct cor_str key, struct cor_str in,
                      struct cor_buf *scratch, struct cor_str *ret_out,
                      struct cor_status *reterr_status)
{
    struct run *run = COR_CONTAINER_OF((struct cor_transformer *)t, struct run, transformer);

    if (run->rivals > 0 && cor_str_eqz(key, run->rival_key)) {
        run->rivals--;
        cor_write_req_init(&run->rival, run->fx->loop, on_rival);
        run->rival.key = cor_strz(run->rival_key);
        run->rival.value = cor_strz(run->rival_value);
        run->rival.expected = run->rival_expected;
        cor_engine_write(run->fx->engine, &run->rival);
    }
    t = inner(run);
    return t->to_storage(t, key, in, scratch, ret_out, reterr_status);
}

static const struct cor_transformer *transformer_of(void *arg, struct cor_str key)
{
    return cor_str_starts(key, COR_STR("/registry/other/")) ? NULL
                                                            : &((struct run *)arg)->transformer;
}

static void on_failure(void *arg, struct cor_str key, const struct cor_status *why)
{
    struct run *run = arg;
    size_t n = strlen(run->failures);

    snprintf(run->failures + n, sizeof(run->failures) - n, "%.*s: %s;", COR_STR_ARG(key),
             cor_status_message(why));
}

static void on_progress(void *arg, const struct cor_rewriter_counts *counts)
{
    struct run *run = arg;

    assert_true(counts->seen > run->counts.seen || counts->seen == 0);
    run->counts = *counts;
    run->progress++;
}

static void on_done(void *arg, int err, struct cor_status *status,
                    const struct cor_rewriter_counts *counts)
{
    struct run *run = arg;

    assert_false(run->done);
    assert_int_equal(err, status->err);
    run->done = true;
    run->err = err;
    run->counts = *counts;
}

static bool is_done(void *arg)
{
    return ((struct run *)arg)->done;
}

static int convert(void *arg, struct cor_str value, struct cor_buf *out, struct cor_str *ret_value,
                   struct cor_status *reterr_status)
{
    return cor_stored_form_convert(((struct run *)arg)->form, value, out, ret_value, reterr_status);
}

static int start(struct fx *fx, struct run *run)
{
    const struct cor_rewriter_opts opts = {.engine = fx->engine,
                                           .loop = fx->loop,
                                           .prefix = COR_STR("/registry/"),
                                           .convert = run->changes_form ? convert : NULL,
                                           .transformer_of = transformer_of,
                                           .on_failure = on_failure,
                                           .on_progress = on_progress,
                                           .on_done = on_done,
                                           .arg = run};

    run->fx = fx;
    run->transformer = (struct cor_transformer){from_storage, to_storage};
    return cor_rewriter_start(&opts, NULL);
}

static void rewrite(struct fx *fx, const char *config, struct run *run)
{
    assert_int_equal(cor_encryption_new(cor_strz(config), NULL, &run->encryption, NULL), 0);
    assert_int_equal(start(fx, run), 0);
    assert_false(run->done);
    assert_true(cor_loop_run_until(fx->loop, is_done, run, FX_TIMEOUT_MS));
    cor_encryption_unref(run->encryption);
}

static struct cor_kv *read_key(struct fx *fx, const char *key)
{
    struct cor_range_req req;
    struct cor_kv *kv;

    fx_range_init(fx, &req, key, NULL);
    assert_int_equal(fx_range(fx, &req), 0);
    assert_int_equal(req.ret_nkvs, 1);
    kv = cor_kv_ref(req.ret_kvs[0]);
    cor_range_req_deinit(&req);
    return kv;
}

static void has_prefix(struct fx *fx, const char *key, const char *prefix)
{
    struct cor_kv *kv = read_key(fx, key);

    assert_true(cor_str_starts(cor_kv_value(kv), cor_strz(prefix)));
    cor_kv_unref(kv);
}

TEST(rewriter, rewrites_what_is_stale_and_leaves_the_rest)
{
    struct fx fx;

    ON_EACH_STORE(&fx)
    {
        struct run first = {0}, again = {0}, rotated = {0}, back = {0};
        cor_rev rev;

        assert_int_equal(fx_put(&fx, "/registry/other/x", "{}", 0, NULL), 0);
        assert_int_equal(fx_put(&fx, "/registry/pods/a", "{}", 0, NULL), 0);
        assert_int_equal(fx_put(&fx, "/registry/pods/b", "{}", 0, NULL), 0);
        assert_int_equal(fx_put(&fx, "/registrz", "{}", 0, NULL), 0);
        rewrite(&fx, HEAD KEY1 CLEAR, &first);
        assert_int_equal(first.err, 0);
        assert_int_equal(first.counts.total, 3);
        assert_int_equal(first.counts.seen, 3);
        assert_int_equal(first.counts.rewritten, 2);
        has_prefix(&fx, "/registry/pods/b", "k8s:enc:aesgcm:v1:key1:");
        has_prefix(&fx, "/registry/other/x", "{}");
        has_prefix(&fx, "/registrz", "{}");
        rev = fx_rev(&fx);
        rewrite(&fx, HEAD KEY1 CLEAR, &again);
        assert_int_equal(again.counts.rewritten, 0);
        assert_int_equal(fx_rev(&fx), rev);
        rewrite(&fx, HEAD KEY2 KEY1, &rotated);
        assert_int_equal(rotated.counts.rewritten, 2);
        has_prefix(&fx, "/registry/pods/a", "k8s:enc:aesgcm:v1:key2:");
        rewrite(&fx, HEAD CLEAR KEY2, &back);
        assert_int_equal(back.counts.rewritten, 2);
        has_prefix(&fx, "/registry/pods/a", "{}");
    }
}

TEST(rewriter, goes_through_many_pages_and_tells_how_far_it_is)
{
    struct run run = {0};
    struct fx fx;
    char key[64];

    fx_open(&fx, ":memory:");
    for (int i = 0; i < 150; i++) {
        snprintf(key, sizeof(key), "/registry/pods/p%03d", i);
        assert_int_equal(fx_put(&fx, key, "{}", 0, NULL), 0);
    }
    rewrite(&fx, HEAD KEY1 CLEAR, &run);
    assert_int_equal(run.counts.total, 150);
    assert_int_equal(run.counts.seen, 150);
    assert_int_equal(run.counts.rewritten, 150);
    assert_true(run.progress >= 3);
    fx_close(&fx);
}

TEST(rewriter, keeps_the_lease_of_a_value)
{
    struct run run = {0};
    struct cor_kv *kv;
    struct fx fx;
    int64_t lease;

    fx_open(&fx, ":memory:");
    lease = fx_lease(&fx, 3600);
    assert_int_equal(fx_put_lease(&fx, "/registry/events/e", "{}", 0, lease, NULL), 0);
    rewrite(&fx, HEAD KEY1 CLEAR, &run);
    kv = read_key(&fx, "/registry/events/e");
    assert_int_equal(kv->lease, lease);
    assert_true(cor_str_starts(cor_kv_value(kv), COR_STR("k8s:enc:")));
    cor_kv_unref(kv);
    fx_close(&fx);
}

TEST(rewriter, never_loses_a_write_that_comes_between)
{
    struct run run = {.rival_key = "/registry/pods/a", .rival_value = "{\"newer\":1}", .rivals = 3};
    struct run once = {.rival_key = "/registry/pods/a", .rival_value = "{}", .rivals = 1000};
    struct cor_buf plain = {.max = 4096};
    struct cor_str out;
    struct cor_kv *kv;
    struct fx fx;
    bool stale;

    fx_open(&fx, ":memory:");
    assert_int_equal(fx_put(&fx, "/registry/pods/a", "{}", 0, &run.rival_expected), 0);
    assert_int_equal(cor_encryption_new(COR_STR(HEAD KEY1 CLEAR), NULL, &run.encryption, NULL), 0);
    assert_int_equal(start(&fx, &run), 0);
    assert_true(cor_loop_run_until(fx.loop, is_done, &run, FX_TIMEOUT_MS));
    assert_int_equal(run.counts.rewritten, 1);
    kv = read_key(&fx, "/registry/pods/a");
    assert_int_equal(inner(&run)->from_storage(inner(&run), cor_kv_key(kv), cor_kv_value(kv),
                                               &plain, &out, &stale, NULL),
                     0);
    assert_str(out, "{\"newer\":1}");
    assert_false(stale);
    once.rival_expected = kv->mod_rev;
    cor_kv_unref(kv);
    cor_buf_deinit(&plain);
    cor_encryption_unref(run.encryption);
    rewrite(&fx, HEAD KEY2 KEY1 CLEAR, &once);
    assert_int_equal(once.err, 0);
    assert_int_equal(once.counts.failed, 1);
    assert_string_equal(once.failures,
                        "/registry/pods/a: it changes faster than it can be rewritten;");
    fx_close(&fx);
}

TEST(rewriter, names_what_it_cannot_read_and_goes_on)
{
    struct run run = {0};
    struct fx fx;

    fx_open(&fx, ":memory:");
    assert_int_equal(fx_put(&fx, "/registry/pods/a", "{}", 0, NULL), 0);
    assert_int_equal(fx_put(&fx, "/registry/pods/b", "k8s:enc:aesgcm:v1:key1:xyz", 0, NULL), 0);
    assert_int_equal(fx_put(&fx, "/registry/pods/c", "{}", 0, NULL), 0);
    rewrite(&fx, HEAD KEY1 CLEAR, &run);
    assert_int_equal(run.err, 0);
    assert_int_equal(run.counts.rewritten, 2);
    assert_int_equal(run.counts.failed, 1);
    assert_string_equal(run.failures, "/registry/pods/b: the stored data was shorter than the "
                                      "required size;");
    fx_close(&fx);
}

TEST(rewriter, of_an_empty_store_ends_at_once)
{
    struct run run = {0};
    struct fx fx;

    fx_open(&fx, ":memory:");
    rewrite(&fx, HEAD KEY1 CLEAR, &run);
    assert_int_equal(run.err, 0);
    assert_int_equal(run.counts.seen, 0);
    fx_close(&fx);
}

#define MAP                                                                                        \
    "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"data\":{\"a\":\"b\"},\"metadata\":{\"name\":\"m\"}}"
#define OTHER "{\"kind\":\"Frob\",\"apiVersion\":\"x/v1\",\"metadata\":{\"name\":\"f\"}}"

/* There and back, with and without encryption; what has no protobuf form stays as it is. */
TEST(rewriter, changes_the_form_of_values)
{
    struct fx fx;

    ON_EACH_STORE(&fx)
    {
        struct run to = {.changes_form = true, .form = COR_STORED_PROTOBUF}, again = to;
        struct run seal = {.changes_form = true, .form = COR_STORED_PROTOBUF};
        struct run back = {.changes_form = true, .form = COR_STORED_JSON};

        assert_int_equal(fx_put(&fx, "/registry/configmaps/d/m", MAP, 0, NULL), 0);
        assert_int_equal(fx_put(&fx, "/registry/configmaps/d/broken", "{\"kind\":", 0, NULL), 0);
        assert_int_equal(fx_put(&fx, "/registry/x/frobs/d/f", OTHER, 0, NULL), 0);
        rewrite(&fx, HEAD CLEAR, &to);
        assert_int_equal(to.counts.rewritten, 1);
        assert_int_equal(to.counts.failed, 1);
        assert_true(strncmp(to.failures, "/registry/configmaps/d/broken: ", 31) == 0);
        has_prefix(&fx, "/registry/configmaps/d/m", "k8s");
        has_prefix(&fx, "/registry/x/frobs/d/f", OTHER);
        rewrite(&fx, HEAD CLEAR, &again);
        assert_int_equal(again.counts.rewritten, 0);
        rewrite(&fx, HEAD KEY1 CLEAR, &seal);
        assert_int_equal(seal.counts.rewritten, 2);
        has_prefix(&fx, "/registry/configmaps/d/m", "k8s:enc:aesgcm:v1:key1:");
        rewrite(&fx, HEAD CLEAR KEY1, &back);
        assert_int_equal(back.counts.rewritten, 2);
        has_prefix(&fx, "/registry/configmaps/d/m", MAP);
        has_prefix(&fx, "/registry/x/frobs/d/f", OTHER);
    }
}

/* The order, escapes and numbers of a raw value belong to the client. */
TEST(rewriter, keeps_the_bytes_of_raw_values)
{
    static const char revision[] =
        "{\"kind\":\"ControllerRevision\",\"apiVersion\":\"apps/v1\",\"data\":{\"spec\":{\"b\":1,"
        "\"a\":\"\\u0041\"}},\"metadata\":{\"name\":\"r\"},\"revision\":1}";
    struct run to = {.changes_form = true, .form = COR_STORED_PROTOBUF};
    struct run back = {.changes_form = true, .form = COR_STORED_JSON};
    struct fx fx;

    fx_open(&fx, ":memory:");
    assert_int_equal(fx_put(&fx, "/registry/controllerrevisions/d/r", revision, 0, NULL), 0);
    rewrite(&fx, HEAD CLEAR, &to);
    assert_int_equal(to.counts.rewritten, 1);
    has_prefix(&fx, "/registry/controllerrevisions/d/r", "k8s");
    rewrite(&fx, HEAD CLEAR, &back);
    assert_int_equal(back.counts.rewritten, 1);
    has_prefix(&fx, "/registry/controllerrevisions/d/r", revision);
    fx_close(&fx);
}

TEST(rewriter, survives_every_failed_allocation)
{
    struct cor_encryption *encryption;
    struct fx fx;

    fx_open(&fx, ":memory:");
    assert_int_equal(cor_encryption_new(COR_STR(HEAD KEY1 CLEAR), NULL, &encryption, NULL), 0);
    assert_int_equal(fx_put(&fx, "/registry/pods/a", MAP, 0, NULL), 0);
    assert_int_equal(fx_put(&fx, "/registry/pods/b", MAP, 0, NULL), 0);
    FOR_EACH_FAILED_ALLOC(n) {
        struct run run = {.encryption = encryption,
                          .changes_form = true,
                          .form = n % 2 ? COR_STORED_PROTOBUF : COR_STORED_JSON};
        int r = start(&fx, &run);

        if (r == 0) {
            assert_true(cor_loop_run_until(fx.loop, is_done, &run, FX_TIMEOUT_MS));
            r = run.err;
        }
        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
    }
    cor_encryption_unref(encryption);
    fx_close(&fx);
}
