#include "meta/names/validation.h"
#include "base/ascii.h"

#include <assert.h>

#define LABEL_BYTES_MAX     63
#define SUBDOMAIN_BYTES_MAX 253

#define LABEL_REGEX     "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
#define SUBDOMAIN_REGEX LABEL_REGEX "(\\." LABEL_REGEX ")*"
#define QUALIFIED_REGEX "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"

#define NAME_TOO_LONG      "must be no more than 63 characters"
#define SUBDOMAIN_TOO_LONG "must be no more than 253 characters"
#define SUBDOMAIN_RULE                                                                             \
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "   \
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "  \
    "for validation is '" SUBDOMAIN_REGEX "')"
#define QUALIFIED_RULE                                                                             \
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "    \
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "         \
    "validation is '" QUALIFIED_REGEX "')"

/* A name as the rules see it: with another last character in place of its last two bytes when it is
 * a prefix that ends in a dash (a suffix will follow), and in lower case when case does not count.
 */
struct subject {
    struct cor_str s;
    char last; /* '\0': none */
    bool fold;
};

static size_t subject_len(const struct subject *sub)
{
    return sub->s.n + (sub->last != '\0');
}

static char subject_at(const struct subject *sub, size_t i)
{
    char c = i < sub->s.n ? sub->s.p[i] : sub->last;

    return sub->fold && c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static void complain(struct cor_complaints *c, const char *text)
{
    assert(c->n < COR_COMPLAINTS_MAX);
    c->text[c->n++] = text;
}

/* Labels of lower-case letters, digits and inner dashes, joined by dots when those are allowed. */
static bool is_dns_name(const struct subject *sub, bool dots)
{
    char prev = '.';

    for (size_t i = 0; i < subject_len(sub); i++) {
        char c = subject_at(sub, i);

        if (c == '.' && (!dots || prev == '.' || prev == '-'))
            return false;
        if (c == '-' && prev == '.')
            return false;
        if (c != '.' && c != '-' && !cor_is_lower(c) && !cor_is_digit(c))
            return false;
        prev = c;
    }
    return prev != '.' && prev != '-';
}

static bool is_qualified_part(struct cor_str s)
{
    if (s.n == 0 || !cor_is_alphanumeric(s.p[0]) || !cor_is_alphanumeric(s.p[s.n - 1]))
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (!cor_is_alphanumeric(s.p[i]) && s.p[i] != '-' && s.p[i] != '_' && s.p[i] != '.')
            return false;
    }
    return true;
}

static void check_subdomain(const struct subject *sub, struct cor_complaints *c)
{
    if (subject_len(sub) > SUBDOMAIN_BYTES_MAX)
        complain(c, SUBDOMAIN_TOO_LONG);
    if (!is_dns_name(sub, true))
        complain(c, SUBDOMAIN_RULE);
}

static void check_dns1123_label(const struct subject *sub, struct cor_complaints *c)
{
    if (subject_len(sub) > LABEL_BYTES_MAX)
        complain(c, NAME_TOO_LONG);
    if (is_dns_name(sub, false))
        return;
    complain(c, is_dns_name(sub, true)
                    ? "must not contain dots"
                    : "a lowercase RFC 1123 label must consist of lower case alphanumeric "
                      "characters or '-', and must start and end with an alphanumeric character "
                      "(e.g. 'my-name',  or '123-abc', regex used for validation is '" LABEL_REGEX
                      "')");
}

static void check_dns1035_label(const struct subject *sub, struct cor_complaints *c)
{
    if (subject_len(sub) > LABEL_BYTES_MAX)
        complain(c, NAME_TOO_LONG);
    if (!is_dns_name(sub, false) || cor_is_digit(subject_at(sub, 0)))
        complain(c, "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
                    "start with an alphabetic character, and end with an alphanumeric character "
                    "(e.g. 'my-name',  or 'abc-123', regex used for validation is "
                    "'[a-z]([-a-z0-9]*[a-z0-9])?')");
}

static void check_qualified_prefix(const struct subject *sub, struct cor_complaints *c)
{
    if (sub->s.n == 0) {
        complain(c, "prefix part must be non-empty");
        return;
    }
    if (sub->s.n > SUBDOMAIN_BYTES_MAX)
        complain(c, "prefix part " SUBDOMAIN_TOO_LONG);
    if (!is_dns_name(sub, true))
        complain(c, "prefix part " SUBDOMAIN_RULE);
}

