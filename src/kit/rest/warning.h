/* Warnings that a server sends along with its answers (RFC 7234's Warning header, code 299).
 * Thread: one at a time.  Owner: the REST client. */
#ifndef COR_KIT_WARNING_H
#define COR_KIT_WARNING_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/map.h"
#include "net/session/header.h"

#define COR_WARNING_TEXT_MAX 4096
/* Texts that are remembered; further ones are reported each time. */
#define COR_WARNINGS_MAX 1000

/* Cuts the next warning off a header's value. 1 with the code, and the text in `text` (replaced);
 * 0 at the end; -COR_EINVAL: malformed, the rest is lost; -COR_ETOOBIG, -COR_ENOMEM. */
int cor_warning_next(struct cor_str *rest, int *ret_code, struct cor_buf *text);

typedef void (*cor_warning_cb)(void *arg, struct cor_str text);

struct cor_warner {
    cor_warning_cb on_warning; /* NULL: warnings are not reported */
    void *arg;
    bool once;           /* each text is reported once */
    struct cor_map told; /* text -> its copy */
};

void cor_warner_init(struct cor_warner *w, cor_warning_cb on_warning, void *arg, bool once);
/* Safe on a zeroed struct. */
void cor_warner_deinit(struct cor_warner *w);

/* Reports the warnings among the headers; what is malformed is skipped. */
void cor_warner_read(struct cor_warner *w, const struct cor_http_header *headers, size_t n);

#endif
