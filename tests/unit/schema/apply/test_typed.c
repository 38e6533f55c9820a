/* The typed walks of server-side apply. Cases are written with ' in place of ". */
#include "schema/apply/typed.h"

#include "../apply_schema.h"
#include "../rows.h"
#include "base/err.h"
#include "schema/structural/structural.h"
#include "schema/walk/normalize.h"
#include "json/text/json.h"

#define BYTES_MAX (1u << 20)

/* clang-format off */
/* The kind of the worked scenarios (contract apply 16), as far as the walks need it. */
static const char widget[] =
    "{'fields':{'apiVersion':'string','kind':'string','metadata':{'fields':{'finalizers':{'set':'string'},'labels':{'map':'string'},'name':'string'}},"
    "'spec':{'fields':{'any':'any','box':{'fields':{'h':'number','w':'number'}},'color':'string','flag':'bool','free':'deduced','opts':{'map':'string'},"
    "'parts':{'keyed':{'fields':{'name':'string','note':'string','qty':'number'}},'keys':['name']},'pin':{'map':'string','atomic':true},"
    "'ports':{'keyed':{'fields':{'port':'number','proto':'string','title':'string'},'defaults':{'proto':'TCP'}},'keys':['port','proto']},"
    "'raw':'atomic','seq':{'list':'number'},'size':'number','tags':{'set':'any'}}}}}";
/* The same kind as a custom resource. */
static const char widget_crd[] =
    "{'type':'object','properties':{'spec':{'type':'object','properties':{'any':{'x-kubernetes-int-or-string':true},"
    "'box':{'type':'object','properties':{'h':{'type':'integer'},'w':{'type':'number'}}},'color':{'type':'string'},'flag':{'type':'boolean'},"
    "'free':{'type':'object'},'opts':{'type':'object','additionalProperties':{'type':'string'}},"
    "'parts':{'type':'array','x-kubernetes-list-type':'map','x-kubernetes-list-map-keys':['name'],"
    "'items':{'type':'object','properties':{'name':{'type':'string'},'note':{'type':'string'},'qty':{'type':'integer'}}}},"
    "'pin':{'type':'object','x-kubernetes-map-type':'atomic','additionalProperties':{'type':'string'}},"
    "'ports':{'type':'array','x-kubernetes-list-type':'map','x-kubernetes-list-map-keys':['proto','port'],"
    "'items':{'type':'object','properties':{'port':{'type':'integer'},'proto':{'type':'string','default':'TCP'},'title':{'type':'string'}}}},"
    "'raw':{'x-kubernetes-map-type':'atomic','x-kubernetes-preserve-unknown-fields':true},"
    "'seq':{'type':'array','items':{'type':'integer'}},'size':{'type':'integer'},"
    "'tags':{'type':'array','x-kubernetes-list-type':'set','items':{'x-kubernetes-int-or-string':true}}}}}}";
/* clang-format on */

/* The walks give the same results for a type without tables and for a compiled schema. */
enum source { SOURCE_TYPE, SOURCE_STRUCTURAL, SOURCES };

/* A schema, and texts that a test makes. */
struct bench {
    struct cor_structural *structural;
    struct cor_arena arena;
    struct cor_apply_place place;
    struct cor_buf text[2];
    struct cor_json_nodes json[2];
    char want[JSON_MAX];
    struct cor_buf out;
};

static void bench_init(struct bench *b, enum source source)
{
    static char schema[sizeof(widget)], crd[sizeof(widget_crd)];

    *b = (struct bench){0};
    cor_arena_init(&b->arena, BYTES_MAX);
    cor_buf_init(&b->out, BYTES_MAX);
    cor_buf_init(&b->text[0], BYTES_MAX);
    cor_buf_init(&b->text[1], BYTES_MAX);
    for (size_t i = 0; i < sizeof(widget); i++)
        schema[i] = (char)(widget[i] == '\'' ? '"' : widget[i]);
    for (size_t i = 0; i < sizeof(widget_crd); i++)
        crd[i] = (char)(widget_crd[i] == '\'' ? '"' : widget_crd[i]);
    if (source == SOURCE_STRUCTURAL) {
        assert_int_equal(cor_structural_compile(cor_strz(crd), NULL, &b->structural, NULL), 0);
        b->place = cor_apply_place_structural(b->structural);
    } else {
        b->place = cor_apply_place_schema(apply_schema_read(&b->arena, cor_strz(schema)));
    }
}

static void bench_deinit(struct bench *b)
{
    cor_json_nodes_deinit(&b->json[0]);
    cor_json_nodes_deinit(&b->json[1]);
    cor_buf_deinit(&b->text[0]);
    cor_buf_deinit(&b->text[1]);
    cor_buf_deinit(&b->out);
    cor_arena_deinit(&b->arena);
    cor_structural_free(b->structural);
}

/* The object in canonical form. */
static struct cor_typed object(struct bench *b, size_t i, const char *json)
{
    struct cor_json_limits limits = COR_JSON_LIMITS_DEFAULT;
    char text[JSON_MAX];

    cor_json_nodes_deinit(&b->json[i]);
    cor_buf_reset(&b->text[i]);
    assert_int_equal(cor_json_canonicalize(quoted(json, text), &limits, &b->text[i], NULL, NULL),
                     0);
    assert_int_equal(cor_json_nodes_init(&b->json[i], cor_buf_str(&b->text[i])), 0);
    return (struct cor_typed){&b->place, &b->json[i]};
}

