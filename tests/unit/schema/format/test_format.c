/* Contract validation 3.1 to 3.3: what each format accepts, and its messages. */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "schema/format/format.h"
#include "schema/format/format_ip.h"
#include "schema/format/resource_name.h"
#include "schema/go/index_list.h"
#include "test.h"

#define SUBDOMAIN_RULE                                                                             \
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "   \
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "  \
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
#define LABEL_RULE                                                                                 \
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "   \
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex "     \
    "used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
#define NAME_RULE                                                                                  \
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "    \
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "         \
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"

#define URL_FORM "; desired format: https://host[/path]"

#define N10(s) s s s s s s s s s s
#define N60(s) N10(s) N10(s) N10(s) N10(s) N10(s) N10(s)

/* A value, and the bodies of its errors, each on a line of its own; NULL: it is fine. */
struct row {
    const char *text;
    const char *bodies;
};

static void print_bodies(const struct cor_field_errors *errs, struct cor_buf *out)
{
    cor_buf_reset(out);
    for (size_t i = 0; i < errs->n; i++) {
        assert_string_equal(errs->v[i].field, "f");
        assert_int_equal(cor_buf_addf(out, "%s%s", i > 0 ? "\n" : "", errs->v[i].body), 0);
    }
}

static void check_row(const char *name, const struct row *row)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf bodies = {.max = 1u << 20};
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errs = {0};
    struct cor_field_path path = cor_field_root(COR_STR("f"));
    struct cor_str text = cor_strz(row->text);
    enum cor_format format;
    int64_t number;

    assert_true(cor_format_find(cor_strz(name), &format));
    if ((cor_format_input(format) & COR_FORMAT_OF_INT) && cor_str_to_i64(text, &number) == 0)
        cor_format_add_int(format, number, &path, &errs);
    else
        cor_format_add_text(format, text, &path, &errs);
    assert_int_equal(errs.error, 0);
    print_bodies(&errs, &bodies);
    if (strcmp(cor_buf_z(&bodies), row->bodies ? row->bodies : "") != 0)
        print_message("%s of '%s'\n", name, row->text);
    assert_string_equal(cor_buf_z(&bodies), row->bodies ? row->bodies : "");
}

#define CHECK_ROWS(name, rows)                                                                     \
    for (size_t i_ = 0; i_ < COR_ARRAY_LEN(rows); i_++)                                            \
    check_row(name, &(rows)[i_])

#include "../format_rows.h"

TEST(format, answers_as_upstream_did)
{
    for (size_t i = 0; i < COR_ARRAY_LEN(recorded_rows); i++) {
        struct row row = {recorded_rows[i].text, recorded_rows[i].bodies};

        check_row(recorded_rows[i].format, &row);
    }
}

/* Contract validation 3.1.1, 3.0.2 */
TEST(format, dns_label)
{
    static const struct row rows[] = {
        {"a-1", NULL},
        {"a.b", "Invalid value: \"a.b\": must not contain dots"},
        {"A", "Invalid value: \"A\": " LABEL_RULE},
        {N60("a") "-aa-",
         "Invalid value: \"" N60("a") "-aa-\": must be no more than 63 "
                                      "characters\n"
                                      "Invalid value: \"" N60("a") "-aa-\": " LABEL_RULE},
    };

    CHECK_ROWS("dns-label", rows);
}

/* Contract validation 3.1.3, 3.1.5 */
TEST(format, dns_subdomain_with_underscores_or_a_wildcard)
{
#define LOOSE                                                                                      \
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' " \
    "or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex "    \
    "used for validation is '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])"  \
    "?)*')"
#define WILD                                                                                       \
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, "      \
    "which must consist of lower case alphanumeric characters, '-' or '.' and end with an "        \
    "alphanumeric character (e.g. '*.example.com', regex used for validation is "                  \
    "'\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
    static const struct row loose[] = {
        {"_sip._tcp.a_b", NULL},
        {"a._", "Invalid value: \"a._\": " LOOSE},
        {"__a", "Invalid value: \"__a\": " LOOSE},
        {"a..b", "Invalid value: \"a..b\": " LOOSE},
        {"", "Invalid value: \"\": " LOOSE},
    };
    static const struct row wild[] = {
        {"*.example.com", NULL},
        {"example.com", "Invalid value: \"example.com\": " WILD},
        {"*.", "Invalid value: \"*.\": " WILD},
        {"*.a.*", "Invalid value: \"*.a.*\": " WILD},
        {"*", "Invalid value: \"*\": " WILD},
    };

    CHECK_ROWS("dns-subdomain_", loose);
    CHECK_ROWS("wildcard-dns", wild);
}

