/* The settings of front proxies, and the reading of their headers. Names of headers are compared
 * without case and otherwise exactly: `X_Remote_User` is another header. Of a user name or a uid
 * that is sent twice the first counts; each value of a group header is a group.
 *
 * cor_front_proxy_identify() reads the headers twice: to count what it needs room for, and to copy.
 */
#include "server/access/front_proxy.h"

#include <assert.h>
#include <strings.h>

#include "base/err.h"
#include "base/mem.h"
#include "net/stream/peer.h"
#include "json/text/json.h"
#include "json/text/scan.h"

struct names {
    char **items;
    size_t n;
};

struct cor_front_proxy {
    struct cor_ref ref;
    struct names lists[COR_PROXY_LISTS];
};

static const struct {
    const char *name;
    const char *standard; /* what a proxy of Kubernetes sends; NULL: nothing is usual */
    bool is_needed;       /* a list without it is refused: this flag came later than the others */
} lists[COR_PROXY_LISTS] = {
    [COR_PROXY_USERNAMES] = {"requestheader-username-headers", "X-Remote-User", false},
    [COR_PROXY_UIDS] = {"requestheader-uid-headers", "X-Remote-Uid", true},
    [COR_PROXY_GROUPS] = {"requestheader-group-headers", "X-Remote-Group", false},
    [COR_PROXY_EXTRA_PREFIXES] = {"requestheader-extra-headers-prefix", "X-Remote-Extra-", false},
    [COR_PROXY_ALLOWED] = {"requestheader-allowed-names", NULL, false},
};

const char *cor_front_proxy_list_name(enum cor_front_proxy_list list)
{
    assert(list < COR_PROXY_LISTS);
    return lists[list].name;
}

int cor_front_proxy_new(struct cor_front_proxy **ret_proxy)
{
    struct cor_front_proxy *proxy = cor_calloc(1, sizeof(*proxy));

    if (!proxy)
        return -COR_ENOMEM;
    cor_ref_init(&proxy->ref);
    *ret_proxy = proxy;
    return 0;
}

struct cor_front_proxy *cor_front_proxy_ref(struct cor_front_proxy *proxy)
{
    cor_ref_get(&proxy->ref);
    return proxy;
}

struct cor_front_proxy *cor_front_proxy_unref(struct cor_front_proxy *proxy)
{
    if (!proxy || !cor_ref_put(&proxy->ref))
        return NULL;
    for (size_t i = 0; i < COR_PROXY_LISTS; i++) {
        for (size_t j = 0; j < proxy->lists[i].n; j++)
            cor_free(proxy->lists[i].items[j]);
        cor_free(proxy->lists[i].items);
    }
    return cor_free(proxy);
}

int cor_front_proxy_add(struct cor_front_proxy *proxy, enum cor_front_proxy_list list,
                        struct cor_str name)
{
    struct names *names = &proxy->lists[list];
    char **items, *copy;

    if (names->n == COR_FRONT_PROXY_NAMES_MAX)
        return -COR_ETOOBIG;
    items = cor_realloc(names->items, (names->n + 1) * sizeof(*items));
    if (!items)
        return -COR_ENOMEM;
    names->items = items;
    copy = cor_strndup(name.p, name.n);
    if (!copy)
        return -COR_ENOMEM;
    names->items[names->n++] = copy;
    return 0;
}

static bool has_name(const struct names *names, const char *name)
{
    for (size_t i = 0; i < names->n; i++)
        if (strcasecmp(names->items[i], name) == 0)
            return true;
    return false;
}

int cor_front_proxy_add_flag(struct cor_front_proxy *proxy, enum cor_front_proxy_list list,
                             const char *value, struct cor_status *reterr_status)
{
    struct cor_str rest = cor_strz(value);
    int r = 0;

    while (r == 0 && rest.p) {
        struct cor_str name = cor_str_cut(&rest, ',');

        if (cor_str_trim(name).n == 0)
            return cor_status_set(reterr_status, -COR_EINVAL, "empty value in \"%s\"",
                                  lists[list].name);
        r = cor_front_proxy_add(proxy, list, name);
    }
    if (r < 0)
        return cor_status_set(reterr_status, r, "--%s: %s", lists[list].name, cor_err_text(r));
    if (lists[list].is_needed && !has_name(&proxy->lists[list], lists[list].standard))
        return cor_status_set(reterr_status, -COR_EINVAL,
                              "--%s is set without specifying the standard %s header - API "
                              "aggregation will not work",
                              lists[list].name, lists[list].standard);
    return 0;
}

static int add_json_name(struct cor_front_proxy *proxy, enum cor_front_proxy_list list,
                         struct cor_str value)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf room;
    struct cor_str raw, text;
    int r = cor_json_to_raw(value, &raw);

    cor_buf_init(&room, raw.n + 1);
    if (r < 0)
        return -COR_EINVAL;
    if (cor_buf_reserve(&room, raw.n + 1) < 0)
        return -COR_ENOMEM;
    if (cor_json_unescape(raw, room.p, raw.n, &text) < 0 || memchr(text.p, '\0', text.n))
        return -COR_EINVAL;
    return text.n > 0 ? cor_front_proxy_add(proxy, list, text) : 0;
}

