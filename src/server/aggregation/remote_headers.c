/* clang-format off */
/* One pass over the client's headers decides which of them go on, then come those that the proxy sets:
 *
 *   the client's ──► removed: hop-by-hop, Host, lengths, Expect, Authorization, Impersonate-*, the user's
 *                ──► X-Forwarded-For: its values are joined, the client's address is added
 *                ──► X-Forwarded-Host, -Proto, -Uri and Audit-Id: set by the proxy
 *                ──► Sec-WebSocket-Protocol: without the part that is a bearer token
 *                ──► others: as they came
 *   then: X-Remote-User, -Uid, -Group for each group, -Extra-KEY for each value
 *
 * All text goes into one buffer, which may move while it grows: entries are offsets until the end.
 * What can fail: no memory, more than COR_REMOTE_HEADERS_MAX, a user's value with control characters,
 * or with blanks at its ends.
 * Thread: any. */
/* clang-format on */
#include "server/aggregation/remote_headers.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "http/response.h"
#include "server/aggregation/remote_url.h"

#define BEARER_PREFIX "base64url.bearer.authorization.k8s.io."

/* An entry while the buffer may move. */
struct entry {
    size_t name_at, name_n, value_at, value_n;
};

struct maker {
    struct cor_remote_head *head;
    const struct cor_remote_head_opts *opts;
    struct entry entries[COR_REMOTE_HEADERS_MAX];
    size_t n;
    size_t target_at, target_n;
};

/* --- names ------------------------------------------------------------------------------------ */

static char fold(char c)
{
    return c == '_' ? '-' : (char)tolower((unsigned char)c);
}

/* Returns whether the names are the same to a server that ignores case and does not distinguish
 * dashes and underscores. */
static bool starts_alike(struct cor_str name, struct cor_str prefix)
{
    if (name.n < prefix.n)
        return false;
    for (size_t i = 0; i < prefix.n; i++)
        if (fold(name.p[i]) != fold(prefix.p[i]))
            return false;
    return true;
}

static bool is_alike(struct cor_str name, struct cor_str other)
{
    return name.n == other.n && starts_alike(name, other);
}

static bool is_listed(struct cor_str name, const char *list, bool is_prefix)
{
    struct cor_str rest = cor_strz(list ? list : "");

    while (rest.n > 0) {
        struct cor_str one = cor_str_trim(cor_str_cut(&rest, ','));

        if (one.n > 0 && (is_prefix ? starts_alike(name, one) : is_alike(name, one)))
            return true;
    }
    return false;
}

/* Does the header say who the user is, or act as another? */
static bool is_of_user(struct cor_str name, const struct cor_remote_names *names)
{
    if (starts_alike(name, COR_STR("x-remote-extra-")) ||
        is_alike(name, COR_STR("x-remote-user")) || is_alike(name, COR_STR("x-remote-uid")) ||
        is_alike(name, COR_STR("x-remote-group")) || starts_alike(name, COR_STR("impersonate-")))
        return true;
    for (size_t i = 0; names && i < COR_ARRAY_LEN(names->names); i++)
        if (is_listed(name, names->names[i], false))
            return true;
    return names && is_listed(name, names->prefixes, true);
}

static bool is_one_of(struct cor_str name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (cor_header_name_eq(name, cor_strz(list[i])))
            return true;
    return false;
}

/* Headers about one connection, not about the request. */
static bool is_hop(struct cor_str name)
{
    static const char *const hops[] = {
        "connection", "proxy-connection", "keep-alive",        "proxy-authenticate",
        "te",         "trailer",          "transfer-encoding", "proxy-authorization",
        "upgrade"};

    return is_one_of(name, hops, COR_ARRAY_LEN(hops));
}

/* Is the header named by a Connection header? */
static bool is_named_by_connection(struct cor_str name, const struct cor_http_header *headers,
                                   size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (headers[i].name.n == sizeof("connection") - 1 &&
            cor_header_name_eq(headers[i].name, COR_STR("connection")) &&
            cor_header_has_token(headers[i].value, name))
            return true;
    return false;
}

bool cor_remote_is_upgrade(const struct cor_http_header *headers, size_t nheaders)
{
    for (size_t i = 0; i < nheaders; i++) {
        struct cor_str value = headers[i].value, word = COR_STR("upgrade");

        if (!cor_header_name_eq(headers[i].name, COR_STR("connection")))
            continue;
        for (; value.n >= word.n; value = cor_str_from(value, 1))
            if (starts_alike(value, word))
                return true;
    }
    return false;
}

/* --- making the head -------------------------------------------------------------------------- */

/* Begins a header; its value is what is added to the text until end_header(). */
static int begin_header(struct maker *m, struct cor_str name)
{
    struct entry *e = &m->entries[m->n];
    int r;

    if (m->n == COR_REMOTE_HEADERS_MAX - 1) /* X-Forwarded-Host comes later */
        return -COR_ETOOBIG;
    e->name_at = m->head->text.n;
    e->name_n = name.n;
    r = cor_buf_adds(&m->head->text, name);
    e->value_at = m->head->text.n;
    return r;
}

