#include <stdio.h>

#include "base/err.h"
#include "codec/yaml.h"
#include "test.h"
#include "json/text/json.h"

static int to_json(const char *yaml, struct cor_buf *out, struct cor_yaml_error *err)
{
    cor_buf_init(out, 1u << 24);
    return cor_yaml_to_json(cor_strz(yaml), out, NULL, err);
}

static void check(const char *yaml, const char *json)
{
    struct cor_yaml_error err = {""};
    struct cor_buf out;
    bool canonical;
    int r = to_json(yaml, &out, &err);

    assert_string_equal(err.message, "");
    assert_int_equal(r, 0);
    assert_string_equal(cor_buf_z(&out), json);
    assert_int_equal(cor_json_check(cor_buf_str(&out), &COR_JSON_LIMITS_DEFAULT, &canonical, NULL),
                     0);
    cor_buf_deinit(&out);
}

static void refuse(const char *yaml, int code, const char *message)
{
    struct cor_yaml_error err = {""};
    struct cor_buf out;

    assert_int_equal(to_json(yaml, &out, &err), code);
    assert_string_equal(err.message, message);
    assert_int_equal(out.n, 0);
    cor_buf_deinit(&out);
}

TEST(yaml_read, documents_become_json_in_their_order)
{
    check("kind: Pod\nmetadata:\n  name: web\n  labels: {a: b}\n",
          "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"web\",\"labels\":{\"a\":\"b\"}}}");
    check("- 1\n- [two, 3.50]\n- {}\n- []\n", "[1,[\"two\",3.5],{},[]]");
    check("a: |\n  x\n  y\nb: >-\n  x\n  y\n", "{\"a\":\"x\\ny\\n\",\"b\":\"x y\"}");
    check("---\na: 1\n...\n", "{\"a\":1}");
    check("", "null");
    check("# nothing\n", "null");
    check("{\"kind\": \"Pod\", \"n\": 1}", "{\"kind\":\"Pod\",\"n\":1}");
}

TEST(yaml_read, plain_scalars_resolve_and_quoted_ones_do_not)
{
    check("[yes, 'yes', \"no\", ~, null, 0x10, 010, '010', 1e3, 1_000]",
          "[true,\"yes\",\"no\",null,null,16,8,\"010\",1000,1000]");
    check("when: 2001-01-02\nat: 12:30:45\n", "{\"when\":\"2001-01-02\",\"at\":\"12:30:45\"}");
    check("big: 18446744073709551615\nbigger: 18446744073709551616\n",
          "{\"big\":18446744073709551615,\"bigger\":18446744073709552000}");
}

TEST(yaml_read, tags_choose_the_type)
{
    check("[!!str 1, !!float 1, !!int \"7\", ! 5, !own x]", "[\"1\",1,7,\"5\",\"x\"]");
    check("!!binary aGk=", "\"hi\"");
    refuse("!!bool maybe", -COR_EINVAL, "yaml: cannot decode !!str `maybe` as a !!bool");
    refuse("!!binary '?'", -COR_EINVAL, "yaml: !!binary value contains invalid base64 data");
}

TEST(yaml_read, keys_become_strings)
{
    check("1: a\ntrue: b\n1.50: c\n2001-01-02: d\n",
          "{\"1\":\"a\",\"true\":\"b\",\"1.5\":\"c\",\"2001-01-02\":\"d\"}");
    refuse("? [a]\n: b\n", -COR_EINVAL, "yaml: line 1: invalid map key");
    refuse("~: b\n", -COR_EINVAL, "yaml: line 1: unsupported map key: null");
}

TEST(yaml_read, aliases_repeat_what_was_anchored)
{
    check("a: &x {k: [1]}\nb: *x\nc: [*x, *x]\n",
          "{\"a\":{\"k\":[1]},\"b\":{\"k\":[1]},\"c\":[{\"k\":[1]},{\"k\":[1]}]}");
    check("&k 1: &v two\n*v : *k\n", "{\"1\":\"two\",\"two\":1}");
    check("[&x 1, *x, &x 2, *x]", "[1,1,2,2]");
    refuse("a: *x\n", -COR_EINVAL, "yaml: unknown anchor 'x' referenced");
    refuse("a: &x [*x]\n", -COR_EINVAL, "yaml: anchor 'x' value contains itself");
    refuse("a: &x [&x 1]\n", -COR_EINVAL, "yaml: anchor 'x' value contains itself");
}

