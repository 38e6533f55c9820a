/* Indexes over yyjson's mutable containers, which are circular lists: the container points to its
 * last child, each child to the next, and of an object the children are keys and values in turn.
 *
 * An object's index is a map from the text of a key to the key. To remove a member its key takes
 * over the text of the next one, so that the key before it need not be found.
 * An array's index is a list of chunks of up to CHUNK_MAX element addresses. A place is found by
 * the chunks' sizes; inserting and removing moves addresses within one chunk, and a full chunk is
 * cut in two. The lists of yyjson are kept right as well, since the result is written from them.
 * Containers of up to FEW children have no index and are walked.
 *
 * Failures: without memory for an index, or for its growth, nothing has changed. */
#include "json/patch/patch_index.h"

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"

#define FEW       16
#define CHUNK_MAX 256
#define COUNT_MAX (1u << 24) /* of children; more than any document has room for */

struct chunk {
    yyjson_mut_val *v[CHUNK_MAX];
    size_t n;
};

struct index {
    yyjson_mut_val *container; /* the key in the map of indexes */
    struct cor_map members;    /* of an object: text of the key → key */
    struct chunk **chunks;     /* of an array; none is empty, unless it is the only one */
    size_t nchunks, cap;
};

void cor_json_pindex_init(struct cor_json_pindex *ix)
{
    cor_map_init(&ix->containers, COUNT_MAX);
}

static void index_free(struct index *x)
{
    for (size_t i = 0; i < x->nchunks; i++)
        cor_free(x->chunks[i]);
    cor_free(x->chunks);
    cor_map_deinit(&x->members);
    cor_free(x);
}

void cor_json_pindex_deinit(struct cor_json_pindex *ix)
{
    COR_MAP_FOREACH(it, &ix->containers)
        index_free(it.value);
    cor_map_deinit(&ix->containers);
}

static struct cor_str address(yyjson_mut_val *const *container)
{
    return cor_str((const char *)container, sizeof(*container));
}

static struct cor_str text_of(yyjson_mut_val *key)
{
    return cor_str(unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key));
}

static size_t count(yyjson_mut_val *container)
{
    return unsafe_yyjson_get_len(container);
}

static yyjson_mut_val *last_of(yyjson_mut_val *container)
{
    return container->uni.ptr;
}

static int fill_object(struct index *x)
{
    yyjson_mut_val *key = count(x->container) > 0 ? last_of(x->container)->next->next : NULL;

    for (size_t i = 0; i < count(x->container); i++, key = key->next->next) {
        int r = cor_map_put(&x->members, text_of(key), key, NULL);

        if (r < 0)
            return r;
    }
    return 0;
}

/* Room for one more chunk behind chunk `at`. */
static int add_chunk(struct index *x, size_t at)
{
    struct chunk *made;
    int r = COR_ARRAY_RESERVE(&x->chunks, x->nchunks, &x->cap, COR_ARRAY_NO_MAX);

    if (r < 0)
        return r;
    made = cor_alloc(sizeof(*made));
    if (!made)
        return -COR_ENOMEM;
    made->n = 0;
    memmove(&x->chunks[at + 1], &x->chunks[at], (x->nchunks - at) * sizeof(struct chunk *));
    x->chunks[at] = made;
    x->nchunks++;
    return 0;
}

/* Chunks begin half full: the first insertions then find room. */
static int fill_array(struct index *x)
{
    yyjson_mut_val *elem = count(x->container) > 0 ? last_of(x->container)->next : NULL;
    int r = add_chunk(x, 0);

    for (size_t i = 0; r == 0 && i < count(x->container); i++, elem = elem->next) {
        struct chunk *chunk = x->chunks[x->nchunks - 1];

        if (chunk->n == CHUNK_MAX / 2) {
            r = add_chunk(x, x->nchunks);
            if (r < 0)
                break;
            chunk = x->chunks[x->nchunks - 1];
        }
        chunk->v[chunk->n++] = elem;
    }
    return r;
}