static void check_set(struct bench *b, struct cor_fieldset set, const char *want, const char *of)
{
    char text[JSON_MAX];
    struct cor_str expected = quoted(want, text);

    cor_buf_reset(&b->out);
    assert_int_equal(cor_fieldset_write(set, &b->out), 0);
    if (!cor_str_eq(cor_buf_str(&b->out), expected))
        fail_msg("%s\ngot  %s\nwant %s", of, cor_buf_z(&b->out), text);
}

/* clang-format off */
/* Contract apply 5.1.1 to 5.1.5, 4.1.3, 4.1.5, 4.4.1 to 4.4.6. */
TEST(typed, fields_of_a_configuration)
{
    static const struct { const char *json, *set; } cases[] = {
        {"{}", "{}"},
        {"{'spec':{'size':1,'color':null}}", "{'f:spec':{'f:color':{},'f:size':{}}}"},
        {"{'spec':{'seq':[1,2],'pin':{'a':'b'},'raw':{'x':1}}}", "{'f:spec':{'f:pin':{},'f:raw':{},'f:seq':{}}}"},
        {"{'spec':{'seq':[],'pin':{},'raw':null}}", "{'f:spec':{'f:pin':{},'f:raw':{},'f:seq':{}}}"},
        {"{'spec':{'opts':{'a':'b'}}}", "{'f:spec':{'f:opts':{'f:a':{}}}}"},
        {"{'spec':{'opts':{},'box':{}}}", "{'f:spec':{'f:box':{},'f:opts':{}}}"},
        {"{'spec':{'parts':[],'tags':[]}}", "{}"},
        {"{'spec':{'parts':null}}", "{'f:spec':{'f:parts':{}}}"},
        {"{'spec':{'parts':[{'name':'q','qty':1},{'name':'p'}]}}",
         "{'f:spec':{'f:parts':{'k:{\\'name\\':\\'p\\'}':{'.':{},'f:name':{}},'k:{\\'name\\':\\'q\\'}':{'.':{},'f:name':{},'f:qty':{}}}}}"},
        {"{'spec':{'parts':[{'name':'p','qty':1},{'name':'p','qty':2}]}}", "{'f:spec':{'f:parts':{'k:{\\'name\\':\\'p\\'}':{}}}}"},
        {"{'spec':{'ports':[{'port':443},{'port':80,'proto':'UDP'},{'proto':null}]}}",
         "{'f:spec':{'f:ports':{'k:{\\'port\\':80,\\'proto\\':\\'UDP\\'}':{'.':{},'f:port':{},'f:proto':{}},"
         "'k:{\\'port\\':443,\\'proto\\':\\'TCP\\'}':{'.':{},'f:port':{}},'k:{\\'proto\\':null}':{'.':{},'f:proto':{}}}}}"},
        {"{'spec':{'tags':['b',2,1.0,true,'a']}}", "{'f:spec':{'f:tags':{'v:1':{},'v:2':{},'v:\\'a\\'':{},'v:\\'b\\'':{},'v:true':{}}}}"},
        {"{'spec':{'free':{'a':{'b':1},'l':[{'x':1}],'e':{},'n':null}}}",
         "{'f:spec':{'f:free':{'f:a':{'.':{},'f:b':{}},'f:e':{},'f:l':{},'f:n':{}}}}"},
        {"{'kind':'W','apiVersion':'v1','metadata':{'finalizers':['x/a'],'name':'w'}}",
         "{'f:apiVersion':{},'f:kind':{},'f:metadata':{'f:finalizers':{'v:\\'x/a\\'':{}},'f:name':{}}}"},
    };
    struct bench b;

    for (enum source s = 0; s < SOURCES; s++) {
    bench_init(&b, s);
    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        struct cor_fieldset set;

        assert_int_equal(cor_typed_fields(object(&b, 0, cases[i].json), &b.arena, &set), 0);
        check_set(&b, set, cases[i].set, cases[i].json);
    }
    bench_deinit(&b);
    }
}

