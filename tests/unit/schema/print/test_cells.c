/* The cells of tables with a fixed clock: times and durations, the cells of hooks that no case file
 * can reach, odd objects, random objects of every kind, and every allocation failing once. What
 * kube-apiserver shows is in tests/cases/tables.cases. */
#include "schema/print/cells.h"

#include <stdio.h>
#include <string.h>

#include "../random_object.h"
#include "base/err.h"
#include "base/mem.h"
#include "schema/print/cell_hooks.h"
#include "test.h"
#include "json/text/json.h"

#define NOW_US  (1767312000LL * 1000000) /* 2026-01-02T00:00:00Z */
#define OUT_MAX (8u << 20)

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

/* The row of an object: its cells, and its conditions. */
static int write_row(const struct cor_type *type, struct cor_str object, int64_t now_us,
                     struct cor_buf *out)
{
    const struct cor_table_columns *columns = cor_columns_of(type);
    struct cor_json_writer w;
    struct cor_cells cells;

    cor_json_writer_init(&w, out);
    cor_cells_init(&cells, &w, object, now_us);
    cor_json_begin_object(&w);
    cor_json_key(&w, COR_STR("cells"));
    cor_cells_write(&cells, columns);
    cor_cells_write_conditions(&cells, columns);
    cor_json_end_object(&w);
    return cor_json_writer_finish(&w);
}

/* `wanted` is canonical. */
static void assert_same(const struct cor_buf *out, const struct cor_buf *wanted)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf canonical = {.max = OUT_MAX};

    assert_int_equal(cor_json_canonicalize(cor_buf_str(out), &limits, &canonical, NULL, NULL), 0);
    assert_string_equal(cor_buf_z(&canonical), cor_buf_z(wanted));
}

static void assert_row(const char *type_name, const char *object, int64_t now_us, const char *cells)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {.max = OUT_MAX}, out = {.max = OUT_MAX};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf wanted = {.max = OUT_MAX};
    const struct cor_type *type = cor_type_named(cor_strz(type_name));

    assert_non_null(type);
    add_canonical(&json, object);
    add_canonical(&wanted, cells);
    assert_int_equal(write_row(type, cor_buf_str(&json), now_us, &out), 0);
    assert_same(&out, &wanted);
}

