/* Compiled schemas of custom resources, and what a rewrite by one makes of an object. Rows give
 * JSON with ' in place of ". */
#include <stdio.h>

#include "../rows.h"
#include "base/err.h"
#include "base/mem.h"
#include "schema/structural/structural.h"
#include "json/text/json.h"

/* A schema whose spec has these properties. */
static struct cor_structural *compile_spec(const char *properties)
{
    char text[JSON_MAX], json[JSON_MAX];
    struct cor_structural *schema = NULL;

    snprintf(text, sizeof(text),
             "{'type':'object','properties':{'spec':{'type':'object','properties':{%s}}}}",
             properties);
    assert_int_equal(cor_structural_compile(quoted(text, json), NULL, &schema, NULL), 0);
    return schema;
}

static struct cor_structural *compile(const char *text)
{
    struct cor_structural *schema = NULL;
    char json[JSON_MAX];

    assert_int_equal(cor_structural_compile(quoted(text, json), NULL, &schema, NULL), 0);
    return schema;
}

/* Rewrites by `steps` and compares the object and the unknown paths, which are separated by spaces.
 * A second rewrite changes nothing. */
static void check_rewrite(struct cor_structural *schema, unsigned steps, const char *in,
                          const char *want, const char *want_unknown)
{
    COR_CLEANUP(cor_structural_unknown_freep)
    struct cor_structural_unknown *unknown = cor_structural_unknown_new();
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = JSON_MAX};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf again = {.max = JSON_MAX};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf paths = {.max = JSON_MAX};
    char in_json[JSON_MAX], want_json[JSON_MAX];
    struct cor_json_limits limits = COR_JSON_LIMITS_DEFAULT;
    bool is_canonical = false;
    int r;

    assert_non_null(unknown);
    r = cor_structural_rewrite(schema, quoted(in, in_json), steps, &out, unknown);
    if (strcmp(in, want) == 0) {
        if (r != 0 || out.n != 0)
            fail_msg("%s becomes %s", in, cor_buf_z(&out));
    } else {
        if (r != 1 || !cor_str_eq(cor_buf_str(&out), quoted(want, want_json)))
            fail_msg("%s becomes\n%s instead of\n%s", in, cor_buf_z(&out), want);
        assert_int_equal(cor_json_check(cor_buf_str(&out), &limits, &is_canonical, NULL), 0);
        assert_true(is_canonical);
        assert_int_equal(cor_structural_rewrite(schema, cor_buf_str(&out), steps, &again, NULL), 0);
    }
    for (size_t i = 0; i < unknown->n; i++)
        assert_int_equal(
            cor_buf_addf(&paths, "%s%.*s", i > 0 ? " " : "", COR_STR_ARG(unknown->v[i])), 0);
    if (strcmp(cor_buf_z(&paths), want_unknown) != 0)
        fail_msg("%s has the unknown fields %s instead of %s", in, cor_buf_z(&paths), want_unknown);
}

struct spec_row {
    const char *properties; /* of the schema's spec */
    const char *in, *out;   /* the spec */
    const char *unknown;    /* "": none */
};

static void check_spec_rows(const struct spec_row *rows, size_t n)
{
    char in[JSON_MAX], out[JSON_MAX];

    for (size_t i = 0; i < n; i++) {
        struct cor_structural *schema = compile_spec(rows[i].properties);

        snprintf(in, sizeof(in), "{'kind':'K','apiVersion':'g/v1','spec':%s}", rows[i].in);
        snprintf(out, sizeof(out), "{'kind':'K','apiVersion':'g/v1','spec':%s}", rows[i].out);
        check_rewrite(schema, COR_STRUCTURAL_ALL | COR_STRUCTURAL_NUMBERS, in, out,
                      rows[i].unknown);
        cor_structural_free(schema);
    }
}

/* clang-format off */