/* Contract apply 5.2.1 to 5.2.7. */
TEST(typed, comparison_of_two_objects)
{
    static const struct { const char *old, *new, *added, *modified, *removed; } cases[] = {
        {"{'spec':{'size':1}}", "{'spec':{'size':1.0}}", "{}", "{}", "{}"},
        {"{'spec':{'size':1}}", "{'spec':{'size':2,'color':'r'}}", "{'f:spec':{'f:color':{}}}", "{'f:spec':{'f:size':{}}}", "{}"},
        {"{'spec':{'size':1}}", "{'spec':{}}", "{}", "{}", "{'f:spec':{'f:size':{}}}"},
        {"{'spec':{'color':null}}", "{'spec':{'color':'r'}}", "{}", "{'f:spec':{'f:color':{}}}", "{}"},
        {"{}", "{'spec':{'opts':{'a':'b'}}}", "{'f:spec':{'.':{},'f:opts':{'.':{},'f:a':{}}}}", "{}", "{}"},
        {"{'spec':{'opts':{'a':'b'}}}", "{}", "{}", "{}", "{'f:spec':{'.':{},'f:opts':{'.':{},'f:a':{}}}}"},
        {"{'spec':{'opts':{}}}", "{'spec':{'opts':{'a':'b'}}}", "{'f:spec':{'f:opts':{'f:a':{}}}}", "{}", "{}"},
        {"{'spec':{'opts':null}}", "{'spec':{'opts':{'a':'b'}}}", "{'f:spec':{'f:opts':{'f:a':{}}}}", "{}", "{}"},
        {"{'spec':{'opts':null}}", "{'spec':{'opts':{}}}", "{}", "{'f:spec':{'f:opts':{}}}", "{}"},
        {"{'spec':{'size':1}}", "{'spec':{'opts':{},'size':1}}", "{'f:spec':{'f:opts':{}}}", "{}", "{}"},
        {"{'spec':{'seq':[1,2]}}", "{'spec':{'seq':[2,1]}}", "{}", "{'f:spec':{'f:seq':{}}}", "{}"},
        {"{'spec':{'pin':{'a':'1'}}}", "{'spec':{'pin':{'b':'1'}}}", "{}", "{'f:spec':{'f:pin':{}}}", "{}"},
        {"{'spec':{'tags':['a','b']}}", "{'spec':{'tags':['c','b']}}", "{'f:spec':{'f:tags':{'v:\\'c\\'':{}}}}", "{}",
         "{'f:spec':{'f:tags':{'v:\\'a\\'':{}}}}"},
        {"{'spec':{'tags':['a','b']}}", "{'spec':{'tags':['b','a']}}", "{}", "{}", "{}"},
        {"{'spec':{'parts':[{'name':'p','qty':1},{'name':'q','qty':1}]}}", "{'spec':{'parts':[{'name':'r'},{'name':'p','qty':2}]}}",
         "{'f:spec':{'f:parts':{'k:{\\'name\\':\\'r\\'}':{'.':{},'f:name':{}}}}}", "{'f:spec':{'f:parts':{'k:{\\'name\\':\\'p\\'}':{'f:qty':{}}}}}",
         "{'f:spec':{'f:parts':{'k:{\\'name\\':\\'q\\'}':{'.':{},'f:name':{},'f:qty':{}}}}}"},
        /* Several items with one key. */
        {"{'spec':{'parts':[{'name':'p'},{'name':'p','qty':1}]}}", "{'spec':{'parts':[{'name':'p'},{'name':'p','qty':2}]}}", "{}",
         "{'f:spec':{'f:parts':{'k:{\\'name\\':\\'p\\'}':{}}}}", "{}"},
        {"{'spec':{'parts':[{'name':'p'},{'name':'p','qty':1}]}}", "{'spec':{'parts':[{'name':'p'},{'name':'p','qty':1}]}}", "{}", "{}", "{}"},
        {"{'spec':{'parts':[{'name':'p'},{'name':'p','qty':1}]}}", "{'spec':{'parts':[{'name':'p'}]}}",
         "{'f:spec':{'f:parts':{'k:{\\'name\\':\\'p\\'}':{'.':{},'f:name':{}}}}}", "{}", "{'f:spec':{'f:parts':{'k:{\\'name\\':\\'p\\'}':{}}}}"},
        {"{'spec':{'parts':[{'name':'p'}]}}", "{'spec':{'parts':[{'name':'p'},{'name':'p'}]}}", "{'f:spec':{'f:parts':{'k:{\\'name\\':\\'p\\'}':{}}}}",
         "{}", "{'f:spec':{'f:parts':{'k:{\\'name\\':\\'p\\'}':{'.':{},'f:name':{}}}}}"},
        /* Another form. */
        {"{'spec':{'free':{'a':{'b':1}}}}", "{'spec':{'free':{'a':'x'}}}", "{}", "{'f:spec':{'f:free':{'f:a':{}}}}",
         "{'f:spec':{'f:free':{'f:a':{'f:b':{}}}}}"},
        {"{'spec':{'free':{'a':'x'}}}", "{'spec':{'free':{'a':{'b':1}}}}", "{'f:spec':{'f:free':{'f:a':{'f:b':{}}}}}", "{'f:spec':{'f:free':{'f:a':{}}}}",
         "{}"},
        {"{'kind':'W','apiVersion':'v1'}", "{'kind':'W','apiVersion':'v2','metadata':{'name':'a'}}", "{'f:metadata':{'.':{},'f:name':{}}}",
         "{'f:apiVersion':{}}", "{}"},
    };
    struct bench b;

    for (enum source s = 0; s < SOURCES; s++) {
    bench_init(&b, s);
    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        struct cor_comparison c;
        struct cor_typed old = object(&b, 0, cases[i].old), new = object(&b, 1, cases[i].new);

        assert_int_equal(cor_typed_compare(old, new, &b.arena, &c), 0);
        check_set(&b, c.added, cases[i].added, cases[i].new);
        check_set(&b, c.modified, cases[i].modified, cases[i].new);
        check_set(&b, c.removed, cases[i].removed, cases[i].new);
        if (cor_typed_equal(old, new))
            assert_true(!c.added.first && !c.modified.first && !c.removed.first);
        assert_true(cor_typed_equal(old, old));
    }
    bench_deinit(&b);
    }
}

static void check_out(struct bench *b, const char *want, const char *of)
{
    if (!cor_str_eq(cor_buf_str(&b->out), quoted(want, b->want)))
        fail_msg("%s\ngot  %s\nwant %s", of, cor_buf_z(&b->out), b->want);
}

