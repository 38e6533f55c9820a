/* What a check remembers of the texts that it met: names that must not be repeated in a list, or
 * that another part of the object refers to. Each topic knows the texts of one list at a time, and
 * forgets them with the next.
 *
 * Failures: no memory, which is kept in the errors; a text then counts as new. Thread: one at a
 * time. */
#include "base/err.h"
#include "base/limits.h"
#include "base/mem.h"
#include "schema/check/check.h"

/* A number for each list of both objects, and one for a list that is absent; never 0. */
static uint64_t scope_of(const struct cor_place *list)
{
    return ((uint64_t)list->is_old << 32 | (list->is_old ? list->old : list->node)) + 1;
}

bool cor_check_see(struct cor_check *check, enum cor_check_topic topic,
                   const struct cor_place *scope, struct cor_str text)
{
    uint64_t wanted = scope_of(scope);
    struct cor_check_seen *seen;
    bool is_new = true;

    if (!check->seen) {
        check->seen = cor_calloc(COR_SEEN_TOPICS, sizeof(*check->seen));
        if (!check->seen) {
            cor_check_note(check, -COR_ENOMEM);
            return true;
        }
    }
    seen = &check->seen[topic];
    if (seen->scope != wanted) {
        cor_str_set_deinit(&seen->texts);
        cor_str_set_init(&seen->texts, COR_OBJECT_BYTES_MAX_DEFAULT);
        seen->scope = wanted;
    }
    cor_check_note(check, cor_str_set_add(&seen->texts, text, &is_new));
    return is_new;
}

bool cor_check_has_seen(const struct cor_check *check, enum cor_check_topic topic,
                        struct cor_str text)
{
    return check->seen && cor_str_set_has(&check->seen[topic].texts, text);
}

void cor_check_forget(struct cor_check *check, enum cor_check_topic topic)
{
    if (!check->seen)
        return;
    cor_str_set_deinit(&check->seen[topic].texts);
    check->seen[topic] = (struct cor_check_seen){0};
}

void cor_check_forget_all(struct cor_check *check)
{
    for (size_t i = 0; check->seen && i < COR_SEEN_TOPICS; i++) {
        cor_str_set_deinit(&check->seen[i].texts);
        cor_str_set_init(&check->seen[i].texts, COR_OBJECT_BYTES_MAX_DEFAULT);
    }
}

bool cor_check_was_there(struct cor_check *check, const struct cor_place *list, const char *field,
                         struct cor_str text)
{
    struct cor_place old = cor_place_old(list), item;

    if (!check->has_old || !cor_place_is_present(&old))
        return false;
    if (!check->seen || check->seen[COR_SEEN_OLD_ELEMENTS].scope != scope_of(list)) {
        COR_EACH(check, &old, item)
            (void)cor_check_see(check, COR_SEEN_OLD_ELEMENTS, list,
                                field ? cor_field_text(check, &item, field)
                                      : cor_place_text(check, &item));
    }
    return cor_check_has_seen(check, COR_SEEN_OLD_ELEMENTS, text);
}
