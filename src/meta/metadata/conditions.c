/* Conditions of an object's status (coracle/metadata.h), with the rules of apimachinery's
 * meta.SetStatusCondition: one condition of each type, whose transition time moves only when its
 * status changes.
 *
 * A builder's bytes are canonical except for the order of keys, so a text in them is equal to a new
 * text exactly when both are the same JSON string. That is how texts of any length are compared
 * here; an object's texts are decoded.
 * Thread: any; a builder is used by one thread at a time. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/sized.h"
#include "meta/metadata/metadata.h"
#include "meta/object/builder.h"
#include "meta/value/time_text.h"
#include "json/path/path.h"
#include "json/write/writer.h"

#define CONDITIONS "status.conditions"

static struct cor_view status_conditions(struct cor_view root)
{
    return cor_view_member(cor_view_member(root, COR_STR("status")), COR_STR("conditions"));
}

/* The first condition of this type, with its index; -1: there is none. */
static int64_t find_condition(struct cor_view conditions, const char *type, struct cor_view *ret)
{
    struct cor_view_iter it = cor_view_iter(conditions);

    if (cor_view_type(conditions) == COR_JSON_ARRAY)
        for (int64_t i = 0; cor_view_next(&it); i++)
            if (cor_view_is_text(cor_view_member(it.value, COR_STR("type")), cor_strz(type))) {
                *ret = it.value;
                return i;
            }
    *ret = cor_view(COR_STR(""));
    return -1;
}

struct cor_view cor_object_condition(const struct cor_object *object, const char *type)
{
    struct cor_view found;

    find_condition(status_conditions(cor_object_view(object)), type, &found);
    return found;
}

bool cor_object_condition_is(const struct cor_object *object, const char *type, const char *status)
{
    return cor_view_is_text(cor_view_member(cor_object_condition(object, type), COR_STR("status")),
                            cor_strz(status));
}

static struct cor_str transition_text(const struct cor_condition *c, char text[COR_TIME_TEXT_MAX])
{
    return cor_time_print(
        c->transition_s != 0 ? c->transition_s : cor_clock_wall_ms(cor_clock_real()) / 1000, text);
}

static int add_condition(struct cor_builder *b, const char *path, const struct cor_condition *c)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json;
    char time[COR_TIME_TEXT_MAX];
    struct cor_json_writer w;
    int r;

    cor_buf_init(&json, COR_BUILDER_BYTES_MAX);
    cor_json_writer_init(&w, &json);
    cor_json_begin_object(&w);
    cor_json_member(&w, COR_STR("lastTransitionTime"), transition_text(c, time));
    cor_json_member(&w, COR_STR("message"), cor_strz(c->message));
    if (c->observed_generation != 0) {
        cor_json_key(&w, COR_STR("observedGeneration"));
        cor_json_i64(&w, c->observed_generation);
    }
    cor_json_member(&w, COR_STR("reason"), cor_strz(c->reason));
    cor_json_member(&w, COR_STR("status"), cor_strz(c->status));
    cor_json_member(&w, COR_STR("type"), cor_strz(c->type));
    cor_json_end_object(&w);
    r = cor_json_writer_finish(&w);
    if (r < 0)
        return cor_builder_refuse(b, r, "%s: %s", path, cor_err_text(r));
    r = cor_builder_append_json(b, path, cor_buf_str(&json));
    return r < 0 ? r : 1;
}

/* One condition of the builder, which is edited in place. */
struct edit {
    struct cor_builder *b;
    struct cor_view condition;       /* as it was; valid until the first change */
    char path[COR_ELEMENT_PATH_MAX]; /* of the member that is edited; `stem` leads to its key */
    size_t stem;
};

static const char *member_path(struct edit *e, const char *key)
{
    snprintf(e->path + e->stem, sizeof(e->path) - e->stem, ".%s", key);
    return e->path;
}

/* Does the condition's member have this text? An absent member has the empty text. 1, 0 or
 * -COR_ENOMEM. */
static int has_text(const struct edit *e, const char *key, const char *text)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf quoted = {.max = COR_BUILDER_BYTES_MAX};
    struct cor_view member = cor_view_member(e->condition, cor_strz(key));
    int r;

    if (!cor_view_exists(member))
        return !text || !*text;
    r = cor_json_quote(&quoted, cor_strz(text));
    return r < 0 ? r : cor_str_eq(member.json, cor_buf_str(&quoted));
}

