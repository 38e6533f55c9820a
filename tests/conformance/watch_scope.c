/* What a watch sees depends on its key and its selectors. */
#include <stdio.h>

#include "conformance.h"

static struct conf_watch w;

struct step {
    const char *ns, *name, *node; /* name NULL: the end; ns "": cluster-scoped */
    bool deleted;
    char seen; /* A, M, D or 0 */
};

struct scope {
    const char *key;
    bool recursive;
    const char *fields;
    struct step steps[6];
};

static void check(const struct scope *s)
{
    struct cor_predicate predicate = conf_predicate("", s->fields);
    struct cor_store_watch_opts opts = {.options.recursive = s->recursive, .predicate = &predicate};
    struct conf c;
    char key[128];

    conf_open(&c);
    opts.options.resource_version = cor_strz(conf_rv(conf_bump(&c)));
    conf_watch_open(&c, &w, s->key, &opts);
    for (const struct step *step = s->steps; step->name; step++) {
        struct cor_object *object;

        snprintf(key, sizeof(key), "/pods/%s%s%s", step->ns, *step->ns ? "/" : "", step->name);
        object = step->deleted ? conf_remove(&c, key)
                               : conf_put(&c, key, conf_pod(step->ns, step->name, step->node));
        if (step->seen)
            conf_watch_expect(&w,
                              step->seen == 'A'   ? COR_WATCH_ADDED
                              : step->seen == 'M' ? COR_WATCH_MODIFIED
                                                  : COR_WATCH_DELETED,
                              step->name, object->rev);
        else
            conf_watch_expect_idle(&w);
        cor_object_unref(object);
    }
    conf_watch_expect_idle(&w);
    conf_watch_close(&w);
    cor_predicate_deinit(&predicate);
    conf_close(&c);
}

/* RunTestClusterScopedWatch */
TEST(conformance, cluster_scoped_watch_by_key_and_selector)
{
    static const struct scope scopes[] = {
        {"/pods",
         true,
         "",
         {{"", "foo1", "", false, 'A'},
          {"", "foo2", "", false, 'A'},
          {"", "foo1", "b", false, 'M'}}},
        {"/pods",
         true,
         "spec.nodeName=bar1",
         {{"", "foo1", "", false, 0}, {"", "foo1", "bar1", false, 'A'}}},
        {"/pods",
         true,
         "spec.nodeName!=bar1",
         {{"", "foo1", "", false, 'A'},
          {"", "foo2", "bar1", false, 0},
          {"", "foo2", "", false, 'A'},
          {"", "foo2", "bar1", false, 'D'}}},
        {"/pods/foo1",
         false,
         "metadata.name=foo1",
         {{"", "foo1", "", false, 'A'},
          {"", "foo2", "", false, 0},
          {"", "foo1", "b", false, 'M'},
          {"", "foo1", NULL, true, 'D'}}},
        {"/pods/foo1",
         false,
         "metadata.name=foo1,spec.nodeName=bar1",
         {{"", "foo1", "", false, 0},
          {"", "foo1", "bar1", false, 'A'},
          {"", "foo1", "bar2", false, 'D'},
          {"", "foo2", "bar1", false, 0}}},
        {"/pods/foo1",
         false,
         "metadata.name=foo1,spec.nodeName!=bar1",
         {{"", "foo1", "bar1", false, 0},
          {"", "foo2", "", false, 0},
          {"", "foo1", "bar2", false, 'A'},
          {"", "foo1", "bar1", false, 'D'}}},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(scopes); i++)
        check(&scopes[i]);
}

