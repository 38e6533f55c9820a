#include "server/controllers/host/controller_tools.h"

#include <string.h>

#include "coracle/view.h"

bool cor_is_namespace_active(const struct cor_object *ns)
{
    struct cor_view status = cor_view_member(cor_object_view(ns), COR_STR("status"));

    return cor_str_eqz(cor_view_text_or(cor_view_member(status, COR_STR("phase")), NULL, 0, ""),
                       "Active");
}

bool cor_is_namespace_terminating(const struct cor_status *error)
{
    for (size_t i = 0; i < error->ncauses; i++)
        if (error->causes[i].type && strcmp(error->causes[i].type, "NamespaceTerminating") == 0)
            return true;
    return false;
}

int cor_gvr_key(const struct cor_gvr *gvr, struct cor_buf *key)
{
    int r = cor_buf_reserve(key, gvr->group.n + gvr->version.n + gvr->resource.n + 2);

    cor_buf_reset(key);
    if (r < 0)
        return r;
    (void)cor_buf_adds(key, gvr->group);
    (void)cor_buf_addc(key, '\0');
    (void)cor_buf_adds(key, gvr->version);
    (void)cor_buf_addc(key, '\0');
    return cor_buf_adds(key, gvr->resource);
}

int cor_gvr_keep(struct cor_gvr *gvr, char **ret_block, struct cor_str *ret_key)
{
    int r = cor_str_gather((struct cor_str *const[]){&gvr->group, &gvr->version, &gvr->resource}, 3,
                           ret_block);

    if (r == 0)
        *ret_key = cor_str(*ret_block, gvr->group.n + gvr->version.n + gvr->resource.n + 2);
    return r;
}

bool cor_control_is_deletion(const void *arg, const struct cor_control_event *event)
{
    return event->kind == COR_CONTROL_DELETED;
}

bool cor_control_is_no_deletion(const void *arg, const struct cor_control_event *event)
{
    return event->kind != COR_CONTROL_DELETED;
}

void cor_map_to_namespace(void *arg, const struct cor_object *object, struct cor_control_keys *keys)
{
    cor_control_keys_add(keys, COR_STR(""), cor_object_namespace(object));
}
