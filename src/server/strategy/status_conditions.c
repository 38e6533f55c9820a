#include "server/strategy/status_conditions.h"

#include <assert.h>

#include "base/limits.h"
#include "meta/value/time_text.h"
#include "schema/convert/conversion.h"
#include "json/text/scan.h"
#include "json/write/edits.h"
#include "json/write/print.h"

static void write_condition(struct cor_json_writer *w, const struct cor_condition *c,
                            struct cor_str transition, int64_t now_s)
{
    char text[COR_TIME_TEXT_MAX];

    cor_json_begin_object(w);
    if (c->is_probed) {
        cor_json_key(w, COR_STR("lastProbeTime"));
        cor_json_null(w);
    }
    cor_json_key(w, COR_STR("lastTransitionTime"));
    if (transition.p)
        cor_json_raw(w, transition);
    else
        cor_json_string(w, cor_time_print(now_s, text));
    if (c->message)
        cor_json_member(w, COR_STR("message"), cor_strz(c->message));
    if (c->observed_generation > 0) {
        cor_json_key(w, COR_STR("observedGeneration"));
        cor_json_i64(w, c->observed_generation);
    }
    if (c->reason)
        cor_json_member(w, COR_STR("reason"), cor_strz(c->reason));
    cor_json_print(w, "status:%s,type:%s}", c->status, c->type);
}

/* The members of a status have not been checked: anything but an array counts as empty. */
static struct cor_json_iter iter_of(struct cor_str conditions)
{
    bool is_array = conditions.p && cor_json_type(conditions) == COR_JSON_ARRAY;

    return cor_json_iter(is_array ? conditions : COR_STR("[]"));
}

int cor_condition_set(struct cor_str conditions, const struct cor_condition *condition,
                      int64_t now_s, struct cor_buf *out)
{
    struct cor_json_iter it = iter_of(conditions);
    struct cor_str none = {NULL, 0};
    struct cor_json_writer w;
    bool is_set = false;

    assert(condition->type && condition->status);
    cor_json_writer_init(&w, out);
    cor_json_begin_array(&w);
    while (cor_json_iter_elem(&it)) {
        struct cor_str old = cor_json_iter_value(&it);
        bool same = cor_convert_is_text(cor_convert_member(old, "status"), condition->status);

        if (is_set || !cor_convert_is_text(cor_convert_member(old, "type"), condition->type)) {
            cor_json_raw(&w, old);
            continue;
        }
        write_condition(&w, condition, same ? cor_convert_member(old, "lastTransitionTime") : none,
                        now_s);
        is_set = true;
    }
    if (!is_set)
        write_condition(&w, condition, none, now_s);
    cor_json_end_array(&w);
    return cor_json_writer_finish(&w);
}

int cor_condition_set_in(struct cor_str status, const struct cor_condition *condition,
                         int64_t now_s, struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf conditions = {0};
    struct cor_edits edits = {.n = 0};
    int r;

    cor_buf_init(&conditions, COR_OBJECT_BYTES_MAX_DEFAULT);
    r = cor_condition_set(cor_convert_member(status, "conditions"), condition, now_s, &conditions);
    if (r < 0)
        return r;
    cor_edits_set(&edits, COR_STR("conditions"), cor_buf_str(&conditions));
    return cor_edits_apply(&edits, status.p ? status : COR_STR("{}"), out);
}

struct cor_str cor_condition_status(struct cor_str conditions, const char *type)
{
    struct cor_json_iter it = iter_of(conditions);

    while (cor_json_iter_elem(&it)) {
        struct cor_str condition = cor_json_iter_value(&it);

        if (cor_convert_is_text(cor_convert_member(condition, "type"), type))
            return cor_convert_member(condition, "status");
    }
    return (struct cor_str){NULL, 0};
}
