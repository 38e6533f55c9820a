/* Makes the rows of a CustomResourceDefinition. Texts of a row point into the JSON of the
 * definition, which the life of the rows holds: names have no escapes, because validation allows
 * none. What has another form than in the JSON (apiVersion, the hash, the deprecation) is in the
 * definition's arena.
 *
 * Failures: no memory, no free place, or an object without what every valid definition has; nothing
 * is returned then. */
#include "server/crd/definition.h"

#include <assert.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/base64.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "coracle/view.h"
#include "meta/names/key.h"
#include "meta/object/object_edit.h"
#include "net/crypto/crypto.h"
#include "schema/convert/conversion.h"
#include "schema/custom/custom_scale.h"
#include "schema/kinds/custom_fields.h"
#include "schema/kinds/custom_schema.h"
#include "schema/print/custom_columns.h"
#include "server/api/api_cachers.h"
#include "server/catalog/version_order.h"

#define ARENA_MAX  (1u << 20)
#define TEXT_MAX   1024
#define HASH_BYTES 8
/* What the table of a scale shows: it has the type autoscaling/v1 Scale, whatever its paths are. */
#define SCALE_COLUMNS                                                                              \
    "["                                                                                            \
    "{\"description\":\"How many replicas are wanted.\",\"jsonPath\":\".spec.replicas\","          \
    "\"name\":\"Desired\",\"type\":\"integer\"},"                                                  \
    "{\"description\":\"How many replicas there are.\",\"jsonPath\":\".status.replicas\","         \
    "\"name\":\"Available\",\"type\":\"integer\"},"                                                \
    "{\"description\":\"How long the object has existed.\",\"jsonPath\":"                          \
    "\".metadata.creationTimestamp\",\"name\":\"Age\",\"type\":\"date\"}]"

struct definition_row {
    struct cor_resource_row row;
    struct cor_custom_row custom;
    struct cor_api_subresource subresources[2];
    struct cor_field_labels *labels; /* that objects can be selected by */
    const char *triggers[COR_CUSTOM_FIELDS_MAX + 1];
};

struct cor_definition {
    struct cor_row_life life;
    struct cor_places *places;
    struct cor_object *object; /* a reference */
    struct cor_crd crd;        /* its texts */
    struct cor_arena arena;
    size_t stored;
    bool can_be_shown; /* no version is served, but the stored one could be */
    size_t n;
    struct definition_row rows[];
};

/* strategy None: another apiVersion, nothing else. */
static const struct cor_conversion version_alone = {cor_convert_version_alone,
                                                    cor_convert_version_alone};

static int order_versions(const void *a, const void *b)
{
    return cor_version_order(cor_crd_version_name(a), cor_crd_version_name(b));
}

static int places_take(struct cor_places *places, size_t *ret_place)
{
    size_t nbuiltins;

    (void)cor_api_builtins(&nbuiltins);
    for (size_t i = 0; i < COR_DEFINITIONS_MAX / 64; i++) {
        uint64_t taken = atomic_load(&places->taken[i]);

        /* One thread takes; others only give back, so that a free bit stays free. */
        if (taken == UINT64_MAX)
            continue;
        for (size_t bit = 0; bit < 64; bit++) {
            if (taken >> bit & 1)
                continue;
            atomic_fetch_or(&places->taken[i], UINT64_C(1) << bit);
            *ret_place = nbuiltins + i * 64 + bit;
            return 0;
        }
    }
    return -COR_ETOOBIG;
}

static void places_give(struct cor_places *places, size_t place)
{
    size_t nbuiltins;

    (void)cor_api_builtins(&nbuiltins);
    place -= nbuiltins;
    atomic_fetch_and(&places->taken[place / 64], ~(UINT64_C(1) << place % 64));
}

