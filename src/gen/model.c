/* Fills a model. Everything lies in one arena; a call after a failed one returns NULL or does
 * nothing, so that the readers of inputs check once, at their end. */
#include "gen/model.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"

#define MODEL_BYTES_MAX (256u * 1024 * 1024)
#define TYPES_MAX       100000

void cor_gen_model_init(struct cor_gen_model *model)
{
    *model = (struct cor_gen_model){.packages = NULL};
    cor_arena_init(&model->arena, MODEL_BYTES_MAX);
    cor_map_init(&model->by_name, TYPES_MAX);
    cor_map_init(&model->schemas, TYPES_MAX);
}

void cor_gen_model_deinit(struct cor_gen_model *model)
{
    cor_map_deinit(&model->by_name);
    cor_map_deinit(&model->schemas);
    cor_arena_deinit(&model->arena);
}

int cor_gen_model_error(const struct cor_gen_model *model)
{
    return model->arena.error;
}

static void *model_alloc(struct cor_gen_model *model, size_t n)
{
    void *p = cor_arena_alloc(&model->arena, n);

    return p ? memset(p, 0, n) : NULL;
}

struct cor_str cor_gen_printf(struct cor_gen_model *model, const char *fmt, ...)
{
    va_list ap, again;
    char *text;
    int n;

    va_start(ap, fmt);
    va_copy(again, ap);
    n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    assert(n >= 0);
    text = cor_arena_alloc(&model->arena, (size_t)n + 1);
    if (text)
        vsnprintf(text, (size_t)n + 1, fmt, again);
    va_end(again);
    return cor_str(text ? text : "", text ? (size_t)n : 0);
}

struct cor_gen_package *cor_gen_find_package(const struct cor_gen_model *model, struct cor_str stem)
{
    for (struct cor_gen_package *p = model->packages; p; p = p->next) {
        if (cor_str_eq(p->stem, stem))
            return p;
    }
    return NULL;
}

struct cor_gen_package *cor_gen_package(struct cor_gen_model *model, struct cor_str stem,
                                        struct cor_str prefix, struct cor_str folder)
{
    struct cor_gen_package *package = cor_gen_find_package(model, stem), **end = &model->packages;

    if (package)
        return package;
    package = model_alloc(model, sizeof(*package));
    if (!package)
        return NULL;
    package->stem = cor_arena_copy(&model->arena, stem);
    package->prefix = cor_arena_copy(&model->arena, prefix);
    package->header = cor_gen_printf(model, "%.*s%.*s.h", COR_STR_ARG(folder), COR_STR_ARG(stem));
    while (*end)
        end = &(*end)->next;
    *end = package;
    return package;
}

bool cor_gen_has_types(const struct cor_gen_package *package)
{
    for (const struct cor_gen_type *t = package->types; t; t = t->next) {
        if (t->shape == COR_SHAPE_STRUCT)
            return true;
    }
    return false;
}

/* The package of a type, or of what it is a list or a map of. */
static void want_package_of(const struct cor_gen_type *type)
{
    while (type->element)
        type = type->element;
    if (type->package && !type->package->is_external && cor_gen_has_types(type->package))
        cor_gen_want(type->package);
}

void cor_gen_want(struct cor_gen_package *package)
{
    if (package->is_wanted)
        return;
    package->is_wanted = true;
    for (const struct cor_gen_type *t = package->types; t; t = t->next) {
        for (const struct cor_gen_field *f = t->fields; f; f = f->next)
            want_package_of(f->type);
        for (const struct cor_gen_subresource *s = t->subresources; s; s = s->next)
            want_package_of(s->type);
    }
}

struct cor_gen_type *cor_gen_find_type(const struct cor_gen_model *model,
                                       const struct cor_gen_package *package, struct cor_str name)
{
    char full[512];
    int n =
        snprintf(full, sizeof(full), "%.*s.%.*s", COR_STR_ARG(package->stem), COR_STR_ARG(name));

    if (n > 0 && (size_t)n < sizeof(full))
        return cor_map_peek(&model->by_name, cor_str(full, (size_t)n));
    for (struct cor_gen_type *type = package->types; type; type = type->next) {
        if (cor_str_eq(type->name, name))
            return type;
    }
    return NULL;
}

