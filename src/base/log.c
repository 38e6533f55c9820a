#include "base/log.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/utf8.h"

/* Kept free for closing what is open, for the mark of a cut line and for the newline. */
#define LINE_TAIL 24
/* A field is begun when so much of it fits beside its key: any number, or some of a string. */
#define FIELD_MIN 48

struct line {
    char p[COR_LOG_LINE_MAX];
    size_t n;
    enum cor_log_format format;
    bool cut; /* something was left out */
};

static const struct cor_log_opts silent = {.fd = -1, .level = COR_LEVEL_OFF};
static struct cor_log_opts sink = {.fd = -1, .level = COR_LEVEL_OFF};

static const struct {
    const char *name;
    char letter;
} levels[] = {
    [COR_LEVEL_DEBUG] = {"debug", 'D'}, [COR_LEVEL_INFO] = {"info", 'I'},
    [COR_LEVEL_WARN] = {"warn", 'W'},   [COR_LEVEL_ERROR] = {"error", 'E'},
    [COR_LEVEL_OFF] = {"off", '-'},
};

void cor_log_install(const struct cor_log_opts *opts)
{
    assert(!opts || opts->clock);
    sink = opts ? *opts : silent;
}

bool cor_log_enabled(enum cor_log_level level)
{
    return level >= sink.level && level < COR_LEVEL_OFF;
}

static size_t room(const struct line *l)
{
    return l->n < sizeof(l->p) - LINE_TAIL ? sizeof(l->p) - LINE_TAIL - l->n : 0;
}

static bool put(struct line *l, const char *p, size_t n)
{
    if (n > room(l)) {
        l->cut = true;
        return false;
    }
    memcpy(l->p + l->n, p, n);
    l->n += n;
    return true;
}

COR_PRINTF(2, 3) static bool putf(struct line *l, const char *fmt, ...)
{
    char small[160];
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(small, sizeof(small), fmt, ap);
    va_end(ap);
    assert(n >= 0 && (size_t)n < sizeof(small));
    return put(l, small, (size_t)n);
}

static char short_escape(uint32_t cp)
{
    switch (cp) {
    case '\n':
        return 'n';
    case '\r':
        return 'r';
    case '\t':
        return 't';
    case '"':
    case '\\':
        return (char)cp;
    default:
        return '\0';
    }
}

/* One code point as it may be between quotes: as Go quotes strings, or as JSON does. */
static bool put_escaped(struct line *l, const char *p, size_t n, uint32_t cp)
{
    char esc = short_escape(cp);

    if (esc)
        return putf(l, "\\%c", esc);
    if (cp == COR_UTF8_INVALID) {
        if (l->format == COR_LOG_JSON)
            return putf(l, "\\ufffd");
        return putf(l, "\\x%02x", (unsigned char)*p);
    }
    if (cor_utf8_is_control(cp)) {
        if (l->format == COR_LOG_JSON || cp > 0xff)
            return putf(l, "\\u%04x", (unsigned)cp);
        return putf(l, "\\x%02x", (unsigned)cp);
    }
    return put(l, p, n);
}

static void put_quoted(struct line *l, struct cor_str s)
{
    if (!put(l, "\"", 1))
        return;
    for (size_t at = 0; at < s.n;) {
        uint32_t cp;
        size_t n = cor_utf8_first(cor_str_from(s, at), &cp);

        if (!put_escaped(l, s.p + at, n, cp))
            break;
        at += n;
    }
    l->p[l->n++] = '"'; /* from the tail's room */
}

