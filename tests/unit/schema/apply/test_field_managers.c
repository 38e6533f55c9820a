/* The worked scenarios of server-side apply (contract apply, section 16) at the level of managers:
 * the object and the exact managedFields after each step. Texts are written with ' in place of ".
 */
#include "schema/apply/field_managers.h"

#include "../apply_schema.h"
#include "../rows.h"
#include "base/err.h"
#include "schema/walk/normalize.h"
#include "json/text/json.h"

#define BYTES_MAX (1u << 20)
#define STEPS_MAX 14

/* clang-format off */
static const char widget[] =
    "{'fields':{'apiVersion':'string','kind':'string','metadata':{'fields':{'finalizers':{'set':'string'},'labels':{'map':'string'},'name':'string'}},"
    "'spec':{'fields':{'box':{'fields':{'h':'number','w':'number'}},'color':'string','free':'deduced','opts':{'map':'string'},"
    "'parts':{'keyed':{'fields':{'name':'string','note':'string','qty':'number'}},'keys':['name']},'pin':{'map':'string','atomic':true},"
    "'ports':{'keyed':{'fields':{'port':'number','proto':'string','title':'string'},'defaults':{'proto':'TCP'}},'keys':['port','proto']},"
    "'seq':{'list':'number'},'size':'number','tags':{'set':'string'}}},'status':{'fields':{'count':'number','phase':'string'}}}}";
/* clang-format on */

/* What a step does. */
enum verb {
    END,
    APPLY,
    FORCE,
    UPDATE,   /* the body is the new object */
    FORGET,   /* all managers are forgotten */
    UNOWNED,  /* the object becomes the body without anybody owning the change */
    VERSION_2 /* an update in another version with the same content */
};

/* `body` is the part beside kind, apiVersion and name. Of what is expected NULL is not compared. */
struct step {
    enum verb verb;
    const char *manager; /* name, or name/subresource */
    const char *body;
    const char *object;   /* the part beside kind, apiVersion and name */
    const char *managers; /* lines NAME/A[/SUBRESOURCE][@STEP of its time] FIELDS */
    const char *words;    /* of a refusal */
};

struct scenario {
    const char *name;
    bool is_widget;
    struct step steps[STEPS_MAX];
};

struct stage {
    struct cor_arena types;
    const struct cor_apply_type *widget;
    bool is_widget;
    const char *subresource;
    struct cor_buf live, list; /* the object, and its managedFields */
};

static bool place_of(void *arg, struct cor_str version, struct cor_apply_place *ret_place)
{
    struct stage *s = arg;

    *ret_place = s->is_widget ? cor_apply_place_schema(s->widget)
                              : cor_apply_place_builtin(named("core_v1.ConfigMap"));
    return cor_str_eq(version, COR_STR("v1")) || cor_str_eq(version, COR_STR("v2"));
}

static struct cor_fieldset reset_fields(void *arg, struct cor_str version)
{
    struct stage *s = arg;
    struct cor_fieldset set = {NULL};
    bool is_status = s->subresource && strcmp(s->subresource, "status") == 0;

    (void)version;
    if (s->is_widget)
        assert_int_equal(
            cor_fieldset_read(&s->types,
                              is_status ? COR_STR("{\"f:spec\":{}}") : COR_STR("{\"f:status\":{}}"),
                              &set),
            0);
    return set;
}

static int convert(void *arg, struct cor_str object, struct cor_str from, struct cor_str to,
                   struct cor_buf *out)
{
    (void)arg, (void)from, (void)to;
    return cor_buf_adds(out, object);
}

static void make_object(const struct stage *s, const char *body, struct cor_buf *out)
{
    struct cor_json_limits limits = COR_JSON_LIMITS_DEFAULT;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf raw = {.max = BYTES_MAX};
    char text[JSON_MAX];

    cor_buf_reset(out);
    assert_int_equal(cor_buf_addf(&raw, "{\"kind\":\"%s\",\"apiVersion\":\"v1\"%s",
                                  s->is_widget ? "Widget" : "ConfigMap", *body ? "," : ""),
                     0);
    assert_int_equal(cor_buf_adds(&raw, quoted(body, text)), 0);
    assert_int_equal(cor_buf_addc(&raw, '}'), 0);
    assert_int_equal(cor_json_canonicalize(cor_buf_str(&raw), &limits, out, NULL, NULL), 0);
}

/* A built-in object is stored in normal form. */
static void store(struct stage *s, struct cor_str object)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = BYTES_MAX};

    if (!s->is_widget) /* 1: the object is in normal form */
        assert_true(cor_normalize(named("core_v1.ConfigMap"), object, &out) >= 0);
    if (out.n == 0)
        assert_int_equal(cor_buf_adds(&out, object), 0);
    cor_buf_reset(&s->live);
    assert_int_equal(cor_buf_adds(&s->live, cor_buf_str(&out)), 0);
}

static void describe(struct cor_field_managers *managers, struct cor_buf *out)
{
    for (size_t i = 0; i < managers->n; i++) {
        const struct cor_field_manager *m = &managers->v[i];

        assert_int_equal(cor_buf_addf(out, "%s%.*s/%c", i > 0 ? "\n" : "", (int)m->name.n,
                                      m->name.p, m->is_apply ? 'A' : 'U'),
                         0);
        if (m->subresource.n > 0)
            assert_int_equal(cor_buf_addf(out, "/%.*s", (int)m->subresource.n, m->subresource.p),
                             0);
        if (m->time.n > 0) /* 2026-01-01T00:00:07Z is step 7 */
            assert_int_equal(
                cor_buf_addf(out, "@%d", (m->time.p[17] - '0') * 10 + m->time.p[18] - '0'), 0);
        assert_int_equal(cor_buf_addc(out, ' '), 0);
        assert_int_equal(cor_fieldset_write(m->set, out), 0);
    }
}

