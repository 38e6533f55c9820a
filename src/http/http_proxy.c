#include "http/http_proxy.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/err.h"
#include "base/mem.h"
#include "http/url.h"
#include "net/host/host.h"
#include "net/session/h1.h"

#define USERINFO_MAX 4096

static int fail(struct cor_proxy *p, int r, const char *text, const char **reterr_text)
{
    cor_proxy_deinit(p);
    if (reterr_text)
        *reterr_text = text;
    return r;
}

/* Of the scheme, what follows "://"; a URL without one is an HTTP proxy's, as for Go. */
static int take_scheme(struct cor_proxy *p, struct cor_str *url)
{
    const char *sep = memmem(url->p, url->n, "://", 3);
    struct cor_str scheme = cor_str(url->p, sep ? (size_t)(sep - url->p) : 0);

    if (!sep)
        return 0;
    p->is_tls = cor_str_eqz(scheme, "https");
    if (!p->is_tls && !cor_str_eqz(scheme, "http"))
        return -COR_ENOTSUP;
    *url = cor_str_from(*url, scheme.n + 3);
    return 0;
}

static int take_userinfo(struct cor_proxy *p, struct cor_str userinfo)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf plain, coded;
    struct cor_str user = cor_str_cut(&userinfo, ':');
    int r;

    cor_buf_init_secret(&plain, USERINFO_MAX);
    cor_buf_init_secret(&coded, 2 * USERINFO_MAX);
    r = cor_url_unescape(user, COR_URL_PATH, &plain);
    if (r == 0)
        r = cor_buf_addc(&plain, ':');
    if (r == 0 && userinfo.n > 0)
        r = cor_url_unescape(userinfo, COR_URL_PATH, &plain);
    if (r == 0)
        r = cor_buf_addz(&coded, "Basic ");
    if (r == 0)
        r = cor_base64_encode(COR_BASE64_STD, cor_buf_str(&plain), &coded);
    if (r < 0)
        return r == -COR_ENOMEM ? r : -COR_EINVAL;
    p->authorization = cor_buf_steal(&coded, NULL);
    return 0;
}

static int take_host(struct cor_proxy *p, struct cor_str host)
{
    if (cor_host_split(host, p->is_tls ? 443 : 80, &host, &p->port) < 0 ||
        memchr(host.p, ' ', host.n) || memchr(host.p, '\0', host.n))
        return -COR_EINVAL;
    p->host = cor_strndup(host.p, host.n);
    return p->host ? 0 : -COR_ENOMEM;
}

int cor_proxy_init(struct cor_proxy *p, const char *url, const char **reterr_text)
{
    struct cor_str rest = cor_strz(url), host;
    const char *at;
    int r;

    *p = (struct cor_proxy){0};
    if (take_scheme(p, &rest) < 0)
        return fail(p, -COR_ENOTSUP, "only http and https proxies are supported", reterr_text);
    host.p = rest.p;
    host.n = strcspn(rest.p, "/?#");
    at = memrchr(host.p, '@', host.n);
    r = at ? take_userinfo(p, cor_str(host.p, (size_t)(at - host.p))) : 0;
    if (at)
        host = cor_str_from(host, (size_t)(at - host.p) + 1);
    if (r == 0)
        r = take_host(p, host);
    if (r < 0)
        return fail(p, r, r == -COR_ENOMEM ? "out of memory" : "the proxy's URL is malformed",
                    reterr_text);
    return 0;
}

void cor_proxy_deinit(struct cor_proxy *p)
{
    cor_free_secret(p->authorization);
    cor_free(p->host);
    *p = (struct cor_proxy){0};
}

int cor_proxy_write_connect(const struct cor_proxy *p, const char *host, uint16_t port,
                            struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf authority;
    struct cor_http_header headers[2];
    struct cor_h1_message msg = {.peer_minor = 1, .keep_alive = true, .headers = headers};
    enum cor_h1_framing framing;
    int r;

    cor_buf_init(&authority, 512);
    r = cor_buf_addf(&authority, strchr(host, ':') ? "[%s]:%u" : "%s:%u", host, port);
    if (r < 0)
        return r;
    headers[msg.nheaders++] = (struct cor_http_header){COR_STR("Host"), cor_buf_str(&authority)};
    if (p->authorization)
        headers[msg.nheaders++] =
            (struct cor_http_header){COR_STR("Proxy-Authorization"), cor_strz(p->authorization)};
    return cor_h1_write_request(out, COR_STR("CONNECT"), cor_buf_str(&authority), &msg, &framing);
}

static const char *env_of(const char *upper, const char *lower)
{
    const char *value = getenv(upper);

    return value && *value ? value : getenv(lower);
}

