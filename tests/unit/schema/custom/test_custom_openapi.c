/* Schemas of custom resources in OpenAPI documents: what a kube-apiserver 1.34 publishes of the
 * same schemas. The documents as a whole are compared by tests/differential/openapi.py. */
#include "schema/custom/custom_openapi.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "schema/convert/conversion.h"
#include "schema/kinds/custom_row.h"
#include "schema/kinds/custom_schema.h"
#include "test.h"
#include "json/text/json.h"
#include "json/text/scan.h"

#define OUT_MAX (1u << 20)

/* clang-format off */
/* With ' in the place of ". */
static const struct {
    const char *schema, *v3, *v2;
} rows[] = {
    {"{'x-kubernetes-preserve-unknown-fields':true}",
     "{'x-kubernetes-preserve-unknown-fields':true}",
     "{'x-kubernetes-preserve-unknown-fields':true}"},
    {"{'properties':{'a':{'type':'string'}},'required':['a'],'type':'object','x-kubernetes"
     "-preserve-unknown-fields':true}",
     "{'properties':{'a':{'type':'string'}},'required':['a'],'type':'object','x-kubernetes"
     "-preserve-unknown-fields':true}",
     "{'required':['a'],'x-kubernetes-preserve-unknown-fields':true}"},
    {"{'properties':{'a':{'type':'string'}},'type':'object','x-kubernetes-map-type':'atomi"
     "c'}",
     "{'properties':{'a':{'type':'string'}},'type':'object','x-kubernetes-map-type':'atomi"
     "c'}",
     "{'properties':{'a':{'type':'string'}},'type':'object','x-kubernetes-map-type':'atomi"
     "c'}"},
    {"{'allOf':[{'properties':{'a':{'minLength':2}}}],'anyOf':[{'properties':{'b':{'enum':"
     "['x']}}},{'required':['a']}],'not':{'required':['c']},'oneOf':[{'required':['a']},{'"
     "required':['b']}],'properties':{'a':{'type':'string'},'b':{'type':'string'}},'type':"
     "'object'}",
     "{'allOf':[{'properties':{'a':{'minLength':2}}}],'anyOf':[{'properties':{'b':{'enum':"
     "['x']}}},{'required':['a']}],'not':{'required':['c']},'oneOf':[{'required':['a']},{'"
     "required':['b']}],'properties':{'a':{'type':'string'},'b':{'type':'string'}},'type':"
     "'object'}",
     "{'properties':{'a':{'type':'string'},'b':{'type':'string'}},'type':'object'}"},
    {"{'default':'red','description':'What it looks like.','enum':['red','blue'],'type':'s"
     "tring'}",
     "{'default':'red','description':'What it looks like.','enum':['red','blue'],'type':'s"
     "tring'}",
     "{'description':'What it looks like.','enum':['red','blue'],'type':'string'}"},
    {"{'items':{'properties':{'inner':{'default':{'n':1},'properties':{'n':{'default':1,'t"
     "ype':'integer'}},'type':'object'}},'type':'object'},'type':'array'}",
     "{'items':{'properties':{'inner':{'default':{'n':1},'properties':{'n':{'default':1,'t"
     "ype':'integer'}},'type':'object'}},'type':'object'},'type':'array'}",
     "{'items':{'properties':{'inner':{'properties':{'n':{'type':'integer'}},'type':'objec"
     "t'}},'type':'object'},'type':'array'}"},
    {"{'enum':['a',null],'nullable':true,'type':'string'}",
     "{'enum':['a',null],'nullable':true,'type':'string'}",
     "{'enum':['a',null]}"},
    {"{'default':false,'type':'boolean'}",
     "{'default':false,'type':'boolean'}",
     "{'type':'boolean'}"},
    {"{'additionalProperties':true,'type':'object'}",
     "{'additionalProperties':true,'type':'object'}",
     "{'additionalProperties':true,'type':'object'}"},
    {"{'additionalProperties':{'type':'string'},'maxProperties':4,'type':'object'}",
     "{'additionalProperties':{'type':'string'},'maxProperties':4,'type':'object'}",
     "{'additionalProperties':{'type':'string'},'maxProperties':4,'type':'object'}"},
    {"{'minLength':1,'nullable':true,'type':'string'}",
     "{'minLength':1,'nullable':true,'type':'string'}",
     "{'minLength':1}"},
    {"{'items':{'x-kubernetes-preserve-unknown-fields':true},'type':'array'}",
     "{'items':{'x-kubernetes-preserve-unknown-fields':true},'type':'array'}",
     "{'items':{'x-kubernetes-preserve-unknown-fields':true},'type':'array'}"},
    {"{'items':{'type':'string'},'nullable':true,'type':'array'}",
     "{'items':{'type':'string'},'nullable':true,'type':'array'}",
     "{}"},
    {"{'additionalProperties':{'nullable':true,'type':'string'},'minProperties':1,'type':'"
     "object'}",
     "{'additionalProperties':{'nullable':true,'type':'string'},'minProperties':1,'type':'"
     "object'}",
     "{'additionalProperties':{},'minProperties':1,'type':'object'}"},
    {"{'nullable':true,'properties':{'a':{'type':'string'}},'required':['a'],'type':'objec"
     "t'}",
     "{'nullable':true,'properties':{'a':{'type':'string'}},'required':['a'],'type':'objec"
     "t'}",
     "{'required':['a']}"},
    {"{'x-kubernetes-int-or-string':true}",
     "{'anyOf':[{'type':'integer'},{'type':'string'}],'x-kubernetes-int-or-string':true}",
     "{'x-kubernetes-int-or-string':true}"},
    {"{'items':{'properties':{'port':{'type':'integer'},'protocol':{'default':'TCP','type'"
     ":'string'}},'required':['port'],'type':'object'},'type':'array','x-kubernetes-list-m"
     "ap-keys':['port','protocol'],'x-kubernetes-list-type':'map'}",
     "{'items':{'properties':{'port':{'type':'integer'},'protocol':{'default':'TCP','type'"
     ":'string'}},'required':['port'],'type':'object'},'type':'array','x-kubernetes-list-m"
     "ap-keys':['port','protocol'],'x-kubernetes-list-type':'map'}",
     "{'items':{'properties':{'port':{'type':'integer'},'protocol':{'type':'string'}},'req"
     "uired':['port'],'type':'object'},'type':'array','x-kubernetes-list-map-keys':['port'"
     ",'protocol'],'x-kubernetes-list-type':'map'}"},
    {"{'default':1,'format':'int32','minimum':0,'type':'integer'}",
     "{'default':1,'format':'int32','minimum':0,'type':'integer'}",
     "{'format':'int32','minimum':0,'type':'integer'}"},
    {"{'properties':{'n':{'type':'integer'}},'type':'object','x-kubernetes-validations':[{"
     "'fieldPath':'.n','message':'must be large','reason':'FieldValueForbidden','rule':'se"
     "lf.n > 1'}]}",
     "{'properties':{'n':{'type':'integer'}},'type':'object','x-kubernetes-validations':[{"
     "'fieldPath':'.n','message':'must be large','reason':'FieldValueForbidden','rule':'se"
     "lf.n > 1'}]}",
     "{'properties':{'n':{'type':'integer'}},'type':'object','x-kubernetes-validations':[{"
     "'fieldPath':'.n','message':'must be large','reason':'FieldValueForbidden','rule':'se"
     "lf.n > 1'}]}"},
    {"{'items':{'type':'string'},'maxItems':3,'minItems':1,'type':'array','x-kubernetes-li"
     "st-type':'set'}",
     "{'items':{'type':'string'},'maxItems':3,'minItems':1,'type':'array','x-kubernetes-li"
     "st-type':'set'}",
     "{'items':{'type':'string'},'maxItems':3,'minItems':1,'type':'array','x-kubernetes-li"
     "st-type':'set'}"},
    {"{'anyOf':[{'maximum':5},{'pattern':'%$'}],'x-kubernetes-int-or-string':true}",
     "{'allOf':[{'anyOf':[{'type':'integer'},{'type':'string'}]}],'anyOf':[{'maximum':5},{"
     "'pattern':'%$'}],'x-kubernetes-int-or-string':true}",
     "{'x-kubernetes-int-or-string':true}"},
    {"{'allOf':[{'anyOf':[{'type':'integer'},{'type':'string'}]},{'maximum':5}],'x-kuberne"
     "tes-int-or-string':true}",
     "{'allOf':[{'anyOf':[{'type':'integer'},{'type':'string'}]},{'maximum':5}],'x-kuberne"
     "tes-int-or-string':true}",
     "{'x-kubernetes-int-or-string':true}"},
    {"{'anyOf':[{'type':'integer'},{'type':'string'}],'pattern':'^[0-9]+$','x-kubernetes-i"
     "nt-or-string':true}",
     "{'anyOf':[{'type':'integer'},{'type':'string'}],'pattern':'^[0-9]+$','x-kubernetes-i"
     "nt-or-string':true}",
     "{'pattern':'^[0-9]+$','x-kubernetes-int-or-string':true}"},
    {"{'default':'<a>','maxLength':64,'pattern':'^<[a-z]+>$','type':'string'}",
     "{'default':'<a>','maxLength':64,'pattern':'^<[a-z]+>$','type':'string'}",
     "{'maxLength':64,'pattern':'^<[a-z]+>$','type':'string'}"},
    {"{'exclusiveMaximum':true,'format':'double','maximum':2.5,'minimum':0,'multipleOf':0."
     "5,'type':'number'}",
     "{'exclusiveMaximum':true,'format':'double','maximum':2.5,'minimum':0,'multipleOf':0."
     "5,'type':'number'}",
     "{'exclusiveMaximum':true,'format':'double','maximum':2.5,'minimum':0,'multipleOf':0."
     "5,'type':'number'}"},
    {"{'example':'2026-01-01T00:00:00Z','externalDocs':{'url':'https://example.org'},'form"
     "at':'date-time','type':'string'}",
     "{'format':'date-time','type':'string'}",
     "{'format':'date-time','type':'string'}"},
};
/* clang-format on */

