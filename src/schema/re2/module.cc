/* RE2 behind functions of C. No exception leaves this file: what RE2 cannot allocate is an answer.
 * Thread: any. */
#include "schema/re2/module.h"

#include <re2/re2.h>

#include <algorithm>
#include <cstring>
#include <new>

static cor_re2_mistake mistake_of(const RE2 &re)
{
    switch (re.error_code()) {
    case RE2::NoError:
        return COR_RE2_NO_MISTAKE;
    case RE2::ErrorBadEscape:
        return COR_RE2_BAD_ESCAPE;
    case RE2::ErrorBadCharClass:
        return COR_RE2_BAD_CLASS;
    case RE2::ErrorBadCharRange:
        return COR_RE2_BAD_RANGE;
    case RE2::ErrorMissingBracket:
        return COR_RE2_MISSING_BRACKET;
    case RE2::ErrorMissingParen:
        return COR_RE2_MISSING_PARENTHESIS;
    case RE2::ErrorUnexpectedParen:
        return COR_RE2_UNEXPECTED_PARENTHESIS;
    case RE2::ErrorTrailingBackslash:
        return COR_RE2_TRAILING_BACKSLASH;
    case RE2::ErrorRepeatArgument:
        return COR_RE2_NOTHING_TO_REPEAT;
    case RE2::ErrorRepeatSize:
        return COR_RE2_BAD_REPEAT_COUNT;
    case RE2::ErrorRepeatOp:
        return COR_RE2_NESTED_REPEAT;
    case RE2::ErrorBadPerlOp:
        return COR_RE2_BAD_PERL;
    case RE2::ErrorBadUTF8:
        return COR_RE2_BAD_UTF8;
    case RE2::ErrorBadNamedCapture:
        return COR_RE2_BAD_NAME;
    case RE2::ErrorPatternTooLarge:
        return COR_RE2_TOO_LARGE;
    default:
        return COR_RE2_INTERNAL;
    }
}

static void *compile_pattern(const char *pattern, size_t n, size_t max_bytes,
                             cor_re2_mistake *mistake, char *part, size_t cap, size_t *part_n)
{
    *part_n = 0;
    try {
        RE2::Options options;

        options.set_log_errors(false);
        options.set_max_mem(static_cast<int64_t>(max_bytes));
        RE2 *re = new RE2(re2::StringPiece(pattern, n), options);

        *mistake = mistake_of(*re);
        if (*mistake == COR_RE2_NO_MISTAKE)
            return re;
        *part_n = std::min(cap, re->error_arg().size());
        std::memcpy(part, re->error_arg().data(), *part_n);
        delete re;
    } catch (...) {
        *mistake = COR_RE2_NO_MEMORY;
    }
    return nullptr;
}

static int match_pattern(const void *compiled, const char *text, size_t n)
{
    try {
        return static_cast<const RE2 *>(compiled)->Match(re2::StringPiece(text, n), 0, n,
                                                         RE2::UNANCHORED, nullptr, 0);
    } catch (...) {
        return -1;
    }
}

static size_t states_of_pattern(const void *compiled)
{
    int size = static_cast<const RE2 *>(compiled)->ProgramSize();

    return size > 0 ? static_cast<size_t>(size) : 1;
}

static void release_pattern(void *compiled)
{
    delete static_cast<RE2 *>(compiled);
}

extern "C" __attribute__((visibility("default"))) const cor_re2_module cor_re2_module = {
    COR_RE2_MODULE_VERSION, compile_pattern, match_pattern, states_of_pattern, release_pattern,
};