static void definition_free(struct cor_definition *d)
{
    cor_custom_cache_release(d->life.cache);
    for (size_t i = 0; i < d->n; i++) {
        cor_custom_schema_unref(d->rows[i].custom.schema);
        cor_custom_columns_free(d->rows[i].custom.columns);
        cor_custom_scale_free(d->rows[i].custom.scale);
        cor_custom_columns_free(d->rows[i].custom.scale_columns);
        cor_free(d->rows[i].labels);
    }
    places_give(d->places, d->life.place);
    cor_creation_gate_unref(d->life.gate);
    cor_arena_deinit(&d->arena);
    cor_object_unref(d->object);
    cor_free(d);
}

static void definition_free_row(const struct cor_resource_row *row)
{
    definition_free(COR_CONTAINER_OF(row->life, struct cor_definition, life));
}

/* A text in the arena, with a NUL after it; what is wrong sticks to the arena. */
static struct cor_str definition_text(struct cor_definition *d, const struct cor_buf *text)
{
    struct cor_str copy = cor_arena_copy(&d->arena, cor_str(text->p, text->n + 1));

    return copy.p ? cor_str(copy.p, text->n) : COR_STR("");
}

/* The strings of an array, without escapes. */
static const struct cor_str *definition_strings(struct cor_definition *d, struct cor_view array,
                                                size_t *ret_n)
{
    size_t n = cor_view_len(array), i = 0;
    struct cor_str *list = n ? cor_arena_alloc(&d->arena, n * sizeof(struct cor_str)) : NULL;
    struct cor_view_iter it = cor_view_iter(array);

    while (list && i < n && cor_view_next(&it))
        list[i++] = cor_view_text_or(it.value, NULL, 0, "");
    *ret_n = i;
    return list;
}

/* Discovery shows the storage version as the start of a digest. It is left out when that version is
 * not served (contract crd 2.6.4). */
static int definition_add_hash(struct cor_definition *d)
{
    const struct cor_resource_row *stored = &d->rows[d->stored].row;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = TEXT_MAX};
    uint8_t digest[COR_SHA256_BYTES];
    struct cor_str hash;
    int r;

    if (d->rows[d->stored].custom.is_hidden)
        return 0;
    r = cor_buf_addf(&text, "%.*s/%.*s/%.*s", COR_STR_ARG(stored->group),
                     COR_STR_ARG(stored->version), COR_STR_ARG(stored->kind));
    if (r == 0)
        r = cor_sha256(cor_buf_str(&text), digest);
    cor_buf_reset(&text);
    if (r == 0)
        r = cor_base64_encode(COR_BASE64_STD, cor_str((const char *)digest, HASH_BYTES), &text);
    if (r < 0)
        return r;
    (void)cor_buf_z(&text);
    hash = definition_text(d, &text);
    for (size_t i = 0; i < d->n; i++)
        d->rows[i].row.hash = hash.p;
    return 0;
}

/* What is sent with every answer of a deprecated version: its own words, or upstream's, which name
 * the best version that is higher, served and not deprecated (3.1.7). The rows are sorted. */
static int definition_add_deprecation(struct cor_definition *d, size_t i,
                                      const struct cor_crd_version *versions)
{
    struct cor_view own = cor_view(versions[i].members[COR_CRD_WARNING]);
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = TEXT_MAX};
    struct cor_resource_row *row = &d->rows[i].row;
    char unescaped[TEXT_MAX];
    struct cor_str words;
    int r = 0;

    if (!cor_crd_version_is(&versions[i], COR_CRD_DEPRECATED))
        return 0;
    if (cor_view_text(own, unescaped, sizeof(unescaped), &words) == 0) {
        r = cor_buf_adds(&text, words);
    } else {
        r = cor_buf_addf(&text, "%.*s %.*s is deprecated", COR_STR_ARG(row->api_version),
                         COR_STR_ARG(row->kind));
        for (size_t k = 0; r == 0 && k < i; k++) {
            if (d->rows[k].custom.is_hidden || cor_crd_version_is(&versions[k], COR_CRD_DEPRECATED))
                continue;
            r = cor_buf_addf(&text, "; use %.*s %.*s", COR_STR_ARG(d->rows[k].row.api_version),
                             COR_STR_ARG(row->kind));
            break;
        }
    }
    if (r == 0) {
        (void)cor_buf_z(&text);
        row->deprecation = definition_text(d, &text).p;
    }
    return r;
}