static const struct cor_json_limits limits = {OUT_MAX, COR_JSON_DEPTH_MAX, true};

/* A text with ' in the place of ", as canonical JSON. */
static void add_canonical(struct cor_buf *out, const char *quoted)
{
    char *text = cor_strdup(quoted);

    assert_non_null(text);
    for (char *p = strchr(text, '\''); p; p = strchr(p, '\''))
        *p = '"';
    assert_int_equal(cor_json_canonicalize(cor_strz(text), &limits, out, NULL, NULL), 0);
    cor_free(text);
}

/* Writes the kind, or the list, of a definition whose version is this, in canonical form. */
static void write_schema(const char *version_json, enum cor_openapi_version version, bool is_list,
                         struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {.max = OUT_MAX}, text = {.max = OUT_MAX};
    COR_CLEANUP(cor_object_unrefp) struct cor_object *crd = NULL;
    const struct cor_structural_opts opts = {0};
    struct cor_custom_row custom = {0};
    const struct cor_resource_row row = {
        .custom = &custom,
        .group = COR_STR("shop.example.org"),
        .version = COR_STR("v1"),
        .kind = COR_STR("Kettle"),
        .list_kind = COR_STR("KettleList"),
        .plural = COR_STR("kettles"),
    };
    struct cor_json_writer w;

    add_canonical(&json, version_json);
    custom.version = cor_buf_str(&json);
    assert_int_equal(cor_object_parse(COR_STR("{}"), NULL, NULL, NULL, &crd, NULL), 0);
    custom.schema = cor_custom_schema_new(crd, cor_convert_member(custom.version, "schema"), &opts);
    assert_non_null(custom.schema);
    cor_json_writer_init(&w, &text);
    if (is_list)
        cor_custom_openapi_write_list(&w, version, &row);
    else
        cor_custom_openapi_write_kind(&w, version, &row);
    assert_int_equal(cor_json_writer_finish(&w), 0);
    cor_buf_init(out, OUT_MAX);
    assert_int_equal(cor_json_canonicalize(cor_buf_str(&text), &limits, out, NULL, NULL), 0);
    cor_custom_schema_unref(custom.schema);
}

