/* The difference between two texts, line by line, in the unified format: groups of changed lines
 * with three lines around them, no names of files. The lines that stay are chosen as Python's
 * difflib chooses them, whose port upstream's messages are made with.
 * Thread: any (pure). */
#ifndef COR_BASE_LINE_DIFF_H
#define COR_BASE_LINE_DIFF_H

#include "base/buf.h"
#include "base/str.h"

/* Appends what turns `before` into `after`; nothing when they are equal. The work is bounded: of
 * texts that would need more, what comes late is shown as replaced. 0, -COR_ENOMEM, -COR_ETOOBIG
 * (out's maximum; the lines that fit were appended). */
int cor_line_diff(struct cor_str before, struct cor_str after, struct cor_buf *out);

#endif