/* The container's index, made when it is large enough for one; NULL when it is not. */
static int index_of(struct cor_json_pindex *ix, yyjson_mut_val *container, size_t *work,
                    struct index **ret)
{
    struct index *x = cor_map_peek(&ix->containers, address(&container));
    int r;

    *ret = x;
    if (x || count(container) <= FEW)
        return 0;
    x = cor_calloc(1, sizeof(*x));
    if (!x)
        return -COR_ENOMEM;
    x->container = container;
    cor_map_init(&x->members, COUNT_MAX);
    *work += count(container);
    r = yyjson_mut_is_obj(container) ? fill_object(x) : fill_array(x);
    if (r == 0)
        r = cor_map_put(&ix->containers, address(&x->container), x, NULL);
    if (r < 0) {
        index_free(x);
        return -COR_ENOMEM;
    }
    *ret = x;
    return 0;
}

int cor_json_pindex_find(struct cor_json_pindex *ix, yyjson_mut_val *object, struct cor_str key,
                         size_t *work, yyjson_mut_val **ret_key)
{
    yyjson_mut_obj_iter it;
    struct index *x;
    int r = index_of(ix, object, work, &x);

    if (r < 0)
        return r;
    ++*work;
    if (x) {
        *ret_key = cor_map_peek(&x->members, key);
        return 0;
    }
    *work += count(object);
    it = yyjson_mut_obj_iter_with(object);
    while ((*ret_key = yyjson_mut_obj_iter_next(&it))) {
        if (yyjson_mut_equals_strn(*ret_key, key.p, key.n))
            break;
    }
    return 0;
}

int cor_json_pindex_add(struct cor_json_pindex *ix, yyjson_mut_val *object, yyjson_mut_val *key,
                        yyjson_mut_val *val, size_t *work)
{
    struct index *x;
    int r = index_of(ix, object, work, &x);

    if (r == 0 && x)
        r = cor_map_put(&x->members, text_of(key), key, NULL);
    if (r < 0)
        return -COR_ENOMEM;
    yyjson_mut_obj_add(object, key, val);
    return 0;
}

yyjson_mut_val *cor_json_pindex_drop(struct cor_json_pindex *ix, yyjson_mut_val *object,
                                     yyjson_mut_val *key)
{
    struct index *x = cor_map_peek(&ix->containers, address(&object));
    yyjson_mut_val *val = key->next, *next = val->next;
    size_t n = count(object);

    if (x)
        (void)cor_map_remove(&x->members, text_of(key));
    unsafe_yyjson_set_len(object, n - 1);
    if (n == 1)
        return val;
    key->tag = next->tag;
    key->uni = next->uni;
    key->next = next->next;
    if (last_of(object) == next)
        object->uni.ptr = key;
    if (x)
        (void)cor_map_put(&x->members, text_of(key), key, NULL); /* replaces, which cannot fail */
    return val;
}

/* The chunk with the element at `*index`, which becomes the place in it. A place at the very end is
 * behind the last element of the last chunk. */
static size_t chunk_with(const struct index *x, size_t *index, size_t *work)
{
    size_t at = 0;

    while (at + 1 < x->nchunks && *index >= x->chunks[at]->n) {
        *index -= x->chunks[at]->n;
        at++;
    }
    *work += at / 64 + 1;
    return at;
}

int cor_json_pindex_at(struct cor_json_pindex *ix, yyjson_mut_val *array, size_t index,
                       size_t *work, yyjson_mut_val **ret_elem)
{
    struct index *x;
    int r = index_of(ix, array, work, &x);

    if (r < 0)
        return r;
    if (x) {
        size_t at = chunk_with(x, &index, work);

        *ret_elem = x->chunks[at]->v[index];
    } else {
        *work += index + 1;
        *ret_elem = yyjson_mut_arr_get(array, index);
    }
    return 0;
}

static int split_chunk(struct index *x, size_t at)
{
    struct chunk *left = x->chunks[at], *right;
    int r = add_chunk(x, at + 1);

    if (r < 0)
        return r;
    right = x->chunks[at + 1];
    right->n = left->n / 2;
    left->n -= right->n;
    memcpy(right->v, left->v + left->n, right->n * sizeof(right->v[0]));
    return 0;
}

