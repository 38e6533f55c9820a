/* Patterns of schemas: whatever the first line is, it is a pattern or is refused with words, and a
 * pattern answers for the second line. Formats of strings answer for it as well. */
#include <string.h>

#include "base/err.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "schema/structural/pattern.h"
#include "schema/structural/string_format.h"

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    COR_CLEANUP(cor_pattern_freep) struct cor_pattern *pattern = NULL;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf why = {.max = 64u << 10};
    struct cor_str rest = cor_str((const char *)data, size), first = cor_str_cut(&rest, '\n');
    struct cor_str text = rest.p ? rest : COR_STR("");
    int r;

    if (cor_utf8_find_invalid(first) >= 0 || cor_utf8_find_invalid(text) >= 0)
        return 0; /* texts of JSON are valid */
    r = cor_pattern_compile(first, &pattern, &why);
    FUZZ_CHECK(r == 0 || (r == -COR_EINVALID && why.n > 0));
    if (r == 0)
        FUZZ_CHECK(cor_pattern_matches(pattern, text) >= 0);
    for (int i = 1; i < COR_STRING_FORMATS_N; i++) {
        r = cor_string_format_accepts((enum cor_string_format)i, text);
        FUZZ_CHECK(r == 0 || r == 1);
    }
    return 0;
}
