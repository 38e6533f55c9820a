/* The hooks of CertificateSigningRequest: who sent a request is written by the server, conditions
 * get the times that a client left out, and /status cannot change a decision.
 *
 * A client chooses the number of conditions, so what is looked for among the old ones is read once
 * into a map.
 * Failures: no memory, or a member that grows beyond the maximum. Thread: any. */
#include <assert.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/map.h"
#include "meta/object/object.h"
#include "meta/value/time_text.h"
#include "schema/convert/conversion.h"
#include "schema/strategies/strategy_hooks.h"
#include "json/text/scan.h"
#include "json/write/edits.h"

static struct cor_str certificate_conditions(struct cor_str status)
{
    return cor_convert_member(status, "conditions");
}

static struct cor_json_iter certificate_iter(struct cor_str conditions)
{
    return cor_json_iter(conditions.p ? conditions : COR_STR("[]"));
}

/* Appends the status with other conditions; none: without the member. 1, or a failure. */
static int certificate_replace(struct cor_str status, struct cor_str conditions,
                               struct cor_buf *out)
{
    struct cor_edits edits = {.n = 0};
    int r;

    cor_edits_set(&edits, COR_STR("conditions"),
                  conditions.n > 2 ? conditions : (struct cor_str){NULL, 0});
    r = cor_edits_apply(&edits, status.p ? status : COR_STR("{}"), out);
    return r < 0 ? r : 1;
}

/* What the client says about itself is replaced by what the server knows. */
int cor_strategy_requester(const struct cor_prepare *prepare, struct cor_str spec,
                           struct cor_buf *out)
{
    static const char *const members[] = {"extra", "groups", "uid", "username"};
    struct cor_edits edits = {.n = 0};
    int r;

    assert(prepare->sender.p);
    for (size_t i = 0; i < COR_ARRAY_LEN(members); i++)
        cor_edits_set(&edits, cor_strz(members[i]),
                      cor_convert_member(prepare->sender, members[i]));
    r = cor_edits_apply(&edits, spec.p ? spec : COR_STR("{}"), out);
    return r < 0 ? r : 1;
}

/* The next condition of this type, as JSON. False: there is none. */
static bool certificate_next(struct cor_json_iter *it, const char *type, struct cor_str *ret)
{
    while (cor_json_iter_elem(it)) {
        *ret = cor_json_iter_value(it);
        if (cor_convert_is_text(cor_convert_member(*ret, "type"), type))
            return true;
    }
    return false;
}

static size_t certificate_count(struct cor_str conditions, const char *type)
{
    struct cor_json_iter it = certificate_iter(conditions);
    struct cor_str ignored;
    size_t n = 0;

    while (certificate_next(&it, type, &ignored))
        n++;
    return n;
}

/* /status leaves Approved and Denied as they are. Where their number has changed they stay as sent,
 * and validation refuses them. */
int cor_strategy_decided_conditions(const struct cor_prepare *prepare, struct cor_str status,
                                    struct cor_buf *out)
{
    static const char *const decisions[] = {"Approved", "Denied"};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf made = {.max = COR_OBJECT_BYTES_MAX_DEFAULT};
    struct cor_str before = certificate_conditions(cor_convert_member(prepare->old, "status"));
    struct cor_str after = certificate_conditions(status);
    struct cor_json_iter it = certificate_iter(after);
    struct cor_json_iter kept[COR_ARRAY_LEN(decisions)];
    bool keeps[COR_ARRAY_LEN(decisions)], keeps_any = false;
    struct cor_json_writer w;
    int r;

    for (size_t i = 0; i < COR_ARRAY_LEN(decisions); i++) {
        size_t n = certificate_count(before, decisions[i]);

        kept[i] = certificate_iter(before);
        keeps[i] = n > 0 && n == certificate_count(after, decisions[i]);
        keeps_any = keeps_any || keeps[i];
    }
    if (!keeps_any)
        return 0;
    cor_json_writer_init(&w, &made);
    cor_json_begin_array(&w);
    while (cor_json_iter_elem(&it)) {
        struct cor_str condition = cor_json_iter_value(&it);
        struct cor_str type = cor_convert_member(condition, "type");

        for (size_t i = 0; i < COR_ARRAY_LEN(decisions); i++) {
            if (keeps[i] && cor_convert_is_text(type, decisions[i]))
                (void)certificate_next(&kept[i], decisions[i], &condition);
        }
        cor_json_raw(&w, condition);
    }
    cor_json_end_array(&w);
    r = cor_json_writer_finish(&w);
    return r < 0 ? r : certificate_replace(status, cor_buf_str(&made), out);
}

/* /approval takes the conditions, and the rest of the status stays. */
int cor_strategy_approval(const struct cor_prepare *prepare, struct cor_str status,
                          struct cor_buf *out)
{
    return certificate_replace(cor_convert_member(prepare->old, "status"),
                               certificate_conditions(status), out);
}

