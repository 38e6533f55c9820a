/* Fields behind feature gates that are off. Contract types 4.3.6; what clients see is in
 * tests/cases/strategies.cases. */
#include "schema/walk/gates.h"

#include "base/err.h"
#include "test.h"

#define RULES "\"restartPolicyRules\":[{\"action\":\"Restart\"}]"

static const struct {
    const char *type;
    const char *json, *old; /* `old` NULL: a create */
    const char *made;       /* NULL: nothing is dropped */
} rows[] = {
    {"core_v1.ConfigMap", "{\"data\":{\"image\":\"i\"}}", NULL, NULL},
    {"core_v1.Pod", "{\"spec\":{\"containers\":[{\"image\":\"i\",\"name\":\"c\"}]}}", NULL, NULL},
    {"core_v1.Pod", "{\"spec\":{\"hostnameOverride\":\"h\",\"nodeName\":\"n\"}}", NULL,
     "{\"spec\":{\"nodeName\":\"n\"}}"},
    {"core_v1.Pod", "{\"spec\":{\"hostnameOverride\":\"h\"}}",
     "{\"spec\":{\"hostnameOverride\":\"old\"}}", NULL},
    /* Another gate than the one that the old object uses. */
    {"core_v1.Pod", "{\"spec\":{\"containers\":[{" RULES "}],\"hostnameOverride\":\"h\"}}",
     "{\"spec\":{\"hostnameOverride\":\"old\"}}",
     "{\"spec\":{\"containers\":[{}],\"hostnameOverride\":\"h\"}}"},
    /* The policy Always of an init container is no part of the gate, neither now nor before. */
    {"core_v1.Pod",
     "{\"spec\":{\"containers\":[{\"restartPolicy\":\"Always\"}],\"initContainers\":[{"
     "\"restartPolicy\":\"Always\"},{\"restartPolicy\":\"Never\"," RULES "}]}}",
     "{\"spec\":{\"initContainers\":[{\"restartPolicy\":\"Always\"}]}}",
     "{\"spec\":{\"containers\":[{}],\"initContainers\":[{\"restartPolicy\":\"Always\"},{}]}}"},
    {"core_v1.Pod", "{\"spec\":{\"containers\":[{\"restartPolicy\":\"Never\"}]}}",
     "{\"spec\":{\"containers\":[{\"restartPolicy\":\"Always\"}]}}", NULL},
    /* A lifecycle that has nothing else goes. */
    {"core_v1.Pod",
     "{\"spec\":{\"containers\":[{\"lifecycle\":{\"stopSignal\":\"SIGHUP\"}},{\"lifecycle\":{"
     "\"preStop\":{},\"stopSignal\":\"SIGHUP\"}}]}}",
     NULL, "{\"spec\":{\"containers\":[{},{\"lifecycle\":{\"preStop\":{}}}]}}"},
    /* A volume goes with its mounts, the list with its last element. */
    {"core_v1.Pod",
     "{\"spec\":{\"containers\":[{\"volumeMounts\":[{\"name\":\"i\"}]}],\"initContainers\":[{"
     "\"volumeMounts\":[{\"name\":\"e\"},{\"name\":\"i\"}]}],\"volumes\":[{\"image\":{},\"name\":"
     "\"i\"},{\"emptyDir\":{},\"name\":\"e\"}]}}",
     NULL,
     "{\"spec\":{\"containers\":[{}],\"initContainers\":[{\"volumeMounts\":[{\"name\":\"e\"}]}],"
     "\"volumes\":[{\"emptyDir\":{},\"name\":\"e\"}]}}"},
    {"core_v1.Pod", "{\"spec\":{\"volumes\":[{\"image\":{},\"name\":\"i\"}]}}", NULL,
     "{\"spec\":{}}"},
    /* Templates have what pods have. */
    {"batch_v1.CronJob",
     "{\"spec\":{\"jobTemplate\":{\"spec\":{\"template\":{\"spec\":{\"volumes\":[{\"name\":\"p\","
     "\"projected\":{\"sources\":[{\"clusterTrustBundle\":{}},{\"secret\":{}}]}}]}}}}}}",
     NULL,
     "{\"spec\":{\"jobTemplate\":{\"spec\":{\"template\":{\"spec\":{\"volumes\":[{\"name\":\"p\","
     "\"projected\":{\"sources\":[{},{\"secret\":{}}]}}]}}}}}}"},
    /* Members of a map. */
    {"resource_v1.ResourceSlice",
     "{\"spec\":{\"devices\":[{\"capacity\":{\"a\":{\"requestPolicy\":{},\"value\":\"1\"}},"
     "\"name\":\"d\",\"taints\":[{}]}]}}",
     NULL, "{\"spec\":{\"devices\":[{\"capacity\":{\"a\":{\"value\":\"1\"}},\"name\":\"d\"}]}}"},
    /* A field that upstream keeps although its gate is off. */
    {"resource_v1.ResourceClaim",
     "{\"spec\":{\"devices\":{\"constraints\":[{\"distinctAttribute\":\"a\"}]}}}", NULL, NULL},
};

TEST(gates, fields_are_dropped_unless_the_old_object_uses_them)
{
    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        const struct cor_type *type = cor_type_named(cor_strz(rows[i].type));

        assert_non_null(type);
        FOR_EACH_FAILED_ALLOC(n) {
            COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 1u << 20};
            struct cor_str old = rows[i].old ? cor_strz(rows[i].old) : (struct cor_str){NULL, 0};
            int r = cor_gates_drop(type, cor_strz(rows[i].json), old, &out);

            if (test_alloc_failed()) {
                assert_int_equal(r, -COR_ENOMEM);
                continue;
            }
            assert_int_equal(r, rows[i].made != NULL);
            if (rows[i].made)
                assert_string_equal(cor_buf_z(&out), rows[i].made);
        }
    }
}

TEST(gates, an_object_that_grows_beyond_the_maximum_is_refused)
{
    const struct cor_type *type = cor_type_named(COR_STR("core_v1.Pod"));
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 8};

    assert_int_equal(
        cor_gates_drop(type, COR_STR("{\"spec\":{\"hostnameOverride\":\"h\",\"nodeName\":\"n\"}}"),
                       (struct cor_str){NULL, 0}, &out),
        -COR_ETOOBIG);
    assert_int_equal(out.n, 0);
}
