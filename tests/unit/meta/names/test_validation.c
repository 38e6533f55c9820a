#include "base/cleanup.h"
#include "base/mem.h"
#include "meta/names/validation.h"
#include "test.h"

#define SUBDOMAIN_RULE                                                                             \
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "   \
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "  \
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
#define LABEL_RULE                                                                                 \
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "   \
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex "     \
    "used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
#define DNS1035_RULE                                                                               \
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "   \
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or "           \
    "'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
#define NAME_RULE                                                                                  \
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "    \
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "         \
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
#define VALUE_RULE                                                                                 \
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "    \
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value', " \
    " or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"

static void check(enum cor_name_rule rule, struct cor_str name, const char *first,
                  const char *second)
{
    struct cor_complaints c = cor_name_check(rule, name);

    assert_int_equal(c.n, (first != NULL) + (second != NULL));
    if (first)
        assert_string_equal(c.text[0], first);
    if (second)
        assert_string_equal(c.text[1], second);
}

static void check_all(enum cor_name_rule rule, const char *const *names, size_t n,
                      const char *complaint)
{
    for (size_t i = 0; i < n; i++)
        check(rule, cor_strz(names[i]), complaint, NULL);
}

static char *repeat(char c, size_t n)
{
    char *s = cor_alloc(n + 1);

    memset(s, c, n);
    s[n] = '\0';
    return s;
}

TEST(validation, dns1123_label)
{
    static const char *const good[] = {"a", "ab", "abc", "a1",  "a-1", "a--1--2--b",
                                       "0", "01", "1a",  "0-1", "1-a"};
    static const char *const bad[] = {"",   "A",  "aBc", "-",   "a-",   "-a", "1-", "-1",
                                      "_",  "a_", "_a",  "a_b", ".",    "a.", ".a", " ",
                                      "a ", " a", "a b", "1/2", "a..b", "a\n"};
    static const char *const dotted[] = {"a.b", "1.a", "a.b.c"};

    check_all(COR_NAME_DNS1123_LABEL, good, COR_ARRAY_LEN(good), NULL);
    check_all(COR_NAME_DNS1123_LABEL, bad, COR_ARRAY_LEN(bad), LABEL_RULE);
    check_all(COR_NAME_DNS1123_LABEL, dotted, COR_ARRAY_LEN(dotted), "must not contain dots");
}

TEST(validation, dns1123_subdomain)
{
    static const char *const good[] = {"a",   "a1",   "a-1", "a--1--2--b", "0",         "1-a",
                                       "a.a", "ab.a", "a.1", "a.a1-b",     "a.b.c.d.e", "0.0.0.0"};
    static const char *const bad[] = {"",    "A",   "ABC",  "-",    "a-",  "-a",         "1-",
                                      "_",   "a_b", ".",    "a.",   ".a",  "a..b",       " ",
                                      "a b", "a.A", "a.-b", "a-.b", "a/b", "caf\xc3\xa9"};

    check_all(COR_NAME_DNS1123_SUBDOMAIN, good, COR_ARRAY_LEN(good), NULL);
    check_all(COR_NAME_DNS1123_SUBDOMAIN, bad, COR_ARRAY_LEN(bad), SUBDOMAIN_RULE);
}

TEST(validation, dns1035_label)
{
    static const char *const good[] = {"a", "ab", "a1", "a-1", "a--1--2--b"};
    static const char *const bad[] = {"",   "0", "01",  "1a",  "1-", "-a",
                                      "a-", "A", "a_b", "a.b", " a"};

    check_all(COR_NAME_DNS1035_LABEL, good, COR_ARRAY_LEN(good), NULL);
    check_all(COR_NAME_DNS1035_LABEL, bad, COR_ARRAY_LEN(bad), DNS1035_RULE);
}

TEST(validation, lengths_are_counted_in_bytes)
{
    COR_CLEANUP(cor_freep) char *s = repeat('a', 300);

    check(COR_NAME_DNS1123_LABEL, cor_str(s, 63), NULL, NULL);
    check(COR_NAME_DNS1123_LABEL, cor_str(s, 64), "must be no more than 63 characters", NULL);
    check(COR_NAME_DNS1035_LABEL, cor_str(s, 64), "must be no more than 63 characters", NULL);
    check(COR_NAME_DNS1123_SUBDOMAIN, cor_str(s, 253), NULL, NULL);
    check(COR_NAME_DNS1123_SUBDOMAIN, cor_str(s, 254), "must be no more than 253 characters", NULL);
    check(COR_NAME_LABEL_VALUE, cor_str(s, 63), NULL, NULL);
    check(COR_NAME_LABEL_VALUE, cor_str(s, 64), "must be no more than 63 characters", NULL);
    check(COR_NAME_QUALIFIED, cor_str(s, 64), "name part must be no more than 63 characters", NULL);
    s[100] = '!';
    check(COR_NAME_DNS1123_LABEL, cor_str(s, 101), "must be no more than 63 characters",
          LABEL_RULE);
}

