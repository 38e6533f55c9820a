/* Loads the module of regular expressions once and passes calls on to it. The module stays until
 * the program ends. When it cannot be loaded, every compilation says so, because a schema with
 * patterns must not be served without them.
 *
 * What a compiled pattern takes is known by its maximum alone: RE2 fills the rest of it with states
 * while it matches, and matches more slowly when it is full. So the maximum is what is charged.
 * Thread: any; the first callers wait for the one that loads. */
#include "schema/structural/pattern.h"

#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "schema/re2/module.h"
#include "schema/re2/module_paths.h"

/* States that are gone through in the time of a step. */
#define STEP_STATES 4
/* The bytes of a mistake that a message shows. */
#define PART_MAX 4096

struct cor_pattern {
    void *compiled;                      /* the module's */
    size_t bytes;                        /* at most */
    size_t states;                       /* at once, at most */
    struct cor_pattern_account *account; /* that it is charged to; NULL: it is not kept */
};

static const size_t maxima[] = {64u << 10, 256u << 10, 1u << 20, COR_PATTERN_BYTES_MAX};

static atomic_size_t kept_bytes; /* of all accounts */

static pthread_once_t module_once = PTHREAD_ONCE_INIT;
static const struct cor_re2_module *module; /* NULL: it could not be loaded */
static char module_why[512];

static void load_module(void)
{
    static const char *const paths[] = {
#ifdef COR_RE2_MODULE_BUILT
        COR_RE2_MODULE_BUILT,
#endif
        COR_RE2_MODULE,
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(paths) && !module; i++) {
        void *handle = dlopen(paths[i], RTLD_NOW | RTLD_LOCAL);
        const struct cor_re2_module *found = handle ? dlsym(handle, COR_RE2_MODULE_SYMBOL) : NULL;

        if (found && found->version == COR_RE2_MODULE_VERSION)
            module = found;
        else if (handle)
            snprintf(module_why, sizeof(module_why), "%s is of another version", paths[i]);
        else
            snprintf(module_why, sizeof(module_why), "%s", dlerror());
    }
}

/* What Go's package says. */
static const char *words_of(enum cor_re2_mistake mistake)
{
    switch (mistake) {
    case COR_RE2_BAD_ESCAPE:
        return "invalid escape sequence";
    case COR_RE2_BAD_CLASS:
        return "invalid character class";
    case COR_RE2_BAD_RANGE:
        return "invalid character class range";
    case COR_RE2_MISSING_BRACKET:
        return "missing closing ]";
    case COR_RE2_MISSING_PARENTHESIS:
        return "missing closing )";
    case COR_RE2_UNEXPECTED_PARENTHESIS:
        return "unexpected )";
    case COR_RE2_TRAILING_BACKSLASH:
        return "trailing backslash at end of expression";
    case COR_RE2_NOTHING_TO_REPEAT:
        return "missing argument to repetition operator";
    case COR_RE2_BAD_REPEAT_COUNT:
        return "invalid repeat count";
    case COR_RE2_NESTED_REPEAT:
        return "invalid nested repetition operator";
    case COR_RE2_BAD_PERL:
        return "invalid or unsupported Perl syntax";
    case COR_RE2_BAD_UTF8:
        return "invalid UTF-8";
    case COR_RE2_BAD_NAME:
        return "invalid named capture";
    case COR_RE2_TOO_LARGE:
        return "expression too large";
    case COR_RE2_NO_MISTAKE:
    case COR_RE2_NO_MEMORY:
    case COR_RE2_INTERNAL:
        break;
    }
    return "regexp/syntax: internal error";
}

int cor_pattern_compile(struct cor_str text, struct cor_pattern **ret_pattern, struct cor_buf *why)
{
    enum cor_re2_mistake mistake = COR_RE2_NO_MISTAKE;
    struct cor_pattern *pattern;
    char part[PART_MAX];
    size_t part_n = 0;
    int r = 0;

    pthread_once(&module_once, load_module);
    if (!module) {
        if (why)
            (void)cor_buf_addf(why, "regular expressions cannot be checked: %s", module_why);
        return -COR_EINTERNAL;
    }
    pattern = cor_calloc(1, sizeof(*pattern));
    if (!pattern)
        return -COR_ENOMEM;
    for (size_t i = 0; i < COR_ARRAY_LEN(maxima) && !pattern->compiled; i++) {
        if (i > 0 && mistake != COR_RE2_TOO_LARGE)
            break;
        pattern->bytes = maxima[i];
        pattern->compiled =
            module->compile(text.p, text.n, maxima[i], &mistake, part, sizeof(part), &part_n);
    }
    if (pattern->compiled) {
        pattern->states = module->states(pattern->compiled);
        *ret_pattern = pattern;
        return 0;
    }
    cor_free(pattern);
    if (mistake == COR_RE2_NO_MEMORY)
        return -COR_ENOMEM;
    if (why)
        r = cor_buf_addf(why, "error parsing regexp: %s: `%.*s`", words_of(mistake), (int)part_n,
                         part);
    return r == -COR_ENOMEM ? r : -COR_EINVALID;
}

/* Adds to a sum that has a maximum. False: it would be passed, and the sum is as it was. */
static bool charge(atomic_size_t *sum, size_t bytes, size_t max)
{
    if (atomic_fetch_add(sum, bytes) + bytes <= max)
        return true;
    atomic_fetch_sub(sum, bytes);
    return false;
}

bool cor_pattern_keep(struct cor_pattern *pattern, struct cor_pattern_account *account)
{
    assert(!pattern->account);
    if (!charge(&account->bytes, pattern->bytes, COR_PATTERN_ACCOUNT_MAX))
        return false;
    if (!charge(&kept_bytes, pattern->bytes, COR_PATTERNS_BYTES_MAX)) {
        atomic_fetch_sub(&account->bytes, pattern->bytes);
        return false;
    }
    pattern->account = account;
    return true;
}

size_t cor_pattern_bytes(const struct cor_pattern *pattern)
{
    return pattern->bytes;
}

struct cor_pattern *cor_pattern_free(struct cor_pattern *pattern)
{
    if (!pattern)
        return NULL;
    if (pattern->account) {
        atomic_fetch_sub(&pattern->account->bytes, pattern->bytes);
        atomic_fetch_sub(&kept_bytes, pattern->bytes);
    }
    module->release(pattern->compiled);
    return cor_free(pattern);
}

uint64_t cor_pattern_steps(const struct cor_pattern *pattern, size_t text_bytes)
{
    return (uint64_t)pattern->states * text_bytes / STEP_STATES;
}

int cor_pattern_matches(const struct cor_pattern *pattern, struct cor_str text)
{
    int r = module->match(pattern->compiled, text.p, text.n);

    return r < 0 ? -COR_ENOMEM : r;
}