/* Contract crd 7.4, 7.6, 7.7. */
TEST(custom_openapi, publishes_schemas_as_kube_apiserver_does)
{
    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = OUT_MAX};

        assert_int_equal(cor_buf_addf(&text,
                                      "{'schema':{'openAPIV3Schema':{'type':'object','properties':{"
                                      "'p':%s}}}}",
                                      rows[i].schema),
                         0);
        for (int version = COR_OPENAPI_2; version <= COR_OPENAPI_3; version++) {
            COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {0}, want = {.max = OUT_MAX};
            struct cor_str got = {NULL, 0};

            write_schema(cor_buf_z(&text), (enum cor_openapi_version)version, false, &out);
            add_canonical(&want, version == COR_OPENAPI_3 ? rows[i].v3 : rows[i].v2);
            assert_int_equal(
                cor_json_get(cor_buf_str(&out), COR_STR("properties"), COR_JSON_SORTED, &got), 0);
            assert_int_equal(cor_json_get(got, COR_STR("p"), COR_JSON_SORTED, &got), 0);
            if (!cor_str_eq(got, cor_buf_str(&want)))
                fail_msg("%s in version %d: %.*s instead of %s", rows[i].schema,
                         version == COR_OPENAPI_3 ? 3 : 2, COR_STR_ARG(got), cor_buf_z(&want));
        }
    }
}