static void check_equal(const struct scenario *of, size_t i, const char *got, const char *want)
{
    char text[JSON_MAX];

    quoted(want, text);
    if (strcmp(got, text) != 0)
        fail_msg("%s, step %zu\ngot  %s\nwant %s", of->name, i + 1, got, text);
}

static int run_verb(struct stage *s, const struct step *step, size_t i, struct cor_arena *arena,
                    struct cor_field_managers *managers, struct cor_buf *out, struct cor_buf *words)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf body = {.max = BYTES_MAX};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf zero = {.max = BYTES_MAX};
    const struct cor_apply_versions versions = {s, place_of, reset_fields, convert};
    struct cor_str name = cor_strz(step->manager), manager = cor_str_cut(&name, '/');
    char now[] = "2026-01-01T00:00:00Z";
    int r;
    struct cor_apply_request request = {
        .arena = arena,
        .versions = &versions,
        .manager = manager,
        .subresource = name.p ? name : COR_STR(""),
        .api_version = step->verb == VERSION_2 ? COR_STR("v2") : COR_STR("v1"),
        .now = cor_strz(now),
        .force = step->verb == FORCE,
    };

    now[17] = (char)('0' + (i + 1) / 10);
    now[18] = (char)('0' + (i + 1) % 10);
    s->subresource = name.p;
    make_object(s, s->is_widget ? "" : "'metadata':{}", &zero);
    make_object(s, step->body, &body);
    if (step->verb == UPDATE || step->verb == VERSION_2) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf old = {.max = BYTES_MAX};

        assert_int_equal(cor_buf_adds(&old, s->live.n ? cor_buf_str(&s->live) : cor_buf_str(&zero)),
                         0);
        if (managers->n == 0 && s->live.n > 0) /* such an object is not tracked */
            return cor_buf_adds(out, cor_buf_str(&body));
        assert_int_equal(
            cor_field_managers_update(managers, &request, cor_buf_str(&old), cor_buf_str(&body)),
            0);
        /* The sets borrow from the objects. */
        cor_buf_reset(&s->list);
        assert_int_equal(cor_field_managers_write(managers, &s->list), 0);
        return cor_buf_adds(out, cor_buf_str(&body));
    }
    r = cor_field_managers_apply(managers, &request, cor_buf_str(&zero),
                                 s->live.n ? cor_buf_str(&s->live) : cor_buf_str(&zero),
                                 cor_buf_str(&body), out, words);
    if (r >= 0) {
        cor_buf_reset(&s->list);
        assert_int_equal(cor_field_managers_write(managers, &s->list), 0);
    }
    return r;
}

static void run_step(struct stage *s, const struct scenario *of, size_t i)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = BYTES_MAX};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf words = {.max = BYTES_MAX};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf want = {.max = BYTES_MAX};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf old_list = {.max = BYTES_MAX};
    const struct step *step = &of->steps[i];
    struct cor_field_managers managers = {0};
    struct cor_arena arena;
    int r = 0;

    cor_arena_init(&arena, 64 * BYTES_MAX);
    assert_int_equal(cor_buf_adds(&old_list, cor_buf_str(&s->list)), 0);
    if (step->verb != FORGET)
        assert_int_equal(cor_field_managers_read(&arena, cor_buf_str(&old_list), &managers, NULL),
                         0);
    if (step->verb == FORGET || step->verb == UNOWNED) {
        if (step->verb == UNOWNED)
            make_object(s, step->body, &out);
        else
            assert_int_equal(cor_buf_adds(&out, cor_buf_str(&s->live)), 0);
    } else {
        r = run_verb(s, step, i, &arena, &managers, &out, &words);
    }
    check_equal(of, i, cor_buf_z(&words), step->words ? step->words : "");
    if (step->verb == FORGET)
        cor_buf_reset(&s->list);
    if (r >= 0)
        store(s, cor_buf_str(&out));
    cor_arena_deinit(&arena);
    cor_arena_init(&arena, 64 * BYTES_MAX);
    if (step->object) {
        make_object(s, step->object, &want);
        check_equal(of, i, cor_buf_z(&s->live), cor_buf_z(&want));
    }
    if (step->managers) {
        assert_int_equal(cor_field_managers_read(&arena, cor_buf_str(&s->list), &managers, NULL),
                         0);
        cor_buf_reset(&out);
        describe(&managers, &out);
        check_equal(of, i, cor_buf_z(&out), step->managers);
    }
    cor_arena_deinit(&arena);
}

static void run_scenarios(const struct scenario *v, size_t n)
{
    static char schema[sizeof(widget)];

    for (size_t i = 0; i < sizeof(widget); i++)
        schema[i] = (char)(widget[i] == '\'' ? '"' : widget[i]);
    for (size_t i = 0; i < n; i++) {
        struct stage s = {.is_widget = v[i].is_widget};

        cor_arena_init(&s.types, BYTES_MAX);
        cor_buf_init(&s.live, BYTES_MAX);
        cor_buf_init(&s.list, BYTES_MAX);
        s.widget = apply_schema_read(&s.types, cor_strz(schema));
        for (size_t k = 0; k < STEPS_MAX && v[i].steps[k].verb != END; k++)
            run_step(&s, &v[i], k);
        cor_buf_deinit(&s.live);
        cor_buf_deinit(&s.list);
        cor_arena_deinit(&s.types);
    }
}