/* Every boundary of upstream's HumanDuration, and the second before it. */
TEST(cells, ages_have_the_units_of_upstream)
{
    static const struct {
        int64_t s;
        const char *text;
    } ages[] = {
        {-3, "<invalid>"},
        {-2, "<invalid>"},
        {-1, "0s"},
        {0, "0s"},
        {1, "1s"},
        {119, "119s"},
        {120, "2m"},
        {121, "2m1s"},
        {599, "9m59s"},
        {600, "10m"},
        {601, "10m"},
        {3 * 3600 - 1, "179m"},
        {3 * 3600, "3h"},
        {3 * 3600 + 60, "3h1m"},
        {8 * 3600 - 1, "7h59m"},
        {8 * 3600, "8h"},
        {48 * 3600 - 1, "47h"},
        {48 * 3600, "2d"},
        {49 * 3600, "2d1h"},
        {8 * 86400 - 1, "7d23h"},
        {8 * 86400, "8d"},
        {730LL * 86400 - 1, "729d"},
        {730LL * 86400, "2y"},
        {731LL * 86400, "2y1d"},
        {8 * 365LL * 86400 - 1, "7y364d"},
        {8 * 365LL * 86400, "8y"},
        {100 * 365LL * 86400, "100y"},
        /* Go's durations end after 292 years. */
        {1000 * 365LL * 86400, "292y"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(ages); i++) {
        char cells[64];

        snprintf(cells, sizeof(cells), "{'cells':['x',0,'%s']}", ages[i].text);
        assert_row("core_v1.ConfigMap",
                   "{'metadata':{'name':'x','creationTimestamp':'2001-01-02T00:00:00Z'}}",
                   (978393600 + ages[i].s) * 1000000, cells);
    }
    /* A part of a second counts towards zero. */
    assert_row("core_v1.ConfigMap",
               "{'metadata':{'name':'x','creationTimestamp':'2026-01-02T00:00:02Z'}}", NOW_US + 1,
               "{'cells':['x',0,'0s']}");
}

static const struct {
    const char *type, *object, *row;
} rows[] = {
    /* Times that are absent, null, zero, or none at all. */
    {"core_v1.ConfigMap", "{'metadata':{'name':'x'}}", "{'cells':['x',0,'<unknown>']}"},
    {"core_v1.ConfigMap", "{'metadata':{'name':'x','creationTimestamp':null}}",
     "{'cells':['x',0,'<unknown>']}"},
    {"core_v1.ConfigMap", "{'metadata':{'creationTimestamp':'0001-01-01T00:00:00Z','name':'x'}}",
     "{'cells':['x',0,'<unknown>']}"},
    {"core_v1.ConfigMap", "{'metadata':{'creationTimestamp':'soon','name':7},'data':[1,2]}",
     "{'cells':['',2,'<unknown>']}"},
    {"core_v1.ConfigMap", "{}", "{'cells':['',0,'<unknown>']}"},
    {"core_v1.ConfigMap", "{'metadata':3}", "{'cells':['',0,'<unknown>']}"},
    /* A kind without columns of its own. */
    {"core_v1.LimitRange", "{'metadata':{'name':'x','creationTimestamp':'2026-01-01T00:00:00Z'}}",
     "{'cells':['x','2026-01-01T00:00:00Z']}"},
    {"core_v1.LimitRange", "{'metadata':{'name':'x'}}", "{'cells':['x','0001-01-01T00:00:00Z']}"},
    {"core_v1.Namespace", "{'metadata':{'name':'x'},'status':{'phase':'Terminating'}}",
     "{'cells':['x','Terminating','<unknown>']}"},
    {"core_v1.Pod", "{'metadata':{'name':'x'}}",
     "{'cells':['x','0/0','','0','<unknown>','<none>','<none>','<none>','<none>']}"},
    {"core_v1.Pod", "{'metadata':[],'spec':'a','status':7}",
     "{'cells':['','0/0','','0','<unknown>','<none>','<none>','<none>','<none>']}"},
    /* When a restart was; one that lies in the future; one whose time is not known. */
    {"core_v1.Pod",
     "{'metadata':{'name':'x'},'spec':{'containers':[{}]},'status':{'phase':'Running',"
     "'containerStatuses':[{'restartCount':2,'ready':true,'state':{'running':{}},'lastState':{"
     "'terminated':{'finishedAt':'2026-01-01T23:55:00Z'}}}]}}",
     "{'cells':['x','1/1','Running','2 (5m ago)','<unknown>','<none>','<none>','<none>',"
     "'<none>']}"},
    {"core_v1.Pod",
     "{'metadata':{'name':'x'},'status':{'containerStatuses':[{'restartCount':2,'lastState':{"
     "'terminated':{'finishedAt':'2026-01-03T00:00:00Z'}}}]}}",
     "{'cells':['x','0/0','','2 (<invalid> ago)','<unknown>','<none>','<none>','<none>',"
     "'<none>']}"},
    {"core_v1.Pod",
     "{'metadata':{'name':'x'},'status':{'containerStatuses':[{'restartCount':2,'lastState':{"
     "'terminated':{'finishedAt':null}}}]}}",
     "{'cells':['x','0/0','','2','<unknown>','<none>','<none>','<none>','<none>']}"},
    /* Restarts whose sum is no number of Go's. */
    {"core_v1.Pod",
     "{'metadata':{'name':'x'},'status':{'containerStatuses':[{'restartCount':9223372036854775807},"
     "{'restartCount':9223372036854775807}]}}",
     "{'cells':['x','0/0','','-2','<unknown>','<none>','<none>','<none>','<none>']}"},
    /* Statuses of init containers in another order than the containers, and of unknown ones. */
    {"core_v1.Pod",
     "{'metadata':{'name':'x'},'spec':{'containers':[{}],'initContainers':[{'name':'a'},{'name':"
     "'b','restartPolicy':'Always'},{'name':'c'}]},'status':{'initContainerStatuses':[{'name':'b',"
     "'started':true,'ready':true,'restartCount':4},{'name':'z','state':{'terminated':{"
     "'exitCode':0}}},{'name':'a','restartCount':1}]}}",
     "{'cells':['x','1/2','Init:2/3','5','<unknown>','<none>','<none>','<none>','<none>']}"},
    {"core_v1.Pod",
     "{'metadata':{'name':'x','deletionTimestamp':'2026-01-01T00:00:00Z'},'status':{'phase':"
     "'Failed'}}",
     "{'cells':['x','0/0','Failed','0','<unknown>','<none>','<none>','<none>','<none>'],"
     "'conditions':[{'type':'Completed','status':'True','reason':'Failed','message':"
     "'The pod failed.'}]}"},
    {"core_v1.Service", "{'spec':{'type':'Odd','ports':[{'port':80}]}}",
     "{'cells':['','Odd','<none>','<unknown>','80/','<unknown>','<none>']}"},
    {"core_v1.Service", "{'spec':{'clusterIPs':['']}}",
     "{'cells':['','','','<unknown>','<none>','<unknown>','<none>']}"},
    {"core_v1.Service",
     "{'spec':{'type':'LoadBalancer'},'status':{'loadBalancer':{'ingress':[{'ip':'b'},{},{"
     "'hostname':'a'},{'ip':'b'}]}}}",
     "{'cells':['','LoadBalancer','<none>','a,b','<none>','<unknown>','<none>']}"},
    {"core_v1.Endpoints", "{'subsets':[]}", "{'cells':['','<none>','<unknown>']}"},
    {"core_v1.Endpoints",
     "{'subsets':[{'addresses':[{'ip':'a'},{'ip':'b'},{'ip':'c'},{'ip':'d'}]},{'addresses':[{"
     "'ip':'e'},{'ip':'f'}],'ports':[{'port':1},{'port':2},{'port':3}]},{'ports':[{'port':4}]}]}",
     "{'cells':['','a,b,c + 7 more...','<unknown>']}"},
    {"discovery_v1.EndpointSlice", "{'ports':[{},{'name':''}]}",
     "{'cells':['','','*,','<unset>','<unknown>']}"},
    {"discovery_v1.EndpointSlice",
     "{'ports':[{'name':''}],'endpoints':[{'addresses':['a','b']},{"
     "'addresses':['c','d','e']}]}",
     "{'cells':['','','<unset>','a,b,c + 2 more...','<unknown>']}"},
    {"networking_v1.Ingress", "{'spec':{'rules':[{},{'host':'a'},{'host':'b'},{'host':'c'}]}}",
     "{'cells':['','<none>','a,b,c','','80','<unknown>']}"},
    {"networking_v1.Ingress",
     "{'spec':{'rules':[{'host':'a'},{'host':'b'},{'host':'c'},{}],'ingressClassName':''}}",
     "{'cells':['','','a,b,c + 1 more...','','80','<unknown>']}"},
    {"networking_v1.IPAddress", "{'metadata':{'name':'10.0.0.1'},'spec':{}}",
     "{'cells':['10.0.0.1','<none>','<unknown>']}"},
    {"core_v1.Node",
     "{'status':{'conditions':[{'type':'Ready','status':'False'},{'type':'Ready',"
     "'status':'True'}]},'metadata':{'labels':{'node-role.kubernetes.io/':'x'}}}",
     "{'cells':['','Ready','<none>','<unknown>','','<none>','<none>','<unknown>','<unknown>',"
     "'<unknown>']}"},
    /* Times of events: none, the micro time, the series. */
    {"core_v1.Event", "{'metadata':{'name':'e'},'involvedObject':{}}",
     "{'cells':['<unknown>','','','','','','','<unknown>',1,'e']}"},
    {"core_v1.Event",
     "{'metadata':{'name':'e'},'eventTime':'2026-01-01T23:59:57.500000Z','involvedObject':{"
     "'kind':'Pod','name':'p'},'message':' \\n\\u00a0 a\\\\b <c>\\u2028','reportingComponent':'r',"
     "'reportingInstance':'i'}",
     "{'cells':['2s','','','pod/p','','r, i','a\\\\b <c>','2s',1,'e']}"},
    {"core_v1.Event",
     "{'metadata':{'name':'e'},'count':3,'firstTimestamp':'2026-01-01T23:59:00Z','series':{'count':"
     "5,'lastObservedTime':'2026-01-01T23:59:50.000000Z'},'message':'  '}",
     "{'cells':['10s','','','','','','','60s',5,'e']}"},
    {"core_v1.ResourceQuota",
     "{'status':{'hard':{'limits.cpu':'2','limits':'1','pods':'3'},'used':{'a':'9','limits.cpu':"
     "'1','z':'9'}}}",
     "{'cells':['','limits: 0/1, pods: 0/3','limits.cpu: 1/2','<unknown>']}"},
    {"core_v1.PersistentVolumeClaim", "{'spec':{'volumeName':'v'}}",
     "{'cells':['','','v','0','','','<unset>','<unknown>','<unset>']}"},
    {"core_v1.PersistentVolume", "{}",
     "{'cells':['','0','','','','','','<unset>','','<unknown>','<unset>']}"},
    {"core_v1.ComponentStatus",
     "{'metadata':{'name':'etcd-0'},'conditions':[{'type':'Odd','status':'True'},{'type':'Healthy',"
     "'status':'False','message':'m','error':'e'}]}",
     "{'cells':['etcd-0','Unhealthy','m','e']}"},
    {"core_v1.ComponentStatus", "{'metadata':{'name':'x'},'conditions':[]}",
     "{'cells':['x','Unknown','','']}"},
    {"core_v1.ComponentStatus",
     "{'metadata':{'name':'x'},'conditions':[{'type':'Healthy','status':'True','message':'ok'}]}",
     "{'cells':['x','Healthy','ok','']}"},
    /* Durations of jobs: that run, that end before they start, and that have not started. */
    {"batch_v1.Job", "{'status':{'startTime':'2026-01-01T23:50:00Z','succeeded':1},'spec':{}}",
     "{'cells':['','Running','1/1','10m','<unknown>','','','<none>']}"},
    {"batch_v1.Job",
     "{'status':{'startTime':'2026-01-01T23:50:00Z','completionTime':'2026-01-01T23:40:00Z',"
     "'conditions':[{'type':'Complete','status':'False'},{'type':'SuccessCriteriaMet','status':"
     "'True'}]},'spec':{'completions':0}}",
     "{'cells':['','SuccessCriteriaMet','0/0','<invalid>','<unknown>','','','<none>']}"},
    {"batch_v1.Job",
     "{'status':{'startTime':null,'conditions':[{'type':'FailureTarget','status':'True'}]},"
     "'spec':{'selector':{'matchExpressions':[{'key':'a','operator':'Odd'}]}}}",
     "{'cells':['','FailureTarget','0/1','','<unknown>','','','<error>']}"},
    {"batch_v1.CronJob", "{'status':{'lastScheduleTime':'2026-01-01T00:00:00Z'}}",
     "{'cells':['','','<none>','<unset>',0,'24h','<unknown>','','','<none>']}"},
    {"apps_v1.Deployment",
     "{'spec':{'selector':{'matchExpressions':[{'key':'a','operator':'Odd'}]}"
     "}}",
     "{'cells':['','0/0',0,0,'<unknown>','','','<invalid>']}"},
    {"apps_v1.Deployment", "{}", "{'cells':['','0/0',0,0,'<unknown>','','','']}"},
    {"apps_v1.ControllerRevision",
     "{'revision':9007199254740993,'metadata':{'ownerReferences':[{'controller':true,'name':'n'}]}"
     "}",
     "{'cells':['','n',9007199254740993,'<unknown>']}"},
    /* Metrics of types that have no member, that are missing, and of a type that is not known. */
    {"autoscaling_v2.HorizontalPodAutoscaler",
     "{'spec':{'minReplicas':0,'metrics':[{'type':'Odd'},{'type':'Pods'},{},{}]}}",
     "{'cells':['','/','<unknown type>, <unknown>/<nil> + 2 more...','0',0,0,'<unknown>']}"},
    {"autoscaling_v2.HorizontalPodAutoscaler",
     "{'spec':{'metrics':[{'type':'Resource','resource':{'name':'cpu','target':{}}},{'type':"
     "'External','external':{'target':{'averageValue':'2'}}}]},'status':{'currentMetrics':[{},{"
     "'external':{'current':{'value':'1'}}}]}}",
     "{'cells':['','/','cpu: <unknown>/<auto>, <unknown>/2 (avg)','<unset>',0,0,'<unknown>']}"},
    {"rbac_v1.RoleBinding", "{'subjects':[{'kind':'Odd','name':'x'},{'kind':'User'}]}",
     "{'cells':['','/','<unknown>','','','']}"},
    {"certificates_v1.CertificateSigningRequest",
     "{'spec':{'expirationSeconds':-5},'status':{'certificate':'aa','conditions':[{'type':"
     "'Approved'},{'type':'Denied'},{'type':'Failed'}]}}",
     "{'cells':['','<unknown>','<none>','','<invalid>','Denied,Failed,Issued']}"},
    {"certificates_v1.CertificateSigningRequest", "{'spec':{'expirationSeconds':99999999999}}",
     "{'cells':['','<unknown>','<none>','','68y','Pending']}"},
    {"admissionregistration_v1.ValidatingAdmissionPolicyBinding", "{'spec':{'paramRef':{}}}",
     "{'cells':['','','<unset>','<unknown>']}"},
    {"flowcontrol_v1.FlowSchema",
     "{'spec':{'distinguisherMethod':{}},'status':{'conditions':[{'type':'Dangling','status':"
     "'True'}]}}",
     "{'cells':['','',0,'','<unknown>','True']}"},
    {"flowcontrol_v1.FlowSchema", "{}", "{'cells':['','',0,'<none>','<unknown>','?']}"},
    {"apiregistration_v1.APIService", "{'spec':{'service':{'namespace':'n','name':'s'}}}",
     "{'cells':['','n/s','Unknown','<unknown>']}"},
    {"apiregistration_v1.APIService",
     "{'spec':{},'status':{'conditions':[{'type':'Available','status':'False','reason':'r'}]}}",
     "{'cells':['','Local','False (r)','<unknown>']}"},
    {"apiregistration_v1.APIService",
     "{'status':{'conditions':[{'type':'Available','status':'True','reason':'r'}]}}",
     "{'cells':['','Local','True','<unknown>']}"},
    {"apiregistration_v1.APIService",
     "{'status':{'conditions':[{'type':'Available','status':'False'}]}}",
     "{'cells':['','Local','False','<unknown>']}"},
    {"autoscaling_v1.Scale", "{'metadata':{'name':'x'},'spec':{'replicas':3},'status':{}}",
     "{'cells':['x',3,0,'<unknown>']}"},
};

TEST(cells, of_odd_objects_are_those_of_upstream)
{
    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++)
        assert_row(rows[i].type, rows[i].object, NOW_US, rows[i].row);
}