/* Contract crd 4.3.1, 4.3.2, 4.3.3, 4.3.5, 4.3.6, B1 to B6. */
TEST(structural_rewrite, prunes_unknown_fields)
{
    static const struct spec_row rows[] = {
        {"'a':{'type':'string'}", "{'a':'x','b':1}", "{'a':'x'}", "spec.b"},
        {"'a':{'type':'string'}", "{'a':'x'}", "{'a':'x'}", ""},
        {"'b':{'type':'string'}", "{'a':1,'b':'x','c':2}", "{'b':'x'}", "spec.a spec.c"},
        {"'z':{'type':'string'}", "{'a':1,'b':2,'c':3}", "{}", "spec.a spec.b spec.c"},
        {"'l':{'type':'array','items':{'type':'object','properties':{'a':{'type':'string'}}}}",
         "{'l':[{'a':'x','z':1}]}", "{'l':[{'a':'x'}]}", "spec.l[0].z"},
        {"'m':{'type':'object','additionalProperties':{'type':'object','properties':{'a':{'type':'string'}}}}",
         "{'m':{'k':{'a':'x','z':1}}}", "{'m':{'k':{'a':'x'}}}", "spec.m.k.z"},
        {"'m':{'type':'object','additionalProperties':true}",
         "{'m':{'l':[1,{'x':1}],'o':{'x':1},'s':1}}", "{'m':{'l':[1,{}],'o':{},'s':1}}", "spec.m.l[1].x spec.m.o.x"},
        {"'m':{'type':'object','additionalProperties':false}", "{'m':{'s':1}}", "{'m':{'s':1}}", ""},
        {"'p':{'type':'object','x-kubernetes-preserve-unknown-fields':true,"
         "'properties':{'k':{'type':'object','properties':{'a':{'type':'string'}}}}}",
         "{'p':{'k':{'a':'x','b':1},'z':{'y':1}}}", "{'p':{'k':{'a':'x'},'z':{'y':1}}}", "spec.p.k.b"},
        {"'p':{'x-kubernetes-preserve-unknown-fields':true,'type':'array','items':{'type':'object','properties':"
         "{'k':{'type':'object'}}}}",
         "{'p':[{'k':{'a':1},'z':{'y':1}}]}", "{'p':[{'k':{},'z':{'y':1}}]}", "spec.p[0].k.a"},
        {"'o':{'type':'object'}", "{'o':{'a':1}}", "{'o':{}}", "spec.o.a"},
        {"'s':{'type':'string'}", "{'s':{'a':1}}", "{'s':{}}", "spec.s.a"},
        {"'o':{'type':'object','properties':{'a':{'type':'string'}}}", "{'o':[{'a':1}]}", "{'o':[{}]}", "spec.o[0].a"},
    };

    check_spec_rows(rows, COR_ARRAY_LEN(rows));
}

/* Contract crd 4.4.1, 4.4.2, 4.2.5, B8, B10, B11. */
TEST(structural_rewrite, drops_nulls_that_the_schema_does_not_allow)
{
    static const struct spec_row rows[] = {
        {"'a':{'type':'string'}", "{'a':null}", "{}", ""},
        {"'a':{'type':'string','default':'d'}", "{'a':null}", "{'a':'d'}", ""},
        {"'a':{'type':'string','nullable':true,'default':'d'}", "{'a':null}", "{'a':null}", ""},
        {"'a':{'type':'string','nullable':true,'default':'d'}", "{}", "{'a':'d'}", ""},
        {"'l':{'type':'array','items':{'type':'string'}}", "{'l':['a',null]}", "{'l':['a',null]}", ""},
        {"'l':{'type':'array','items':{'type':'string','default':'d'}}", "{'l':['a',null]}", "{'l':['a','d']}", ""},
        {"'m':{'type':'object','additionalProperties':{'type':'string'}}", "{'m':{'a':null,'b':'x'}}", "{'m':{'b':'x'}}", ""},
        {"'m':{'type':'object','additionalProperties':{'type':'string','default':'d'}}", "{'m':{'a':null}}", "{'m':{'a':'d'}}", ""},
        {"'m':{'type':'object','additionalProperties':true}", "{'m':{'a':null}}", "{'m':{'a':null}}", ""},
        {"'p':{'x-kubernetes-preserve-unknown-fields':true}", "{'p':{'a':null}}", "{'p':{'a':null}}", ""},
        {"'a':{'type':'string'}", "{'a':null,'b':null}", "{}", "spec.b"},
    };

    check_spec_rows(rows, COR_ARRAY_LEN(rows));
}

