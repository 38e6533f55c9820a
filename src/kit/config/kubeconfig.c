/* clang-format off */
/* Reads kubeconfig files and merges them.
 *
 *   file ──► YAML to JSON (bounded), checked
 *        ──► clusters, users, contexts: list_add() makes a stanza of each entry;
 *            equal names within a file are -COR_EINVAL
 *        ──► list_merge(): of equal names in several files the first file counts, whole
 *        ──► current-context: the first file that has one counts
 *
 * Files that are listed and do not exist are skipped; an explicit file must exist. Every message
 * names the file, the line and the field. A stanza may contain a token or a key, so its bytes are
 * overwritten before they are freed. After a failure part of a file may have been merged.
 * Thread: one at a time. */
/* clang-format on */
#include "kit/config/kubeconfig.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "codec/yaml.h"
#include "kit/config/kubeconfig_int.h"
#include "net/crypto/cert.h"
#include "json/text/json.h"
#include "json/text/scan.h"

/* The names of the lists in a file, and the member of an entry that contains the stanza. */
static const struct {
    const char *list, *member;
} kinds[COR_STANZA_KINDS] = {
    [COR_STANZA_CLUSTER] = {"clusters", "cluster"},
    [COR_STANZA_USER] = {"users", "user"},
    [COR_STANZA_CONTEXT] = {"contexts", "context"},
};

struct cor_kubeconfig *cor_kubeconfig_new(void)
{
    struct cor_kubeconfig *kc = cor_calloc(1, sizeof(*kc));

    for (size_t i = 0; kc && i < COR_STANZA_KINDS; i++)
        cor_map_init(&kc->stanzas[i], COR_KUBECONFIG_STANZAS_MAX);
    return kc;
}

static void stanza_free(struct cor_stanza *s)
{
    cor_free(s->name);
    cor_free(s->path);
    cor_free(s->folder);
    cor_free(s->where);
    cor_yaml_lines_unref(s->lines);
    if (s->json.p) {
        explicit_bzero((char *)s->json.p, s->json.n);
        cor_free((char *)s->json.p);
    }
    cor_free(s);
}

struct cor_kubeconfig *cor_kubeconfig_free(struct cor_kubeconfig *kc)
{
    if (!kc)
        return NULL;
    for (size_t i = 0; i < COR_STANZA_KINDS; i++) {
        COR_MAP_FOREACH(it, &kc->stanzas[i])
            stanza_free(it.value);
        cor_map_deinit(&kc->stanzas[i]);
    }
    cor_free(kc->current_context);
    return cor_free(kc);
}

struct reading {
    struct cor_kubeconfig *kc;
    const char *path;
    struct cor_yaml_lines *lines;
    struct cor_status *reterr;
};

int cor_kubeconfig_mistake(const char *path, const struct cor_yaml_lines *lines, const char *where,
                           const char *text, struct cor_status *reterr)
{
    return cor_status_set(reterr, -COR_EINVAL, "kubeconfig %s: line %zu: %s: %s", path,
                          cor_yaml_lines_find(lines, cor_strz(where)), where, text);
}

static int file_mistake(const struct reading *r, const char *where, const char *expected)
{
    return cor_kubeconfig_mistake(r->path, r->lines, where, expected, r->reterr);
}

static int list_refused(const struct reading *r, enum cor_stanza_kind kind, int q)
{
    if (q == -COR_ENOMEM)
        return cor_status_no_memory(r->reterr);
    return cor_status_set(r->reterr, q, "kubeconfig %s: %s: more than %d entries", r->path,
                          kinds[kind].list, COR_KUBECONFIG_STANZAS_MAX);
}

static struct cor_stanza *stanza_new(const struct reading *r, const char *where,
                                     struct cor_str json)
{
    struct cor_stanza *s = cor_calloc(1, sizeof(*s));
    const char *slash = strrchr(r->path, '/');

    if (!s)
        return NULL;
    s->path = cor_strdup(r->path);
    s->folder = cor_strndup(r->path, slash ? (size_t)(slash - r->path) + 1 : 0);
    s->where = cor_strdup(where);
    s->lines = cor_yaml_lines_ref(r->lines);
    s->json = cor_str(cor_memdup(json.p, json.n), json.n);
    if (s->path && s->folder && s->where && s->json.p)
        return s;
    stanza_free(s);
    return NULL;
}

/* One entry of a list. `seen` holds the names of this file: equal ones are a file_mistake within
 * it. */