/* The comparisons come before the first change: a change moves the bytes that they read. */
static int update_condition(struct edit *e, const struct cor_condition *c)
{
    char time[COR_TIME_TEXT_MAX];
    struct cor_builder *b = e->b;
    bool same_generation =
        cor_view_int_or(cor_view_member(e->condition, COR_STR("observedGeneration")), 0) ==
        c->observed_generation;
    int same_status = has_text(e, "status", c->status);
    int same_reason = has_text(e, "reason", c->reason);
    int same_message = has_text(e, "message", c->message);

    if (same_status < 0 || same_reason < 0 || same_message < 0)
        return cor_builder_refuse(b, -COR_ENOMEM, "%s: no memory for a change", e->path);
    if (!same_status) {
        cor_builder_set_text(b, member_path(e, "status"), cor_strz(c->status));
        cor_builder_set_text(b, member_path(e, "lastTransitionTime"), transition_text(c, time));
    }
    if (!same_reason)
        cor_builder_set_text(b, member_path(e, "reason"), cor_strz(c->reason));
    if (!same_message)
        cor_builder_set_text(b, member_path(e, "message"), cor_strz(c->message));
    if (!same_generation && c->observed_generation == 0)
        cor_builder_remove(b, member_path(e, "observedGeneration"));
    else if (!same_generation)
        cor_builder_set_int(b, member_path(e, "observedGeneration"), c->observed_generation);
    if (cor_builder_failure(b) < 0)
        return cor_builder_failure(b);
    return !(same_status && same_reason && same_message && same_generation);
}

/* The list at `path` in the builder's object. */
static int view_conditions(struct cor_builder *b, const char *path, struct cor_view *ret)
{
    COR_CLEANUP(cor_json_path_freep) struct cor_json_path *compiled = NULL;
    int r;

    if (strcmp(path, CONDITIONS) == 0) {
        *ret = status_conditions(cor_builder_view(b));
        return 0;
    }
    r = cor_json_path_new(cor_strz(path), &compiled, NULL);
    if (r < 0)
        return cor_builder_refuse(b, r, "%s: %s", path,
                                  r == -COR_EINVAL ? "not a path" : cor_err_text(r));
    *ret = cor_view_at(cor_builder_view(b), compiled);
    return 0;
}

int cor_builder_set_condition(struct cor_builder *b, const struct cor_condition *condition)
{
    struct edit e = {.b = b};
    struct cor_condition c;
    struct cor_view list;
    const char *path;
    int64_t i;
    int r = cor_builder_failure(b);

    if (r < 0)
        return r;
    r = cor_sized_copy(&c, sizeof(c), condition);
    if (r < 0)
        return cor_builder_refuse(b, r, "set a condition: %s", cor_sized_text(r));
    path = c.path ? c.path : CONDITIONS;
    if (!c.type || !*c.type || !c.status || !*c.status)
        return cor_builder_refuse(b, -COR_EINVAL, "%s: a condition has a type and a status", path);
    r = view_conditions(b, path, &list);
    if (r < 0)
        return r;
    i = find_condition(list, c.type, &e.condition);
    if (i < 0)
        return add_condition(b, path, &c);
    r = snprintf(e.path, sizeof(e.path), "%s[%" PRId64 "]", path, i);
    if (r < 0 || (size_t)r + sizeof(".lastTransitionTime") > sizeof(e.path))
        return cor_builder_refuse(b, -COR_ETOOBIG, "%.64s…: the path is too long", path);
    e.stem = (size_t)r;
    return update_condition(&e, &c);
}

int cor_builder_remove_condition(struct cor_builder *b, const char *type)
{
    int r = cor_builder_failure(b), removed = 0;

    while (r == 0) {
        struct cor_view list = status_conditions(cor_builder_view(b)), found;
        int64_t i = find_condition(list, type, &found);

        if (i < 0)
            break;
        r = cor_builder_remove_element(b, CONDITIONS, i, cor_view_len(list));
        removed = 1;
    }
    return r < 0 ? r : removed;
}
