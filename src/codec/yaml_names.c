#include "codec/yaml_names.h"

#include "base/err.h"
#include "base/mem.h"
#include "codec/yaml.h"

static struct cor_yaml_name *name_new(struct cor_str text)
{
    struct cor_yaml_name *name = cor_alloc(sizeof(*name) + text.n);

    if (!name)
        return NULL;
    name->n = text.n;
    name->is_open = false;
    memcpy(name->text, text.p, text.n);
    cor_buf_init_secret(&name->json, COR_YAML_ALIAS_BYTES_MAX); /* as the file may be */
    return name;
}

void cor_yaml_names_deinit(struct cor_map *names)
{
    COR_MAP_FOREACH(it, names) {
        struct cor_yaml_name *name = it.value;

        cor_buf_deinit(&name->json);
        cor_free(name);
    }
    cor_map_deinit(names);
}

int cor_yaml_names_put(struct cor_map *names, struct cor_str text, struct cor_yaml_name **ret_name,
                       bool *ret_was_there)
{
    struct cor_yaml_name *name = name_new(text), *old;
    void *replaced;
    int err;

    if (!name)
        return -COR_ENOMEM;
    err = cor_map_put(names, cor_str(name->text, name->n), name, &replaced);
    if (err < 0) {
        cor_free(name);
        return err;
    }
    old = replaced;
    if (old) {
        cor_buf_deinit(&old->json);
        cor_free(old);
    }
    *ret_name = name;
    *ret_was_there = old;
    return 0;
}