#define NAME "'metadata':{'name':'c'}"
#define W0                                                                                         \
    "'spec':{'opts':{'k':'v'},'parts':[{'name':'p','qty':1}],'pin':{'q':'1'},'seq':[1,2],'size':1,'tags':['x','y']}"
#define W0_WITHOUT_PARTS                                                                           \
    "'spec':{'opts':{'k':'v'},'pin':{'q':'1'},'seq':[1,2],'size':1,'tags':['x','y']}"
#define FA_PART(part)                                                                              \
    "{'f:spec':{'f:opts':{'f:k':{}}," part                                                         \
    "'f:pin':{},'f:seq':{},'f:size':{},'f:tags':{'v:\\'x\\'':{},'v:\\'y\\'':{}}}}"
#define FA FA_PART("'f:parts':{'k:{\\'name\\':\\'p\\'}':{'.':{},'f:name':{},'f:qty':{}}},")

/* clang-format off */
/* Contract apply 16.1.13, 16.1.14. */
TEST(managers, one_applier)
{
    static const struct scenario v[] = {
        {"scenarios 1 to 4", false, {
            {APPLY, "a", NAME ",'data':{'a':'1','b':'2'}", NAME ",'data':{'a':'1','b':'2'}", "a/A@1 {'f:data':{'f:a':{},'f:b':{}}}"},
            {APPLY, "a", NAME ",'data':{'a':'1','b':'2'}", NAME ",'data':{'a':'1','b':'2'}", "a/A@1 {'f:data':{'f:a':{},'f:b':{}}}"},
            {APPLY, "a", NAME ",'data':{'a':'1'}", NAME ",'data':{'a':'1'}", "a/A@3 {'f:data':{'f:a':{}}}"},
            {APPLY, "a", NAME, NAME, ""}}},
        {"scenario 5", false, {
            {APPLY, "a", NAME ",'data':{'a':'1','b':'2'}"},
            {APPLY, "a", NAME ",'data':{}", NAME, "a/A@2 {'f:data':{}}"}}},
        {"scenarios 6 and 7", false, {
            {APPLY, "a", NAME, NAME, ""},
            {APPLY, "a", "'metadata':{'name':'c','labels':{'x':'1'}}", NULL, "a/A@2 {'f:metadata':{'f:labels':{'f:x':{}}}}"}}},
        {"scenario 13", true, {
            {APPLY, "a", "'spec':{'nope':1}", NULL, NULL, "failed to create typed patch object: .spec.nope: field not declared in schema"}}},
        {"scenario 14", true, {
            {APPLY, "a", "'spec':{'parts':[{'name':'p'},{'name':'p'}]}", NULL, NULL,
             "failed to create typed patch object: .spec.parts: duplicate entries for key [name='p']"}}},
    };

    run_scenarios(v, COR_ARRAY_LEN(v));
}

