/* The formats of numbers: ports and their names, percentages, identifiers of users, file modes
 * (contract validation 3.1.20, 3.2.1 to 3.2.6). */
#include "base/ascii.h"
#include "schema/format/format_int.h"

#define PORT_MAX            65535
#define PORT_NAME_BYTES_MAX 15
#define ID_MAX              INT32_MAX
#define FILE_MODE_MAX       0777

void cor_format_check_file_mode(struct cor_format_run *run)
{
    if (run->number < 0 || run->number > FILE_MODE_MAX)
        cor_format_invalid(run, "must be a number between 0 and 0777 (octal), both inclusive");
}

void cor_format_check_port(struct cor_format_run *run)
{
    if (run->number < 1 || run->number > PORT_MAX)
        cor_format_invalid(run, "must be between 1 and 65535, inclusive");
}

void cor_format_check_port_name(struct cor_format_run *run)
{
    struct cor_str name = run->text;
    bool is_clean = name.n > 0, has_letter = false, has_pair = false;

    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];

        is_clean &= cor_is_lower(c) || cor_is_digit(c) || c == '-';
        has_letter |= cor_is_lower(c);
        has_pair |= c == '-' && i > 0 && name.p[i - 1] == '-';
    }
    if (name.n > PORT_NAME_BYTES_MAX)
        cor_format_invalid(run, "must be no more than 15 characters");
    if (!is_clean)
        cor_format_invalid(
            run, "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
    if (!has_letter)
        cor_format_invalid(run, "must contain at least one letter (a-z)");
    if (has_pair)
        cor_format_invalid(run, "must not contain consecutive hyphens");
    if (name.n > 0 && (name.p[0] == '-' || name.p[name.n - 1] == '-'))
        cor_format_invalid(run, "must not begin or end with a hyphen");
}

void cor_format_check_port_or_name(struct cor_format_run *run)
{
    if (run->is_int)
        cor_format_check_port(run);
    else
        cor_format_check_port_name(run);
}

static bool is_percent(struct cor_str text)
{
    if (text.n < 2 || text.p[text.n - 1] != '%')
        return false;
    for (size_t i = 0; i + 1 < text.n; i++) {
        if (!cor_is_digit(text.p[i]))
            return false;
    }
    return true;
}

void cor_format_check_int_or_percent(struct cor_format_run *run)
{
    run->is_named = true; /* an IntOrString */
    if (run->is_int && run->number < 0)
        cor_format_invalid(run, "must be greater than or equal to 0");
    else if (!run->is_int && !is_percent(run->text))
        cor_format_invalid(run, "a valid percent string must be a numeric string followed by an "
                                "ending '%' (e.g. '1%',  or '93%', regex used for validation is "
                                "'[0-9]+%')");
}

/* Nothing is wrong with what is not a percentage: int-or-percent reports that. Upstream ignores the
 * overflow of a number that no int64 holds, and gets the greatest one. */
void cor_format_check_max_100_percent(struct cor_format_run *run)
{
    struct cor_str digits = run->text;

    run->is_named = true;
    if (run->is_int || !is_percent(run->text))
        return;
    digits.n--;
    while (digits.n > 0 && digits.p[0] == '0')
        digits = cor_str_from(digits, 1);
    if (digits.n > 3 || (digits.n == 3 && !cor_str_eq(digits, COR_STR("100"))))
        cor_format_invalid(run, "must not be greater than 100%");
}

void cor_format_check_id(struct cor_format_run *run)
{
    if (run->number < 0 || run->number > ID_MAX)
        cor_format_invalid(run, "must be between 0 and 2147483647, inclusive");
}
