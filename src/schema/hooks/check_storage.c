/* The hooks of validation for storage classes, attachments and the CSI kinds (schema/check/check.h
 * describes what they work with). Those for volumes and claims are in check_persistent_volumes.c.
 *
 * Updates of some of these kinds run the rules of a creation twice, so the hooks for lists look at
 * the whole list and remember its names in a set of their own. Thread: any. */
#include "schema/hooks/check_storage.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/map.h"
#include "base/mem.h"
#include "schema/hooks/hooks.h"

#define PARAMETERS_BYTES_MAX (256 * 1024)
#define NODE_ID_BYTES_MAX    256

/* Adds a text to a set; true: the set has had it before. */
static bool is_repeated(struct cor_check *check, struct cor_str_set *set, struct cor_str text)
{
    bool is_new = true;

    cor_check_note(check, cor_str_set_add(set, text, &is_new));
    return !is_new;
}

/* --- Classes ---------------------------------------------------------------------------------- */

COR_HOOK(lower_qualified_name)
{
    struct cor_str text = cor_place_text(check, place);
    char *lower = cor_check_lower(check, text);

    if (!lower)
        return;
    cor_format_add_text(COR_FORMAT_QUALIFIED_NAME, (struct cor_str){lower, text.n}, &place->path,
                        check->errors);
}

static size_t entries_bytes(struct cor_check *check, const struct cor_place *map)
{
    struct cor_place entry;
    size_t bytes = 0;

    COR_EACH(check, map, entry)
        bytes += entry.key.n + cor_place_text(check, &entry).n;
    return bytes;
}

COR_HOOK(class_parameters)
{
    struct cor_place entry;

    if (cor_place_entry(check, place, COR_STR(""), &entry))
        cor_check_add(check, COR_FIELD_INVALID, &place->path, cor_field_string(COR_STR("")),
                      "field can not be empty.");
    if (entries_bytes(check, place) > PARAMETERS_BYTES_MAX)
        cor_check_too_long(check, place, PARAMETERS_BYTES_MAX);
}

COR_HOOK(attachment_metadata)
{
    if (entries_bytes(check, place) > PARAMETERS_BYTES_MAX)
        cor_check_too_long(check, place, PARAMETERS_BYTES_MAX);
}

/* --- Topologies of a StorageClass ------------------------------------------------------------- */

/* A key of a term, or one of the values that the key may have. */
struct topology_word {
    struct cor_str key, value;
    size_t expression; /* index of the expression that has the key */
    bool is_value;
};

struct topology_words {
    struct topology_word *v;
    size_t n, cap;
};

static int compare_words(const void *a, const void *b)
{
    const struct topology_word *one = a, *two = b;
    int order = cor_str_cmp(one->key, two->key);

    if (order == 0 && one->expression != two->expression)
        order = one->expression > two->expression ? -1 : 1; /* the last expression comes first */
    if (order == 0)
        order = one->is_value - two->is_value;
    return order ? order : cor_str_cmp(one->value, two->value);
}

static void add_word(struct cor_check *check, struct topology_words *words,
                     struct topology_word word)
{
    int r = COR_ARRAY_RESERVE(&words->v, words->n, &words->cap, COR_ARRAY_NO_MAX);

    cor_check_note(check, r);
    if (r == 0)
        words->v[words->n++] = word;
}

/* Checks the expressions of a term and notes their keys and values. */
static void check_term(struct cor_check *check, const struct cor_place *expressions,
                       struct topology_words *words)
{
    struct cor_each each = cor_each(check, expressions);
    struct cor_str_set keys;
    struct cor_place expression;

    cor_str_set_init(&keys, COR_OBJECT_BYTES_MAX_DEFAULT);
    while (cor_each_next(check, &each, &expression)) {
        struct cor_place key, values, value;
        struct cor_each inner;
        struct cor_str_set set;
        struct topology_word word = {.expression = each.index};

        cor_place_field(check, &expression, "key", &key);
        cor_place_field(check, &expression, "values", &values);
        word.key = cor_place_text(check, &key);
        add_word(check, words, word);
        if (cor_place_is_empty(check, &values))
            cor_check_required(check, &values, NULL);
        word.is_value = true;
        cor_str_set_init(&set, COR_OBJECT_BYTES_MAX_DEFAULT);
        inner = cor_each(check, &values);
        while (cor_each_next(check, &inner, &value)) {
            word.value = cor_place_text(check, &value);
            if (is_repeated(check, &set, word.value))
                cor_check_duplicate(check, &value);
            else
                add_word(check, words, word);
        }
        cor_str_set_deinit(&set);
        (void)cor_check_format(check, &key, COR_FORMAT_QUALIFIED_NAME);
        if (is_repeated(check, &keys, word.key))
            cor_check_duplicate(check, &key);
    }
    cor_str_set_deinit(&keys);
}

/* A text that equal terms have in common: their keys in order, each with the values of the last
 * expression that has it, in order. Lengths keep the words apart. */
static struct cor_str term_text(struct cor_check *check, struct topology_words *words)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = 2 * COR_OBJECT_BYTES_MAX_DEFAULT};
    const struct topology_word *key = NULL;
    char *copy;

    if (words->n > 0)
        qsort(words->v, words->n, sizeof(*words->v), compare_words);
    for (size_t i = 0; i < words->n; i++) {
        const struct topology_word *word = &words->v[i];
        struct cor_str part = word->is_value ? word->value : word->key;

        if (key && cor_str_eq(key->key, word->key) && key->expression != word->expression)
            continue;
        if (!word->is_value)
            key = word;
        cor_check_note(check, cor_buf_addf(&text, "%c%zu:", word->is_value ? 'v' : 'k', part.n));
        cor_check_note(check, cor_buf_adds(&text, part));
    }
    copy = cor_check_copy(check, cor_buf_str(&text));
    return (struct cor_str){copy, copy ? cor_buf_str(&text).n : 0};
}

