/* The formats of names (contract validation 3.1.1 to 3.1.18). Those that src/meta needs as well are
 * name rules of meta/names/validation.h and are only called here. */
#include <string.h>

#include "base/ascii.h"
#include "base/err.h"
#include "meta/status/quote.h"
#include "schema/format/format_int.h"

#define LABEL_BYTES_MAX     63
#define SUBDOMAIN_BYTES_MAX 253
/* A signer is <domain>/<namespace>.<name>. */
#define SIGNER_BYTES_MAX (SUBDOMAIN_BYTES_MAX + 1 + LABEL_BYTES_MAX + 1 + SUBDOMAIN_BYTES_MAX)
#define DETAIL_MAX       (64u << 20)

#define SUBDOMAIN_TOO_LONG "must be no more than 253 characters"
#define LABEL_REGEX        "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
#define LOOSE_LABEL_REGEX  "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
#define NOT_TWO_SEGMENTS   "should be a domain with at least two segments separated by dots"
#define NOT_THREE_SEGMENTS "should be a domain with at least three segments separated by dots"

static bool is_lower_alnum(char c)
{
    return cor_is_lower(c) || cor_is_digit(c);
}

/* Does the text consist of letters, digits and `others` only, and of at least one of them? */
static bool consists_of(struct cor_str text, const char *others)
{
    for (size_t i = 0; i < text.n; i++) {
        if (!cor_is_alphanumeric(text.p[i]) && (text.p[i] == '\0' || !strchr(others, text.p[i])))
            return false;
    }
    return text.n > 0;
}

static size_t count_segments(struct cor_str name)
{
    size_t n = 1;

    for (size_t i = 0; i < name.n; i++)
        n += name.p[i] == '.';
    return n;
}

void cor_format_check_dns_label(struct cor_format_run *run)
{
    cor_format_invalid_name(run, COR_NAME_DNS1123_LABEL, run->text, "");
}

void cor_format_check_dns_subdomain(struct cor_format_run *run)
{
    cor_format_invalid_name(run, COR_NAME_DNS1123_SUBDOMAIN, run->text, "");
}

void cor_format_check_dns_1035(struct cor_format_run *run)
{
    cor_format_invalid_name(run, COR_NAME_DNS1035_LABEL, run->text, "");
}

void cor_format_check_qualified_name(struct cor_format_run *run)
{
    cor_format_invalid_name(run, COR_NAME_QUALIFIED, run->text, "");
}

void cor_format_check_annotation_key(struct cor_format_run *run)
{
    cor_format_invalid_name(run, COR_NAME_ANNOTATION_KEY, run->text, "");
}

void cor_format_check_label_value(struct cor_format_run *run)
{
    cor_format_invalid_name(run, COR_NAME_LABEL_VALUE, run->text, "");
}

void cor_format_check_path_segment(struct cor_format_run *run)
{
    cor_format_invalid_name(run, COR_NAME_PATH_SEGMENT, run->text, "");
}

static bool is_loose_label(struct cor_str label)
{
    if (label.n > 0 && label.p[0] == '_')
        label = cor_str_from(label, 1);
    if (label.n == 0 || !is_lower_alnum(label.p[0]) || !is_lower_alnum(label.p[label.n - 1]))
        return false;
    for (size_t i = 0; i < label.n; i++) {
        if (!is_lower_alnum(label.p[i]) && label.p[i] != '-' && label.p[i] != '_')
            return false;
    }
    return true;
}

static bool is_loose_subdomain(struct cor_str name)
{
    struct cor_str rest = name;

    do {
        if (!is_loose_label(cor_str_cut(&rest, '.')))
            return false;
    } while (rest.p);
    return true;
}

void cor_format_check_dns_subdomain_underscore(struct cor_format_run *run)
{
    if (run->text.n > SUBDOMAIN_BYTES_MAX)
        cor_format_invalid(run, SUBDOMAIN_TOO_LONG);
    if (!is_loose_subdomain(run->text))
        cor_format_invalid(
            run, "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric "
                 "characters, '_', '-' or '.', and must start and end with an alphanumeric "
                 "character (e.g. 'example.com', regex used for validation is '" LOOSE_LABEL_REGEX
                 "(\\." LOOSE_LABEL_REGEX ")*')");
}

