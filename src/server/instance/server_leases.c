/* clang-format off */
/* The keys of the servers that share a store (server_leases.h).
 *
 *   renew: a guaranteed update of the own key, with a time to live ──► list of all keys ──► the
 *   addresses, ordered ──► on_done
 *   leave: waits for the renewal under way ──► deletes the own key ──► on_left
 *
 * A key holds what upstream's holds: an Endpoints object with one address. Its generation grows with
 * each renewal, because a store does not write what is the same, and what is not written is not
 * renewed.
 * Failures: the store's and a lack of memory, in on_done; the caller tries again later.
 * Thread: the API's first loop. */
/* clang-format on */
#include "server/instance/server_leases.h"

#include <assert.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "meta/object/object_edit.h"
#include "server/api/api_loop.h"
#include "server/stored/kind_codec.h"
#include "storage/encryption/dynamic_transformers.h"
#include "storage/store/store.h"
#include "storage/store/store_list.h"
#include "json/text/scan.h"
#include "json/write/print.h"

#define LEASES_PREFIX "/masterleases"
/* What upstream calls the resource, which has no API: only a wildcard of the encryption file means
 * it. */
#define LEASES_RESOURCE "apiServerIPInfo"
#define OBJECT_MAX      4096
/* Servers on one store; more are left out. */
#define SERVERS_MAX 256

struct cor_server_leases {
    struct cor_loop *loop;
    struct cor_store *store;
    char own[COR_IP_TEXT_MAX];
    struct cor_buf key;
    bool is_renewing;
    struct cor_mail answer; /* to itself: a failure before the store was asked */
    int err;
    struct cor_buf *addresses;
    void (*on_done)(void *arg, int err); /* NULL: nobody waits */
    void *arg;
    void (*on_left)(void *arg); /* NULL: it does not leave */
    void *left_arg;
};

int cor_server_leases_new(struct cor_api *api, struct cor_addr own,
                          struct cor_server_leases **ret_leases, struct cor_status *reterr_status)
{
    const struct cor_gr gr = {COR_STR(""), COR_STR(LEASES_RESOURCE)};
    struct cor_store_opts opts = {.engine = cor_api_settings(api)->engine,
                                  .loop = cor_api_home(api)->loop,
                                  .path_prefix = cor_api_settings(api)->path_prefix,
                                  .resource_prefix = LEASES_PREFIX,
                                  .clock = cor_api_settings(api)->clock,
                                  /* Each renewal has a lease of its own. */
                                  .lease_limits = {.reuse_s = 1, .objects_max = 1}};
    struct cor_server_leases *leases = cor_calloc(1, sizeof(*leases));
    int r = leases ? 0 : -COR_ENOMEM;

    if (r < 0)
        return cor_status_set_err(reterr_status, r);
    leases->loop = opts.loop;
    cor_buf_init(&leases->key, OBJECT_MAX);
    r = cor_buf_addf(&leases->key, LEASES_PREFIX "/%.*s",
                     COR_STR_ARG(cor_addr_print(own, leases->own)));
    if (r == 0 && cor_api_settings(api)->transformers)
        r = cor_dynamic_transformers_peek(cor_api_settings(api)->transformers, &gr,
                                          &opts.transformer);
    if (r == 0)
        r = cor_kind_codec_new(&(struct cor_kind_codec_opts){0}, &opts.take_codec);
    r = r < 0 ? cor_status_set_err(reterr_status, r)
              : cor_store_new(&opts, &leases->store, reterr_status);
    if (r < 0) {
        cor_server_leases_free(leases);
        return r;
    }
    *ret_leases = leases;
    return 0;
}

struct cor_server_leases *cor_server_leases_free(struct cor_server_leases *leases)
{
    if (!leases)
        return NULL;
    assert(!leases->is_renewing);
    cor_store_free(leases->store);
    cor_buf_deinit(&leases->key);
    return cor_free(leases);
}

/* ---- leaving ---- */

static void leases_on_removed(void *arg, const struct cor_store_reply *reply)
{
    struct cor_server_leases *leases = arg;

    leases->on_left(leases->left_arg);
}

static void leases_remove(struct cor_server_leases *leases)
{
    const struct cor_store_delete_opts opts = {.on_done = leases_on_removed, .arg = leases};

    if (cor_store_delete(leases->store, cor_buf_str(&leases->key), &opts, NULL) < 0)
        leases->on_left(leases->left_arg);
}

void cor_server_leases_leave(struct cor_server_leases *leases, void (*on_left)(void *arg),
                             void *arg)
{
    assert(cor_loop_is_current(leases->loop) && on_left && !leases->on_left);
    leases->on_done = NULL;
    leases->on_left = on_left;
    leases->left_arg = arg;
    if (!leases->is_renewing)
        leases_remove(leases);
}

/* ---- renewing ---- */

static void leases_end(struct cor_server_leases *leases, int err)
{
    void (*on_done)(void *arg, int err) = COR_STEAL(leases->on_done);

    leases->is_renewing = false;
    if (leases->on_left)
        leases_remove(leases);
    else if (on_done)
        on_done(leases->arg, err);
}

