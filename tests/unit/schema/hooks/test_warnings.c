/* The warn programs: what is said of objects that validation has passed (contract types 5). The
 * cases compare each text with a kube-apiserver's; here are the order, the limits, what happens
 * when there is much to say, and what happens without memory. Rows give JSON with ' in place of ".
 */
#include <stdio.h>

#include "../rows.h"
#include "base/err.h"
#include "base/mem.h"
#include "schema/validate/validate.h"

#define META "'metadata':{'name':'n','namespace':'ns','resourceVersion':'1'}"
#define TEMPLATE(label)                                                                            \
    "'template':{'metadata':{'labels':{'a':'b'}},'spec':{'containers':[{'image':'i',"              \
    "'imagePullPolicy':'Always','name':'c','terminationMessagePolicy':'File'}],'dnsPolicy':"       \
    "'Default','nodeSelector':{'" label "':''},'restartPolicy':'Always',"                          \
    "'terminationGracePeriodSeconds':30}}"

#define TEXTS_MAX (1u << 24)

struct heard {
    struct cor_buf lines; /* each ends with a line break */
    size_t n;
};

static int hear(void *arg, struct cor_str text)
{
    struct heard *heard = arg;
    int r;

    heard->n++;
    r = cor_buf_adds(&heard->lines, text);
    return r < 0 ? r : cor_buf_addc(&heard->lines, '\n');
}

/* Validates and collects the warnings; `old` with p == NULL: a creation. */
static struct cor_field_errors listen(const char *type, enum cor_check_operation operation,
                                      struct cor_str object, struct cor_str old,
                                      struct heard *heard)
{
    struct cor_field_errors errors = {0};
    struct cor_validation validation = {
        .type = named(type),
        .operation = operation,
        .object = object,
        .old = old,
        .meta = {COR_NAME_DNS1123_SUBDOMAIN, true, false},
        .warn = hear,
        .warn_arg = heard,
    };

    heard->lines.max = TEXTS_MAX;
    (void)cor_validate(&validation, &errors);
    return errors;
}

struct row {
    const char *type;
    enum cor_check_operation operation;
    const char *object, *old; /* `old` is NULL on create */
    const char *warnings;     /* lines */
};

static void check_row(const struct row *row)
{
    char in[JSON_MAX], before[JSON_MAX], want[JSON_MAX];
    struct heard heard = {.n = 0};
    struct cor_field_errors errors =
        listen(row->type, row->operation, quoted(row->object, in),
               row->old ? quoted(row->old, before) : (struct cor_str){NULL, 0}, &heard);

    assert_int_equal(errors.error, 0);
    if (errors.n > 0)
        fail_msg("%s is invalid: %s %s", row->object, errors.v[0].field, errors.v[0].body);
    assert_string_equal(cor_buf_z(&heard.lines), quoted(row->warnings, want).p);
    cor_buf_deinit(&heard.lines);
    cor_field_errors_deinit(&errors);
}

#define CLAIM   "core_v1.PersistentVolumeClaim"
#define ACCOUNT "core_v1.ServiceAccount"
#define RC      "core_v1.ReplicationController"
#define SECRETS "kubernetes.io/enforce-mountable-secrets"
#define CLAIM_WITH(storage)                                                                        \
    "{" META                                                                                       \
    ",'spec':{'accessModes':['ReadWriteOnce'],'resources':{'requests':{'storage':'" storage        \
    "'}},'volumeMode':'Filesystem'}}"
#define RC_WITH(generation, label)                                                                 \
    "{'metadata':{'generation':" generation ",'name':'n','namespace':'ns','resourceVersion':'1'}," \
    "'spec':{'replicas':1,'selector':{'a':'b'}," TEMPLATE(label) "}}"

/* Contract types 5.3. A fraction is what is left of a thousandth after upstream's arithmetic, which
 * wraps around above 8 Pi. */