static void definition_add_subresources(struct definition_row *made,
                                        const struct cor_crd_version *version)
{
    struct cor_str status = cor_convert_member(version->members[COR_CRD_SUBRESOURCES], "status");

    made->row.subresources = made->subresources;
    if (status.p && cor_json_type(status) == COR_JSON_OBJECT)
        made->subresources[made->row.nsubresources++] = (struct cor_api_subresource){
            .name = "status",
            .verbs = COR_API_VERB_BIT(GET) | COR_API_VERB_BIT(PATCH) | COR_API_VERB_BIT(UPDATE),
            .part = COR_PART_STATUS,
            .is_served = true,
        };
}

/* Is the whole version of this group built in? Then its custom resources cannot be reached
 * (1.3.15).
 */
static bool is_builtin_version(const struct cor_resource_row *row)
{
    const struct cor_resource_row *builtins;
    size_t n;

    builtins = cor_api_builtins(&n);
    for (size_t i = 0; i < n; i++) {
        if (cor_str_eq(builtins[i].group, row->group) &&
            cor_str_eq(builtins[i].version, row->version))
            return true;
    }
    return false;
}

/* The row of one member of spec.versions; `names` is status.acceptedNames. */
static int definition_add_row(struct cor_definition *d, size_t i,
                              const struct cor_crd_version *version, struct cor_view names)
{
    const struct cor_crd *crd = &d->crd;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = TEXT_MAX};
    struct definition_row *made = &d->rows[i];
    struct cor_resource_row *row = &made->row;
    struct cor_gr gr;
    int r;

    row->life = &d->life;
    row->custom = &made->custom;
    row->group = cor_crd_group(crd);
    row->version = cor_crd_version_name(version);
    row->kind = cor_view_text_or(cor_view_member(names, COR_STR("kind")), NULL, 0, "");
    row->plural = cor_view_text_or(cor_view_member(names, COR_STR("plural")), NULL, 0, "");
    row->singular = cor_view_text_or(cor_view_member(names, COR_STR("singular")), NULL, 0, "");
    row->list_kind = cor_view_text_or(cor_view_member(names, COR_STR("listKind")), NULL, 0, "");
    gr = cor_api_gr(row);
    if (row->group.n == 0 || row->version.n == 0 || row->kind.n == 0 || row->plural.n == 0 ||
        cor_key_is_builtin(&gr))
        return -COR_EINVAL;
    r = cor_buf_addf(&text, "%.*s/%.*s", COR_STR_ARG(row->group), COR_STR_ARG(row->version));
    if (r < 0)
        return r;
    (void)cor_buf_z(&text);
    row->api_version = definition_text(d, &text);
    row->verbs = COR_API_VERBS_ALL;
    row->flags = COR_API_ANY_FINALIZER;
    if (cor_str_eqz(cor_view_text_or(cor_crd_spec(crd, "scope"), NULL, 0, ""), "Namespaced"))
        row->flags |= COR_API_NAMESPACED;
    made->custom.crd = d->object;
    made->custom.version = version->json;
    made->custom.is_hidden =
        !cor_crd_version_is(version, COR_CRD_SERVED) || is_builtin_version(row);
    made->custom.short_names = definition_strings(d, cor_view_member(names, COR_STR("shortNames")),
                                                  &made->custom.nshort_names);
    made->custom.categories = definition_strings(d, cor_view_member(names, COR_STR("categories")),
                                                 &made->custom.ncategories);
    definition_add_subresources(made, version);
    return 0;
}

/* Compiles what is made of the JSON of the version: its columns, its scale and the fields that
 * objects are selected by. Its schema is compiled with the first request that needs it. */