int cor_front_proxy_add_json(struct cor_front_proxy *proxy, enum cor_front_proxy_list list,
                             struct cor_str json)
{
    static const struct cor_json_limits limits = COR_JSON_LIMITS_DEFAULT;
    struct cor_json_iter it;
    bool is_canonical;
    int r = 0;

    json = cor_str_trim(json);
    if (json.n == 0)
        return 0;
    if (cor_json_check(json, &limits, &is_canonical, NULL) < 0 ||
        cor_json_type(json) != COR_JSON_ARRAY)
        return -COR_EINVAL;
    it = cor_json_iter(json);
    while (r == 0 && cor_json_iter_elem(&it))
        r = add_json_name(proxy, list, cor_json_iter_value(&it));
    return r;
}

/* The first value of the first header whose first value is not empty. */
static struct cor_str find_value(const struct names *names, const struct cor_http_request *req)
{
    for (size_t i = 0; i < names->n; i++) {
        struct cor_str value = cor_http_request_header(req, cor_strz(names->items[i]));

        if (value.n > 0)
            return value;
    }
    return COR_STR("");
}

static bool has_prefix(struct cor_str name, const char *prefix, size_t n)
{
    return name.n >= n && strncasecmp(name.p, prefix, n) == 0;
}

/* The groups are in the order of the settings' headers, then in that of the request. With a NULL
 * draft they are counted only. */
static size_t read_groups(const struct names *names, const struct cor_http_request *req,
                          struct cor_identity_draft *draft)
{
    size_t n = 0;

    for (size_t i = 0; i < names->n; i++) {
        for (size_t j = 0; j < req->nheaders; j++) {
            struct cor_str value = req->headers[j].value;

            if (value.n == 0 ||
                !cor_header_name_eq(req->headers[j].name, cor_strz(names->items[i])))
                continue;
            if (draft)
                cor_identity_draft_add_group(draft, cor_identity_draft_keep(draft, value));
            n++;
        }
    }
    return n;
}

static size_t read_extras(const struct names *prefixes, const struct cor_http_request *req,
                          struct cor_identity_draft *draft)
{
    size_t n = 0;

    for (size_t i = 0; i < prefixes->n; i++) {
        size_t len = strlen(prefixes->items[i]);

        for (size_t j = 0; j < req->nheaders; j++) {
            struct cor_str name = req->headers[j].name, key;

            if (!has_prefix(name, prefixes->items[i], len))
                continue;
            if (draft) {
                key = cor_identity_draft_keep_key(draft, cor_str_from(name, len));
                cor_identity_draft_add_extra(draft, key,
                                             cor_identity_draft_keep(draft, req->headers[j].value));
            }
            n++;
        }
    }
    return n;
}

/* A header may match several settings; each match copies its name twice and its value once at
 * most. */
static size_t count_bytes(const struct cor_front_proxy *proxy, const struct cor_http_request *req)
{
    size_t times = proxy->lists[COR_PROXY_GROUPS].n + proxy->lists[COR_PROXY_EXTRA_PREFIXES].n + 2;
    size_t n = 0;

    for (size_t i = 0; i < req->nheaders; i++)
        n += 2 * req->headers[i].name.n + req->headers[i].value.n;
    return n * times;
}

static bool is_allowed(const struct names *allowed, struct cor_str common_name)
{
    for (size_t i = 0; i < allowed->n; i++)
        if (cor_str_eqz(common_name, allowed->items[i]))
            return true;
    return allowed->n == 0;
}

int cor_front_proxy_identify(const struct cor_front_proxy *proxy, const struct cor_peer_cert *cert,
                             const struct cor_http_request *req, struct cor_identity *ret_identity)
{
    const struct names *groups = &proxy->lists[COR_PROXY_GROUPS];
    const struct names *extras = &proxy->lists[COR_PROXY_EXTRA_PREFIXES];
    struct cor_str name = find_value(&proxy->lists[COR_PROXY_USERNAMES], req);
    struct cor_identity_draft draft;
    int r;

    assert(proxy && cert && req);
    if (!is_allowed(&proxy->lists[COR_PROXY_ALLOWED], cert->common_name))
        return -COR_EUNAUTHORIZED;
    if (name.n == 0)
        return 0;
    r = cor_identity_draft_init(&draft, read_groups(groups, req, NULL),
                                read_extras(extras, req, NULL), count_bytes(proxy, req));
    if (r < 0)
        return r;
    draft.id.user.name = cor_identity_draft_keep(&draft, name);
    draft.id.user.uid =
        cor_identity_draft_keep(&draft, find_value(&proxy->lists[COR_PROXY_UIDS], req));
    (void)read_groups(groups, req, &draft);
    (void)read_extras(extras, req, &draft);
    cor_identity_draft_add_authenticated(&draft);
    *ret_identity = cor_identity_draft_finish(&draft);
    ret_identity->sender = cert->common_name;
    return 1;
}
