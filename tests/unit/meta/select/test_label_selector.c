#include "test.h"

#include <stdio.h>

#include "base/mem.h"
#include "meta/select/label_selector.h"

static struct cor_label_selector *parse(const char *text)
{
    struct cor_label_selector *selector = NULL;
    struct cor_status status = {0};

    if (cor_label_selector_parse(cor_strz(text), &selector, &status) < 0)
        fail_msg("%s: %s", text, cor_status_message(&status));
    return selector;
}

/* Parses `text` and compares its canonical form. */
static void assert_prints(const char *text, const char *want)
{
    struct cor_label_selector *selector = parse(text);
    struct cor_buf out;

    cor_buf_init(&out, 64 * 1024);
    assert_int_equal(cor_label_selector_print(selector, &out), 0);
    assert_string_equal(cor_buf_z(&out), want);
    cor_buf_deinit(&out);
    cor_label_selector_free(selector);
}

static void assert_refused(const char *text, const char *want)
{
    struct cor_label_selector *selector = NULL;
    struct cor_status status = {0};

    assert_int_equal(cor_label_selector_parse(cor_strz(text), &selector, &status), -COR_EINVAL);
    assert_null(selector);
    assert_string_equal(cor_status_message(&status), want);
    assert_int_equal(status.code, 400);
    assert_string_equal(status.reason, "BadRequest");
    cor_status_deinit(&status);
}

