#include "server/strategy/namespaces.h"

#include "base/err.h"
#include "base/mem.h"
#include "meta/key.h"
#include "meta/object_edit.h"

static const struct cor_str namespaces = COR_STR("namespaces");

bool cor_is_namespaces(const struct cor_resource_row *resource)
{
    return resource->group.n == 0 && cor_str_eq(resource->plural, namespaces);
}

bool cor_namespace_is_immortal(struct cor_str name)
{
    return cor_str_eqz(name, "default") || cor_str_eqz(name, "kube-system") ||
           cor_str_eqz(name, "kube-public");
}

struct check {
    struct cor_call *call;
    void (*then)(struct cor_call *call, int err);
    struct cor_str name; /* of what is to be created */
    struct cor_reader *reader;
    struct cor_buf key;
    bool is_live; /* the second look, which a cache that lags behind cannot spoil */
};

static int judge(struct cor_call *call, struct cor_str name, const struct cor_store_reply *reply)
{
    static const struct cor_gr gr = {COR_STR(""), COR_STR("namespaces")};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf cause = {0};
    struct cor_gr own_gr = cor_api_gr(call->res);
    int r;

    if (reply->err < 0) {
        cor_status_move(&call->status, reply->status);
        return cor_storage_error_to_api(&call->status, COR_STORAGE_OP_GET, &gr, call->ns);
    }
    if (!cor_object_meta_member(reply->object, COR_STR("deletionTimestamp")).p)
        return 0;
    r = cor_status_forbidden(
        &call->status, &own_gr, name,
        "unable to create new content in namespace %.*s because it is being terminated",
        COR_STR_ARG(call->ns));
    cor_buf_init(&cause, COR_KEY_BYTES_MAX);
    (void)cor_buf_addf(&cause, "namespace %.*s is being terminated", COR_STR_ARG(call->ns));
    (void)cor_status_add_cause(&call->status, "NamespaceTerminating", cor_buf_z(&cause),
                               "metadata.namespace");
    return r;
}

static void check_free(struct check *check)
{
    cor_buf_deinit(&check->key);
    cor_free(check);
}

static void on_namespace(void *arg, const struct cor_store_reply *reply);

static int look(struct check *check)
{
    struct cor_call *call = check->call;
    struct cor_store_get_opts opts = {.resource_version =
                                          check->is_live ? COR_STR("") : COR_STR("0")};
    int r = cor_reader_get(check->reader, cor_buf_str(&check->key), &opts, on_namespace, check,
                           &call->status);

    if (r == 0)
        cor_call_begin_op(call);
    return r;
}

/* Another server may have created it a moment ago: only what is not there now is missing. */
static void on_namespace(void *arg, const struct cor_store_reply *reply)
{
    struct check *check = arg;
    struct cor_call *call = check->call;
    void (*then)(struct cor_call *, int) = check->then;
    int r;

    if (!cor_call_end_op(call)) {
        check_free(check);
        return;
    }
    if (reply->err == -COR_ENOTFOUND && !check->is_live) {
        check->is_live = true;
        r = look(check);
        if (r == 0)
            return;
    } else {
        r = judge(call, check->name, reply);
    }
    check_free(check);
    then(call, r);
}

void cor_namespace_check(struct cor_call *call, struct cor_str name,
                         void (*then)(struct cor_call *call, int err))
{
    const struct cor_resource_row *res = cor_api_builtin(COR_STR(""), COR_STR("v1"), namespaces);
    struct check *check = cor_calloc(1, sizeof(*check));
    struct cor_backing *backing;
    int r;

    if (!check) {
        then(call, cor_status_set(&call->status, -COR_ENOMEM, "out of memory"));
        return;
    }
    check->call = call;
    check->then = then;
    check->name = name;
    cor_buf_init(&check->key, COR_KEY_BYTES_MAX);
    r = cor_api_backing(call->loop, res, &backing, &call->status);
    if (r == 0)
        r = cor_key_of_object(cor_buf_str(&backing->prefix), false, COR_STR(""), call->ns,
                              &check->key, &call->status);
    if (r == 0) {
        check->reader = backing->reader;
        r = look(check);
    }
    if (r < 0) {
        check_free(check);
        then(call, r);
    }
}