static int definition_compile(struct cor_definition *d, size_t i,
                              const struct cor_crd_version *version)
{
    struct cor_str schema = version->members[COR_CRD_SCHEMA];
    const struct cor_structural_opts opts = {
        .preserves_unknown =
            cor_view_bool_or(cor_crd_spec(&d->crd, "preserveUnknownFields"), false)};
    struct definition_row *made = &d->rows[i];
    struct cor_custom_row *custom = &made->custom;
    int r = 0;

    if (schema.p) {
        custom->schema = cor_custom_schema_new(d->object, schema, &opts);
        r = custom->schema ? 0 : -COR_ENOMEM;
    }
    if (r == 0)
        r = cor_custom_columns_new(version->members[COR_CRD_COLUMNS], &custom->columns);
    if (r == 0)
        r = cor_custom_scale_new(version->members[COR_CRD_SUBRESOURCES], &custom->scale);
    if (r == 0 && custom->scale)
        r = cor_custom_columns_new(COR_STR(SCALE_COLUMNS), &custom->scale_columns);
    if (r == 0)
        r = cor_custom_fields_new(version->members[COR_CRD_FIELDS],
                                  cor_api_is_namespaced(&made->row), &made->labels);
    if (r < 0)
        return r;
    made->row.field_labels = made->labels;
    cor_custom_fields_triggers(made->labels, cor_api_is_namespaced(&made->row), made->triggers);
    made->row.trigger_fields = made->triggers;
    if (custom->scale)
        made->subresources[made->row.nsubresources++] = (struct cor_api_subresource){
            .name = "scale",
            .verbs = COR_API_VERB_BIT(GET) | COR_API_VERB_BIT(PATCH) | COR_API_VERB_BIT(UPDATE),
            .part = COR_PART_SCALE,
            .group = "autoscaling",
            .version = "v1",
            .kind = "Scale", /* names a kind: what every scale speaks of */
            .type = cor_api_scale_type(),
            .conversion = &cor_custom_scale_conversion,
            .is_served = true,
        };
    return 0;
}

/* Are all objects stored in the stored version, as far as the status knows? */
static bool definition_is_of_one_version(const struct cor_definition *d)
{
    struct cor_view_iter it = cor_view_iter(cor_crd_status(&d->crd, "storedVersions"));

    while (cor_view_next(&it)) {
        if (!cor_str_eq(cor_view_text_or(it.value, NULL, 0, ""), d->rows[d->stored].row.version))
            return false;
    }
    return true;
}

/* A definition of another server may have a webhook that converts, which this server does not call.
 * Then no version is served but the stored one, and that only when no object needs a conversion. */
static void definition_hide_unconverted(struct cor_definition *d)
{
    struct cor_str strategy = cor_view_text_or(
        cor_view_member(cor_crd_spec(&d->crd, "conversion"), COR_STR("strategy")), NULL, 0, "");
    bool is_readable = definition_is_of_one_version(d);

    if (!cor_str_eqz(strategy, "Webhook") || (d->n == 1 && is_readable))
        return;
    for (size_t i = 0; i < d->n; i++) {
        if (i != d->stored || !is_readable)
            d->rows[i].custom.is_hidden = true;
    }
    COR_LOG_WARN("versions are converted by a webhook, which this server does not call",
                 COR_F_STR("definition", cor_object_name(d->object)),
                 COR_F_BOOL("serves_stored_version", is_readable));
}

/* Instances are deleted through the API, so that the stored version is served while they are, if no
 * other version is: instances that stayed would come back with the next definition of this name. */
static void definition_show_for_deletion(struct cor_definition *d)
{
    struct definition_row *stored = &d->rows[d->stored];

    d->can_be_shown = !is_builtin_version(&stored->row);
    for (size_t i = 0; i < d->n; i++)
        d->can_be_shown = d->can_be_shown && d->rows[i].custom.is_hidden;
    if (d->can_be_shown)
        stored->custom.is_hidden = !atomic_load(&d->life.gate->is_closed);
}

