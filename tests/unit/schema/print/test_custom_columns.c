/* Columns of custom resources with a fixed clock: definitions, cells of each type, paths that
 * cannot be parsed, and every allocation failing once. The cells are those of a
 * kube-apiserver 1.34. */
#include "schema/print/custom_columns.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "test.h"
#include "json/text/json.h"

#define NOW_US  (1767312000LL * 1000000) /* 2026-01-02T00:00:00Z */
#define OUT_MAX (1u << 20)

/* A text with ' in the place of ", as canonical JSON. */
static void add_canonical(struct cor_buf *out, const char *quoted)
{
    static const struct cor_json_limits limits = {OUT_MAX, COR_JSON_DEPTH_MAX, true};
    char *text = cor_strdup(quoted);

    assert_non_null(text);
    for (char *p = strchr(text, '\''); p; p = strchr(p, '\''))
        *p = '"';
    assert_int_equal(cor_json_canonicalize(cor_strz(text), &limits, out, NULL, NULL), 0);
    cor_free(text);
}

/* Compiles the columns of a version whose additionalPrinterColumns are these. */
static int compile(const char *columns, struct cor_custom_columns **ret)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {.max = OUT_MAX};

    add_canonical(&json, columns);
    return cor_custom_columns_new(cor_buf_str(&json), ret);
}

/* `work` may be NULL. */
static int write_cells_with(const struct cor_custom_columns *columns, struct cor_str object,
                            struct cor_work *work, struct cor_buf *out)
{
    struct cor_json_writer w;
    struct cor_cells cells;

    cor_json_writer_init(&w, out);
    cor_cells_init(&cells, &w, object, NOW_US);
    cells.work = work;
    cor_cells_write(&cells, &columns->table);
    return cor_json_writer_finish(&w);
}

static int write_cells(const struct cor_custom_columns *columns, struct cor_str object,
                       struct cor_buf *out)
{
    return write_cells_with(columns, object, NULL, out);
}

/* The cell of one column of this type and path over { ..., spec }. */
static void assert_cell(const char *type, const char *path, const char *spec, const char *want)
{
    COR_CLEANUP(cor_buf_deinit)
    struct cor_buf list = {.max = OUT_MAX}, text = {.max = OUT_MAX}, json = {.max = OUT_MAX},
                   out = {.max = OUT_MAX}, whole = {.max = OUT_MAX};
    struct cor_custom_columns *columns = NULL;

    assert_int_equal(cor_buf_addf(&list, "[{'name':'C','type':'%s','jsonPath':'%s'}]", type, path),
                     0);
    assert_int_equal(cor_buf_addf(&text,
                                  "{'apiVersion':'shop.example.org/v1','kind':'Kettle','metadata':"
                                  "{'name':'k'},'spec':%s}",
                                  spec),
                     0);
    assert_int_equal(compile(cor_buf_z(&list), &columns), 0);
    add_canonical(&json, cor_buf_z(&text));
    assert_int_equal(write_cells(columns, cor_buf_str(&json), &out), 0);
    assert_int_equal(cor_buf_addf(&whole, "[\"k\",%s]", want), 0);
    if (strcmp(cor_buf_z(&out), cor_buf_z(&whole)) != 0)
        fail_msg("%s %s of %s: %s instead of %s", type, path, spec, cor_buf_z(&out),
                 cor_buf_z(&whole));
    cor_custom_columns_free(columns);
}

