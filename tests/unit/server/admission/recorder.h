/* Plugins of the test's own in the place of the server's: what passes the points of admission, and
 * what becomes of it.
 *
 * Each visit is a line: the point, the verb, the resource, namespace/name, the kinds of the object
 * and of the old one ("+" for a body that came without), and whether it is a dry run:
 * "M create pods/binding default/p + -".
 * Owner: the test.  Thread: the test's loop. */
#ifndef COR_TEST_ADMISSION_RECORDER_H
#define COR_TEST_ADMISSION_RECORDER_H

#include <stdio.h>

#include "api_fixture.h"
#include "meta/object/object_edit.h"
#include "server/admission/admission.h"

static struct recorder {
    char lines[65536];
    char objects[8][2048]; /* of the last visits: the object, the old one, by turns */
    size_t nobjects;
    const char *refused;           /* the beginning of the lines that are refused; NULL: none */
    bool waits;                    /* the row that may finish later waits for recorder_go_on() */
    struct cor_admission *waiting; /* for it */
} recorder;

static inline void recorder_reset(void)
{
    recorder = (struct recorder){.nobjects = 0};
}

static inline const char *recorder_kind(const struct cor_object *object)
{
    static char text[4][64];
    static size_t turn;
    char *out = text[turn++ % 4];

    if (!object)
        return "-";
    snprintf(out, sizeof(text[0]), "%.*s", COR_STR_ARG(cor_object_kind(object)));
    return *out ? out : "+";
}

static inline void recorder_keep(const struct cor_object *object)
{
    struct cor_str json = object ? cor_object_json(object) : COR_STR("");

    snprintf(recorder.objects[recorder.nobjects++ % 8], sizeof(recorder.objects[0]), "%.*s",
             COR_STR_ARG(json));
}

/* The object of the visit so many visits ago (0: the last one); the old one. */
static inline const char *recorder_object(size_t ago)
{
    return recorder.objects[(recorder.nobjects - 2 - 2 * ago) % 8];
}

static inline const char *recorder_old(size_t ago)
{
    return recorder.objects[(recorder.nobjects - 1 - 2 * ago) % 8];
}

static inline int recorder_visit(struct cor_admission *ad)
{
    const struct cor_attributes *a = &ad->attributes;
    size_t n = strlen(recorder.lines);
    char line[512];

    assert_ptr_equal(a->object, ad->object);
    assert_ptr_equal(a->old, ad->old);
    snprintf(line, sizeof(line), "%s %.*s %.*s%s%.*s %.*s/%.*s %s %s%s",
             ad->point == COR_ADMISSION_MUTATES ? "M" : "V", COR_STR_ARG(a->verb),
             COR_STR_ARG(a->resource), a->subresource.n > 0 ? "/" : "", COR_STR_ARG(a->subresource),
             COR_STR_ARG(a->ns), COR_STR_ARG(a->name), recorder_kind(a->object),
             recorder_kind(a->old), a->is_dry_run ? " dry" : "");
    assert_true(n + strlen(line) + 2 < sizeof(recorder.lines));
    snprintf(recorder.lines + n, sizeof(recorder.lines) - n, "%s\n", line);
    recorder_keep(a->object);
    recorder_keep(a->old);
    if (recorder.refused && strncmp(line, recorder.refused, strlen(recorder.refused)) == 0)
        return cor_status_set(&ad->call->status, -COR_EFORBIDDEN, "not today");
    return 0;
}

static inline void recorder_start(struct cor_admission *ad)
{
    if (recorder.waits)
        recorder.waiting = ad;
    else
        cor_admission_resume(ad, 0);
}

static inline void recorder_go_on(void)
{
    assert_non_null(recorder.waiting);
    cor_admission_resume(COR_STEAL(recorder.waiting), 0);
}

#define RECORDER_OPS                                                                               \
    (COR_ADMISSION_CREATE | COR_ADMISSION_UPDATE | COR_ADMISSION_DELETE | COR_ADMISSION_CONNECT)

/* The one that may finish later stands at one of the points. */
static const struct cor_admission_row recorder_rows[] = {
    {.plugin = "r", .point = COR_ADMISSION_MUTATES, .ops = RECORDER_OPS, .run = recorder_visit},
    {.plugin = "l", .point = COR_ADMISSION_VALIDATES, .ops = RECORDER_OPS, .start = recorder_start},
    {.plugin = "r", .point = COR_ADMISSION_VALIDATES, .ops = RECORDER_OPS, .run = recorder_visit},
};
static const struct cor_admission_list recorder_list = {recorder_rows,
                                                        COR_ARRAY_LEN(recorder_rows)};

/* What has been passed since the last call. */
static inline const char *recorder_take(void)
{
    static char lines[sizeof(recorder.lines)];

    memcpy(lines, recorder.lines, sizeof(lines));
    recorder.lines[0] = '\0';
    return lines;
}

#endif
