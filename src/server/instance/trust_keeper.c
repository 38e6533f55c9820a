/* clang-format off */
/* A pass over the ConfigMap:
 *
 *   cor_ensure (kit/ensure.h) ──► missing: create
 *                             ──► merge what it has with what the server says ──► no difference: done
 *                                                                             ──► merge patch, with its resourceVersion
 *   the write is too large: once more, and remove it; the next pass creates
 *
 * A merge keeps what is there and adds what is not: of names in their order, of certificates by their
 * bytes, without those that have expired. Keys that are none of ours are removed, as upstream does.
 *
 * What can fail: the ConfigMap has a list or a bundle that cannot be read: the pass ends with
 * -COR_EINVAL and nothing is written, as upstream. So does a pass whose
 * writes come too late again and again; the next one begins anew.
 * Thread: the port's loop. */
/* clang-format on */
#include "server/instance/trust_keeper.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "coracle/view.h"
#include "net/crypto/cert.h"
#include "net/crypto/cert_bundle.h"
#include "json/text/json.h"
#include "json/write/print.h"

#define REQUEST_MS 30000
#define NAMESPACE  "kube-system"
#define NAME       "extension-apiserver-authentication"
/* An object may have 1 MiB of data; what is larger is refused by the server. */
#define BODY_MAX (4u << 20)
#define LIST_MAX (1u << 20)

#define CLIENT_CA "client-ca-file"
#define PROXY_CA  "requestheader-client-ca-file"

static int trust_judge(struct cor_ensure *e, const struct cor_object *found);
static void trust_on_done(struct cor_ensure *e, int err, const struct cor_status *why);

void cor_trust_keeper_init(struct cor_trust_keeper *k, struct cor_api_port *port,
                           const struct cor_clock *clock, const struct cor_cluster_trust *trust)
{
    static const struct cor_ensure_ops ops = {.judge = trust_judge, .on_done = trust_on_done};

    *k = (struct cor_trust_keeper){.clock = clock, .trust = trust};
    cor_ensure_init(&k->ensure, port, &ops, BODY_MAX, REQUEST_MS);
}

void cor_trust_keeper_deinit(struct cor_trust_keeper *k)
{
    cor_ensure_deinit(&k->ensure);
}

/* --- merging ---------------------------------------------------------------------------------- */

/* The text of a key of the existing data, decoded into `into`; empty: it has none. 0, -COR_EINVAL,
 * -COR_ENOMEM. */
static int existing_text(struct cor_view data, const char *key, struct cor_buf *into,
                         struct cor_str *ret)
{
    struct cor_view value = cor_view_member(data, cor_strz(key));
    int r;

    *ret = (struct cor_str){0};
    if (!cor_view_exists(value))
        return 0;
    r = cor_buf_reserve(into, value.json.n);
    return r < 0 ? r : cor_view_text(value, into->p, value.json.n, ret);
}

static bool list_has(struct cor_str json, struct cor_str name)
{
    struct cor_view_iter it = cor_view_iter(cor_view(json));
    char text[1024];

    while (cor_view_next(&it))
        if (cor_str_eq(cor_view_text_or(it.value, text, sizeof(text), ""), name))
            return true;
    return false;
}

/* Writes both lists as one JSON array into `out`: what exists first. */
static int merge_list(struct cor_str existing, struct cor_str ours, struct cor_str too,
                      struct cor_buf *out)
{
    static const struct cor_json_limits limits = COR_JSON_LIMITS_DEFAULT;
    struct cor_view_iter it = cor_view_iter(cor_view(existing));
    COR_CLEANUP(cor_buf_deinit) struct cor_buf made = {.max = LIST_MAX};
    struct cor_json_writer w;
    bool is_canonical;
    int r;

