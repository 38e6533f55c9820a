#include "conformance.h"

#include <stdio.h>
#include <unistd.h>

#include "base/mem.h"
#include "etcd.h"

#define MAIL_MAX 4096

/* What a test wrote past the store is clear text. */
static const struct cor_transformer *inner_of(const struct conf_transformer *own, struct cor_str in)
{
    const struct cor_gr pods = {.group = COR_STR(""), .resource = COR_STR("pods")};

    if (!own->encryption || (in.p && !cor_str_starts(in, COR_STR("k8s:enc:aesgcm:"))))
        return cor_transformer_identity();
    return cor_encryption_peek(own->encryption, &pods);
}

static int from_storage(const struct cor_transformer *t, struct cor_str key, struct cor_str in,
                        struct cor_buf *scratch, struct cor_str *ret_out, bool *ret_stale,
                        struct cor_status *reterr_status)
{
    struct conf_transformer *own =
        COR_CONTAINER_OF((struct cor_transformer *)t, struct conf_transformer, transformer);
    const struct cor_transformer *inner = inner_of(own, in);
    bool hit = !own->broken_key || cor_str_ends(key, cor_strz(own->broken_key));
    int r;

    own->reads++;
    if (own->broken && hit)
        return cor_status_set(reterr_status, -COR_EINTERNAL, "this value is broken");
    r = inner->from_storage(inner, key, in, scratch, ret_out, ret_stale, reterr_status);
    *ret_stale = own->stale;
    return r;
}

static int to_storage(const struct cor_transformer *t, struct cor_str key, struct cor_str in,
                      struct cor_buf *scratch, struct cor_str *ret_out,
                      struct cor_status *reterr_status)
{
    const struct cor_transformer *inner =
        inner_of(COR_CONTAINER_OF(t, struct conf_transformer, transformer), cor_str(NULL, 0));

    return inner->to_storage(inner, key, in, scratch, ret_out, reterr_status);
}

static struct cor_encryption *open_encryption(void)
{
    struct cor_encryption *encryption = NULL;

    if (getenv("COR_CONFORMANCE_ENCRYPTED"))
        assert_int_equal(
            cor_encryption_new(
                COR_STR("kind: EncryptionConfiguration\napiVersion: apiserver.config.k8s.io/v1\n"
                        "resources:\n- resources: [pods]\n  providers:\n  - aesgcm: {keys: [{name: "
                        "key1, secret: c2VjcmV0IGlzIHNlY3VyZQ==}]}\n"),
                NULL, &encryption, NULL),
            0);
    return encryption;
}

static bool is_variant(const char *name)
{
    const char *variant = getenv("COR_CONFORMANCE_ENGINE");

    return variant && strcmp(variant, name) == 0;
}

__attribute__((constructor)) static void check_etcd(void)
{
    if (is_variant("etcd"))
        test_etcd_or_skip();
}

bool conf_is_etcd(void)
{
    return is_variant("etcd");
}

static bool is_answered(void *arg)
{
    return ((struct cor_engine_req *)arg)->on_done == NULL;
}

static void on_wiped(struct cor_engine_req *req)
{
    req->on_done = NULL;
}

/* All tests share one etcd, and each begins without keys. */
static void wipe(struct cor_engine *engine)
{
    struct cor_loop *loop;
    struct cor_range_req range;

    assert_int_equal(cor_loop_new(MAIL_MAX, &loop), 0);
    do {
        cor_range_req_init(&range, loop, on_wiped);
        range.key = COR_STR("\0");
        range.end = COR_STR("\xff");
        cor_engine_range(engine, &range);
        assert_true(cor_loop_run_until(loop, is_answered, &range.req, CONF_TIMEOUT_MS));
        assert_int_equal(range.req.result, 0);
        for (size_t i = 0; i < range.ret_nkvs; i++) {
            struct cor_write_req del;

            cor_write_req_init(&del, loop, on_wiped);
            del.key = cor_kv_key(range.ret_kvs[i]);
            del.is_delete = true;
            del.expected = range.ret_kvs[i]->mod_rev;
            cor_engine_write(engine, &del);
            assert_true(cor_loop_run_until(loop, is_answered, &del.req, CONF_TIMEOUT_MS));
            cor_write_req_deinit(&del);
        }
        cor_range_req_deinit(&range);
    } while (range.ret_more);
    cor_loop_free(loop);
}