TEST(cells, are_whole_or_fail_without_memory)
{
    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        const struct cor_type *type = cor_type_named(cor_strz(rows[i].type));
        COR_CLEANUP(cor_buf_deinit)
        struct cor_buf json = {.max = OUT_MAX}, whole = {.max = OUT_MAX};

        add_canonical(&json, rows[i].object);
        assert_int_equal(write_row(type, cor_buf_str(&json), NOW_US, &whole), 0);
        FOR_EACH_FAILED_ALLOC(n) {
            COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = OUT_MAX};
            int r = write_row(type, cor_buf_str(&json), NOW_US, &out);

            assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
            if (r == 0)
                assert_string_equal(cor_buf_z(&out), cor_buf_z(&whole));
        }
    }
}

/* A row of any object is JSON, and has a cell for each column. */
static void check_random(const struct cor_type *type, enum random_form form)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf loose = {.max = OUT_MAX}, json = {.max = OUT_MAX};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = OUT_MAX};
    struct cor_str cells;
    bool is_canonical;

    random_object(type, form, &loose);
    assert_int_equal(cor_json_canonicalize(cor_buf_str(&loose), &limits, &json, NULL, NULL), 0);
    assert_int_equal(write_row(type, cor_buf_str(&json), NOW_US, &out), 0);
    assert_int_equal(cor_json_check(cor_buf_str(&out), &limits, &is_canonical, NULL), 0);
    assert_int_equal(cor_json_get(cor_buf_str(&out), COR_STR("cells"), COR_JSON_ANY_ORDER, &cells),
                     0);
    assert_int_equal(cor_cell_count(cells), cor_columns_of(type)->ncolumns);
}