/* Does the name have the characters of a subdomain, whatever its length? */
static bool has_subdomain_form(struct cor_str name)
{
    size_t complaints = cor_name_check(COR_NAME_DNS1123_SUBDOMAIN, name).n;

    return complaints == (name.n > SUBDOMAIN_BYTES_MAX);
}

void cor_format_check_wildcard_dns(struct cor_format_run *run)
{
    if (run->text.n > SUBDOMAIN_BYTES_MAX)
        cor_format_invalid(run, SUBDOMAIN_TOO_LONG);
    if (!cor_str_starts(run->text, COR_STR("*.")) ||
        !has_subdomain_form(cor_str_from(run->text, 2)))
        cor_format_invalid(
            run, "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS "
                 "subdomain, which must consist of lower case alphanumeric characters, '-' or '.' "
                 "and end with an alphanumeric character (e.g. '*.example.com', regex used for "
                 "validation is '\\*\\." LABEL_REGEX "(\\." LABEL_REGEX ")*')");
}

void cor_format_check_fqdn3(struct cor_format_run *run)
{
    if (run->text.n == 0)
        cor_format_required(run, NULL);
    else if (!cor_format_invalid_joined(run, COR_NAME_DNS1123_SUBDOMAIN, run->text) &&
             count_segments(run->text) < 3)
        cor_format_invalid(run, NOT_THREE_SEGMENTS);
}

void cor_format_check_fqdn2(struct cor_format_run *run)
{
    struct cor_str name = run->text, rest;

    if (name.n == 0) {
        cor_format_required(run, NULL);
        return;
    }
    if (name.p[name.n - 1] == '.')
        name.n--;
    if (cor_format_invalid_joined(run, COR_NAME_DNS1123_SUBDOMAIN, name))
        return;
    if (count_segments(name) < 2) {
        cor_format_invalid_part(run, name, NOT_TWO_SEGMENTS);
        return;
    }
    rest = name;
    do {
        if (cor_format_invalid_joined(run, COR_NAME_DNS1123_LABEL, cor_str_cut(&rest, '.')))
            return;
    } while (rest.p);
}

void cor_format_check_domain_path(struct cor_format_run *run)
{
    struct cor_str path = run->text, host;

    if (run->text.n == 0) {
        cor_format_required(run, NULL);
        return;
    }
    host = cor_str_cut(&path, '/');
    if (host.n == 0 || path.n == 0) {
        cor_format_invalid(run, "must be a domain-prefixed path (such as \"acme.io/foo\")");
        return;
    }
    cor_format_invalid_name(run, COR_NAME_DNS1123_SUBDOMAIN, host, "");
    if (!consists_of(path, "/-._~%!$&'()*+,;=:"))
        cor_format_invalid_part(run, path,
                                "Invalid path (regex used for validation is "
                                "'[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')");
}

void cor_format_check_config_key(struct cor_format_run *run)
{
    if (run->text.n > SUBDOMAIN_BYTES_MAX)
        cor_format_invalid(run, SUBDOMAIN_TOO_LONG);
    if (!consists_of(run->text, "-._"))
        cor_format_invalid(run, "a valid config key must consist of alphanumeric characters, '-', "
                                "'_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', "
                                "regex used for validation is '[-._a-zA-Z0-9]+')");
    if (run->text.n == 0 || run->text.p[0] != '.')
        return;
    if (run->text.n == 1)
        cor_format_invalid(run, "must not be '.'");
    else if (cor_str_eq(run->text, COR_STR("..")))
        cor_format_invalid(run, "must not be '..'");
    else if (cor_str_starts(run->text, COR_STR("..")))
        cor_format_invalid(run, "must not start with '..'");
}