/* Contract validation 3.1.6, 3.1.7, 2.1.7 */
TEST(format, qualified_name)
{
    static const struct row rows[] = {
        {"example.com/My_name", NULL},
        {"a/b/c", "Invalid value: \"a/b/c\": a qualified name " NAME_RULE
                  " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"},
        {"/a", "Invalid value: \"/a\": prefix part must be non-empty"},
        {"A/", "Invalid value: \"A/\": prefix part " SUBDOMAIN_RULE
               "\nInvalid value: \"A/\": name part must be non-empty"
               "\nInvalid value: \"A/\": name part " NAME_RULE},
    };
    static const struct row keys[] = {
        {"Example.COM/a", NULL},
        {"_/a", "Invalid value: \"_/a\": prefix part " SUBDOMAIN_RULE},
    };

    CHECK_ROWS("qualified-name", rows);
    CHECK_ROWS("annotation-key", keys);
}

/* Contract validation 3.1.8 */
TEST(format, path_segment)
{
    static const struct row rows[] = {
        {"a:b", NULL},
        {"..", "Invalid value: \"..\": may not be '..'"},
        {"a/%", "Invalid value: \"a/%\": may not contain '/'\n"
                "Invalid value: \"a/%\": may not contain '%'"},
    };

    CHECK_ROWS("path-segment", rows);
}

/* Contract validation 3.1.9, 3.1.10 */
TEST(format, fully_qualified_names)
{
    static const struct row three[] = {
        {"a.b.c", NULL},
        {"", "Required value"},
        {"a.b", "Invalid value: \"a.b\": should be a domain with at least three segments separated "
                "by dots"},
        {"a.B.c", "Invalid value: \"a.B.c\": " SUBDOMAIN_RULE},
    };
    static const struct row two[] = {
        {"a.b.", NULL},
        {"", "Required value"},
        {"a.", "Invalid value: \"a\": should be a domain with at least two segments separated by "
               "dots"},
        {"a.b..", "Invalid value: \"a.b.\": " SUBDOMAIN_RULE},
        {"a." N60("b") "bbbb", "Invalid value: \"" N60("b") "bbbb\": must be no more than 63 "
                                                            "characters"},
    };

    CHECK_ROWS("fqdn3", three);
    CHECK_ROWS("fqdn2", two);
}

/* Contract validation 3.1.11 */
TEST(format, domain_path)
{
    static const struct row rows[] = {
        {"acme.io/foo", NULL},
        {"acme.io/a/b%2F~", NULL},
        {"", "Required value"},
        {"acme.io", "Invalid value: \"acme.io\": must be a domain-prefixed path (such as "
                    "\"acme.io/foo\")"},
        {"acme.io/", "Invalid value: \"acme.io/\": must be a domain-prefixed path (such as "
                     "\"acme.io/foo\")"},
        {"A/b c", "Invalid value: \"A\": " SUBDOMAIN_RULE
                  "\nInvalid value: \"b c\": Invalid path (regex used for validation is "
                  "'[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')"},
    };

    CHECK_ROWS("domain-path", rows);
}

/* Contract validation 3.1.12 to 3.1.15 */
TEST(format, keys_and_identifiers)
{
#define KEY                                                                                        \
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "           \
    "'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
#define ENV                                                                                        \
    "a valid environment variable name must consist only of printable ASCII characters other "     \
    "than '='"
#define IDENTIFIER                                                                                 \
    "a valid C identifier must start with alphabetic character or '_', followed by a string of "   \
    "alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for " \
    "validation is '[A-Za-z_][A-Za-z0-9_]*')"
#define HEADER                                                                                     \
    "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', "   \
    "regex used for validation is '[-A-Za-z0-9]+')"
    static const struct row keys[] = {
        {"a.b_c-D", NULL},
        {"", "Invalid value: \"\": " KEY},
        {".", "Invalid value: \".\": must not be '.'"},
        {"..", "Invalid value: \"..\": must not be '..'"},
        {"../a", "Invalid value: \"../a\": " KEY "\n"
                 "Invalid value: \"../a\": must not start with '..'"},
    };
    static const struct row env[] = {
        {"a b:~!", NULL},
        {"", "Invalid value: \"\": environment variable name must be non-empty"},
        {"a=b\t", "Invalid value: \"a=b\\t\": " ENV},
        {"\xc3\xa9", "Invalid value: \"\xc3\xa9\": " ENV},
    };
    static const struct row identifiers[] = {
        {"_a1", NULL},
        {"1a", "Invalid value: \"1a\": " IDENTIFIER},
        {"", "Invalid value: \"\": " IDENTIFIER},
    };
    static const struct row headers[] = {
        {"X-Header-1", NULL},
        {"", "Invalid value: \"\": " HEADER},
        {"X_H", "Invalid value: \"X_H\": " HEADER},
    };

    CHECK_ROWS("config-key", keys);
    CHECK_ROWS("env-name", env);
    CHECK_ROWS("c-identifier", identifiers);
    CHECK_ROWS("http-header", headers);
}