/* Contract apply 16.2.25 to 16.2.38, 16.2.42 to 16.2.46, 6.3.4, 6.3.10 and 6.3.11. */
TEST(managers, several_appliers_and_updaters)
{
    static const struct scenario v[] = {
        {"scenarios 15 to 17", false, {
            {APPLY, "a", NAME ",'data':{'a':'1','b':'2'}"},
            {APPLY, "b", NAME ",'data':{'a':'1'}", NAME ",'data':{'a':'1','b':'2'}", "b/A {'f:data':{'f:a':{}}}\na/A@1 {'f:data':{'f:a':{},'f:b':{}}}"},
            {APPLY, "c", NAME ",'data':{'a':'9'}", NAME ",'data':{'a':'1','b':'2'}", NULL,
             "Apply failed with 2 conflicts: conflicts with 'a':\n- .data.a\nconflicts with 'b':\n- .data.a"},
            {FORCE, "c", NAME ",'data':{'a':'9'}", NAME ",'data':{'a':'9','b':'2'}", "a/A@1 {'f:data':{'f:b':{}}}\nc/A@4 {'f:data':{'f:a':{}}}"}}},
        {"scenario 18", false, {
            {APPLY, "a", NAME ",'data':{'a':'1','b':'2'}"}, {APPLY, "b", NAME ",'data':{'a':'1'}"},
            {APPLY, "a", NAME ",'data':{'b':'2'}", NAME ",'data':{'a':'1','b':'2'}", "b/A {'f:data':{'f:a':{}}}\na/A@1 {'f:data':{'f:b':{}}}"}}},
        {"scenario 19", false, {
            {APPLY, "a", NAME ",'data':{'a':'1','b':'2'}"}, {APPLY, "b", NAME ",'data':{'a':'1'}"},
            {APPLY, "a", NAME ",'data':{'a':'1'}", NAME ",'data':{'a':'1'}", "b/A {'f:data':{'f:a':{}}}\na/A@3 {'f:data':{'f:a':{}}}"}}},
        {"scenarios 20 to 22", false, {
            {APPLY, "a", NAME ",'data':{'a':'1','b':'2'}"},
            {UPDATE, "k", NAME ",'data':{'a':'5','b':'2'}", NULL, "a/A@1 {'f:data':{'f:b':{}}}\nk/U@2 {'f:data':{'f:a':{}}}"},
            {APPLY, "a", NAME ",'data':{'a':'1','b':'2'}", NULL, NULL, "Apply failed with 1 conflict: conflict with 'k' using v1: .data.a"},
            {APPLY, "a", NAME ",'data':{'a':'5','b':'2'}", NULL, "a/A@1 {'f:data':{'f:a':{},'f:b':{}}}\nk/U@2 {'f:data':{'f:a':{}}}"}}},
        {"scenario 23", false, {
            {APPLY, "a", NAME ",'data':{'a':'1','b':'2'}"}, {UPDATE, "k", NAME ",'data':{'a':'5','b':'2'}"},
            {APPLY, "a", NAME ",'data':{'b':'2'}", NAME ",'data':{'a':'5','b':'2'}", "a/A@1 {'f:data':{'f:b':{}}}\nk/U@2 {'f:data':{'f:a':{}}}"}}},
        {"scenario 24", false, {
            {APPLY, "a", NAME ",'data':{'a':'1','b':'2'}"},
            {UPDATE, "k", NAME ",'data':{'b':'2'}", NAME ",'data':{'b':'2'}", "a/A@1 {'f:data':{'f:b':{}}}"}}},
        {"scenarios 25 and 26", true, {
            {APPLY, "a", W0, W0, "a/A@1 " FA},
            {APPLY, "b", "'spec':{'parts':[{'name':'p','note':'hi'}]}", NULL,
             "a/A@1 " FA "\nb/A@2 {'f:spec':{'f:parts':{'k:{\\'name\\':\\'p\\'}':{'.':{},'f:name':{},'f:note':{}}}}}"},
            {APPLY, "a", W0_WITHOUT_PARTS, "'spec':{'opts':{'k':'v'},'parts':[{'name':'p','note':'hi'}],'pin':{'q':'1'},'seq':[1,2],'size':1,'tags':['x','y']}",
             "b/A@2 {'f:spec':{'f:parts':{'k:{\\'name\\':\\'p\\'}':{'.':{},'f:name':{},'f:note':{}}}}}\na/A@3 " FA_PART("")}}},
        {"scenarios 27 and 28", true, {
            {APPLY, "a", W0},
            {UPDATE, "k", "'spec':{'opts':{'k':'v'},'parts':[{'name':'p','note':'u','qty':1}],'pin':{'q':'1'},'seq':[1,2],'size':1,'tags':['x','y']}", NULL,
             "a/A@1 " FA "\nk/U@2 {'f:spec':{'f:parts':{'k:{\\'name\\':\\'p\\'}':{'f:note':{}}}}}"},
            {APPLY, "a", W0_WITHOUT_PARTS, "'spec':{'opts':{'k':'v'},'parts':null,'pin':{'q':'1'},'seq':[1,2],'size':1,'tags':['x','y']}", "a/A@3 " FA_PART("")}}},
        {"scenario 29", true, {
            {APPLY, "a", W0},
            {UNOWNED, "", "'spec':{'opts':{'k':'v'},'parts':[{'name':'p','note':'u','qty':1}],'pin':{'q':'1'},'seq':[1,2],'size':1,'tags':['x','y']}"},
            {APPLY, "a", W0_WITHOUT_PARTS, W0_WITHOUT_PARTS, "a/A@3 " FA_PART("")}}},
        {"scenarios 30 and 31", true, {
            {APPLY, "a", W0},
            {APPLY, "b", "'spec':{'parts':[{'name':'r','qty':2}]}", "'spec':{'opts':{'k':'v'},'parts':[{'name':'p','qty':1},{'name':'r','qty':2}],'pin':{'q':'1'},'seq':[1,2],'size':1,'tags':['x','y']}",
             "a/A@1 " FA "\nb/A@2 {'f:spec':{'f:parts':{'k:{\\'name\\':\\'r\\'}':{'.':{},'f:name':{},'f:qty':{}}}}}"},
            {APPLY, "c", "'spec':{'parts':[{'name':'s','qty':1},{'name':'p','qty':1}]}",
             "'spec':{'opts':{'k':'v'},'parts':[{'name':'s','qty':1},{'name':'p','qty':1},{'name':'r','qty':2}],'pin':{'q':'1'},'seq':[1,2],'size':1,'tags':['x','y']}"}}},
        {"scenario 32", true, {
            {APPLY, "a", "'spec':{'tags':['x','y']}"}, {APPLY, "b", "'spec':{'tags':['z']}", "'spec':{'tags':['x','y','z']}"},
            {APPLY, "a", "'spec':{'tags':['y']}", "'spec':{'tags':['y','z']}", "b/A@2 {'f:spec':{'f:tags':{'v:\\'z\\'':{}}}}\na/A@3 {'f:spec':{'f:tags':{'v:\\'y\\'':{}}}}"}}},
        {"scenarios 33 and 34", true, {
            {APPLY, "a", W0},
            {APPLY, "b", "'spec':{'seq':[1,2,3]}", NULL, NULL, "Apply failed with 1 conflict: conflict with 'a': .spec.seq"},
            {APPLY, "b", "'spec':{'pin':{'z':'1'}}", NULL, "a/A@1 " FA, "Apply failed with 1 conflict: conflict with 'a': .spec.pin"},
            {FORCE, "b", "'spec':{'seq':[1,2,3]}", NULL,
             "a/A@1 {'f:spec':{'f:opts':{'f:k':{}},'f:parts':{'k:{\\'name\\':\\'p\\'}':{'.':{},'f:name':{},'f:qty':{}}},'f:pin':{},'f:size':{},'f:tags':{'v:\\'x\\'':{},'v:\\'y\\'':{}}}}\n"
             "b/A@4 {'f:spec':{'f:seq':{}}}"}}},
        {"scenario 35", true, {
            {APPLY, "a", "'spec':{'opts':{'k':'v'}}"},
            {APPLY, "b", "'spec':{'opts':{'j':'1'}}", "'spec':{'opts':{'j':'1','k':'v'}}", "a/A@1 {'f:spec':{'f:opts':{'f:k':{}}}}\nb/A@2 {'f:spec':{'f:opts':{'f:j':{}}}}"}}},
        {"scenarios 36 and 37", true, {
            {APPLY, "a", "'spec':{'ports':[{'port':1},{'port':1,'proto':'UDP'}]}", NULL,
             "a/A@1 {'f:spec':{'f:ports':{'k:{\\'port\\':1,\\'proto\\':\\'TCP\\'}':{'.':{},'f:port':{}},'k:{\\'port\\':1,\\'proto\\':\\'UDP\\'}':{'.':{},'f:port':{},'f:proto':{}}}}}"},
            {UNOWNED, "", "'spec':{'ports':[{'port':1,'proto':'TCP'},{'port':1,'proto':'UDP'}]}"},
            {APPLY, "b", "'spec':{'ports':[{'port':1,'proto':'TCP','title':'t'}]}", "'spec':{'ports':[{'port':1,'proto':'TCP','title':'t'},{'port':1,'proto':'UDP'}]}",
             "a/A@1 {'f:spec':{'f:ports':{'k:{\\'port\\':1,\\'proto\\':\\'TCP\\'}':{'.':{},'f:port':{}},'k:{\\'port\\':1,\\'proto\\':\\'UDP\\'}':{'.':{},'f:port':{},'f:proto':{}}}}}\n"
             "b/A@3 {'f:spec':{'f:ports':{'k:{\\'port\\':1,\\'proto\\':\\'TCP\\'}':{'.':{},'f:port':{},'f:proto':{},'f:title':{}}}}}"}}},
        {"scenario 38", true, {
            {APPLY, "a", "'spec':{'free':{'a':{'b':1},'l':[1]}}", NULL, "a/A@1 {'f:spec':{'f:free':{'f:a':{'.':{},'f:b':{}},'f:l':{}}}}"},
            {APPLY, "b", "'spec':{'free':{'a':{'c':2}}}", "'spec':{'free':{'a':{'b':1,'c':2},'l':[1]}}",
             "a/A@1 {'f:spec':{'f:free':{'f:a':{'.':{},'f:b':{}},'f:l':{}}}}\nb/A@2 {'f:spec':{'f:free':{'f:a':{'.':{},'f:c':{}}}}}"},
            {APPLY, "b", "'spec':{'free':{'l':[1,2]}}", NULL, NULL, "Apply failed with 1 conflict: conflict with 'a': .spec.free.l"}}},
        {"scenario 40", true, {
            {APPLY, "a", "'metadata':{'finalizers':['x/a']}"}, {APPLY, "b", "'metadata':{'finalizers':['x/b']}"},
            {APPLY, "a", "", "'metadata':{'finalizers':['x/b']}", "b/A@2 {'f:metadata':{'f:finalizers':{'v:\\'x/b\\'':{}}}}"}}},
        {"scenario 41", false, {
            {APPLY, "a", NAME ",'data':{'a':'1','b':'2'}"},
            {UPDATE, "a", NAME ",'data':{'a':'5','b':'2'}", NULL, "a/A@1 {'f:data':{'f:b':{}}}\na/U@2 {'f:data':{'f:a':{}}}"},
            {APPLY, "a", NAME ",'data':{'a':'1','b':'2'}", NULL, NULL, "Apply failed with 1 conflict: conflict with 'a' using v1: .data.a"}}},
        {"scenario 42", true, {
            {APPLY, "a", "'spec':{'size':1,'box':{'w':1}}"}, {UNOWNED, "", "'spec':{'size':1,'box':{'w':1,'h':2}}"},
            {APPLY, "a", "'spec':{'size':1}", "'spec':{'size':1}", "a/A@3 {'f:spec':{'f:size':{}}}"}}},
        {"scenario 43", true, {
            {APPLY, "a", "'spec':{'size':1,'box':{'w':1}}"}, {UPDATE, "k", "'spec':{'size':1,'box':{'w':1,'h':2}}"},
            {APPLY, "a", "'spec':{'size':1}", "'spec':{'size':1,'box':{'h':2}}", "a/A@3 {'f:spec':{'f:size':{}}}\nk/U@2 {'f:spec':{'f:box':{'f:h':{}}}}"}}},
        {"scenario 44", true, {
            {APPLY, "a", "'spec':{'size':1,'box':{'w':1}}"}, {UNOWNED, "", "'spec':{'size':1,'box':{'w':1,'h':2}}"},
            {APPLY, "a", "'spec':{'size':1,'box':{}}", "'spec':{'size':1,'box':{'h':2}}", "a/A@3 {'f:spec':{'f:box':{},'f:size':{}}}"}}},
        {"scenario 45", true, {
            {APPLY, "a", "'spec':{'box':{'w':1,'h':2}}"}, {APPLY, "a", "'spec':{'box':{'w':1}}", "'spec':{'box':{'w':1}}", "a/A@2 {'f:spec':{'f:box':{'f:w':{}}}}"}}},
        {"scenario 46", true, {
            {UPDATE, "k", "'spec':{'tags':['x','x','y']}", NULL, "k/U@1 {'f:spec':{'.':{},'f:tags':{'.':{},'v:\\'x\\'':{},'v:\\'y\\'':{}}}}"},
            {APPLY, "a", "'spec':{'tags':['x']}", NULL, NULL, "Apply failed with 1 conflict: conflict with 'k' using v1: .spec.tags[='x']"},
            {UPDATE, "l", "'spec':{'tags':['x','y']}", NULL, "k/U@1 {'f:spec':{'.':{},'f:tags':{'.':{},'v:\\'y\\'':{}}}}\nl/U@3 {'f:spec':{'f:tags':{'v:\\'x\\'':{}}}}"}}},
    };

    run_scenarios(v, COR_ARRAY_LEN(v));
}