TEST(yaml_read, merges_are_overridden_by_what_follows)
{
    check("base: &b {a: 1, b: 2}\nme:\n  <<: *b\n  b: 3\n",
          "{\"base\":{\"a\":1,\"b\":2},\"me\":{\"a\":1,\"b\":2,\"b\":3}}");
    check("<<: [{a: 1}, {a: 2, b: 2}]\nc: 3\n", "{\"a\":2,\"b\":2,\"a\":1,\"c\":3}");
    check("<<: {}\na: 1\n", "{\"a\":1}");
    check("'<<': 1\n", "{\"<<\":1}");
    check("a: <<\n", "{\"a\":\"<<\"}");
    refuse("<<: 1\n", -COR_EINVAL, "yaml: map merge requires map or sequence of maps as the value");
    refuse("<<: [1]\n", -COR_EINVAL,
           "yaml: map merge requires map or sequence of maps as the value");
}

TEST(yaml_read, an_expansion_bomb_is_refused)
{
    char bomb[2048];
    size_t n = 0;

    n += (size_t)snprintf(bomb, sizeof(bomb), "a: &a [lol,lol,lol,lol,lol,lol,lol,lol,lol]\n");
    for (int c = 'b'; c <= 'i'; c++)
        n += (size_t)snprintf(bomb + n, sizeof(bomb) - n,
                              "%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", c, c, c - 1, c - 1,
                              c - 1, c - 1, c - 1, c - 1, c - 1, c - 1, c - 1);
    refuse(bomb, -COR_ETOOBIG, "yaml: document contains excessive aliasing");
}

TEST(yaml_read, depth_is_bounded)
{
    char deep[2 * COR_YAML_DEPTH_MAX + 3];
    struct cor_yaml_error err;
    struct cor_buf out;

    memset(deep, '[', COR_YAML_DEPTH_MAX + 1);
    memset(deep + COR_YAML_DEPTH_MAX + 1, ']', COR_YAML_DEPTH_MAX + 1);
    deep[2 * COR_YAML_DEPTH_MAX + 2] = '\0';
    assert_true(to_json(deep, &out, &err) < 0);
    cor_buf_deinit(&out);
}

/* libyaml's work for a token grows with the flow collections around it. */
TEST(yaml_read, flow_collections_and_merges_have_a_smaller_depth)
{
    char text[64 * (COR_YAML_FLOW_DEPTH_MAX + COR_YAML_MERGES_MAX)];
    struct cor_yaml_error err;
    struct cor_buf out;

    for (int depth = COR_YAML_FLOW_DEPTH_MAX; depth <= COR_YAML_FLOW_DEPTH_MAX + 1; depth++) {
        memset(text, '[', (size_t)depth);
        memset(text + depth, ']', (size_t)depth);
        text[2 * depth] = '\0';
        assert_int_equal(to_json(text, &out, &err),
                         depth > COR_YAML_FLOW_DEPTH_MAX ? -COR_ETOOBIG : 0);
        cor_buf_deinit(&out);
    }
    assert_string_equal(err.message, "yaml: exceeded max depth of 128 flow collections");
    for (int depth = COR_YAML_MERGES_MAX; depth <= COR_YAML_MERGES_MAX + 1; depth++) {
        size_t n = 0;

        for (int i = 0; i < depth; i++)
            n += (size_t)snprintf(text + n, sizeof(text) - n, "{a%d: 1, <<: ", i);
        n += (size_t)snprintf(text + n, sizeof(text) - n, "{}");
        memset(text + n, '}', (size_t)depth);
        text[n + (size_t)depth] = '\0';
        assert_int_equal(to_json(text, &out, &err), depth > COR_YAML_MERGES_MAX ? -COR_ETOOBIG : 0);
        cor_buf_deinit(&out);
    }
    assert_string_equal(err.message, "yaml: exceeded max depth of 16 merges");
}