/* The one that with_etcd.py has started, or one of the program's own. */
static void set_etcd(struct cor_etcd_config *etcd)
{
    static char ca[256], cert[256], key[256], password[256];
    const char *folder = getenv("COR_ETCD_FOLDER");

    etcd->servers = getenv("COR_ETCD_URLS");
    if (!etcd->servers) {
        etcd->servers = test_etcd_url();
        return;
    }
    snprintf(ca, sizeof(ca), "%s/ca.crt", folder);
    snprintf(cert, sizeof(cert), "%s/tls.crt", folder);
    snprintf(key, sizeof(key), "%s/tls.key", folder);
    snprintf(password, sizeof(password), "%s/password", folder);
    if (access(ca, R_OK) == 0) {
        etcd->ca_file = ca;
        etcd->cert_file = cert;
        etcd->key_file = key;
    }
    if (access(password, R_OK) == 0) {
        etcd->user = "root";
        etcd->password_file = password;
    }
}

struct cor_engine *conf_engine_open(void)
{
    struct cor_engine_config config = {
        .backend = conf_is_etcd() ? "etcd3" : "sqlite",
        .data_dir = is_variant("disk") ? test_tmpdir() : ":memory:",
    };
    struct cor_status status;
    struct cor_engine *engine = NULL;
    int r;

    cor_status_init(&status);
    if (conf_is_etcd())
        set_etcd(&config.etcd);
    r = cor_engine_open(&config, &engine, &status);
    if (r < 0)
        fail_msg("engine: %s", cor_status_message(&status));
    if (conf_is_etcd())
        wipe(engine);
    return engine;
}

struct cor_store *conf_store(struct conf *c, const char *path_prefix, const char *resource_prefix)
{
    struct cor_store_opts opts = {
        .engine = c->engine,
        .loop = c->loop,
        .path_prefix = path_prefix,
        .resource_prefix = resource_prefix,
        .api_version = COR_STR("v1"),
        .kind = COR_STR("Pod"),
        .transformer = &c->transformer.transformer,
    };
    struct cor_store *store;

    assert_int_equal(cor_store_new(&opts, &store, NULL), 0);
    return store;
}

void conf_open_store(struct conf *c)
{
    *c = (struct conf){.transformer.transformer = {from_storage, to_storage}};
    c->transformer.encryption = open_encryption();
    c->engine = conf_engine_open();
    assert_int_equal(cor_loop_new(MAIL_MAX, &c->loop), 0);
    c->store = conf_store(c, NULL, "/pods");
}

static bool is_ready(void *arg)
{
    return cor_cacher_is_ready(arg);
}

void conf_open_cacher(struct conf *c)
{
    struct cor_cachers_opts cachers = {
        .loops = &c->loop, .nloops = 1, .bytes_max = c->cacher_bytes};
    struct cor_cacher_opts cacher = {
        .namespaced = true, .trigger_fields = (const char *const[]){"spec.nodeName", NULL}};
    struct cor_store_opts store = {
        .resource_prefix = "/pods",
        .api_version = COR_STR("v1"),
        .kind = COR_STR("Pod"),
        .transformer = &c->transformer.transformer,
        .decode_errors = &c->decode_errors,
    };

    cachers.engine = store.engine = c->engine;
    store.loop = c->loop;
    assert_int_equal(cor_cachers_open(&cachers, &c->cachers), 0);
    assert_int_equal(cor_store_new(&store, &c->cacher_store, NULL), 0);
    cacher.cachers = c->cachers;
    cacher.store = c->cacher_store;
    assert_int_equal(cor_cacher_open(&cacher, &c->cacher, NULL), 0);
    assert_int_equal(cor_cacher_reader_new(c->cacher, c->cacher_store, &c->reader), 0);
    assert_true(cor_loop_run_until(c->loop, is_ready, c->cacher, CONF_TIMEOUT_MS));
}

void conf_open(struct conf *c)
{
    conf_open_store(c);
    if (getenv("COR_CONFORMANCE_CACHER"))
        conf_open_cacher(c);
}

static void set_true(void *arg)
{
    *(bool *)arg = true;
}

void conf_close_cacher(struct conf *c)
{
    bool closed = false;

    cor_reader_free(c->reader);
    cor_cacher_close(c->cacher, set_true, &closed);
    conf_wait(c, &closed);
    closed = false;
    cor_cachers_close(c->cachers, set_true, &closed);
    conf_wait(c, &closed);
    cor_store_free(c->cacher_store);
}

void conf_close(struct conf *c)
{
    if (c->reader)
        conf_close_cacher(c);
    cor_store_free(c->store);
    cor_engine_close(c->engine);
    cor_encryption_unref(c->transformer.encryption);
    cor_loop_free(c->loop);
}

static bool is_true(void *arg)
{
    return *(const bool *)arg;
}

