#include "base/buf.h"

#include <assert.h>
#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"

#define BUF_FIRST_BYTES 64

void cor_buf_init(struct cor_buf *b, size_t max)
{
    assert(max < SIZE_MAX);
    *b = (struct cor_buf){.max = max};
}

void cor_buf_init_secret(struct cor_buf *b, size_t max)
{
    cor_buf_init(b, max);
    b->is_secret = true;
}

void cor_buf_deinit(struct cor_buf *b)
{
    if (b->is_secret && b->p)
        explicit_bzero(b->p, b->cap);
    cor_free(b->p);
    b->p = NULL;
    b->n = b->cap = 0;
}

void cor_buf_reset(struct cor_buf *b)
{
    cor_buf_truncate(b, 0);
}

/* realloc() may leave a copy of the bytes where they were. */
static char *move_secret(struct cor_buf *b, size_t cap)
{
    char *p = cor_alloc(cap + 1);

    if (p && b->p) {
        memcpy(p, b->p, b->n);
        explicit_bzero(b->p, b->cap);
        cor_free(b->p);
    }
    return p;
}

int cor_buf_reserve(struct cor_buf *b, size_t n)
{
    size_t need, cap;
    char *p;

    if (n > b->max - b->n)
        return -COR_ETOOBIG;
    need = b->n + n;
    if (b->p && need <= b->cap)
        return 0;
    cap = b->cap < BUF_FIRST_BYTES ? BUF_FIRST_BYTES : b->cap + b->cap / 2;
    if (cap < need)
        cap = need;
    if (cap > b->max)
        cap = b->max;
    p = b->is_secret ? move_secret(b, cap) : cor_realloc(b->p, cap + 1);
    if (!p)
        return -COR_ENOMEM;
    b->p = p;
    b->cap = cap;
    b->p[b->n] = '\0';
    return 0;
}

int cor_buf_add(struct cor_buf *b, const void *p, size_t n)
{
    int r = cor_buf_reserve(b, n);

    if (r < 0)
        return r;
    if (n)
        memcpy(b->p + b->n, p, n);
    b->n += n;
    b->p[b->n] = '\0';
    return 0;
}

int cor_buf_adds(struct cor_buf *b, struct cor_str s)
{
    return cor_buf_add(b, s.p, s.n);
}

int cor_buf_addz(struct cor_buf *b, const char *s)
{
    return cor_buf_add(b, s, strlen(s));
}

int cor_buf_addc(struct cor_buf *b, char c)
{
    return cor_buf_add(b, &c, 1);
}

int cor_buf_addv(struct cor_buf *b, const char *fmt, va_list ap)
{
    va_list again;
    int n, r;

    va_copy(again, ap);
    n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    if (n < 0)
        return -COR_EINVAL;
    r = cor_buf_reserve(b, (size_t)n);
    if (r < 0)
        return r;
    vsnprintf(b->p + b->n, (size_t)n + 1, fmt, ap);
    b->n += (size_t)n;
    return 0;
}

int cor_buf_addf(struct cor_buf *b, const char *fmt, ...)
{
    va_list ap;
    int r;

    va_start(ap, fmt);
    r = cor_buf_addv(b, fmt, ap);
    va_end(ap);
    return r;
}

int cor_buf_addu64(struct cor_buf *b, uint64_t v)
{
    char digits[20];
    size_t at = sizeof(digits);

    do {
        digits[--at] = (char)('0' + v % 10);
        v /= 10;
    } while (v);
    return cor_buf_add(b, digits + at, sizeof(digits) - at);
}

void cor_buf_truncate(struct cor_buf *b, size_t n)
{
    assert(n <= b->n);
    b->n = n;
    if (b->p)
        b->p[n] = '\0';
}

const char *cor_buf_z(const struct cor_buf *b)
{
    return b->p ? b->p : "";
}

char *cor_buf_steal(struct cor_buf *b, size_t *ret_n)
{
    char *p;

    if (!b->p && cor_buf_reserve(b, 0) < 0)
        return NULL;
    p = b->p;
    if (ret_n)
        *ret_n = b->n;
    b->p = NULL;
    b->n = b->cap = 0;
    return p;
}
