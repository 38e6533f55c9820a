/* Reads an EncryptionConfiguration file.
 *
 *   1. YAML becomes JSON; JSON is taken as it is, and its duplicate fields are noted.
 *   2. The JSON is made canonical, in a buffer that is wiped at the end.
 *   3. kind and apiVersion are checked, then every field against the shapes below. A field of the
 *      wrong type ends the decoding; unknown and duplicate fields are collected, and are refused
 *      together as upstream's strict decoder does.
 *   4. The rules are read into structs whose strings are in a second wiped buffer, and checked
 *      (config_check.c).
 *
 * Each step that fails returns upstream's message, and all that was read is wiped and freed.
 * Thread: one at a time. */
#include "storage/encryption/encryption_config.h"

#include "base/err.h"
#include "base/mem.h"
#include "codec/yaml.h"
#include "meta/names/field_error.h"
#include "meta/status/gvk.h"
#include "json/text/json.h"
#include "json/text/scan.h"

/* YAML grows when it becomes JSON, above all by aliases; a file that grows by more than a factor of
 * four is refused. */
#define JSON_MAX  (4 * COR_ENCRYPTION_FILE_MAX)
#define DEPTH_MAX 32
#define WORDS_MAX 16384

/* What a field may hold. The rows below are the whole type; anything else is an unknown field. */
struct shape {
    enum cor_json_type type;
    const struct shape *elem;         /* of an array */
    const struct shape_field *fields; /* of an object */
    size_t nfields;
};

struct shape_field {
    const char *name;
    const struct shape *shape;
};

#define OBJECT(rows)                                                                               \
    {                                                                                              \
        .type = COR_JSON_OBJECT, .fields = (rows), .nfields = COR_ARRAY_LEN(rows)                  \
    }
#define ARRAY_OF(of)                                                                               \
    {                                                                                              \
        .type = COR_JSON_ARRAY, .elem = (of)                                                       \
    }

static const struct shape string = {.type = COR_JSON_STRING}, number = {.type = COR_JSON_NUMBER};
static const struct shape empty = {.type = COR_JSON_OBJECT};
static const struct shape strings = ARRAY_OF(&string);
static const struct shape_field key_fields[] = {{"name", &string}, {"secret", &string}};
static const struct shape key = OBJECT(key_fields), keys = ARRAY_OF(&key);
static const struct shape_field keyed_fields[] = {{"keys", &keys}};
static const struct shape keyed = OBJECT(keyed_fields);
static const struct shape_field kms_fields[] = {{"apiVersion", &string},
                                                {"name", &string},
                                                {"cachesize", &number},
                                                {"endpoint", &string},
                                                {"timeout", &string}};
static const struct shape kms = OBJECT(kms_fields);
static const struct shape_field provider_fields[COR_PROVIDER_KIND_COUNT] = {
    [COR_PROVIDER_AESGCM] = {"aesgcm", &keyed},
    [COR_PROVIDER_AESCBC] = {"aescbc", &keyed},
    [COR_PROVIDER_SECRETBOX] = {"secretbox", &keyed},
    [COR_PROVIDER_IDENTITY] = {"identity", &empty},
    [COR_PROVIDER_KMS] = {"kms", &kms},
};
static const struct shape provider = OBJECT(provider_fields), providers = ARRAY_OF(&provider);
static const struct shape_field rule_fields[] = {{"resources", &strings},
                                                 {"providers", &providers}};
static const struct shape rule = OBJECT(rule_fields), rules = ARRAY_OF(&rule);
static const struct shape_field root_fields[] = {
    {"kind", &string}, {"apiVersion", &string}, {"resources", &rules}};
static const struct shape root = OBJECT(root_fields);

/* The strict decoder: unknown fields are collected, a wrong type ends it. */
struct decoder {
    struct cor_buf words; /* `unknown field "a", unknown field "b"` */
    struct cor_status *status;
};

static const char *type_word(enum cor_json_type type)
{
    static const char *const words[] = {
        [COR_JSON_NONE] = "nothing",  [COR_JSON_NULL] = "null",     [COR_JSON_BOOL] = "bool",
        [COR_JSON_NUMBER] = "number", [COR_JSON_STRING] = "string", [COR_JSON_ARRAY] = "array",
        [COR_JSON_OBJECT] = "object"};

    return words[type];
}

