/* clang-format off */
/* The format of a webhook's URL (contract validation 3.3.6): a URL is taken apart as Go's
 * url.Parse() does, with its words for what is wrong, and then each part is judged.
 *
 *   [<scheme>:]//[<user>[:<password>]@]<host>[:<port>][/<path>][?<query>][#<fragment>]
 *
 * A function that takes something apart returns 0, 1 when the URL is none (url->why has the words),
 * or -COR_ENOMEM. Thread: any. */
/* clang-format on */
#include <string.h>

#include "base/ascii.h"
#include "base/err.h"
#include "meta/status/quote.h"
#include "schema/format/format_int.h"

#define TEXT_MAX (64u << 20) /* of a part, and of the words: they hold the URL, quoted */
#define FORM     "; desired format: https://host[/path]"

enum part { PART_PATH, PART_USER, PART_HOST, PART_ZONE, PART_FRAGMENT };

struct url {
    struct cor_str query; /* of the text */
    struct cor_buf lower_scheme, host, user, fragment;
    bool has_user;
    bool is_request; /* as url.ParseRequestURI() has it: no relative path, an authority only behind
                      * a scheme */
    struct cor_buf why;
};

static void url_deinit(struct url *url)
{
    cor_buf_deinit(&url->lower_scheme);
    cor_buf_deinit(&url->host);
    cor_buf_deinit(&url->user);
    cor_buf_deinit(&url->fragment);
    cor_buf_deinit(&url->why);
}

static int url_refuse(struct url *url, const char *words)
{
    int r = cor_buf_addz(&url->why, words);

    return r < 0 ? r : 1;
}

/* The same with a text in quotes, and what follows it. */
static int url_refuse_text(struct url *url, const char *words, struct cor_str text,
                           const char *after)
{
    int r = cor_buf_addz(&url->why, words);

    if (r == 0)
        r = cor_quote(text, &url->why);
    return r < 0 ? r : url_refuse(url, after);
}

static bool is_one_of(char c, const char *set)
{
    return c != '\0' && strchr(set, c) != NULL;
}

static int hex_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* May a byte are in a host as it is? */
static bool is_host_char(char c)
{
    return cor_is_alphanumeric(c) || is_one_of(c, "!$&'()*+,;=:[]<>\"-_.~");
}

/* The byte that the escape at the front of `rest` stands for; -1: it is not an escape, or not one
 * that is allowed in this part. A host may escape bytes that are not ASCII, and `%` itself. */
static int unescape_one(struct cor_str rest, enum part part)
{
    int high = rest.n > 2 ? hex_of(rest.p[1]) : -1, low = rest.n > 2 ? hex_of(rest.p[2]) : -1;
    int byte = high * 16 + low;

    if (high < 0 || low < 0)
        return -1;
    if (part == PART_HOST && high < 8 && byte != '%')
        return -1;
    if (part == PART_ZONE && byte != '%' && byte != ' ' && !is_host_char((char)byte))
        return -1;
    return byte;
}

/* Appends the text without its escapes. */
static int unescape(struct url *url, struct cor_str text, enum part part, struct cor_buf *out)
{
    int r = 0;

    while (r == 0 && text.n > 0) {
        bool is_escape = text.p[0] == '%';
        int byte = is_escape ? unescape_one(text, part) : (unsigned char)text.p[0];

        if (byte < 0)
            return url_refuse_text(url, "invalid URL escape ",
                                   cor_str(text.p, text.n < 3 ? text.n : 3), "");
        if (!is_escape && (part == PART_HOST || part == PART_ZONE) && byte < 0x80 &&
            !is_host_char((char)byte))
            return url_refuse_text(url, "invalid character ", cor_str(text.p, 1), " in host name");
        r = cor_buf_addc(out, (char)byte);
        text = cor_str_from(text, is_escape ? 3 : 1);
    }
    return r;
}

static bool is_optional_port(struct cor_str text)
{
    if (text.n == 0)
        return true;
    for (size_t i = 1; i < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9')
            return false;
    }
    return text.p[0] == ':';
}

static ptrdiff_t find_last(struct cor_str text, char c)
{
    for (size_t i = text.n; i-- > 0;) {
        if (text.p[i] == c)
            return (ptrdiff_t)i;
    }
    return -1;
}

