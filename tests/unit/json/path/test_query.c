/* Queries over one object. The results are those of client-go 0.34 (util/jsonpath with missing keys
 * allowed) for the same texts, but for failures and absent values, which columns show alike. */
#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"
#include "test.h"
#include "json/path/query.h"
#include "json/write/writer.h"

/* clang-format off */
static const char object[] =
    "{\"kind\":\"Kettle\",\"apiVersion\":\"shop.example.org/v1\",\"metadata\":{\"labels\":{\"app.kubernetes.io/name\":\"web\"},\"name\":\"k\"},\"spec\":{\"\":\"nothing\",\"a\":1,\"big\":12345678901234567890,\"deep\":{\"b\":{\"c\":{\"name\":\"deep\"}}},\"dotted\":{\"key\":\"inner\"},\"dotted.key\":\"outer\",\"e\":1e6,\"empty\":[],\"esc\":\"q\\\"\\\\\\n\\u0001é\",\"float\":1.5,\"html\":{\"z\":\"<&>\"},\"list\":[\"x\",\"y\",\"z\"],\"map\":{\"x\":\"mx\",\"y\":\"my\"},\"matrix\":[[1,2],[3]],\"nested\":[{\"l\":[],\"m\":\"m0\"},{\"l\":[\"l1\"],\"m\":\"m1\"},{\"l\":[\"l2\"]}],\"null\":null,\"quo\\\"te\":\"q\",\"t\":true,\"text\":\"word\",\"ключ\":\"u\"},\"status\":{\"conditions\":[{\"f\":1.5,\"n\":1,\"ok\":true,\"status\":\"False\",\"type\":\"Initialized\"},{\"f\":2.5,\"n\":2,\"ok\":false,\"status\":\"True\",\"type\":\"Ready\"},{\"n\":3,\"only\":[{\"x\":9}]}]}}";