TEST(cells, can_be_made_of_any_object)
{
    for (size_t i = 0; i < cor_types_count(); i++) {
        const struct cor_type *type = cor_type_at(i);

        if (cor_type_shape(type) != COR_SHAPE_STRUCT || !cor_type_is(type, COR_TYPE_KIND))
            continue;
        check_random(type, RANDOM_FULL);
        for (int n = 0; n < 8; n++)
            check_random(type, RANDOM_LOOSE);
    }
}

/* Statuses in the order opposite to that of the containers are found without a search for each. */
TEST(cells, of_pods_with_many_init_containers_are_found_by_name)
{
    enum { CONTAINERS = 4000 };
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {.max = OUT_MAX}, out = {.max = OUT_MAX};

    assert_int_equal(cor_buf_addz(&json, "{\"metadata\":{\"name\":\"x\"},\"spec\":{"
                                         "\"initContainers\":["),
                     0);
    for (int i = 0; i < CONTAINERS; i++)
        assert_int_equal(cor_buf_addf(&json, "%s{\"name\":\"c%d\",\"restartPolicy\":\"%s\"}",
                                      i ? "," : "", i, i % 2 ? "Always" : "Never"),
                         0);
    assert_int_equal(cor_buf_addz(&json, "]},\"status\":{\"initContainerStatuses\":["), 0);
    for (int i = CONTAINERS - 1; i >= 0; i--)
        assert_int_equal(cor_buf_addf(&json,
                                      "%s{\"name\":\"c%d\",\"ready\":true,\"restartCount\":1,"
                                      "\"started\":true,\"state\":{\"%s\":{\"exitCode\":0}}}",
                                      i < CONTAINERS - 1 ? "," : "", i,
                                      i % 2 ? "running" : "terminated"),
                         0);
    assert_int_equal(cor_buf_addz(&json, "]}}"), 0);
    assert_int_equal(
        write_row(cor_type_named(COR_STR("core_v1.Pod")), cor_buf_str(&json), NOW_US, &out), 0);
    assert_non_null(strstr(cor_buf_z(&out), "[\"x\",\"2000/2000\",\"\",\"2000\","));
}