/* Beyond the words' maximum the rest is left out. */
static int add_words(struct decoder *d, const char *what, const struct cor_field_path *path)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text;
    int r;

    cor_buf_init(&text, WORDS_MAX);
    r = cor_field_path_print(path, &text);
    if (r == 0)
        r = cor_buf_addf(&d->words, "%s%s \"%s\"", d->words.n ? ", " : "", what, cor_buf_z(&text));
    return r == -COR_ETOOBIG ? 0 : r;
}

static int refuse_type(struct decoder *d, const struct cor_field_path *path, struct cor_str value,
                       const struct shape *shape)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text;

    cor_buf_init(&text, WORDS_MAX);
    if (path && cor_field_path_print(path, &text) == -COR_ENOMEM)
        return cor_status_no_memory(d->status);
    return cor_status_set(
        d->status, -COR_EINVAL, "json: cannot unmarshal %s into field \"%s\" of type %s",
        type_word(cor_json_type(value)), cor_buf_z(&text), type_word(shape->type));
}

static const struct shape *field_of(const struct shape *shape, struct cor_str raw)
{
    for (size_t i = 0; i < shape->nfields; i++) {
        if (cor_json_raw_eq(raw, cor_strz(shape->fields[i].name)))
            return shape->fields[i].shape;
    }
    return NULL;
}

static int check_shape(struct decoder *d, const struct shape *shape, struct cor_str value,
                       const struct cor_field_path *path)
{
    struct cor_json_iter it = cor_json_iter(value);
    struct cor_str raw;
    int r = 0;

    if (cor_json_type(value) == COR_JSON_NULL)
        return 0;
    if (cor_json_type(value) != shape->type)
        return refuse_type(d, path, value, shape);
    if (shape->type == COR_JSON_ARRAY) {
        for (size_t i = 0; r == 0 && cor_json_iter_elem(&it); i++) {
            struct cor_field_path at = cor_field_index(path, i);

            r = check_shape(d, shape->elem, cor_json_iter_value(&it), &at);
        }
    } else if (shape->type == COR_JSON_OBJECT) {
        while (r == 0 && cor_json_iter_member(&it, &raw)) {
            struct cor_field_path at = cor_field_child(path, raw);
            const struct shape *field = field_of(shape, raw);

            r = field ? check_shape(d, field, cor_json_iter_value(&it), &at)
                      : add_words(d, "unknown field", &at);
        }
    }
    return r;
}

static int add_dups(struct decoder *d, const struct cor_json_dups *dups)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < dups->n; i++)
        r = cor_buf_addf(&d->words, "%sduplicate field \"%s\"", d->words.n ? ", " : "",
                         dups->v[i].path);
    return r == -COR_ETOOBIG ? 0 : r;
}

static int to_json(struct cor_str file, struct cor_buf *json, struct decoder *d)
{
    struct cor_yaml_error err;
    int r = cor_buf_reserve(json, 2 * file.n + 64);

    if (r == 0)
        r = cor_yaml_to_json(file, json, &d->words, &err);
    if (r == -COR_EINVAL || r == -COR_ETOOBIG)
        return cor_status_set(d->status, r, "error converting YAML to JSON: %s", err.message);
    return r < 0 ? cor_status_no_memory(d->status) : 0;
}

static int canonicalize(struct cor_str in, bool is_json, struct cor_buf *text, struct decoder *d)
{
    static const struct cor_json_limits limits = {.bytes_max = JSON_MAX, .depth_max = DEPTH_MAX};
    struct cor_json_dups *dups = is_json ? cor_calloc(1, sizeof(*dups)) : NULL;
    struct cor_json_error err;
    int r;

    if (is_json && !dups)
        return cor_status_no_memory(d->status);
    r = cor_buf_reserve(text, in.n);
    if (r == 0)
        r = cor_json_canonicalize(in, &limits, text, dups, &err);
    if (r == -COR_EINVAL || r == -COR_ETOOBIG)
        (void)cor_status_set(d->status, r, "%s", err.message);
    else if (r < 0)
        (void)cor_status_no_memory(d->status);
    else if (dups && (r = add_dups(d, dups)) < 0)
        (void)cor_status_no_memory(d->status);
    if (dups)
        cor_json_dups_deinit(dups);
    cor_free(dups);
    return r;
}