/* Contract apply 16.3.50, 16.3.53, 4.5.5. */
TEST(managers, updates_and_life_cycle)
{
    static const struct scenario v[] = {
        {"scenarios 47 and 48", false, {
            {UPDATE, "k", "'metadata':{'name':'c','labels':{'x':'1'}},'data':{'a':'1'}", NULL, "k/U@1 {'f:data':{'.':{},'f:a':{}},'f:metadata':{'f:labels':{'.':{},'f:x':{}}}}"},
            {UPDATE, "l", "'metadata':{'name':'c','labels':{'x':'1','y':'1'}},'data':{'a':'1'}", NULL,
             "k/U@1 {'f:data':{'.':{},'f:a':{}},'f:metadata':{'f:labels':{'.':{},'f:x':{}}}}\nl/U@2 {'f:metadata':{'f:labels':{'f:y':{}}}}"}}},
        {"scenario 49", false, {
            {UPDATE, "k", "'metadata':{'name':'c','labels':{'x':'1'}},'data':{'a':'1'}"},
            {UPDATE, "l", NAME ",'data':{'a':'1'}", NULL, "k/U@1 {'f:data':{'.':{},'f:a':{}}}"}}},
        {"scenario 50", true, {
            {UPDATE, "k", W0, NULL, "k/U@1 {'f:spec':{'.':{},'f:opts':{'.':{},'f:k':{}},'f:parts':{'.':{},'k:{\\'name\\':\\'p\\'}':{'.':{},'f:name':{},'f:qty':{}}},"
             "'f:pin':{},'f:seq':{},'f:size':{},'f:tags':{'.':{},'v:\\'x\\'':{},'v:\\'y\\'':{}}}}"}}},
        {"scenarios 51 and 52", false, {
            {UPDATE, "k", NAME ",'data':{'a':'1','b':'2'}"}, {FORGET, ""},
            {UPDATE, "k", NAME ",'data':{'a':'1','b':'2'}", NULL, ""},
            {APPLY, "a", NAME ",'data':{'a':'3'}", NULL, "", "Apply failed with 1 conflict: conflict with 'before-first-apply' using v1: .data.a"},
            {APPLY, "a", NAME ",'data':{'a':'1'}", NULL, "a/A {'f:data':{'f:a':{}}}\nbefore-first-apply/U@5 {'f:data':{'.':{},'f:a':{},'f:b':{}}}"}}},
        {"scenario 53", true, {
            {APPLY, "a", "'spec':{'size':1}"},
            {APPLY, "s/status", "'status':{'phase':'on'}", NULL, "a/A@1 {'f:spec':{'f:size':{}}}\ns/A/status@2 {'f:status':{'f:phase':{}}}"},
            {APPLY, "t/status", "'status':{'phase':'off'}", NULL, NULL, "Apply failed with 1 conflict: conflict with 's' with subresource 'status': .status.phase"},
            {APPLY, "b", "'spec':{'size':1},'status':{'phase':'on'}", NULL,
             "b/A {'f:spec':{'f:size':{}}}\na/A@1 {'f:spec':{'f:size':{}}}\ns/A/status@2 {'f:status':{'f:phase':{}}}"}}},
        {"an update that changes nothing", false, {
            {APPLY, "a", NAME ",'data':{'a':'1'}"}, {UPDATE, "k", NAME ",'data':{'a':'1'}", NULL, "a/A@1 {'f:data':{'f:a':{}}}"}}},
        {"scenario 65", false, {
            {UPDATE, "u0", "'metadata':{'name':'c','labels':{'0':''}}"},
            {UPDATE, "u1", "'metadata':{'name':'c','labels':{'0':'','1':''}}"},
            {UPDATE, "u2", "'metadata':{'name':'c','labels':{'0':'','1':'','2':''}}"},
            {UPDATE, "u3", "'metadata':{'name':'c','labels':{'0':'','1':'','2':'','3':''}}"},
            {UPDATE, "u4", "'metadata':{'name':'c','labels':{'0':'','1':'','2':'','3':'','4':''}}"},
            {UPDATE, "u5", "'metadata':{'name':'c','labels':{'0':'','1':'','2':'','3':'','4':'','5':''}}"},
            {UPDATE, "u6", "'metadata':{'name':'c','labels':{'0':'','1':'','2':'','3':'','4':'','5':'','6':''}}"},
            {UPDATE, "u7", "'metadata':{'name':'c','labels':{'0':'','1':'','2':'','3':'','4':'','5':'','6':'','7':''}}"},
            {UPDATE, "u8", "'metadata':{'name':'c','labels':{'0':'','1':'','2':'','3':'','4':'','5':'','6':'','7':'','8':''}}"},
            {UPDATE, "u9", "'metadata':{'name':'c','labels':{'0':'','1':'','2':'','3':'','4':'','5':'','6':'','7':'','8':'','9':''}}"},
            {UPDATE, "v0", "'metadata':{'name':'c','labels':{'0':'','1':'','2':'','3':'','4':'','5':'','6':'','7':'','8':'','9':'','a':''}}", NULL,
             "ancient-changes/U@2 {'f:metadata':{'f:labels':{'.':{},'f:0':{},'f:1':{}}}}\nu2/U@3 {'f:metadata':{'f:labels':{'f:2':{}}}}\nu3/U@4 {'f:metadata':{'f:labels':{'f:3':{}}}}\n"
             "u4/U@5 {'f:metadata':{'f:labels':{'f:4':{}}}}\nu5/U@6 {'f:metadata':{'f:labels':{'f:5':{}}}}\nu6/U@7 {'f:metadata':{'f:labels':{'f:6':{}}}}\nu7/U@8 {'f:metadata':{'f:labels':{'f:7':{}}}}\n"
             "u8/U@9 {'f:metadata':{'f:labels':{'f:8':{}}}}\nu9/U@10 {'f:metadata':{'f:labels':{'f:9':{}}}}\nv0/U@11 {'f:metadata':{'f:labels':{'f:a':{}}}}"}}},
        {"managers of two versions (6.1.2, 3.1.2)", false, {
            {UPDATE, "k", NAME ",'data':{'a':'1'}"},
            {VERSION_2, "k", NAME ",'data':{'a':'1','b':'1'}", NULL, "k/U@1 {'f:data':{'.':{},'f:a':{}}}\nk/U@2 {'f:data':{'f:b':{}}}"},
            {VERSION_2, "k", NAME ",'data':{'a':'2','b':'1'}", NULL, "k/U@1 {'f:data':{}}\nk/U@3 {'f:data':{'f:a':{},'f:b':{}}}"}}},
    };

    run_scenarios(v, COR_ARRAY_LEN(v));
}