/* HTTP_PROXY may be a request's "Proxy" header in a CGI program. */
struct cor_proxy_env cor_proxy_env_peek(void)
{
    return (struct cor_proxy_env){
        .http_proxy = getenv("REQUEST_METHOD") ? NULL : env_of("HTTP_PROXY", "http_proxy"),
        .https_proxy = env_of("HTTPS_PROXY", "https_proxy"),
        .no_proxy = env_of("NO_PROXY", "no_proxy")};
}

struct address {
    unsigned char bytes[16]; /* an IPv4 address as its IPv6 form */
};

static bool read_address(struct cor_str text, struct address *ret, bool *ret_is_v4)
{
    static const unsigned char v4_prefix[12] = {[10] = 0xff, [11] = 0xff};
    char z[64];

    if (text.n >= sizeof(z) || text.n == 0)
        return false;
    memcpy(z, text.p, text.n);
    z[text.n] = '\0';
    memcpy(ret->bytes, v4_prefix, sizeof(v4_prefix));
    *ret_is_v4 = inet_pton(AF_INET, z, ret->bytes + 12) == 1;
    return *ret_is_v4 || inet_pton(AF_INET6, z, ret->bytes) == 1;
}

static bool is_loopback(struct address a)
{
    static const struct address v6_loopback = {{[15] = 1}};

    return memcmp(a.bytes, v6_loopback.bytes, 16) == 0 ||
           (a.bytes[10] == 0xff && a.bytes[11] == 0xff && a.bytes[12] == 127);
}

static bool is_in_range(struct cor_str range, struct address a)
{
    struct cor_str base = cor_str_cut(&range, '/');
    struct address b;
    uint64_t bits;
    bool is_v4;

    if (!range.p || !read_address(base, &b, &is_v4) || cor_str_to_u64(range, &bits) < 0)
        return false;
    bits += is_v4 ? 96 : 0;
    if (bits > 128)
        return false;
    for (size_t i = 0; i < 16 && bits > 0; i++) {
        unsigned mask = bits >= 8 ? 0xff : 0xff00u >> bits;

        if ((a.bytes[i] & mask) != (b.bytes[i] & mask))
            return false;
        bits -= bits >= 8 ? 8 : bits;
    }
    return true;
}

static bool same_text(struct cor_str a, struct cor_str b)
{
    return a.n == b.n && (a.n == 0 || strncasecmp(a.p, b.p, a.n) == 0);
}

/* "example.com" is that name and those below it, ".example.com" only those below it. */
static bool is_name_below(struct cor_str host, struct cor_str entry)
{
    if (cor_str_starts(entry, COR_STR("*.")))
        entry = cor_str_from(entry, 1);
    if (entry.n == 0)
        return false;
    if (entry.p[0] != '.' && same_text(host, entry))
        return true;
    entry = entry.p[0] == '.' ? cor_str_from(entry, 1) : entry;
    return host.n > entry.n + 1 && host.p[host.n - entry.n - 1] == '.' &&
           same_text(cor_str_from(host, host.n - entry.n), entry);
}

static bool entry_matches(struct cor_str entry, struct cor_str host, const struct address *address,
                          uint16_t port)
{
    uint16_t entry_port = port;
    struct address a;
    bool is_v4;

    if (cor_str_eqz(entry, "*"))
        return true;
    if (cor_str_find(entry, '/') >= 0)
        return address && is_in_range(entry, *address);
    if (!read_address(entry, &a, &is_v4) && cor_host_split(entry, port, &entry, &entry_port) < 0)
        return false;
    if (entry_port != port)
        return false;
    if (read_address(entry, &a, &is_v4))
        return address && memcmp(a.bytes, address->bytes, 16) == 0;
    return is_name_below(host, entry);
}

const char *cor_proxy_for(const struct cor_proxy_env *env, bool is_tls, const char *host,
                          uint16_t port)
{
    const char *proxy = is_tls ? env->https_proxy : env->http_proxy;
    struct cor_str rest = cor_strz(env->no_proxy), name = cor_strz(host);
    struct address address;
    bool is_v4, is_address = read_address(name, &address, &is_v4);

    if (!proxy || !*proxy)
        return NULL;
    if (same_text(name, COR_STR("localhost")) || (is_address && is_loopback(address)))
        return NULL;
    while (rest.n > 0) {
        struct cor_str entry = cor_str_trim(cor_str_cut(&rest, ','));

        if (entry.n > 0 && entry_matches(entry, name, is_address ? &address : NULL, port))
            return NULL;
        if (!rest.p)
            break;
    }
    return proxy;
}