/* Contract crd 4.13.7, 4.13.8, G2 to G4. */
TEST(custom_columns, show_values_by_the_type_of_the_column)
{
    static const struct {
        const char *type, *spec, *cell;
    } rows[] = {
        {"string", "{'v':'text'}", "\"text\""},
        {"string", "{'v':'a\\nb'}", "\"a\\nb\""},
        {"string", "{'v':''}", "\"\""},
        {"string", "{'v':10}", "\"10\""},
        {"string", "{'v':1.5}", "\"1.5\""},
        {"string", "{'v':1000000.0}", "\"1e+06\""},
        {"string", "{'v':true}", "\"true\""},
        {"string", "{'v':[1,2]}", "\"[1,2]\""},
        {"string", "{'v':{'b':'<&>','a':[1.50,null]}}",
         "\"{\\\"a\\\":[1.5,null],\\\"b\\\":\\\"\\\\u003c\\\\u0026\\\\u003e\\\"}\""},
        {"string", "{'v':null}", "\"<no value>\""},
        {"string", "{}", "null"},
        {"integer", "{'v':10}", "10"},
        {"integer", "{'v':2.9}", "2"},
        {"integer", "{'v':-2.9}", "-2"},
        {"integer", "{'v':'10'}", "null"},
        {"integer", "{'v':null}", "null"},
        {"integer", "{'v':true}", "null"},
        {"number", "{'v':10}", "10"},
        {"number", "{'v':1.5}", "1.5"},
        {"number", "{'v':'1.5'}", "null"},
        {"boolean", "{'v':true}", "true"},
        {"boolean", "{'v':false}", "false"},
        {"boolean", "{'v':'true'}", "null"},
        {"date", "{'v':'2026-01-01T23:59:55Z'}", "\"5s\""},
        {"date", "{'v':'2026-01-01T23:57:00Z'}", "\"3m\""},
        {"date", "{'v':'2025-12-30T21:00:00Z'}", "\"2d3h\""},
        {"date", "{'v':''}", "\"<unknown>\""},
        {"date", "{'v':'null'}", "\"<unknown>\""},
        {"date", "{'v':'0001-01-01T00:00:00Z'}", "\"<unknown>\""},
        {"date", "{'v':'yesterday'}", "\"<invalid>\""},
        {"date", "{'v':'2026-01-02T00:00:01Z'}", "\"0s\""},
        {"date", "{'v':'2026-01-02T00:00:02Z'}", "\"<invalid>\""},
        {"date", "{'v':5}", "null"},
        {"date", "{'v':null}", "null"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++)
        assert_cell(rows[i].type, ".spec.v", rows[i].spec, rows[i].cell);
}

/* Contract crd 4.13.6. */
TEST(custom_columns, show_the_first_result_of_their_path)
{
    static const char spec[] = "{'c':[{'status':'False','type':'A'},{'status':'True','type':"
                               "'Ready'}],'l':['x','y'],'n':1}";

    assert_cell("string", ".spec.c[?(@.type==\\\"Ready\\\")].status", spec, "\"True\"");
    assert_cell("string", ".spec.l[*]", spec, "\"x\"");
    assert_cell("string", ".spec.l[-1:]", spec, "\"y\"");
    assert_cell("string", ".spec.l[7]", spec, "null");
    assert_cell("string", ".", spec, "null");
    assert_cell("integer", ".spec..n", spec, "1");
    assert_cell("string", ".spec.n}{.spec.l[7]", spec, "null");
}

static void assert_definitions(const char *columns, const char *want)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = OUT_MAX};
    struct cor_custom_columns *compiled = NULL;
    struct cor_json_writer w;

    assert_int_equal(compile(columns, &compiled), 0);
    cor_json_writer_init(&w, &out);
    cor_json_begin_array(&w);
    cor_custom_columns_write(&w, compiled);
    cor_json_end_array(&w);
    assert_int_equal(cor_json_writer_finish(&w), 0);
    assert_string_equal(cor_buf_z(&out), want);
    cor_custom_columns_free(compiled);
}

/* Contract crd 4.13.4. */
TEST(custom_columns, have_definitions_as_they_were_declared)
{
    assert_definitions("[{'name':'Colour','type':'string','jsonPath':'.spec.colour','priority':1},"
                       "{'name':'N','type':'integer','format':'int32','description':'How many.',"
                       "'jsonPath':'.spec.n'}]",
                       "[{\"name\":\"Colour\",\"type\":\"string\",\"format\":\"\",\"description\":"
                       "\"Custom resource definition column (in JSONPath format): .spec.colour\","
                       "\"priority\":1},{\"name\":\"N\",\"type\":\"integer\",\"format\":\"int32\","
                       "\"description\":\"How many.\",\"priority\":0}]");
}

