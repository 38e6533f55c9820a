/* clang-format off */
/* The transformers that a configuration makes for each resource: an immutable set.
 *
 *   value's prefix "k8s:enc:aesgcm:v1:"   entry's chain: one link for each provider of its rules
 *   then "key1:"                          provider's chain: one link for each key
 *   the rest                              key_transformer: the cipher
 *
 * cor_encryption_new() reads the file, makes a cipher for each key, and then an entry for each name
 * among the resources. Entries point into the providers of the rules, which are never moved. A name
 * that an earlier wildcard already covers is refused, as upstream does. Any failure frees the whole
 * set and returns a status that says whether parsing or building failed; freeing wipes the keys.
 * Thread: any, once made; reference counted. */
/* clang-format on */
#include "storage/encryption/encryption.h"

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/ref.h"
#include "storage/encryption/encryption_config.h"
#include "storage/encryption/key_transformer.h"

/* A key's name goes into the prefix of each value. */
#define NAME_MAX_BYTES COR_ENCRYPTION_FILE_MAX

/* One provider of a rule: the keys, and the chain that tells them apart by name. */
struct provider {
    enum cor_encryption_provider_kind kind;
    struct cor_transformer_chain chain;
    struct cor_transformer_link *links; /* a prefix `name:` per key */
    struct cor_key_transformer *keys;
    char **prefixes;
    size_t nkeys;
};

struct rule {
    struct provider *providers;
    size_t nproviders;
};

/* What one name among the resources means: the providers of every rule that has it, in order. */
struct entry {
    char *text; /* what `gr` points into */
    struct cor_gr gr;
    struct cor_transformer_chain chain;
    struct cor_transformer_link *links;
    size_t nlinks, links_cap;
};

struct cor_encryption {
    struct cor_ref ref;
    struct rule *rules;
    size_t nrules;
    struct entry *entries;
    size_t nentries;
};

static const struct {
    struct cor_str prefix;
    enum cor_cipher_kind cipher;
    const char *no_key;
} kinds[] = {
    [COR_PROVIDER_AESGCM] = {{"k8s:enc:aesgcm:v1:", 18},
                             COR_CIPHER_AES_GCM,
                             "no matching key was found for the provided AES transformer"},
    [COR_PROVIDER_AESCBC] = {{"k8s:enc:aescbc:v1:", 18},
                             COR_CIPHER_AES_CBC,
                             "no matching key was found for the provided AES transformer"},
    [COR_PROVIDER_SECRETBOX] = {{"k8s:enc:secretbox:v1:", 21},
                                COR_CIPHER_SECRETBOX,
                                "no matching key was found for the provided Secretbox transformer"},
};

static void provider_deinit(struct provider *p)
{
    for (size_t i = 0; i < p->nkeys; i++) {
        cor_key_transformer_deinit(&p->keys[i]);
        cor_free(p->prefixes[i]);
    }
    cor_free(p->links);
    cor_free(p->keys);
    cor_free(p->prefixes);
}

static void encryption_free(struct cor_encryption *e)
{
    for (size_t i = 0; i < e->nrules; i++) {
        for (size_t j = 0; j < e->rules[i].nproviders; j++)
            provider_deinit(&e->rules[i].providers[j]);
        cor_free(e->rules[i].providers);
    }
    cor_free(e->rules);
    for (size_t i = 0; i < e->nentries; i++) {
        cor_free(e->entries[i].text);
        cor_free(e->entries[i].links);
    }
    cor_free(e->entries);
    cor_free(e);
}

struct cor_encryption *cor_encryption_ref(struct cor_encryption *encryption)
{
    cor_ref_get(&encryption->ref);
    return encryption;
}

struct cor_encryption *cor_encryption_unref(struct cor_encryption *encryption)
{
    if (encryption && cor_ref_put(&encryption->ref))
        encryption_free(encryption);
    return NULL;
}

static char *prefix_of(struct cor_str name)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text;

    cor_buf_init(&text, NAME_MAX_BYTES + 1);
    if (cor_buf_adds(&text, name) < 0 || cor_buf_addc(&text, ':') < 0)
        return NULL;
    return cor_buf_steal(&text, NULL);
}

static int provider_init(struct provider *p, const struct cor_encryption_provider *from,
                         struct cor_rand *rand)
{
    p->kind = from->kind;
    if (p->kind == COR_PROVIDER_IDENTITY)
        return 0;
    p->links = cor_calloc(from->nkeys, sizeof(p->links[0]));
    p->keys = cor_calloc(from->nkeys, sizeof(p->keys[0]));
    p->prefixes = cor_calloc(from->nkeys, sizeof(p->prefixes[0]));
    if (!p->links || !p->keys || !p->prefixes)
        return -COR_ENOMEM;
    for (size_t i = 0; i < from->nkeys; i++) {
        int r = cor_key_transformer_init(&p->keys[i], kinds[p->kind].cipher, from->keys[i].secret,
                                         rand);

        p->nkeys++;
        if (r < 0)
            return r;
        p->prefixes[i] = prefix_of(from->keys[i].name);
        if (!p->prefixes[i])
            return -COR_ENOMEM;
        p->links[i] =
            (struct cor_transformer_link){cor_strz(p->prefixes[i]), &p->keys[i].transformer};
    }
    cor_transformer_chain_init(&p->chain, p->links, p->nkeys, kinds[p->kind].no_key);
    return 0;
}

static int rule_init(struct rule *rule, const struct cor_encryption_rule *from,
                     struct cor_rand *rand)
{
    int r = 0;