static int end_header(struct maker *m, int r)
{
    struct entry *e = &m->entries[m->n];

    if (r < 0)
        return r;
    e->value_n = m->head->text.n - e->value_at;
    m->n++;
    return 0;
}

static int put(struct maker *m, struct cor_str name, struct cor_str value)
{
    int r = begin_header(m, name);

    if (r == 0)
        r = cor_buf_adds(&m->head->text, value);
    return end_header(m, r);
}

/* Does the service read the value as it was written? A reader takes blanks at both ends away: the
 * group "system:masters " would become another one. */
static bool is_exact(struct cor_str value)
{
    for (size_t i = 0; i < value.n; i++) {
        unsigned char c = (unsigned char)value.p[i];

        if ((c < ' ' && c != '\t') || c == 0x7f)
            return false;
    }
    return cor_str_trim(value).n == value.n;
}

/* A value that the client did not send as a header. */
static int put_checked(struct maker *m, struct cor_str name, struct cor_str value)
{
    return is_exact(value) ? put(m, name, value) : -COR_EINVAL;
}

/* Whether a byte may be in the name of a header and is no '%', which begins an escape. */
static bool is_plain(unsigned char c)
{
    return isalnum(c) || (c != '\0' && strchr("!#$&'*+-.^_`|~", c) != NULL);
}

static int put_extra(struct maker *m, const struct cor_user_extra *extra)
{
    char name[512] = "X-Remote-Extra-";
    size_t n = strlen(name);

    for (size_t i = 0; i < extra->key.n; i++) {
        unsigned char c = (unsigned char)extra->key.p[i];

        if (n + 4 > sizeof(name))
            return -COR_ETOOBIG;
        n += (size_t)snprintf(name + n, sizeof(name) - n, is_plain(c) ? "%c" : "%%%02X", c);
    }
    return put_checked(m, cor_str(name, n), extra->value);
}

static int put_user(struct maker *m)
{
    const struct cor_user *user = m->opts->user;
    int r = put_checked(m, COR_STR("X-Remote-User"), user->name);

    if (r == 0 && user->uid.n > 0)
        r = put_checked(m, COR_STR("X-Remote-Uid"), user->uid);
    for (size_t i = 0; r == 0 && i < user->ngroups; i++)
        r = put_checked(m, COR_STR("X-Remote-Group"), user->groups[i]);
    for (size_t i = 0; r == 0 && i < user->nextras; i++)
        r = put_extra(m, &user->extras[i]);
    return r;
}

/* The address without its port; empty: there is none (a Unix socket). */
static struct cor_str address_of(const char *peer)
{
    struct cor_str s = cor_strz(peer);

    while (s.n > 0 && s.p[s.n - 1] != ':')
        s.n--;
    s.n = s.n > 0 ? s.n - 1 : 0;
    if (cor_str_starts(s, COR_STR("[")) && cor_str_ends(s, COR_STR("]")))
        s = cor_str(s.p + 1, s.n - 2);
    return s;
}

static int put_forwarded_for(struct maker *m)
{
    struct cor_str address = address_of(m->opts->client_address);
    size_t nvalues = 0;
    int r = begin_header(m, COR_STR("X-Forwarded-For"));

    for (size_t i = 0; r == 0 && i < m->opts->nheaders; i++) {
        const struct cor_http_header *h = &m->opts->headers[i];

        if (!cor_header_name_eq(h->name, COR_STR("x-forwarded-for")))
            continue;
        if (nvalues++ > 0)
            r = cor_buf_addz(&m->head->text, ", ");
        if (r == 0)
            r = cor_buf_adds(&m->head->text, h->value);
    }
    if (r == 0 && address.n > 0 && nvalues > 0)
        r = cor_buf_addz(&m->head->text, ", ");
    if (r == 0)
        r = cor_buf_adds(&m->head->text, address);
    if (r < 0 || nvalues + address.n == 0)
        return r;
    return end_header(m, r);
}

/* The protocols that a WebSocket's client speaks, without the one that is its token. */
static int put_protocols(struct maker *m, const struct cor_http_header *h)
{
    struct cor_str rest = h->value;
    bool has_any = false;
    int r = begin_header(m, h->name);

    while (r == 0 && rest.n > 0) {
        struct cor_str one = cor_str_trim(cor_str_cut(&rest, ','));

        if (one.n == 0 || cor_str_starts(one, COR_STR(BEARER_PREFIX)))
            continue;
        if (has_any)
            r = cor_buf_addc(&m->head->text, ',');
        if (r == 0)
            r = cor_buf_adds(&m->head->text, one);
        has_any = true;
    }
    return r < 0 || !has_any ? r : end_header(m, r);
}

/* Does the header of the client not go on as it came? */
static bool is_dropped(const struct maker *m, struct cor_str name)
{
    static const char *const own[] = {
        "host",     "content-length",  "expect",           "authorization",    "x-forwarded-for",
        "audit-id", "x-forwarded-uri", "x-forwarded-host", "x-forwarded-proto"};
    const struct cor_remote_head_opts *o = m->opts;

    if (is_of_user(name, o->names))
        return true;
    /* An upgrade is dialled directly: only the user and the address are the proxy's words there. */
    if (o->is_upgrade)
        return is_one_of(name, own, 6) || cor_header_name_eq(name, COR_STR("transfer-encoding"));
    return is_one_of(name, own, COR_ARRAY_LEN(own)) || is_hop(name) ||
           is_named_by_connection(name, o->headers, o->nheaders);
}