/* Contract crd 4.5.1, 4.5.2, B13, B14. */
TEST(structural_rewrite, fills_in_defaults)
{
    static const struct spec_row rows[] = {
        {"'o':{'type':'object','properties':{'a':{'type':'integer','default':3}}}", "{}", "{}", ""},
        {"'o':{'type':'object','default':{},'properties':{'a':{'type':'integer','default':3}}}", "{}", "{'o':{'a':3}}", ""},
        {"'o':{'type':'object','default':{'b':{}},'properties':{'a':{'type':'integer','default':3},"
         "'b':{'type':'object','properties':{'c':{'type':'string','default':'x'}}}}}",
         "{}", "{'o':{'a':3,'b':{'c':'x'}}}", ""},
        {"'a':{'type':'integer','default':1},'c':{'type':'integer','default':3},'e':{'type':'integer','default':5}",
         "{}", "{'a':1,'c':3,'e':5}", ""},
        {"'a':{'type':'integer','default':1},'b':{'type':'integer'},'c':{'type':'integer','default':3},'d':{'type':'integer'},"
         "'e':{'type':'integer','default':5}",
         "{'b':2,'d':4}", "{'a':1,'b':2,'c':3,'d':4,'e':5}", ""},
        {"'a':{'type':'integer','default':1},'c':{'type':'integer','default':3}",
         "{'a':0,'b':2,'c':7}", "{'a':0,'c':7}", "spec.b"},
        {"'c':{'type':'integer','default':3}", "{'a':1,'b':2,'d':4}", "{'c':3}", "spec.a spec.b spec.d"},
        {"'l':{'type':'array','items':{'type':'object','properties':{'a':{'type':'string','default':'x'}}}}",
         "{'l':[{},{'a':'y'},{}]}", "{'l':[{'a':'x'},{'a':'y'},{'a':'x'}]}", ""},
        {"'m':{'type':'object','additionalProperties':{'type':'object','properties':{'a':{'type':'string','default':'x'}}}}",
         "{'m':{'k':{}}}", "{'m':{'k':{'a':'x'}}}", ""},
        {"'a':{'type':'string','default':null}", "{}", "{}", ""},
        /* Members of a default are put in order. */
        {"'o':{'type':'object','x-kubernetes-preserve-unknown-fields':true,'default':{'z':1, 'kind':'x', 'a':2}}",
         "{}", "{'o':{'a':2,'kind':'x','z':1}}", ""},
    };

    check_spec_rows(rows, COR_ARRAY_LEN(rows));
}

/* Contract crd 4.1.1. */
/* The two members come first in an object, before those whose names would be sorted before. */
TEST(structural_rewrite, inserts_no_second_kind_or_version)
{
    struct cor_structural *schema = compile(
        "{'type':'object','properties':{'apiVersion':{'type':'string','default':'other/v2'},'kind':{'type':'string','default':'Other'},"
        "'a':{'type':'string','default':'x'},'spec':{'type':'object'}}}");

    check_rewrite(schema, COR_STRUCTURAL_ALL, "{'kind':'K','apiVersion':'g/v1','spec':{}}",
                  "{'kind':'K','apiVersion':'g/v1','a':'x','spec':{}}", "");
    check_rewrite(schema, COR_STRUCTURAL_ALL, "{'kind':'K','apiVersion':'g/v1'}",
                  "{'kind':'K','apiVersion':'g/v1','a':'x'}", "");
    cor_structural_free(schema);
}

TEST(structural_rewrite, writes_numbers_as_upstream_does)
{
    static const struct spec_row rows[] = {
        {"'n':{'type':'number'}", "{'n':3.0}", "{'n':3}", ""},
        {"'n':{'type':'number'}", "{'n':-2.50}", "{'n':-2.5}", ""},
        {"'n':{'type':'number'}", "{'n':1e3}", "{'n':1000}", ""},
        {"'n':{'type':'number'}", "{'n':1.5e-7}", "{'n':1.5e-7}", ""},
        {"'n':{'type':'number'}", "{'n':12345678901234567890}", "{'n':12345678901234567000}", ""},
        {"'n':{'type':'number'}", "{'n':9223372036854775807}", "{'n':9223372036854775807}", ""},
        {"'n':{'type':'number'},'s':{'type':'string'}", "{'n':3.0,'s':'3.0'}", "{'n':3,'s':'3.0'}", ""},
        {"'s':{'type':'string'},'x':{'x-kubernetes-preserve-unknown-fields':true}", "{'s':'\\\\','x':[1.0,{'a':2.0}]}", "{'s':'\\\\','x':[1,{'a':2}]}", ""},
        {"'n':{'type':'number','default':4.0}", "{}", "{'n':4}", ""},
    };

    check_spec_rows(rows, COR_ARRAY_LEN(rows));
}