/* Contract apply 5.3.1 to 5.3.7. */
TEST(typed, a_configuration_is_merged_into_the_live_object)
{
    static const struct { const char *live, *config, *merged; } cases[] = {
        {"{'spec':{'size':1,'color':'r'}}", "{'spec':{'size':2}}", "{'spec':{'color':'r','size':2}}"},
        {"{'spec':{'color':'r'}}", "{'spec':{'color':null}}", "{'spec':{'color':null}}"},
        {"{}", "{'spec':{'opts':{},'seq':[]}}", "{'spec':{'opts':{},'seq':[]}}"},
        {"{'spec':{'opts':{'a':'1'}}}", "{'spec':{'opts':{}}}", "{'spec':{'opts':{'a':'1'}}}"},
        {"{'spec':{'opts':{'a':'1'}}}", "{'spec':{'opts':null}}", "{'spec':{'opts':{'a':'1'}}}"},
        {"{'spec':{'opts':null}}", "{'spec':{'opts':{}}}", "{'spec':{'opts':{}}}"},
        {"{'spec':{'opts':{'a':'1','b':'1'}}}", "{'spec':{'opts':{'b':'2','c':'2'}}}", "{'spec':{'opts':{'a':'1','b':'2','c':'2'}}}"},
        {"{'spec':{'pin':{'a':'1'},'seq':[1]}}", "{'spec':{'pin':{'b':'2'},'seq':[2]}}", "{'spec':{'pin':{'b':'2'},'seq':[2]}}"},
        {"{'spec':{'free':{'a':{'b':1}}}}", "{'spec':{'free':{'a':'x'}}}", "{'spec':{'free':{'a':'x'}}}"},
        {"{'spec':{'free':{'a':'x'}}}", "{'spec':{'free':{'a':{'b':1}}}}", "{'spec':{'free':{'a':{'b':1}}}}"},
        {"{'spec':{'tags':['a','b','c']}}", "{'spec':{'tags':['b']}}", "{'spec':{'tags':['a','b','c']}}"},
        {"{'spec':{'tags':['a','b','c']}}", "{'spec':{'tags':['c','a']}}", "{'spec':{'tags':['b','c','a']}}"},
        {"{'spec':{'tags':['a','b','c']}}", "{'spec':{'tags':['d']}}", "{'spec':{'tags':['a','b','c','d']}}"},
        {"{'spec':{'tags':['a','b','c']}}", "{'spec':{'tags':['d','b']}}", "{'spec':{'tags':['a','d','b','c']}}"},
        {"{'spec':{'tags':['a','b','c']}}", "{'spec':{'tags':['b','d']}}", "{'spec':{'tags':['a','b','c','d']}}"},
        {"{'spec':{'tags':['a','b','c','d']}}", "{'spec':{'tags':['d','c','b','a']}}", "{'spec':{'tags':['d','c','b','a']}}"},
        {"{'spec':{'tags':['a']}}", "{'spec':{'tags':['b','a']}}", "{'spec':{'tags':['b','a']}}"},
        {"{'spec':{}}", "{'spec':{'tags':['b','a']}}", "{'spec':{'tags':['b','a']}}"},
        {"{'spec':{'parts':[{'name':'p','qty':1},{'name':'q'}]}}", "{'spec':{'parts':[{'name':'q','qty':3},{'name':'p','note':'n'}]}}",
         "{'spec':{'parts':[{'name':'q','qty':3},{'name':'p','note':'n','qty':1}]}}"},
        {"{'spec':{'ports':[{'port':1,'proto':'TCP'}]}}", "{'spec':{'ports':[{'port':1,'title':'t'}]}}",
         "{'spec':{'ports':[{'port':1,'proto':'TCP','title':'t'}]}}"},
        /* Several live items with one key. */
        {"{'spec':{'tags':['x','x','y']}}", "{'spec':{'tags':['z']}}", "{'spec':{'tags':['x','x','y','z']}}"},
        {"{'spec':{'parts':[{'name':'p','qty':1},{'name':'p','note':'n'},{'name':'q'}]}}", "{'spec':{'parts':[{'name':'p'}]}}",
         "{'spec':{'parts':[{'name':'p'},{'name':'q'}]}}"},
    };
    struct bench b;

    for (enum source s = 0; s < SOURCES; s++) {
    bench_init(&b, s);
    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        cor_buf_reset(&b.out);
        assert_int_equal(cor_typed_merge(object(&b, 0, cases[i].live), object(&b, 1, cases[i].config), &b.arena, &b.out), 0);
        check_out(&b, cases[i].merged, cases[i].config);
    }
    bench_deinit(&b);
    }
}