/* Contract apply 3.4.1, 8.1.2 and 3.1.3. */
TEST(managers, lists_that_upstream_cannot_decode_are_refused)
{
    static const struct { const char *list, *words; } cases[] = {
        {"[{'operation':'Foo'}]", "operation must be `Apply` or `Update`"},
        {"[{'operation':'Apply'}]", "apiVersion must not be empty"},
        {"[{'operation':'Apply','apiVersion':'v1'}]", "missing fieldsType in managed fields entry 0"},
        {"[{'operation':'Apply','apiVersion':'v1','fieldsType':'X'}]", "invalid fieldsType 'X' in managed fields entry 0"},
        {"[{'operation':'Apply','apiVersion':'v1','fieldsType':'FieldsV1','fieldsV1':{'a':{}}}]", "error decoding set of managed fields entry 0"},
        {"[{'operation':'Apply','apiVersion':'v1','fieldsType':'FieldsV1'}]", ""},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf words = {.max = BYTES_MAX};
        char text[JSON_MAX], want[JSON_MAX];
        struct cor_field_managers managers;
        struct cor_arena arena;

        cor_arena_init(&arena, BYTES_MAX);
        assert_int_equal(cor_field_managers_read(&arena, quoted(cases[i].list, text), &managers, &words), *cases[i].words ? -COR_EINVAL : 0);
        quoted(cases[i].words, want);
        assert_string_equal(cor_buf_z(&words), want);
        cor_arena_deinit(&arena);
    }
    assert_true(cor_field_managers_is_reset(COR_STR("[]")) && cor_field_managers_is_reset(COR_STR("[{}]")));
    assert_false(cor_field_managers_is_reset(COR_STR("null")));
}
/* clang-format on */