/* As upstream: each term before it that is equal is an error of its own, and an empty term is also
 * compared with as many empty ones as the list has terms. */
COR_HOOK(allowed_topologies)
{
    size_t nterms = cor_place_length(check, place);
    struct topology_words words = {0};
    struct cor_place term, expressions;
    struct cor_map seen;

    cor_map_init(&seen, COR_OBJECT_BYTES_MAX_DEFAULT);
    COR_EACH(check, place, term) {
        struct cor_str text;
        uintptr_t before;

        words.n = 0;
        cor_place_field(check, &term, "matchLabelExpressions", &expressions);
        check_term(check, &expressions, &words);
        text = term_text(check, &words);
        if (cor_check_is_over(check))
            break;
        before = (uintptr_t)cor_map_peek(&seen, text);
        cor_check_note(check, cor_map_put(&seen, text, (void *)(before + 1), NULL));
        if (text.n == 0)
            before += nterms;
        for (; before > 0 && check->errors->n < COR_STATUS_CAUSES_MAX; before--)
            cor_check_add(check, COR_FIELD_DUPLICATE, &expressions.path,
                          cor_field_string(COR_STR("")), NULL);
    }
    cor_map_deinit(&seen);
    cor_free(words.v);
}

/* --- CSI kinds -------------------------------------------------------------------------------- */

COR_HOOK(token_requests)
{
    struct cor_str_set audiences;
    struct cor_place request;

    cor_str_set_init(&audiences, COR_OBJECT_BYTES_MAX_DEFAULT);
    COR_EACH(check, place, request) {
        struct cor_place audience, seconds;

        cor_place_field(check, &request, "audience", &audience);
        if (is_repeated(check, &audiences, cor_place_text(check, &audience)))
            cor_check_duplicate(check, &audience);
        else if (!cor_place_field(check, &request, "expirationSeconds", &seconds))
            continue;
        else if (cor_place_int(check, &seconds) < 600)
            cor_check_invalid(check, &seconds, "may not specify a duration less than 10 minutes");
        else if (cor_place_int(check, &seconds) > INT64_C(1) << 32)
            cor_check_invalid(check, &seconds,
                              "may not specify a duration larger than 2^32 seconds");
    }
    cor_str_set_deinit(&audiences);
}

/* The mistakes of topology keys are reported at the driver. */
static void check_topology_keys(struct cor_check *check, const struct cor_place *driver)
{
    struct cor_place list, key;
    struct cor_str_set keys;

    cor_place_field(check, driver, "topologyKeys", &list);
    cor_str_set_init(&keys, COR_OBJECT_BYTES_MAX_DEFAULT);
    COR_EACH(check, &list, key) {
        key.path = driver->path;
        if (cor_place_is_empty(check, &key))
            cor_check_required(check, &key, NULL);
        if (is_repeated(check, &keys, cor_place_text(check, &key)))
            cor_check_duplicate(check, &key);
        (void)cor_check_format(check, &key, COR_FORMAT_QUALIFIED_NAME);
    }
    cor_str_set_deinit(&keys);
}

COR_HOOK(csi_drivers)
{
    struct cor_str_set names;
    struct cor_place driver;

    cor_str_set_init(&names, COR_OBJECT_BYTES_MAX_DEFAULT);
    COR_EACH(check, place, driver) {
        struct cor_place name, id, allocatable, count;

        cor_place_field(check, &driver, "name", &name);
        cor_place_field(check, &driver, "nodeID", &id);
        cor_place_field(check, &driver, "allocatable", &allocatable);
        (void)cor_check_format(check, &name, COR_FORMAT_CSI_DRIVER_NAME);
        if (cor_place_is_empty(check, &id))
            cor_check_required(check, &id, NULL);
        if (cor_place_text(check, &id).n > NODE_ID_BYTES_MAX)
            cor_check_invalid(check, &id, "must be 256 characters or less");
        if (cor_place_is_present(&allocatable) &&
            cor_place_field(check, &allocatable, "count", &count) &&
            cor_place_int(check, &count) < 0)
            cor_check_invalid(check, &count, "must be greater than or equal to 0");
        if (is_repeated(check, &names, cor_place_text(check, &name)))
            cor_check_duplicate(check, &name);
        check_topology_keys(check, &driver);
    }
    cor_str_set_deinit(&names);
}

/* Compares each new driver with the old one of its name. Names are unique in a list that was
 * accepted before. */
COR_HOOK(drivers_stay)
{
    struct cor_place spec, list, old_list, driver;
    struct cor_map olds;

    cor_place_field(check, place, "spec", &spec);
    cor_place_field(check, &spec, "drivers", &list);
    old_list = cor_place_old(&list);
    cor_map_init(&olds, COR_OBJECT_BYTES_MAX_DEFAULT);
    COR_EACH(check, &old_list, driver)
        cor_check_note(check, cor_map_put(&olds, cor_field_text(check, &driver, "name"),
                                          (void *)((uintptr_t)driver.old + 1), NULL));
    COR_EACH(check, &list, driver) {
        uintptr_t old = (uintptr_t)cor_map_peek(&olds, cor_field_text(check, &driver, "name"));

        driver.old = old ? (uint32_t)(old - 1) : COR_JSON_NO_NODE;
        if (old && cor_place_is_changed(check, &driver))
            cor_check_add(check, COR_FIELD_INVALID, &list.path, cor_check_value(check, &driver),
                          "field is immutable");
    }
    cor_map_deinit(&olds);
}
