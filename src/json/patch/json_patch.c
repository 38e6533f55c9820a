/* RFC 6902: the document becomes a tree that can change, the operations run on it in order, and the
 * canonical writer writes what is left. Before that patch_ops.c decodes the operations strictly.
 * Each operation fails in the words, and in the order of checks, of the library that kube-apiserver
 * uses. */
#include "base/err.h"
#include "base/limits.h"
#include "json/patch/patch_int.h"
#include "json/patch/patch_tree.h"

struct op {
    struct cor_str kind; /* "unknown" when the patch does not say */
    struct cor_str path; /* p is NULL when it is not there */
    struct cor_str from; /* likewise */
    yyjson_val *value;   /* NULL when it is not there: then it counts as null */
};

struct run {
    struct cor_json_ptree tree;
    size_t copied; /* bytes, by all copy operations */
    struct cor_json_patch_error *reterr;
};

static int fail_tree(struct run *run)
{
    if (run->tree.error == -COR_ETOOBIG)
        return cor_json_patch_fail(run->reterr, -COR_ETOOBIG,
                                   "The JSON patch visits more than %u values",
                                   COR_JSON_PATCH_WORK_MAX);
    return run->tree.error == COR_WORK_YIELD ? COR_WORK_YIELD : -COR_ENOMEM;
}

/* The operation does not apply, unless it was stopped by the lack of memory, budget or time. */
#define FAIL(run, ...)                                                                             \
    ((run)->tree.error ? fail_tree(run)                                                            \
                       : cor_json_patch_fail((run)->reterr, -COR_EINVALID, __VA_ARGS__))

static yyjson_mut_val *copy_value(struct run *run, const struct op *op)
{
    yyjson_mut_val *val =
        op->value ? yyjson_val_mut_copy(run->tree.doc, op->value) : yyjson_mut_null(run->tree.doc);

    if (!val)
        run->tree.error = -COR_ENOMEM;
    return val;
}

static int do_add(struct run *run, const struct op *op)
{
    yyjson_mut_val *parent, *val;

    if (!op->path.p)
        return FAIL(run, "add operation failed to decode path: missing value");
    parent = cor_json_ptree_parent(&run->tree, op->path);
    if (!parent)
        return FAIL(run,
                    "add operation does not apply: doc is missing path: \"%.*s\": missing value",
                    COR_STR_ARG(op->path));
    val = copy_value(run, op);
    if (!val || cor_json_ptree_add(&run->tree, parent, val) < 0)
        return FAIL(run, "error in add for path: '%.*s': %s", COR_STR_ARG(op->path), run->tree.why);
    return 0;
}

static int do_remove(struct run *run, const struct op *op)
{
    yyjson_mut_val *parent, *gone;

    if (!op->path.p)
        return FAIL(run, "remove operation failed to decode path: missing value");
    parent = cor_json_ptree_parent(&run->tree, op->path);
    if (!parent)
        return FAIL(run,
                    "remove operation does not apply: doc is missing path: \"%.*s\": missing value",
                    COR_STR_ARG(op->path));
    if (cor_json_ptree_remove(&run->tree, parent, &gone) < 0)
        return FAIL(run, "error in remove for path: '%.*s': %s", COR_STR_ARG(op->path),
                    run->tree.why);
    return 0;
}

/* Upstream's library means to refuse what is neither an object nor an array, but wraps an error
 * that is nil, so that a text or a number does nothing. At null, or no value, it panics. */
static int replace_all(struct run *run, const struct op *op)
{
    yyjson_mut_val *val;

    if (!op->value || yyjson_is_null(op->value))
        return FAIL(run, "replace operation value must be object or array");
    if (!yyjson_is_ctn(op->value))
        return 0;
    val = copy_value(run, op);
    if (!val)
        return fail_tree(run);
    yyjson_mut_doc_set_root(run->tree.doc, val);
    run->tree.depth_bound = cor_json_ptree_measure(&run->tree, val).depth;
    return run->tree.error ? fail_tree(run) : 0;
}

static int do_replace(struct run *run, const struct op *op)
{
    yyjson_mut_val *parent, *val;

    if (!op->path.p)
        return FAIL(run, "replace operation failed to decode path: operation missing path field: "
                         "missing value");
    if (op->path.n == 0)
        return replace_all(run, op);
    parent = cor_json_ptree_parent(&run->tree, op->path);
    if (!parent)
        return FAIL(run,
                    "replace operation does not apply: doc is missing path: %.*s: missing value",
                    COR_STR_ARG(op->path));
    if (cor_json_ptree_peek(&run->tree, parent, &val) < 0)
        return FAIL(run,
                    "replace operation does not apply: doc is missing key: %.*s: missing value",
                    COR_STR_ARG(op->path));
    val = copy_value(run, op);
    if (!val || cor_json_ptree_set(&run->tree, parent, val) < 0)
        return FAIL(run, "error in remove for path: '%.*s': %s", COR_STR_ARG(op->path),
                    run->tree.why);
    return 0;
}