TEST(warnings, quantities_annotations_and_the_old_object)
{
    static const struct row rows[] = {
        {CLAIM, COR_CHECK_CREATE, CLAIM_WITH("1Gi"), NULL, ""},
        {CLAIM, COR_CHECK_CREATE, CLAIM_WITH("1500m"), NULL,
         "spec.resources.requests[storage]: fractional byte value '1500m' is invalid, must be an "
         "integer\n"},
        {CLAIM, COR_CHECK_CREATE, CLAIM_WITH("8Pi"), NULL, ""},
        {CLAIM, COR_CHECK_CREATE, CLAIM_WITH("10Pi"), NULL,
         "spec.resources.requests[storage]: fractional byte value '10Pi' is invalid, must be an "
         "integer\n"},
        {CLAIM, COR_CHECK_CREATE, CLAIM_WITH("10E"), NULL, ""},
        {ACCOUNT, COR_CHECK_CREATE,
         "{'metadata':{'annotations':{'" SECRETS "':''},'name':'n','namespace':'ns'}}", NULL,
         "metadata.annotations[" SECRETS "]: deprecated in v1.32+; prefer separate namespaces to "
         "isolate access to mounted secrets\n"},
        {ACCOUNT, COR_CHECK_UPDATE,
         "{'metadata':{'annotations':{'" SECRETS "':'a'},'name':'n','namespace':'ns',"
         "'resourceVersion':'1'}}",
         "{'metadata':{'annotations':{'" SECRETS "':'b'},'name':'n','namespace':'ns',"
         "'resourceVersion':'1'}}",
         ""},
        {RC, COR_CHECK_UPDATE, RC_WITH("2", "beta.kubernetes.io/os"), RC_WITH("1", "a"), ""},
        {RC, COR_CHECK_UPDATE, RC_WITH("2", "a"), RC_WITH("1", "beta.kubernetes.io/os"),
         "spec.template.spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "
         "'kubernetes.io/os' instead\n"},
        {RC, COR_CHECK_UPDATE, RC_WITH("1", "beta.kubernetes.io/os"),
         RC_WITH("1", "beta.kubernetes.io/os"), ""},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++)
        check_row(&rows[i]);
}

TEST(warnings, an_invalid_object_has_none)
{
    char in[JSON_MAX];
    struct heard heard = {.n = 0};
    struct cor_field_errors errors =
        listen(CLAIM, COR_CHECK_CREATE,
               quoted("{" META ",'spec':{'accessModes':[],'resources':{'requests':{'storage':"
                      "'1500m'}}}}",
                      in),
               (struct cor_str){NULL, 0}, &heard);

    assert_int_equal(errors.error, 0);
    assert_true(errors.n > 0);
    assert_int_equal(heard.n, 0);
    cor_field_errors_deinit(&errors);
    cor_buf_deinit(&heard.lines);
}

/* --- Pairs ------------------------------------------------------------------------------------ */

/* A pod with `ports` in its container and `files` in a volume; either may be "". */
static void make_pod(const char *ports, const char *files, struct cor_buf *out)
{
    assert_int_equal(
        cor_buf_addf(out,
                     "{\"metadata\":{\"name\":\"n\",\"namespace\":\"ns\"},\"spec\":{\"containers\":"
                     "[{\"image\":\"i\",\"imagePullPolicy\":\"Always\",\"name\":\"c\",\"ports\":["
                     "%s],\"terminationMessagePolicy\":\"File\"}],\"dnsPolicy\":\"Default\","
                     "\"restartPolicy\":\"Always\",\"terminationGracePeriodSeconds\":30,"
                     "\"volumes\":[{\"configMap\":{\"defaultMode\":420,\"items\":[%s],\"name\":"
                     "\"m\"},\"name\":\"v\"}]}}",
                     ports, files),
        0);
}

/* Listens to a pod of which nothing is wrong. */
static void listen_to_pod(const char *ports, const char *files, struct heard *heard)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf pod = {.max = TEXTS_MAX};
    struct cor_field_errors errors;

    make_pod(ports, files, &pod);
    errors = listen("core_v1.Pod", COR_CHECK_CREATE, cor_buf_str(&pod), (struct cor_str){NULL, 0},
                    heard);
    assert_int_equal(errors.error, 0);
    if (errors.n > 0)
        fail_msg("%s is invalid: %s %s", cor_buf_z(&pod), errors.v[0].field, errors.v[0].body);
    cor_field_errors_deinit(&errors);
}

