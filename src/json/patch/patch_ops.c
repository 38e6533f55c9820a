/* clang-format off */
/* The operations of a JSON patch as kube-apiserver decodes them first, strictly: into a list of
 * structs that have `op`, `path`, `from` and `value`. The walk goes over the bytes as they were
 * sent, because the first value of a wrong type is the one that is named, and because findings come
 * in the order of the bytes:
 *
 *   op, path, from   must be strings, or null
 *   value            may be anything; keys that are repeated in it are findings
 *   any other        is a finding; nothing in its value is
 *
 * Thread: any (no state). */
/* clang-format on */
#include "base/err.h"
#include "base/limits.h"
#include "json/patch/patch_int.h"
#include "json/text/json_int.h"

#define NAME_MAX_BYTES 8    /* of a member that operations have, with room */
#define PATH_BYTES_MAX 1024 /* of a finding; a longer name is cut */

/* The name of a member that operations have; NULL: they have no such member. */
static const char *known_member(struct cor_str raw_key)
{
    static const char *const names[] = {"from", "op", "path", "value"};
    char decoded[NAME_MAX_BYTES];
    struct cor_str key = raw_key;

    if (cor_str_find(raw_key, '\\') >= 0 &&
        cor_json_unescape(raw_key, decoded, sizeof(decoded), &key) < 0)
        return NULL;
    for (size_t i = 0; i < COR_ARRAY_LEN(names); i++) {
        if (cor_str_eqz(key, names[i]))
            return names[i];
    }
    return NULL;
}

/* Adds `[0].name` to the findings. */
static int add_unknown(struct cor_json_dups *dups, size_t offset, size_t index,
                       struct cor_str raw_key)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf path = {.max = PATH_BYTES_MAX};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf decoded = {.max = raw_key.n + 1};
    struct cor_str key = raw_key;
    int r = 0;

    if (dups->n == COR_JSON_DUPS_MAX && dups->v[dups->n - 1].offset < offset)
        return 0;
    if (cor_str_find(raw_key, '\\') >= 0) {
        r = cor_buf_reserve(&decoded, raw_key.n);
        if (r == 0)
            r = cor_json_unescape(raw_key, decoded.p, raw_key.n, &key);
    }
    if (r == 0)
        r = cor_buf_addf(&path, "[%zu].", index);
    if (r == 0)
        r = cor_buf_adds(&path,
                         cor_str(key.p, key.n < path.max - path.n ? key.n : path.max - path.n));
    return r < 0 ? r : cor_json_dups_add(dups, offset, true, &path);
}

static int check_op(struct cor_str patch, struct cor_str op, size_t index,
                    struct cor_json_dups *dups, struct cor_json_patch_error *reterr)
{
    enum cor_json_type type = cor_json_type(op);
    struct cor_json_iter it = cor_json_iter(op);
    struct cor_str raw_key;
    int r = 0;

    if (type != COR_JSON_OBJECT && type != COR_JSON_NULL)
        return cor_json_patch_fail(reterr, -COR_EINVAL,
                                   "error decoding patch: json: cannot unmarshal %s into Go value "
                                   "of type handlers.jsonPatchOp",
                                   cor_json_go_type(type));
    while (type == COR_JSON_OBJECT && r == 0 && cor_json_iter_member(&it, &raw_key)) {
        struct cor_str value = cor_json_iter_value(&it);
        const char *name = known_member(raw_key);
        enum cor_json_type found = cor_json_type(value);
        size_t offset = (size_t)(raw_key.p - patch.p);

        if (!name && dups) {
            cor_json_dups_remove(dups, offset, (size_t)(value.p + value.n - patch.p));
            r = add_unknown(dups, offset, index, raw_key);
        } else if (name && name[0] != 'v' && found != COR_JSON_STRING && found != COR_JSON_NULL) {
            return cor_json_patch_fail(reterr, -COR_EINVAL,
                                       "error decoding patch: json: cannot unmarshal %s into Go "
                                       "struct field jsonPatchOp.%s of type string",
                                       cor_json_go_type(found), name);
        }
    }
    return r;
}

int cor_json_patch_check_ops(struct cor_str patch, struct cor_json_dups *dups,
                             struct cor_json_patch_error *reterr)
{
    struct cor_str list = cor_str_trim(patch);
    struct cor_json_iter it = cor_json_iter(list);
    enum cor_json_type type = cor_json_type(list);
    size_t n = 0;
    int r = 0;

    if (type != COR_JSON_ARRAY && type != COR_JSON_NULL)
        return cor_json_patch_fail(reterr, -COR_EINVAL,
                                   "error decoding patch: json: cannot unmarshal %s into Go value "
                                   "of type []handlers.jsonPatchOp",
                                   cor_json_go_type(type));
    for (; type == COR_JSON_ARRAY && r == 0 && cor_json_iter_elem(&it); n++)
        r = check_op(patch, cor_json_iter_value(&it), n, dups, reterr);
    if (r == 0 && n > COR_JSON_PATCH_OPS_MAX)
        return cor_json_patch_fail(reterr, -COR_ETOOBIG,
                                   "The allowed maximum operations in a JSON patch is %d, got %zu",
                                   COR_JSON_PATCH_OPS_MAX, n);
    return r;
}