void cor_format_check_env_name(struct cor_format_run *run)
{
    if (run->text.n == 0)
        cor_format_invalid(run, "environment variable name must be non-empty");
    for (size_t i = 0; i < run->text.n; i++) {
        char c = run->text.p[i];

        if (c < ' ' || c > '~' || c == '=') {
            cor_format_invalid(run, "a valid environment variable name must consist only of "
                                    "printable ASCII characters other than '='");
            return;
        }
    }
}

void cor_format_check_c_identifier(struct cor_format_run *run)
{
    if (!consists_of(run->text, "_") || (!cor_is_letter(run->text.p[0]) && run->text.p[0] != '_'))
        cor_format_invalid(run, "a valid C identifier must start with alphabetic character or '_', "
                                "followed by a string of alphanumeric characters or '_' (e.g. "
                                "'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation "
                                "is '[A-Za-z_][A-Za-z0-9_]*')");
}

void cor_format_check_http_header(struct cor_format_run *run)
{
    if (!consists_of(run->text, "-"))
        cor_format_invalid(run, "a valid HTTP header must consist of alphanumeric characters or "
                                "'-' (e.g. 'X-Header-Name', regex used for validation is "
                                "'[-A-Za-z0-9]+')");
}

void cor_format_check_condition_reason(struct cor_format_run *run)
{
    struct cor_str text = run->text;
    char last = text.n > 0 ? text.p[text.n - 1] : '\0';

    if (!consists_of(text, "_,:") || !cor_is_letter(text.p[0]) || last == ',' || last == ':')
        cor_format_invalid(
            run, "a condition reason must start with alphabetic character, optionally followed by "
                 "a string of alphanumeric characters or '_,:', and must end with an alphanumeric "
                 "character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or "
                 "'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is "
                 "'[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')");
}

/* The first label of `half` that breaks the rule, with all that is wrong with it; the half of the
 * signer's name is printed. */
static void check_signer_labels(struct cor_format_run *run, enum cor_name_rule rule,
                                struct cor_str half)
{
    struct cor_complaints complaints = {.n = 0};
    struct cor_str rest = half, label;

    do {
        label = cor_str_cut(&rest, '.');
        complaints = cor_name_check(rule, label);
    } while (complaints.n == 0 && rest.p);
    for (size_t i = 0; i < complaints.n; i++) {
        struct cor_buf detail = {.max = DETAIL_MAX};
        int r = cor_buf_addz(&detail, "validating label ");

        if (r == 0)
            r = cor_quote(label, &detail);
        if (r == 0)
            r = cor_buf_addf(&detail, ": %s", complaints.text[i]);
        cor_format_invalid_made(run, half, &detail, r);
    }
}

void cor_format_check_signer_name(struct cor_format_run *run)
{
    struct cor_str path = run->text, domain;

    if (run->text.n == 0) {
        cor_format_required(run, NULL);
        return;
    }
    domain = cor_str_cut(&path, '/');
    if (!path.p || cor_str_find(path, '/') >= 0) {
        cor_format_invalid(run, "must be a fully qualified domain and path of the form "
                                "'example.com/signer-name'");
        return;
    }
    if (domain.n > SUBDOMAIN_BYTES_MAX)
        cor_format_too_long(run, SUBDOMAIN_BYTES_MAX);
    check_signer_labels(run, COR_NAME_DNS1123_LABEL, domain);
    if (count_segments(domain) < 2)
        cor_format_invalid_part(run, domain, NOT_TWO_SEGMENTS);
    check_signer_labels(run, COR_NAME_DNS1123_SUBDOMAIN, path);
    if (run->text.n > SIGNER_BYTES_MAX)
        cor_format_too_long(run, SIGNER_BYTES_MAX);
}

void cor_format_check_csi_driver_name(struct cor_format_run *run)
{
    if (run->text.n == 0)
        cor_format_required(run, NULL);
    if (run->text.n > LABEL_BYTES_MAX)
        cor_format_too_long(run, LABEL_BYTES_MAX);
    cor_format_invalid_name(run, COR_NAME_SUBDOMAIN_ANY_CASE, run->text, "");
}