    rule->providers = cor_calloc(from->nproviders, sizeof(rule->providers[0]));
    if (!rule->providers)
        return -COR_ENOMEM;
    while (r == 0 && rule->nproviders < from->nproviders) {
        size_t i = rule->nproviders++;

        r = provider_init(&rule->providers[i], &from->providers[i], rand);
    }
    return r;
}

static struct entry *find(const struct cor_encryption *e, struct cor_str group,
                          struct cor_str resource)
{
    const struct cor_gr gr = {.group = group, .resource = resource};

    for (size_t i = 0; i < e->nentries; i++) {
        if (cor_gr_eq(&e->entries[i].gr, &gr))
            return &e->entries[i];
    }
    return NULL;
}

/* The name as a file has it: the wildcard of the core group is `*.`. */
static const char *yaml_name(const struct cor_gr *gr, struct cor_buf *out)
{
    bool core = gr->group.n == 0 && cor_str_eq(gr->resource, COR_STR("*"));

    if ((core ? cor_buf_addz(out, "*.") : cor_gr_print(gr, out)) < 0)
        cor_buf_reset(out);
    return cor_buf_z(out);
}

static int refuse_masked(const struct cor_gr *gr, const struct cor_gr *by, struct cor_status *st)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf one;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf other;

    cor_buf_init(&one, NAME_MAX_BYTES);
    cor_buf_init(&other, NAME_MAX_BYTES);
    return cor_status_set(st, -COR_EINVAL, "resource \"%s\" is masked by earlier rule \"%s\"",
                          yaml_name(gr, &one), yaml_name(by, &other));
}

static int add_links(struct entry *entry, const struct rule *rule)
{
    int r = COR_ARRAY_RESERVE_MORE(&entry->links, entry->nlinks, rule->nproviders,
                                   &entry->links_cap, COR_ARRAY_NO_MAX);

    if (r < 0)
        return r;
    for (size_t i = 0; i < rule->nproviders; i++) {
        const struct provider *p = &rule->providers[i];

        if (p->kind == COR_PROVIDER_IDENTITY)
            entry->links[entry->nlinks++] =
                (struct cor_transformer_link){COR_STR(""), cor_transformer_identity()};
        else
            entry->links[entry->nlinks++] =
                (struct cor_transformer_link){kinds[p->kind].prefix, &p->chain.transformer};
    }
    cor_transformer_chain_init(&entry->chain, entry->links, entry->nlinks, NULL);
    return 0;
}

static int add_resource(struct cor_encryption *e, struct cor_str name, const struct rule *rule,
                        struct cor_status *st)
{
    const struct cor_str any = COR_STR("*");
    struct cor_gr gr = cor_encryption_gr(name);
    struct entry *mask = find(e, gr.group, any), *entry;

    if (!mask)
        mask = find(e, any, any);
    if (mask)
        return refuse_masked(&gr, &mask->gr, st);
    entry = find(e, gr.group, gr.resource);
    if (!entry) {
        entry = &e->entries[e->nentries];
        entry->text = cor_strndup(name.p, name.n);
        if (!entry->text)
            return -COR_ENOMEM;
        entry->gr = cor_encryption_gr(cor_str(entry->text, name.n));
        e->nentries++;
    }
    return add_links(entry, rule);
}

static int build(struct cor_encryption *e, const struct cor_encryption_config *config,
                 struct cor_rand *rand, struct cor_status *st)
{
    int r = 0;

    e->rules = cor_calloc(config->nrules, sizeof(e->rules[0]));
    e->entries = cor_calloc(config->nnames, sizeof(e->entries[0]));
    if (!e->rules || !e->entries)
        return -COR_ENOMEM;
    while (r == 0 && e->nrules < config->nrules) {
        const struct cor_encryption_rule *from = &config->rules[e->nrules];
        struct rule *rule = &e->rules[e->nrules++];

        r = rule_init(rule, from, rand);
        for (size_t i = 0; r == 0 && i < from->nresources; i++)
            r = add_resource(e, from->resources[i], rule, st);
    }
    return r;
}

static int wrap(struct cor_status *st, int r, const char *where, const struct cor_status *why)
{
    return cor_status_set(st, r, "error while %s: %s", where,
                          why->err ? cor_status_message(why) : cor_err_text(r));
}

int cor_encryption_new(struct cor_str file, struct cor_rand *rand,
                       struct cor_encryption **ret_encryption, struct cor_status *reterr_status)
{
    COR_CLEANUP(cor_encryption_unrefp) struct cor_encryption *e = NULL;
    COR_CLEANUP(cor_encryption_config_deinit) struct cor_encryption_config config = {0};
    COR_CLEANUP(cor_status_deinit) struct cor_status why;
    int r;

    cor_status_init(&why);
    r = cor_encryption_config_read(file, &config, &why);
    if (r < 0)
        return wrap(reterr_status, r, "parsing file", &why);
    e = cor_calloc(1, sizeof(*e));
    if (!e)
        return wrap(reterr_status, -COR_ENOMEM, "building transformers", &why);
    cor_ref_init(&e->ref);
    r = build(e, &config, rand, &why);
    if (r < 0)
        return wrap(reterr_status, r, "building transformers", &why);
    *ret_encryption = COR_STEAL(e);
    return 0;
}

const struct cor_transformer *cor_encryption_peek(const struct cor_encryption *encryption,
                                                  const struct cor_gr *gr)
{
    const struct cor_str any = COR_STR("*");
    bool is_event = cor_str_eq(gr->group, COR_STR("events.k8s.io"));
    struct cor_str group = is_event ? COR_STR("") : gr->group;
    const struct entry *entry = find(encryption, group, gr->resource);

    if (!entry)
        entry = find(encryption, group, any);
    if (!entry)
        entry = find(encryption, any, any);
    return entry ? &entry->chain.transformer : cor_transformer_identity();
}