static int list_add_entry(const struct reading *r, enum cor_stanza_kind kind, struct cor_str entry,
                          size_t i, struct cor_map *seen)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf where;
    struct cor_str name = {0}, value = COR_STR("{}");
    struct cor_stanza *s;
    int q;

    cor_buf_init(&where, 256);
    if (cor_buf_addf(&where, "%s[%zu]", kinds[kind].list, i) < 0)
        return cor_status_no_memory(r->reterr);
    if (cor_json_type(entry) != COR_JSON_OBJECT)
        return file_mistake(r, where.p, "an object is expected");
    cor_json_get(entry, COR_STR("name"), COR_JSON_ANY_ORDER, &name);
    cor_json_get(entry, cor_strz(kinds[kind].member), COR_JSON_ANY_ORDER, &value);
    if (cor_buf_addf(&where, ".%s", kinds[kind].member) < 0)
        return cor_status_no_memory(r->reterr);
    if (cor_json_type(value) == COR_JSON_NULL)
        value = COR_STR("{}");
    if (cor_json_type(value) != COR_JSON_OBJECT)
        return file_mistake(r, where.p, "an object is expected");
    s = stanza_new(r, where.p, value);
    if (!s)
        return cor_status_no_memory(r->reterr);
    q = cor_stanza_text(name.p ? name : COR_STR("\"\""), &s->name);
    if (q < 0) {
        stanza_free(s);
        cor_buf_truncate(&where, where.n - strlen(kinds[kind].member) - 1);
        return q == -COR_ENOMEM ? cor_status_no_memory(r->reterr)
                                : file_mistake(r, where.p, "name: a string is expected");
    }
    if (cor_map_peek(seen, cor_strz(s->name))) {
        q = cor_status_set(
            r->reterr, -COR_EINVAL, "kubeconfig %s: line %zu: %s: duplicate name \"%s\" in list",
            r->path, cor_yaml_lines_find(r->lines, cor_buf_str(&where)), kinds[kind].list, s->name);
        stanza_free(s);
        return q;
    }
    q = cor_map_put(seen, cor_strz(s->name), s, NULL);
    if (q < 0)
        stanza_free(s);
    return q < 0 ? list_refused(r, kind, q) : 0;
}

/* Moves the stanzas of a file into the merged configuration, except for names that it has already.
 */
static int list_merge(const struct reading *r, enum cor_stanza_kind kind, struct cor_map *seen)
{
    struct cor_map *into = &r->kc->stanzas[kind];
    int q = 0;

    COR_MAP_FOREACH(it, seen) {
        struct cor_stanza *s = it.value;
        bool known = cor_map_peek(into, it.key) != NULL;

        if (!known && q == 0)
            q = cor_map_put(into, it.key, s, NULL);
        if (known || q < 0)
            stanza_free(s);
    }
    return q < 0 ? list_refused(r, kind, q) : 0;
}

static int list_add(const struct reading *r, enum cor_stanza_kind kind, struct cor_str list)
{
    struct cor_json_iter it = cor_json_iter(list);
    struct cor_map seen;
    size_t i = 0;
    int q = 0, merged;

    if (cor_json_type(list) == COR_JSON_NULL)
        return 0;
    if (cor_json_type(list) != COR_JSON_ARRAY)
        return file_mistake(r, kinds[kind].list, "a list is expected");
    cor_map_init(&seen, COR_KUBECONFIG_STANZAS_MAX);
    while (q == 0 && cor_json_iter_elem(&it))
        q = list_add_entry(r, kind, cor_json_iter_value(&it), i++, &seen);
    merged = list_merge(r, kind, &seen);
    cor_map_deinit(&seen);
    return q < 0 ? q : merged;
}

static int file_add_json(const struct reading *r, struct cor_str json)
{
    struct cor_str value;
    int q = 0;

    if (cor_json_type(json) == COR_JSON_NULL)
        return 0;
    if (cor_json_type(json) != COR_JSON_OBJECT)
        return file_mistake(r, "document", "an object is expected");
    for (int kind = 0; q == 0 && kind < COR_STANZA_KINDS; kind++)
        if (cor_json_get(json, cor_strz(kinds[kind].list), COR_JSON_ANY_ORDER, &value) == 0)
            q = list_add(r, kind, value);
    if (q < 0 || r->kc->current_context ||
        cor_json_get(json, COR_STR("current-context"), COR_JSON_ANY_ORDER, &value) < 0 ||
        cor_json_type(value) == COR_JSON_NULL || cor_str_eq(value, COR_STR("\"\"")))
        return q;
    q = cor_stanza_text(value, &r->kc->current_context);
    if (q == -COR_ENOMEM)
        return cor_status_no_memory(r->reterr);
    return q < 0 ? file_mistake(r, "current-context", "a string is expected") : 0;
}