/* Contract validation 3.1.16 */
TEST(format, signer_name)
{
#define NOT_TWO "should be a domain with at least two segments separated by dots"
    static const struct row rows[] = {
        {"example.com/my.signer", NULL},
        {"", "Required value"},
        {"example.com", "Invalid value: \"example.com\": must be a fully qualified domain and path "
                        "of the form 'example.com/signer-name'"},
        {"a/b/c", "Invalid value: \"a/b/c\": must be a fully qualified domain and path of the form "
                  "'example.com/signer-name'"},
        {"Foo/bar_baz",
         "Invalid value: \"Foo\": validating label \"Foo\": " LABEL_RULE
         "\nInvalid value: \"Foo\": " NOT_TWO
         "\nInvalid value: \"bar_baz\": validating label \"bar_baz\": " SUBDOMAIN_RULE},
        {"a.b/", "Invalid value: \"\": validating label \"\": " SUBDOMAIN_RULE},
    };

    CHECK_ROWS("signer-name", rows);
}

/* Contract validation 3.1.17, 3.1.18 */
TEST(format, condition_reason_and_csi_driver_name)
{
#define REASON                                                                                     \
    "a condition reason must start with alphabetic character, optionally followed by a string of " \
    "alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. "  \
    "'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex " \
    "used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')"
    static const struct row reasons[] = {
        {"ReasonA:b_", NULL},
        {"a", NULL},
        {"_a", "Invalid value: \"_a\": " REASON},
        {"a,", "Invalid value: \"a,\": " REASON},
    };
    static const struct row drivers[] = {
        {"CSI.example.com", NULL},
        {"", "Required value\nInvalid value: \"\": " SUBDOMAIN_RULE},
        {N60("a") ".BB_", "Too long: may not be more than 63 bytes\n"
                          "Invalid value: \"" N60("a") ".BB_\": " SUBDOMAIN_RULE},
    };

    CHECK_ROWS("condition-reason", reasons);
    CHECK_ROWS("csi-driver-name", drivers);
}

/* Contract validation 3.1.19, 3.3.7 */
TEST(format, paths)
{
    static const struct row local[] = {
        {"a/..b", NULL},
        {"", NULL},
        {"..a", NULL},
        {"/a/../..", "Invalid value: \"/a/../..\": must be a relative path\n"
                     "Invalid value: \"/a/../..\": must not contain '..'"},
    };
    static const struct row nonreserved[] = {
        {"a/..b", NULL},
        {"..a", "Invalid value: \"..a\": must not start with '..'"},
        {"../a", "Invalid value: \"../a\": must not contain '..'"},
        {"..", "Invalid value: \"..\": must not contain '..'\n"
               "Invalid value: \"..\": must not start with '..'"},
    };
    static const struct row webhook[] = {
        {"", NULL},
        {"/", NULL},
        {"/a/b/", NULL},
        {"//", "Invalid value: \"//\": segment[0] may not be empty"},
        {"x", "Invalid value: \"x\": must start with a '/'\n"
              "Invalid value: \"x\": segment[0] may not be empty"},
        {"/a//B", "Invalid value: \"/a//B\": segment[1] may not be empty\n"
                  "Invalid value: \"/a//B\": segment[2]: " SUBDOMAIN_RULE},
    };

    CHECK_ROWS("local-path", local);
    CHECK_ROWS("nonreserved-path", nonreserved);
    CHECK_ROWS("webhook-path", webhook);
}

