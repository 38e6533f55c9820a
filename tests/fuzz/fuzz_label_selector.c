/* Promises of the label selector: what it prints it reads again as the same; a match never lacks a
 * bit of the mask; an exact requirement is what a match has. The first line is the selector, the
 * rest may be labels. */
#include <string.h>

#include "base/err.h"
#include "fuzz.h"
#include "meta/select/label_selector.h"
#include "meta/value/fingerprint.h"
#include "json/text/json.h"
#include "json/text/scan.h"

static const char *const samples[] = {
    "",
    "{}",
    "{\"a\":\"\"}",
    "{\"a\":\"b\",\"b\":\"2\",\"x\":\"y\"}",
    "{\"x\":\"10\",\"y\":\"\\n\"}",
};

static void check_match(const struct cor_label_selector *selector, struct cor_str labels)
{
    if (cor_label_selector_matches(selector, labels))
        FUZZ_CHECK(cor_fingerprint_may_match(cor_fingerprint_labels(labels), selector->mask));
}

static void check_print(const struct cor_label_selector *selector)
{
    struct cor_label_selector *again = NULL;
    struct cor_buf first, second;

    cor_buf_init(&first, 1u << 20);
    cor_buf_init(&second, 1u << 20);
    FUZZ_CHECK(cor_label_selector_print(selector, &first) == 0);
    FUZZ_CHECK(cor_label_selector_parse(cor_buf_str(&first), &again, NULL) == 0);
    FUZZ_CHECK(cor_label_selector_print(again, &second) == 0);
    FUZZ_CHECK(cor_str_eq(cor_buf_str(&first), cor_buf_str(&second)));
    FUZZ_CHECK(again->n == selector->n && again->mask == selector->mask);
    cor_label_selector_free(again);
    cor_buf_deinit(&first);
    cor_buf_deinit(&second);
}

/* Labels as they stand in an object: canonical, or none. */
static void check_own_labels(const struct cor_label_selector *selector, struct cor_str labels)
{
    struct cor_json_limits limits = COR_JSON_LIMITS_DEFAULT;
    struct cor_buf canonical;

    cor_buf_init(&canonical, labels.n);
    if (cor_json_canonicalize(labels, &limits, &canonical, NULL, NULL) == 0 &&
        cor_json_type(cor_buf_str(&canonical)) == COR_JSON_OBJECT)
        check_match(selector, cor_buf_str(&canonical));
    cor_buf_deinit(&canonical);
}

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    struct cor_str labels = cor_str((const char *)data, size);
    struct cor_str text = cor_str_cut(&labels, '\n');
    struct cor_label_selector *selector = NULL;
    struct cor_status status = {0};
    int r = cor_label_selector_parse(text, &selector, &status);

    if (r < 0) {
        FUZZ_CHECK(r == -COR_EINVAL && status.code == 400 && status.message && !selector);
    } else {
        check_print(selector);
        for (size_t i = 0; i < COR_ARRAY_LEN(samples); i++)
            check_match(selector, cor_strz(samples[i]));
        if (labels.n > 0)
            check_own_labels(selector, labels);
    }
    cor_label_selector_free(selector);
    cor_status_deinit(&status);
    return 0;
}