/* Contract crd 4.3.4, 4.5.2. */
TEST(structural_rewrite, leaves_the_members_of_every_resource_alone)
{
    struct cor_structural *schema =
        compile("{'type':'object','properties':{'alpha':{'type':'integer','default':1},'zeta':{'type':'integer','default':2},"
                "'t':{'type':'object','x-kubernetes-embedded-resource':true,'properties':{'spec':{'type':'object'}}}}}");

    check_rewrite(schema, COR_STRUCTURAL_ALL,
                  "{'kind':'K','apiVersion':'g/v1','metadata':{'labels':{'a':'b'},'name':'n'},"
                  "'t':{'apiVersion':'v1','extra':1,'kind':'X','metadata':{'name':'y'},'spec':{'b':1}}}",
                  "{'kind':'K','apiVersion':'g/v1','alpha':1,'metadata':{'labels':{'a':'b'},'name':'n'},"
                  "'t':{'apiVersion':'v1','kind':'X','metadata':{'name':'y'},'spec':{}},'zeta':2}",
                  "t.extra t.spec.b");
    cor_structural_free(schema);
    /* A default of the object itself is never applied. */
    schema = compile("{'type':'object','default':{'a':1},'properties':{'a':{'type':'integer'}}}");
    check_rewrite(schema, COR_STRUCTURAL_ALL, "{'kind':'K','apiVersion':'g/v1'}", "{'kind':'K','apiVersion':'g/v1'}", "");
    cor_structural_free(schema);
}

/* Contract crd 4.9.1, 4.2.1. */
TEST(structural_rewrite, reads_the_metadata_of_embedded_resources)
{
    static const char in[] = "{'kind':'K','apiVersion':'g','l':[{'apiVersion':'v1','kind':'X','metadata':{'colour':'red','creationTimestamp':null,"
                             "'labels':{'a':'b'}}}],'t':{'apiVersion':'v1','kind':'X','metadata':{'x':1}},'zz':1}";
    static const char bad[] = "{'kind':'K','apiVersion':'g','t':{'apiVersion':5.0,'kind':'X','metadata':{'labels':['x'],'name':'n'}}}";
    struct cor_structural *schema =
        compile("{'type':'object','properties':{'l':{'type':'array','items':{'type':'object','x-kubernetes-embedded-resource':true,"
                "'x-kubernetes-preserve-unknown-fields':true}},'t':{'type':'object','x-kubernetes-embedded-resource':true,"
                "'x-kubernetes-preserve-unknown-fields':true}}}");
    COR_CLEANUP(cor_structural_unknown_freep) struct cor_structural_unknown *unknown = cor_structural_unknown_new();
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = JSON_MAX};
    char json[JSON_MAX];

    check_rewrite(schema, COR_STRUCTURAL_ALL | COR_STRUCTURAL_EMBEDDED_REQUEST, in,
                  "{'kind':'K','apiVersion':'g','l':[{'apiVersion':'v1','kind':'X','metadata':{'labels':{'a':'b'}}}],"
                  "'t':{'apiVersion':'v1','kind':'X','metadata':{}}}",
                  "zz l[0].metadata.colour t.metadata.x");
    check_rewrite(schema, COR_STRUCTURAL_ALL | COR_STRUCTURAL_EMBEDDED_STORED, bad,
                  "{'kind':'K','apiVersion':'g','t':{'kind':'X','metadata':{'name':'n'}}}", "");
    assert_int_equal(cor_structural_rewrite(schema, quoted(bad, json), COR_STRUCTURAL_ALL | COR_STRUCTURAL_EMBEDDED_REQUEST, &out, unknown), -COR_EINVAL);
    assert_string_equal(cor_buf_z(&unknown->why), "t.apiVersion: Invalid value: 5: must be a string");
    assert_int_equal(cor_structural_rewrite(schema, quoted("{'kind':'K','t':{'metadata':{'labels':['x']}}}", json),
                                            COR_STRUCTURAL_ALL | COR_STRUCTURAL_EMBEDDED_REQUEST, &out, unknown), -COR_EINVAL);
    assert_string_equal(cor_buf_z(&unknown->why), "t.metadata: Invalid value: {\"labels\":[\"x\"]}: json: cannot unmarshal array into Go struct field "
                                                  "ObjectMeta.labels of type map[string]string");
    assert_int_equal(out.n, 0);
    cor_structural_free(schema);
}