static const struct row {
    const char *query, *want; /* the result as JSON, "none", or "invalid" */
} rows[] = {
    {".spec.a", "1"},
    {".spec.text", "\"word\""},
    {".spec.list", "[\"x\",\"y\",\"z\"]"},
    {".spec.null", "null"},
    {".spec.null.x", "none"},
    {".spec.missing", "none"},
    {".spec.missing.x", "none"},
    {".spec.text.x", "none"},
    {".spec.list.x", "none"},
    {".", "none"},
    {"..nothing", "none"},
    {".spec..name", "\"deep\""},
    {".spec.", "\"nothing\""},
    {".spec.[0]", "none"},
    {"$.spec.a", "1"},
    {"@.spec.a", "1"},
    {" .spec.a", "1"},
    {".spec .a", "1"},
    {".spec.list[0]", "\"x\""},
    {".spec.list[-1]", "\"z\""},
    {".spec.list[3]", "none"},
    {".spec.list[-4]", "none"},
    {".spec.list[]", "\"x\""},
    {".spec.list[1:]", "\"y\""},
    {".spec.list[:2]", "\"x\""},
    {".spec.list[1:3]", "\"y\""},
    {".spec.list[0:4]", "none"},
    {".spec.list[1:1]", "none"},
    {".spec.list[2:1]", "none"},
    {".spec.list[::2]", "\"x\""},
    {".spec.list[1::2]", "\"y\""},
    {".spec.list[::0]", "none"},
    {".spec.list[::-1]", "none"},
    {".spec.list[*]", "\"x\""},
    {".spec.list[:]", "\"x\""},
    {".spec.list[-2:]", "\"y\""},
    {".spec.list[:-1]", "\"x\""},
    {".spec.empty[0]", "none"},
    {".spec.empty[*]", "none"},
    {".spec.empty[:]", "none"},
    {".spec.empty[-1]", "none"},
    {".spec.a[0]", "none"},
    {".spec.null[0]", "none"},
    {".spec.missing[0]", "none"},
    {".spec.list.*", "\"x\""},
    {".spec.map.*", "\"mx\""},
    {".spec.text.*", "119"},
    {".spec.a.*", "none"},
    {".spec.empty.*", "none"},
    {".spec.map[*]", "none"},
    {".spec.list[0,2]", "\"x\""},
    {".spec.list[2,0]", "\"z\""},
    {".spec['a','text']", "1"},
    {".spec['missing','text']", "\"word\""},
    {".spec.list[0,9]", "none"},
    {".spec.map['x' , 'y']", "\"mx\""},
    {".spec.list[0, 1]", "\"x\""},
    {".spec['a']", "1"},
    {".spec['dotted.key']", "\"inner\""},
    {".spec['dotted\\.key']", "\"outer\""},
    {".spec.dotted\\.key", "\"outer\""},
    {".spec[\"a\"]", "invalid"},
    {".spec['']", "\"nothing\""},
    {".spec['a'", "invalid"},
    {".spec['a", "invalid"},
    {".spec[", "invalid"},
    {".spec]", "invalid"},
    {".spec[a]", "invalid"},
    {".spec[1:2:3:4]", "invalid"},
    {".spec[1.5]", "invalid"},
    {".spec[-]", "invalid"},
    {".spec.list[99999999999999999999]", "invalid"},
    {".spec.list[9223372036854775807]", "none"},
    {".status.conditions[?(@.type==\"Ready\")].status", "\"True\""},
    {".status.conditions[?(@.type=='Ready')].status", "\"True\""},
    {".status.conditions[?(@.type!=\"Ready\")].type", "\"Initialized\""},
    {".status.conditions[?(@.n==2)].type", "\"Ready\""},
    {".status.conditions[?(@.n>1)].type", "\"Ready\""},
    {".status.conditions[?(@.n>=2)].type", "\"Ready\""},
    {".status.conditions[?(@.n<2)].type", "\"Initialized\""},
    {".status.conditions[?(@.n<=1)].type", "\"Initialized\""},
    {".status.conditions[?(@.n==2.0)].type", "none"},
    {".status.conditions[?(@.n=='2')].type", "none"},
    {".status.conditions[?(@.ok==true)].type", "\"Initialized\""},
    {".status.conditions[?(@.ok<true)].type", "none"},
    {".status.conditions[?(@.ok)].type", "\"Initialized\""},
    {".status.conditions[?(@.only)].n", "3"},
    {".status.conditions[?(@.x)].n", "none"},
    {".status.conditions[?(@.only[5])].n", "3"},
    {".status.conditions[?(@.type[0])].type", "\"Initialized\""},
    {".status.conditions[?(@.type==@.status)].type", "none"},
    {".status.conditions[?(@.type=Ready)].type", "none"},
    {".status.conditions[?(@.type=='a)b')].n", "none"},
    {".status.conditions[?(@.type==\"Ready\"].status", "invalid"},
    {".status.conditions[?(@.type==\"Ready\")", "invalid"},
    {".status.conditions[?(@.type==Ready)].status", "none"},
    {".status.conditions[?(==1)]", "invalid"},
    {".status.conditions[?(@.n=)]", "none"},
    {".status.conditions[?(@.n==)]", "invalid"},
    {".status.conditions[?()].type", "\"Initialized\""},
    {".status.conditions[?(@)].type", "\"Initialized\""},
    {".status.conditions[?(@.n===2)].type", "none"},
    {".status.conditions[?(@.type=>1)].n", "none"},
    {".status.conditions[?(1==1)].n", "1"},
    {".status.conditions[?(@['type','status']=='Ready')].n", "none"},
    {".status.conditions[?(@..x==9)].n", "3"},
    {".status.conditions[?(@.f==1.5)].n", "1"},
    {".status.conditions[?(@.f<2.5)].n", "1"},
    {".status.conditions[?(@.type<'S')].type", "\"Initialized\""},
    {".status.conditions[?( @.type == \"Ready\" )].status", "\"True\""},
    {".spec[?(@.a)]", "none"},
    {".spec.missing[?(@.a)]", "none"},
    {".spec.null[?(@.a)]", "none"},
    {".spec.nested[*].l[0]", "none"},
    {".spec.nested[*].l[*]", "none"},
    {".spec.nested[*]['l','m']", "[]"},
    {".spec.nested[*].m", "\"m0\""},
    {".spec.nested[0:2].m", "\"m0\""},
    {".spec.matrix[*][0]", "1"},
    {".spec.matrix[0][1]", "2"},
    {".spec.matrix[*][*]", "1"},
    {"..[0]", "none"},
    {".spec.list..", "[\"x\",\"y\",\"z\"]"},
    {"..x", "\"mx\""},
    {".status..only[0].x", "9"},
    {".spec..[?(@.name)].name", "none"},
    {".spec.deep..name", "\"deep\""},
    {"..*", "invalid"},
    {".spec....name", "invalid"},
    {"'text'", "\"text\""},
    {"\"text\"", "\"text\""},
    {"'it\\'s'", "\"it's\""},
    {"'a\\\"b'", "invalid"},
    {"'\\n\\x41\\u00e9\\101'", "\"\\nAéA\""},
    {"'\\q'", "invalid"},
    {"'open", "invalid"},
    {"5", "5"},
    {"-7", "-7"},
    {"+7", "7"},
    {"1.5", "1.5"},
    {"1.", "1"},
    {"1.2.3", "invalid"},
    {"-", "invalid"},
    {"true", "true"},
    {"false", "false"},
    {"range", "none"},
    {"end", "none"},
    {"word", "none"},
    {"5 .spec.a", "none"},
    {"'x'.spec", "none"},
    {".spec.a}{.spec.text", "1"},
    {".spec.a}text", "1"},
    {".spec.a}{.spec.list[9]", "none"},
    {".spec.a}{", "1"},
    {".spec.missing}{.spec.a", "none"},
    {".spec.a}{end}", "none"},
    {"a}b", "none"},
    {".spec.a,", "invalid"},
    {".spec.a(", "none"},
    {".spec.a-b", "none"},
    {".spec.a\n", "invalid"},
    {".spec\t.a", "invalid"},
    {".spec.a\\", "invalid"},
    {"#", "invalid"},
    {".spec.ключ", "\"u\""},
    {".spec.esc", "\"q\\\"\\\\\\n\\u0001é\""},
    {".spec['quo\"te']", "\"q\""},
    {".spec.big", "12345678901234567890"},
    {".spec.float", "1.5"},
    {".spec.e", "1e6"},
    {".spec.t", "true"},
    {".metadata.name", "\"k\""},
    {".metadata.labels.app\\.kubernetes\\.io/name", "\"web\""},
    {".metadata.labels['app\\.kubernetes\\.io/name']", "\"web\""},
    {".metadata.labels.app.kubernetes.io/name", "none"},
};
/* clang-format on */

