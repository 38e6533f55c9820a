/* Input: the value of a Warning header. Each step cuts something off, and what is told prints. */
#include "base/err.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "kit/rest/warning.h"

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    struct cor_str rest = cor_str((const char *)data, size);
    struct cor_buf text;
    size_t before = size + 1;
    int r, code;

    cor_buf_init(&text, COR_WARNING_TEXT_MAX);
    while ((r = cor_warning_next(&rest, &code, &text)) > 0) {
        FUZZ_CHECK(rest.n < before && code >= 0 && code <= 999);
        FUZZ_CHECK(cor_utf8_find_invalid(cor_buf_str(&text)) < 0);
        FUZZ_CHECK(text.n == 0 || !memchr(text.p, '\n', text.n));
        before = rest.n;
    }
    FUZZ_CHECK(r == 0 || r == -COR_EINVAL || r == -COR_ETOOBIG || r == -COR_ENOMEM);
    cor_buf_deinit(&text);
    return 0;
}