/* Contract apply 5.4.1 to 5.4.3. */
TEST(typed, fields_are_removed_and_what_is_emptied_is_null)
{
    static const struct { const char *json, *set, *without; } cases[] = {
        {"{'spec':{'color':'r','size':1}}", "{'f:spec':{'f:size':{}}}", "{'spec':{'color':'r'}}"},
        {"{'spec':{'size':1}}", "{'f:spec':{'f:size':{}}}", "{'spec':null}"},
        {"{'spec':{'size':1}}", "{'f:spec':{}}", "null"},
        {"{'spec':{'opts':{},'size':1}}", "{'f:spec':{'f:opts':{'f:a':{}}}}", "{'spec':{'opts':null,'size':1}}"},
        {"{'spec':{'size':1}}", "{'f:spec':{'f:color':{}},'f:other':{}}", "{'spec':{'size':1}}"},
        {"{'spec':{'pin':{'a':'1'},'seq':[1],'size':1}}", "{'f:spec':{'f:pin':{'f:a':{}},'f:seq':{'i:0':{}}}}", "{'spec':{'pin':null,'seq':null,'size':1}}"},
        {"{'spec':{'tags':['b','a','c']}}", "{'f:spec':{'f:tags':{'v:\\'a\\'':{},'v:\\'z\\'':{}}}}", "{'spec':{'tags':['b','c']}}"},
        {"{'spec':{'parts':[{'name':'q','qty':1},{'name':'p','qty':1}]}}", "{'f:spec':{'f:parts':{'k:{\\'name\\':\\'p\\'}':{},'k:{\\'name\\':\\'q\\'}':{'f:qty':{}}}}}",
         "{'spec':{'parts':[{'name':'q'}]}}"},
        {"{'spec':{'parts':[{'name':'q'},{'name':'p'}]}}", "{'f:spec':{'f:parts':{'k:{\\'name\\':\\'p\\'}':{},'k:{\\'name\\':\\'q\\'}':{}}}}", "{'spec':{'parts':null}}"},
        {"{'kind':'W','apiVersion':'v1','metadata':{'name':'a'}}", "{'f:apiVersion':{},'f:metadata':{'f:name':{}}}", "{'kind':'W','metadata':null}"},
    };
    struct bench b;

    for (enum source s = 0; s < SOURCES; s++) {
    bench_init(&b, s);
    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        char text[JSON_MAX];
        struct cor_fieldset set;

        assert_int_equal(cor_fieldset_read(&b.arena, quoted(cases[i].set, text), &set), 0);
        cor_buf_reset(&b.out);
        assert_int_equal(cor_typed_remove(object(&b, 0, cases[i].json), set, &b.arena, &b.out), 0);
        check_out(&b, cases[i].without, cases[i].set);
    }
    bench_deinit(&b);
    }
}

/* Contract apply 4.1.1, 4.1.2, 4.3, 4.3.1 to 4.3.3. */
TEST(typed, what_is_not_of_its_type_is_named_with_its_path)
{
    static const struct { const char *json; bool allow_duplicates; const char *words; } cases[] = {
        {"{'spec':{'size':1,'color':'r','flag':true,'any':'x','tags':[1,'a'],'free':{'a':[{}]},'raw':[1],'seq':[1.5]}}", false, ""},
        {"{'spec':{'size':null,'color':null,'flag':null,'parts':null,'opts':{'a':null},'box':null}}", false, ""},
        {"{'spec':{'nope':1}}", false, ".spec.nope: field not declared in schema"},
        {"{'Spec':{}}", false, ".Spec: field not declared in schema"},
        {"{'spec':{'size':'x'}}", false, ".spec.size: expected numeric (int or float), got string"},
        {"{'spec':{'size':{}}}", false, ".spec.size: expected numeric (int or float), got map[string]interface {}"},
        {"{'spec':{'color':1}}", false, ".spec.color: expected string, got &value.valueUnstructured{Value:1}"},
        {"{'spec':{'flag':'x'}}", false, ".spec.flag: expected boolean, got &{x}"},
        {"{'spec':{'any':{}}}", false, ".spec.any: expected any scalar, got &{map[]}"},
        {"{'spec':{'color':['a',1,3.0,{'b':null}]}}", false,
         ".spec.color: expected string, got &value.valueUnstructured{Value:[]interface {}{\"a\", 1, 3, map[string]interface {}{\"b\":interface {}(nil)}}}"},
        {"{'spec':1}", false, ".spec: expected map, got &{1}"},
        {"{'spec':[1,'x',3.0]}", false, ".spec: expected map, got &{[1 x 3]}"},
        {"{'spec':{'seq':1,'parts':'x'}}", false, "errors:\n  .spec.parts: expected list, got &{x}\n  .spec.seq: expected list, got &{1}"},
        {"{'spec':{'seq':[1,'x']}}", false, ".spec.seq[1]: expected numeric (int or float), got string"},
        {"{'spec':{'parts':[{'name':'p'},{'name':'p'}]}}", false, ".spec.parts: duplicate entries for key [name='p']"},
        {"{'spec':{'parts':[{'name':'p'},{'name':'p'}],'tags':[1,1.0]}}", true, ""},
        {"{'spec':{'tags':[1,1.0]}}", false, ".spec.tags: duplicate entries for key [=1]"},
        {"{'spec':{'parts':[{'name':'p'},null]}}", false, ".spec.parts: element 1: associative list with keys may not have a null element"},
        {"{'spec':{'parts':['x']}}", false, ".spec.parts: element 0: associative list with keys may not have non-map elements"},
        {"{'spec':{'parts':[{'qty':1}]}}", true,
         ".spec.parts: element 0: associative list with keys has an element that omits all key fields ['name'] (and doesn't have default values for any key fields)"},
        {"{'spec':{'ports':[{}]}}", false, ""},
        {"{'spec':{'tags':[{}]}}", false, ".spec.tags: element 0: associative list without keys has an element that's a map type"},
        {"{'spec':{'tags':[[]]}}", false, ".spec.tags: element 0: not supported: associative list with lists as elements"},
        {"{'spec':{'tags':[null]}}", false, ".spec.tags: element 0: associative list without keys has an element that's an explicit null"},
        {"{'spec':{'parts':[{'name':'p','qty':'x'}]}}", false, ".spec.parts[name='p'].qty: expected numeric (int or float), got string"},
        {"{'spec':{'opts':{'a':1}}}", false, ".spec.opts.a: expected string, got &value.valueUnstructured{Value:1}"},
    };
    struct bench b;

    bench_init(&b, SOURCE_TYPE);
    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        const char *p = cases[i].words;
        size_t k = 0;
        int r;

        for (; p[k]; k++) /* an apostrophe inside of a word is one */
            b.want[k] = (char)(p[k] == '\'' && p[k + 1] != 's' && p[k + 1] != 't' ? '"' : p[k]);
        b.want[k] = '\0';
        cor_buf_reset(&b.out);
        r = cor_typed_check(object(&b, 0, cases[i].json), cases[i].allow_duplicates, &b.out);
        assert_int_equal(r, *cases[i].words ? -COR_EINVALID : 0);
        if (strcmp(cor_buf_z(&b.out), b.want) != 0)
            fail_msg("%s\ngot  %s\nwant %s", cases[i].json, cor_buf_z(&b.out), b.want);
    }
    bench_deinit(&b);
}

