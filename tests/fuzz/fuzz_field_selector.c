/* Promises of the field selector: what it prints it reads again as the same; a term and its
 * opposite never agree; an exact requirement is what a match has. */
#include "base/err.h"
#include "field_selectors.h"
#include "fuzz.h"
#include "meta/select/field_selector.h"

static const struct cor_field_label rows[] = {
    {.label = "a"},
    {.label = "b", .kind = COR_FIELD_KIND_BOOL},
    {.label = "c", .field = "a"},
    {.label = "metadata.name"},
    {.label = "spec.nodeName"},
    {.label = "", .field = "empty"},
    {.label = "\xed\x95\xa8", .field = "unicode"},
};
static const struct cor_field_labels table = {rows, COR_ARRAY_LEN(rows), NULL};

static const char *const objects[] = {
    "{\"metadata\":{}}",
    "{\"a\":\"1\",\"b\":true,\"metadata\":{\"name\":\"a\"}}",
    "{\"a\":1,\"empty\":\"\\\\,=\",\"metadata\":{\"name\":\"a,b\"},\"spec\":{\"nodeName\":\"n\"}}",
};

static void check_print(const struct cor_field_selector *selector)
{
    struct cor_field_selector *again = NULL;
    struct cor_buf first, second;

    cor_buf_init(&first, 1u << 20);
    cor_buf_init(&second, 1u << 20);
    FUZZ_CHECK(field_selector_print(selector, &first) == 0);
    /* A label that stands for another field is not printed, and the other may have no label. */
    if (cor_field_selector_parse(cor_buf_str(&first), &table, &again, NULL) == 0) {
        FUZZ_CHECK(field_selector_print(again, &second) == 0);
        FUZZ_CHECK(again->n == selector->n && first.n == second.n);
    }
    cor_field_selector_free(again);
    cor_buf_deinit(&first);
    cor_buf_deinit(&second);
}

static void check_match(struct cor_field_selector *selector, struct cor_str object)
{
    bool all = field_selector_matches(selector, object);
    bool each = true;

    for (size_t i = 0; i < selector->n; i++) {
        size_t n = selector->n;
        struct cor_field_term first = selector->terms[0];
        bool matched, opposite;

        selector->terms[0] = selector->terms[i];
        selector->n = 1;
        matched = field_selector_matches(selector, object);
        selector->terms[0].equal = !selector->terms[0].equal;
        opposite = field_selector_matches(selector, object);
        FUZZ_CHECK(matched != opposite);
        each = each && matched;
        selector->terms[0] = first;
        selector->n = n;
    }
    FUZZ_CHECK(all == each);
}

static void check(struct cor_str text, const struct cor_field_labels *labels)
{
    struct cor_field_selector *selector = NULL;
    struct cor_status status = {0};
    int r = cor_field_selector_parse(text, labels, &selector, &status);

    if (r < 0) {
        FUZZ_CHECK(r == -COR_EINVAL && status.code == 400 && status.message && !selector);
    } else {
        check_print(selector);
        for (size_t i = 0; i < COR_ARRAY_LEN(objects); i++)
            check_match(selector, cor_strz(objects[i]));
    }
    cor_field_selector_free(selector);
    cor_status_deinit(&status);
}

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    check(cor_str((const char *)data, size), &table);
    check(cor_str((const char *)data, size), NULL);
    return 0;
}
