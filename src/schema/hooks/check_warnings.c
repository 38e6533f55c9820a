/* The hooks of the warn programs that several kinds share (contract types 5.2 to 5.4;
 * schema/check/check.h describes what they work with). Values have passed validation, so that
 * nearly each of them ends here after one test. Thread: any. */
#include "schema/hooks/check_warnings.h"

#include <string.h>

#include "base/array.h"
#include "base/base64.h"
#include "base/err.h"
#include "base/limits.h"
#include "meta/value/quantity.h"
#include "schema/format/format_ip.h"
#include "schema/hooks/hooks.h"

#define TEXT_MAX (64u * 1024)

/* --- Names ------------------------------------------------------------------------------------ */

COR_HOOK(warn_name)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf why = {.max = TEXT_MAX};
    struct cor_place name;
    struct cor_str text;

    cor_place_field(check, place, "name", &name);
    text = cor_place_text(check, &name);
    if (cor_format_ok(COR_FORMAT_DNS_LABEL, text))
        return;
    cor_check_note(check, cor_format_join(COR_FORMAT_DNS_LABEL, text, " ", &why));
    cor_check_warn_at(check, &name.path,
                      "this is used in %.*s, which can result in surprising behavior; a DNS label "
                      "is recommended: [%s]",
                      COR_STR_ARG(arg), cor_buf_z(&why));
}

/* --- Labels of nodes -------------------------------------------------------------------------- */

/* What is said of a label that nodes should not be selected by; NULL: nothing. */
static const char *find_deprecated_label(struct cor_str key)
{
    static const struct {
        struct cor_str key;
        const char *message;
    } labels[] = {
        {COR_STR("beta.kubernetes.io/arch"),
         "deprecated since v1.14; use \"kubernetes.io/arch\" instead"},
        {COR_STR("beta.kubernetes.io/os"),
         "deprecated since v1.14; use \"kubernetes.io/os\" instead"},
        {COR_STR("failure-domain.beta.kubernetes.io/region"),
         "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead"},
        {COR_STR("failure-domain.beta.kubernetes.io/zone"),
         "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead"},
        {COR_STR("beta.kubernetes.io/instance-type"),
         "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead"},
        {COR_STR("app.kubernetes.io/created-by"), "deprecated since v1.9"},
        {COR_STR("scheduler.alpha.kubernetes.io/preferAvoidPods"),
         "deprecated since v1.22; use Taints and Tolerations instead"},
        {COR_STR("node-role.kubernetes.io/master"),
         "use \"node-role.kubernetes.io/control-plane\" instead"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(labels); i++) {
        if (cor_str_eq(key, labels[i].key))
            return labels[i].message;
    }
    return NULL;
}

COR_HOOK(warn_label)
{
    struct cor_str key = place->key.p ? place->key : cor_place_text(check, place);
    const char *message = find_deprecated_label(key);
    struct cor_field_path child = cor_field_child(&place->path, key);

    if (message && cor_str_eqz(arg, "child"))
        cor_check_warn_at(check, &child, "%s", message);
    else if (message && arg.n > 0)
        cor_check_warn_at(check, &place->path, "%.*s is %s", COR_STR_ARG(key), message);
    else if (message)
        cor_check_warn_at(check, &place->path, "%s", message);
}

struct warn_value {
    struct cor_check *check;
    const struct cor_place *value;
};

static void add_label_value(void *arg, const struct cor_format_finding *finding)
{
    const struct warn_value *of = arg;
    struct cor_str text = cor_place_text(of->check, of->value);

    if (text.n > COR_CHECK_WARNING_TEXT_MAX)
        text.n = COR_CHECK_WARNING_TEXT_MAX;
    cor_check_warn_at(of->check, &of->value->path, "%.*s is invalid, %s", COR_STR_ARG(text),
                      finding->detail);
}

COR_HOOK(warn_label_values)
{
    struct cor_place value;

    COR_EACH(check, place, value) {
        struct warn_value of = {check, &value};
        int r = cor_format_check_text(COR_FORMAT_LABEL_VALUE, cor_place_text(check, &value),
                                      add_label_value, &of);

        cor_check_note(check, r);
    }
}

/* --- Addresses -------------------------------------------------------------------------------- */

COR_HOOK(warn_ip)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = TEXT_MAX};
    int r = cor_ip_warning(cor_place_text(check, place), &text);

    cor_check_note(check, r);
    if (r > 0)
        cor_check_warn_at(check, &place->path, "%s", cor_buf_z(&text));
}