/* Contract validation 3.1.20, 3.2.1, 3.2.2, 3.2.3, 3.2.5 */
TEST(format, numbers_and_ports)
{
#define MODE "must be a number between 0 and 0777 (octal), both inclusive"
#define PORT "must be between 1 and 65535, inclusive"
    static const struct row modes[] = {
        {"511", NULL},
        {"512", "Invalid value: 512: " MODE},
        {"-1", "Invalid value: -1: " MODE},
    };
    static const struct row ports[] = {
        {"1", NULL},
        {"65535", NULL},
        {"0", "Invalid value: 0: " PORT},
        {"65536", "Invalid value: 65536: " PORT},
    };
    static const struct row names[] = {
        {"http-1", NULL},
        {"80", "Invalid value: \"80\": must contain at least one letter (a-z)"},
        {"", "Invalid value: \"\": must contain only alpha-numeric characters (a-z, 0-9), and "
             "hyphens (-)\nInvalid value: \"\": must contain at least one letter (a-z)"},
        {"-A--0123456789-",
         "Invalid value: \"-A--0123456789-\": must contain only alpha-numeric characters (a-z, "
         "0-9), and hyphens (-)\n"
         "Invalid value: \"-A--0123456789-\": must contain at least one letter (a-z)\n"
         "Invalid value: \"-A--0123456789-\": must not contain consecutive hyphens\n"
         "Invalid value: \"-A--0123456789-\": must not begin or end with a hyphen"},
        {"abcdefghijklmnop",
         "Invalid value: \"abcdefghijklmnop\": must be no more than 15 characters"},
    };
    static const struct row both[] = {
        {"80", NULL},
        {"http", NULL},
        {"0", "Invalid value: 0: " PORT},
        {"a--b", "Invalid value: \"a--b\": must not contain consecutive hyphens"},
    };
    static const struct row ids[] = {
        {"2147483647", NULL},
        {"2147483648", "Invalid value: 2147483648: must be between 0 and 2147483647, inclusive"},
        {"-1", "Invalid value: -1: must be between 0 and 2147483647, inclusive"},
    };

    CHECK_ROWS("file-mode", modes);
    CHECK_ROWS("port", ports);
    CHECK_ROWS("port-name", names);
    CHECK_ROWS("port-or-name", both);
    CHECK_ROWS("uid", ids);
    CHECK_ROWS("gid", ids);
}

/* Contract validation 3.2.4 */
TEST(format, int_or_percent)
{
#define PERCENT                                                                                    \
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or "   \
    "'93%', regex used for validation is '[0-9]+%')"
    static const struct row rows[] = {
        {"0", NULL},
        {"101%", NULL},
        {"-1", "Invalid value: -1: must be greater than or equal to 0"},
        {"%", "Invalid value: \"%\": " PERCENT},
        {"<1%", "Invalid value: \"\\u003c1%\": " PERCENT},
    };
    static const struct row most[] = {
        {"101", NULL},
        {"100%", NULL},
        {"00100%", NULL},
        {"x", NULL},
        {"101%", "Invalid value: \"101%\": must not be greater than 100%"},
        {"99999999999999999999%",
         "Invalid value: \"99999999999999999999%\": must not be greater than 100%"},
    };

    CHECK_ROWS("int-or-percent", rows);
    CHECK_ROWS("max-100%", most);
}

/* Contract validation 3.2.6, 3.2.8, 3.2.9, 3.2.10 */
TEST(format, quantities_and_names_of_resources)
{
#define NOT_STANDARD "must be a standard resource type or fully qualified"
    static const struct row quantities[] = {
        {"0", NULL},
        {"1Gi", NULL},
        {"-0", NULL},
        {"-500m", "Invalid value: \"-500m\": must be greater than or equal to 0"},
    };
    static const struct row names[] = {
        {"cpu", NULL},
        {"storage", NULL},
        {"example.com/gpu", NULL},
        {"hugepages-2Mi", NULL},
        {"gpu", "Invalid value: \"gpu\": " NOT_STANDARD},
        {"_gpu", "Invalid value: \"_gpu\": name part " NAME_RULE},
    };
    static const struct row containers[] = {
        {"hugepages-2Mi", NULL},
        {"example.com/gpu", NULL},
        {"kubernetes.io/x", NULL},
        {"pods", "Invalid value: \"pods\": must be a standard resource for containers"},
        {"gpu", "Invalid value: \"gpu\": " NOT_STANDARD
                "\nInvalid value: \"gpu\": must be a standard resource for containers"},
        {"requests.example.com/gpu", "Invalid value: \"requests.example.com/gpu\": doesn't follow "
                                     "extended resource name standard"},
    };
    static const struct row quotas[] = {
        {"requests.hugepages-1Gi", NULL},
        {"count/pods", NULL},
        {"storage", "Invalid value: \"storage\": must be a standard resource for quota"},
    };

    CHECK_ROWS("quantity>=0", quantities);
    CHECK_ROWS("resource-name", names);
    CHECK_ROWS("container-resource-name", containers);
    CHECK_ROWS("quota-resource-name", quotas);
}

