/* The transformers of all resources, over a configuration that can be read again while they work.
 *
 * A reload reads the file, compares its hash with the one in force, builds a whole new set of keys
 * and puts it in force under the lock: values that are being transformed keep the set that they
 * began with (they hold a reference), later ones get the new set. A file that cannot be read or has
 * a mistake leaves the old set in force and returns the reason. Secrets are in buffers that are
 * wiped.
 *
 * Thread: transformers on any thread; a reload on one at a time. */
#include "storage/encryption/dynamic_transformers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/dlist.h"
#include "base/err.h"
#include "base/lock.h"
#include "base/mem.h"
#include "net/crypto/crypto.h"
#include "storage/encryption/encryption.h"
#include "storage/encryption/encryption_config.h"

/* The transformer that a store holds. It looks up the set that is in force for each value. */
struct resource_transformer {
    struct cor_transformer transformer;
    struct cor_dynamic_transformers *dynamic;
    struct cor_dlist link;
    struct cor_transform_counts counts;
    struct cor_gr gr;
    char text[]; /* what `gr` points into */
};

struct cor_dynamic_transformers {
    char *path;
    struct cor_lock lock; /* guards the fields below */
    struct cor_encryption *current;
    struct cor_dlist resources;
    char hash[COR_ENCRYPTION_HASH_MAX];
    bool file_is_open;
    struct cor_transform_times times;
};

static void file_close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static int file_cannot_read(const char *path, struct cor_status *st)
{
    return cor_status_set(st, errno == ENOENT ? -COR_ENOTFOUND : -COR_EIO,
                          "error reading encryption provider configuration file \"%s\": %s", path,
                          strerror(errno));
}

/* All of the file, in one piece of memory that is never moved, so that wiping it leaves nothing. */
static int file_read(const char *path, struct cor_buf *out, bool *ret_is_open,
                     struct cor_status *st)
{
    COR_CLEANUP(file_close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat info;
    int r;

    if (fd < 0 || fstat(fd, &info) < 0)
        return file_cannot_read(path, st);
    if (info.st_size > COR_ENCRYPTION_FILE_MAX)
        return cor_status_set(st, -COR_ETOOBIG,
                              "encryption provider configuration file \"%s\" has more than %u "
                              "bytes",
                              path, COR_ENCRYPTION_FILE_MAX);
    r = cor_buf_reserve(out, (size_t)info.st_size + 1);
    if (r < 0)
        return cor_status_set_err(st, r);
    while (out->n < (size_t)info.st_size) {
        ssize_t n = read(fd, out->p + out->n, (size_t)info.st_size - out->n);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return file_cannot_read(path, st);
        if (n == 0)
            break;
        out->n += (size_t)n;
    }
    if (out->n == 0)
        return cor_status_set(st, -COR_EINVAL,
                              "encryption provider configuration file \"%s\" is empty", path);
    *ret_is_open = info.st_mode & (S_IRWXG | S_IRWXO);
    return 0;
}

static int file_hash(struct cor_str bytes, char ret_hash[COR_ENCRYPTION_HASH_MAX])
{
    uint8_t digest[COR_SHA256_BYTES];
    int r = cor_sha256(bytes, digest);
    int n = snprintf(ret_hash, COR_ENCRYPTION_HASH_MAX, "sha256:");

    for (size_t i = 0; r == 0 && i < sizeof(digest); i++)
        n += snprintf(ret_hash + n, COR_ENCRYPTION_HASH_MAX - (size_t)n, "%02x", digest[i]);
    return r;
}

static void dynamic_replace(struct cor_dynamic_transformers *d, struct cor_encryption *take_new,
                            const char *hash)
{
    struct cor_encryption *old;

    cor_lock_acquire(&d->lock);
    old = d->current;
    d->current = take_new;
    snprintf(d->hash, sizeof(d->hash), "%s", hash);
    cor_lock_release(&d->lock);
    cor_encryption_unref(old);
}

int cor_dynamic_transformers_reload(struct cor_dynamic_transformers *dynamic, bool *ret_changed,
                                    struct cor_status *reterr_status)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf file;
    COR_CLEANUP(cor_status_deinit) struct cor_status why;
    char hash[COR_ENCRYPTION_HASH_MAX];
    struct cor_encryption *fresh;
    int r;

