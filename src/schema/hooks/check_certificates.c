/* The hooks of validation for CertificateSigningRequest and trust bundles (schema/check/check.h
 * describes what they work with). The DER inside a request is judged by whoever runs the check;
 * that of issued certificates is not looked at. Thread: any. */
#include "schema/hooks/check_certificates.h"

#include <string.h>

#include "base/base64.h"
#include "base/err.h"
#include "base/limits.h"
#include "schema/hooks/hooks.h"

#define WHY_MAX 4096

/* --- PEM -------------------------------------------------------------------------------------- */

/* The next line without its end; false: there is none. */
static bool next_line(struct cor_str *rest, struct cor_str *ret_line)
{
    if (!rest->p || rest->n == 0)
        return false;
    *ret_line = cor_str_trim(cor_str_cut(rest, '\n'));
    return true;
}

/* The label of a line `-----BEGIN label-----`, or of one with END. */
static bool parse_edge(struct cor_str line, struct cor_str word, struct cor_str *ret_label)
{
    if (!cor_str_starts(line, word) || line.n < word.n + 5 || !cor_str_ends(line, COR_STR("-----")))
        return false;
    *ret_label = (struct cor_str){line.p + word.n, line.n - word.n - 5};
    return true;
}

struct pem_block {
    struct cor_str label, body; /* the body is the base64, with its line ends */
    bool has_headers;
};

/* The next block that has an end; `rest` is moved behind the block. */
static bool next_block(struct cor_str *rest, struct pem_block *ret)
{
    struct cor_str line, end;
    bool is_open = false, is_before_body = false;

    while (next_line(rest, &line)) {
        is_before_body = is_before_body && cor_str_find(line, ':') >= 0;
        if (parse_edge(line, COR_STR("-----BEGIN "), &ret->label)) {
            is_open = is_before_body = true;
            ret->has_headers = false;
            ret->body = *rest;
        } else if (is_before_body) {
            ret->has_headers = true;
            ret->body = *rest;
        } else if (is_open && parse_edge(line, COR_STR("-----END "), &end)) {
            ret->body.n = ret->body.p ? (size_t)(line.p - ret->body.p) : 0;
            if (cor_str_eq(end, ret->label))
                return true;
            is_open = false;
        }
    }
    return false;
}

/* The bytes of a block. -COR_EINVAL: its body is not a base64. */
static int decode_body(struct cor_str body, struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = COR_OBJECT_BYTES_MAX_DEFAULT};
    int r = 0;

    for (size_t i = 0; i < body.n && r == 0; i++) {
        if (!strchr(" \t\r\n", body.p[i]) || body.p[i] == '\0')
            r = cor_buf_addc(&text, body.p[i]);
    }
    return r < 0 ? r : cor_base64_decode(COR_BASE64_STD, cor_buf_str(&text), out, NULL);
}

static void decode(struct cor_check *check, const struct cor_place *place, struct cor_buf *out)
{
    int r = cor_base64_decode(COR_BASE64_STD, cor_place_text(check, place), out, NULL);

    if (r < 0 && r != -COR_EINVAL)
        cor_check_note(check, r);
}

COR_HOOK(certificate_request)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf pem = {.max = COR_OBJECT_BYTES_MAX_DEFAULT};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf der = {.max = COR_OBJECT_BYTES_MAX_DEFAULT};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf why = {.max = WHY_MAX};
    struct pem_block block;
    struct cor_str rest;
    int r = -COR_EINVAL;

    decode(check, place, &pem);
    rest = cor_buf_str(&pem);
    /* A block whose body is not a base64 is passed over. */
    while (r == -COR_EINVAL && next_block(&rest, &block))
        r = decode_body(block.body, &der);
    if (r < 0 && r != -COR_EINVAL) {
        cor_check_note(check, r);
    } else if (r < 0 || !cor_str_eq(block.label, COR_STR("CERTIFICATE REQUEST"))) {
        cor_check_invalid(check, place, "PEM block type must be CERTIFICATE REQUEST");
    } else if (check->check_request) {
        r = check->check_request(cor_buf_str(&der), &why);
        if (r > 0)
            cor_check_invalid(check, place, cor_buf_z(&why));
        else
            cor_check_note(check, r);
    }
}

/* What is wrong with PEM data; NULL: nothing. */
static const char *certificate_mistake(struct cor_check *check, const struct cor_place *place)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf pem = {.max = COR_OBJECT_BYTES_MAX_DEFAULT};
    struct pem_block block;
    struct cor_str rest;
    size_t n = 0;

    decode(check, place, &pem);
    if (pem.n == 0)
        return NULL;
    for (rest = cor_buf_str(&pem); next_block(&rest, &block); n++) {
        if (!cor_str_eq(block.label, COR_STR("CERTIFICATE")))
            return cor_check_printf(check,
                                    "only CERTIFICATE PEM blocks are allowed, found \"%.*s\"",
                                    COR_STR_ARG(block.label));
        if (block.has_headers)
            return "no PEM block headers are permitted";
    }
    return n > 0 ? NULL : "must contain at least one CERTIFICATE PEM block";
}

COR_HOOK(issued_certificate)
{
    struct cor_place old = cor_place_old(place);
    const char *mistake = certificate_mistake(check, place);

    if (mistake && (!check->has_old || !certificate_mistake(check, &old)))
        cor_check_add_value(check, COR_FIELD_INVALID, place,
                            cor_field_string(COR_STR("<certificate data>")), mistake);
}