/* The lastTransitionTime of each old condition, by its type and status. */
struct transitions {
    struct cor_map by_key; /* to the start of the time in the old object */
    struct cor_buf keys;   /* the keys' bytes, reserved before the first one */
    struct cor_buf wanted; /* the key that is looked for */
    const char *end;       /* of the old conditions */
};

static void transitions_deinit(struct transitions *t)
{
    cor_map_deinit(&t->by_key);
    cor_buf_deinit(&t->keys);
    cor_buf_deinit(&t->wanted);
}

/* Appends the key of a condition: its type and status, as JSON. */
static int transitions_add_key(struct cor_str condition, struct cor_buf *out)
{
    struct cor_str type = cor_convert_member(condition, "type");
    struct cor_str status = cor_convert_member(condition, "status");

    return cor_buf_addf(out, "%.*s:%.*s", COR_STR_ARG(type.p ? type : COR_STR("")),
                        COR_STR_ARG(status.p ? status : COR_STR("")));
}

static int transitions_init(struct transitions *t, struct cor_str old_conditions)
{
    struct cor_str conditions = old_conditions.p ? old_conditions : COR_STR("[]");
    struct cor_json_iter it = cor_json_iter(conditions);
    int r;

    t->end = conditions.p + conditions.n;
    cor_map_init(&t->by_key, COR_OBJECT_BYTES_MAX_DEFAULT);
    cor_buf_init(&t->keys, 2 * COR_OBJECT_BYTES_MAX_DEFAULT);
    cor_buf_init(&t->wanted, 2 * COR_OBJECT_BYTES_MAX_DEFAULT);
    r = cor_buf_reserve(&t->keys, conditions.n);
    while (r == 0 && cor_json_iter_elem(&it)) {
        struct cor_str old = cor_json_iter_value(&it), key;
        struct cor_str at = cor_convert_member(old, "lastTransitionTime");
        size_t mark = t->keys.n;

        if (!at.p)
            continue;
        r = transitions_add_key(old, &t->keys);
        key = cor_str_from(cor_buf_str(&t->keys), mark);
        /* The first of equal keys counts. */
        if (r == 0 && !cor_map_peek(&t->by_key, key))
            r = cor_map_put(&t->by_key, key, (void *)at.p, NULL);
    }
    return r;
}

/* The old lastTransitionTime when the old list has the condition in this status, else `now`. */
static int transitions_find(struct transitions *t, struct cor_str condition, struct cor_str now,
                            struct cor_str *ret)
{
    const char *at;
    int r;

    cor_buf_reset(&t->wanted);
    r = transitions_add_key(condition, &t->wanted);
    if (r < 0)
        return r;
    at = cor_map_peek(&t->by_key, cor_buf_str(&t->wanted));
    *ret = at ? cor_json_first_value(cor_str(at, (size_t)(t->end - at))) : now;
    return 0;
}

/* A condition has lastUpdateTime and lastTransitionTime; what the client left out is filled in. */
int cor_strategy_condition_times(const struct cor_prepare *prepare, struct cor_str status,
                                 struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf made = {.max = COR_OBJECT_BYTES_MAX_DEFAULT};
    COR_CLEANUP(transitions_deinit) struct transitions since;
    struct cor_str conditions = certificate_conditions(status);
    struct cor_json_iter it = certificate_iter(conditions);
    char quoted[COR_TIME_TEXT_MAX + 2];
    struct cor_str now = cor_time_print(prepare->now_s, quoted + 1);
    struct cor_json_writer w;
    int r = transitions_init(&since,
                             certificate_conditions(cor_convert_member(prepare->old, "status")));

    quoted[0] = quoted[now.n + 1] = '"';
    now = cor_str(quoted, now.n + 2);
    if (!conditions.p)
        return r;
    cor_json_writer_init(&w, &made);
    cor_json_begin_array(&w);
    while (r == 0 && cor_json_iter_elem(&it)) {
        struct cor_str condition = cor_json_iter_value(&it), moved = now;
        struct cor_edits edits = {.n = 0};

        if (!cor_convert_member(condition, "lastUpdateTime").p)
            cor_edits_set(&edits, COR_STR("lastUpdateTime"), now);
        if (!cor_convert_member(condition, "lastTransitionTime").p) {
            r = transitions_find(&since, condition, now, &moved);
            cor_edits_set(&edits, COR_STR("lastTransitionTime"), moved);
        }
        cor_json_begin_object(&w);
        cor_edits_write(&edits, condition, false, &w);
        cor_json_end_object(&w);
    }
    cor_json_end_array(&w);
    if (r == 0)
        r = cor_json_writer_finish(&w);
    return r < 0 ? r : certificate_replace(status, cor_buf_str(&made), out);
}