/* Contract apply 6.5.1 to 6.5.4 and 3.6.4. */
TEST(typed, sets_follow_the_schema)
{
    static const struct { const char *set, *reconciled, *named; } cases[] = {
        {"{'f:spec':{'f:size':{}}}", "{'f:spec':{'f:size':{}}}", "{'f:spec':{'.':{},'f:size':{}}}"},
        {"{'f:spec':{'f:pin':{'f:a':{}},'f:seq':{'.':{},'i:0':{}}}}", "{'f:spec':{'f:pin':{},'f:seq':{}}}",
         "{'f:spec':{'.':{},'f:pin':{'.':{},'f:a':{}},'f:seq':{'.':{},'i:0':{}}}}"},
        {"{'f:spec':{'f:opts':{'f:a':{}},'f:parts':{'k:{\\'name\\':\\'p\\'}':{'f:qty':{}}}}}",
         "{'f:spec':{'f:opts':{'f:a':{}},'f:parts':{'k:{\\'name\\':\\'p\\'}':{'f:qty':{}}}}}",
         "{'f:spec':{'.':{},'f:opts':{'.':{},'f:a':{}},'f:parts':{'.':{},'k:{\\'name\\':\\'p\\'}':{'f:qty':{}}}}}"},
        {"{'f:spec':{'f:free':{'f:a':{'f:b':{}}}}}", "{'f:spec':{'f:free':{'f:a':{'f:b':{}}}}}", "{'f:spec':{'.':{},'f:free':{'.':{},'f:a':{'f:b':{}}}}}"},
        {"{'f:old':{'f:x':{}}}", "{'f:old':{'f:x':{}}}", "{'f:old':{'f:x':{}}}"},
    };
    struct bench b;

    for (enum source s = 0; s < SOURCES; s++) {
    bench_init(&b, s);
    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        char text[JSON_MAX];
        struct cor_fieldset set;

        assert_int_equal(cor_fieldset_read(&b.arena, quoted(cases[i].set, text), &set), 0);
        check_set(&b, cor_fieldset_reconcile(&b.arena, set, &b.place), cases[i].reconciled, cases[i].set);
        check_set(&b, cor_fieldset_name_parents(&b.arena, set, &b.place), cases[i].named, cases[i].set);
    }
    bench_deinit(&b);
    }
}

/* Contract apply 16, scenarios 54 and 55, and 4.4.3, 4.4.4, 11.2, 11.4: built-in types. */
TEST(typed, built_in_objects_are_owned_as_the_tables_have_it)
{
    static const struct { const char *type, *json, *set; } cases[] = {
        {"apps_v1.Deployment",
         "{'spec':{'replicas':2,'selector':{'matchLabels':{'app':'x'}},'template':{'metadata':{'labels':{'app':'x'}},'spec':{'containers':[{'image':'i','name':'a'}]}}}}",
         "{'f:spec':{'f:replicas':{},'f:selector':{},'f:template':{'f:metadata':{'f:labels':{'f:app':{}}},'f:spec':{'f:containers':{'k:{\\'name\\':\\'a\\'}':{'.':{},'f:image':{},'f:name':{}}}}}}}"},
        {"core_v1.Pod", "{'spec':{'containers':[{'name':'a','ports':[{'containerPort':80},{'containerPort':53,'protocol':'UDP'}]},{'image':'i'}],'nodeSelector':{'a':'b'},'tolerations':[{'key':'k'}]}}",
         "{'f:spec':{'f:containers':{'k:{\\'name\\':\\'\\'}':{'.':{},'f:image':{}},'k:{\\'name\\':\\'a\\'}':{'.':{},'f:name':{},'f:ports':{"
         "'k:{\\'containerPort\\':53,\\'protocol\\':\\'UDP\\'}':{'.':{},'f:containerPort':{},'f:protocol':{}},'k:{\\'containerPort\\':80,\\'protocol\\':\\'TCP\\'}':{'.':{},'f:containerPort':{}}}}},"
         "'f:nodeSelector':{},'f:tolerations':{}}}"},
        {"core_v1.PersistentVolume", "{'spec':{'capacity':{'storage':'1Gi'},'claimRef':{'name':'n','namespace':'m'}}}",
         "{'f:spec':{'f:capacity':{'f:storage':{}},'f:claimRef':{'f:name':{},'f:namespace':{}}}}"},
        {"core_v1.Service", "{'spec':{'ports':[{'port':1}],'selector':{'a':'b'}},'metadata':{'ownerReferences':[{'uid':'u','name':'n'}],'finalizers':['f']}}",
         "{'f:metadata':{'f:finalizers':{'v:\\'f\\'':{}},'f:ownerReferences':{'k:{\\'uid\\':\\'u\\'}':{}}},'f:spec':{'f:ports':{'k:{\\'port\\':1,\\'protocol\\':\\'TCP\\'}':{'.':{},'f:port':{}}},'f:selector':{}}}"},
        {"autoscaling_v1.HorizontalPodAutoscaler", "{'spec':{'scaleTargetRef':{'kind':'D','name':'n'}}}", "{'f:spec':{'f:scaleTargetRef':{}}}"},
        {"autoscaling_v2.HorizontalPodAutoscaler", "{'spec':{'scaleTargetRef':{'kind':'D','name':'n'}}}", "{'f:spec':{'f:scaleTargetRef':{'f:kind':{},'f:name':{}}}}"},
        {"apps_v1.ControllerRevision", "{'data':{'b':1,'a':2},'revision':1}", "{'f:data':{},'f:revision':{}}"},
        {"core_v1.ServiceAccount", "{'secrets':[{'name':'s'}],'imagePullSecrets':[{'name':'s'}]}", "{'f:imagePullSecrets':{},'f:secrets':{'k:{\\'name\\':\\'s\\'}':{}}}"},
    };
    struct bench b;

    bench_init(&b, SOURCE_TYPE);
    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        struct cor_fieldset set;
        int r;

        b.place = cor_apply_place_builtin(named(cases[i].type));
        cor_buf_reset(&b.out);
        r = cor_typed_check(object(&b, 0, cases[i].json), false, &b.out);
        if (r < 0)
            fail_msg("%s: %s", cases[i].json, cor_buf_z(&b.out));
        assert_int_equal(cor_typed_fields(object(&b, 0, cases[i].json), &b.arena, &set), 0);
        check_set(&b, set, cases[i].set, cases[i].json);
    }
    bench_deinit(&b);
}
/* clang-format on */