static bool is_folder(const char *folder, const char *path)
{
    size_t n = strlen(folder);

    return strncmp(folder, path, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

/* Few files are compared with one another and many are sorted first: both find the same pairs, in
 * the same order. Contract types 5.2.5. */
TEST(warnings, files_in_each_others_place_are_found_among_few_and_many)
{
    static const char *const names[] = {"a", "b", "a-", "a.", "ab"};

    for (size_t round = 0; round < 40; round++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf files = {.max = TEXTS_MAX};
        COR_CLEANUP(cor_buf_deinit) struct cor_buf want = {.max = TEXTS_MAX};
        struct heard heard = {.n = 0};
        char paths[40][64] = {{0}};
        size_t n = 2 + test_random() % 38;

        for (size_t i = 0; i < n; i++) {
            size_t depth = 1 + test_random() % 4;

            for (size_t j = 0; j < depth; j++)
                snprintf(paths[i] + strlen(paths[i]), sizeof(paths[i]) - strlen(paths[i]), "%s%s",
                         j > 0 ? "/" : "", names[test_random() % COR_ARRAY_LEN(names)]);
            if (test_random() % 4 > 0)
                snprintf(paths[i] + strlen(paths[i]), sizeof(paths[i]) - strlen(paths[i]), "/%zu",
                         (size_t)(test_random() % n));
            assert_int_equal(cor_buf_addf(&files, "%s{\"key\":\"k\",\"path\":\"%s\"}",
                                          i > 0 ? "," : "", paths[i]),
                             0);
            for (size_t j = 0; j < i; j++) {
                if (is_folder(paths[i], paths[j]) || is_folder(paths[j], paths[i]))
                    assert_int_equal(cor_buf_addf(&want,
                                                  "volume \"v\" (ConfigMap \"m\"): overlapping "
                                                  "paths: \"%s\" with \"%s\"\n",
                                                  paths[i], paths[j]),
                                     0);
            }
        }
        listen_to_pod("", cor_buf_z(&files), &heard);
        if (heard.n < COR_CHECK_WARNINGS_MAX)
            assert_string_equal(cor_buf_z(&heard.lines), cor_buf_z(&want));
        cor_buf_deinit(&heard.lines);
    }
}

/* The same for ports. Contract types 5.2.10. */
TEST(warnings, ports_in_each_others_place_are_found_among_few_and_many)
{
    static const char *const addresses[] = {"", "1.2.3.4", "1.2.3.5", "1.2.3.6"};
    struct port {
        unsigned port, host;
        const char *address;
    } ports[30];

    for (size_t round = 0; round < 40; round++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {.max = TEXTS_MAX};
        COR_CLEANUP(cor_buf_deinit) struct cor_buf want = {.max = TEXTS_MAX};
        struct heard heard = {.n = 0};
        size_t n = 0, tries = 2 + test_random() % 28;

        while (tries-- > 0) {
            struct port port = {1 + test_random() % 4, test_random() % 12,
                                addresses[test_random() % COR_ARRAY_LEN(addresses)]};
            bool is_taken = false;

            /* Validation wants each host port once, and an address only together with one. */
            if (port.host == 0)
                port.address = "";
            for (size_t i = 0; i < n; i++)
                is_taken = is_taken || (port.host != 0 && ports[i].host == port.host &&
                                        strcmp(ports[i].address, port.address) == 0);
            if (is_taken)
                continue;
            assert_int_equal(
                cor_buf_addf(&json,
                             "%s{\"containerPort\":%u,\"hostIP\":\"%s\",\"hostPort\":%u,"
                             "\"protocol\":\"TCP\"}",
                             n > 0 ? "," : "", port.port, port.address, port.host),
                0);
            for (size_t i = 0; i < n; i++) {
                const struct port *other = &ports[i];
                const char *how = NULL;

                if (other->port != port.port)
                    continue;
                if (other->host == port.host && strcmp(other->address, port.address) == 0)
                    how = "duplicate";
                else if (other->host == 0 || port.host == 0)
                    how = "overlapping";
                else if (other->host == port.host && !*other->address != !*port.address)
                    how = "dangerously ambiguous";
                if (how)
                    assert_int_equal(cor_buf_addf(&want,
                                                  "spec.containers[0].ports[%zu]: %s port "
                                                  "definition with spec.containers[0].ports[%zu]\n",
                                                  n, how, i),
                                     0);
            }
            ports[n++] = port;
        }
        listen_to_pod(cor_buf_z(&json), "", &heard);
        assert_string_equal(cor_buf_z(&heard.lines), cor_buf_z(&want));
        cor_buf_deinit(&heard.lines);
    }
}

/* Each of 20,000 files is in the place of all others: the work ends long before all pairs. */
TEST(warnings, no_more_are_made_than_an_object_may_have)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf files = {.max = TEXTS_MAX};
    struct heard heard = {.n = 0};

    for (size_t i = 0; i < 20000; i++)
        assert_int_equal(cor_buf_addf(&files, "%s{\"key\":\"k\",\"path\":\"p\"}", i > 0 ? "," : ""),
                         0);
    listen_to_pod("", cor_buf_z(&files), &heard);
    assert_int_equal(heard.n, COR_CHECK_WARNINGS_MAX);
    cor_buf_deinit(&heard.lines);
}

/* Warnings that are too long for the check refuse nothing. */
TEST(warnings, long_paths_refuse_no_object)
{
    COR_CLEANUP(cor_buf_deinit)
    struct cor_buf files = {.max = TEXTS_MAX}, path = {.max = TEXTS_MAX};
    struct heard heard = {.n = 0};

    while (path.n < COR_CHECK_WARNING_TEXT_MAX)
        assert_int_equal(cor_buf_addc(&path, 'p'), 0);
    for (size_t i = 0; i < 64; i++)
        assert_int_equal(cor_buf_addf(&files, "%s{\"key\":\"k\",\"path\":\"%s\"}", i > 0 ? "," : "",
                                      cor_buf_z(&path)),
                         0);
    listen_to_pod("", cor_buf_z(&files), &heard);
    assert_true(heard.n > 0);
    cor_buf_deinit(&heard.lines);
}

/* Each of 1,000 ports is in the way of one among 20,000 others, so that all are compared. */
TEST(warnings, ports_among_very_many_are_found)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf ports = {.max = TEXTS_MAX};
    struct heard heard = {.n = 0};

    for (size_t i = 0; i < 21000; i++)
        assert_int_equal(cor_buf_addf(&ports, "%s{\"containerPort\":%zu,\"protocol\":\"TCP\"}",
                                      i > 0 ? "," : "", i < 20000 ? i + 1 : i - 1000),
                         0);
    listen_to_pod(cor_buf_z(&ports), "", &heard);
    assert_int_equal(heard.n, 1000);
    assert_true(cor_str_starts(cor_buf_str(&heard.lines),
                               COR_STR("spec.containers[0].ports[20000]: duplicate port definition "
                                       "with spec.containers[0].ports[18999]\n")));
    cor_buf_deinit(&heard.lines);
}

