/* Flags by a table: each row says where the value goes in the command's options. Values are checked
 * before the command runs; a wrong one is reported with its flag and what was expected. A new flag
 * of a command is a row of its table and a member of its options. */
#include "flags.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "base/err.h"
#include "base/str.h"

#define WORD_MAX  48
#define FLAGS_MAX 64
/* Of the help texts; a longer flag has a line of its own. */
#define COLUMN 34

static size_t least(size_t a, size_t b, size_t c)
{
    size_t m = a < b ? a : b;

    return m < c ? m : c;
}

/* Edit distance in which two neighbours that changed places count as one. */
static size_t distance(const char *a, const char *b)
{
    size_t d[WORD_MAX + 1][WORD_MAX + 1], na = strlen(a), nb = strlen(b);

    if (na > WORD_MAX || nb > WORD_MAX)
        return WORD_MAX;
    for (size_t i = 0; i <= na; i++)
        d[i][0] = i;
    for (size_t j = 0; j <= nb; j++)
        d[0][j] = j;
    for (size_t i = 1; i <= na; i++) {
        for (size_t j = 1; j <= nb; j++) {
            size_t cost = a[i - 1] == b[j - 1] ? 0 : 1;

            d[i][j] = least(d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + cost);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                d[i - 2][j - 2] + 1 < d[i][j])
                d[i][j] = d[i - 2][j - 2] + 1;
        }
    }
    return d[na][nb];
}

const char *flags_nearest(const char *word, const char *const *words, size_t nwords)
{
    const char *best = NULL;
    size_t len = strlen(word), best_distance = len / 3 + 2;

    for (size_t i = 0; i < nwords; i++) {
        bool begins = len >= 2 && strncmp(words[i], word, len) == 0;
        size_t d = begins ? 1 : distance(word, words[i]);

        if (d < best_distance && d < strlen(words[i])) {
            best = words[i];
            best_distance = d;
        }
    }
    return best;
}

static int unknown_flag(const struct flag *flags, size_t nflags, const char *given,
                        struct cor_str name, struct cor_buf *reterr_message)
{
    const char *words[FLAGS_MAX], *near;
    char word[WORD_MAX + 1];

    snprintf(word, sizeof(word), "%.*s", COR_STR_ARG(name));
    for (size_t i = 0; i < nflags; i++)
        words[i] = flags[i].name;
    near = flags_nearest(word, words, nflags);
    cor_buf_addf(reterr_message, "unknown flag %.*s", (int)(name.p + name.n - given), given);
    if (near)
        cor_buf_addf(reterr_message, "; did you mean --%s?", near);
    return -COR_EINVAL;
}

static bool is_choice(const char *choices, const char *value)
{
    struct cor_str rest = cor_strz(choices);

    while (rest.p) {
        if (cor_str_eqz(cor_str_cut(&rest, '|'), value))
            return true;
    }
    return false;
}

static int set_number(const struct flag *flag, const char *value, uint64_t *ret,
                      struct cor_buf *reterr_message)
{
    uint64_t max = flag->max ? flag->max : INT64_MAX, n;

    if (cor_str_to_u64(cor_strz(value), &n) < 0 || n < flag->min || n > max) {
        cor_buf_addf(reterr_message, "flag --%s: \"%s\" is not a whole number from %llu to %llu",
                     flag->name, value, (unsigned long long)flag->min, (unsigned long long)max);
        return -COR_EINVAL;
    }
    *ret = n;
    return 0;
}

static int set_duration(const struct flag *flag, const char *value, uint64_t *ret,
                        struct cor_buf *reterr_message)
{
    int64_t ns;

    if (cor_duration_parse(cor_strz(value), &ns) < 0 || ns < 0) {
        cor_buf_addf(reterr_message, "flag --%s: \"%s\" is not a duration such as 90s or 1m30s",
                     flag->name, value);
        return -COR_EINVAL;
    }
    *ret = (uint64_t)ns / 1000000;
    return 0;
}

static int set_value(const struct flag *flag, const char *value, void *opts,
                     struct cor_buf *reterr_message)
{
    void *at = (char *)opts + flag->at;

    switch (flag->kind) {
    case FLAG_SWITCH:
        if (value && !is_choice("true|false", value)) {
            cor_buf_addf(reterr_message, "flag --%s: \"%s\" is neither true nor false", flag->name,
                         value);
            return -COR_EINVAL;
        }
        *(bool *)at = !value || strcmp(value, "true") == 0;
        return 0;
    case FLAG_CHOICE:
        if (!is_choice(flag->value, value)) {
            cor_buf_addf(reterr_message, "flag --%s: \"%s\" is not one of %s", flag->name, value,
                         flag->value);
            return -COR_EINVAL;
        }
        *(const char **)at = value;
        return 0;
    case FLAG_TEXT:
        *(const char **)at = value;
        return 0;
    case FLAG_NUMBER:
        return set_number(flag, value, at, reterr_message);
    case FLAG_DURATION:
        return set_duration(flag, value, at, reterr_message);
    }
    return -COR_EINTERNAL;
}

/* Splits `-x`, `--name` and `--name=value`. */
static const struct flag *find_flag(const struct flag *flags, size_t nflags, const char *given,
                                    struct cor_str *ret_name, const char **ret_value)
{
    const char *name = given + (given[1] == '-' ? 2 : 1), *eq = strchr(name, '=');