COR_HOOK(warn_cidr)
{
    for (size_t i = 0; i < COR_CIDR_WARNINGS; i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = TEXT_MAX};
        int r = cor_cidr_warning(cor_place_text(check, place), i, &text);

        cor_check_note(check, r);
        if (r > 0)
            cor_check_warn_at(check, &place->path, "%s", cor_buf_z(&text));
    }
}

/* --- Quantities ------------------------------------------------------------------------------- */

/* Returns whether a number of bytes, whose thousandths overflow an int64, has a fraction by
 * upstream's arithmetic. The product wraps around there when the text has a binary suffix, none, k
 * or M; it counts as 0 otherwise. */
static bool is_wrapped_fraction(struct cor_str text)
{
    char last = text.p[text.n - 1];
    int scale = last == 'k' ? 3 : last == 'M' ? 6 : 0;
    uint64_t factor = last == 'k' ? 1000000 : last == 'M' ? 1000000000 : 1000;
    int64_t number;

    if (cor_str_find(COR_STR("ikM0123456789"), last) < 0 || cor_str_find(text, 'e') >= 0 ||
        cor_quantity_scaled(text, scale, &number) < 0)
        return false;
    return (int64_t)((uint64_t)number * factor) % 1000 != 0;
}

/* Returns whether the quantity is obviously a whole number of bytes, and small enough for the
 * arithmetic. */
static bool is_plainly_whole(struct cor_str text)
{
    size_t n = 0;

    while (n < text.n && text.p[n] >= '0' && text.p[n] <= '9')
        n++;
    if (n == text.n)
        return n <= 15;
    return n <= 6 && cor_str_find(COR_STR("kKMG"), text.p[n]) >= 0;
}

/* Has the number of bytes a fraction? Less than a thousandth counts as one. */
static bool is_fraction(struct cor_str text)
{
    int64_t thousandths;
    int r;

    if (is_plainly_whole(text))
        return false;
    r = cor_quantity_scaled(text, -3, &thousandths);
    return r == -COR_ETOOBIG ? is_wrapped_fraction(text) : r == 0 && thousandths % 1000 != 0;
}

COR_HOOK(warn_fraction)
{
    struct cor_str text = cor_place_text(check, place);

    if (is_fraction(text))
        cor_check_warn_at(check, &place->path,
                          "fractional byte value \"%.*s\" is invalid, must be an integer",
                          COR_STR_ARG(text));
}

/* --- Secrets ---------------------------------------------------------------------------------- */

/* Appends the bytes of an entry of a Secret's data, which validation has found to be base64. */
static void decode_entry(struct cor_check *check, const struct cor_place *data, const char *key,
                         struct cor_buf *out)
{
    struct cor_place entry;
    int r = 0;

    cor_buf_init_secret(out, COR_OBJECT_BYTES_MAX_DEFAULT);
    if (cor_place_entry(check, data, cor_strz(key), &entry))
        r = cor_base64_decode(COR_BASE64_STD, cor_place_text(check, &entry), out, NULL);
    cor_check_note(check, r == -COR_EINVAL ? 0 : r);
}

COR_HOOK(warn_key_pair)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf cert = {0}, key = {0};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = TEXT_MAX};
    struct cor_place data;
    int r = 0;

    cor_place_field(check, place, "data", &data);
    decode_entry(check, &data, "tls.crt", &cert);
    decode_entry(check, &data, "tls.key", &key);
    if (check->key_pair && check->errors->error == 0)
        r = check->key_pair(cor_buf_str(&cert), cor_buf_str(&key), &text);
    cor_check_note(check, r);
    if (r > 0)
        cor_check_warn(check, cor_buf_str(&text));
}