/* As at kube-apiserver (tests/differential/instances.py): only paths of embedded resources have the keys of maps in brackets. */
TEST(structural_rewrite, names_embedded_resources_in_maps_by_their_keys)
{
    struct cor_structural *schema =
        compile("{'type':'object','properties':{'m':{'type':'object','additionalProperties':{'type':'object','properties':{'t':{'type':'object',"
                "'x-kubernetes-embedded-resource':true,'x-kubernetes-preserve-unknown-fields':true}}}}}}");

    check_rewrite(schema, COR_STRUCTURAL_ALL | COR_STRUCTURAL_EMBEDDED_REQUEST,
                  "{'kind':'K','apiVersion':'g','m':{'k.1':{'t':{'apiVersion':'v1','kind':'X','metadata':{'x':1}},'y':1}}}",
                  "{'kind':'K','apiVersion':'g','m':{'k.1':{'t':{'apiVersion':'v1','kind':'X','metadata':{}}}}}", "m.k.1.y m[k.1].t.metadata.x");
    cor_structural_free(schema);
}

TEST(structural_rewrite, does_only_the_steps_that_are_asked_for)
{
    static const char in[] = "{'kind':'K','apiVersion':'g/v1','spec':{'b':1,'n':null}}";
    struct cor_structural *schema = compile_spec("'a':{'type':'integer','default':3},'n':{'type':'string'}");

    check_rewrite(schema, COR_STRUCTURAL_PRUNE, in, "{'kind':'K','apiVersion':'g/v1','spec':{'n':null}}", "spec.b");
    check_rewrite(schema, COR_STRUCTURAL_NULLS, in, "{'kind':'K','apiVersion':'g/v1','spec':{'b':1}}", "");
    check_rewrite(schema, COR_STRUCTURAL_DEFAULT, in, "{'kind':'K','apiVersion':'g/v1','spec':{'a':3,'b':1,'n':null}}", "");
    cor_structural_free(schema);
}

TEST(structural_rewrite, prunes_nothing_for_old_definitions)
{
    const struct cor_structural_opts opts = {.preserves_unknown = true};
    struct cor_structural *schema = NULL;

    assert_int_equal(cor_structural_compile(COR_STR("{\"type\":\"object\"}"), &opts, &schema, NULL), 0);
    check_rewrite(schema, COR_STRUCTURAL_ALL, "{'kind':'K','apiVersion':'g/v1','x':1}", "{'kind':'K','apiVersion':'g/v1','x':1}", "");
    cor_structural_free(schema);
}

/* clang-format on */

TEST(structural_rewrite, sorts_unknown_fields_and_prints_keys_without_escapes)
{
    struct cor_structural *schema = compile_spec("'a':{'type':'object'}");

    check_rewrite(schema, COR_STRUCTURAL_ALL,
                  "{'kind':'K','apiVersion':'g/v1','spec':{'a':{'x\\ny':1},'a.b':2}}",
                  "{'kind':'K','apiVersion':'g/v1','spec':{'a':{}}}", "spec.a.b spec.a.x\ny");
    cor_structural_free(schema);
}

TEST(structural_rewrite, refuses_what_is_not_structural)
{
    static const struct {
        const char *schema, *why;
        int r;
    } rows[] = {
        {"[]", "a schema is not an object", -COR_EINVALID},
        {"{", "", -COR_EINVAL},
        {"{'type':'null'}", "a schema has a type that is not supported", -COR_EINVALID},
        {"{'properties':{'a':1}}", "a schema is not an object", -COR_EINVALID},
        {"{'items':[{}]}", "OpenAPIV3Schema 'items' must be a schema, but is an array",
         -COR_EINVALID},
        {"{'properties':{'a':{'$ref':'x'}}}", "OpenAPIV3Schema '$ref' is not supported",
         -COR_EINVALID},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf why = {.max = 1000};
        struct cor_structural *schema = NULL;
        char json[JSON_MAX];

        assert_int_equal(cor_structural_compile(quoted(rows[i].schema, json), NULL, &schema, &why),
                         rows[i].r);
        assert_string_equal(cor_buf_z(&why), rows[i].why);
        assert_null(schema);
    }
}