TEST(label_selector, prints_what_it_read_without_blanks)
{
    static const char *const texts[] = {
        "x=a,y=b,z=c", "", "x!=a,y=b", "x=", "x=,z=", "!x", "x>1", "x>1,z<5",
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_prints(texts[i], texts[i]);
    assert_prints("x= ", "x=");
    assert_prints("x= ,z= ", "x=,z=");
    assert_prints("\rx", "x");
    assert_prints("a ", "a");
    assert_prints("foo  in\t (abc)", "foo in (abc)");
    assert_prints("x notin\n (abc)", "x notin (abc)");
    assert_prints("y == jkl", "y==jkl");
}

TEST(label_selector, sorts_requirements_by_key_and_keeps_the_order_of_equal_keys)
{
    assert_prints("x=a,a=x", "a=x,x=a");
    assert_prints("x,y in (a)", "x,y in (a)");
    assert_prints("x notin (abc,,def),bar,z in (),w", "bar,w,x notin (,abc,def),z in ()");
    assert_prints("z!=a,x=abc,z,y==jkl", "x=abc,y==jkl,z!=a,z");
    assert_prints("b,a,B,a/b,!a", "B,a,!a,a/b,b");
}

TEST(label_selector, sorts_values_and_names_each_once)
{
    assert_prints("x in (def,abc)", "x in (abc,def)");
    assert_prints("x in (abc,abc)", "x in (abc)");
    assert_prints("a in (x,y,notin, z,in)", "a in (in,notin,x,y,z)");
    assert_prints("0.1.2.domain/99 notin (tick.tack.clock, 10.10.100.1)",
                  "0.1.2.domain/99 notin (10.10.100.1,tick.tack.clock)");
}

TEST(label_selector, empty_members_of_a_set)
{
    assert_prints("x in ()", "x in ()");
    assert_prints("x notin ( )", "x notin ()");
    assert_prints("x in (abc,)", "x in (,abc)");
    assert_prints("x in (,a)", "x in (,a)");
    assert_prints("x notin (, a)", "x notin (,a)");
    assert_prints("x in (a,,b)", "x in (,a,b)");
    assert_prints("x in (,)", "x in ()");
    /* v1.34 reads two commas as one word; later releases accept the first of these. */
    assert_refused("x in (a,,)",
                   "unable to parse requirement: found ')', expected: ',', or identifier");
    assert_prints("x in (a,,,)", "x in (,a)");
}

TEST(label_selector, keywords_are_keys_and_values_elsewhere)
{
    assert_prints("notin=in", "notin=in");
    assert_prints("in in (in)", "in in (in)");
    assert_prints("in", "in");
    assert_prints("!notin", "!notin");
    assert_prints("a,in", "a,in");
}

TEST(label_selector, errors_in_upstreams_words)
{
#define REQ "unable to parse requirement: "
    assert_refused("!", REQ "found '', expected: identifier");
    assert_refused("!,", REQ "found ',', expected: identifier");
    assert_refused("x=(", REQ "found '(', expected: identifier");
    assert_refused("x nott in (y)", REQ "found 'nott', expected: in, notin, =, ==, !=, gt, lt");
    assert_refused("a (", REQ "found '(', expected: in, notin, =, ==, !=, gt, lt");
    assert_refused("a !", REQ "found '!', expected: in, notin, =, ==, !=, gt, lt");
    assert_refused("a in", REQ "found '' expected: '('");
    assert_refused("a in b", REQ "found 'b' expected: '('");
    assert_refused("a notin(", REQ "found '', expected: ',', ')' or identifier");
    assert_refused("a in (=", REQ "found '=', expected: ',', ')' or identifier");
    assert_refused("a in (xyz abc)", REQ "found 'abc', expected: ',' or ')'");
    assert_refused("a in (xyz", REQ "found '', expected: ',' or ')'");
    assert_refused("a in (xyz,", REQ "found '', expected: ',', or identifier");
    assert_refused("a in (xyz,=)", REQ "found '=', expected: ',', or identifier");
    assert_refused("x<a",
                   REQ "values[0]: Invalid value: \"a\": for 'Gt', 'Lt' operators, the value "
                       "must be an integer");
    assert_refused("x>",
                   REQ "values[0]: Invalid value: \"\": for 'Gt', 'Lt' operators, the value must "
                       "be an integer");
    assert_refused("x==a==b", "found '==', expected: ',' or 'end of string'");
    assert_refused("!x=a", "found '=', expected: ',' or 'end of string'");
    assert_refused("a in (xyz)b notin ()", "found 'b', expected: ',' or 'end of string'");
    assert_refused("x,,y", "found ',', expected: identifier after ','");
    assert_refused("a in (xyz),", "found '', expected: identifier after ','");
    assert_refused(",x,y", "found ',', expected: !, identifier, or 'end of string'");
    assert_refused("(", "found '(', expected: !, identifier, or 'end of string'");
}

#define KEY_RULE                                                                                   \
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "  \
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for " \
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
#define VALUE_RULE                                                                                  \
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "     \
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  " \
    "or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
#define NOT_A_NUMBER "for 'Gt', 'Lt' operators, the value must be an integer"

TEST(label_selector, keys_and_values_obey_the_label_rules)
{
    assert_refused("-x", REQ "<nil>: Invalid value: \"-x\": " KEY_RULE);
    assert_refused("!a\"=b", REQ "<nil>: Invalid value: \"a\\\"\": " KEY_RULE);
    assert_refused("a,/x=y", REQ "<nil>: Invalid value: \"/x\": prefix part must be non-empty");
    assert_refused("x=a||y=b", REQ "values[0][x]: Invalid value: \"a||y\": " VALUE_RULE);
    assert_refused("a.b/c in (ok,_,-)",
                   REQ "[values[0][a.b/c]: Invalid value: \"-\": " VALUE_RULE
                       ", values[1][a.b/c]: Invalid value: \"_\": " VALUE_RULE "]");
    assert_refused("x>_", REQ "[values[0]: Invalid value: \"_\": " NOT_A_NUMBER
                              ", values[0][x]: Invalid value: \"_\": " VALUE_RULE "]");
    assert_refused("x<-5", REQ "values[0][x]: Invalid value: \"-5\": " VALUE_RULE);
    assert_refused("x<+5", REQ "values[0][x]: Invalid value: \"+5\": " VALUE_RULE);
    assert_refused("x>9223372036854775808",
                   REQ "values[0]: Invalid value: \"9223372036854775808\": " NOT_A_NUMBER);
}

TEST(label_selector, lengths_obey_the_label_rules)
{
    char text[300];

    memset(text, 'a', sizeof(text));
    text[63] = '\0';
    cor_label_selector_free(parse(text));
    text[63] = 'a';
    text[64] = '\0';
    assert_refused(text,
                   REQ "<nil>: Invalid value: "
                       "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\": "
                       "name part must be no more than 63 characters");
    text[1] = '=';
    text[65] = '\0';
    text[64] = 'a';
    cor_label_selector_free(parse(text));
    text[65] = 'a';
    text[66] = '\0';
    assert_refused(text,
                   REQ "values[0][a]: Invalid value: "
                       "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\": "
                       "must be no more than 63 characters");
}

static void assert_match(const char *text, const char *labels, bool want)
{
    struct cor_label_selector *selector = parse(text);

    if (cor_label_selector_matches(selector, cor_strz(labels)) != want)
        fail_msg("'%s' on %s: want %d", text, labels, want);
    cor_label_selector_free(selector);
}

#define MATCH(text, labels)    assert_match(text, labels, true)
#define NO_MATCH(text, labels) assert_match(text, labels, false)

TEST(label_selector, matches)
{
    MATCH("", "{\"x\":\"y\"}");
    MATCH("", "");
    MATCH("x=y", "{\"x\":\"y\"}");
    MATCH("x=y,z=w", "{\"x\":\"y\",\"z\":\"w\"}");
    MATCH("x!=y,z!=w", "{\"x\":\"z\",\"z\":\"a\"}");
    MATCH("notin=in", "{\"notin\":\"in\"}");
    MATCH("x", "{\"x\":\"z\"}");
    MATCH("!x", "{\"y\":\"z\"}");
    NO_MATCH("x=z", "{}");
    NO_MATCH("x=z", "");
    NO_MATCH("x=y", "{\"x\":\"z\"}");
    NO_MATCH("x=y,z=w", "{\"x\":\"w\",\"z\":\"w\"}");
    NO_MATCH("x!=y,z!=w", "{\"x\":\"z\",\"z\":\"w\"}");
    NO_MATCH("x", "{\"y\":\"z\"}");
    NO_MATCH("!x", "{\"x\":\"z\"}");
    NO_MATCH("foo=bar,foobar=bar,baz=blah", "{\"baz\":\"blah\",\"foo\":\"bar\"}");
    MATCH("foo=bar,baz=blah", "{\"baz\":\"blah\",\"foo\":\"bar\"}");
}

TEST(label_selector, sets_match_absent_keys_only_when_negative)
{
    MATCH("x in (foo),y notin (alpha)", "{\"x\":\"foo\",\"y\":\"baz\"}");
    NO_MATCH("x in (foo),y in (alpha)", "{\"x\":\"foo\",\"y\":\"baz\"}");
    MATCH("x notin (),y", "{\"y\":\"\"}");
    NO_MATCH("x notin (),!y", "{\"y\":\"\"}");
    NO_MATCH("x in ()", "{\"y\":\"baz\"}");
    MATCH("x in ()", "{\"x\":\"\"}");
    MATCH("x!=a", "{}");
    NO_MATCH("x!=", "{\"x\":\"\"}");
    MATCH("x in (a,b,c,d,e)", "{\"x\":\"d\"}");
    NO_MATCH("x in (a,b,c,e)", "{\"x\":\"d\"}");
    NO_MATCH("x notin (a,b,c,d)", "{\"x\":\"d\"}");
}

TEST(label_selector, compares_numbers)
{
    MATCH("x>1", "{\"x\":\"2\"}");
    MATCH("x<1", "{\"x\":\"0\"}");
    MATCH("x<1", "{\"x\":\"-5\"}");
    MATCH("x<0", "{\"x\":\"-9223372036854775808\"}");
    NO_MATCH("x>1", "{\"x\":\"1\"}");
    NO_MATCH("x<1", "{\"x\":\"1\"}");
    NO_MATCH("x>1", "{\"x\":\"0\"}");
    NO_MATCH("x>1", "{\"x\":\"v2\"}");
    NO_MATCH("x>1", "{\"x\":\"9223372036854775808\"}");
    NO_MATCH("x>1", "{\"x\":\"\"}");
    NO_MATCH("x>1", "{\"y\":\"2\"}");
}

TEST(label_selector, several_requirements_on_one_key)
{
    MATCH("x,x!=a,x notin (b)", "{\"w\":\"1\",\"x\":\"c\"}");
    NO_MATCH("x,x!=a,x notin (b)", "{\"w\":\"1\",\"x\":\"b\"}");
    MATCH("x>1,x<5", "{\"x\":\"3\"}");
}

TEST(label_selector, escaped_and_odd_labels_are_not_in_the_way)
{
    MATCH("b=1", "{\"a\\n\":\"x\",\"a\\\"b\":\"q\",\"b\":\"1\"}");
    MATCH("b=1,!c", "{\"\\u0001\":\"\",\"b\":\"1\",\"c\":5,\"d\":\"\\\\\"}");
    NO_MATCH("d=x", "{\"d\":\"\\\\x\"}");
    MATCH("a,c", "{\"a\":\"\\t\",\"c\":\"\"}");
}

/* "k,k,k,…" of n keys, as `prefix` + members + `suffix`. */
static char *repeat(const char *prefix, const char *member, size_t n, const char *suffix)
{
    struct cor_buf out;
    char *text;

    cor_buf_init(&out, 1 << 20);
    assert_int_equal(cor_buf_addz(&out, prefix), 0);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(cor_buf_addf(&out, "%s%s", i > 0 ? "," : "", member), 0);
    assert_int_equal(cor_buf_addz(&out, suffix), 0);
    text = cor_buf_steal(&out, NULL);
    assert_non_null(text);
    return text;
}

TEST(label_selector, has_maxima)
{
    char *text = repeat("", "k", COR_LABEL_SELECTOR_REQUIREMENTS_MAX, "");

    cor_label_selector_free(parse(text));
    cor_free(text);

    text = repeat("", "k", COR_LABEL_SELECTOR_REQUIREMENTS_MAX + 1, "");
    assert_refused(text, "a label selector has at most 1024 requirements");
    cor_free(text);

    text = repeat("k in (", "v", COR_LABEL_SELECTOR_VALUES_MAX, ")");
    cor_label_selector_free(parse(text));
    cor_free(text);

    text = repeat("k in (", "v", COR_LABEL_SELECTOR_VALUES_MAX + 1, ")");
    assert_refused(text, "a label selector has at most 8192 values");
    cor_free(text);

    text = repeat("k in (", "v", COR_LABEL_SELECTOR_BYTES_MAX / 2, ")");
    assert_refused(text, "a label selector has at most 65536 bytes");
    cor_free(text);
}

TEST(label_selector, survives_failed_allocations)
{
    static const char *const texts[] = {"b in (x,y),a!=c,!d", "a in (", "x>1", "x>a",
                                        "a in (-,_)",         "-"};
    static const char *const printed[] = {"a!=c,b in (x,y),!d", NULL, "x>1", NULL, NULL, NULL};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        FOR_EACH_FAILED_ALLOC(n) {
            struct cor_label_selector *selector = NULL;
            struct cor_status status = {0};
            struct cor_buf out;
            int r = cor_label_selector_parse(cor_strz(texts[i]), &selector, &status);

            assert_true(r == (printed[i] ? 0 : -COR_EINVAL) ||
                        (r == -COR_ENOMEM && test_alloc_failed()));
            assert_int_equal(r == 0, selector != NULL);
            cor_buf_init(&out, 1024);
            if (r == 0 && cor_label_selector_print(selector, &out) == 0)
                assert_string_equal(cor_buf_z(&out), printed[i]);
            else
                assert_int_equal(out.n, 0);
            cor_buf_deinit(&out);
            cor_label_selector_free(selector);
            cor_status_deinit(&status);
        }
    }
}
