/* Reads CustomResourceDefinitions through views, and writes the next state of their status.
 *
 * A change writes the old conditions with the new ones in their places, and the finalizers that
 * remain; a builder then makes a copy of the object with these and the accepted names. The copy has
 * no spec, which is nearly all of the text: a write of the status keeps the one that is stored.
 * Failures: no memory, or a status beyond its maximum; the object is never changed in place, so
 * nothing is half done. A member that is missing or of another type reads as an empty view.
 * Thread: any (pure). */
#include "schema/kinds/crd_object.h"

#include <assert.h>

#include "base/err.h"
#include "coracle/builder.h"
#include "coracle/time.h"
#include "meta/object/object_edit.h"
#include "meta/object/object_received.h"
#include "json/write/print.h"

struct cor_crd cor_crd_of(const struct cor_object *object)
{
    static const struct cor_str keys[] = {COR_STR_INIT("spec"), COR_STR_INIT("status")};
    struct cor_view view = cor_object_view(object);
    struct cor_crd crd = {object, view, view};
    struct cor_str values[COR_ARRAY_LEN(keys)];

    cor_json_get_each(cor_object_json(object), keys, COR_ARRAY_LEN(keys), values);
    crd.spec.json = values[0];
    crd.status.json = values[1];
    return crd;
}

struct cor_view cor_crd_spec(const struct cor_crd *crd, const char *member)
{
    return cor_view_member(crd->spec, cor_strz(member));
}

struct cor_view cor_crd_status(const struct cor_crd *crd, const char *member)
{
    return cor_view_member(crd->status, cor_strz(member));
}

struct cor_str cor_crd_group(const struct cor_crd *crd)
{
    return cor_view_text_or(cor_crd_spec(crd, "group"), NULL, 0, "");
}

static struct cor_str text_of(struct cor_view object, const char *member)
{
    struct cor_str text;

    return cor_view_raw(cor_view_member(object, cor_strz(member)), &text) == 0 ? text : COR_STR("");
}

struct cor_view cor_crd_condition(const struct cor_crd *crd, const char *type)
{
    struct cor_view_iter it = cor_view_iter(cor_crd_status(crd, "conditions"));

    while (cor_view_next(&it)) {
        if (cor_str_eqz(text_of(it.value, "type"), type))
            return it.value;
    }
    return (struct cor_view){0};
}

bool cor_crd_is_true(const struct cor_crd *crd, const char *type)
{
    return cor_str_eqz(text_of(cor_crd_condition(crd, type), "status"), "True");
}

bool cor_crd_is_deleted(const struct cor_object *crd)
{
    return cor_object_meta_member(crd, COR_STR("deletionTimestamp")).p != NULL;
}

bool cor_crd_has_finalizer(const struct cor_object *crd)
{
    struct cor_str list = cor_object_meta_member(crd, COR_STR("finalizers"));
    struct cor_view_iter it;

    if (!list.p)
        return false;
    it = cor_view_iter(cor_view(list));
    while (cor_view_next(&it)) {
        if (cor_str_eqz(cor_view_text_or(it.value, NULL, 0, ""), COR_CRD_FINALIZER))
            return true;
    }
    return false;
}

static const char *status_text(const struct cor_crd_condition *condition)
{
    return condition->is_true ? "True" : "False";
}

/* Appends the message as a JSON string, to compare it with what is stored. */
static bool has_message(struct cor_view present, struct cor_str message)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf quoted = {.max = COR_CRD_STATUS_MAX};
    struct cor_json_writer w;

    cor_json_writer_init(&w, &quoted);
    cor_json_string(&w, message);
    return cor_json_writer_finish(&w) == 0 &&
           cor_str_eq(cor_buf_str(&quoted), cor_view_member(present, COR_STR("message")).json);
}

bool cor_crd_has_condition(const struct cor_crd *crd, const struct cor_crd_condition *condition)
{
    struct cor_view present = cor_crd_condition(crd, condition->type);

    return cor_view_exists(present) &&
           cor_str_eqz(text_of(present, "status"), status_text(condition)) &&
           cor_str_eqz(text_of(present, "reason"), condition->reason) &&
           has_message(present, condition->message);
}

/* Writes a condition in place of `present`, which may be nothing. */
static void write_condition(struct cor_json_writer *w, const struct cor_crd_condition *condition,
                            struct cor_view present, struct cor_str now)
{
    bool keeps_time = cor_str_eqz(text_of(present, "status"), status_text(condition)) &&
                      text_of(present, "lastTransitionTime").n > 0;