TEST(structural_rewrite, refuses_an_output_past_its_maximum)
{
    struct cor_structural *schema = compile_spec("'a':{'type':'string','default':'dddddddddd'}");
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 40};
    char json[JSON_MAX];

    assert_int_equal(cor_structural_rewrite(schema,
                                            quoted("{'kind':'K','apiVersion':'g','spec':{}}", json),
                                            COR_STRUCTURAL_ALL, &out, NULL),
                     -COR_ETOOBIG);
    assert_int_equal(out.n, 0);
    cor_structural_free(schema);
}

TEST(structural_rewrite, survives_failed_allocations)
{
    static const char text[] =
        "{'type':'object','properties':{'l':{'type':'array','x-kubernetes-list-type':'map',"
        "'x-kubernetes-list-map-keys':['b','a'],'items':{'type':'object','required':['a'],"
        "'properties':{'a':{'type':'string','default':'x','enum':['x','y'],'pattern':'^x'},"
        "'b':{'type':'string','format':'date-time','anyOf':[{'maxLength':3},{'minLength':1}]}}}},"
        "'t':{'type':'object','x-kubernetes-embedded-resource':true,'x-kubernetes-preserve-unknown-fields':true}}}";
    char schema_json[JSON_MAX], object_json[JSON_MAX];
    struct cor_str schema_text = quoted(text, schema_json);
    struct cor_str object =
        quoted("{'kind':'K','apiVersion':'g','l':[{'c':1},{'d':1}],'t':{'metadata':{'x':1}}}",
               object_json);

    FOR_EACH_FAILED_ALLOC(n) {
        COR_CLEANUP(cor_structural_unknown_freep)
        struct cor_structural_unknown *unknown = cor_structural_unknown_new();
        COR_CLEANUP(cor_structural_freep) struct cor_structural *schema = NULL;
        COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = JSON_MAX};
        int r = unknown ? cor_structural_compile(schema_text, NULL, &schema, NULL) : -COR_ENOMEM;

        if (r == 0)
            r = cor_structural_rewrite(schema, object,
                                       COR_STRUCTURAL_ALL | COR_STRUCTURAL_EMBEDDED_REQUEST, &out,
                                       unknown);
        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 1);
        if (r == 1) {
            assert_int_equal(unknown->n, 3);
            assert_true(cor_str_eqz(cor_buf_str(&out),
                                    "{\"kind\":\"K\",\"apiVersion\":\"g\",\"l\":[{\"a\":\"x\"},"
                                    "{\"a\":\"x\"}],\"t\":{\"metadata\":{}}}"));
        }
    }
}

/* How much a property adds to the compiled schema. */
static size_t bytes_of_property(const char *first, const char *second)
{
    COR_CLEANUP(cor_structural_freep) struct cor_structural *one = NULL;
    COR_CLEANUP(cor_structural_freep) struct cor_structural *two = NULL;
    char properties[JSON_MAX];

    snprintf(properties, sizeof(properties), "'a':%s", first);
    one = compile_spec(properties);
    snprintf(properties, sizeof(properties), "'a':%s,'b':%s", first, second);
    two = compile_spec(properties);
    return cor_structural_bytes(two) - cor_structural_bytes(one);
}

TEST(structural_rewrite, fields_that_say_the_same_share_their_schema)
{
    /* A name and a number of a node. */
    const size_t shared = 14;

    assert_int_equal(bytes_of_property("{'type':'string'}", "{'type':'string'}"), shared);
    assert_int_equal(bytes_of_property("{'type':'string','minLength':1,'pattern':'^a'}",
                                       "{'type':'string','minLength':1,'pattern':'^a'}"),
                     shared);
    assert_true(bytes_of_property("{'type':'string'}", "{'type':'boolean'}") > shared);
    assert_true(bytes_of_property("{'type':'string'}", "{'type':'string','nullable':true}") >
                shared);
    assert_true(bytes_of_property("{'type':'string','minLength':1}",
                                  "{'type':'string','minLength':2}") > shared);
    assert_true(bytes_of_property("{'type':'string','minLength':1,'pattern':'^a'}",
                                  "{'type':'string','minLength':1,'pattern':'^b'}") > shared);
    assert_true(bytes_of_property("{'type':'string','default':'x'}",
                                  "{'type':'string','default':'y'}") > shared);
    assert_true(bytes_of_property("{'type':'string','enum':['x']}",
                                  "{'type':'string','enum':['y']}") > shared);
}