/* RunTestNamespaceScopedWatch */
TEST(conformance, namespace_scoped_watch_by_key_and_selector)
{
    static const struct scope scopes[] = {
        {"/pods",
         true,
         "",
         {{"ns1", "foo1", "", false, 'A'},
          {"ns2", "foo1", "", false, 'A'},
          {"ns1", "foo1", "b", false, 'M'},
          {"ns2", "foo1", "b", false, 'M'}}},
        {"/pods",
         true,
         "metadata.namespace=ns1",
         {{"ns1", "foo1", "", false, 'A'},
          {"ns2", "foo1", "", false, 0},
          {"ns1", "foo1", "b", false, 'M'},
          {"ns2", "foo1", "b", false, 0}}},
        {"/pods",
         true,
         "spec.nodeName=bar1",
         {{"ns1", "foo1", "", false, 0},
          {"ns1", "foo1", "bar1", false, 'A'},
          {"ns2", "foo2", "bar1", false, 'A'},
          {"ns2", "foo2", "bar2", false, 'D'}}},
        {"/pods",
         true,
         "spec.nodeName!=bar1",
         {{"ns1", "foo1", "", false, 'A'},
          {"ns1", "foo1", "bar1", false, 'D'},
          {"ns2", "foo2", "bar1", false, 0}}},
        {"/pods/ns1",
         true,
         "",
         {{"ns1", "foo1", "", false, 'A'},
          {"ns2", "foo1", "", false, 0},
          {"ns1", "foo1", "b", false, 'M'},
          {"ns1", "foo2", "", false, 'A'}}},
        {"/pods/ns1",
         true,
         "metadata.namespace=ns1",
         {{"ns1", "foo1", "", false, 'A'}, {"ns2", "foo1", "", false, 0}}},
        {"/pods/ns1",
         true,
         "metadata.namespace=ns2",
         {{"ns1", "foo1", "", false, 0}, {"ns2", "foo1", "", false, 0}}},
        {"/pods/ns1",
         true,
         "spec.nodeName=bar2",
         {{"ns1", "foo1", "", false, 0},
          {"ns1", "foo1", "bar2", false, 'A'},
          {"ns2", "foo1", "bar2", false, 0},
          {"ns1", "foo1", "bar1", false, 'D'}}},
        {"/pods/ns2",
         true,
         "spec.nodeName!=bar1",
         {{"ns1", "foo1", "", false, 0},
          {"ns2", "foo1", "", false, 'A'},
          {"ns2", "foo1", "bar1", false, 'D'},
          {"ns2", "foo2", "bar1", false, 0}}},
        {"/pods",
         true,
         "metadata.name=foo1",
         {{"ns1", "foo1", "", false, 'A'},
          {"ns1", "foo2", "", false, 0},
          {"ns2", "foo1", "", false, 'A'},
          {"ns1", "foo1", "b", false, 'M'}}},
        {"/pods",
         true,
         "metadata.name=foo1,metadata.namespace=ns1",
         {{"ns1", "foo1", "", false, 'A'}, {"ns2", "foo1", "", false, 0}}},
        {"/pods",
         true,
         "metadata.name=foo1,spec.nodeName=bar1",
         {{"ns1", "foo1", "", false, 0},
          {"ns1", "foo1", "bar1", false, 'A'},
          {"ns2", "foo2", "bar1", false, 0}}},
        {"/pods",
         true,
         "metadata.name=foo1,spec.nodeName!=bar1",
         {{"ns1", "foo1", "", false, 'A'},
          {"ns1", "foo1", "bar1", false, 'D'},
          {"ns2", "foo1", "bar1", false, 0},
          {"ns2", "foo1", "bar2", false, 'A'}}},
        {"/pods/ns1/foo1",
         false,
         "metadata.name=foo1",
         {{"ns1", "foo1", "", false, 'A'},
          {"ns2", "foo1", "", false, 0},
          {"ns1", "foo1", "b", false, 'M'},
          {"ns1", "foo1", NULL, true, 'D'}}},
        {"/pods/ns1/foo2",
         false,
         "metadata.name=foo2,metadata.namespace=ns1",
         {{"ns1", "foo1", "", false, 0},
          {"ns1", "foo2", "", false, 'A'},
          {"ns2", "foo2", "", false, 0}}},
        {"/pods/ns1/foo1",
         false,
         "metadata.name=foo1,metadata.namespace=ns1,spec.nodeName=bar1",
         {{"ns1", "foo1", "", false, 0},
          {"ns1", "foo1", "bar1", false, 'A'},
          {"ns1", "foo1", "bar2", false, 'D'},
          {"ns2", "foo1", "bar1", false, 0}}},
        {"/pods/ns1/foo2",
         false,
         "metadata.name=foo2,metadata.namespace=ns1,spec.nodeName!=bar1",
         {{"ns1", "foo2", "bar1", false, 0},
          {"ns1", "foo1", "", false, 0},
          {"ns1", "foo2", "", false, 'A'},
          {"ns2", "foo2", "", false, 0}}},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(scopes); i++)
        check(&scopes[i]);
}
