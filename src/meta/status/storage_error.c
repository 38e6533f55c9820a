#include "meta/status/storage_error.h"

#include "base/err.h"

/* Upstream's: seconds after which a client that met an unreachable storage may try again. */
#define RETRY_AFTER_S 2

static const struct {
    const char *text;
    int err;
} codes[] = {
    [COR_STORAGE_NOT_FOUND] = {"key not found", -COR_ENOTFOUND},
    [COR_STORAGE_EXISTS] = {"key exists", -COR_EEXIST},
    [COR_STORAGE_CONFLICT] = {"resource version conflicts", -COR_ECONFLICT},
    [COR_STORAGE_INVALID_OBJ] = {"invalid object", -COR_EPRECONDITION},
    [COR_STORAGE_UNREACHABLE] = {"server unreachable", -COR_EUNREACHABLE},
    [COR_STORAGE_TIMEOUT] = {"request timeout", -COR_ETIMEOUT},
    [COR_STORAGE_CORRUPT] = {"corrupt object", -COR_ECORRUPT},
};

int cor_storage_error(struct cor_status *st, enum cor_storage_code code, struct cor_str key,
                      cor_rev rev, const char *why)
{
    return cor_status_untyped(st, codes[code].err,
                              "StorageError: %s, Code: %d, Key: %.*s, ResourceVersion: %llu, "
                              "AdditionalErrorMsg: %s",
                              codes[code].text, (int)code, COR_STR_ARG(key),
                              (unsigned long long)rev, why ? why : "<nil>");
}

int cor_storage_internal(struct cor_status *st, const char *fmt, ...)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = COR_STATUS_MESSAGE_MAX};
    va_list ap;
    int r;

    va_start(ap, fmt);
    r = cor_buf_addv(&text, fmt, ap);
    va_end(ap);
    return cor_status_untyped(st, -COR_EINTERNAL, "%s",
                              r == 0 ? cor_buf_z(&text) : cor_err_text(-COR_EINTERNAL));
}

int cor_storage_precondition_failed(struct cor_status *st, struct cor_str key, const char *what,
                                    struct cor_str wanted, struct cor_str found)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf why = {.max = COR_STATUS_MESSAGE_MAX};
    int r =
        cor_buf_addf(&why, "Precondition failed: %s in precondition: %.*s, %s in object meta: %.*s",
                     what, COR_STR_ARG(wanted), what, COR_STR_ARG(found));

    return cor_storage_error(st, COR_STORAGE_INVALID_OBJ, key, 0,
                             r == 0 ? cor_buf_z(&why) : "Precondition failed");
}

static const char *op_name(enum cor_storage_op op)
{
    switch (op) {
    case COR_STORAGE_OP_GET:
        return "get";
    case COR_STORAGE_OP_LIST:
        return "list";
    case COR_STORAGE_OP_CREATE:
        return "create";
    case COR_STORAGE_OP_UPDATE:
        return "update";
    case COR_STORAGE_OP_DELETE:
        return "delete";
    case COR_STORAGE_OP_WATCH:
        return "watch";
    }
    return "";
}

static bool is_change(enum cor_storage_op op)
{
    return op == COR_STORAGE_OP_UPDATE || op == COR_STORAGE_OP_DELETE;
}

/* Which API error `st` becomes, or 0 for none. */
static int api_error(const struct cor_status *st, enum cor_storage_op op)
{
    if (st->err == -COR_EINTERNAL || st->err == -COR_ECORRUPT)
        return -COR_EINTERNAL;
    if (op == COR_STORAGE_OP_WATCH)
        return 0;
    switch (-st->err) {
    case COR_ENOTFOUND:
        return op == COR_STORAGE_OP_CREATE ? 0 : -COR_ENOTFOUND;
    case COR_EEXIST:
        return op == COR_STORAGE_OP_CREATE ? -COR_EEXIST : is_change(op) ? -COR_ECONFLICT : 0;
    case COR_ECONFLICT:
    case COR_EPRECONDITION:
        return is_change(op) ? -COR_ECONFLICT : 0;
    case COR_EUNREACHABLE:
        return -COR_EUNREACHABLE;
    case COR_ETIMEOUT:
        return op == COR_STORAGE_OP_LIST ? -COR_EUNREACHABLE : 0;
    default:
        return 0;
    }
}

int cor_storage_error_to_api(struct cor_status *st, enum cor_storage_op op, const struct cor_gr *gr,
                             struct cor_str name)
{
    if (st->reason && st->reason[0])
        return st->err;
    switch (-api_error(st, op)) {
    case COR_ENOTFOUND:
        return cor_status_not_found(st, gr, op == COR_STORAGE_OP_LIST ? COR_STR("") : name);
    case COR_EEXIST:
        return cor_status_already_exists(st, gr, name);
    case COR_ECONFLICT:
        return cor_status_conflict(st, gr, name, "%s", cor_status_message(st));
    case COR_EUNREACHABLE:
        return cor_status_server_timeout(st, gr, op_name(op), RETRY_AFTER_S);
    case COR_EINTERNAL:
        return cor_status_internal(st, "%s", cor_status_message(st));
    default:
        return st->err;
    }
}
