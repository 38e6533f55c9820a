/* Upstream's order: plural, singular, short names, kind, list kind. Each name that is free is
 * accepted even when others are not; the last conflict is the one that the condition shows. Short
 * names are accepted together or not at all. */
#include "server/crd/naming.h"

#include <assert.h>

#include "base/err.h"
#include "json/write/writer.h"

#define NAMES_MAX (256u * 1024)

static struct cor_str name_of(struct cor_view names, const char *member)
{
    return cor_view_text_or(cor_view_member(names, cor_strz(member)), NULL, 0, "");
}

static int add_list(struct cor_view list, struct cor_str_set *set)
{
    struct cor_view_iter it = cor_view_iter(list);
    bool is_new;
    int r = 0;

    while (r == 0 && cor_view_next(&it))
        r = cor_str_set_add(set, cor_view_text_or(it.value, NULL, 0, ""), &is_new);
    return r;
}

static bool list_has(struct cor_view list, struct cor_str name)
{
    struct cor_view_iter it = cor_view_iter(list);

    while (cor_view_next(&it)) {
        if (cor_str_eq(cor_view_text_or(it.value, NULL, 0, ""), name))
            return true;
    }
    return false;
}

bool cor_names_have(struct cor_view accepted, enum cor_name_pool pool, struct cor_str name)
{
    if (pool == COR_POOL_KINDS)
        return cor_str_eq(name_of(accepted, "kind"), name) ||
               cor_str_eq(name_of(accepted, "listKind"), name);
    return cor_str_eq(name_of(accepted, "plural"), name) ||
           cor_str_eq(name_of(accepted, "singular"), name) ||
           list_has(cor_view_member(accepted, COR_STR("shortNames")), name);
}

int cor_names_add(struct cor_view accepted, struct cor_str_set *set)
{
    bool is_new;
    int r = cor_str_set_add(set, name_of(accepted, "plural"), &is_new);

    if (r == 0)
        r = cor_str_set_add(set, name_of(accepted, "singular"), &is_new);
    return r < 0 ? r : add_list(cor_view_member(accepted, COR_STR("shortNames")), set);
}

void cor_naming_deinit(struct cor_naming *naming)
{
    cor_buf_deinit(&naming->accepted);
    cor_buf_deinit(&naming->message);
}

/* What one judgement works on. */
struct judge {
    struct cor_view asked, accepted;
    bool (*is_used)(void *arg, enum cor_name_pool pool, struct cor_str name);
    void *arg;
    const char *reason; /* of the last conflict; NULL: there is none */
    struct cor_buf *message;
    int r;
};

static void judge_conflict(struct judge *j, const char *reason)
{
    j->reason = reason;
    cor_buf_reset(j->message);
}

/* The name to accept for one member: the one asked for, or what is accepted already. */
static struct cor_str judge_name(struct judge *j, const char *member, enum cor_name_pool pool,
                                 const char *reason)
{
    struct cor_str asked = name_of(j->asked, member), accepted = name_of(j->accepted, member);

    if (cor_str_eq(asked, accepted) || !j->is_used(j->arg, pool, asked))
        return asked;
    judge_conflict(j, reason);
    if (j->r == 0)
        j->r = cor_buf_addf(j->message, "\"%.*s\" is already in use", COR_STR_ARG(asked));
    return accepted;
}

/* The short names to accept, as a list. Several conflicts are one message, as Go prints a list of
 * errors, which leaves out repeated ones. */
static struct cor_view judge_short_names(struct judge *j)
{
    struct cor_view asked = cor_view_member(j->asked, COR_STR("shortNames"));
    struct cor_view accepted = cor_view_member(j->accepted, COR_STR("shortNames"));
    struct cor_view_iter it = cor_view_iter(asked);
    struct cor_str_set own;
    struct cor_str names[64];
    size_t n = 0;