struct cor_gen_type *cor_gen_add_type(struct cor_gen_model *model, struct cor_gen_package *package,
                                      struct cor_str name, enum cor_shape shape)
{
    struct cor_gen_type *type = model_alloc(model, sizeof(*type)), **end;
    struct cor_str full;

    if (!type || !package)
        return NULL;
    full = cor_gen_printf(model, "%.*s.%.*s", COR_STR_ARG(package->stem), COR_STR_ARG(name));
    assert(full.n == 0 || !cor_map_peek(&model->by_name, full));
    if (full.n == 0 || cor_map_put(&model->by_name, full, type, NULL) < 0) {
        model->arena.error = -COR_ENOMEM;
        return NULL;
    }
    type->package = package;
    type->name = cor_str_from(full, package->stem.n + 1);
    type->shape = shape;
    for (end = &package->types; *end;)
        end = &(*end)->next;
    *end = type;
    return type;
}

const struct cor_gen_type *cor_gen_plain_type(struct cor_gen_model *model, enum cor_shape shape,
                                              struct cor_gen_type *element)
{
    struct cor_gen_type *type = model_alloc(model, sizeof(*type));

    if (!type)
        return NULL;
    type->shape = shape;
    type->element = element;
    if (element && shape == COR_SHAPE_LIST)
        element->is_element = true;
    if (element && shape == COR_SHAPE_MAP)
        element->is_map_value = true;
    return type;
}

struct cor_gen_field *cor_gen_add_field(struct cor_gen_model *model, struct cor_gen_type *type,
                                        struct cor_str name, const struct cor_gen_type *of)
{
    struct cor_gen_field *field = model_alloc(model, sizeof(*field)), **end;

    if (!field || !type || !of)
        return NULL;
    field->name = cor_arena_copy(&model->arena, name);
    field->type = of;
    for (end = &type->fields; *end;)
        end = &(*end)->next;
    *end = field;
    return field;
}

struct cor_gen_subresource *cor_gen_subresource(struct cor_gen_model *model,
                                                struct cor_gen_type *resource, struct cor_str name,
                                                const struct cor_gen_type *type)
{
    struct cor_gen_subresource **at = &resource->subresources, *made;
    int order = 1;

    assert(type && type->is_kind);
    while (*at && (order = cor_str_cmp((*at)->name, name)) < 0)
        at = &(*at)->next;
    if (*at && order == 0)
        return *at;
    made = model_alloc(model, sizeof(*made));
    if (!made)
        return NULL;
    made->name = cor_arena_copy(&model->arena, name);
    made->type = type;
    made->next = *at;
    *at = made;
    return made;
}

struct cor_gen_default *cor_gen_add_default(struct cor_gen_model *model, struct cor_gen_type *type)
{
    struct cor_gen_default *added = model_alloc(model, sizeof(*added)), **end;

    if (!added)
        return NULL;
    for (end = &type->defaults; *end;)
        end = &(*end)->next;
    *end = added;
    return added;
}

void cor_gen_add_list_kind(struct cor_gen_model *model, struct cor_gen_type *kind,
                           struct cor_str name, const struct cor_gen_type *list_meta)
{
    const struct cor_gen_type *text = cor_gen_plain_type(model, COR_SHAPE_STRING, NULL);
    const struct cor_gen_type *items = cor_gen_plain_type(model, COR_SHAPE_LIST, kind);
    struct cor_gen_type *list =
        kind ? cor_gen_add_type(model, kind->package, name, COR_SHAPE_STRUCT) : NULL;

    if (!list)
        return;
    list->is_kind = true;
    cor_gen_add_field(model, list, COR_STR("apiVersion"), text);
    cor_gen_add_field(model, list, COR_STR("items"), items);
    cor_gen_add_field(model, list, COR_STR("kind"), text);
    cor_gen_add_field(model, list, COR_STR("metadata"), list_meta);
}