/* clang-format off */

/* Contract apply 12.1.3, 12.1.4, 12.1.5, 12.1.6, 12.1.7, 12.2.1. */
TEST(typed, custom_resources_are_owned_as_their_schemas_have_it)
{
    static const char text[] =
        "{'type':'object','properties':{'t':{'type':'object','x-kubernetes-embedded-resource':true,'properties':{'spec':{'type':'object'}}},"
        "'p':{'type':'object','x-kubernetes-preserve-unknown-fields':true,'properties':{'q':{'type':'object','properties':{'r':{'type':'string'}}}}},"
        "'d':{'type':'string','format':'date-time'},'b':{'type':'string','format':'byte'},'i':{'x-kubernetes-int-or-string':true},"
        "'n':{'type':'object','additionalProperties':false},'o':{'type':'object','properties':{'a':{'type':'string'}}}}}";
    static const struct { const char *json, *words, *set; } cases[] = {
        {"{'metadata':{'labels':{'a':'b'},'finalizers':['x/y']}}", "", "{'f:metadata':{'f:finalizers':{'v:\\'x/y\\'':{}},'f:labels':{'f:a':{}}}}"},
        {"{'t':{'apiVersion':'v1','kind':'X','metadata':{'labels':{'a':'b'}},'spec':{'x':{'y':1}}}}", "",
         "{'f:t':{'f:apiVersion':{},'f:kind':{},'f:metadata':{'f:labels':{'f:a':{}}},'f:spec':{'f:x':{'.':{},'f:y':{}}}}}"},
        {"{'p':{'z':{'a':1},'q':{'r':'x','s':[1]}}}", "", "{'f:p':{'f:q':{'f:r':{},'f:s':{}},'f:z':{'.':{},'f:a':{}}}}"},
        {"{'d':5,'i':'x'}", "", "{'f:d':{},'f:i':{}}"},
        {"{'b':5}", ".b: expected string, got &value.valueUnstructured{Value:5}", NULL},
        {"{'o':{'b':1}}", ".o.b: field not declared in schema", NULL},
        {"{'n':{'b':1}}", ".n.b: field not declared in schema", NULL},
        {"{'x':1}", ".x: field not declared in schema", NULL},
        {"{'metadata':{'x':1}}", ".metadata.x: field not declared in schema", NULL},
    };
    struct cor_structural *schema = NULL;
    char json[JSON_MAX];
    struct bench b;

    assert_int_equal(cor_structural_compile(quoted(text, json), NULL, &schema, NULL), 0);
    bench_init(&b, SOURCE_TYPE);
    b.place = cor_apply_place_structural(schema);
    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        struct cor_fieldset set;
        int r;

        cor_buf_reset(&b.out);
        r = cor_typed_check(object(&b, 0, cases[i].json), false, &b.out);
        assert_string_equal(cor_buf_z(&b.out), cases[i].words);
        assert_int_equal(r, cases[i].set ? 0 : -COR_EINVALID);
        if (!cases[i].set)
            continue;
        assert_int_equal(cor_typed_fields(object(&b, 0, cases[i].json), &b.arena, &set), 0);
        check_set(&b, set, cases[i].set, cases[i].json);
    }
    bench_deinit(&b);
    cor_structural_free(schema);
}

/* clang-format on */