    if (existing.n > 0 && (cor_json_check(existing, &limits, &is_canonical, NULL) < 0 ||
                           cor_view_type(cor_view(existing)) != COR_JSON_ARRAY))
        return -COR_EINVAL;
    cor_json_writer_init(&w, &made);
    cor_json_begin_array(&w);
    while (cor_view_next(&it)) {
        if (cor_view_type(it.value) != COR_JSON_STRING)
            return -COR_EINVAL;
        cor_json_raw(&w, it.value.json);
    }
    while (ours.n > 0) {
        struct cor_str name = cor_str_trim(cor_str_cut(&ours, ','));

        if (name.n > 0 && !list_has(existing, name))
            cor_json_string(&w, name);
    }
    if (too.n > 0 && !list_has(existing, too))
        cor_json_string(&w, too);
    cor_json_end_array(&w);
    r = cor_json_writer_finish(&w);
    return r < 0 ? r : cor_buf_adds(out, cor_buf_str(&made));
}

/* The data as it should be, while it is compared with the data that exists. */
struct merge {
    const struct cor_trust_keeper *k;
    struct cor_view data;
    struct cor_json_writer w;
    bool differs;
};

static void put(struct merge *m, const char *key, struct cor_str existing, struct cor_str value)
{
    if (!cor_str_eq(existing, value))
        m->differs = true;
    cor_json_member(&m->w, cor_strz(key), value);
}

/* Merges what exists with the file (NULL: none) and the text. 1: there is a bundle; 0: there is
 * none; or the reason. */
static int put_bundle(struct merge *m, const char *key, const char *file, struct cor_str own)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text, loaded, merged;
    struct cor_str pems[3] = {[2] = own};
    int r;

    cor_buf_init(&text, BODY_MAX);
    cor_buf_init(&loaded, COR_PEM_MAX);
    cor_buf_init(&merged, BODY_MAX);
    r = existing_text(m->data, key, &text, &pems[0]);
    if (r == 0 && file)
        r = cor_pem_load(file, &loaded);
    pems[1] = cor_buf_str(&loaded);
    if (r == 0)
        r = cor_cert_bundle_merge(pems, COR_ARRAY_LEN(pems), cor_clock_wall_ms(m->k->clock) / 1000,
                                  &merged);
    if (r < 0 || merged.n == 0)
        return r;
    put(m, key, pems[0], cor_buf_str(&merged));
    return 1;
}

static int put_list(struct merge *m, enum cor_front_proxy_list list)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text, merged;
    struct cor_str existing;
    int r;

    cor_buf_init(&text, BODY_MAX);
    cor_buf_init(&merged, LIST_MAX);
    r = existing_text(m->data, cor_front_proxy_list_name(list), &text, &existing);
    if (r == 0)
        r = merge_list(existing, m->k->trust->lists[list],
                       list == COR_PROXY_ALLOWED ? m->k->trust->allowed_too : COR_STR(""), &merged);
    if (r == 0 && !(list == COR_PROXY_UIDS && merged.n == sizeof("[]") - 1))
        put(m, cor_front_proxy_list_name(list), existing, cor_buf_str(&merged));
    return r;
}

static bool is_ours(struct cor_str key, bool has_client_ca, bool has_proxy_ca)
{
    if (cor_str_eqz(key, CLIENT_CA))
        return has_client_ca;
    if (cor_str_eqz(key, PROXY_CA))
        return has_proxy_ca;
    for (size_t i = 0; i < COR_PROXY_LISTS; i++)
        if (cor_str_eqz(key, cor_front_proxy_list_name(i)))
            return has_proxy_ca;
    return false;
}

