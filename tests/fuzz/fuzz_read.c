/* Promises of the read walk. The first byte chooses a kind, the rest is its JSON.
 *   - Nothing outside of the bytes is read, and no report is longer than it may be.
 *   - A walk without a report and one with a report agree, but for repeated keys.
 *   - The order of keys changes which mistake is named, not whether there is one.
 *   - What is canonical has no repeated field.
 *   - What is left when repeated members are merged is never longer, the type can hold it as well,
 *     and it repeats nothing but keys of maps. */
#include <string.h>

#include "base/err.h"
#include "fuzz.h"
#include "schema/walk/read.h"
#include "schema/walk/repeated.h"
#include "json/text/json.h"

#define JSON_MAX (1u << 20)

static const char *const kinds[] = {
    "core_v1.ConfigMap",
    "core_v1.Pod",
    "core_v1.Secret",
    "apps_v1.Deployment",
    "apiextensions_v1.CustomResourceDefinition",
    "apiextensions_v1.JSONSchemaProps",
    "coordination_v1.Lease",
    "autoscaling_v2.HorizontalPodAutoscaler",
    "admissionregistration_v1.ValidatingAdmissionPolicy",
    "meta_v1.DeleteOptions",
    "core_v1.Node",
    "apps_v1.ControllerRevision",
};

static int walk(struct cor_str json, const struct cor_type *type, size_t *ret_n,
                size_t *ret_repeated)
{
    struct cor_read_report *report = cor_read_report_new();
    int r;

    FUZZ_CHECK(report);
    r = cor_read(json, type, report);
    FUZZ_CHECK(r == 0 || r == -COR_EINVAL);
    FUZZ_CHECK((r < 0) == (report->error.n > 0));
    FUZZ_CHECK(report->n <= COR_READ_FINDINGS_MAX && (r == 0 || report->n == 0));
    *ret_n = report->n;
    *ret_repeated = 0;
    for (size_t i = 0; i < report->n; i++) {
        struct cor_str text = cor_read_finding(report, i);

        FUZZ_CHECK(text.n > 0 && text.p[text.n - 1] == '"');
        *ret_repeated += cor_str_starts(text, COR_STR("duplicate"));
    }
    cor_read_report_free(report);
    return r;
}

static void merge(struct cor_str json, const struct cor_type *type)
{
    const struct cor_json_limits limits = {JSON_MAX, COR_JSON_DEPTH_MAX, true};
    struct cor_buf text, sorted;
    size_t n, repeated;

    cor_buf_init(&text, JSON_MAX);
    cor_buf_init(&sorted, JSON_MAX);
    FUZZ_CHECK(cor_repeated_merge(json, type, &text) == 0 && text.n <= json.n);
    FUZZ_CHECK(cor_json_canonicalize(cor_buf_str(&text), &limits, &sorted, NULL, NULL) == 0);
    FUZZ_CHECK(walk(cor_buf_str(&sorted), type, &n, &repeated) == 0 && repeated == 0);
    cor_buf_deinit(&text);
    cor_buf_deinit(&sorted);
}

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    const struct cor_json_limits limits = {JSON_MAX, COR_JSON_DEPTH_MAX, true};
    struct cor_json_dups dups;
    const struct cor_type *type;
    struct cor_buf sorted;
    struct cor_str json;
    size_t n, repeated, sorted_n, sorted_repeated;
    int r, sorted_r;

    if (size == 0)
        return 0;
    type = cor_type_named(cor_strz(kinds[data[0] % (sizeof(kinds) / sizeof(kinds[0]))]));
    FUZZ_CHECK(type);
    json = cor_str((const char *)data + 1, size - 1);
    cor_json_dups_init(&dups);
    cor_buf_init(&sorted, JSON_MAX);
    if (json.n <= JSON_MAX && cor_json_canonicalize(json, &limits, &sorted, &dups, NULL) == 0) {
        r = walk(json, type, &n, &repeated);
        sorted_r = walk(cor_buf_str(&sorted), type, &sorted_n, &sorted_repeated);
        FUZZ_CHECK(sorted_repeated == 0);
        if (r == 0 && cor_str_trim(json).p[0] == '{')
            merge(json, type);
        if (dups.n == 0) {
            bool is_clean = cor_read_is_clean(json, type);

            FUZZ_CHECK(repeated == 0 && (!is_clean || (r == 0 && n == 0)));
            /* Texts with escapes are left to the walk with a report, and in a quantity an escape is
             * a mistake, which the canonical form mends. */
            if (!memchr(json.p, '\\', json.n))
                FUZZ_CHECK(r == sorted_r && n == sorted_n && is_clean == (r == 0 && n == 0));
        }
    }
    cor_buf_deinit(&sorted);
    cor_json_dups_deinit(&dups);
    return 0;
}