static void check_qualified(const struct subject *sub, struct cor_complaints *c)
{
    struct cor_str name = sub->s;

    if (cor_str_find(sub->s, '/') >= 0) {
        struct subject prefix = {.s = cor_str_cut(&name, '/'), .fold = sub->fold};

        if (cor_str_find(name, '/') >= 0) {
            complain(c, "a qualified name " QUALIFIED_RULE
                        " with an optional DNS subdomain prefix and '/' (e.g. "
                        "'example.com/MyName')");
            return;
        }
        check_qualified_prefix(&prefix, c);
    }
    if (name.n == 0)
        complain(c, "name part must be non-empty");
    else if (name.n > LABEL_BYTES_MAX)
        complain(c, "name part " NAME_TOO_LONG);
    if (!is_qualified_part(name))
        complain(c, "name part " QUALIFIED_RULE);
}

static void check_label_value(struct cor_str s, struct cor_complaints *c)
{
    if (s.n > LABEL_BYTES_MAX)
        complain(c, NAME_TOO_LONG);
    if (s.n > 0 && !is_qualified_part(s))
        complain(c, "a valid label must be an empty string or consist of alphanumeric characters, "
                    "'-', '_' or '.', and must start and end with an alphanumeric character (e.g. "
                    "'MyValue',  or 'my_value',  or '12345', regex used for validation is "
                    "'(" QUALIFIED_REGEX ")?')");
}

static void check_path_segment(struct cor_str s, bool prefix, struct cor_complaints *c)
{
    if (!prefix && cor_str_eq(s, COR_STR("."))) {
        complain(c, "may not be '.'");
        return;
    }
    if (!prefix && cor_str_eq(s, COR_STR(".."))) {
        complain(c, "may not be '..'");
        return;
    }
    if (cor_str_find(s, '/') >= 0)
        complain(c, "may not contain '/'");
    if (cor_str_find(s, '%') >= 0)
        complain(c, "may not contain '%'");
}

static struct cor_complaints check(enum cor_name_rule rule, const struct subject *sub, bool prefix)
{
    struct cor_complaints c = {.n = 0};

    switch (rule) {
    case COR_NAME_DNS1123_SUBDOMAIN:
    case COR_NAME_SUBDOMAIN_ANY_CASE:
        check_subdomain(sub, &c);
        break;
    case COR_NAME_DNS1123_LABEL:
        check_dns1123_label(sub, &c);
        break;
    case COR_NAME_DNS1035_LABEL:
        check_dns1035_label(sub, &c);
        break;
    case COR_NAME_PATH_SEGMENT:
        check_path_segment(sub->s, prefix, &c);
        break;
    case COR_NAME_QUALIFIED:
    case COR_NAME_ANNOTATION_KEY:
        check_qualified(sub, &c);
        break;
    case COR_NAME_LABEL_VALUE:
        check_label_value(sub->s, &c);
        break;
    }
    return c;
}

static bool is_any_case(enum cor_name_rule rule)
{
    return rule == COR_NAME_ANNOTATION_KEY || rule == COR_NAME_SUBDOMAIN_ANY_CASE;
}

struct cor_complaints cor_name_check(enum cor_name_rule rule, struct cor_str name)
{
    struct subject sub = {.s = name, .fold = is_any_case(rule)};

    return check(rule, &sub, false);
}

static bool is_dns_rule(enum cor_name_rule rule)
{
    return rule == COR_NAME_DNS1123_SUBDOMAIN || rule == COR_NAME_DNS1123_LABEL ||
           rule == COR_NAME_DNS1035_LABEL;
}

struct cor_complaints cor_name_check_prefix(enum cor_name_rule rule, struct cor_str prefix)
{
    struct subject sub = {.s = prefix, .fold = is_any_case(rule)};

    if (is_dns_rule(rule) && prefix.n > 1 && prefix.p[prefix.n - 1] == '-') {
        sub.s.n -= 2;
        sub.last = 'a';
    }
    return check(rule, &sub, true);
}