void conf_wait(struct conf *c, const bool *done)
{
    if (!cor_loop_run_until(c->loop, is_true, (void *)done, CONF_TIMEOUT_MS))
        fail_msg("no answer after %d ms", CONF_TIMEOUT_MS);
}

struct cor_object *conf_object(const char *json)
{
    struct cor_status status;
    struct cor_object *object;

    cor_status_init(&status);
    if (cor_object_parse(cor_strz(json), NULL, NULL, NULL, &object, &status) < 0)
        fail_msg("%s: %s", json, cor_status_message(&status));
    return object;
}

struct cor_object *conf_objectf(const char *fmt, ...)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text;
    va_list ap;

    cor_buf_init(&text, 1 << 20);
    va_start(ap, fmt);
    assert_int_equal(cor_buf_addv(&text, fmt, ap), 0);
    va_end(ap);
    return conf_object(cor_buf_z(&text));
}

struct cor_object *conf_pod(const char *ns, const char *name, const char *node)
{
    return conf_objectf("{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"%s\","
                        "\"namespace\":\"%s\",\"uid\":\"%s-uid\"},\"spec\":{\"nodeName\":\"%s\"}}",
                        name, ns, name, node ? node : "");
}

void conf_reply_deinit(struct conf_reply *reply)
{
    cor_status_deinit(&reply->status);
    reply->object = cor_object_unref(reply->object);
}

void conf_on_reply(void *arg, const struct cor_store_reply *reply)
{
    struct conf_reply *own = arg;

    assert_false(own->done);
    own->done = true;
    own->err = reply->err;
    own->was_stopped = reply->was_stopped;
    if (reply->status)
        cor_status_move(&own->status, reply->status);
    assert_int_equal(reply->status != NULL, reply->err < 0);
    assert_true(reply->err == 0 || !reply->object);
    own->object = reply->object ? cor_object_ref(reply->object) : NULL;
}

/* An operation that failed at once has its answer already. */
static void settle(struct conf *c, struct conf_reply *reply, int r)
{
    if (r == 0) {
        conf_wait(c, &reply->done);
        return;
    }
    assert_false(reply->done);
    reply->done = true;
    reply->err = r;
}

struct conf_reply conf_create(struct conf *c, const char *key, struct cor_object *take_object,
                              int64_t ttl_s)
{
    struct conf_reply reply = {0};

    settle(c, &reply,
           cor_store_create(c->store, cor_strz(key), take_object, ttl_s, conf_on_reply, &reply,
                            &reply.status));
    cor_object_unref(take_object);
    return reply;
}

struct conf_reply conf_get(struct conf *c, const char *key, const char *rv, bool ignore_not_found)
{
    struct cor_store_get_opts opts = {cor_strz(rv), ignore_not_found};
    struct conf_reply reply = {0};

    if (c->reader)
        settle(
            c, &reply,
            cor_reader_get(c->reader, cor_strz(key), &opts, conf_on_reply, &reply, &reply.status));
    else
        settle(c, &reply,
               cor_store_get(c->store, cor_strz(key), &opts, conf_on_reply, &reply, &reply.status));
    return reply;
}

struct update_call {
    struct conf_reply reply;
    const struct cor_store_update_opts *opts;
};

static void update_step(void *arg, struct cor_store_change *change, struct cor_object *current)
{
    struct update_call *call = arg;

    call->opts->step(call->opts->arg, change, current);
}

static void update_done(void *arg, const struct cor_store_reply *reply)
{
    conf_on_reply(&((struct update_call *)arg)->reply, reply);
}

struct conf_reply conf_update(struct conf *c, const char *key,
                              const struct cor_store_update_opts *opts)
{
    struct update_call call = {.opts = opts};
    struct cor_store_update_opts own = *opts;

    own.step = update_step;
    own.on_done = update_done;
    own.arg = &call;
    settle(c, &call.reply, cor_store_update(c->store, cor_strz(key), &own, &call.reply.status));
    return call.reply;
}

struct delete_call {
    struct conf_reply reply;
    const struct cor_store_delete_opts *opts;
};

static void delete_step(void *arg, struct cor_store_change *change, struct cor_object *current)
{
    struct delete_call *call = arg;

    call->opts->step(call->opts->arg, change, current);
}

static void delete_done(void *arg, const struct cor_store_reply *reply)
{
    conf_on_reply(&((struct delete_call *)arg)->reply, reply);
}