static void assert_contains(const struct cor_buf *out, const char *quoted)
{
    char *text = cor_strdup(quoted);

    assert_non_null(text);
    for (char *p = strchr(text, '\''); p; p = strchr(p, '\''))
        *p = '"';
    if (!strstr(cor_buf_z(out), text))
        fail_msg("%s is not in %s", text, cor_buf_z(out));
    cor_free(text);
}

/* Contract crd 7.3, 7.4, 7.5. */
TEST(custom_openapi, adds_what_every_kind_has)
{
    static const char version[] =
        "{'selectableFields':[{'jsonPath':'.spec.colour'}],'schema':{'openAPIV3Schema':{'type':"
        "'object','properties':{'metadata':{'type':'object'},'e':{'type':'object','required':"
        "['kind'],'x-kubernetes-embedded-resource':true}}}}}";
    COR_CLEANUP(cor_buf_deinit) struct cor_buf v3 = {0}, v2 = {0}, list = {0};

    write_schema(version, COR_OPENAPI_3, false, &v3);
    write_schema(version, COR_OPENAPI_2, false, &v2);
    write_schema(version, COR_OPENAPI_3, true, &list);
    assert_contains(&v3, "'allOf':[{'$ref':'#/components/schemas/"
                         "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta'}]");
    assert_contains(&v2, "'$ref':'#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta'");
    assert_contains(&v3, "'required':['kind','apiVersion']");
    assert_contains(&v3, "'x-kubernetes-group-version-kind':[{'group':'shop.example.org','kind':"
                         "'Kettle','version':'v1'}]");
    assert_contains(&v3, "'x-kubernetes-selectable-fields':[{'fieldPath':'spec.colour'}]");
    assert_contains(&list, "'items':{'$ref':'#/components/schemas/org.example.shop.v1.Kettle'}");
    assert_contains(&list, "'kind':'KettleList'");
    assert_contains(&list, "'required':['items']");
}

/* Contract crd 7.7. */
TEST(custom_openapi, closes_no_kind_of_version_2_that_keeps_unknown_fields)
{
    static const char version[] = "{'schema':{'openAPIV3Schema':{'type':'object',"
                                  "'x-kubernetes-preserve-unknown-fields':true,'properties':"
                                  "{'a':{'type':'string'}}}}}";
    COR_CLEANUP(cor_buf_deinit) struct cor_buf v2 = {0}, want = {.max = OUT_MAX};

    write_schema(version, COR_OPENAPI_2, false, &v2);
    add_canonical(&want, "{'type':'object','x-kubernetes-group-version-kind':[{'group':"
                         "'shop.example.org','kind':'Kettle','version':'v1'}]}");
    assert_string_equal(cor_buf_z(&v2), cor_buf_z(&want));
}

/* Contract crd 7.7. */
TEST(custom_openapi, requires_nothing_of_version_2_that_may_be_null)
{
    static const char version[] =
        "{'schema':{'openAPIV3Schema':{'type':'object','required':['a','b'],'properties':{'a':"
        "{'type':'string','nullable':true},'b':{'type':'string'}}}}}";
    COR_CLEANUP(cor_buf_deinit) struct cor_buf v2 = {0}, v3 = {0};

    write_schema(version, COR_OPENAPI_2, false, &v2);
    write_schema(version, COR_OPENAPI_3, false, &v3);
    assert_contains(&v2, "'required':['b']");
    assert_contains(&v3, "'required':['a','b']");
}