/* Fills in the rows of the versions, which are sorted. */
static int definition_fill(struct cor_definition *d, const struct cor_crd_version *versions)
{
    struct cor_view names = cor_crd_status(&d->crd, "acceptedNames");
    size_t n = d->n;
    bool has_stored = false;
    int r = 0;

    for (size_t i = 0; i < n && r == 0; i++) {
        r = definition_add_row(d, i, &versions[i], names);
        if (cor_crd_version_is(&versions[i], COR_CRD_STORAGE)) {
            d->stored = i;
            has_stored = true;
        }
    }
    if (r == 0 && !has_stored)
        return -COR_EINVAL;
    if (r == 0) {
        definition_hide_unconverted(d);
        definition_show_for_deletion(d);
    }
    for (size_t i = 0; i < n && r == 0; i++) {
        d->rows[i].custom.stored = &d->rows[d->stored].row;
        d->rows[i].custom.next = &d->rows[(i + 1) % n].row;
        if (i != d->stored) {
            d->rows[i].row.conversion = &version_alone;
            d->rows[i].row.stored_as = d->rows[d->stored].row.api_version;
        }
        r = definition_add_deprecation(d, i, versions);
        if (r == 0)
            r = definition_compile(d, i, &versions[i]);
    }
    if (r == 0)
        r = definition_add_hash(d);
    return r < 0 ? r : d->arena.error;
}

/* A definition without rows yet. */
static int definition_alloc(size_t n, struct cor_places *places,
                            struct cor_definition **ret_definition)
{
    struct cor_definition *d = cor_calloc(1, sizeof(*d) + n * sizeof(d->rows[0]));
    int r = d ? places_take(places, &d->life.place) : -COR_ENOMEM;

    if (r < 0) {
        cor_free(d);
        return r;
    }
    *ret_definition = d;
    return 0;
}

int cor_definition_new(struct cor_object *object, const struct cor_crd *crd,
                       struct cor_crd_versions *versions, struct cor_places *places,
                       struct cor_creation_gate *gate, struct cor_definition **ret_definition)
{
    struct cor_definition *d;
    int r = definition_alloc(versions->n, places, &d);

    if (r < 0)
        return r;
    if (versions->n > 1)
        qsort(versions->v, versions->n, sizeof(versions->v[0]), order_versions);
    cor_ref_init(&d->life.refs);
    d->life.free_row = definition_free_row;
    d->places = places;
    d->object = cor_object_ref(object);
    d->crd = *crd;
    d->life.gate = cor_creation_gate_ref(gate);
    d->n = versions->n;
    cor_arena_init(&d->arena, ARENA_MAX);
    r = definition_fill(d, versions->v);
    if (r < 0) {
        definition_free(d);
        return r;
    }
    *ret_definition = d;
    return 0;
}

size_t cor_definition_n(const struct cor_definition *d)
{
    return d->n;
}

const struct cor_resource_row *cor_definition_row(const struct cor_definition *d, size_t i)
{
    assert(i < d->n);
    return &d->rows[i].row;
}

const struct cor_resource_row *cor_definition_stored(const struct cor_definition *d)
{
    return &d->rows[d->stored].row;
}

void cor_definition_set_cache(struct cor_definition *d, struct cor_custom_cache *cache)
{
    assert(!d->life.cache);
    d->life.cache = cache;
}

bool cor_definition_is_settled(const struct cor_definition *d)
{
    return !d->life.cache || cor_custom_cache_is_settled(d->life.cache);
}

void cor_definition_retire(struct cor_definition *d, uint64_t generation, cor_rev rev)
{
    assert(generation > 0 && !atomic_load(&d->life.retired_at));
    d->life.retired_rev = rev;
    atomic_store(&d->life.retired_at, generation);
}

static struct cor_str accepted_names(const struct cor_crd *crd)
{
    return cor_crd_status(crd, "acceptedNames").json;
}

bool cor_definition_is_of(const struct cor_definition *d, const struct cor_crd *crd)
{
    return cor_str_eq(cor_object_uid(d->object), cor_object_uid(crd->object)) &&
           cor_str_eq(d->crd.spec.json, crd->spec.json) &&
           cor_str_eq(accepted_names(&d->crd), accepted_names(crd)) &&
           (!d->can_be_shown ||
            d->rows[d->stored].custom.is_hidden != atomic_load(&d->life.gate->is_closed));
}