struct conf_reply conf_delete(struct conf *c, const char *key,
                              const struct cor_store_delete_opts *opts)
{
    static const struct cor_store_delete_opts plain;
    struct delete_call call = {.opts = opts ? opts : &plain};
    struct cor_store_delete_opts own = *call.opts;

    own.step = own.step ? delete_step : NULL;
    own.on_done = delete_done;
    own.arg = &call;
    settle(c, &call.reply, cor_store_delete(c->store, cor_strz(key), &own, &call.reply.status));
    return call.reply;
}

static void put_step(void *arg, struct cor_store_change *change, struct cor_object *current)
{
    cor_store_change_write(change, cor_object_ref(arg), 0);
}

static struct cor_object *must(struct conf_reply *reply)
{
    struct cor_object *object = reply->object;

    if (reply->err < 0)
        fail_msg("%s", cor_status_message(&reply->status));
    cor_status_deinit(&reply->status);
    return object;
}

struct cor_object *conf_put(struct conf *c, const char *key, struct cor_object *take_object)
{
    struct cor_store_update_opts opts = {
        .ignore_not_found = true, .step = put_step, .arg = take_object};
    struct conf_reply reply = conf_update(c, key, &opts);

    cor_object_unref(take_object);
    return must(&reply);
}

struct cor_object *conf_remove(struct conf *c, const char *key)
{
    struct conf_reply reply = conf_delete(c, key, NULL);

    return must(&reply);
}

struct cor_object *conf_put_pod(struct conf *c, const char *ns, const char *name, const char *node)
{
    char key[256];

    snprintf(key, sizeof(key), "/pods/%s/%s", ns, name);
    return conf_put(c, key, conf_pod(ns, name, node));
}

cor_rev conf_fill(struct conf *c, const char *ns, size_t n)
{
    struct conf_reply replies[100];
    cor_rev rev = 0;
    char key[64];

    for (size_t done = 0; done < n; done += COR_ARRAY_LEN(replies)) {
        size_t batch = n - done < COR_ARRAY_LEN(replies) ? n - done : COR_ARRAY_LEN(replies);

        memset(replies, 0, sizeof(replies));
        for (size_t i = 0; i < batch; i++) {
            struct cor_object *pod;

            snprintf(key, sizeof(key), "/pods/%s/p%04zu", ns, done + i);
            pod = conf_pod(ns, strrchr(key, '/') + 1, NULL);
            assert_int_equal(
                cor_store_create(c->store, cor_strz(key), pod, 0, conf_on_reply, &replies[i], NULL),
                0);
            cor_object_unref(pod);
        }
        for (size_t i = 0; i < batch; i++) {
            conf_wait(c, &replies[i].done);
            assert_int_equal(replies[i].err, 0);
            rev = replies[i].object->rev > rev ? replies[i].object->rev : rev;
            conf_reply_deinit(&replies[i]);
        }
    }
    return rev;
}

void conf_list_deinit(struct conf_list *list)
{
    for (size_t i = 0; i < list->nitems; i++)
        cor_object_unref(list->items[i]);
    cor_free(list->items);
    cor_free(list->token);
    cor_status_deinit(&list->status);
}

static void on_list(void *arg, struct cor_store_list_reply *reply)
{
    struct conf_list *list = arg;

    assert_false(list->done);
    list->done = true;
    list->err = reply->err;
    if (reply->status)
        cor_status_move(&list->status, reply->status);
    assert_int_equal(reply->items == NULL, reply->err < 0);
    list->nitems = reply->nitems;
    list->items = COR_STEAL(reply->items);
    list->rev = reply->rev;
    list->token = cor_strdup(reply->continue_token);
    list->remaining = reply->remaining;
}

static void on_cursor(void *arg, int err, struct cor_status *status,
                      struct cor_list_cursor *take_cursor)
{
    struct conf_list *list = arg;
    struct cor_object *object;

    assert_false(list->done);
    list->done = true;
    list->err = err;
    assert_int_equal(status != NULL, err < 0);
    if (status)
        cor_status_move(&list->status, status);
    list->token = cor_strdup(take_cursor ? take_cursor->continue_token : "");
    if (!take_cursor)
        return;
    list->items = cor_alloc(sizeof(object));
    list->rev = take_cursor->rev;
    list->remaining = take_cursor->remaining;
    while ((object = cor_list_cursor_next(take_cursor))) {
        list->items = cor_realloc(list->items, (list->nitems + 1) * sizeof(object));
        list->items[list->nitems++] = cor_object_ref(object);
    }
    assert_null(cor_list_cursor_next(take_cursor));
    cor_list_cursor_free(take_cursor);
}

struct conf_list conf_list(struct conf *c, const char *key, const struct cor_store_list_opts *opts)
{
    struct conf_list list = {0};
    int r;

