/* Times in received JSON, judged as Go's parser judges them and refused in its words. A check reads
 * its text once and remembers nothing.
 * Thread: any (pure). */
#include "base/err.h"
#include "meta/value/time_text.h"
#include "schema/walk/read_int.h"

#define SHOWN_MAX         4096 /* bytes of a wrong time that a message repeats; Go repeats all */
#define QUOTED_GROWTH     4    /* a byte becomes at most \x12 */
#define TIME_WORDS_MAX    160
#define TIME_LAYOUT       "2006-01-02T15:04:05Z07:00"
#define MICRO_TIME_LAYOUT "2006-01-02T15:04:05.000000Z07:00"

/* Go's package time quotes in a way of its own: bytes that are not ASCII as \x12. The caller has
 * reserved the room. */
static void read_quote_time(struct cor_str text, struct cor_buf *out)
{
    (void)cor_buf_addc(out, '"');
    for (size_t i = 0; i < text.n && i < SHOWN_MAX; i++) {
        unsigned char c = (unsigned char)text.p[i];

        if (c >= 0x80 || c < 0x20) {
            (void)cor_buf_addf(out, "\\x%02x", c);
            continue;
        }
        if (c == '"' || c == '\\')
            (void)cor_buf_addc(out, '\\');
        (void)cor_buf_addc(out, (char)c);
    }
    (void)cor_buf_addc(out, '"');
}

int cor_read_time(struct cor_str text, bool is_micro, struct cor_buf *why)
{
    struct cor_time_error error;
    int64_t at;
    int r = is_micro ? cor_six_digit_time_parse_why(text, &at, &error)
                     : cor_micro_time_parse_why(text, &at, &error);

    if (r == 0 || !why)
        return r;
    if (cor_buf_reserve(why, (size_t)2 * QUOTED_GROWTH * SHOWN_MAX + TIME_WORDS_MAX) < 0)
        return -COR_ENOMEM;
    (void)cor_buf_addz(why, "parsing time ");
    read_quote_time(text, why);
    if (error.range) {
        (void)cor_buf_addf(why, ": %s out of range", error.range);
    } else if (error.element) {
        (void)cor_buf_addf(why, " as \"%s\": cannot parse ",
                           is_micro ? MICRO_TIME_LAYOUT : TIME_LAYOUT);
        read_quote_time(error.rest, why);
        (void)cor_buf_addf(why, " as \"%s\"", error.element);
    } else {
        (void)cor_buf_addz(why, ": extra text: ");
        read_quote_time(error.rest, why);
    }
    return -COR_EINVAL;
}