/* Links `val` behind `before`, or as the only element of an empty array. */
static void link_elem(yyjson_mut_val *array, yyjson_mut_val *before, yyjson_mut_val *val,
                      bool is_last)
{
    size_t n = count(array);

    val->next = n > 0 ? before->next : val;
    if (n > 0)
        before->next = val;
    if (is_last)
        array->uni.ptr = val;
    unsafe_yyjson_set_len(array, n + 1);
}

/* What precedes the place `index` of chunk `at`; of the first the last, as in a circle. */
static yyjson_mut_val *elem_before(const struct index *x, size_t at, size_t index)
{
    if (index > 0)
        return x->chunks[at]->v[index - 1];
    return at > 0 ? x->chunks[at - 1]->v[x->chunks[at - 1]->n - 1] : last_of(x->container);
}

int cor_json_pindex_insert(struct cor_json_pindex *ix, yyjson_mut_val *array, size_t index,
                           yyjson_mut_val *val, size_t *work)
{
    bool is_last = index == count(array);
    struct chunk *chunk;
    struct index *x;
    size_t at, place = index;
    int r = index_of(ix, array, work, &x);

    if (r < 0)
        return r;
    if (!x) {
        *work += index + 1;
        yyjson_mut_arr_insert(array, val, index);
        return 0;
    }
    at = chunk_with(x, &place, work);
    if (x->chunks[at]->n == CHUNK_MAX) {
        r = split_chunk(x, at);
        if (r < 0)
            return r;
        if (place > x->chunks[at]->n)
            place -= x->chunks[at++]->n;
    }
    chunk = x->chunks[at];
    link_elem(array, count(array) > 0 ? elem_before(x, at, place) : NULL, val, is_last);
    memmove(&chunk->v[place + 1], &chunk->v[place], (chunk->n - place) * sizeof(chunk->v[0]));
    chunk->v[place] = val;
    chunk->n++;
    return 0;
}

int cor_json_pindex_replace(struct cor_json_pindex *ix, yyjson_mut_val *array, size_t index,
                            yyjson_mut_val *val, size_t *work)
{
    yyjson_mut_val *old, *before;
    struct index *x;
    size_t at;
    int r = index_of(ix, array, work, &x);

    if (r < 0)
        return r;
    if (!x) {
        *work += index + 1;
        yyjson_mut_arr_replace(array, index, val);
        return 0;
    }
    at = chunk_with(x, &index, work);
    old = x->chunks[at]->v[index];
    before = elem_before(x, at, index);
    val->next = old->next;
    before->next = val;
    if (last_of(array) == old)
        array->uni.ptr = val;
    x->chunks[at]->v[index] = val;
    return 0;
}

static void drop_chunk(struct index *x, size_t at)
{
    if (x->chunks[at]->n > 0 || x->nchunks == 1)
        return;
    cor_free(x->chunks[at]);
    x->nchunks--;
    memmove(&x->chunks[at], &x->chunks[at + 1], (x->nchunks - at) * sizeof(struct chunk *));
}

int cor_json_pindex_remove(struct cor_json_pindex *ix, yyjson_mut_val *array, size_t index,
                           size_t *work, yyjson_mut_val **ret_elem)
{
    yyjson_mut_val *elem, *before;
    struct chunk *chunk;
    struct index *x;
    size_t at;
    int r = index_of(ix, array, work, &x);

    if (r < 0)
        return r;
    if (!x) {
        *work += index + 1;
        *ret_elem = yyjson_mut_arr_remove(array, index);
        return 0;
    }
    at = chunk_with(x, &index, work);
    chunk = x->chunks[at];
    elem = chunk->v[index];
    before = elem_before(x, at, index);
    before->next = elem->next;
    if (last_of(array) == elem)
        array->uni.ptr = before;
    unsafe_yyjson_set_len(array, count(array) - 1);
    chunk->n--;
    memmove(&chunk->v[index], &chunk->v[index + 1], (chunk->n - index) * sizeof(chunk->v[0]));
    drop_chunk(x, at);
    *ret_elem = elem;
    return 0;
}