static void print_result(const struct cor_json_result *result, struct cor_buf *out)
{
    int r = 0;

    switch (result->kind) {
    case COR_JSON_RESULT_JSON:
        r = cor_buf_adds(out, result->text);
        break;
    case COR_JSON_RESULT_TEXT:
        r = cor_json_quote(out, result->text);
        break;
    case COR_JSON_RESULT_BOOL:
        r = cor_buf_addz(out, result->integer ? "true" : "false");
        break;
    case COR_JSON_RESULT_FLOAT:
        r = cor_buf_addf(out, "%g", result->real);
        break;
    default:
        r = cor_buf_addf(out, "%lld", (long long)result->integer);
        break;
    }
    assert_int_equal(r, 0);
}

/* What a row of the table says of the query. */
static void ask(const char *text, struct cor_str json, struct cor_buf *out)
{
    const struct cor_json_query *query;
    struct cor_json_result result;
    struct cor_work work = cor_work_new(false);
    struct cor_json_error err;
    struct cor_arena arena;
    int r;

    cor_buf_init(out, 10000);
    cor_arena_init(&arena, 1u << 20);
    r = cor_json_query_new(&arena, cor_strz(text), &query, &err);
    if (r < 0) {
        assert_int_equal(r, -COR_EINVAL);
        assert_true(err.message[0] && err.offset <= strlen(text));
        assert_int_equal(cor_buf_addz(out, "invalid"), 0);
    } else {
        r = cor_json_query_first(query, json, &work, &result);
        if (r < 0) {
            assert_int_equal(r, -COR_ENOTFOUND);
            assert_int_equal(cor_buf_addz(out, "none"), 0);
        } else {
            print_result(&result, out);
        }
    }
    cor_arena_deinit(&arena);
}

/* Contract crd 4.13.6. */
TEST(query, finds_what_client_go_finds)
{
    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        struct cor_buf got;

        ask(rows[i].query, cor_strz(object), &got);
        if (strcmp(cor_buf_z(&got), rows[i].want) != 0)
            fail_msg("%s: %s instead of %s", rows[i].query, cor_buf_z(&got), rows[i].want);
        cor_buf_deinit(&got);
    }
}