    *ret_value = eq ? eq + 1 : NULL;
    *ret_name = cor_str(name, eq ? (size_t)(eq - name) : strlen(name));
    for (size_t i = 0; i < nflags; i++) {
        if (given[1] == '-' ? cor_str_eqz(*ret_name, flags[i].name)
                            : ret_name->n == 1 && flags[i].letter == *name)
            return &flags[i];
    }
    return NULL;
}

static bool is_help(const char *given)
{
    return strcmp(given, "-h") == 0 || strcmp(given, "--help") == 0;
}

static int check_required(const struct flag *flags, size_t nflags, const bool *seen,
                          struct cor_buf *reterr_message)
{
    for (size_t i = 0; i < nflags; i++) {
        if (!flags[i].required || seen[i])
            continue;
        cor_buf_addf(reterr_message, "flag --%s %s is needed: %s", flags[i].name, flags[i].value,
                     flags[i].help);
        return -COR_EINVAL;
    }
    return 0;
}

int flags_parse(const struct flag *flags, size_t nflags, int argc, char *const *argv, void *opts,
                const char **args, size_t args_max, size_t *ret_nargs,
                struct cor_buf *reterr_message)
{
    bool seen[FLAGS_MAX] = {false}, only_args = false;
    size_t nargs = 0;
    int r;

    assert(nflags <= FLAGS_MAX);
    for (int i = 0; i < argc; i++) {
        const struct flag *flag;
        const char *value;
        struct cor_str name;

        if (only_args || argv[i][0] != '-' || argv[i][1] == '\0') {
            if (nargs < args_max)
                args[nargs] = argv[i];
            nargs++;
            continue;
        }
        if (strcmp(argv[i], "--") == 0) {
            only_args = true;
            continue;
        }
        if (is_help(argv[i]))
            return -COR_ECANCELED;
        flag = find_flag(flags, nflags, argv[i], &name, &value);
        if (!flag)
            return unknown_flag(flags, nflags, argv[i], name, reterr_message);
        if (!value && flag->kind != FLAG_SWITCH) {
            if (i + 1 == argc) {
                cor_buf_addf(reterr_message, "flag --%s needs a value: %s", flag->name,
                             flag->value);
                return -COR_EINVAL;
            }
            value = argv[++i];
        }
        r = set_value(flag, value, opts, reterr_message);
        if (r < 0)
            return r;
        seen[flag - flags] = true;
    }
    *ret_nargs = nargs;
    return check_required(flags, nflags, seen, reterr_message);
}

/* As it would be typed. */
static int add_duration(uint64_t ms, struct cor_buf *out)
{
    static const struct {
        uint64_t ms;
        const char *unit;
    } units[] = {{3600 * 1000, "h"}, {60 * 1000, "m"}, {1000, "s"}, {1, "ms"}};
    size_t i = 0;

    while (ms % units[i].ms != 0)
        i++;
    return cor_buf_addf(out, "%llu%s", (unsigned long long)(ms / units[i].ms), units[i].unit);
}

static int add_default(const struct flag *flag, const void *defaults, struct cor_buf *out)
{
    const void *at = (const char *)defaults + flag->at;

    switch (flag->kind) {
    case FLAG_SWITCH:
        return cor_buf_addz(out, *(const bool *)at ? "true" : "false");
    case FLAG_CHOICE:
    case FLAG_TEXT:
        return cor_buf_addz(out, *(const char *const *)at);
    case FLAG_NUMBER:
        return cor_buf_addf(out, "%llu", (unsigned long long)*(const uint64_t *)at);
    case FLAG_DURATION:
        return add_duration(*(const uint64_t *)at, out);
    }
    return -COR_EINTERNAL;
}

static int add_help(const struct flag *flag, const void *defaults, struct cor_buf *out)
{
    const char *mark = strchr(flag->help, '%');
    int r;

    if (!mark)
        return cor_buf_addz(out, flag->help);
    assert(defaults);
    r = cor_buf_add(out, flag->help, (size_t)(mark - flag->help));
    if (r == 0)
        r = add_default(flag, defaults, out);
    return r < 0 ? r : cor_buf_addz(out, mark + 1);
}

int flags_help(const struct flag *flags, size_t nflags, const void *defaults, struct cor_buf *out)
{
    int r = 0;

    for (size_t i = 0; i < nflags && r == 0; i++) {
        char left[96];
        const struct flag *f = &flags[i];

        snprintf(left, sizeof(left), "%c%c%s--%s%s%s", f->letter ? '-' : ' ',
                 f->letter ? f->letter : ' ', f->letter ? ", " : "  ", f->name, f->value ? " " : "",
                 f->value ? f->value : "");
        r = cor_buf_addf(out, "  %-*s", COLUMN, left);
        if (r == 0 && strlen(left) > COLUMN)
            r = cor_buf_addf(out, "\n  %-*s", COLUMN, "");
        if (r == 0)
            r = cor_buf_addz(out, " ");
        if (r == 0)
            r = add_help(f, defaults, out);
        if (r == 0)
            r = cor_buf_addf(out, "%s\n", f->required ? " (needed)" : "");
    }
    return r;
}