/* Writes the member `data`. 0, or the reason. */
static int put_data(struct merge *m)
{
    const struct cor_cluster_trust *trust = m->k->trust;
    struct cor_view_iter it = cor_view_iter(m->data);
    int client_ca, proxy_ca = 0, r;

    cor_json_key(&m->w, COR_STR("data"));
    cor_json_begin_object(&m->w);
    client_ca = r = put_bundle(m, CLIENT_CA, trust->client_ca_file,
                               trust->client_ca_file ? COR_STR("") : trust->client_ca_pem);
    if (r >= 0)
        proxy_ca = r = put_bundle(m, PROXY_CA, trust->proxy_ca_file, trust->proxy_ca_pem);
    for (size_t i = 0; r > 0 && i < COR_PROXY_LISTS; i++) {
        int failed = put_list(m, i);

        if (failed < 0)
            r = failed;
    }
    if (r < 0)
        return r;
    while (cor_view_next(&it)) {
        if (is_ours(it.key, client_ca > 0, proxy_ca > 0))
            continue;
        cor_json_raw_key(&m->w, it.key);
        cor_json_null(&m->w);
        m->differs = true;
    }
    cor_json_end_object(&m->w);
    return 0;
}

/* The body that creates the ConfigMap (`object` NULL) or changes it. 1: there is something to
 * write; 0; or the reason. */
static int make_body(struct cor_trust_keeper *k, const struct cor_object *object)
{
    struct merge m = {.k = k, .differs = !object};
    int r;

    if (object)
        m.data = cor_view_member(cor_object_view(object), COR_STR("data"));
    cor_json_writer_init(&m.w, &k->ensure.body);
    cor_json_begin_object(&m.w);
    if (!object) {
        /* names a kind: aggregated servers look for this object */
        cor_json_member(&m.w, COR_STR("kind"), COR_STR("ConfigMap"));
        cor_json_member(&m.w, COR_STR("apiVersion"), COR_STR("v1"));
    }
    r = put_data(&m);
    if (r < 0)
        return r;
    cor_json_print(&m.w, "metadata:{name:'" NAME "',namespace:'" NAMESPACE "'");
    if (object)
        cor_json_member(&m.w, COR_STR("resourceVersion"), cor_object_resource_version(object));
    cor_json_end_object(&m.w);
    cor_json_end_object(&m.w);
    r = cor_json_writer_finish(&m.w);
    return r < 0 ? r : m.differs;
}

/* --- passes ----------------------------------------------------------------------------------- */

static int trust_judge(struct cor_ensure *e, const struct cor_object *found)
{
    struct cor_trust_keeper *k = COR_CONTAINER_OF(e, struct cor_trust_keeper, ensure);
    int r;

    if (k->err < 0)
        return found ? COR_ENSURE_REMOVE : COR_ENSURE_RIGHT;
    r = make_body(k, found);
    return r > 0 ? COR_ENSURE_WRITE : r;
}

static bool is_too_large(const struct cor_status *error)
{
    return error->code == 413 ||
           (error->code == 422 && strstr(cor_status_message(error), "Too long"));
}

static void trust_look(struct cor_trust_keeper *k)
{
    /* names a kind: the ConfigMap that aggregated servers read */
    static const struct cor_resource_path at = {
        .gvr = {COR_STR_INIT(""), COR_STR_INIT("v1"), COR_STR_INIT("configmaps")},
        .ns = COR_STR_INIT(NAMESPACE),
        .name = COR_STR_INIT(NAME)};

    cor_ensure_start(&k->ensure, &at, COR_STR(""));
}

static void trust_on_done(struct cor_ensure *e, int err, const struct cor_status *why)
{
    struct cor_trust_keeper *k = COR_CONTAINER_OF(e, struct cor_trust_keeper, ensure);
    void (*on_done)(void *arg, int err);

    if (k->err == 0 && why && is_too_large(why)) {
        k->err = err;
        trust_look(k);
        return;
    }
    on_done = COR_STEAL(k->on_done);
    on_done(k->arg, err < 0 ? err : k->err);
}

void cor_trust_keeper_check(struct cor_trust_keeper *k, void (*on_done)(void *arg, int err),
                            void *arg)
{
    assert(!k->on_done && on_done);
    k->on_done = on_done;
    k->arg = arg;
    k->err = 0;
    trust_look(k);
}

void cor_trust_keeper_cancel(struct cor_trust_keeper *k)
{
    cor_ensure_cancel(&k->ensure);
    k->on_done = NULL;
}