    cor_json_print(w, "{lastTransitionTime:%s,message:%s,reason:%s,status:%s,type:%s}",
                   keeps_time ? text_of(present, "lastTransitionTime") : now, condition->message,
                   condition->reason, status_text(condition), condition->type);
}

/* The condition of `change` that replaces `present`; NULL: it stays. */
static const struct cor_crd_condition *replacement(const struct cor_crd_change *change,
                                                   struct cor_view present)
{
    for (size_t i = 0; i < change->nconditions; i++) {
        if (cor_str_eqz(text_of(present, "type"), change->conditions[i].type))
            return &change->conditions[i];
    }
    return NULL;
}

int cor_crd_write_conditions(const struct cor_crd *crd, const struct cor_crd_change *change,
                             struct cor_str now, struct cor_buf *out)
{
    struct cor_view_iter it = cor_view_iter(cor_crd_status(crd, "conditions"));
    struct cor_json_writer w;

    cor_json_writer_init(&w, out);
    cor_json_begin_array(&w);
    while (cor_view_next(&it)) {
        const struct cor_crd_condition *next = replacement(change, it.value);

        if (next)
            write_condition(&w, next, it.value, now);
        else
            cor_json_raw(&w, it.value.json);
    }
    for (size_t i = 0; i < change->nconditions; i++) {
        if (!cor_view_exists(cor_crd_condition(crd, change->conditions[i].type)))
            write_condition(&w, &change->conditions[i], (struct cor_view){0}, now);
    }
    cor_json_end_array(&w);
    return cor_json_writer_finish(&w);
}

/* The finalizers without the server's own. */
static int write_finalizers(const struct cor_object *crd, struct cor_buf *out)
{
    struct cor_view_iter it =
        cor_view_iter(cor_view(cor_object_meta_member(crd, COR_STR("finalizers"))));
    struct cor_json_writer w;

    cor_json_writer_init(&w, out);
    cor_json_begin_array(&w);
    while (cor_view_next(&it)) {
        if (!cor_str_eqz(cor_view_text_or(it.value, NULL, 0, ""), COR_CRD_FINALIZER))
            cor_json_raw(&w, it.value.json);
    }
    cor_json_end_array(&w);
    return cor_json_writer_finish(&w);
}

/* A copy of the object without its spec. */
static int copy_without_spec(const struct cor_crd *crd, struct cor_object **ret_copy)
{
    static const struct cor_str key = COR_STR_INIT(",\"spec\":");
    struct cor_str json = cor_object_json(crd->object), before, behind;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = json.n};
    int r;

    if (!crd->spec.json.p)
        return cor_object_canonical(json, ret_copy, NULL);
    before = cor_str(json.p, (size_t)(crd->spec.json.p - json.p) - key.n);
    behind = cor_str_from(json, (size_t)(crd->spec.json.p - json.p) + crd->spec.json.n);
    assert(cor_str_eq(cor_str(before.p + before.n, key.n), key));
    r = cor_buf_adds(&text, before);
    if (r == 0)
        r = cor_buf_adds(&text, behind);
    return r < 0 ? r : cor_object_canonical(cor_buf_str(&text), ret_copy, NULL);
}

int cor_crd_change(const struct cor_crd *crd, const struct cor_crd_change *change, int64_t now_ms,
                   struct cor_object **ret_object)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *copy = NULL;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf conditions = {.max = COR_CRD_STATUS_MAX};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf finalizers = {.max = COR_CRD_STATUS_MAX};
    char now[COR_TIME_TEXT_MAX];
    struct cor_builder *b = NULL;
    int r = cor_crd_write_conditions(crd, change, cor_time_print(now_ms / 1000, now), &conditions);

    if (r == 0 && change->drops_finalizer)
        r = write_finalizers(crd->object, &finalizers);
    if (r == 0)
        r = copy_without_spec(crd, &copy);
    if (r == 0)
        r = cor_builder_new(copy, &b);
    if (r < 0)
        return r;
    /* The first failure is the result of `finish`. */
    (void)cor_builder_set_json(b, "status.conditions", cor_buf_str(&conditions));
    if (change->accepted_names.p)
        (void)cor_builder_set_json(b, "status.acceptedNames", change->accepted_names);
    if (change->drops_finalizer)
        (void)cor_builder_set_json(b, "metadata.finalizers", cor_buf_str(&finalizers));
    r = cor_builder_finish(b, ret_object, NULL);
    cor_builder_free(b);
    return r;
}
