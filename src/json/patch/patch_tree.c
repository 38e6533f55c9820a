#include "json/patch/patch_tree.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/err.h"
#include "base/limits.h"
#include "json/patch/patch.h"

#define VALUES_OF_STEP 4 /* that are visited in the time of a step of the request's work */

int cor_json_ptree_init(struct cor_json_ptree *t, struct cor_str doc, unsigned depth_max,
                        struct cor_work *work)
{
    struct cor_json_traits canonical = {.canonical = true};
    struct cor_json_tree source;
    int r;

    *t = (struct cor_json_ptree){
        .work_left = COR_JSON_PATCH_WORK_MAX, .depth_max = depth_max, .work = work};
    cor_buf_init(&t->key, SIZE_MAX / 2);
    cor_json_pindex_init(&t->index);
    r = cor_json_tree_init(&source, doc, &canonical);
    if (r < 0)
        return r;
    t->doc = yyjson_doc_mut_copy(source.doc, &cor_json_alc);
    cor_json_tree_deinit(&source);
    if (!t->doc)
        return -COR_ENOMEM;
    t->depth_bound = cor_json_ptree_measure(t, yyjson_mut_doc_get_root(t->doc)).depth;
    return t->error;
}

void cor_json_ptree_deinit(struct cor_json_ptree *t)
{
    cor_json_pindex_deinit(&t->index);
    yyjson_mut_doc_free(t->doc);
    t->doc = NULL;
    cor_buf_deinit(&t->key);
}

static bool charge(struct cor_json_ptree *t, size_t n)
{
    if (t->error)
        return false;
    if (n > t->work_left) {
        t->error = -COR_ETOOBIG;
        return false;
    }
    t->work_left -= n;
    t->uncharged += n;
    if (t->work && t->uncharged >= VALUES_OF_STEP) {
        t->error = cor_work_charge(t->work, t->uncharged / VALUES_OF_STEP);
        t->uncharged %= VALUES_OF_STEP;
    }
    return !t->error;
}

/* Decodes ~0 and ~1. */
static int set_key(struct cor_json_ptree *t, struct cor_str token)
{
    int r;

    cor_buf_reset(&t->key);
    r = cor_buf_reserve(&t->key, token.n);
    if (r < 0)
        return t->error = r;
    for (size_t i = 0; i < token.n; i++) {
        char c = token.p[i];

        if (c == '~' && i + 1 < token.n && (token.p[i + 1] == '0' || token.p[i + 1] == '1'))
            c = token.p[++i] == '0' ? '~' : '/';
        t->key.p[t->key.n++] = c;
    }
    cor_buf_truncate(&t->key, t->key.n);
    return 0;
}

/* What a call of the index returned, and the values that it visited. */
static int account(struct cor_json_ptree *t, int r, size_t work)
{
    if (!charge(t, work) || r == 0)
        return t->error;
    return t->error = r;
}

/* The key of a member; NULL when there is none, or `error` is set. */
static yyjson_mut_val *find_key(struct cor_json_ptree *t, yyjson_mut_val *object,
                                struct cor_str text)
{
    yyjson_mut_val *key = NULL;
    size_t work = 0;
    int r = cor_json_pindex_find(&t->index, object, text, &work, &key);

    return account(t, r, work) < 0 ? NULL : key;
}

static yyjson_mut_val *find_member(struct cor_json_ptree *t, yyjson_mut_val *object,
                                   struct cor_str text)
{
    yyjson_mut_val *key = find_key(t, object, text);

    return key ? yyjson_mut_obj_iter_get_val(key) : NULL;
}