/* Contract validation 3.2.7, 3.2.11 */
TEST(format, quantity_of_a_resource)
{
    static const struct {
        const char *name, *quantity, *bodies;
    } rows[] = {
        {"cpu", "1500m", ""},
        {"pods", "1500m", "Invalid value: \"1500m\": must be an integer"},
        {"example.com/gpu", "-1500m",
         "Invalid value: \"-1500m\": must be greater than or equal to "
         "0\nInvalid value: \"-1500m\": must be an integer"},
        {"services.nodeports", "2k", ""},
        {"secrets", "15e-1", "Invalid value: \"15e-1\": must be an integer"},
    };
    struct cor_field_path path = cor_field_root(COR_STR("f"));

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf bodies = {.max = 1u << 20};
        COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errs = {0};

        cor_resource_add_quantity(cor_strz(rows[i].name), cor_strz(rows[i].quantity), &path, &errs);
        print_bodies(&errs, &bodies);
        assert_string_equal(cor_buf_z(&bodies), rows[i].bodies);
    }
}

TEST(format, pages_are_filled_by_whole_multiples)
{
    static const struct {
        const char *name, *quantity;
        bool fills;
    } rows[] = {
        {"hugepages-2Mi", "4Mi", true},   {"hugepages-2Mi", "3Mi", false},
        {"hugepages-2Mi", "0", true},     {"hugepages-x", "4Mi", false},
        {"hugepages-0", "4Mi", false},    {"hugepages--2Mi", "4Mi", false},
        {"hugepages-500m", "4Mi", false}, {"memory", "4Mi", false},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++)
        assert_int_equal(
            cor_resource_fills_pages(cor_strz(rows[i].name), cor_strz(rows[i].quantity)),
            rows[i].fills);
}

/* Contract validation 3.3.1, 3.3.2 */
TEST(format, ip_addresses)
{
#define NO_IP "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
    static const struct row lenient[] = {
        {"10.9.8.7", NULL},
        {"010.009.008.007", NULL},
        {"::ffff:1.2.3.4", NULL},
        {"2001:DB8:0::1", NULL},
        {"00001::", NULL},
        {"1:2:3:4:5:6:7::", NULL},
        {"::", NULL},
        {"1:2:3:4:5:6:1.2.3.4", NULL},
        {"", "Invalid value: \"\": " NO_IP},
        {"1", "Invalid value: \"1\": " NO_IP},
        {"1.2.3", "Invalid value: \"1.2.3\": " NO_IP},
        {"1.2.3.256", "Invalid value: \"1.2.3.256\": " NO_IP},
        {"1.2.3.4.", "Invalid value: \"1.2.3.4.\": " NO_IP},
        {" 1.2.3.4", "Invalid value: \" 1.2.3.4\": " NO_IP},
        {":1", "Invalid value: \":1\": " NO_IP},
        {"1:::2", "Invalid value: \"1:::2\": " NO_IP},
        {"::1::", "Invalid value: \"::1::\": " NO_IP},
        {"1:2:3:4:5:6:7:8:9", "Invalid value: \"1:2:3:4:5:6:7:8:9\": " NO_IP},
        {"1:2:3:4:5:6:7:8::", "Invalid value: \"1:2:3:4:5:6:7:8::\": " NO_IP},
        {"1:1.2.3.4", "Invalid value: \"1:1.2.3.4\": " NO_IP},
        {"fe80::1%eth0", "Invalid value: \"fe80::1%eth0\": " NO_IP},
        {"12345::", "Invalid value: \"12345::\": " NO_IP},
    };
    static const struct row canonical[] = {
        {"10.9.8.7", NULL},
        {"2001:db8::1", NULL},
        {"::", NULL},
        {"1:0:0:2::", NULL},
        {"1::2:0:0:0:3", "Invalid value: \"1::2:0:0:0:3\": must be in canonical form "
                         "(\"1:0:0:2::3\")"},
        {"x", "Invalid value: \"x\": " NO_IP},
        {"10.9.8.07", "Invalid value: \"10.9.8.07\": must not have leading 0s"},
        {"::ffff:1.2.3.4",
         "Invalid value: \"::ffff:1.2.3.4\": must not be an IPv4-mapped IPv6 address"},
        {"2001:DB8::0:1",
         "Invalid value: \"2001:DB8::0:1\": must be in canonical form (\"2001:db8::1\")"},
        {"1:0:2:3:4:5:6:7", NULL},
        {"1::2:3:4:5:6:7",
         "Invalid value: \"1::2:3:4:5:6:7\": must be in canonical form (\"1:0:2:3:4:5:6:7\")"},
    };

    CHECK_ROWS("ip-legacy", lenient);
    CHECK_ROWS("ip-canonical", canonical);
}