/* In brackets an address may have a zone, which begins with an escaped `%`. */
static int parse_bracketed_host(struct url *url, struct cor_str host, size_t close)
{
    size_t zone = 0;
    int r;

    while (zone < close && !cor_str_starts(cor_str(host.p + zone, close - zone), COR_STR("%25")))
        zone++;
    r = unescape(url, cor_str(host.p, zone), PART_HOST, &url->host);
    if (r == 0)
        r = unescape(url, cor_str(host.p + zone, close - zone), PART_ZONE, &url->host);
    return r != 0 ? r : unescape(url, cor_str_from(host, close), PART_HOST, &url->host);
}

static int parse_host(struct url *url, struct cor_str host)
{
    bool has_bracket = host.n > 0 && host.p[0] == '[';
    ptrdiff_t at = find_last(host, has_bracket ? ']' : ':');
    struct cor_str port = COR_STR("");

    if (has_bracket && at < 0)
        return url_refuse(url, "missing ']' in host");
    if (at >= 0)
        port = cor_str_from(host, (size_t)at + (has_bracket ? 1 : 0));
    if (!is_optional_port(port))
        return url_refuse_text(url, "invalid port ", port, " after host");
    return has_bracket ? parse_bracketed_host(url, host, (size_t)at)
                       : unescape(url, host, PART_HOST, &url->host);
}

/* Appends the text as user information is written. */
static int escape_user(struct cor_str text, struct cor_buf *out)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < text.n; i++) {
        if (cor_is_alphanumeric(text.p[i]) || is_one_of(text.p[i], "-_.~$&+,;="))
            r = cor_buf_addc(out, text.p[i]);
        else
            r = cor_buf_addf(out, "%%%02X", (unsigned char)text.p[i]);
    }
    return r;
}

static int parse_user_part(struct url *url, struct cor_str text)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf plain = {.max = TEXT_MAX};
    int r = unescape(url, text, PART_USER, &plain);

    return r != 0 ? r : escape_user(cor_buf_str(&plain), &url->user);
}

static int parse_user(struct url *url, struct cor_str info)
{
    struct cor_str password = info, name = cor_str_cut(&password, ':');
    int r;

    for (size_t i = 0; i < info.n; i++) {
        if (!cor_is_alphanumeric(info.p[i]) && !is_one_of(info.p[i], "-._:~!$&'()*+,;=%@"))
            return url_refuse(url, "net/url: invalid userinfo");
    }
    url->has_user = true;
    r = parse_user_part(url, name);
    if (r == 0 && password.p) {
        r = cor_buf_addc(&url->user, ':');
        if (r == 0)
            r = parse_user_part(url, password);
    }
    return r;
}

/* The host is looked at before the user. */
static int parse_authority(struct url *url, struct cor_str authority)
{
    ptrdiff_t at = find_last(authority, '@');
    int r = parse_host(url, cor_str_from(authority, (size_t)(at + 1)));

    if (r != 0 || at < 0)
        return r;
    return parse_user(url, cor_str(authority.p, (size_t)at));
}

/* Takes `<scheme>:` from the front of `*rest`, if it is one. */
static int parse_scheme(struct url *url, struct cor_str *rest)
{
    for (size_t i = 0; i < rest->n; i++) {
        char c = rest->p[i];
        bool is_letter = cor_is_letter(c);
        int r = 0;

        if (c == ':' && i == 0)
            return url_refuse(url, "missing protocol scheme");
        if (c == ':') {
            for (size_t j = 0; r == 0 && j < i; j++) {
                c = rest->p[j];
                r = cor_buf_addc(&url->lower_scheme,
                                 c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c);
            }
            *rest = cor_str_from(*rest, i + 1);
            return r;
        }
        if (!is_letter && (i == 0 || (!cor_is_alphanumeric(c) && !is_one_of(c, "+-."))))
            return 0;
    }
    return 0;
}

static bool has_control(struct cor_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if ((unsigned char)text.p[i] < ' ' || text.p[i] == 0x7f)
            return true;
    }
    return false;
}