static int do_move(struct run *run, const struct op *op)
{
    struct cor_json_ptree *tree = &run->tree;
    yyjson_mut_val *parent, *val;
    unsigned depth;

    if (!op->from.p)
        return FAIL(run, "move operation failed to decode from: operation, missing from field: "
                         "missing value");
    parent = cor_json_ptree_parent(tree, op->from);
    if (!parent)
        return FAIL(run,
                    "move operation does not apply: doc is missing from path: %.*s: missing value",
                    COR_STR_ARG(op->from));
    if (cor_json_ptree_remove(tree, parent, &val) < 0)
        return FAIL(run, "error in move for path: '%s': %s", cor_buf_z(&tree->key), tree->why);
    depth = tree->key_depth;
    if (!op->path.p)
        return FAIL(run, "move operation failed to decode path: operation missing path field: "
                         "missing value");
    parent = cor_json_ptree_parent(tree, op->path);
    if (!parent)
        return FAIL(run,
                    "move operation does not apply: doc is missing destination path: %.*s: missing "
                    "value",
                    COR_STR_ARG(op->path));
    if (cor_json_ptree_add_moved(tree, parent, val, depth) < 0)
        return FAIL(run, "error in move for path: '%.*s': %s", COR_STR_ARG(op->path), tree->why);
    return 0;
}

/* A copy of `val` for another place, within the limit on copies; null for a missing one. */
static int copy_for_copy(struct run *run, yyjson_mut_val *val, yyjson_mut_val **ret)
{
    struct cor_json_ptree *tree = &run->tree;

    if (!val || yyjson_mut_is_null(val)) {
        *ret = yyjson_mut_null(tree->doc);
    } else {
        run->copied += cor_json_ptree_measure(tree, val).bytes;
        if (tree->error || run->copied > COR_BODY_BYTES_MAX)
            return FAIL(run,
                        "Unable to complete the copy, the accumulated size increase of copy is "
                        "%zu, exceeding the limit %u",
                        run->copied, COR_BODY_BYTES_MAX);
        *ret = yyjson_mut_val_mut_copy(tree->doc, val);
    }
    return *ret ? 0 : -COR_ENOMEM;
}

static int do_copy(struct run *run, const struct op *op)
{
    struct cor_json_ptree *tree = &run->tree;
    yyjson_mut_val *parent, *val;
    int r;

    if (!op->from.p)
        return FAIL(run, "copy operation failed to decode from: operation, missing from field: "
                         "missing value");
    parent = cor_json_ptree_parent(tree, op->from);
    if (!parent)
        return FAIL(run,
                    "copy operation does not apply: doc is missing from path: %.*s: missing value",
                    COR_STR_ARG(op->from));
    if (cor_json_ptree_peek(tree, parent, &val) < 0)
        return FAIL(run, "error in copy for from: '%.*s': %s", COR_STR_ARG(op->from), tree->why);
    if (!op->path.p)
        return FAIL(run, "copy operation failed to decode path: missing value");
    parent = cor_json_ptree_parent(tree, op->path);
    if (!parent)
        return FAIL(run,
                    "copy operation does not apply: doc is missing destination path: %.*s: missing "
                    "value",
                    COR_STR_ARG(op->path));
    r = copy_for_copy(run, val, &val);
    if (r < 0)
        return r;
    if (cor_json_ptree_add(tree, parent, val) < 0)
        return FAIL(run, "error while adding value during copy: %s", tree->why);
    return 0;
}

static int do_test(struct run *run, const struct op *op)
{
    yyjson_mut_val *parent, *val;

    if (!op->path.p)
        return FAIL(run, "test operation failed to decode path: operation missing path field: "
                         "missing value");
    if (op->path.n == 0) {
        val = yyjson_mut_doc_get_root(run->tree.doc);
    } else {
        parent = cor_json_ptree_parent(&run->tree, op->path);
        if (!parent)
            return FAIL(run, "test operation does not apply: is missing path: %.*s: missing value",
                        COR_STR_ARG(op->path));
        if (cor_json_ptree_peek(&run->tree, parent, &val) < 0)
            return FAIL(run, "error in test for path: '%.*s': %s", COR_STR_ARG(op->path),
                        run->tree.why);
    }
    if (!cor_json_ptree_equal(&run->tree, val, op->value))
        return FAIL(run, "testing value %.*s failed: test failed", COR_STR_ARG(op->path));
    return 0;
}