/* --- Conditions ------------------------------------------------------------------------------- */

static const char *const final_types[] = {"Approved", "Denied", "Failed"};
enum { APPROVED, DENIED, FAILED, FINAL_TYPES };

/* What a list of conditions has. */
struct conditions {
    size_t n[FINAL_TYPES];
    bool has_twice, has_empty;
};

static size_t final_type(struct cor_str type)
{
    size_t i = 0;

    while (i < FINAL_TYPES && !cor_str_eq(type, cor_strz(final_types[i])))
        i++;
    return i;
}

static struct conditions count_conditions(struct cor_check *check, const struct cor_place *list)
{
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set seen = {.nfew = 0};
    struct cor_each each = cor_each(check, list);
    struct conditions found = {.n = {0}};
    struct cor_place item;

    cor_str_set_init(&seen, COR_OBJECT_BYTES_MAX_DEFAULT);
    while (cor_place_is_present(list) && cor_each_next(check, &each, &item)) {
        struct cor_str type = cor_field_text(check, &item, "type");
        size_t i = final_type(type);
        bool is_new = true;

        cor_check_note(check, cor_str_set_add(&seen, type, &is_new));
        found.has_twice = found.has_twice || !is_new;
        found.has_empty = found.has_empty || type.n == 0;
        if (i < FINAL_TYPES)
            found.n[i]++;
    }
    return found;
}

static void check_condition_status(struct cor_check *check, const struct cor_place *condition,
                                   bool is_final)
{
    static const char *const states[] = {"False", "True", "Unknown"};
    struct cor_place status;
    struct cor_str text;

    cor_place_field(check, condition, "status", &status);
    text = cor_place_text(check, &status);
    if (text.n == 0)
        cor_check_required(check, &status, NULL);
    else if (is_final && !cor_str_eq(text, COR_STR("True")))
        cor_check_not_supported(check, &status, &states[1], 1);
    else if (!cor_str_eq(text, cor_strz(states[0])) && !cor_str_eq(text, cor_strz(states[1])) &&
             !cor_str_eq(text, cor_strz(states[2])))
        cor_check_not_supported(check, &status, states, COR_ARRAY_LEN(states));
}

/* A mistake that the old object has already is tolerated. */
COR_HOOK(request_conditions)
{
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set seen = {.nfew = 0};
    struct cor_place old_list = cor_place_old(place), item, type;
    struct conditions old = {.n = {0}};
    bool has[FINAL_TYPES + 1] = {false};

    if (check->has_old)
        old = count_conditions(check, &old_list);
    cor_str_set_init(&seen, COR_OBJECT_BYTES_MAX_DEFAULT);
    COR_EACH(check, place, item) {
        bool is_new = true;
        struct cor_str text;
        size_t i;

        cor_place_field(check, &item, "type", &type);
        text = cor_place_text(check, &type);
        i = final_type(text);
        if (text.n == 0 && !old.has_empty)
            cor_check_required(check, &type, NULL);
        check_condition_status(check, &item, i < FINAL_TYPES);
        has[i] = true;
        if ((i == APPROVED || i == DENIED) && has[APPROVED] && has[DENIED] &&
            !(old.n[APPROVED] > 0 && old.n[DENIED] > 0))
            cor_check_add_value(check, COR_FIELD_INVALID, place, cor_field_string(text),
                                "Approved and Denied conditions are mutually exclusive");
        cor_check_note(check, cor_str_set_add(&seen, text, &is_new));
        if (!is_new && !old.has_twice)
            cor_check_duplicate(check, &type);
    }
}

/* Are the conditions of that type the same in both lists? */
static bool are_unchanged(struct cor_check *check, const struct cor_place *list,
                          const struct cor_place *old_list, size_t wanted)
{
    struct cor_each old_each = cor_each(check, old_list);
    struct cor_place item, old_item;

    COR_EACH(check, list, item) {
        struct cor_str text = cor_place_json(check, &item);

        if (final_type(cor_field_text(check, &item, "type")) != wanted)
            continue;
        do {
            if (!cor_each_next(check, &old_each, &old_item))
                return false;
        } while (final_type(cor_field_text(check, &old_item, "type")) != wanted);
        if (!cor_str_eq(text, cor_place_json(check, &old_item)))
            return false;
    }
    return true;
}

COR_HOOK(kept_conditions)
{
    struct cor_place old_list = cor_place_old(place);
    struct conditions now = count_conditions(check, place);
    struct conditions old = count_conditions(check, &old_list);

    for (size_t i = 0; i < FINAL_TYPES; i++) {
        if (now.n[i] < old.n[i])
            cor_check_forbidden(check, place,
                                cor_check_printf(check,
                                                 "updates may not remove a condition of type "
                                                 "\"%s\"",
                                                 final_types[i]));
    }
    for (size_t i = 0; i < FAILED && check->operation != COR_CHECK_APPROVAL; i++) {
        const char *what = NULL;

        if (now.n[i] > old.n[i])
            what = "add";
        else if (now.n[i] == old.n[i] && now.n[i] > 0 && !are_unchanged(check, place, &old_list, i))
            what = "modify";
        if (what)
            cor_check_forbidden(check, place,
                                cor_check_printf(check,
                                                 "updates may not %s a condition of type \"%s\"",
                                                 what, final_types[i]));
    }
}