    cor_str_set_init(&own, NAMES_MAX);
    if (j->r == 0)
        j->r = add_list(accepted, &own);
    while (j->r == 0 && cor_view_next(&it) && n < COR_ARRAY_LEN(names)) {
        struct cor_str name = cor_view_text_or(it.value, NULL, 0, "");
        bool is_known = cor_str_set_has(&own, name);

        for (size_t i = 0; i < n && !is_known; i++)
            is_known = cor_str_eq(names[i], name);
        if (!is_known && j->is_used(j->arg, COR_POOL_RESOURCES, name))
            names[n++] = name;
    }
    cor_str_set_deinit(&own);
    if (n == 0)
        return asked;
    judge_conflict(j, "ShortNamesConflict");
    if (j->r == 0 && n > 1)
        j->r = cor_buf_addc(j->message, '[');
    for (size_t i = 0; i < n && j->r == 0; i++)
        j->r = cor_buf_addf(j->message, "%s\"%.*s\" is already in use", i > 0 ? ", " : "",
                            COR_STR_ARG(names[i]));
    if (j->r == 0 && n > 1)
        j->r = cor_buf_addc(j->message, ']');
    return accepted;
}

static void write_list(struct cor_json_writer *w, const char *member, struct cor_view list)
{
    if (cor_view_len(list) == 0)
        return;
    cor_json_key(w, cor_strz(member));
    cor_json_raw(w, list.json);
}

static void write_name(struct cor_json_writer *w, const char *member, struct cor_str name,
                       bool is_required)
{
    if (name.n > 0 || is_required)
        cor_json_member(w, cor_strz(member), name);
}

/* Writes the accepted names, sorted. */
static int judge_write(struct judge *j, struct cor_buf *out)
{
    struct cor_str plural = judge_name(j, "plural", COR_POOL_RESOURCES, "PluralConflict");
    struct cor_str singular = judge_name(j, "singular", COR_POOL_RESOURCES, "SingularConflict");
    struct cor_view short_names = judge_short_names(j);
    struct cor_str kind = judge_name(j, "kind", COR_POOL_KINDS, "KindConflict");
    struct cor_str list_kind = judge_name(j, "listKind", COR_POOL_KINDS, "ListKindConflict");
    struct cor_json_writer w;

    cor_json_writer_init(&w, out);
    cor_json_begin_object(&w);
    write_list(&w, "categories", cor_view_member(j->asked, COR_STR("categories")));
    write_name(&w, "kind", kind, true);
    write_name(&w, "listKind", list_kind, false);
    write_name(&w, "plural", plural, true);
    write_list(&w, "shortNames", short_names);
    write_name(&w, "singular", singular, false);
    cor_json_end_object(&w);
    return cor_json_writer_finish(&w);
}

int cor_naming_judge(const struct cor_crd *crd,
                     bool (*is_used)(void *arg, enum cor_name_pool pool, struct cor_str name),
                     void *arg, struct cor_naming *ret_naming)
{
    struct judge j = {.asked = cor_crd_spec(crd, "names"),
                      .accepted = cor_crd_status(crd, "acceptedNames"),
                      .is_used = is_used,
                      .arg = arg,
                      .message = &ret_naming->message};
    struct cor_crd_condition *conditions = ret_naming->change.conditions;
    int r;

    *ret_naming = (struct cor_naming){0};
    cor_buf_init(&ret_naming->accepted, NAMES_MAX);
    cor_buf_init(&ret_naming->message, NAMES_MAX);
    if (cor_str_eq(j.asked.json, j.accepted.json))
        return 0;
    r = judge_write(&j, &ret_naming->accepted);
    if (r == 0)
        r = j.r;
    if (r < 0)
        return r;
    conditions[0] = (struct cor_crd_condition){
        .type = "NamesAccepted",
        .reason = j.reason ? j.reason : "NoConflicts",
        .message = j.reason ? cor_buf_str(&ret_naming->message) : COR_STR("no conflicts found"),
        .is_true = !j.reason,
    };
    if (cor_str_eq(cor_buf_str(&ret_naming->accepted), j.accepted.json) &&
        cor_crd_has_condition(crd, &conditions[0]))
        return 0;
    ret_naming->change.nconditions = 1;
    ret_naming->change.accepted_names = cor_buf_str(&ret_naming->accepted);
    if (!cor_crd_is_true(crd, "Established") && !j.reason) {
        conditions[1] = (struct cor_crd_condition){
            .type = "Established",
            .reason = "Installing",
            .message = COR_STR("the initial names have been accepted"),
        };
        ret_naming->change.nconditions = 2;
    } else if (!cor_view_exists(cor_crd_condition(crd, "Established"))) {
        conditions[1] = (struct cor_crd_condition){
            .type = "Established",
            .reason = "NotAccepted",
            .message = COR_STR("not all names are accepted"),
        };
        ret_naming->change.nconditions = 2;
    }
    return 1;
}