TEST(validation, qualified_names)
{
    static const char *const good[] = {"simple",
                                       "now-with-dashes",
                                       "1-starts-with-num",
                                       "1234",
                                       "simple/simple",
                                       "now-with-dashes/simple",
                                       "now.with.dots/simple",
                                       "1-num.2-num/3-num",
                                       "1234/5678",
                                       "1.2.3.4/5678",
                                       "Uppercase_Is_OK_123",
                                       "example.com/Uppercase_Is_OK_123",
                                       "requests.storage-foo",
                                       "a.b_c-D"};
    static const char *const bad_name[] = {
        "nospecialchars%^=@", "Tama-nui-te-r\xc4\x81.is.M", "a.", "_a", "-a", "a b"};
    static const char *const bad_prefix[] = {"Example.com/a", "_b/c", "a-./b", "a..b/c"};

    check_all(COR_NAME_QUALIFIED, good, COR_ARRAY_LEN(good), NULL);
    check_all(COR_NAME_QUALIFIED, bad_name, COR_ARRAY_LEN(bad_name), "name part " NAME_RULE);
    check_all(COR_NAME_QUALIFIED, bad_prefix, COR_ARRAY_LEN(bad_prefix),
              "prefix part " SUBDOMAIN_RULE);
    check(COR_NAME_QUALIFIED, COR_STR("only/one/slash"),
          "a qualified name " NAME_RULE
          " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
          NULL);
    check(COR_NAME_QUALIFIED, COR_STR("/a"), "prefix part must be non-empty", NULL);
    check(COR_NAME_QUALIFIED, COR_STR(""), "name part must be non-empty", "name part " NAME_RULE);
    check(COR_NAME_QUALIFIED, COR_STR("a/"), "name part must be non-empty", "name part " NAME_RULE);
}

TEST(validation, a_qualified_name_can_be_wrong_in_four_ways)
{
    COR_CLEANUP(cor_freep) char *s = repeat('!', 254 + 1 + 64);
    struct cor_complaints c;

    s[254] = '/';
    c = cor_name_check(COR_NAME_QUALIFIED, cor_strz(s));
    assert_int_equal(c.n, 4);
    assert_string_equal(c.text[0], "prefix part must be no more than 253 characters");
    assert_string_equal(c.text[1], "prefix part " SUBDOMAIN_RULE);
    assert_string_equal(c.text[2], "name part must be no more than 63 characters");
    assert_string_equal(c.text[3], "name part " NAME_RULE);
}

TEST(validation, case_does_not_count_in_annotation_keys)
{
    check(COR_NAME_ANNOTATION_KEY, COR_STR("Example.COM/Name"), NULL, NULL);
    check(COR_NAME_ANNOTATION_KEY, COR_STR("Example_COM/Name"), "prefix part " SUBDOMAIN_RULE,
          NULL);
}

TEST(validation, label_values)
{
    static const char *const good[] = {
        "", "simple", "now-with-dashes", "1-starts-with-num", "end-with-num-1", "1234", "A_b.C"};
    static const char *const bad[] = {"nospecialchars%^=@",
                                      "\\backslashes\\are\\bad",
                                      "-starts-with-dash",
                                      "ends-with-dash-",
                                      ".starts.with.dot",
                                      "ends.with.dot.",
                                      "a/b",
                                      " "};

    check_all(COR_NAME_LABEL_VALUE, good, COR_ARRAY_LEN(good), NULL);
    check_all(COR_NAME_LABEL_VALUE, bad, COR_ARRAY_LEN(bad), VALUE_RULE);
}

TEST(validation, path_segments)
{
    check(COR_NAME_PATH_SEGMENT, COR_STR("system:admin"), NULL, NULL);
    check(COR_NAME_PATH_SEGMENT, COR_STR("..a"), NULL, NULL);
    check(COR_NAME_PATH_SEGMENT, COR_STR(""), NULL, NULL);
    check(COR_NAME_PATH_SEGMENT, COR_STR("."), "may not be '.'", NULL);
    check(COR_NAME_PATH_SEGMENT, COR_STR(".."), "may not be '..'", NULL);
    check(COR_NAME_PATH_SEGMENT, COR_STR("a/b"), "may not contain '/'", NULL);
    check(COR_NAME_PATH_SEGMENT, COR_STR("a%b/"), "may not contain '/'", "may not contain '%'");
}

TEST(validation, a_prefix_may_end_in_a_dash)
{
    static const struct {
        enum cor_name_rule rule;
        const char *prefix;
        bool ok;
    } rows[] = {
        {COR_NAME_DNS1123_SUBDOMAIN, "my-name-", true},
        {COR_NAME_DNS1123_SUBDOMAIN, "a-", true},
        {COR_NAME_DNS1123_SUBDOMAIN, "-", false},
        {COR_NAME_DNS1123_SUBDOMAIN, "a.", false},
        /* Two bytes give way to the mask, so what stands before the dash is not looked at. */
        {COR_NAME_DNS1123_SUBDOMAIN, "a_-", true},
        {COR_NAME_DNS1123_SUBDOMAIN, "_a-", false},
        {COR_NAME_DNS1123_LABEL, "a.b-", false},
        {COR_NAME_DNS1035_LABEL, "1a-", false},
        {COR_NAME_DNS1035_LABEL, "a1-", true},
        {COR_NAME_PATH_SEGMENT, ".", true},
        {COR_NAME_PATH_SEGMENT, "..", true},
        {COR_NAME_PATH_SEGMENT, "a/", false},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++)
        assert_int_equal(cor_name_check_prefix(rows[i].rule, cor_strz(rows[i].prefix)).n == 0,
                         rows[i].ok);
}
