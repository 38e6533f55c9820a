/* Identities whose names are copies. The text of a draft is one allocation of the size that its
 * maker counted; it never grows, so that views of it stay valid. */
#include "server/access/identity.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "http/url.h"

void cor_identity_deinit(struct cor_identity *identity)
{
    identity->groups = cor_free(identity->groups);
    identity->extras = cor_free(identity->extras);
    identity->text = cor_free(identity->text);
    identity->kept = cor_kept_user_unref(identity->kept);
}

struct cor_kept_user *cor_kept_user_new(struct cor_identity *take_identity)
{
    struct cor_kept_user *kept = cor_alloc(sizeof(*kept));

    if (!kept) {
        cor_identity_deinit(take_identity);
        return NULL;
    }
    cor_ref_init(&kept->ref);
    kept->identity = *take_identity;
    return kept;
}

struct cor_kept_user *cor_kept_user_unref(struct cor_kept_user *kept)
{
    if (kept && cor_ref_put(&kept->ref)) {
        cor_identity_deinit(&kept->identity);
        cor_free(kept);
    }
    return NULL;
}

bool cor_user_is_in(const struct cor_user *user, struct cor_str group)
{
    for (size_t i = 0; i < user->ngroups; i++)
        if (cor_str_eq(user->groups[i], group))
            return true;
    return false;
}

int cor_identity_draft_init(struct cor_identity_draft *draft, size_t ngroups, size_t nextras,
                            size_t text_bytes)
{
    *draft = (struct cor_identity_draft){0};
    cor_buf_init(&draft->text, text_bytes + 1);
    draft->id.groups = cor_calloc(ngroups + 1, sizeof(draft->id.groups[0]));
    draft->id.extras = cor_calloc(nextras + 1, sizeof(draft->id.extras[0]));
    if (!draft->id.groups || !draft->id.extras ||
        cor_buf_reserve(&draft->text, text_bytes + 1) < 0) {
        cor_identity_draft_deinit(draft);
        return -COR_ENOMEM;
    }
    draft->id.user.groups = draft->id.groups;
    draft->id.user.extras = draft->id.extras;
    return 0;
}

void cor_identity_draft_deinit(struct cor_identity_draft *draft)
{
    cor_identity_deinit(&draft->id);
    cor_buf_deinit(&draft->text);
}

struct cor_str cor_identity_draft_keep(struct cor_identity_draft *draft, struct cor_str s)
{
    size_t at = draft->text.n;

    assert(draft->text.n + s.n <= draft->text.max);
    (void)cor_buf_adds(&draft->text, s);
    return cor_str(draft->text.p + at, draft->text.n - at);
}

struct cor_str cor_identity_draft_keep_key(struct cor_identity_draft *draft, struct cor_str raw)
{
    struct cor_str key = cor_identity_draft_keep(draft, raw);
    char *p = draft->text.p + draft->text.n - key.n;
    size_t at = draft->text.n;

    for (size_t i = 0; i < key.n; i++)
        p[i] = (char)tolower((unsigned char)p[i]);
    if (cor_url_unescape(key, COR_URL_PATH, &draft->text) < 0) {
        cor_buf_truncate(&draft->text, at);
        return key;
    }
    return cor_str(draft->text.p + at, draft->text.n - at);
}

void cor_identity_draft_add_group(struct cor_identity_draft *draft, struct cor_str group)
{
    draft->id.groups[draft->id.user.ngroups++] = group;
}

void cor_identity_draft_add_extra(struct cor_identity_draft *draft, struct cor_str key,
                                  struct cor_str value)
{
    draft->id.extras[draft->id.user.nextras++] = (struct cor_user_extra){key, value};
}

void cor_identity_draft_add_authenticated(struct cor_identity_draft *draft)
{
    const struct cor_user *user = &draft->id.user;

    if (!cor_str_eqz(user->name, "system:anonymous") &&
        !cor_user_is_in(user, COR_STR("system:authenticated")) &&
        !cor_user_is_in(user, COR_STR("system:unauthenticated")))
        cor_identity_draft_add_group(draft, COR_STR("system:authenticated"));
}

/* By key, then in the order of adding, which is the order of the texts. */
static int compare_extras(const void *a, const void *b)
{
    const struct cor_user_extra *x = a, *y = b;
    int order = cor_str_cmp(x->key, y->key);

    return order ? order : (x->value.p > y->value.p) - (x->value.p < y->value.p);
}

struct cor_identity cor_identity_draft_finish(struct cor_identity_draft *draft)
{
    struct cor_identity id = draft->id;

    if (id.user.nextras > 1)
        qsort(id.extras, id.user.nextras, sizeof(id.extras[0]), compare_extras);
    id.text = draft->text.p;
    *draft = (struct cor_identity_draft){0};
    return id;
}