/* The address that a key holds: subsets[0].addresses[0].ip, raw JSON text. */
static bool leases_address(const struct cor_object *object, struct cor_str *ret_raw)
{
    struct cor_str list = cor_object_member(object, COR_STR("subsets")), element, value;
    struct cor_json_iter it;

    if (!list.p)
        return false;
    it = cor_json_iter(list);
    if (!cor_json_iter_elem(&it))
        return false;
    element = cor_json_iter_value(&it);
    if (cor_json_get(element, COR_STR("addresses"), COR_JSON_ANY_ORDER, &value) < 0)
        return false;
    it = cor_json_iter(value);
    if (!cor_json_iter_elem(&it))
        return false;
    element = cor_json_iter_value(&it);
    return cor_json_get(element, COR_STR("ip"), COR_JSON_ANY_ORDER, &value) == 0 &&
           cor_json_to_raw(value, ret_raw) == 0 && ret_raw->n > 0;
}

static int leases_compare(const void *a, const void *b)
{
    return cor_str_cmp(*(const struct cor_str *)a, *(const struct cor_str *)b);
}

static void leases_on_listed(void *arg, struct cor_store_list_reply *reply)
{
    struct cor_server_leases *leases = arg;
    struct cor_str found[SERVERS_MAX];
    struct cor_json_writer w;
    size_t n = 0;

    if (reply->err < 0) {
        leases_end(leases, reply->err);
        return;
    }
    for (size_t i = 0; i < reply->nitems && n < SERVERS_MAX; i++)
        n += leases_address(reply->items[i], &found[n]);
    qsort(found, n, sizeof(found[0]), leases_compare);
    cor_buf_reset(leases->addresses);
    cor_json_writer_init(&w, leases->addresses);
    cor_json_begin_array(&w);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || !cor_str_eq(found[i], found[i - 1]))
            cor_json_string(&w, found[i]);
    cor_json_end_array(&w);
    leases_end(leases, cor_json_writer_finish(&w));
}

static void leases_on_renewed(void *arg, const struct cor_store_reply *reply)
{
    const struct cor_store_list_opts opts = {.options = {.recursive = true}};
    struct cor_server_leases *leases = arg;
    int r = reply->err;

    if (r == 0 && !leases->on_left)
        r = cor_store_list(leases->store, COR_STR(LEASES_PREFIX), &opts, leases_on_listed, leases,
                           NULL);
    if (r < 0 || leases->on_left)
        leases_end(leases, r);
}

static int leases_write(const struct cor_server_leases *leases, const struct cor_object *current,
                        struct cor_buf *out)
{
    const struct cor_resource_row *row = cor_api_of_role(COR_ROLE_ENDPOINTS);
    struct cor_json_writer w;
    int64_t generation = 0;

    if (current &&
        cor_json_to_i64(cor_object_meta_member(current, COR_STR("generation")), &generation) < 0)
        generation = 0;
    cor_json_writer_init(&w, out);
    cor_json_print(
        &w, "{kind:%s,apiVersion:%s,metadata:{generation:%d},subsets:[{addresses:[{ip:%s}]}]}",
        row->kind, row->api_version, generation < INT64_MAX ? generation + 1 : 1, leases->own);
    return cor_json_writer_finish(&w);
}

static void leases_step(void *arg, struct cor_store_change *change, struct cor_object *current)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {0};
    COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};
    struct cor_server_leases *leases = arg;
    struct cor_object *object;
    int r;

    cor_buf_init(&json, OBJECT_MAX);
    r = leases_write(leases, current, &json);
    if (r == 0)
        r = cor_object_from_sorted(cor_buf_str(&json), &object);
    if (r < 0) {
        cor_status_set_err(&why, r);
        cor_store_change_refuse(change, r, &why);
    } else {
        cor_store_change_write(change, object, COR_SERVER_LEASE_S);
    }
}

static void leases_on_answer(struct cor_mail *mail)
{
    struct cor_server_leases *leases = COR_CONTAINER_OF(mail, struct cor_server_leases, answer);

    leases_end(leases, leases->err);
}

void cor_server_leases_renew(struct cor_server_leases *leases, struct cor_buf *ret_addresses,
                             void (*on_done)(void *arg, int err), void *arg)
{
    const struct cor_store_update_opts opts = {
        .ignore_not_found = true, .step = leases_step, .on_done = leases_on_renewed, .arg = leases};

    assert(cor_loop_is_current(leases->loop) && on_done && !leases->is_renewing &&
           !leases->on_left);
    leases->is_renewing = true;
    leases->addresses = ret_addresses;
    leases->on_done = on_done;
    leases->arg = arg;
    leases->err = cor_store_update(leases->store, cor_buf_str(&leases->key), &opts, NULL);
    if (leases->err < 0) {
        leases->answer.on_mail = leases_on_answer;
        cor_dlist_init(&leases->answer.link);
        cor_loop_post_always(leases->loop, &leases->answer);
    }
}
