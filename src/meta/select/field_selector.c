/* clang-format off */
/* Text to field selector, and matching.
 *
 * Parsing: cut into terms, which are sorted (the printed form is canonical) ──► each term split at
 * its operator, its value unescaped ──► each label looked up in the resource's table and its path
 * parsed. Matching reads each field once for all terms about it, and allocates nothing.
 * Failures: 400 in upstream's words; mistakes of the grammar are reported before unknown labels.
 * Thread: any (immutable once parsed). */
/* clang-format on */
#include "meta/select/field_selector.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "meta/select/selector_lexer.h"
#include "meta/status/quote.h"
#include "json/path/path.h"

static const struct cor_field_label default_labels[] = {
    {.label = "metadata.name"},
    {.label = "metadata.namespace"},
};

const struct cor_field_labels cor_field_labels_any = {0};

static int compare_terms(const void *a, const void *b)
{
    return cor_str_cmp(*(const struct cor_str *)a, *(const struct cor_str *)b);
}

/* The terms of `text` that are not empty, sorted. Returns how many there are, also when that is
 * more than fit `terms`. */
static size_t split_terms(struct cor_str text, struct cor_str *terms, size_t max)
{
    size_t n = 0;

    while (text.p) {
        struct cor_str term = cor_selector_cut_term(&text);

        if (term.n == 0)
            continue;
        if (n < max)
            terms[n] = term;
        n++;
    }
    qsort(terms, n < max ? n : max, sizeof(*terms), compare_terms);
    return n;
}

/* How many bytes the character at the start of `s` has. */
static size_t character_len(struct cor_str s)
{
    size_t n = s.n > 0;

    while (n < s.n && ((unsigned char)s.p[n] & 0xc0) == 0x80)
        n++;
    return n;
}

/* Removes the escapes of a value in place. */
static int unescape_value(char *value, size_t *n, struct cor_status *status)
{
    size_t to = 0;

    for (size_t i = 0; i < *n; i++) {
        char c = value[i];

        if (c == '\\') {
            struct cor_str next = cor_str(value + i + 1, *n - i - 1);

            c = next.n > 0 ? next.p[0] : '\0';
            if (c != '\\' && c != ',' && c != '=')
                return cor_status_bad_request(
                    status, "invalid field selector: invalid escape sequence: \\%.*s",
                    (int)character_len(next), next.p);
            i++;
        } else if (c == ',' || c == '=') {
            return cor_status_bad_request(
                status, "invalid field selector: unescaped character in value: %d", c);
        }
        value[to++] = c;
    }
    value[to] = '\0';
    *n = to;
    return 0;
}

static int copy_str(struct cor_str s, struct cor_str *ret)
{
    char *copy = cor_strndup(s.p, s.n);

    if (!copy)
        return -COR_ENOMEM;
    *ret = cor_str(copy, s.n);
    return 0;
}

static int field_selector_no_memory(struct cor_status *status)
{
    return cor_status_set(status, -COR_ENOMEM, "no memory for a field selector");
}

static int parse_term(struct cor_str selector, struct cor_str text, struct cor_field_term *term,
                      struct cor_status *status)
{
    struct cor_str field, value;
    enum cor_selector_token op = cor_selector_split_term(text, &field, &value);
    size_t n;
    char *copy;
    int r;

    if (op == COR_SELECTOR_TOKEN_END)
        return cor_status_bad_request(status, "invalid selector: '%.*s'; can't understand '%.*s'",
                                      COR_STR_ARG(selector), COR_STR_ARG(text));
    term->equal = op != COR_SELECTOR_TOKEN_NOT_EQUALS;
    copy = cor_strndup(value.p, value.n);
    if (!copy)
        return field_selector_no_memory(status);
    n = value.n;
    r = unescape_value(copy, &n, status);
    term->value = cor_str(copy, r < 0 ? 0 : n);
    term->note = cor_field_note(term->value);
    if (r < 0)
        return r;
    return copy_str(field, &term->field) < 0 ? field_selector_no_memory(status) : 0;
}

static int unknown_label(const struct cor_field_labels *labels, struct cor_str label,
                         struct cor_status *status)
{
    struct cor_buf quoted;
    int r;

    if (labels && labels->kind)
        return cor_status_bad_request(status, "field label \"%.*s\" not supported for %s",
                                      COR_STR_ARG(label), labels->kind);
    if (labels && labels->gvk)
        return cor_status_bad_request(status, "field label not supported for %s: %.*s", labels->gvk,
                                      COR_STR_ARG(label));
    if (labels)
        return cor_status_bad_request(status, "field label not supported: %.*s",
                                      COR_STR_ARG(label));
    cor_buf_init(&quoted, 16 * (size_t)COR_FIELD_SELECTOR_BYTES_MAX);
    r = cor_quote(label, &quoted);
    if (r == 0)
        r = cor_status_bad_request(status, "%s is not a known field selector: only \"%s\", \"%s\"",
                                   cor_buf_z(&quoted), default_labels[0].label,
                                   default_labels[1].label);
    else
        r = field_selector_no_memory(status);
    cor_buf_deinit(&quoted);
    return r;
}