/* As strconv.Atoi reads it. */
static int parse_index(struct cor_json_ptree *t, int64_t *ret)
{
    struct cor_str digits = cor_buf_str(&t->key);
    bool minus = digits.n && digits.p[0] == '-';
    uint64_t v;
    int r;

    if (digits.n && (digits.p[0] == '-' || digits.p[0] == '+'))
        digits = cor_str_from(digits, 1);
    r = cor_str_to_u64(digits, &v);
    if (r == 0 && v <= INT64_MAX) {
        *ret = minus ? -(int64_t)v : (int64_t)v;
        return 0;
    }
    snprintf(t->why, sizeof(t->why), "strconv.Atoi: parsing \"%.*s\": %s",
             t->key.n < 100 ? (int)t->key.n : 100, cor_buf_z(&t->key),
             r == -COR_EINVAL ? "invalid syntax" : "value out of range");
    return -COR_EINVALID;
}

/* The index that `key` means among `n` places. */
static int resolve_index(struct cor_json_ptree *t, size_t n, size_t *ret)
{
    int64_t index, from_end;
    int r = parse_index(t, &index);

    if (r < 0)
        return r;
    from_end = index < 0 ? index + (int64_t)n : index;
    if (from_end < 0 || from_end >= (int64_t)n) {
        snprintf(t->why, sizeof(t->why),
                 "Unable to access invalid index: %" PRId64 ": invalid index referenced", index);
        return -COR_EINVALID;
    }
    *ret = (size_t)from_end;
    return 0;
}

int cor_json_ptree_peek(struct cor_json_ptree *t, yyjson_mut_val *parent, yyjson_mut_val **ret)
{
    size_t index, work = 0;
    int r;

    if (yyjson_mut_is_obj(parent)) {
        *ret = find_member(t, parent, cor_buf_str(&t->key));
        return t->error;
    }
    r = resolve_index(t, yyjson_mut_arr_size(parent), &index);
    if (r < 0)
        return r;
    r = cor_json_pindex_at(&t->index, parent, index, &work, ret);
    return account(t, r, work);
}

yyjson_mut_val *cor_json_ptree_parent(struct cor_json_ptree *t, struct cor_str pointer)
{
    yyjson_mut_val *at = yyjson_mut_doc_get_root(t->doc);

    cor_str_cut(&pointer, '/'); /* what precedes the first slash does not count */
    t->key_depth = 0;
    while (pointer.p) {
        struct cor_str token = cor_str_cut(&pointer, '/');

        t->key_depth++;
        if (set_key(t, token) < 0)
            return NULL;
        if (!pointer.p)
            return at;
        if (cor_json_ptree_peek(t, at, &at) < 0 || !yyjson_mut_is_ctn(at))
            return NULL;
    }
    return NULL;
}

static int check_depth(struct cor_json_ptree *t, unsigned depth)
{
    if (t->key_depth + depth > t->depth_max) {
        snprintf(t->why, sizeof(t->why), "exceeded max depth");
        return -COR_EINVALID;
    }
    if (t->key_depth + depth > t->depth_bound)
        t->depth_bound = t->key_depth + depth;
    return 0;
}

/* Nothing in `val` may be deeper than the limit. */
static int check_new_depth(struct cor_json_ptree *t, yyjson_mut_val *val)
{
    struct cor_json_psize size = cor_json_ptree_measure(t, val);

    return t->error ? t->error : check_depth(t, size.depth);
}

static int put_member(struct cor_json_ptree *t, yyjson_mut_val *object, yyjson_mut_val *val)
{
    yyjson_mut_val *key = find_key(t, object, cor_buf_str(&t->key));
    size_t work = 0;
    int r;

    if (t->error)
        return t->error;
    if (key) {
        val->next = key->next->next;
        key->next = val;
        return 0;
    }
    key = yyjson_mut_strncpy(t->doc, cor_buf_z(&t->key), t->key.n);
    if (!key)
        return t->error = -COR_ENOMEM;
    r = cor_json_pindex_add(&t->index, object, key, val, &work);
    return account(t, r, work);
}

