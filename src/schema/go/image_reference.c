/* References to images in the grammar of the distribution project, which kube-apiserver reads them
 * by:
 *
 *     [domain[:port]/]component[/component]...[:tag][@algorithm:hex]
 *
 * A reference is cut at its "@", then at the ":" behind its last "/", and each part is checked. The
 * first component is a domain when it looks like one (a dot, a colon, a capital, "localhost").
 * Thread: any. */
#include "schema/go/image_reference.h"
#include "base/ascii.h"

#define NAME_BYTES_MAX 255
#define ID_BYTES       64         /* 64 hex digits are the id of an image, not a name */
#define OFFICIAL       "library/" /* precedes a name of one component on Docker Hub */

static bool is_hex(char c)
{
    return cor_is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

/* Lower-case letters and digits, with ".", "_", "__" or any number of "-" between them. */
static bool is_component(struct cor_str s)
{
    size_t i = 0;

    for (;;) {
        size_t start = i;

        while (i < s.n && (cor_is_lower(s.p[i]) || cor_is_digit(s.p[i])))
            i++;
        if (i == start)
            return false;
        if (i == s.n)
            return true;
        if (s.p[i] == '-') {
            while (i < s.n && s.p[i] == '-')
                i++;
        } else if (s.p[i] == '_' && i + 1 < s.n && s.p[i + 1] == '_') {
            i += 2;
        } else if (s.p[i] == '_' || s.p[i] == '.') {
            i++;
        } else {
            return false;
        }
    }
}

static bool is_path(struct cor_str s)
{
    while (s.p) {
        if (!is_component(cor_str_cut(&s, '/')))
            return false;
    }
    return true;
}

static bool is_host_name(struct cor_str s)
{
    while (s.p) {
        struct cor_str label = cor_str_cut(&s, '.');

        if (label.n == 0 || !cor_is_alphanumeric(label.p[0]) ||
            !cor_is_alphanumeric(label.p[label.n - 1]))
            return false;
        for (size_t i = 0; i < label.n; i++) {
            if (!cor_is_alphanumeric(label.p[i]) && label.p[i] != '-')
                return false;
        }
    }
    return true;
}

/* A host name or an IPv6 address in brackets, and maybe a port. */
static bool is_domain(struct cor_str s)
{
    struct cor_str port;

    if (s.n > 0 && s.p[0] == '[') {
        ptrdiff_t end = cor_str_find(s, ']');

        if (end < 2)
            return false;
        for (ptrdiff_t i = 1; i < end; i++) {
            if (!is_hex(s.p[i]) && s.p[i] != ':')
                return false;
        }
        port = cor_str_from(s, (size_t)end + 1);
        if (port.n == 0)
            return true;
        if (port.p[0] != ':')
            return false;
        port = cor_str_from(port, 1);
    } else {
        port = s;
        if (!is_host_name(cor_str_cut(&port, ':')))
            return false;
        if (!port.p)
            return true;
    }
    for (size_t i = 0; i < port.n; i++) {
        if (!cor_is_digit(port.p[i]))
            return false;
    }
    return port.n > 0;
}

static bool has_capital(struct cor_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (cor_is_letter(s.p[i]) && !cor_is_lower(s.p[i]))
            return true;
    }
    return false;
}

static bool is_lower_hex(struct cor_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (!is_hex(s.p[i]) || has_capital(cor_str(s.p + i, 1)))
            return false;
    }
    return true;
}

/* Is this a digest of one of the three algorithms that upstream knows? */
static bool is_digest(struct cor_str s)
{
    struct cor_str hex = s, algorithm = cor_str_cut(&hex, ':');
    size_t digits = cor_str_eq(algorithm, COR_STR("sha256"))   ? 64
                    : cor_str_eq(algorithm, COR_STR("sha384")) ? 96
                    : cor_str_eq(algorithm, COR_STR("sha512")) ? 128
                                                               : 0;

    return digits > 0 && hex.n == digits && is_lower_hex(hex);
}

/* Whether the first component is a domain decides its looks; whether it is a valid one,
 * is_domain(). What only looks like a domain may still be a component of the name. */
static bool looks_like_domain(struct cor_str first)
{
    return cor_str_find(first, '.') >= 0 || cor_str_find(first, ':') >= 0 ||
           cor_str_eq(first, COR_STR("localhost")) || has_capital(first);
}

static bool is_repository(struct cor_str first, struct cor_str name)
{
    bool is_hub = !first.p || cor_str_eq(first, COR_STR("docker.io")) ||
                  cor_str_eq(first, COR_STR("index.docker.io"));
    size_t n = name.n;

    if (is_hub && cor_str_find(name, '/') < 0)
        n += sizeof(OFFICIAL) - 1;
    if (first.p && !is_domain(first)) {
        if (!is_path(first))
            return false;
        n += first.n + 1;
    }
    return is_path(name) && n <= NAME_BYTES_MAX;
}

bool cor_image_is_latest(struct cor_str image)
{
    ptrdiff_t at = cor_str_find(image, '@'), colon;
    struct cor_str whole = cor_str(image.p, at >= 0 ? (size_t)at : image.n);
    struct cor_str name = whole, first = cor_str_cut(&name, '/');

    if ((image.n == ID_BYTES && is_lower_hex(image)) ||
        (at >= 0 && !is_digest(cor_str_from(image, (size_t)at + 1))))
        return false;
    if (!name.p || !looks_like_domain(first)) {
        name = whole;
        first = (struct cor_str){NULL, 0};
    }
    colon = cor_str_find(name, ':');
    /* Without a tag, a digest says which image is meant; without both it is the latest. */
    if (colon < 0)
        return at < 0 && is_repository(first, name);
    return cor_str_eq(cor_str_from(name, (size_t)colon + 1), COR_STR("latest")) &&
           is_repository(first, cor_str(name.p, (size_t)colon));
}