/* The annotations are looked through once, not once for each container. */
TEST(warnings, annotations_of_many_containers_are_found)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf pod = {.max = TEXTS_MAX};
    struct heard heard = {.n = 0};
    struct cor_field_errors errors;

    assert_int_equal(cor_buf_addf(&pod, "{\"metadata\":{\"annotations\":{"), 0);
    for (size_t i = 10000; i < 30000; i++)
        assert_int_equal(cor_buf_addf(&pod, "\"a%zu\":\"\",", i), 0);
    assert_int_equal(
        cor_buf_addf(&pod,
                     "\"container.seccomp.security.alpha.kubernetes.io/c2999\":\"unconfined\"},"
                     "\"name\":\"n\",\"namespace\":\"ns\"},\"spec\":{"
                     "\"containers\":["),
        0);
    for (size_t i = 0; i < 3000; i++)
        assert_int_equal(cor_buf_addf(&pod,
                                      "%s{\"image\":\"i\",\"imagePullPolicy\":\"Always\",\"name\":"
                                      "\"c%zu\",\"terminationMessagePolicy\":\"File\"}",
                                      i > 0 ? "," : "", i),
                         0);
    assert_int_equal(cor_buf_addf(&pod, "],\"dnsPolicy\":\"Default\",\"restartPolicy\":\"Always\","
                                        "\"terminationGracePeriodSeconds\":30}}"),
                     0);
    errors = listen("core_v1.Pod", COR_CHECK_CREATE, cor_buf_str(&pod), (struct cor_str){NULL, 0},
                    &heard);
    assert_int_equal(errors.error, 0);
    assert_int_equal(errors.n, 0);
    assert_string_equal(cor_buf_z(&heard.lines),
                        "metadata.annotations[container.seccomp.security.alpha.kubernetes.io/"
                        "c2999]: non-functional in v1.27+; use the \"seccompProfile\" field "
                        "instead\n");
    cor_field_errors_deinit(&errors);
    cor_buf_deinit(&heard.lines);
}