static int put_clients(struct maker *m)
{
    const struct cor_remote_head_opts *o = m->opts;
    bool takes_trailers = false;
    int r = 0;

    for (size_t i = 0; r == 0 && i < o->nheaders; i++) {
        const struct cor_http_header *h = &o->headers[i];

        if (cor_header_name_eq(h->name, COR_STR("te")) &&
            cor_header_has_token(h->value, COR_STR("trailers")))
            takes_trailers = true;
        if (is_dropped(m, h->name))
            continue;
        r = cor_header_name_eq(h->name, COR_STR("sec-websocket-protocol"))
                ? put_protocols(m, h)
                : put(m, h->name, h->value);
    }
    if (r == 0 && takes_trailers && !o->is_upgrade)
        r = put(m, COR_STR("Te"), COR_STR("trailers"));
    return r;
}

static int put_forwarded_uri(struct maker *m)
{
    int r = begin_header(m, COR_STR("X-Forwarded-Uri"));

    if (r == 0)
        r = cor_remote_url_add_clean_path(m->opts->path, &m->head->text);
    return end_header(m, r);
}

static int put_target(struct maker *m)
{
    int r;

    m->target_at = m->head->text.n;
    r = cor_remote_url_add_path(m->opts->path, &m->head->text);
    if (r == 0)
        r = cor_remote_url_add_query(m->opts->query, &m->head->text);
    m->target_n = m->head->text.n - m->target_at;
    return r;
}

static int put_all(struct maker *m)
{
    int r = put_target(m);

    if (r == 0)
        r = put_clients(m);
    if (r == 0)
        r = put_forwarded_for(m);
    if (r == 0 && !m->opts->is_upgrade)
        r = put(m, COR_STR("X-Forwarded-Proto"), COR_STR("https"));
    if (r == 0 && !m->opts->is_upgrade)
        r = put_forwarded_uri(m);
    if (r == 0 && m->opts->audit_id.n > 0)
        r = put(m, COR_STR("Audit-Id"), m->opts->audit_id);
    return r == 0 ? put_user(m) : r;
}

int cor_remote_head_init(struct cor_remote_head *head, const struct cor_remote_head_opts *opts)
{
    struct maker m = {.head = head, .opts = opts};
    int r;

    assert(opts->user && opts->client_address);
    memset(head, 0, sizeof(*head));
    cor_buf_init(&head->text, COR_REMOTE_HEAD_MAX);
    r = put_all(&m);
    if (r == 0) {
        head->headers = cor_calloc(m.n + 1, sizeof(head->headers[0]));
        r = head->headers ? 0 : -COR_ENOMEM;
    }
    if (r < 0) {
        cor_remote_head_deinit(head);
        return r;
    }
    for (size_t i = 0; i < m.n; i++)
        head->headers[i] = (struct cor_http_header){
            cor_str(head->text.p + m.entries[i].name_at, m.entries[i].name_n),
            cor_str(head->text.p + m.entries[i].value_at, m.entries[i].value_n)};
    head->nheaders = m.n;
    head->target = cor_str(head->text.p + m.target_at, m.target_n);
    return 0;
}

void cor_remote_head_deinit(struct cor_remote_head *head)
{
    cor_buf_deinit(&head->text);
    head->headers = cor_free(head->headers);
    head->nheaders = 0;
}

void cor_remote_head_set_host(struct cor_remote_head *head, const char *host, uint16_t port)
{
    snprintf(head->host, sizeof(head->host), strchr(host, ':') ? "[%s]:%u" : "%s:%u", host, port);
    head->headers[head->nheaders++] =
        (struct cor_http_header){COR_STR("X-Forwarded-Host"), cor_strz(head->host)};
}

/* --- the answer ------------------------------------------------------------------------------- */

size_t cor_remote_answer_headers(const struct cor_http_header *headers, size_t nheaders,
                                 struct cor_http_header *out, size_t max)
{
    static const char *const dropped[] = {
        "content-length",
        "date",
        "access-control-allow-credentials",
        "access-control-allow-headers",
        "access-control-allow-methods",
        "access-control-allow-origin",
    };
    size_t n = 0;

    for (size_t i = 0; i < nheaders && n < max; i++)
        if (!is_hop(headers[i].name) &&
            !is_one_of(headers[i].name, dropped, COR_ARRAY_LEN(dropped)) &&
            !is_named_by_connection(headers[i].name, headers, nheaders))
            out[n++] = headers[i];
    return n;
}

uint64_t cor_remote_answer_length(const struct cor_http_header *headers, size_t nheaders)
{
    struct cor_str text = cor_header_find(headers, nheaders, COR_STR("content-length"));
    uint64_t n;

    return text.p && cor_str_to_u64(text, &n) == 0 ? n : COR_HTTP_LENGTH_UNKNOWN;
}