static int insert(struct cor_json_ptree *t, yyjson_mut_val *parent, yyjson_mut_val *val)
{
    size_t n = yyjson_mut_arr_size(parent), index = n, work = 0;
    char cause[sizeof(t->why)];
    int r;

    if (yyjson_mut_is_obj(parent))
        return put_member(t, parent, val);
    if (!cor_str_eq(cor_buf_str(&t->key), COR_STR("-"))) {
        r = resolve_index(t, n + 1, &index);
        if (r == -COR_EINVALID && cor_str_starts(cor_strz(t->why), COR_STR("strconv"))) {
            memcpy(cause, t->why, sizeof(cause));
            snprintf(t->why, sizeof(t->why), "value was not a proper array index: '%.40s': %.120s",
                     cor_buf_z(&t->key), cause);
        }
        if (r < 0)
            return r;
    }
    r = cor_json_pindex_insert(&t->index, parent, index, val, &work);
    return account(t, r, work);
}

int cor_json_ptree_add(struct cor_json_ptree *t, yyjson_mut_val *parent, yyjson_mut_val *val)
{
    int r = check_new_depth(t, val);

    return r < 0 ? r : insert(t, parent, val);
}

/* How deep a value is that stood in the tree follows from the bound, without a walk through it.
 * Moves make the bound larger than the tree is; when that is too much, it is measured again. */
int cor_json_ptree_add_moved(struct cor_json_ptree *t, yyjson_mut_val *parent, yyjson_mut_val *val,
                             unsigned depth)
{
    unsigned at_most = t->depth_bound > depth ? t->depth_bound - depth : 0;
    int r;

    if (t->key_depth + at_most <= t->depth_max) {
        r = check_depth(t, at_most);
    } else {
        t->depth_bound = cor_json_ptree_measure(t, yyjson_mut_doc_get_root(t->doc)).depth;
        r = check_new_depth(t, val);
    }
    return r < 0 ? r : insert(t, parent, val);
}

int cor_json_ptree_set(struct cor_json_ptree *t, yyjson_mut_val *parent, yyjson_mut_val *val)
{
    size_t index, work = 0;
    int r = check_new_depth(t, val);

    if (r < 0)
        return r;
    if (yyjson_mut_is_obj(parent))
        return put_member(t, parent, val);
    r = resolve_index(t, yyjson_mut_arr_size(parent), &index);
    if (r < 0)
        return r;
    r = cor_json_pindex_replace(&t->index, parent, index, val, &work);
    return account(t, r, work);
}

int cor_json_ptree_remove(struct cor_json_ptree *t, yyjson_mut_val *parent, yyjson_mut_val **ret)
{
    yyjson_mut_val *key;
    size_t index, work = 0;
    int r;

    if (yyjson_mut_is_obj(parent)) {
        key = find_key(t, parent, cor_buf_str(&t->key));
        if (t->error)
            return t->error;
        if (key) {
            *ret = cor_json_pindex_drop(&t->index, parent, key);
            return 0;
        }
        snprintf(t->why, sizeof(t->why), "Unable to remove nonexistent key: %.100s: missing value",
                 cor_buf_z(&t->key));
        return -COR_EINVALID;
    }
    r = resolve_index(t, yyjson_mut_arr_size(parent), &index);
    if (r < 0)
        return r;
    r = cor_json_pindex_remove(&t->index, parent, index, &work, ret);
    return account(t, r, work);
}

static bool equal_objects(struct cor_json_ptree *t, yyjson_mut_val *a, yyjson_val *b)
{
    yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(a);
    yyjson_val *key, *val;
    size_t i, max;

    if (yyjson_mut_obj_size(a) != yyjson_obj_size(b))
        return false;
    yyjson_obj_foreach(b, i, max, key, val) {
        /* Both sides are sorted except for what earlier operations added, so this nearly always
         * hits. */
        yyjson_mut_val *k = yyjson_mut_obj_iter_next(&it), *found;
        struct cor_str name = cor_str(unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key));

        found = yyjson_mut_equals_strn(k, name.p, name.n) ? yyjson_mut_obj_iter_get_val(k)
                                                          : find_member(t, a, name);
        if (!found || !cor_json_ptree_equal(t, found, val))
            return false;
    }
    return true;
}

