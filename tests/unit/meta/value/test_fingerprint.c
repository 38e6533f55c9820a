#include "test.h"

#include <stdio.h>

#include "base/buf.h"
#include "meta/select/label_selector.h"
#include "meta/value/fingerprint.h"

static const char *const keys[] = {
    "app",
    "app.kubernetes.io/component",
    "app.kubernetes.io/instance",
    "pod-template-hash",
    "tier",
    "topology.kubernetes.io/zone",
    "track",
    "version",
};

/* Labels as a canonical object: the keys whose bit is set in `which`, each with one of `variety`
 * values. */
static void random_labels(struct cor_buf *out, uint64_t which, unsigned variety)
{
    const char *sep = "{";

    cor_buf_reset(out);
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (!(which >> i & 1))
            continue;
        assert_int_equal(
            cor_buf_addf(out, "%s\"%s\":\"%u\"", sep, keys[i], (unsigned)(test_random() % variety)),
            0);
        sep = ",";
    }
    assert_int_equal(cor_buf_addz(out, sep[0] == '{' ? "{}" : "}"), 0);
}

static void random_selector(struct cor_buf *out)
{
    static const char *const terms[] = {"%s",   "!%s",  "%s=1",        "%s==2",        "%s!=1",
                                        "%s>1", "%s<3", "%s in (1,2)", "%s notin (2)", "%s in (3)"};
    size_t n = 1 + test_random() % 3;

    cor_buf_reset(out);
    for (size_t i = 0; i < n; i++) {
        const char *term = terms[test_random() % 10];
        const char *hole = strstr(term, "%s");

        assert_int_equal(cor_buf_addf(out, "%s%.*s%s%s", i > 0 ? "," : "", (int)(hole - term), term,
                                      keys[test_random() % 8], hole + 2),
                         0);
    }
}

TEST(fingerprint, never_denies_a_match)
{
    struct cor_buf labels, text;
    size_t matched = 0;

    cor_buf_init(&labels, 4096);
    cor_buf_init(&text, 4096);
    for (int round = 0; round < 20000; round++) {
        struct cor_label_selector *selector = NULL;

        random_selector(&text);
        assert_int_equal(cor_label_selector_parse(cor_buf_str(&text), &selector, NULL), 0);
        random_labels(&labels, test_random(), 4);
        if (cor_label_selector_matches(selector, cor_buf_str(&labels))) {
            matched++;
            if (!cor_fingerprint_may_match(cor_fingerprint_labels(cor_buf_str(&labels)),
                                           selector->mask))
                fail_msg("%s on %s", cor_buf_z(&text), cor_buf_z(&labels));
        }
        cor_label_selector_free(selector);
    }
    assert_true(matched > 1000);
    cor_buf_deinit(&labels);
    cor_buf_deinit(&text);
}

/* Pods as a cluster has them: five or six labels, many values of `app` and of the hash, few of the
 * others. Selected are an app, an app with its tier, and a hash. */
TEST(fingerprint, skips_nearly_all_objects_that_do_not_match)
{
    struct cor_buf labels;
    size_t denied = 0, mismatched = 0;

    cor_buf_init(&labels, 4096);
    for (unsigned round = 0; round < 30000; round++) {
        struct cor_label_selector *selector = NULL;
        unsigned app = (unsigned)(test_random() % 200);
        char text[64];
        uint64_t fingerprint;

        cor_buf_reset(&labels);
        assert_int_equal(
            cor_buf_addf(&labels,
                         "{\"app\":\"%u\",\"app.kubernetes.io/managed-by\":\"Helm\","
                         "\"pod-template-hash\":\"%u\",\"tier\":\"%u\",%s\"version\":\"%u\"}",
                         (unsigned)(test_random() % 200), (unsigned)(test_random() % 400), app % 3,
                         test_random() % 2 ? "\"track\":\"stable\"," : "", app % 20),
            0);
        fingerprint = cor_fingerprint_labels(cor_buf_str(&labels));
        if (round % 3 == 0)
            snprintf(text, sizeof(text), "app=%u", app);
        else if (round % 3 == 1)
            snprintf(text, sizeof(text), "tier=%u,app=%u", app % 3, app);
        else
            snprintf(text, sizeof(text), "pod-template-hash=%u", app);
        assert_int_equal(cor_label_selector_parse(cor_strz(text), &selector, NULL), 0);
        if (!cor_label_selector_matches(selector, cor_buf_str(&labels))) {
            mismatched++;
            denied += !cor_fingerprint_may_match(fingerprint, selector->mask);
        }
        cor_label_selector_free(selector);
    }
    assert_true(denied * 100 >= mismatched * 95);
    cor_buf_deinit(&labels);
}

TEST(fingerprint, of_no_labels_is_zero)
{
    assert_int_equal(cor_fingerprint_labels(COR_STR("")), 0);
    assert_int_equal(cor_fingerprint_labels(COR_STR("{}")), 0);
}

TEST(fingerprint, a_pair_has_its_keys_bit)
{
    uint64_t key = cor_fingerprint_key(COR_STR("app"));

    assert_int_equal(__builtin_popcountll(key), 1);
    assert_int_equal(cor_fingerprint_label(COR_STR("app"), COR_STR("a")) & key, key);
    assert_int_equal(cor_fingerprint_label(COR_STR("app"), COR_STR("a")),
                     cor_fingerprint_labels(COR_STR("{\"app\":\"a\"}")));
}

TEST(fingerprint, a_value_with_escapes_keeps_its_keys_bit)
{
    assert_int_equal(cor_fingerprint_labels(COR_STR("{\"a\\n\":\"x\",\"app\":\"a\\tb\"}")),
                     cor_fingerprint_key(COR_STR("app")));
}