    if (c->reader)
        r = cor_reader_list(c->reader, cor_strz(key), opts, on_cursor, &list, &list.status);
    else
        r = cor_store_list(c->store, cor_strz(key), opts, on_list, &list, &list.status);

    if (r == 0)
        conf_wait(c, &list.done);
    else
        list.err = r;
    return list;
}

const char *conf_list_names(const struct conf_list *list)
{
    static char text[4096];
    size_t n = 0;

    text[0] = 0;
    if (list->err < 0)
        return cor_status_message(&list->status);
    for (size_t i = 0; i < list->nitems; i++) {
        struct cor_str ns = cor_object_namespace(list->items[i]);
        struct cor_str name = cor_object_name(list->items[i]);

        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%.*s%s%.*s", i ? "," : "",
                              COR_STR_ARG(ns), ns.n ? "/" : "", COR_STR_ARG(name));
        assert_true(n < sizeof(text));
    }
    return text;
}

const char *conf_rv(cor_rev rev)
{
    static char text[16][32];
    static unsigned turn;
    char *out = text[turn++ % COR_ARRAY_LEN(text)];

    snprintf(out, sizeof(text[0]), "%llu", (unsigned long long)rev);
    return out;
}

static void on_stats(void *arg, const struct cor_store_stats *stats)
{
    struct cor_store_stats *out = arg;

    *out = *stats;
    assert_int_equal(stats->err, 0);
}

static bool has_rev(void *arg)
{
    return ((struct cor_store_stats *)arg)->rev > 0;
}

cor_rev conf_revision(struct conf *c)
{
    struct cor_store_stats stats = {0};

    assert_int_equal(cor_store_revision(c->store, on_stats, &stats, NULL), 0);
    assert_true(cor_loop_run_until(c->loop, has_rev, &stats, CONF_TIMEOUT_MS));
    return stats.rev;
}

struct raw {
    union {
        struct cor_write_req write;
        struct cor_range_req range;
        struct cor_compact_req compact;
    };
    bool done;
};

static void on_raw(struct cor_engine_req *req)
{
    ((struct raw *)req)->done = true;
}

static cor_rev mod_rev_of(struct conf *c, const char *key)
{
    struct raw raw = {0};
    cor_rev rev = 0;

    cor_range_req_init(&raw.range, c->loop, on_raw);
    raw.range.key = cor_strz(key);
    cor_engine_range(c->engine, &raw.range);
    conf_wait(c, &raw.done);
    assert_int_equal(raw.range.req.result, 0);
    if (raw.range.ret_nkvs > 0)
        rev = raw.range.ret_kvs[0]->mod_rev;
    cor_range_req_deinit(&raw.range);
    return rev;
}

cor_rev conf_write_raw(struct conf *c, const char *physical_key, const char *value)
{
    cor_rev expected = mod_rev_of(c, physical_key), rev;
    struct raw raw = {0};

    cor_write_req_init(&raw.write, c->loop, on_raw);
    raw.write.key = cor_strz(physical_key);
    raw.write.value = cor_strz(value);
    raw.write.expected = expected;
    cor_engine_write(c->engine, &raw.write);
    conf_wait(c, &raw.done);
    assert_int_equal(raw.write.req.result, 0);
    rev = raw.write.ret_rev;
    cor_write_req_deinit(&raw.write);
    return rev;
}

cor_rev conf_bump(struct conf *c)
{
    return conf_write_raw(c, "increaseRV", "ok");
}

void conf_compact(struct conf *c, cor_rev rev)
{
    struct raw raw = {0};

    conf_write_raw(c, "compact_rev_key", conf_rv(rev));
    cor_engine_req_init(&raw.compact.req, c->loop, on_raw);
    raw.compact.rev = rev;
    cor_engine_compact(c->engine, &raw.compact);
    conf_wait(c, &raw.done);
    assert_int_equal(raw.compact.req.result, 0);
    cor_engine_req_deinit(&raw.compact.req);
}

struct cor_predicate conf_predicate(const char *labels, const char *fields)
{
    static const struct cor_field_label known[] = {
        {.label = "metadata.name"}, {.label = "metadata.namespace"}, {.label = "spec.nodeName"}};
    static const struct cor_field_labels table = {known, COR_ARRAY_LEN(known), NULL};
    struct cor_predicate predicate;
    struct cor_status status;

    cor_status_init(&status);
    if (cor_predicate_parse(cor_strz(labels), cor_strz(fields), &table, &predicate, &status) < 0)
        fail_msg("%s", cor_status_message(&status));
    return predicate;
}