/* The first condition of a type counts, whether there are few gates or many. */
TEST(cells, of_pods_with_many_readiness_gates_are_found_by_type)
{
    static const int counts[] = {2, 8, 9, 3000};

    for (size_t i = 0; i < COR_ARRAY_LEN(counts); i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {.max = OUT_MAX}, out = {.max = OUT_MAX};
        char wanted[64];

        assert_int_equal(cor_buf_addz(&json, "{\"spec\":{\"readinessGates\":["), 0);
        for (int g = 0; g < counts[i]; g++)
            assert_int_equal(cor_buf_addf(&json, "%s{\"conditionType\":\"g%d\"}", g ? "," : "", g),
                             0);
        assert_int_equal(cor_buf_addz(&json, "]},\"status\":{\"conditions\":["), 0);
        for (int g = counts[i] - 1; g > 0; g--)
            assert_int_equal(cor_buf_addf(&json,
                                          "{\"status\":\"%s\",\"type\":\"g%d\"},"
                                          "{\"status\":\"True\",\"type\":\"g%d\"}%s",
                                          g % 2 ? "True" : "False", g, g, g > 1 ? "," : ""),
                             0);
        assert_int_equal(cor_buf_addz(&json, "]}}"), 0);
        FOR_EACH_FAILED_ALLOC(n) {
            int r;

            cor_buf_deinit(&out);
            r = write_row(cor_type_named(COR_STR("core_v1.Pod")), cor_buf_str(&json), NOW_US, &out);
            assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        }
        snprintf(wanted, sizeof(wanted), ",\"%d/%d\"]}", counts[i] / 2, counts[i]);
        assert_non_null(strstr(cor_buf_z(&out), wanted));
    }
}

/* Every column that a client sees has a name, a type and a description; events are the only kind
 * whose first column is not the name. Contract server 3.21.3. */
TEST(cells, have_columns_with_names_and_words)
{
    for (size_t i = 0; i < cor_column_tables_n; i++) {
        const struct cor_table_columns *columns = &cor_column_tables[i];
        bool is_event = columns == cor_columns_of(cor_type_named(COR_STR("core_v1.Event")));

        assert_true(columns->ncolumns >= 2);
        assert_int_equal(cor_str_eq(cor_column_name(cor_column_at(columns, 0)), COR_STR("Name")),
                         !is_event);
        for (size_t j = 0; j < columns->ncolumns; j++) {
            const struct cor_column *column = cor_column_at(columns, j);

            assert_true((column->flags & COR_COLUMN_UNNAMED) || cor_column_words(column).n > 0);
            assert_int_equal(column->cell == COR_CELL_HOOK, column->hook != COR_CELL_HOOK_none);
        }
    }
}
