/* A growing array of headers, each with name and value in one allocation, which is wiped before it
 * is freed. Names of extras are escaped as client-go escapes them, since a key may have any
 * character. Thread: one at a time. */
#include "kit/rest/header_list.h"

#include <ctype.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "net/crypto/crypto.h"

#define NAME_MAX_BYTES 4096

void cor_header_list_deinit(struct cor_header_list *l)
{
    for (size_t i = 0; i < l->n; i++) {
        char *text = (char *)l->at[i].name.p; /* name and value are one allocation */

        cor_secret_wipe(text, l->at[i].name.n + l->at[i].value.n);
        cor_free(text);
    }
    cor_free(l->at);
    *l = (struct cor_header_list){0};
}

static int header_list_grow(struct cor_header_list *l)
{
    return COR_ARRAY_RESERVE(&l->at, l->n, &l->cap, COR_ARRAY_NO_MAX);
}

int cor_header_list_add(struct cor_header_list *l, struct cor_str name, struct cor_str value)
{
    char *text;

    if (l->n == COR_HEADER_LIST_MAX)
        return -COR_ETOOBIG;
    if (l->n == l->cap && header_list_grow(l) < 0)
        return -COR_ENOMEM;
    text = cor_alloc(name.n + value.n + 1);
    if (!text)
        return -COR_ENOMEM;
    memcpy(text, name.p, name.n);
    if (value.n > 0)
        memcpy(text + name.n, value.p, value.n);
    l->at[l->n++] =
        (struct cor_http_header){cor_str(text, name.n), cor_str(text + name.n, value.n)};
    return 0;
}

/* May the character be in a header's name? '%' may, but it begins an escape here. */
static bool is_plain(unsigned char c)
{
    return isalnum(c) || (c && strchr("!#$&'*+-.^_`|~", c));
}

static int header_list_add_extra(struct cor_header_list *l, const struct cor_string_pair *extra)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf name;
    int r;

    cor_buf_init(&name, NAME_MAX_BYTES);
    r = cor_buf_addz(&name, "Impersonate-Extra-");
    for (const char *p = extra->key; r == 0 && *p; p++)
        r = is_plain((unsigned char)*p) ? cor_buf_addc(&name, *p)
                                        : cor_buf_addf(&name, "%%%02X", (unsigned char)*p);
    return r < 0 ? r : cor_header_list_add(l, cor_buf_str(&name), cor_strz(extra->value));
}

int cor_header_list_impersonate(struct cor_header_list *l, const struct cor_client_config *c)
{
    int r;

    if (!c->impersonate_user || !c->impersonate_user[0])
        return 0;
    r = cor_header_list_add(l, COR_STR("Impersonate-User"), cor_strz(c->impersonate_user));
    if (r == 0 && c->impersonate_uid && c->impersonate_uid[0])
        r = cor_header_list_add(l, COR_STR("Impersonate-Uid"), cor_strz(c->impersonate_uid));
    for (size_t i = 0; r == 0 && i < c->impersonate_groups.n; i++)
        r = cor_header_list_add(l, COR_STR("Impersonate-Group"),
                                cor_strz(c->impersonate_groups.items[i]));
    for (size_t i = 0; r == 0 && i < c->impersonate_extra.n; i++)
        r = header_list_add_extra(l, &c->impersonate_extra.items[i]);
    return r;
}