/* Contract validation 3.3.3 */
TEST(format, cidr_values)
{
#define NO_CIDR "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
    static const struct row lenient[] = {
        {"10.9.8.7/024", NULL},
        {"::ffff:1.2.3.4/120", NULL},
        {"2001:db8::/128", NULL},
        {"10.9.8.7", "Invalid value: \"10.9.8.7\": " NO_CIDR},
        {"10.9.8.7/", "Invalid value: \"10.9.8.7/\": " NO_CIDR},
        {"10.9.8.7/33", "Invalid value: \"10.9.8.7/33\": " NO_CIDR},
        {"10.9.8.7/-1", "Invalid value: \"10.9.8.7/-1\": " NO_CIDR},
        {"10.9.8.7/8/8", "Invalid value: \"10.9.8.7/8/8\": " NO_CIDR},
        {"::/129", "Invalid value: \"::/129\": " NO_CIDR},
    };
    static const struct row canonical[] = {
        {"10.9.8.0/24", NULL},
        {"0.0.0.0/0", NULL},
        {"2001:db8::/33", NULL},
        {"10.9.8.0/024",
         "Invalid value: \"10.9.8.0/024\": must not have leading 0s in IP or prefix length"},
        {"::ffff:1.2.3.0/120",
         "Invalid value: \"::ffff:1.2.3.0/120\": must not have an IPv4-mapped IPv6 address"},
        {"10.9.8.7/24",
         "Invalid value: \"10.9.8.7/24\": must not have bits set beyond the prefix length"},
        {"2001:DB8::/33",
         "Invalid value: \"2001:DB8::/33\": must be in canonical form (\"2001:db8::/33\")"},
    };

    CHECK_ROWS("cidr-legacy", lenient);
    CHECK_ROWS("cidr-canonical", canonical);
}

/* Contract validation 3.3.4 */
TEST(format, endpoint_ip)
{
#define LOOPBACK   "may not be in the loopback range (127.0.0.0/8, ::1/128)"
#define LINK_LOCAL "may not be in the link-local range (169.254.0.0/16, fe80::/10)"
#define MULTICAST  "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"
    static const struct row rows[] = {
        {"10.0.0.1", NULL},
        {"239.0.0.1", NULL},
        {"ff0e::1", NULL},
        {"x", "Invalid value: \"x\": must be a valid IP address"},
        {"0.0.0.000", "Invalid value: \"0.0.0.000\": may not be unspecified (0.0.0.000)"},
        {"::", "Invalid value: \"::\": may not be unspecified (::)"},
        {"127.1.2.3", "Invalid value: \"127.1.2.3\": " LOOPBACK},
        {"::1", "Invalid value: \"::1\": " LOOPBACK},
        {"::ffff:169.254.0.1", "Invalid value: \"::ffff:169.254.0.1\": " LINK_LOCAL},
        {"febf::1", "Invalid value: \"febf::1\": " LINK_LOCAL},
        {"224.0.0.9", "Invalid value: \"224.0.0.9\": " MULTICAST},
        {"ff12::1", "Invalid value: \"ff12::1\": " MULTICAST},
    };

    CHECK_ROWS("endpoint-ip", rows);
}

/* Contract validation 3.3.5 */
TEST(format, warnings_about_addresses)
{
    static const struct {
        const char *text, *first, *second;
        bool is_cidr;
    } rows[] = {
        {"10.0.0.1", "", NULL, false},
        {"2001:db8::1", "", NULL, false},
        {"10.0.0.01",
         "non-standard IP address \"10.0.0.01\" will be considered invalid in a future Kubernetes "
         "release: use \"10.0.0.1\"",
         NULL, false},
        {"::ffff:1.2.3.4",
         "non-standard IP address \"::ffff:1.2.3.4\" will be considered invalid in a future "
         "Kubernetes release: use \"1.2.3.4\"",
         NULL, false},
        {"2001:DB8::1",
         "IPv6 address \"2001:DB8::1\" should be in RFC 5952 canonical format (\"2001:db8::1\")",
         NULL, false},
        {"10.0.0.0/8", "", "", true},
        {"10.0.0.1/08",
         "CIDR value \"10.0.0.1/08\" is ambiguous in this context (should be \"10.0.0.0/8\" or "
         "\"10.0.0.1/32\"?)",
         "non-standard CIDR value \"10.0.0.1/08\" will be considered invalid in a future "
         "Kubernetes release: use \"10.0.0.0/8\"",
         true},
        {"::ffff:1.2.3.0/120", "",
         "non-standard CIDR value \"::ffff:1.2.3.0/120\" will be considered invalid in a future "
         "Kubernetes release: use \"1.2.3.0/24\"",
         true},
        {"2001:DB8::/32", "",
         "IPv6 CIDR value \"2001:DB8::/32\" should be in RFC 5952 canonical format "
         "(\"2001:db8::/32\")",
         true},
        {"2001:DB8::1/32",
         "CIDR value \"2001:DB8::1/32\" is ambiguous in this context (should be \"2001:db8::/32\" "
         "or \"2001:db8::1/128\"?)",
         "", true},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 4096};
        struct cor_str text = cor_strz(rows[i].text);
        int r = rows[i].is_cidr ? cor_cidr_warning(text, 0, &out) : cor_ip_warning(text, &out);

        assert_int_equal(r, rows[i].first[0] != '\0');
        assert_string_equal(cor_buf_z(&out), rows[i].first);
        if (!rows[i].second)
            continue;
        cor_buf_reset(&out);
        assert_int_equal(cor_cidr_warning(text, 1, &out), rows[i].second[0] != '\0');
        assert_string_equal(cor_buf_z(&out), rows[i].second);
    }
}