/* A name of 100 KB is shown as far as an answer could. */
TEST(warnings, a_long_name_is_cut)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf pod = {.max = TEXTS_MAX};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf name = {.max = TEXTS_MAX};
    struct heard heard = {.n = 0};
    struct cor_field_errors errors;

    for (size_t i = 0; i < 100000; i++)
        assert_int_equal(cor_buf_addc(&name, 'e'), 0);
    assert_int_equal(
        cor_buf_addf(&pod,
                     "{\"metadata\":{\"name\":\"n\",\"namespace\":\"ns\"},\"spec\":{\"containers\":"
                     "[{\"env\":[{\"name\":\"%s\"},{\"name\":\"%s\"}],\"image\":\"i\","
                     "\"imagePullPolicy\":\"Always\",\"name\":\"c\",\"terminationMessagePolicy\":"
                     "\"File\"}],\"dnsPolicy\":\"Default\",\"restartPolicy\":\"Always\","
                     "\"terminationGracePeriodSeconds\":30}}",
                     cor_buf_z(&name), cor_buf_z(&name)),
        0);
    errors = listen("core_v1.Pod", COR_CHECK_CREATE, cor_buf_str(&pod), (struct cor_str){NULL, 0},
                    &heard);
    assert_int_equal(errors.error, 0);
    assert_int_equal(errors.n, 0);
    assert_int_equal(heard.n, 1);
    assert_true(cor_str_starts(cor_buf_str(&heard.lines),
                               COR_STR("spec.containers[0].env[1]: hides previous definition of \"e"
                                       "e")));
    assert_true(heard.lines.n > COR_CHECK_WARNING_TEXT_MAX);
    assert_true(heard.lines.n < COR_CHECK_WARNING_TEXT_MAX + 200);
    cor_field_errors_deinit(&errors);
    cor_buf_deinit(&heard.lines);
}

/* --- Memory ----------------------------------------------------------------------------------- */

TEST(warnings, all_are_made_or_memory_was_lacking)
{
    static const char *const ports =
        "{\"containerPort\":80,\"hostIP\":\"1.2.3.4\",\"protocol\":\"TCP\"},"
        "{\"containerPort\":80,\"name\":\"p\",\"protocol\":\"TCP\"},"
        "{\"containerPort\":81,\"name\":\"q\",\"protocol\":\"TCP\"}";
    struct heard all = {.n = 0};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf files = {.max = TEXTS_MAX}, pod = {.max = TEXTS_MAX};

    for (size_t i = 0; i < 20; i++)
        assert_int_equal(
            cor_buf_addf(&files, "%s{\"key\":\"k\",\"path\":\"p%zu\"}", i > 0 ? "," : "", i % 19),
            0);
    make_pod(ports, cor_buf_z(&files), &pod);
    listen_to_pod(ports, cor_buf_z(&files), &all);
    assert_int_equal(all.n, 3);
    FOR_EACH_FAILED_ALLOC(n) {
        struct heard heard = {.n = 0};
        struct cor_field_errors errors = listen("core_v1.Pod", COR_CHECK_CREATE, cor_buf_str(&pod),
                                                (struct cor_str){NULL, 0}, &heard);

        assert_int_equal(errors.n, 0);
        if (errors.error == 0)
            assert_string_equal(cor_buf_z(&heard.lines), cor_buf_z(&all.lines));
        else
            assert_int_equal(errors.error, -COR_ENOMEM);
        cor_buf_deinit(&heard.lines);
        cor_field_errors_deinit(&errors);
    }
    cor_buf_deinit(&all.lines);
}