/* Nobody looks for each member from the beginning of a set that is as long. */
TEST(typed, removing_many_members_of_an_object_is_linear)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = 1u << 20};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 1u << 20};
    COR_CLEANUP(cor_arena_deinit) struct cor_arena arena;
    const struct cor_apply_place place = cor_apply_place_schema(&cor_apply_deduced);
    struct cor_work work = cor_work_new(false);
    struct cor_json_nodes json;
    struct cor_typed typed = {&place, &json};
    struct cor_fieldset set;

    cor_arena_init(&arena, SIZE_MAX);
    assert_int_equal(cor_buf_addz(&text, "{\"kind\":\"K\",\"apiVersion\":\"v1\""), 0);
    for (unsigned i = 0; i < 10000; i++)
        assert_int_equal(cor_buf_addf(&text, ",\"k%05u\":1", i), 0);
    assert_int_equal(cor_buf_addc(&text, '}'), 0);
    assert_int_equal(cor_json_nodes_init(&json, cor_buf_str(&text)), 0);
    assert_int_equal(cor_typed_fields(typed, &arena, &set), 0);
    arena.work = &work;
    assert_int_equal(cor_typed_remove(typed, set, &arena, &out), 0);
    assert_string_equal(cor_buf_z(&out), "null");
    assert_uint_in_range(work.steps, 10000, 40000);
    cor_json_nodes_deinit(&json);
}

/* A path of many bytes before each of many errors is seventy megabytes here. */
TEST(typed, without_words_the_first_error_ends_the_check)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = 4u << 20};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf words = {.max = 4u << 20};
    static const struct cor_apply_type number = {.scalar = COR_APPLY_NUMERIC};
    static const struct cor_apply_type numbers = {.list = COR_APPLY_LIST_ATOMIC, .item = &number};
    static const struct cor_apply_type kind = {.map = COR_APPLY_MAP_GRANULAR, .others = &numbers};
    const struct cor_apply_place place = cor_apply_place_schema(&kind);
    struct cor_json_nodes json;
    struct cor_typed typed = {&place, &json};

    assert_int_equal(cor_buf_addz(&text, "{\""), 0);
    for (unsigned i = 0; i < 7000; i++)
        assert_int_equal(cor_buf_addc(&text, 'n'), 0);
    assert_int_equal(cor_buf_addz(&text, "\":[1"), 0);
    for (unsigned i = 0; i < 10000; i++)
        assert_int_equal(cor_buf_addz(&text, ",\"\""), 0);
    assert_int_equal(cor_buf_addz(&text, "]}"), 0);
    assert_int_equal(cor_json_nodes_init(&json, cor_buf_str(&text)), 0);
    assert_int_equal(cor_typed_check(typed, false, &words), -COR_ETOOBIG);
    assert_int_equal(cor_typed_check(typed, false, NULL), -COR_EINVALID);
    cor_json_nodes_deinit(&json);
}

TEST(typed, every_failed_allocation_is_reported)
{
    static const char live[] = "{'spec':{'opts':{'a':'1'},'parts':[{'name':'q','qty':1.5},"
                               "{'name':'p'}],'tags':['b','a',1.0]}}";
    static const char config[] = "{'spec':{'opts':{'b':'1'},'parts':[{'name':'p','qty':1}],"
                                 "'tags':['a','c']}}";
    static const char fields[] = "{'f:spec':{'f:tags':{'v:\\'a\\'':{}}}}";
    struct bench b;

    bench_init(&b, SOURCE_TYPE);
    object(&b, 0, live);
    object(&b, 1, config);
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_typed old = {&b.place, &b.json[0]}, new = {&b.place, &b.json[1]};
        COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = BYTES_MAX};
        char text[JSON_MAX];
        struct cor_comparison c;
        struct cor_fieldset set = {NULL};
        struct cor_arena arena;
        int r;

        cor_arena_init(&arena, BYTES_MAX);
        r = cor_typed_check(old, false, &out);
        if (r == 0)
            r = cor_typed_compare(old, new, &arena, &c);
        if (r == 0)
            r = cor_fieldset_read(&arena, quoted(fields, text), &set);
        if (r == 0)
            r = cor_typed_merge(old, new, &arena, &out);
        if (r == 0)
            r = cor_typed_remove(old, set, &arena, &out);
        if (r == 0)
            assert_string_equal(
                cor_buf_z(&out),
                "{\"spec\":{\"opts\":{\"a\":\"1\",\"b\":\"1\"},\"parts\":[{\"name\":\"q\",\"qty\":"
                "1.5},{\"name\":\"p\",\"qty\":1}],\"tags\":[\"b\",\"a\",1.0,\"c\"]}}"
                "{\"spec\":{\"opts\":{\"a\":\"1\"},\"parts\":[{\"name\":\"q\",\"qty\":1.5},"
                "{\"name\":\"p\"}],\"tags\":[\"b\",1.0]}}");
        else
            assert_true(r == -COR_ENOMEM && test_alloc_failed());
        cor_arena_deinit(&arena);
    }
    bench_deinit(&b);
}

TEST(typed, what_is_refused_is_printed_or_there_is_no_memory)
{
    struct bench b;

    bench_init(&b, SOURCE_TYPE);
    object(&b, 0, "{'spec':{'color':[{'a':'x'},null,1.5],'parts':{'a':[1]}}}");
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_typed typed = {&b.place, &b.json[0]};
        COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = BYTES_MAX};
        int r = cor_typed_check(typed, false, &out);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : -COR_EINVALID);
    }
    bench_deinit(&b);
}