static int do_op(struct run *run, const struct op *op)
{
    static const struct {
        const char *kind;
        int (*fn)(struct run *run, const struct op *op);
    } table[] = {
        {"add", do_add},   {"remove", do_remove}, {"replace", do_replace},
        {"move", do_move}, {"copy", do_copy},     {"test", do_test},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(table); i++) {
        if (cor_str_eqz(op->kind, table[i].kind))
            return table[i].fn(run, op);
    }
    return FAIL(run, "Unexpected kind: %.*s", COR_STR_ARG(op->kind));
}

static struct cor_str text_of(yyjson_val *op, const char *field, struct cor_str otherwise)
{
    yyjson_val *val = yyjson_obj_get(op, field);

    return yyjson_is_str(val) ? cor_str(yyjson_get_str(val), yyjson_get_len(val)) : otherwise;
}

static struct op read_op(yyjson_val *val)
{
    return (struct op){
        .kind = text_of(val, "op", COR_STR("unknown")),
        .path = text_of(val, "path", cor_str(NULL, 0)),
        .from = text_of(val, "from", cor_str(NULL, 0)),
        .value = yyjson_obj_get(val, "value"),
    };
}

static int do_ops(struct run *run, yyjson_val *patch)
{
    yyjson_val *val;
    struct op op;
    size_t i, n;
    int r = 0;

    yyjson_arr_foreach(patch, i, n, val) {
        op = read_op(val);
        r = do_op(run, &op);
        if (r < 0)
            break;
    }
    return r;
}

static int write_result(struct run *run, struct cor_buf *out)
{
    struct cor_json_psize size =
        cor_json_ptree_measure(&run->tree, yyjson_mut_doc_get_root(run->tree.doc));
    yyjson_doc *result;
    char *end;
    int r;

    if (run->tree.error)
        return fail_tree(run);
    r = cor_buf_reserve(out, size.bytes);
    if (r < 0)
        return r;
    result = yyjson_mut_doc_imut_copy(run->tree.doc, &cor_json_alc);
    if (!result)
        return -COR_ENOMEM;
    end = cor_json_emit(yyjson_doc_get_root(result), NULL, out->p + out->n, NULL);
    yyjson_doc_free(result);
    if (end)
        out->n = (size_t)(end - out->p);
    cor_buf_truncate(out, out->n);
    return end ? 0 : -COR_ENOMEM;
}

static int apply(struct cor_str doc, yyjson_val *patch, const struct cor_json_limits *limits,
                 struct cor_buf *out, struct cor_json_patch_error *reterr)
{
    struct run run = {.reterr = reterr};
    int r = cor_json_ptree_init(&run.tree, doc, limits->depth_max, limits->work);

    if (r == 0)
        r = do_ops(&run, patch);
    if (r == 0)
        r = write_result(&run, out);
    cor_json_ptree_deinit(&run.tree);
    return r;
}

/* Upstream decodes the operations into a struct first, and names its field. */
static int refuse_number(struct cor_str patch, struct cor_json_patch_error *reterr)
{
    struct cor_str number;

    if (cor_json_find_huge(patch, &number) < 0)
        return -COR_EINVAL;
    return cor_json_patch_fail(reterr, -COR_EINVAL,
                               "error decoding patch: json: cannot unmarshal number %.*s into Go "
                               "struct field jsonPatchOp.value of type float64",
                               COR_STR_ARG(number));
}

int cor_json_json_patch(struct cor_str doc, struct cor_str patch,
                        const struct cor_json_limits *limits, struct cor_buf *out,
                        struct cor_json_dups *dups, struct cor_json_patch_error *reterr)
{
    struct cor_json_traits canonical = {.canonical = true};
    enum cor_json_type type = cor_json_type(doc);
    struct cor_json_tree tree = {NULL, NULL};
    struct cor_buf text;
    int r;

    if (type != COR_JSON_OBJECT && type != COR_JSON_ARRAY)
        return cor_json_patch_fail(reterr, -COR_EINVAL, "Invalid JSON Document");
    cor_buf_init(&text, limits->bytes_max);
    r = cor_json_patch_read(patch, limits, &text, dups, reterr);
    if (r == -COR_EINVAL)
        r = refuse_number(patch, reterr);
    if (r == 0)
        r = cor_json_patch_check_ops(patch, dups, reterr);
    if (r == 0)
        r = cor_json_tree_init(&tree, cor_buf_str(&text), &canonical);
    cor_buf_deinit(&text);
    if (r < 0)
        return r;
    r = apply(doc, yyjson_doc_get_root(tree.doc), limits, out, reterr);
    cor_json_tree_deinit(&tree);
    return r;
}