TEST(query, takes_members_in_the_order_of_their_keys)
{
    static const struct row ordered[] = {
        {".*", "\"Kettle\""},
        {".spec.html", "{\"z\":\"<&>\"}"},
        {"..name", "\"k\""},
        {"...name", "\"k\""},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(ordered); i++) {
        struct cor_buf got;

        ask(ordered[i].query, cor_strz(object), &got);
        assert_string_equal(cor_buf_z(&got), ordered[i].want);
        cor_buf_deinit(&got);
    }
    for (size_t i = 0; i < 2; i++) {
        struct cor_buf got;

        ask(i == 0 ? ".." : "}.spec.a{", cor_strz(object), &got);
        assert_string_equal(cor_buf_z(&got), object);
        cor_buf_deinit(&got);
    }
}

TEST(query, has_no_result_when_it_reads_the_object_too_often)
{
    struct cor_buf json, text, got;

    cor_buf_init(&json, 1u << 20);
    cor_buf_init(&text, COR_JSON_QUERY_BYTES_MAX);
    /* Each bracket doubles the number of values. */
    for (int i = 0; i < 50; i++)
        assert_int_equal(cor_buf_addz(&text, "['a','a']"), 0);
    for (int i = 0; i < 51; i++)
        assert_int_equal(cor_buf_addz(&json, "{\"a\":"), 0);
    assert_int_equal(cor_buf_addz(&json, "1"), 0);
    for (int i = 0; i < 51; i++)
        assert_int_equal(cor_buf_addz(&json, "}"), 0);
    ask(cor_buf_z(&text), cor_buf_str(&json), &got);
    assert_string_equal(cor_buf_z(&got), "none");
    cor_buf_deinit(&got);
    cor_buf_deinit(&json);
    cor_buf_deinit(&text);
}

/* A filter applies its nodes to each element, also when the first of them finds nothing. */
TEST(query, has_no_result_when_a_filter_applies_too_many_nodes)
{
    struct cor_buf json, text, got;

    cor_buf_init(&json, 1u << 20);
    cor_buf_init(&text, COR_JSON_QUERY_BYTES_MAX);
    assert_int_equal(cor_buf_addz(&text, ".k}{.l[?(@"), 0);
    for (int i = 0; i < 1900; i++)
        assert_int_equal(cor_buf_addz(&text, ".a"), 0);
    assert_int_equal(cor_buf_addz(&text, ")]"), 0);
    assert_int_equal(cor_buf_addz(&json, "{\"k\":1,\"l\":[0"), 0);
    for (int i = 0; i < 5000; i++)
        assert_int_equal(cor_buf_addz(&json, ",0"), 0);
    assert_int_equal(cor_buf_addz(&json, "]}"), 0);
    ask(cor_buf_z(&text), cor_buf_str(&json), &got);
    assert_string_equal(cor_buf_z(&got), "none");
    cor_buf_deinit(&got);
    cor_buf_deinit(&json);
    cor_buf_deinit(&text);
}

TEST(query, refuses_texts_beyond_its_maximum)
{
    static char text[COR_JSON_QUERY_BYTES_MAX + 1];
    const struct cor_json_query *query;
    struct cor_json_error err;
    struct cor_arena arena;

    memset(text, '.', sizeof(text));
    cor_arena_init(&arena, 1u << 20);
    assert_int_equal(cor_json_query_new(&arena, cor_str(text, sizeof(text)), &query, &err),
                     -COR_ETOOBIG);
    memset(text, 'a', sizeof(text));
    text[0] = '.';
    assert_int_equal(cor_json_query_new(&arena, cor_str(text, sizeof(text) - 1), &query, &err), 0);
    cor_arena_deinit(&arena);
    cor_arena_init(&arena, 64);
    assert_int_equal(cor_json_query_new(&arena, COR_STR(".a.b.c"), &query, &err), -COR_ETOOBIG);
    cor_arena_deinit(&arena);
}

TEST(query, survives_every_failed_allocation)
{
    FOR_EACH_FAILED_ALLOC(n) {
        const struct cor_json_query *query;
        struct cor_json_result result;
        struct cor_work work = cor_work_new(false);
        struct cor_arena arena;
        int r;

        cor_arena_init(&arena, 1u << 20);
        r = cor_json_query_new(&arena, COR_STR(".spec..[*,0]}{..}{.spec.text.*"), &query, NULL);
        if (r == 0)
            r = cor_json_query_first(query, cor_strz(object), &work, &result);
        assert_true(r == -COR_ENOTFOUND || r == -COR_ENOMEM);
        assert_int_equal(r == -COR_ENOMEM, test_alloc_failed());
        cor_arena_deinit(&arena);
    }
}
