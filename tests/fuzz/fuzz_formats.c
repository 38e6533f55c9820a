/* Promises of the formats and of the parsers below them, for any text: a format finds the same
 * number of things whether anybody listens or not, an error has a body for each; an address that is
 * parsed is printed as a text that is parsed to the same and is canonical; a quantity is ordered as
 * its sign says; a list of indexes has at most as many as may be. The first line names the format,
 * or is empty for all of them. */
#include <string.h>

#include "base/err.h"
#include "fuzz.h"
#include "meta/value/quantity.h"
#include "schema/format/format.h"
#include "schema/format/format_ip.h"
#include "schema/go/index_list.h"
#include "schema/go/ip_text.h"

#define OUT_MAX     (1u << 24)
#define COMPLETIONS 1000

static void check_format(enum cor_format format, struct cor_str text)
{
    struct cor_field_path path = cor_field_root(COR_STR("f"));
    struct cor_field_errors errs = {0};
    int64_t number;
    int n;

    if (cor_format_input(format) & COR_FORMAT_OF_TEXT) {
        n = cor_format_check_text(format, text, NULL, NULL);
        cor_format_add_text(format, text, &path, &errs);
        FUZZ_CHECK(n >= 0 && errs.error == 0);
        FUZZ_CHECK(errs.n == (size_t)n || errs.n == COR_STATUS_CAUSES_MAX);
    }
    if ((cor_format_input(format) & COR_FORMAT_OF_INT) && cor_str_to_i64(text, &number) == 0)
        cor_format_add_int(format, number, &path, &errs);
    for (size_t i = 0; i < errs.n; i++)
        FUZZ_CHECK(errs.v[i].body[0] != '\0');
    cor_field_errors_deinit(&errs);
}

static void check_addresses(struct cor_str text)
{
    char room[COR_CIDR_TEXT_MAX], again[COR_CIDR_TEXT_MAX];
    struct cor_cidr cidr, cidr2;
    struct cor_ip ip, ip2;
    struct cor_str printed;
    struct cor_buf out;

    cor_buf_init(&out, OUT_MAX);
    if (cor_ip_parse(text, &ip)) {
        printed = cor_ip_print(&ip, room);
        FUZZ_CHECK(printed.n < COR_IP_TEXT_MAX && cor_ip_parse(printed, &ip2));
        FUZZ_CHECK(memcmp(ip.bytes, ip2.bytes, sizeof(ip.bytes)) == 0);
        FUZZ_CHECK(!ip2.has_extra_zeros && ip2.is_written_as_v6 == !cor_ip_is_v4(&ip));
        FUZZ_CHECK(cor_format_ok(COR_FORMAT_IP_CANONICAL, printed));
        FUZZ_CHECK(cor_ip_warning(printed, &out) == 0);
    }
    FUZZ_CHECK(cor_ip_warning(text, &out) >= 0);
    if (cor_cidr_parse(text, &cidr)) {
        printed = cor_cidr_print(&cidr, room);
        FUZZ_CHECK(printed.n < COR_CIDR_TEXT_MAX && cor_cidr_parse(printed, &cidr2));
        FUZZ_CHECK(!cor_cidr_has_host_bits(&cidr2));
        FUZZ_CHECK(cor_str_eq(printed, cor_cidr_print(&cidr2, again)));
        FUZZ_CHECK(cor_format_ok(COR_FORMAT_CIDR_CANONICAL, printed));
        FUZZ_CHECK(cor_cidr_warning(printed, 0, &out) == 0);
        FUZZ_CHECK(cor_cidr_warning(printed, 1, &out) == 0);
    }
    FUZZ_CHECK(cor_cidr_warning(text, 0, &out) >= 0 && cor_cidr_warning(text, 1, &out) >= 0);
    cor_buf_deinit(&out);
}

static void check_quantity(struct cor_str text)
{
    int sign = cor_quantity_sign(text), order;
    int64_t wholes, thousandths;

    if (cor_quantity_cmp(text, COR_STR("0"), &order) == 0)
        FUZZ_CHECK((order > 0) - (order < 0) == sign);
    if (cor_quantity_scaled(text, 0, &wholes) < 0 ||
        cor_quantity_scaled(text, -3, &thousandths) < 0)
        return;
    FUZZ_CHECK((wholes > 0) - (wholes < 0) == sign);
    FUZZ_CHECK((thousandths + sign * 999) / 1000 == wholes);
}

static void check_indexes(struct cor_str text)
{
    int32_t total, shared;
    struct cor_buf why;
    int r;

    cor_buf_init(&why, OUT_MAX);
    r = cor_index_list_check(text, COMPLETIONS, &total, &why);
    FUZZ_CHECK(r == 0 || (r == 1 && why.n > 0));
    FUZZ_CHECK(total >= 0 && total <= COMPLETIONS);
    shared = cor_index_lists_overlap(text, text, COMPLETIONS);
    FUZZ_CHECK(r != 0 || (shared >= 0) == (total > 0));
    cor_buf_deinit(&why);
}

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    struct cor_str text = cor_str((const char *)data, size), name = cor_str_cut(&text, '\n');
    enum cor_format format;

    if (!text.p)
        text = name;
    if (cor_format_find(name, &format))
        check_format(format, text);
    else
        for (size_t i = 0; i < COR_FORMATS_N; i++)
            check_format((enum cor_format)i, text);
    check_addresses(text);
    check_quantity(text);
    check_indexes(text);
    return 0;
}