    cor_buf_init_secret(&file, COR_ENCRYPTION_FILE_MAX + 1);
    cor_status_init(&why);
    r = file_read(dynamic->path, &file, &dynamic->file_is_open, reterr_status);
    if (r < 0)
        return r;
    r = file_hash(cor_buf_str(&file), hash);
    if (r < 0)
        return cor_status_set_err(reterr_status, r);
    *ret_changed = strcmp(hash, dynamic->hash) != 0;
    if (!*ret_changed)
        return 0;
    r = cor_encryption_new(cor_buf_str(&file), NULL, &fresh, &why);
    if (r < 0)
        return cor_status_set(reterr_status, r, "encryption provider configuration file \"%s\": %s",
                              dynamic->path, cor_status_message(&why));
    dynamic_replace(dynamic, fresh, hash);
    return 0;
}

int cor_dynamic_transformers_new(const char *path, struct cor_dynamic_transformers **ret_dynamic,
                                 struct cor_status *reterr_status)
{
    COR_CLEANUP(cor_dynamic_transformers_freep)
    struct cor_dynamic_transformers *d = cor_calloc(1, sizeof(*d));
    bool changed;
    int r;

    if (!d)
        return cor_status_no_memory(reterr_status);
    cor_lock_init(&d->lock, COR_LOCK_TRANSFORMERS);
    cor_dlist_init(&d->resources);
    d->path = cor_strdup(path);
    if (!d->path)
        return cor_status_no_memory(reterr_status);
    r = cor_dynamic_transformers_reload(d, &changed, reterr_status);
    if (r < 0)
        return r;
    *ret_dynamic = COR_STEAL(d);
    return 0;
}

struct cor_dynamic_transformers *
cor_dynamic_transformers_free(struct cor_dynamic_transformers *dynamic)
{
    struct cor_dlist *link;

    if (!dynamic)
        return NULL;
    while ((link = cor_dlist_pop(&dynamic->resources)))
        cor_free(COR_CONTAINER_OF(link, struct resource_transformer, link));
    cor_encryption_unref(dynamic->current);
    cor_lock_deinit(&dynamic->lock);
    cor_free(dynamic->path);
    return cor_free(dynamic);
}

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static struct resource_transformer *of(const struct cor_transformer *t)
{
    return COR_CONTAINER_OF((struct cor_transformer *)t, struct resource_transformer, transformer);
}

/* Like upstream, nothing of a resource that the file does not name. */
static void count(struct resource_transformer *rt, const struct cor_transformer *own,
                  enum cor_transform_type type, struct cor_str stored, uint64_t began_ns, int r)
{
    enum cor_transform_prefix prefix = cor_transform_prefix_of(stored);

    if (own == cor_transformer_identity())
        return;
    if (!cor_transformer_chain_reads(own, stored))
        prefix = COR_TRANSFORM_UNKNOWN;
    cor_transform_count(&rt->counts, &rt->dynamic->times, type, prefix, now_ns() - began_ns,
                        r == 0);
}

/* A reference, so that a reload beside this value's work does not take its keys away. */
static struct cor_encryption *in_force(const struct cor_transformer *t,
                                       const struct cor_transformer **ret_transformer)
{
    struct resource_transformer *rt = of(t);
    struct cor_encryption *current;

    cor_lock_acquire(&rt->dynamic->lock);
    current = cor_encryption_ref(rt->dynamic->current);
    cor_lock_release(&rt->dynamic->lock);
    *ret_transformer = cor_encryption_peek(current, &rt->gr);
    return current;
}