/* Sets the field that a term's label represents, and the path to it. */
static int resolve_term(struct cor_field_term *term, const struct cor_field_labels *labels,
                        struct cor_status *status)
{
    const struct cor_field_label *v = labels ? labels->v : default_labels;
    size_t n = labels ? labels->n : COR_ARRAY_LEN(default_labels);
    struct cor_json_error why;
    const char *field;
    struct cor_str copy;
    int r;

    if (labels == &cor_field_labels_any)
        return 0;
    while (n > 0 && !cor_str_eqz(term->field, v->label)) {
        v++;
        n--;
    }
    if (n == 0)
        return unknown_label(labels, term->field, status);
    field = v->field ? v->field : v->label;
    r = cor_json_path_new(cor_strz(v->path ? v->path : field), &term->path, &why);
    term->in_meta = r == 0 && cor_json_path_begins(term->path, COR_STR("metadata"));
    if (r == 0 && v->otherwise)
        r = cor_json_path_new(cor_strz(v->otherwise), &term->otherwise, &why);
    if (r == -COR_ENOMEM)
        return field_selector_no_memory(status);
    if (r < 0)
        return cor_status_internal(status, "field %s: %s", field, why.message);
    if (copy_str(cor_strz(field), &copy) < 0)
        return field_selector_no_memory(status);
    cor_free((char *)term->field.p);
    term->field = copy;
    term->kind = v->kind;
    return 0;
}

/* Every term is read before the first label is looked up: a mistake of the grammar is reported
 * before an unknown label. */
static int parse_terms(struct cor_str text, const struct cor_str *parts, size_t nparts,
                       const struct cor_field_labels *labels, struct cor_field_selector *selector,
                       struct cor_status *status)
{
    int r;

    for (size_t i = 0; i < nparts; i++) {
        /* Upstream reads a term without field and value as one that selects everything. */
        if (cor_str_eq(parts[i], COR_STR("=")) || cor_str_eq(parts[i], COR_STR("==")) ||
            cor_str_eq(parts[i], COR_STR("!=")))
            continue;
        r = parse_term(text, parts[i], &selector->terms[selector->n++], status);
        if (r < 0)
            return r;
    }
    for (size_t i = 0; i < selector->n; i++) {
        struct cor_field_term *term = &selector->terms[i];

        term->has_field = i == 0 || !cor_str_eq(term->field, selector->terms[i - 1].field);
        selector->nfields += term->has_field;
    }
    for (size_t i = 0; i < selector->n; i++) {
        r = resolve_term(&selector->terms[i], labels, status);
        if (r < 0)
            return r;
    }
    return 0;
}

int cor_field_selector_parse(struct cor_str text, const struct cor_field_labels *labels,
                             struct cor_field_selector **ret_selector,
                             struct cor_status *reterr_status)
{
    COR_CLEANUP(cor_field_selector_freep) struct cor_field_selector *selector = NULL;
    struct cor_str parts[COR_FIELD_SELECTOR_TERMS_MAX];
    size_t n;
    int r;

    if (text.n > COR_FIELD_SELECTOR_BYTES_MAX)
        return cor_status_bad_request(reterr_status, "a field selector has at most %u bytes",
                                      COR_FIELD_SELECTOR_BYTES_MAX);
    n = split_terms(text, parts, COR_ARRAY_LEN(parts));
    if (n > COR_ARRAY_LEN(parts))
        return cor_status_bad_request(reterr_status, "a field selector has at most %d terms",
                                      COR_FIELD_SELECTOR_TERMS_MAX);
    selector = cor_calloc(1, sizeof(*selector) + n * sizeof(selector->terms[0]));
    if (!selector)
        return field_selector_no_memory(reterr_status);
    r = parse_terms(text, parts, n, labels, selector, reterr_status);
    if (r < 0)
        return r;
    *ret_selector = COR_STEAL(selector);
    return 0;
}

struct cor_field_selector *cor_field_selector_free(struct cor_field_selector *selector)
{
    if (!selector)
        return NULL;
    for (size_t i = 0; i < selector->n; i++) {
        cor_free((char *)selector->terms[i].field.p);
        cor_free((char *)selector->terms[i].value.p);
        cor_json_path_free(selector->terms[i].path);
        cor_json_path_free(selector->terms[i].otherwise);
    }
    return cor_free(selector);
}

/* Empty when the object has no such field. An object that says where its metadata is, is searched
 * from there. */
