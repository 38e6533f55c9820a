/* clang-format off */
/* Levelled, structured logging: a message and typed fields, one line per event, one write(2) per
 * line. There is one sink per process; main() installs it, and until then nothing is written, so a
 * program that embeds the library hears nothing it did not ask for.
 *
 *   COR_LOG_INFO("store opened", COR_F_STR("path", path), COR_F_U64("rev", rev));
 *
 * The text form is klog's:
 *   I1115 02:37:55.123    4711 store.c:88] "store opened" path="/data" rev=7
 * The JSON form:
 *   {"ts":1794710275123,"level":"info","caller":"store.c:88","msg":"store opened",...}
 *
 * Values are quoted and escaped: no value can begin a line, forge a field or steer a terminal. A
 * line has at most COR_LOG_LINE_MAX bytes; what does not fit is left out and the line says
 * cut=true. Fields are evaluated only when the level is on; their keys are plain words. Thread:
 * any, after the installation. */
/* clang-format on */
#ifndef COR_BASE_LOG_H
#define COR_BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/str.h"

#define COR_LOG_LINE_MAX 8192

enum cor_log_level {
    COR_LEVEL_DEBUG,
    COR_LEVEL_INFO,
    COR_LEVEL_WARN,
    COR_LEVEL_ERROR,
    COR_LEVEL_OFF,
};
enum cor_log_format { COR_LOG_TEXT, COR_LOG_JSON };

struct cor_log_opts {
    int fd; /* the caller's; must stay open. A line that it does not take at once is lost */
    enum cor_log_level level; /* the lowest that is written */
    enum cor_log_format format;
    const struct cor_clock *clock; /* must stay valid */
};

/* Call before the first other thread starts, or with NULL (silent again) after the last ended. */
void cor_log_install(const struct cor_log_opts *opts);

enum cor_log_kind {
    COR_LOG_KIND_END,
    COR_LOG_KIND_STR,
    COR_LOG_KIND_I64,
    COR_LOG_KIND_U64,
    COR_LOG_KIND_BOOL,
    COR_LOG_KIND_DUR_MS,
    COR_LOG_KIND_ERR,
    COR_LOG_KIND_SECRET,
};

struct cor_log_field {
    enum cor_log_kind kind;
    const char *key;
    struct cor_str str;
    uint64_t num; /* also a signed number's bits */
};

/* `v` is a struct cor_str or a NUL-terminated string (NULL prints as empty). */
/* clang-format off */
#define COR_F_STR(key, v)                                                                          \
    _Generic((v),                                                                                  \
        struct cor_str: cor_log_field_str,                                                         \
        char *: cor_log_field_strz,                                                                \
        const char *: cor_log_field_strz)(key, v)
/* clang-format on */
#define COR_F_I64(key, v)  cor_log_field_num(COR_LOG_KIND_I64, key, (uint64_t)(int64_t)(v))
#define COR_F_U64(key, v)  cor_log_field_num(COR_LOG_KIND_U64, key, (v))
#define COR_F_BOOL(key, v) cor_log_field_num(COR_LOG_KIND_BOOL, key, (v))
/* Milliseconds, printed as Go prints durations: 250ms, 1.5s, 2m0s. */
#define COR_F_DUR(key, ms) cor_log_field_num(COR_LOG_KIND_DUR_MS, key, (ms))
/* A negative COR_E…, printed as its text under the key "err". */
#define COR_F_ERR(r) cor_log_field_num(COR_LOG_KIND_ERR, "err", (uint64_t)(int64_t)(r))
/* Says only that there is such a value; the value itself does not reach the log code. */
#define COR_F_SECRET(key, v) ((void)(v), cor_log_field_num(COR_LOG_KIND_SECRET, key, 0))

static inline struct cor_log_field cor_log_field_str(const char *key, struct cor_str v)
{
    return (struct cor_log_field){.kind = COR_LOG_KIND_STR, .key = key, .str = v};
}

static inline struct cor_log_field cor_log_field_strz(const char *key, const char *v)
{
    return cor_log_field_str(key, cor_strz(v));
}

static inline struct cor_log_field cor_log_field_num(enum cor_log_kind kind, const char *key,
                                                     uint64_t v)
{
    return (struct cor_log_field){.kind = kind, .key = key, .num = v};
}

bool cor_log_enabled(enum cor_log_level level);

/* The first of `fields` is the message, the last a COR_LOG_KIND_END. Use the macros below. */
void cor_log_write(enum cor_log_level level, const char *file, int line,
                   const struct cor_log_field *fields);

#define COR_LOG_DEBUG(...) COR_LOG_AT(COR_LEVEL_DEBUG, __VA_ARGS__)
#define COR_LOG_INFO(...)  COR_LOG_AT(COR_LEVEL_INFO, __VA_ARGS__)
#define COR_LOG_WARN(...)  COR_LOG_AT(COR_LEVEL_WARN, __VA_ARGS__)
#define COR_LOG_ERROR(...) COR_LOG_AT(COR_LEVEL_ERROR, __VA_ARGS__)

#define COR_LOG_AT(level, msg, ...)                                                                \
    do {                                                                                           \
        if (cor_log_enabled(level))                                                                \
            cor_log_write(level, __FILE__, __LINE__,                                               \
                          (const struct cor_log_field[]){                                          \
                              COR_F_STR("msg", msg), ##__VA_ARGS__, {COR_LOG_KIND_END}});          \
    } while (0)

#endif