static int from_storage(const struct cor_transformer *t, struct cor_str key, struct cor_str in,
                        struct cor_buf *scratch, struct cor_str *ret_out, bool *ret_stale,
                        struct cor_status *reterr_status)
{
    const struct cor_transformer *own;
    struct cor_encryption *set = in_force(t, &own);
    uint64_t began_ns = now_ns();
    int r = own->from_storage(own, key, in, scratch, ret_out, ret_stale, reterr_status);

    count(of(t), own, COR_TRANSFORM_FROM_STORAGE, in, began_ns, r);
    cor_encryption_unref(set);
    return r;
}

static int to_storage(const struct cor_transformer *t, struct cor_str key, struct cor_str in,
                      struct cor_buf *scratch, struct cor_str *ret_out,
                      struct cor_status *reterr_status)
{
    const struct cor_transformer *own;
    struct cor_encryption *set = in_force(t, &own);
    uint64_t began_ns = now_ns();
    int r = own->to_storage(own, key, in, scratch, ret_out, reterr_status);

    count(of(t), own, COR_TRANSFORM_TO_STORAGE, r == 0 ? *ret_out : in, began_ns, r);
    cor_encryption_unref(set);
    return r;
}

static struct resource_transformer *resource_new(struct cor_dynamic_transformers *d,
                                                 const struct cor_gr *gr)
{
    struct resource_transformer *rt = cor_calloc(1, sizeof(*rt) + gr->group.n + gr->resource.n + 1);

    if (!rt)
        return NULL;
    rt->transformer = (struct cor_transformer){from_storage, to_storage};
    rt->dynamic = d;
    memcpy(rt->text, gr->group.p, gr->group.n);
    memcpy(rt->text + gr->group.n, gr->resource.p, gr->resource.n);
    rt->gr.group = cor_str(rt->text, gr->group.n);
    rt->gr.resource = cor_str(rt->text + gr->group.n, gr->resource.n);
    return rt;
}

static struct resource_transformer *find_locked(struct cor_dynamic_transformers *d,
                                                const struct cor_gr *gr)
{
    COR_DLIST_FOREACH(it, &d->resources) {
        struct resource_transformer *rt = COR_CONTAINER_OF(it, struct resource_transformer, link);

        if (cor_gr_eq(&rt->gr, gr))
            return rt;
    }
    return NULL;
}

int cor_dynamic_transformers_peek(struct cor_dynamic_transformers *dynamic, const struct cor_gr *gr,
                                  const struct cor_transformer **ret_transformer)
{
    struct resource_transformer *rt;

    cor_lock_acquire(&dynamic->lock);
    rt = find_locked(dynamic, gr);
    if (!rt && (rt = resource_new(dynamic, gr)))
        cor_dlist_push(&dynamic->resources, &rt->link);
    cor_lock_release(&dynamic->lock);
    if (!rt)
        return -COR_ENOMEM;
    *ret_transformer = &rt->transformer;
    return 0;
}

void cor_dynamic_transformers_counts(struct cor_dynamic_transformers *dynamic,
                                     void (*visit)(void *arg, const struct cor_gr *gr,
                                                   const struct cor_transform_counts *counts),
                                     void *arg)
{
    cor_lock_acquire(&dynamic->lock);
    COR_DLIST_FOREACH(it, &dynamic->resources) {
        const struct resource_transformer *rt =
            COR_CONTAINER_OF(it, struct resource_transformer, link);

        visit(arg, &rt->gr, &rt->counts);
    }
    cor_lock_release(&dynamic->lock);
}

const struct cor_transform_times *
cor_dynamic_transformers_times(const struct cor_dynamic_transformers *dynamic)
{
    return &dynamic->times;
}

bool cor_dynamic_transformers_file_is_open(const struct cor_dynamic_transformers *dynamic)
{
    return dynamic->file_is_open;
}

void cor_dynamic_transformers_hash(struct cor_dynamic_transformers *dynamic,
                                   char ret_hash[COR_ENCRYPTION_HASH_MAX])
{
    cor_lock_acquire(&dynamic->lock);
    memcpy(ret_hash, dynamic->hash, COR_ENCRYPTION_HASH_MAX);
    cor_lock_release(&dynamic->lock);
}