static bool is_text(struct cor_str object, const char *member, const char *text)
{
    struct cor_str value, raw;

    return cor_json_get(object, cor_strz(member), COR_JSON_ANY_ORDER, &value) == 0 &&
           cor_json_to_raw(value, &raw) == 0 && cor_json_raw_eq(raw, cor_strz(text));
}

static struct cor_str raw_text(struct cor_str object, const char *member)
{
    struct cor_str value, raw;

    if (cor_json_get(object, cor_strz(member), COR_JSON_ANY_ORDER, &value) == 0 &&
        cor_json_to_raw(value, &raw) == 0)
        return raw;
    return COR_STR("");
}

/* Upstream still reads the old name too: EncryptionConfig of v1. */
static int check_kind(struct cor_str json, struct cor_status *st)
{
    struct cor_str kind = raw_text(json, "kind"), version = raw_text(json, "apiVersion");

    if (cor_json_type(json) != COR_JSON_OBJECT)
        return cor_status_set(st, -COR_EINVAL, "couldn't get version/kind; json parse error");
    if (kind.n == 0)
        return cor_status_set(st, -COR_EINVAL, "Object 'Kind' is missing");
    if (version.n == 0)
        return cor_status_set(st, -COR_EINVAL, "Object 'apiVersion' is missing");
    if ((is_text(json, "kind", "EncryptionConfiguration") &&
         is_text(json, "apiVersion", "apiserver.config.k8s.io/v1")) ||
        (is_text(json, "kind", "EncryptionConfig") && is_text(json, "apiVersion", "v1")))
        return 0;
    return cor_status_set(st, -COR_EINVAL, "no kind \"%.*s\" is registered for version \"%.*s\"",
                          COR_STR_ARG(kind), COR_STR_ARG(version));
}

static int decode_strictly(struct cor_str file, struct cor_buf *text, struct cor_status *st)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json;
    struct cor_str trimmed = cor_str_trim(file), in = file;
    bool is_json = trimmed.n > 0 && *trimmed.p == '{';
    struct decoder d = {.status = st};
    int r = 0;

    cor_buf_init_secret(&json, JSON_MAX);
    cor_buf_init(&d.words, WORDS_MAX);
    if (!is_json) {
        r = to_json(file, &json, &d);
        in = cor_buf_str(&json);
    }
    if (r == 0)
        r = canonicalize(in, is_json, text, &d);
    if (r == 0)
        r = check_kind(cor_buf_str(text), st);
    if (r == 0)
        r = check_shape(&d, &root, cor_buf_str(text), NULL);
    if (r == -COR_ENOMEM)
        (void)cor_status_no_memory(st);
    if (r == 0 && d.words.n > 0)
        r = cor_status_set(st, -COR_EINVAL, "strict decoding error: %s", cor_buf_z(&d.words));
    cor_buf_deinit(&d.words);
    return r;
}

static size_t count(struct cor_str array)
{
    struct cor_json_iter it = cor_json_iter(array);
    size_t n = 0;

    while (cor_json_iter_elem(&it))
        n++;
    return n;
}

static struct cor_str member(struct cor_str object, const char *name)
{
    struct cor_str value;

    return cor_json_get(object, cor_strz(name), COR_JSON_ANY_ORDER, &value) == 0 ? value
                                                                                 : COR_STR("null");
}

/* Unescapes a string into c->strings, where room for all strings was reserved: no string is longer
 * than its JSON. null becomes "". */
static struct cor_str text_of(struct cor_encryption_config *c, struct cor_str value)
{
    struct cor_str raw, text = COR_STR("");
    char *at = c->strings.p + c->strings.n;

    if (cor_json_to_raw(value, &raw) < 0 ||
        cor_json_unescape(raw, at, c->strings.cap - c->strings.n, &text) < 0)
        return COR_STR("");
    if (text.p == at)
        c->strings.n += text.n;
    return text;
}

static int read_keys(struct cor_encryption_config *c, struct cor_str array,
                     struct cor_encryption_provider *p)
{
    struct cor_json_iter it = cor_json_iter(array);

    p->keys = cor_calloc(count(array), sizeof(p->keys[0]));
    if (!p->keys)
        return -COR_ENOMEM;
    while (cor_json_iter_elem(&it)) {
        struct cor_str value = cor_json_iter_value(&it);

        p->keys[p->nkeys++] = (struct cor_encryption_key){
            .name = text_of(c, member(value, "name")),
            .secret = text_of(c, member(value, "secret")),
        };
    }
    return 0;
}