static void put_duration(struct line *l, uint64_t ms)
{
    uint64_t s = ms / 1000, frac = ms % 1000;
    char text[64];
    int n;

    if (ms < 1000) {
        n = snprintf(text, sizeof(text), ms ? "%llums" : "%llus", (unsigned long long)ms);
    } else {
        n = 0;
        if (s >= 3600)
            n += snprintf(text, sizeof(text), "%lluh", (unsigned long long)(s / 3600));
        if (s >= 60)
            n += snprintf(text + n, sizeof(text) - (size_t)n, "%um", (unsigned)(s / 60 % 60));
        n += snprintf(text + n, sizeof(text) - (size_t)n, "%u", (unsigned)(s % 60));
        if (frac > 0) {
            n += snprintf(text + n, sizeof(text) - (size_t)n, ".%03u", (unsigned)frac);
            while (text[n - 1] == '0')
                n--;
        }
        text[n++] = 's';
    }
    put_quoted(l, cor_str(text, (size_t)n));
}

static void put_value(struct line *l, const struct cor_log_field *f)
{
    switch (f->kind) {
    case COR_LOG_KIND_STR:
        put_quoted(l, f->str);
        break;
    case COR_LOG_KIND_I64:
        putf(l, "%lld", (long long)(int64_t)f->num);
        break;
    case COR_LOG_KIND_U64:
        putf(l, "%llu", (unsigned long long)f->num);
        break;
    case COR_LOG_KIND_BOOL:
        putf(l, f->num ? "true" : "false");
        break;
    case COR_LOG_KIND_DUR_MS:
        put_duration(l, f->num);
        break;
    case COR_LOG_KIND_ERR:
        put_quoted(l, cor_strz(cor_err_text((int)(int64_t)f->num)));
        break;
    case COR_LOG_KIND_SECRET:
        put_quoted(l, COR_STR("[secret]"));
        break;
    case COR_LOG_KIND_END:
        break;
    }
}

static void put_field(struct line *l, const struct cor_log_field *f)
{
    size_t key_n = strlen(f->key);

    if (key_n + FIELD_MIN > room(l)) {
        l->cut = true;
        return;
    }
    put(l, l->format == COR_LOG_JSON ? ",\"" : " ", l->format == COR_LOG_JSON ? 2 : 1);
    put(l, f->key, key_n);
    put(l, l->format == COR_LOG_JSON ? "\":" : "=", l->format == COR_LOG_JSON ? 2 : 1);
    put_value(l, f);
}

static void put_head(struct line *l, enum cor_log_level level, const char *file, int line)
{
    int64_t now_ms = cor_clock_wall_ms(sink.clock);
    const char *slash = strrchr(file, '/');
    time_t seconds = (time_t)(now_ms / 1000);
    struct tm tm;

    file = slash ? slash + 1 : file;
    if (l->format == COR_LOG_JSON) {
        putf(l, "{\"ts\":%lld,\"level\":\"%s\",\"caller\":\"%.40s:%d\",\"msg\":", (long long)now_ms,
             levels[level].name, file, line);
        return;
    }
    gmtime_r(&seconds, &tm);
    putf(l, "%c%02d%02d %02d:%02d:%02d.%03d %7d %.40s:%d] ", levels[level].letter, tm.tm_mon + 1,
         tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, (int)(now_ms % 1000), (int)getpid(), file,
         line);
}

static void put_end(struct line *l)
{
    bool json = l->format == COR_LOG_JSON;
    const char *end =
        json ? (l->cut ? ",\"cut\":true}\n" : "}\n") : (l->cut ? " cut=true\n" : "\n");
    size_t n = strlen(end);

    assert(n <= sizeof(l->p) - l->n);
    memcpy(l->p + l->n, end, n);
    l->n += n;
}

void cor_log_write(enum cor_log_level level, const char *file, int line,
                   const struct cor_log_field *fields)
{
    struct line l;
    ssize_t n;

    l.n = 0;
    l.cut = false;
    l.format = sink.format;
    put_head(&l, level, file, line);
    put_quoted(&l, fields[0].str);
    for (const struct cor_log_field *f = fields + 1; f->kind != COR_LOG_KIND_END; f++)
        put_field(&l, f);
    put_end(&l);
    do
        n = write(sink.fd, l.p, l.n);
    while (n < 0 && errno == EINTR);
}