#define DEFINITION(schema)                                                                                      \
    "{'metadata':{'name':'ones.a.b','namespace':'ns','resourceVersion':'1'},'spec':{'conversion'"               \
    ":{'strategy':'None'},'group':'a.b','names':{'kind':'One','listKind':'OneList','plural':'ones','singular':" \
    "'one'},'scope':'Cluster','versions':[{'name':'v1','schema':{'openAPIV3Schema':" schema                     \
    "},'served':true,'storage':true}]},'status':{'storedVersions':['v1']}}"

/* Contract types 5.3. An update names only formats that the old object does not have. An object
 * that was stored by other rules may have them in places that no new object has. */
TEST(warnings, unknown_formats_are_found_in_every_schema_of_a_schema)
{
    static const struct row rows[] = {
        {"apiextensions_v1.CustomResourceDefinition", COR_CHECK_CREATE,
         DEFINITION("{'properties':{'a':{'items':{'format':'a','type':'string'},'type':'array'},"
                    "'format':{'format':'f','type':'string'},'m':{'additionalProperties':{'format':"
                    "'p','type':'string'},'type':'object'},'type':{'format':'g','type':'integer'},"
                    "'z':{'format':'-','type':'string'}},'type':'object'}"),
         NULL,
         "unrecognized format 'a'\nunrecognized format 'f'\nunrecognized format 'p'\nunrecognized "
         "format '-'\n"},
        {"apiextensions_v1.CustomResourceDefinition", COR_CHECK_UPDATE,
         DEFINITION("{'properties':{'a':{'format':'a','type':'string'},'b':{'format':'b','type':"
                    "'string'},'c':{'format':'c','type':'string'},'d':{'format':'d','type':"
                    "'string'},'e':{'format':'e','type':'string'},'f':{'format':'f','type':"
                    "'string'},'g':{'format':'g','type':'string'},'h':{'format':'h','type':"
                    "'string'},'k':{'format':'k','type':'string'},'l':{'format':'l','type':"
                    "'string'},'m':{'format':'m','type':'string'},'z':{'format':'-','type':"
                    "'string'}},'type':'object'}"),
         DEFINITION("{'additionalItems':{'format':'k','type':'string'},'additionalProperties':true,"
                    "'allOf':[{'format':'b','type':'string'}],'anyOf':[{'format':'c','type':"
                    "'string'}],'definitions':{'x':{'format':'l','type':'string'}},'dependencies':{"
                    "'y':['a'],'z':{'format':'m','type':'string'}},'format':'-','items':[{'format':"
                    "'a','type':'string'}],'not':{'format':'e','type':'string'},'oneOf':[{'format':"
                    "'d','type':'string'}],'patternProperties':{'x':{'format':'h','type':'string'}"
                    "},'properties':{'format':{'format':'f','type':'string'},'type':{'format':'g',"
                    "'type':'integer'}},'type':'string'}"),
         "unrecognized format 'g'\n"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++)
        check_row(&rows[i]);
    FOR_EACH_FAILED_ALLOC(n) {
        char in[JSON_MAX], want[JSON_MAX];
        struct heard heard = {.n = 0};
        struct cor_field_errors errors =
            listen(rows[0].type, COR_CHECK_CREATE, quoted(rows[0].object, in),
                   (struct cor_str){NULL, 0}, &heard);

        if (errors.error == 0)
            assert_string_equal(cor_buf_z(&heard.lines), quoted(rows[0].warnings, want).p);
        else
            assert_int_equal(errors.error, -COR_ENOMEM);
        cor_buf_deinit(&heard.lines);
        cor_field_errors_deinit(&errors);
    }
}