static struct cor_str read_field(const struct cor_field_term *term,
                                 const struct cor_field_source *source)
{
    bool from_meta = term->in_meta && source->meta_at > 0;
    struct cor_str json = cor_str_from(source->json, from_meta ? source->meta_at : 0);
    struct cor_str value = {NULL, 0};
    int r = cor_json_path_first_from(term->path, from_meta, json, COR_JSON_SORTED, &value);

    if (term->otherwise && (r < 0 || cor_str_eq(value, COR_STR("\"\""))))
        r = cor_json_path_first(term->otherwise, source->json, COR_JSON_SORTED, &value);
    return r < 0 ? (struct cor_str){NULL, 0} : value;
}

static struct cor_str absent_text(const struct cor_field_term *term)
{
    static const char *const absent[] = {
        [COR_FIELD_KIND_STRING] = "", [COR_FIELD_KIND_BOOL] = "false", [COR_FIELD_KIND_INT] = "0"};

    return cor_strz(absent[term->kind]);
}

/* What a field reads as. `ret_is_raw`: a string with escapes may be in it. */
static struct cor_str text_of(const struct cor_field_term *term, struct cor_str value,
                              bool *ret_is_raw)
{
    struct cor_str raw;

    *ret_is_raw = false;
    if (!value.p)
        return absent_text(term);
    switch (cor_json_type(value)) {
    case COR_JSON_STRING:
        *ret_is_raw = true;
        return cor_json_to_raw(value, &raw) == 0 ? raw : absent_text(term);
    case COR_JSON_BOOL:
    case COR_JSON_NUMBER:
        return value;
    case COR_JSON_NONE:
    case COR_JSON_NULL:
    case COR_JSON_ARRAY:
    case COR_JSON_OBJECT:
        break;
    }
    return absent_text(term);
}

/* The place of the notes of the selector's field number `k`. */
static int place_of(const struct cor_field_places *places, size_t k)
{
    return k < COR_FIELD_NOTES_MAX ? places->at[k] : -1;
}

/* What was noted of the field; 0: nothing. */
static uint8_t note_of(const struct cor_field_notes *notes, const struct cor_field_places *places,
                       size_t k)
{
    int at = notes ? place_of(places, k) : -1;

    return at < 0 ? 0 : cor_field_notes_get(notes, at);
}

/* Reads the field, and notes what it reads as; a text with escapes would have other notes than the
 * text that it represents, so it gets none. */
static struct cor_str read_and_note(const struct cor_field_term *term,
                                    const struct cor_field_source *source, size_t k,
                                    bool *ret_is_raw)
{
    struct cor_str text = text_of(term, read_field(term, source), ret_is_raw);
    int at = source->notes ? place_of(source->places, k) : -1;

    if (at >= 0 && !(*ret_is_raw && text.n > 0 && memchr(text.p, '\\', text.n)))
        cor_field_notes_add(source->notes, at, cor_field_note(text));
    return text;
}

bool cor_field_selector_may_match(const struct cor_field_selector *selector,
                                  const struct cor_field_notes *notes,
                                  const struct cor_field_places *places)
{
    size_t k = 0;

    for (size_t i = 0; i < selector->n; i++) {
        const struct cor_field_term *term = &selector->terms[i];
        uint8_t note;

        k += term->has_field;
        note = note_of(notes, places, k - 1);
        if (term->equal && note != 0 && note != term->note)
            return false;
    }
    return true;
}

/* Terms are sorted, so those about one field follow each other: a large object is walked once for
 * all of them, and not at all where its notes are enough. */
bool cor_field_selector_matches_source(const struct cor_field_selector *selector,
                                       const struct cor_field_source *source)
{
    bool is_read = false, is_raw = false;
    struct cor_str text = {NULL, 0};
    uint8_t note = 0;
    size_t k = 0;

    for (size_t i = 0; i < selector->n; i++) {
        const struct cor_field_term *term = &selector->terms[i];
        bool is_equal = false;

        if (term->has_field) {
            note = note_of(source->notes, source->places, k++);
            is_read = false;
        }
        if (note == 0 || note == term->note) {
            if (!is_read)
                text = read_and_note(term, source, k - 1, &is_raw);
            is_read = true;
            is_equal = is_raw ? cor_json_raw_eq(text, term->value) : cor_str_eq(text, term->value);
        }
        if (is_equal != term->equal)
            return false;
    }
    return true;
}

bool cor_field_selector_requires(const struct cor_field_selector *selector, struct cor_str field,
                                 struct cor_str *ret_value)
{
    for (size_t i = 0; i < selector->n; i++) {
        const struct cor_field_term *term = &selector->terms[i];

        if (term->equal && cor_str_eq(term->field, field)) {
            *ret_value = term->value;
            return true;
        }
    }
    return false;
}
