/* The keys that people type: "pods/default/a", "apps/deployments/default/b", or a short name. Turns
 * them into keys of the store, and keys of the store into resource, namespace and name. */
#include "store_key.h"

#include <stdio.h>

#include "base/err.h"
#include "flags.h"
#include "meta/names/key.h"
#include "schema/kinds/resource_row.h"

#define REGISTRY  "/registry/"
#define PLACE_MAX 128
#define WORDS_MAX 128

/* Resources whose place has two parts; everything else has one, or a group and a plural. */
static const char *const two_parts[] = {"services/specs", "services/endpoints"};

/* How much of `path` (without a leading slash) is the resource's place. */
static size_t resource_len(struct cor_str path)
{
    struct cor_str rest = path, first = cor_str_cut(&rest, '/');
    ptrdiff_t second = rest.p ? cor_str_find(rest, '/') : -1;
    size_t both = rest.p ? first.n + 1 + (second < 0 ? rest.n : (size_t)second) : first.n;

    if (cor_str_find(first, '.') >= 0)
        return both;
    for (size_t i = 0; i < COR_ARRAY_LEN(two_parts); i++) {
        if (cor_str_eqz(cor_str(path.p, both), two_parts[i]))
            return both;
    }
    return first.n;
}

static struct cor_gr group_resource(struct cor_str place)
{
    struct cor_str rest = place, first = cor_str_cut(&rest, '/');

    if (rest.p && cor_str_find(first, '.') >= 0)
        return (struct cor_gr){.group = first, .resource = rest};
    return (struct cor_gr){.group = COR_STR(""), .resource = first};
}

/* Where the store keeps a resource: "minions" for nodes. */
static void place_of(const struct cor_resource_row *resource, char out[PLACE_MAX])
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf prefix;
    struct cor_gr gr = cor_api_gr(resource);

    cor_buf_init(&prefix, PLACE_MAX);
    out[0] = '\0';
    if (cor_key_resource_prefix(&gr, false, &prefix) == 0)
        snprintf(out, PLACE_MAX, "%s", cor_buf_z(&prefix) + 1);
}

static bool is_name_of(const struct cor_resource_row *resource, struct cor_str word)
{
    for (size_t i = 0; i < COR_ARRAY_LEN(resource->short_names) && resource->short_names[i]; i++) {
        if (cor_str_eqz(word, resource->short_names[i]))
            return true;
    }
    return cor_str_eq(word, resource->plural) || cor_str_eq(word, resource->singular) ||
           cor_str_eq(word, resource->kind);
}

/* Which resource lives there. A list of what nobody stores would look empty. Custom resources have
 * a group, and any may be. */
static int find_place(struct cor_str place, struct cor_gr *ret_gr, struct cor_status *reterr_status)
{
    size_t n;
    const struct cor_resource_row *builtins = cor_api_builtins(&n);
    char places[WORDS_MAX][PLACE_MAX], word[PLACE_MAX];
    const char *words[WORDS_MAX], *near = NULL;

    *ret_gr = group_resource(place);
    for (size_t i = 0; i < n && i < WORDS_MAX; i++) {
        place_of(&builtins[i], places[i]);
        words[i] = places[i];
        if (cor_str_eqz(place, places[i])) {
            *ret_gr = cor_api_gr(&builtins[i]);
            return 0;
        }
        if (!near && is_name_of(&builtins[i], place))
            near = places[i];
    }
    if (cor_str_find(place, '.') >= 0)
        return 0;
    snprintf(word, sizeof(word), "%.*s", COR_STR_ARG(place));
    if (!near)
        near = flags_nearest(word, words, n < WORDS_MAX ? n : WORDS_MAX);
    return cor_status_set(reterr_status, -COR_EINVAL,
                          "the store keeps no resource under \"%s\"%s%s%s", word,
                          near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}

/* Cuts the part after the last slash off `*path`. */
static struct cor_str last_part(struct cor_str *path)
{
    size_t n = path->n;
    struct cor_str part;

    while (n > 0 && path->p[n - 1] != '/')
        n--;
    part = cor_str(path->p + n, path->n - n);
    path->n = n ? n - 1 : 0;
    return part;
}

int store_key_parse(const char *arg, struct store_key *ret_key, struct cor_status *reterr_status)
{
    struct cor_str s = cor_strz(arg);
    size_t n;

    if (cor_str_starts(s, COR_STR(REGISTRY)))
        s = cor_str_from(s, sizeof(REGISTRY) - 1);
    if (cor_str_ends(s, COR_STR("/")))
        s.n--;
    if (s.n == 0 || *s.p == '/' || s.n > STORE_KEY_MAX - 2)
        return cor_status_set(reterr_status, -COR_EINVAL,
                              "KEY \"%.80s\" is not a key: expected RESOURCE[/NAMESPACE][/NAME], "
                              "such as pods/default/web, or the same after /registry/",
                              arg);
    snprintf(ret_key->text, STORE_KEY_MAX, "/%.*s", COR_STR_ARG(s));
    s.p = ret_key->text + 1;
    n = resource_len(s);
    if (find_place(cor_str(s.p, n), &ret_key->gr, reterr_status) < 0)
        return -COR_EINVAL;
    snprintf(ret_key->resource_prefix, STORE_KEY_MAX, "/%.*s", (int)n, s.p);
    ret_key->name = last_part(&s);
    return 0;
}

int store_key_check_object(const struct store_key *key, const struct cor_object *object,
                           struct cor_status *reterr_status)
{
    struct cor_str path = cor_strz(key->text), name = last_part(&path), ns = last_part(&path);
    struct cor_str own_name = cor_object_name(object), own_ns = cor_object_namespace(object);

    if (path.n == 0 && ns.n == 0)
        return cor_status_set(reterr_status, -COR_EINVAL,
                              "KEY \"%s\" names a resource, not an object: expected %s/NAME or "
                              "%s/NAMESPACE/NAME",
                              key->text + 1, key->text + 1, key->text + 1);
    if (!cor_str_eq(own_name, name))
        return cor_status_set(reterr_status, -COR_EINVALID,
                              "metadata.name: \"%.*s\" is not the name in the key, \"%.*s\"",
                              COR_STR_ARG(own_name), COR_STR_ARG(name));
    if (own_ns.n && !cor_str_eq(own_ns, ns))
        return cor_status_set(reterr_status, -COR_EINVALID,
                              "metadata.namespace: \"%.*s\" is not the namespace in the key, "
                              "\"%.*s\"",
                              COR_STR_ARG(own_ns), COR_STR_ARG(ns));
    return 0;
}
