/* clang-format off */
/* NamespaceLifecycle: decides whether an object may be created in its namespace, and whether a
 * namespace may be deleted. Like upstream's, it is one of the plugins that mutate, so that it runs
 * before the object is validated.
 *
 * A creation: the namespace exists and is not being deleted. Bindings and evictions are creations,
 * too; an access review is not, because its answer would reveal the namespace.
 *
 *   look in the cache (resourceVersion "0") ──► found: judge
 *                                            └► not found, or not being deleted although a deletion was
 *                                               asked for in the last 30 s: read the latest state ──► judge
 *
 * The second look makes up for a cache that is behind: another server may have created the
 * namespace a moment ago, or the cache has not seen the deletion (shared/ending_namespaces.h). The
 * admission keeps the namespace, because rules of kinds ask for its labels.
 * From before the first look until its end the request is counted among the creations in the
 * namespace (shared/creations.h), so that a deletion of the namespace can wait for it.
 *
 * A deletion: the cluster's own namespaces stay, and of any other the next 30 s know that their
 * cache may be behind.
 *
 * The check is allocated for its time and freed before the request goes on, which it does in any
 * case, also when the reader of the call has gone meanwhile.
 * Failures: 404 and 403 in upstream's words, the store's failures, no memory: all reach
 * cor_admission_resume().
 * Thread: the call's loop. */
/* clang-format on */
#include <assert.h>

#include "base/err.h"
#include "base/limits.h"
#include "base/mem.h"
#include "meta/names/key.h"
#include "meta/object/object_edit.h"
#include "server/admission/plugins.h"

struct namespace_check {
    struct cor_admission *ad;
    struct cor_reader *reader;
    struct cor_buf key;
    bool is_live; /* the second look: reads the latest state */
};

static bool namespace_is_ending(const struct cor_object *ns)
{
    return cor_object_meta_member(ns, COR_STR("deletionTimestamp")).p != NULL;
}

static int namespace_judge(struct cor_admission *ad, const struct cor_store_reply *reply)
{
    struct cor_call *call = ad->call;
    const struct cor_gr gr = cor_api_gr(cor_api_of_role(COR_ROLE_NAMESPACES));
    COR_CLEANUP(cor_buf_deinit) struct cor_buf cause = {0};
    struct cor_gr own_gr = cor_api_gr(call->res);
    int r;

    if (reply->err < 0) {
        cor_status_move(&call->status, reply->status);
        return cor_storage_error_to_api(&call->status, COR_STORAGE_OP_GET, &gr, call->ns);
    }
    if (!namespace_is_ending(reply->object)) {
        cor_object_unref(ad->ns_object);
        ad->ns_object = cor_object_ref(reply->object);
        return 0;
    }
    r = cor_status_forbidden(
        &call->status, &own_gr, cor_object_name(ad->object),
        "unable to create new content in namespace %.*s because it is being terminated",
        COR_STR_ARG(call->ns));
    cor_buf_init(&cause, COR_KEY_BYTES_MAX);
    (void)cor_buf_addf(&cause, "namespace %.*s is being terminated", COR_STR_ARG(call->ns));
    (void)cor_status_add_cause(&call->status, "NamespaceTerminating", cor_buf_z(&cause),
                               "metadata.namespace");
    return r;
}

/* Returns whether the latest state must be read because the cache may be behind. */
static bool namespace_needs_second_look(const struct namespace_check *check,
                                        const struct cor_store_reply *reply)
{
    const struct cor_call *call = check->ad->call;

    if (check->is_live)
        return false;
    if (reply->err < 0)
        return reply->err == -COR_ENOTFOUND;
    return cor_ending_namespaces_has(&call->loop->shared->ending_namespaces, call->ns,
                                     cor_loop_now_ms(call->loop->loop)) &&
           !namespace_is_ending(reply->object);
}

static void namespace_check_free(struct namespace_check *check)
{
    cor_buf_deinit(&check->key);
    cor_free(check);
}

static void namespace_on_object(void *arg, const struct cor_store_reply *reply);

static int namespace_look(struct namespace_check *check)
{
    struct cor_call *call = check->ad->call;
    struct cor_store_get_opts opts = {.resource_version =
                                          check->is_live ? COR_STR("") : COR_STR("0")};

    return cor_reader_get(check->reader, cor_buf_str(&check->key), &opts, namespace_on_object,
                          check, &call->status);
}

static void namespace_on_object(void *arg, const struct cor_store_reply *reply)
{
    struct namespace_check *check = arg;
    struct cor_admission *ad = check->ad;
    struct cor_call *call = ad->call;
    int r;

    if (call->is_over) {
        r = -COR_ECANCELED;
    } else if (namespace_needs_second_look(check, reply)) {
        check->is_live = true;
        r = namespace_look(check);
        if (r == 0)
            return;
    } else {
        r = namespace_judge(ad, reply);
    }
    namespace_check_free(check);
    cor_admission_resume(ad, r);
}

bool cor_namespace_lifecycle_applies(const struct cor_call *call)
{
    return cor_api_is_namespaced(call->res) && call->res->action != COR_ACTION_ACCESS_REVIEW;
}

void cor_namespace_lifecycle_start(struct cor_admission *ad)
{
    struct cor_call *call = ad->call;
    const struct cor_resource_row *res = cor_api_of_role(COR_ROLE_NAMESPACES);
    struct namespace_check *check = cor_calloc(1, sizeof(*check));
    struct cor_backing *backing;
    int r;

    assert(ad->object && !call->is_over && cor_loop_is_current(call->loop->loop));
    if (!check) {
        cor_admission_resume(ad, cor_status_no_memory(&call->status));
        return;
    }
    if (!ad->creation)
        ad->creation = cor_creations_begin(&call->loop->shared->creations, call->ns);
    check->ad = ad;
    cor_buf_init(&check->key, COR_KEY_BYTES_MAX);
    r = cor_api_backing(call->loop, res, &backing, &call->status);
    if (r == 0)
        r = cor_key_of_object(cor_buf_str(&backing->prefix), false, COR_STR(""), call->ns,
                              &check->key, &call->status);
    if (r == 0) {
        check->reader = backing->reader;
        r = namespace_look(check);
    }
    if (r < 0) {
        namespace_check_free(check);
        cor_admission_resume(ad, r);
    }
}

/* Which cannot be deleted, also where they would come back. */
static bool is_immortal(struct cor_str name)
{
    return cor_str_eqz(name, "default") || cor_str_eqz(name, "kube-system") ||
           cor_str_eqz(name, "kube-public");
}

bool cor_namespace_lifecycle_protects(const struct cor_call *call)
{
    return call->res->role == COR_ROLE_NAMESPACES;
}

void cor_namespace_lifecycle_start_deletion(struct cor_admission *ad)
{
    struct cor_call *call = ad->call;
    struct cor_gr gr = cor_api_gr(call->res);
    struct cor_str name = cor_object_name(ad->old);
    int r = 0;

    if (is_immortal(name))
        r = cor_status_forbidden(&call->status, &gr, name, "this namespace may not be deleted");
    else
        cor_ending_namespaces_note(&call->loop->shared->ending_namespaces, name,
                                   cor_loop_now_ms(call->loop->loop));
    cor_admission_resume(ad, r);
}