/* Everything but the fragment. */
static int parse_url(struct url *url, struct cor_str text)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf path = {.max = TEXT_MAX};
    struct cor_str rest = text, query, authority;
    bool has_scheme;
    int r;

    if (has_control(text))
        return url_refuse(url, "net/url: invalid control character in URL");
    if (cor_str_eq(text, COR_STR("*")))
        return 0;
    if ((r = parse_scheme(url, &rest)) != 0)
        return r;
    has_scheme = url->lower_scheme.n > 0;
    query = rest;
    rest = cor_str_cut(&query, '?');
    url->query = query;
    if (!cor_str_starts(rest, COR_STR("/"))) {
        struct cor_str segment = rest;

        if (has_scheme)
            return 0; /* opaque */
        if (url->is_request)
            return url_refuse(url, "invalid URI for request");
        if (cor_str_find(cor_str_cut(&segment, '/'), ':') >= 0)
            return url_refuse(url, "first path segment in URL cannot contain colon");
    }
    if ((has_scheme || (!url->is_request && !cor_str_starts(rest, COR_STR("///")))) &&
        cor_str_starts(rest, COR_STR("//"))) {
        ptrdiff_t slash;

        authority = cor_str_from(rest, 2);
        slash = cor_str_find(authority, '/');
        rest = slash < 0 ? COR_STR("") : cor_str_from(authority, (size_t)slash);
        if (slash >= 0)
            authority.n = (size_t)slash;
        if ((r = parse_authority(url, authority)) != 0)
            return r;
    }
    return unescape(url, rest, PART_PATH, &path);
}

/* The words name the part of the text that was being parsed. */
static int parse_whole_url(struct url *url, struct cor_str text, struct cor_str *ret_parsed)
{
    struct cor_str fragment = text;
    int r;

    *ret_parsed = cor_str_cut(&fragment, '#');
    r = parse_url(url, *ret_parsed);
    if (r != 0 || fragment.n == 0)
        return r;
    *ret_parsed = text;
    return unescape(url, fragment, PART_FRAGMENT, &url->fragment);
}

static void refuse_url(struct cor_format_run *run, const struct url *url, struct cor_str parsed)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf detail = {.max = TEXT_MAX};
    int r = cor_buf_addz(&detail, "url must be a valid URL: parse ");

    if (r == 0)
        r = cor_quote(parsed, &detail);
    if (r == 0)
        r = cor_buf_addf(&detail, ": %s" FORM, cor_buf_z(&url->why));
    if (r < 0)
        run->error = r;
    cor_format_required(run, cor_buf_z(&detail));
}

/* clang-format off */
#define URL_INIT {.lower_scheme = {.max = TEXT_MAX}, .host = {.max = TEXT_MAX}, \
                  .user = {.max = TEXT_MAX}, .fragment = {.max = TEXT_MAX}, .why = {.max = TEXT_MAX}}
/* clang-format on */

int cor_format_is_request_uri(struct cor_str text)
{
    COR_CLEANUP(url_deinit) struct url url = URL_INIT;
    int r;

    url.is_request = true;
    r = text.n == 0 ? 1 : parse_url(&url, text);
    return r < 0 ? r : r == 0;
}

void cor_format_check_webhook_url(struct cor_format_run *run)
{
    COR_CLEANUP(url_deinit) struct url url = URL_INIT;
    struct cor_str parsed;
    int r = parse_whole_url(&url, run->text, &parsed);

    if (r < 0)
        run->error = r;
    if (r != 0) {
        refuse_url(run, &url, parsed);
        return;
    }
    if (!cor_str_eq(cor_buf_str(&url.lower_scheme), COR_STR("https")))
        cor_format_invalid_part(run, cor_buf_str(&url.lower_scheme),
                                "'https' is the only allowed URL scheme" FORM);
    if (url.host.n == 0)
        cor_format_invalid_part(run, COR_STR(""), "host must be specified" FORM);
    if (url.has_user)
        cor_format_invalid_part(run, cor_buf_str(&url.user),
                                "user information is not permitted in the URL");
    if (url.fragment.n > 0)
        cor_format_invalid_part(run, cor_buf_str(&url.fragment),
                                "fragments are not permitted in the URL");
    if (url.query.n > 0)
        cor_format_invalid_part(run, url.query, "query parameters are not permitted in the URL");
}