static int read_provider(struct cor_encryption_config *c, struct cor_str value,
                         struct cor_encryption_provider *p)
{
    /* Upstream uses the first of these that a provider has. */
    static const enum cor_encryption_provider_kind order[] = {
        COR_PROVIDER_KMS, COR_PROVIDER_AESGCM, COR_PROVIDER_AESCBC, COR_PROVIDER_SECRETBOX,
        COR_PROVIDER_IDENTITY};

    for (size_t i = COR_ARRAY_LEN(order); i-- > 0;) {
        if (cor_json_type(member(value, provider_fields[order[i]].name)) != COR_JSON_OBJECT)
            continue;
        p->kinds |= 1u << order[i];
        p->kind = order[i];
    }
    if (p->kinds == 0 || p->kind == COR_PROVIDER_KMS || p->kind == COR_PROVIDER_IDENTITY)
        return 0;
    return read_keys(c, member(member(value, provider_fields[p->kind].name), "keys"), p);
}

static int read_rule(struct cor_encryption_config *c, struct cor_str value,
                     struct cor_encryption_rule *out)
{
    struct cor_str names = member(value, "resources"), list = member(value, "providers");
    struct cor_json_iter it = cor_json_iter(names);
    int r = 0;

    c->nnames += count(names);
    if (c->nnames > COR_ENCRYPTION_NAMES_MAX)
        return -COR_ETOOBIG;
    out->resources_json = names;
    out->resources = cor_calloc(count(names), sizeof(out->resources[0]));
    out->providers = cor_calloc(count(list), sizeof(out->providers[0]));
    if (!out->resources || !out->providers)
        return -COR_ENOMEM;
    while (cor_json_iter_elem(&it))
        out->resources[out->nresources++] = text_of(c, cor_json_iter_value(&it));
    it = cor_json_iter(list);
    while (r == 0 && cor_json_iter_elem(&it))
        r = read_provider(c, cor_json_iter_value(&it), &out->providers[out->nproviders++]);
    return r;
}

static int read_rules(struct cor_encryption_config *c)
{
    struct cor_str list = member(cor_buf_str(&c->text), "resources");
    struct cor_json_iter it = cor_json_iter(list);
    int r = cor_buf_reserve(&c->strings, c->text.n);

    c->rules = cor_calloc(count(list), sizeof(c->rules[0]));
    if (r < 0 || !c->rules)
        return -COR_ENOMEM;
    while (r == 0 && cor_json_iter_elem(&it))
        r = read_rule(c, cor_json_iter_value(&it), &c->rules[c->nrules++]);
    return r;
}

int cor_encryption_config_read(struct cor_str file, struct cor_encryption_config *ret_config,
                               struct cor_status *reterr_status)
{
    COR_CLEANUP(cor_encryption_config_deinit) struct cor_encryption_config config = {0};
    int r;

    if (file.n > COR_ENCRYPTION_FILE_MAX)
        return cor_status_set(reterr_status, -COR_ETOOBIG, "the file has more than %u bytes",
                              COR_ENCRYPTION_FILE_MAX);
    cor_buf_init_secret(&config.text, JSON_MAX);
    cor_buf_init_secret(&config.strings, JSON_MAX);
    r = decode_strictly(file, &config.text, reterr_status);
    if (r < 0)
        return r;
    r = read_rules(&config);
    if (r == -COR_ETOOBIG)
        return cor_status_set(reterr_status, r, "resources: Too many: more than %d names",
                              COR_ENCRYPTION_NAMES_MAX);
    if (r < 0)
        return cor_status_no_memory(reterr_status);
    r = cor_encryption_config_check(&config, reterr_status);
    if (r < 0)
        return r;
    *ret_config = config;
    config = (struct cor_encryption_config){0};
    return 0;
}

void cor_encryption_config_deinit(struct cor_encryption_config *config)
{
    for (size_t i = 0; i < config->nrules; i++) {
        struct cor_encryption_rule *own = &config->rules[i];

        for (size_t j = 0; j < own->nproviders; j++)
            cor_free(own->providers[j].keys);
        cor_free(own->providers);
        cor_free(own->resources);
    }
    cor_free(config->rules);
    cor_buf_deinit(&config->text);
    cor_buf_deinit(&config->strings);
    *config = (struct cor_encryption_config){0};
}