int cor_kubeconfig_add(struct cor_kubeconfig *kc, struct cor_str text, const char *path,
                       struct cor_status *reterr)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json;
    COR_CLEANUP(cor_yaml_lines_unrefp) struct cor_yaml_lines *lines = NULL;
    struct cor_json_limits limits = {COR_KUBECONFIG_FILE_MAX, COR_JSON_DEPTH_MAX};
    struct cor_yaml_error yaml_error = {{0}};
    struct cor_json_error json_error;
    bool is_canonical;
    int r;

    cor_buf_init_secret(&json, COR_KUBECONFIG_FILE_MAX);
    r = cor_yaml_to_json(text, &json, NULL, &yaml_error);
    if (r == -COR_ENOMEM)
        return cor_status_no_memory(reterr);
    if (r < 0)
        return cor_status_set(reterr, r, "kubeconfig %s: %s", path, yaml_error.message);
    r = cor_json_check(cor_buf_str(&json), &limits, &is_canonical, &json_error);
    if (r < 0)
        return cor_status_set(reterr, r, "kubeconfig %s: %s", path,
                              r == -COR_ETOOBIG ? "too large" : json_error.message);
    if (cor_yaml_lines_read(text, &lines) < 0)
        return cor_status_no_memory(reterr);
    return file_add_json(&(const struct reading){kc, path, lines, reterr},
                         cor_str_trim(cor_buf_str(&json)));
}

static int file_load(struct cor_kubeconfig *kc, const char *path, struct cor_status *reterr)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text;
    int r;

    cor_buf_init_secret(&text, COR_KUBECONFIG_FILE_MAX);
    r = cor_pem_load(path, &text);
    if (r < 0)
        return cor_status_set(reterr, r, "kubeconfig %s: %s", path, cor_err_text(r));
    return cor_kubeconfig_add(kc, cor_buf_str(&text), path, reterr);
}

/* Was `path` named before `end` in the list? */
static bool is_repeated(const char *list, const char *end, struct cor_str path)
{
    struct cor_str before = cor_str(list, (size_t)(end - list));

    while (before.p && before.n > 0)
        if (cor_str_eq(cor_str_cut(&before, ':'), path))
            return true;
    return false;
}

static int load_list(struct cor_kubeconfig *kc, const char *list, size_t *nread,
                     struct cor_status *reterr)
{
    struct cor_str rest = cor_strz(list);
    int r = 0;

    while (r == 0 && rest.p) {
        struct cor_str path = cor_str_cut(&rest, ':');
        COR_CLEANUP(cor_freep) char *name = cor_strndup(path.p, path.n);

        if (!name)
            return cor_status_no_memory(reterr);
        if (path.n == 0 || is_repeated(list, path.p, path))
            continue;
        r = file_load(kc, name, reterr);
        *nread += r == 0;
        if (r == -COR_ENOTFOUND)
            r = 0;
    }
    return r;
}

static int load_home(struct cor_kubeconfig *kc, const char *home, size_t *nread,
                     struct cor_status *reterr)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf path;
    int r;

    cor_buf_init(&path, 4096);
    if (cor_buf_addf(&path, "%s/.kube/config", home) < 0)
        return cor_status_no_memory(reterr);
    r = file_load(kc, path.p, reterr);
    *nread += r == 0;
    return r == -COR_ENOTFOUND ? 0 : r;
}

int cor_kubeconfig_load(struct cor_kubeconfig *kc, const struct cor_kubeconfig_files *files,
                        size_t *ret_read, struct cor_status *reterr)
{
    size_t nread = 0;
    int r = 0;

    if (files->explicit_path && files->explicit_path[0]) {
        r = file_load(kc, files->explicit_path, reterr);
        nread = r == 0;
    } else if (files->list && files->list[0]) {
        r = load_list(kc, files->list, &nread, reterr);
    } else if (files->home && files->home[0]) {
        r = load_home(kc, files->home, &nread, reterr);
    }
    if (r == 0 && ret_read)
        *ret_read = nread;
    return r;
}

struct cor_kubeconfig_files cor_kubeconfig_files_from_env(void)
{
    return (struct cor_kubeconfig_files){.list = getenv("KUBECONFIG"), .home = getenv("HOME")};
}

struct cor_str cor_kubeconfig_current_context(const struct cor_kubeconfig *kc)
{
    return cor_strz(kc->current_context);
}