/* Contract crd 4.13.4, G1. */
TEST(custom_columns, are_an_age_when_none_is_declared)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {.max = OUT_MAX}, out = {.max = OUT_MAX};
    struct cor_custom_columns *columns = NULL;

    assert_int_equal(compile("[]", &columns), 0);
    assert_int_equal(columns->n, 1);
    assert_true(cor_str_eq(columns->v[0].name, COR_STR("Age")));
    assert_true(cor_str_eq(columns->v[0].type, COR_STR("date")));
    assert_true(columns->v[0].description.n > 0);
    add_canonical(&json, "{'metadata':{'name':'k','creationTimestamp':'2026-01-01T23:59:55Z'}}");
    assert_int_equal(write_cells(columns, cor_buf_str(&json), &out), 0);
    assert_string_equal(cor_buf_z(&out), "[\"k\",\"5s\"]");
    cor_custom_columns_free(columns);
}

/* Contract crd 4.13.5. */
TEST(custom_columns, end_before_a_path_that_cannot_be_parsed)
{
    struct cor_custom_columns *columns = NULL;

    assert_int_equal(compile("[{'name':'A','type':'string','jsonPath':'.a'},{'name':'B','type':"
                             "'string','jsonPath':'.spec['},{'name':'C','type':'string','jsonPath':"
                             "'.c'}]",
                             &columns),
                     0);
    assert_int_equal(columns->n, 1);
    cor_custom_columns_free(columns);
}

/* On a loop a row is given up early; where it is made to its end, cells for which nothing is left
 * are null. */
TEST(custom_columns, charge_what_they_read)
{
    COR_CLEANUP(cor_buf_deinit)
    struct cor_buf version = {.max = OUT_MAX}, json = {.max = OUT_MAX}, out = {.max = OUT_MAX},
                   cut = {.max = OUT_MAX}, none = {.max = OUT_MAX};
    struct cor_work loop = {.slice = 30, .max = COR_WORK_STEPS_MAX}, thread = cor_work_new(false);
    struct cor_work little = {.slice = UINT64_MAX, .max = 30};
    struct cor_custom_columns *columns = NULL;

    add_canonical(&version, "[{'name':'A','type':'string','jsonPath':'.spec.a'},"
                            "{'name':'B','type':'string','jsonPath':'.spec..b'},"
                            "{'name':'C','type':'string','jsonPath':'.spec.a'}]");
    add_canonical(&json, "{'metadata':{'name':'k'},'spec':{'a':'x','b':{'b':['0123456789abcdef',"
                         "'0123456789abcdef','0123456789abcdef',1,2,3,4,5,6,7,8,9,10,11,12]}}}");
    assert_int_equal(cor_custom_columns_new(cor_buf_str(&version), &columns), 0);
    assert_int_equal(write_cells_with(columns, cor_buf_str(&json), &thread, &out), 0);
    assert_uint_in_range(thread.steps, 40, 400);
    assert_int_equal(write_cells_with(columns, cor_buf_str(&json), &loop, &none), COR_WORK_YIELD);
    assert_int_equal(write_cells_with(columns, cor_buf_str(&json), &little, &cut), 0);
    assert_string_equal(cor_buf_z(&cut), "[\"k\",\"x\",null,null]");
    cor_custom_columns_free(columns);
}

TEST(custom_columns, survive_every_failed_allocation)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf version = {.max = OUT_MAX}, json = {.max = OUT_MAX};

    add_canonical(&version,
                  "[{'name':'A\\u0041','type':'string',"
                  "'jsonPath':'.spec..'},{'name':'B','type':'string','jsonPath':'.spec'}]");
    add_canonical(&json, "{'metadata':{'name':'k'},'spec':{'a':1,'b':{'c':['x','y','z','w','v','u',"
                         "'t','s','r']}}}");
    FOR_EACH_FAILED_ALLOC(n) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = OUT_MAX};
        struct cor_custom_columns *columns = NULL;
        int r = cor_custom_columns_new(cor_buf_str(&version), &columns);

        if (r == 0) {
            assert_int_equal(columns->n, 2);
            r = write_cells(columns, cor_buf_str(&json), &out);
        }
        assert_true(r == 0 || r == -COR_ENOMEM);
        assert_int_equal(r == -COR_ENOMEM, test_alloc_failed());
        if (r == 0)
            assert_true(out.n > 100);
        cor_custom_columns_free(columns);
    }
}