/* Contract validation 3.3.6 */
TEST(format, webhook_url)
{
    static const struct row rows[] = {
        {"https://example.com:443/a", NULL},
        {"https://[::1]:443", NULL},
        {"http://u:p@/?q#f%20g",
         "Invalid value: \"http\": 'https' is the only allowed URL scheme" URL_FORM
         "\nInvalid value: \"\": host must be specified" URL_FORM
         "\nInvalid value: \"u:p\": user information is not permitted in the URL"
         "\nInvalid value: \"f g\": fragments are not permitted in the URL"
         "\nInvalid value: \"q\": query parameters are not permitted in the URL"},
        {"", "Invalid value: \"\": 'https' is the only allowed URL scheme" URL_FORM
             "\nInvalid value: \"\": host must be specified" URL_FORM},
        {"https://a b", "Required value: url must be a valid URL: parse \"https://a b\": invalid "
                        "character \" \" in host name" URL_FORM},
        {"https://a/%zz#f", "Required value: url must be a valid URL: parse \"https://a/%zz\": "
                            "invalid URL escape \"%zz\"" URL_FORM},
        {"https://a#%", "Required value: url must be a valid URL: parse \"https://a#%\": invalid "
                        "URL escape \"%\"" URL_FORM},
    };

    CHECK_ROWS("webhook-url", rows);
}

/* Contract validation 3.3.8 */
TEST(format, cron)
{
    static const struct row rows[] = {
        {"*/5 0-23/2 ? JAN-dec sun,1-5", NULL},
        {"@every 1h30m", NULL},
        {"TZ=Europe/Berlin @daily", NULL},
        {"", "Invalid value: \"\": empty spec string"},
        {"a b c", "Invalid value: \"a b c\": expected exactly 5 fields, found 3: [a b c]"},
        {"x * * * *", "Invalid value: \"x * * * *\": failed to parse int from x: strconv.Atoi: "
                      "parsing \"x\": invalid syntax"},
        {"* * 0 * *", "Invalid value: \"* * 0 * *\": beginning of range (0) below minimum (1): 0"},
        {"* * * * 7", "Invalid value: \"* * * * 7\": end of range (7) above maximum (6): 7"},
        {"5-1 * * * *",
         "Invalid value: \"5-1 * * * *\": beginning of range (5) beyond end of range (1): 5-1"},
        {"*/0 * * * *", "Invalid value: \"*/0 * * * *\": step of range should be a positive "
                        "number: */0"},
        {"1-2-3 * * * *", "Invalid value: \"1-2-3 * * * *\": too many hyphens: 1-2-3"},
        {"1/2/3 * * * *", "Invalid value: \"1/2/3 * * * *\": too many slashes: 1/2/3"},
        {"*/-1 * * * *", "Invalid value: \"*/-1 * * * *\": negative number (-1) not allowed: -1"},
        {"@x", "Invalid value: \"@x\": unrecognized descriptor: @x"},
        {"@every x", "Invalid value: \"@every x\": failed to parse duration @every x: time: "
                     "invalid duration \"x\""},
        {"TZ=Nope * * * * *", "Invalid value: \"TZ=Nope * * * * *\": provided bad location Nope: "
                              "unknown time zone Nope"},
        /* Upstream panics here. */
        {"TZ=UTC", "Invalid value: \"TZ=UTC\": expected exactly 5 fields, found 0: []"},
    };

    CHECK_ROWS("cron", rows);
}

