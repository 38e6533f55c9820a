/* Turns bytes from outside into canonical bytes, and checks whether bytes are canonical.
 *
 * The canonical form: minified; in the outermost object `kind`, then `apiVersion`, then all other
 * keys; keys in byte order of their text at every level; of equal keys only the last; numbers as
 * written; in strings only what must be escaped is (\" \\ \b \f \n \r \t, other control bytes as
 * \u00xx in lower case), and an escaped lone surrogate is U+FFFD. It is never longer than its
 * source. What is inside raw values (struct cor_json_guide) is minified and nothing else.
 * Thread: any (no state). */
#ifndef COR_JSON_TEXT_JSON_H
#define COR_JSON_TEXT_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"
#include "coracle/json_path.h"

/* The deepest nesting that any limit may allow; Go's decoder stops at 10,000. The writers here
 * recurse, and 1,000 levels take them less than 512 KB of stack. */
#define COR_JSON_DEPTH_MAX 1000

/* Which values of an object are raw: they keep their bytes, except for the spaces between them,
 * where all others become canonical. A node is what the guide knows of a value; NULL: nothing in
 * the value is raw. */
struct cor_json_guide {
    const void *(*of_kind)(struct cor_str kind, struct cor_str api_version);
    const void *(*of_member)(const void *node, struct cor_str key);
    const void *(*of_element)(const void *node);
};
/* The node of a value that is raw itself. */
extern const char cor_json_raw_node[];

struct cor_work;

struct cor_json_limits {
    size_t bytes_max;   /* of the input, below 4 GB */
    unsigned depth_max; /* at most COR_JSON_DEPTH_MAX */
    /* Accepts numbers whose magnitude no double holds, such as 1e400. Set it only for bytes that
     * exist already, in a store or on another server: a reader in Go cannot decode such a number.
     */
    bool any_number;
    /* For cor_json_canonicalize(). NULL: no value is raw. */
    const struct cor_json_guide *guide;
    const void *root; /* node of the outermost value; NULL: the guide's for its kind */
    /* For patches: their work is charged to it, and they end when it is used up. NULL: nothing is
     * charged. */
    struct cor_work *work;
};

#define COR_JSON_LIMITS_DEFAULT                                                                    \
    ((struct cor_json_limits){.bytes_max = 1536 * 1024, .depth_max = COR_JSON_DEPTH_MAX})

/* Upstream's strict decoder reports at most as many. */
#define COR_JSON_DUPS_MAX 100

/* A key that is in its object more than once; of a JSON patch also a member that operations do not
 * have. */
struct cor_json_dup {
    size_t offset; /* of the first byte of the key's text: the second one's, if it is repeated */
    char *path;    /* "spec.containers[0].image" */
    bool is_unknown;
};

/* The first COR_JSON_DUPS_MAX paths in the order of the input, each once. */
struct cor_json_dups {
    size_t n;
    struct cor_json_dup v[COR_JSON_DUPS_MAX];
};

void cor_json_dups_init(struct cor_json_dups *dups);
void cor_json_dups_deinit(struct cor_json_dups *dups);

/* Is `in` one JSON value within `limits`, and is it canonical? Allocates nothing.
 * 0, -COR_EINVAL (not JSON, invalid UTF-8, nested too deep, a number that no double holds),
 * -COR_ETOOBIG (too many bytes). */
int cor_json_check(struct cor_str in, const struct cor_json_limits *limits, bool *ret_canonical,
                   struct cor_json_error *reterr);

/* The same of the object or array that `in` begins with; what follows it is not looked at. `ret_n`
 * is its length. 0, -COR_EINVAL (as above, it goes on behind `in`, or it has more bytes than the
 * limit).
 */
int cor_json_check_first(struct cor_str in, const struct cor_json_limits *limits,
                         bool *ret_canonical, size_t *ret_n);

/* Go's decoder reads each byte inside a string that is not UTF-8 as U+FFFD: appends `in`, which
 * need not be JSON, with these replaced. 1; 0 when there is none, and nothing is appended;
 * -COR_ENOMEM, -COR_ETOOBIG. */
int cor_json_mend(struct cor_str in, struct cor_buf *out);

/* The first number of `in` that no double holds; the refusal of it is worded by the caller.
 * 0, -COR_ENOTFOUND (there is none), -COR_EINVAL (`in` is not JSON). */
int cor_json_find_huge(struct cor_str in, struct cor_str *ret_number);

/* Appends the canonical form of `in` to `out`, which must have room for in.n more bytes below its
 * maximum. Repeated keys are added to `dups` unless it is NULL. On failure `out` is as before.
 * 0, -COR_EINVAL, -COR_ETOOBIG, -COR_ENOMEM; `reterr` (may be NULL) is written for the first two.
 */
int cor_json_canonicalize(struct cor_str in, const struct cor_json_limits *limits,
                          struct cor_buf *out, struct cor_json_dups *dups,
                          struct cor_json_error *reterr);

#endif