/* Contract apply 2.1.2. */
TEST(yaml_read, only_the_first_document_is_read)
{
    check("a: 1\n---\nb: 2\n", "{\"a\":1}");
    check("---\na: 1\n---\n{{{", "{\"a\":1}");
    check("a: 1\n...\n]", "{\"a\":1}");
    check("{\"a\":1} ]", "{\"a\":1}");
    check("# c\n---\n# d\n---\na: 1\n", "null");
}

TEST(yaml_read, what_is_no_document_is_refused)
{
    refuse("a: 1\n b: 2\n", -COR_EINVAL,
           "yaml: line 2: mapping values are not allowed in this context");
    refuse("a: [1\nb: 2\n", -COR_EINVAL, "yaml: line 1: did not find expected ',' or ']'");
    refuse("a: .nan\n", -COR_EINVAL, "json: unsupported value: NaN");
    refuse("\xff\xfe\xff", -COR_EINVAL, "yaml: incomplete UTF-16 character");
}

TEST(yaml_read, what_does_not_fit_is_refused)
{
    struct cor_yaml_error err;
    struct cor_buf out;

    cor_buf_init(&out, 10);
    assert_int_equal(cor_buf_addz(&out, "x"), 0);
    assert_int_equal(cor_yaml_to_json(COR_STR("a: 0123456789"), &out, NULL, &err), -COR_ETOOBIG);
    assert_string_equal(err.message, "yaml: document is too large as JSON");
    assert_string_equal(cor_buf_z(&out), "x");
    cor_buf_deinit(&out);
}

static void check_dups(const char *yaml, const char *want)
{
    struct cor_buf out, dups;

    cor_buf_init(&out, 4096);
    cor_buf_init(&dups, 4096);
    assert_int_equal(cor_yaml_to_json(cor_strz(yaml), &out, &dups, NULL), 0);
    assert_string_equal(cor_buf_z(&dups), want);
    cor_buf_deinit(&out);
    cor_buf_deinit(&dups);
}

TEST(yaml_read, repeated_keys_are_reported_with_their_line)
{
    check_dups("a: 1\nb: 2\n", "");
    check_dups("a: 1\nb: {c: 1, c: 2}\na: 3\n",
               "yaml: unmarshal errors:\n  line 2: key \"c\" already set in map\n"
               "  line 3: key \"a\" already set in map");
    check_dups("x: &x {a: 1}\ny:\n  <<: *x\n  a: 2\n",
               "yaml: unmarshal errors:\n  line 4: key \"a\" already set in map");
    /* Contract types 2.2.6: a repeated key is reported after what its value repeats, with the line
     * at which the value begins. */
    check_dups("a: 1\na:\n  b:\n    c\n  b:\n    - d\n",
               "yaml: unmarshal errors:\n  line 6: key \"b\" already set in map\n"
               "  line 3: key \"a\" already set in map");
}

TEST(yaml_read, fails_cleanly_without_memory)
{
    int r = -1;

    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_buf out, dups;

        cor_buf_init(&out, 1u << 16);
        cor_buf_init(&dups, 1u << 16);
        r = cor_yaml_to_json(
            COR_STR(
                "s: &s txt\n*s : 1\na: &x {k: [1], k: 2}\nb:\n  <<: [*x, {z: 1}]\n  c: !!binary aGk=\n"),
            &out, &dups, NULL);
        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        assert_string_equal(
            cor_buf_z(&out),
            r == 0
                ? "{\"s\":\"txt\",\"txt\":1,\"a\":{\"k\":[1],\"k\":2},\"b\":{\"z\":1,\"k\":[1],\"k\":2,\"c\":\"hi\"}}"
                : "");
        cor_buf_deinit(&out);
        cor_buf_deinit(&dups);
    }
    assert_int_equal(r, 0);
}