/* Contract validation 3.3.9 */
TEST(format, time_zone)
{
#define NOT_EXPLICIT                                                                               \
    "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
    static const struct row rows[] = {
        {"America/Argentina/Buenos_Aires", NULL},
        {"UTC", NULL},
        {"", "Invalid value: \"\": timeZone must be nil or non-empty string"},
        {"Local", "Invalid value: \"Local\": " NOT_EXPLICIT},
        {"LOCAL", "Invalid value: \"LOCAL\": " NOT_EXPLICIT
                  "\nInvalid value: \"LOCAL\": unknown time zone LOCAL"},
        {"europe/berlin", "Invalid value: \"europe/berlin\": unknown time zone europe/berlin"},
        {"a/../b", "Invalid value: \"a/../b\": unknown time zone a/../b"},
        {"<", "Invalid value: \"\\u003c\": unknown time zone <"},
    };

    CHECK_ROWS("time-zone", rows);
}

/* Contract validation 5.5.11 */
TEST(format, lists_of_indexes)
{
    static const struct {
        const char *text;
        int total;
        const char *why;
    } rows[] = {
        {"", 0, NULL},
        {"0,2-5,9", 6, NULL},
        {"+1", 1, NULL},
        {"10", 0, "too large index: \"10\""},
        {"1-10", 0, "too large index: \"10\""},
        {"-1", 0, "cannot convert string to integer for index: \"\""},
        {"1,", 0, "cannot convert string to integer for index: \"\""},
        {"1-x", 0, "cannot convert string to integer for index: \"x\""},
        {"1-2-3", 0,
         "the fragment \"1-2-3\" violates the requirement that an index interval can have at most "
         "two parts separated by '-'"},
        {"2-2", 0, "non-increasing order, previous: 2, current: 2"},
        {"1-3,3", 0, "non-increasing order, previous: 3, current: 3"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf why = {.max = 4096};
        int32_t total;

        assert_int_equal(cor_index_list_check(cor_strz(rows[i].text), 10, &total, &why),
                         rows[i].why ? 1 : 0);
        assert_int_equal(total, rows[i].total);
        assert_string_equal(cor_buf_z(&why), rows[i].why ? rows[i].why : "");
    }
}

TEST(format, lists_of_indexes_overlap)
{
    static const struct {
        const char *a, *b;
        int shared;
    } rows[] = {
        {"", "1", -1},     {"1,3", "2,4", -1},     {"1-5", "3", 3}, {"0,4-6", "1-2,6-9", 6},
        {"x,2", "1,2", 2}, {"1-3", "9,x,3-4", -1}, {"x", "1", -1},  {"1-2", "2-3", 2},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++)
        assert_int_equal(cor_index_lists_overlap(cor_strz(rows[i].a), cor_strz(rows[i].b), 10),
                         rows[i].shared);
}

TEST(format, names_of_formats_are_found)
{
    static const char *const names[] = {
#define X(symbol, name, input, fn) [COR_FORMAT_##symbol] = (name),
        COR_FORMATS(X)
#undef X
    };
    enum cor_format format;

    for (size_t i = 0; i < COR_FORMATS_N; i++) {
        assert_true(cor_format_find(cor_strz(names[i]), &format));
        assert_int_equal(format, i);
    }
    assert_false(cor_format_find(COR_STR("dns"), &format));
}

TEST(format, messages_are_joined)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 4096};

    assert_int_equal(cor_format_join(COR_FORMAT_PORT_NAME, COR_STR("a"), ";", &out), 0);
    assert_string_equal(cor_buf_z(&out), "");
    assert_int_equal(cor_format_join(COR_FORMAT_PORT_NAME, COR_STR("-a--"), ";", &out), 0);
    assert_string_equal(cor_buf_z(&out), "must not contain consecutive hyphens;must not begin or "
                                         "end with a hyphen");
}

TEST(format, no_memory)
{
    static const struct row rows[] = {
        {"signer-name", "Foo/bar_baz"}, {"fqdn3", "A"},        {"webhook-path", "/a//B"},
        {"int-or-percent", "x"},        {"endpoint-ip", "::"}, {"cidr-canonical", "2001:DB8::/33"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors whole = {0};
        struct cor_field_path path = cor_field_root(COR_STR("f"));
        struct cor_str text = cor_strz(rows[i].bodies);
        enum cor_format format;

        assert_true(cor_format_find(cor_strz(rows[i].text), &format));
        cor_format_add_text(format, text, &path, &whole);
        assert_true(whole.n > 0);
        FOR_EACH_FAILED_ALLOC(n) {
            COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errs = {0};

            cor_format_add_text(format, text, &path, &errs);
            if (errs.error < 0) {
                assert_int_equal(errs.error, -COR_ENOMEM);
                continue;
            }
            assert_int_equal(errs.n, whole.n);
            for (size_t j = 0; j < errs.n; j++)
                assert_string_equal(errs.v[j].body, whole.v[j].body);
        }
    }
}