static struct cor_fieldset reset_nothing(void *arg, struct cor_str version)
{
    (void)arg, (void)version;
    return (struct cor_fieldset){NULL};
}

TEST(managers, every_failed_allocation_is_reported)
{
    static const char list[] =
        "[{\"apiVersion\":\"v1\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:data\":{\"f:a\":{},"
        "\"f:b\":{}}},\"manager\":\"a\",\"operation\":\"Apply\"},{\"apiVersion\":\"v2\","
        "\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:data\":{\"f:c\":{}}},\"manager\":\"k\","
        "\"operation\":\"Update\"}]";
    static const char live[] =
        "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"data\":{\"a\":\"1\","
        "\"b\":\"2\",\"c\":\"3\"}}";
    static const char config[] =
        "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"data\":{\"a\":\"1\",\"c\":\"4\"}}";
    struct stage s = {0};
    const struct cor_apply_versions versions = {&s, place_of, reset_nothing, convert};

    FOR_EACH_FAILED_ALLOC(n) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = BYTES_MAX};
        COR_CLEANUP(cor_buf_deinit) struct cor_buf words = {.max = BYTES_MAX};
        struct cor_field_managers managers;
        struct cor_arena arena;
        struct cor_apply_request request = {.arena = &arena,
                                            .versions = &versions,
                                            .manager = COR_STR("a"),
                                            .api_version = COR_STR("v1"),
                                            .now = COR_STR("2026-01-01T00:00:00Z"),
                                            .force = true};
        int r;

        cor_arena_init(&arena, BYTES_MAX);
        r = cor_field_managers_read(&arena, cor_strz(list), &managers, NULL);
        if (r == 0)
            r = cor_field_managers_apply(&managers, &request, cor_strz(config), cor_strz(live),
                                         cor_strz(config), &out, &words);
        if (r == 0)
            r = cor_field_managers_update(&managers, &request, cor_strz(config), cor_strz(live));
        if (r == 0)
            r = cor_field_managers_write(&managers, &out);
        if (r == 0)
            assert_string_equal(
                cor_buf_z(&out),
                "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"data\":{\"a\":\"1\",\"c\":\"4\"}}"
                "[{\"apiVersion\":\"v1\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:data\":{"
                "\"f:a\":{}}},\"manager\":\"a\",\"operation\":\"Apply\",\"time\":"
                "\"2026-01-01T00:00:00Z\"},{\"apiVersion\":\"v1\",\"fieldsType\":\"FieldsV1\","
                "\"fieldsV1\":{\"f:data\":{\"f:b\":{},\"f:c\":{}}},\"manager\":\"a\","
                "\"operation\":\"Update\",\"time\":\"2026-01-01T00:00:00Z\"}]");
        else
            assert_true(r == -COR_ENOMEM && test_alloc_failed());
        cor_arena_deinit(&arena);
    }
}