static bool equal_arrays(struct cor_json_ptree *t, yyjson_mut_val *a, yyjson_val *b)
{
    yyjson_mut_arr_iter it = yyjson_mut_arr_iter_with(a);
    yyjson_val *val;
    size_t i, max;

    if (yyjson_mut_arr_size(a) != yyjson_arr_size(b))
        return false;
    yyjson_arr_foreach(b, i, max, val) {
        if (!cor_json_ptree_equal(t, yyjson_mut_arr_iter_next(&it), val))
            return false;
    }
    return true;
}

bool cor_json_ptree_equal(struct cor_json_ptree *t, yyjson_mut_val *a, yyjson_val *b)
{
    yyjson_type type = a ? yyjson_mut_get_type(a) : YYJSON_TYPE_NULL;

    if (!charge(t, 1) || type != (b ? yyjson_get_type(b) : YYJSON_TYPE_NULL))
        return false;
    switch (type) {
    case YYJSON_TYPE_OBJ:
        return equal_objects(t, a, b);
    case YYJSON_TYPE_ARR:
        return equal_arrays(t, a, b);
    case YYJSON_TYPE_BOOL:
        return yyjson_mut_get_bool(a) == yyjson_get_bool(b);
    case YYJSON_TYPE_STR:
    case YYJSON_TYPE_RAW:
        return cor_str_eq(cor_str(unsafe_yyjson_get_str(a), unsafe_yyjson_get_len(a)),
                          cor_str(unsafe_yyjson_get_str(b), unsafe_yyjson_get_len(b)));
    default:
        return true;
    }
}

static size_t quoted_bytes(yyjson_mut_val *string)
{
    const char *p = unsafe_yyjson_get_str(string), *end = p + unsafe_yyjson_get_len(string);
    size_t n = 2 + (size_t)(end - p);
    char escape[6];

    while ((p = cor_json_find_special(p, end)) < end)
        n += (size_t)(cor_json_put_escape(escape, (unsigned char)*p++) - escape) - 1;
    return n;
}

static struct cor_json_psize measure_container(struct cor_json_ptree *t, yyjson_mut_val *val)
{
    bool object = yyjson_mut_is_obj(val);
    size_t n = unsafe_yyjson_get_len(val);
    struct cor_json_psize sum = {.bytes = n ? n + 1 : 2}, part;
    yyjson_mut_obj_iter members = {0};
    yyjson_mut_arr_iter elems = {0};

    if (object)
        yyjson_mut_obj_iter_init(val, &members);
    else
        yyjson_mut_arr_iter_init(val, &elems);
    for (size_t i = 0; i < n && !t->error; i++) {
        yyjson_mut_val *child =
            object ? yyjson_mut_obj_iter_next(&members) : yyjson_mut_arr_iter_next(&elems);

        if (object) {
            sum.bytes += quoted_bytes(child) + 1;
            child = yyjson_mut_obj_iter_get_val(child);
        }
        part = cor_json_ptree_measure(t, child);
        sum.bytes += part.bytes;
        if (part.depth > sum.depth)
            sum.depth = part.depth;
    }
    sum.depth++;
    return sum;
}

struct cor_json_psize cor_json_ptree_measure(struct cor_json_ptree *t, yyjson_mut_val *val)
{
    if (!charge(t, 1))
        return (struct cor_json_psize){0};
    switch (yyjson_mut_get_type(val)) {
    case YYJSON_TYPE_OBJ:
    case YYJSON_TYPE_ARR:
        return measure_container(t, val);
    case YYJSON_TYPE_STR:
        return (struct cor_json_psize){.bytes = quoted_bytes(val)};
    case YYJSON_TYPE_RAW:
        return (struct cor_json_psize){.bytes = unsafe_yyjson_get_len(val)};
    case YYJSON_TYPE_BOOL:
        return (struct cor_json_psize){.bytes = yyjson_mut_get_bool(val) ? 4 : 5};
    default:
        return (struct cor_json_psize){.bytes = 4};
    }
}
