/* Narrowing a walk by what its predicate asks for.
 *
 * Keys are PREFIX NAMESPACE / NAME, or PREFIX NAME: a namespace that is asked for makes the prefix
 * longer, and a name behind all the rest of a key makes it one key. A value of a trigger field is
 * looked up in its index, whose keys are VALUE NUL KEY: there the range is the same with the value
 * in front. Of several indexes, and the tree, the one is taken whose range has the fewest entries:
 * that is a subtraction of ranks.
 *
 * Nothing is allocated, so nothing fails. A key that is longer than any that the rules allow is not
 * narrowed: the walk then looks at more, and selects the same. */
#include "storage/cacher/cache_range.h"

#include <string.h>

#include "base/limits.h"

/* The one value of `field`, where it can be a part of a key. */
static bool requires_part(const struct cor_predicate *predicate, const char *field,
                          struct cor_str *ret_value)
{
    return cor_predicate_requires(predicate, cor_strz(field), ret_value) && ret_value->n > 0 &&
           !memchr(ret_value->p, '/', ret_value->n);
}

/* Appends a part of a key, and a slash unless it is the last part. */
static void narrow(struct cache_range *range, struct cor_str part, bool is_last)
{
    size_t n = range->prefix.n;

    if (n + part.n + 2 > sizeof(range->text))
        return;
    if (range->prefix.p != range->text)
        memcpy(range->text, range->prefix.p, n);
    memcpy(range->text + n, part.p, part.n);
    n += part.n;
    if (!is_last)
        range->text[n++] = '/';
    range->text[n] = '\0';
    range->prefix = cor_str(range->text, n);
    range->is_key = is_last;
}

/* Is the name all that follows the prefix in its keys? */
static bool is_before_name(const struct cache_range *range, const struct cor_watch_cache *c)
{
    struct cor_str rest = cor_str_from(range->prefix, c->names_at);

    if (!c->is_namespaced)
        return rest.n == 0;
    return rest.n > 0 && memchr(rest.p, '/', rest.n) == rest.p + rest.n - 1;
}

void cor_cache_range_init(struct cache_range *range, const struct cor_watch_cache *c,
                          struct cor_str prefix, const struct cor_predicate *predicate)
{
    struct cor_str part;

    range->prefix = prefix;
    range->is_key = false;
    if (!predicate || !predicate->fields || c->names_at == 0 || prefix.n < c->names_at)
        return;
    if (c->is_namespaced && prefix.n == c->names_at &&
        requires_part(predicate, "metadata.namespace", &part))
        narrow(range, part, false);
    if (is_before_name(range, c) && requires_part(predicate, "metadata.name", &part))
        narrow(range, part, true);
}

/* The text that the values of field `i` are looked up by. */
static bool looks_up(const struct cor_watch_cache *c, const struct cor_predicate *predicate,
                     size_t i, struct cor_str *ret_text)
{
    struct cor_str value;

    return cor_predicate_requires(predicate, c->triggers->fields[i], &value) &&
           cor_trigger_text_of(value, ret_text) && ret_text->n > 0;
}

unsigned cor_cache_range_indexes(const struct cor_watch_cache *c,
                                 const struct cor_predicate *predicate)
{
    unsigned indexes = 0;
    struct cor_str text;

    for (unsigned i = 0; predicate && predicate->fields && i < c->index.n; i++)
        if (looks_up(c, predicate, i, &text))
            indexes |= 1u << i;
    return indexes;
}

/* A key in an index: the value, a NUL, and the key; with one more NUL after it. */
struct indexed_key {
    char text[COR_TRIGGER_TEXT_MAX + 1 + COR_KEY_BYTES_MAX + 1];
    size_t n;
};

static bool indexed_key_set(struct indexed_key *ix, struct cor_str value, struct cor_str key)
{
    if (value.n + 1 + key.n + 1 > sizeof(ix->text))
        return false;
    memcpy(ix->text, value.p, value.n);
    ix->text[value.n] = '\0';
    memcpy(ix->text + value.n + 1, key.p, key.n);
    ix->n = value.n + 1 + key.n;
    ix->text[ix->n] = '\0';
    return true;
}

/* Behind the prefix stands a NUL if `is_key`: with it, it is the first key after the only one. */
static void seek_in(struct cor_btree_view view, struct cor_str prefix, bool is_key,
                    struct cor_btree_iter *it)
{
    if (is_key)
        cor_btree_iter_range(it, view, prefix, cor_str(prefix.p, prefix.n + 1));
    else
        cor_btree_iter_prefix(it, view, prefix);
}

/* False: the keys are too long. */
static bool seek_index(const struct cache_range *range, struct cor_btree_view view,
                       struct cor_str value, struct cor_str from, struct cor_btree_iter *it)
{
    struct indexed_key key;

    if (!indexed_key_set(&key, value, range->prefix))
        return false;
    seek_in(view, cor_str(key.text, key.n), range->is_key, it);
    if (!indexed_key_set(&key, value, from))
        return false;
    cor_btree_iter_seek(it, cor_str(key.text, key.n));
    return true;
}

void cor_cache_range_seek(const struct cache_range *range, const struct cor_cache_snapshot *s,
                          const struct cor_predicate *predicate, struct cor_str from,
                          struct cor_btree_iter *ret_it)
{
    seek_in(cor_btree_snap_view(s->root), range->prefix, range->is_key, ret_it);
    cor_btree_iter_seek(ret_it, from);
    for (size_t i = 0; predicate && predicate->fields && i < s->cache->index.n; i++) {
        struct cor_btree_iter it;
        struct cor_str value;

        if (s->fields.snaps[i] && looks_up(s->cache, predicate, i, &value) &&
            seek_index(range, cor_btree_snap_view(s->fields.snaps[i]), value, from, &it) &&
            cor_btree_iter_remaining(&it) < cor_btree_iter_remaining(ret_it))
            *ret_it = it;
    }
}