static int nconversions;

static int count_conversion(void *arg, struct cor_str object, struct cor_str from,
                            struct cor_str to, struct cor_buf *out)
{
    nconversions++;
    return convert(arg, object, from, to, out);
}

/* Clients write the entries, so that their order must not decide how often an object is converted:
 * once to reconcile the sets, and before and after the change. */
TEST(managers, a_custom_resource_is_converted_once_for_each_version)
{
    static const char live[] =
        "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"data\":{\"a\":\"1\"}}";
    static const char next[] =
        "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"data\":{\"a\":\"2\"}}";
    COR_CLEANUP(cor_buf_deinit) struct cor_buf list = {.max = BYTES_MAX};
    struct stage s = {0};
    const struct cor_apply_versions versions = {&s, place_of, reset_nothing, count_conversion,
                                                true};
    struct cor_field_managers managers;
    struct cor_arena arena;
    struct cor_apply_request request = {.arena = &arena,
                                        .versions = &versions,
                                        .manager = COR_STR("a"),
                                        .api_version = COR_STR("v1"),
                                        .now = COR_STR("2026-01-01T00:00:00Z")};

    for (int i = 0; i < 20; i++)
        assert_int_equal(cor_buf_addf(&list,
                                      "%s{\"apiVersion\":\"v%d\",\"fieldsType\":\"FieldsV1\","
                                      "\"fieldsV1\":{\"f:data\":{\"f:b\":{}}},"
                                      "\"manager\":\"m%d\",\"operation\":\"Apply\"}",
                                      i == 0 ? "[" : ",", 1 + i % 2, i),
                         0);
    assert_int_equal(cor_buf_addc(&list, ']'), 0);
    cor_arena_init(&arena, BYTES_MAX);
    assert_int_equal(cor_field_managers_read(&arena, cor_buf_str(&list), &managers, NULL), 0);
    assert_int_equal(managers.n, 20);
    nconversions = 0;
    assert_int_equal(cor_field_managers_update(&managers, &request, cor_strz(live), cor_strz(next)),
                     0);
    assert_int_equal(nconversions, 3);
    cor_arena_deinit(&arena);
}

/* ---- what an operation holds ---- */

#define MANY_VERSIONS 30
#define LONG_BYTES    60000

static size_t most_bytes;

/* Remembers how much memory there is in use when an object is converted. */
static int convert_and_look(void *arg, struct cor_str object, struct cor_str from,
                            struct cor_str to, struct cor_buf *out)
{
    int r = convert(arg, object, from, to, out);

    if (test_live_bytes() > most_bytes)
        most_bytes = test_live_bytes();
    return r;
}

static bool place_of_any(void *arg, struct cor_str version, struct cor_apply_place *ret_place)
{
    (void)arg, (void)version;
    *ret_place = cor_apply_place_builtin(named("core_v1.ConfigMap"));
    return true;
}

/* The sets of a comparison borrow from its two objects. Nothing else of a version is kept when the
 * next one is looked at: a definition may have many. */
TEST(managers, an_apply_holds_two_objects_for_each_version)
{
    const struct cor_apply_versions versions = {NULL, place_of_any, reset_nothing, convert_and_look,
                                                true};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = BYTES_MAX}, words = {.max = BYTES_MAX};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf list = {.max = BYTES_MAX};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf live = {.max = BYTES_MAX};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf config = {.max = BYTES_MAX};
    struct cor_field_managers managers;
    struct cor_arena arena;
    struct cor_apply_request request = {.arena = &arena,
                                        .versions = &versions,
                                        .manager = COR_STR("m0"),
                                        .api_version = COR_STR("v0"),
                                        .now = COR_STR("2026-01-01T00:00:00Z"),
                                        .force = true};
    size_t before;

    for (int i = 0; i < MANY_VERSIONS; i++)
        assert_int_equal(cor_buf_addf(&list,
                                      "%s{\"apiVersion\":\"v%d\",\"fieldsType\":\"FieldsV1\","
                                      "\"fieldsV1\":{\"f:data\":{\"f:%s\":{}}},"
                                      "\"manager\":\"m%d\",\"operation\":\"Apply\"}",
                                      i == 0 ? "[" : ",", i, i == 0 ? "a" : "long", i),
                         0);
    assert_int_equal(cor_buf_addc(&list, ']'), 0);
    assert_int_equal(cor_buf_addf(&live,
                                  "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v0\",\"data\":{\"a\":"
                                  "\"1\",\"long\":\"%0*d\"}}",
                                  LONG_BYTES, 0),
                     0);
    assert_int_equal(cor_buf_addz(&config,
                                  "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v0\",\"data\":{\"b\":"
                                  "\"2\"}}"),
                     0);
    cor_arena_init(&arena, BYTES_MAX);
    assert_int_equal(cor_field_managers_read(&arena, cor_buf_str(&list), &managers, NULL), 0);
    before = test_live_bytes();
    most_bytes = 0;
    assert_int_equal(cor_field_managers_apply(&managers, &request, cor_buf_str(&config),
                                              cor_buf_str(&live), cor_buf_str(&config), &out,
                                              &words),
                     0);
    cor_arena_deinit(&arena);
    /* Beside them there are the merged and the pruned object, what was read of them, and sets. */
    assert_uint_in_range(most_bytes - before, (2 * MANY_VERSIONS - 4) * LONG_BYTES,
                         (2 * MANY_VERSIONS + 20) * LONG_BYTES);
}
