/* clang-format off */
/* The stage WARN of custom resources: an object that nothing is wrong with is warned of when it
 * gets finalizers that name no domain. Built-in kinds have programs that warn (stage_validate.c).
 *
 *   the finalizers that the present object does not have ──► in byte order ──► a warning for each
 *
 * Failures: no memory.
 * Thread: the thread that has the call. */
/* clang-format on */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str_set.h"
#include "meta/object/object_edit.h"
#include "server/write/stages.h"

#define TEXT_MAX       (64u * 1024)
#define FINALIZERS_MAX (1u << 22) /* more than a body has room for */

/* Finalizers of an object: raw text of a JSON list. */
static struct cor_json_iter finalizers_of(const struct cor_object *object)
{
    struct cor_str list =
        object ? cor_object_meta_member(object, COR_STR("finalizers")) : cor_str(NULL, 0);

    return cor_json_iter(list.p ? list : COR_STR("[]"));
}

static int compare_texts(const void *a, const void *b)
{
    return cor_str_cmp(*(const struct cor_str *)a, *(const struct cor_str *)b);
}

/* `name` is valid, and a quoted text. */
static int warn_of_finalizer(struct cor_call *call, struct cor_str name)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = TEXT_MAX};
    int r;

    if (memchr(name.p, '/', name.n) || cor_str_eq(name, COR_STR("\"orphan\"")) ||
        cor_str_eq(name, COR_STR("\"foregroundDeletion\"")) ||
        cor_str_eq(name, COR_STR("\"kubernetes\"")))
        return 0;
    r = cor_buf_addf(&text,
                     "metadata.finalizers: %.*s: prefer a domain-qualified finalizer name %sto "
                     "avoid accidental conflicts with other finalizer writers",
                     COR_STR_ARG(name), memchr(name.p, '.', name.n) ? "including a path (/) " : "");
    return r < 0 ? r : cor_warnings_add(&call->warnings, cor_buf_str(&text));
}

bool cor_stage_warns(const struct cor_judging *write)
{
    return !write->call->sub || write->call->sub->part == COR_PART_SCALE;
}

int cor_stage_warn_custom(const struct cor_judging *write)
{
    struct cor_json_iter old =
        finalizers_of(write->present->is_create ? NULL : write->present->current);
    struct cor_json_iter new_ = finalizers_of(write->to_store->object);
    struct cor_str *added = NULL;
    struct cor_str_set known;
    size_t n = 0, cap = 0;
    bool is_new;
    int r = 0;

    cor_str_set_init(&known, FINALIZERS_MAX);
    while (r == 0 && cor_json_iter_elem(&old))
        r = cor_str_set_add(&known, cor_json_iter_value(&old), &is_new);
    while (r == 0 && cor_json_iter_elem(&new_)) {
        struct cor_str name = cor_json_iter_value(&new_);

        r = cor_str_set_add(&known, name, &is_new);
        if (r == 0 && is_new)
            r = COR_ARRAY_RESERVE(&added, n, &cap, FINALIZERS_MAX);
        if (r == 0 && is_new)
            added[n++] = name;
    }
    if (n > 1)
        qsort(added, n, sizeof(added[0]), compare_texts);
    for (size_t i = 0; r == 0 && i < n; i++)
        r = warn_of_finalizer(write->call, added[i]);
    cor_str_set_deinit(&known);
    cor_free(added);
    return r < 0 ? cor_status_set_err(&write->call->status, r) : 0;
}
