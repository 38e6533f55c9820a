#include "test.h"

#include <stdio.h>
#include <unistd.h>

#include "base/err.h"
#include "identities.h"
#include "net/stream/tls.h"
#include "net/stream/tls_files.h"

struct fix {
    struct identities ids;
    struct cor_tls_opts opts;
    char cert[200], key[200];
};

static void save(const char *path, const struct cor_buf *text)
{
    assert_int_equal(cor_pem_save(path, cor_buf_str(text), 0600), 0);
}

static void fix_init(struct fix *f)
{
    identities_init(&f->ids);
    f->opts =
        (struct cor_tls_opts){.role = COR_TLS_CLIENT, .ca_pem = cor_buf_str(&f->ids.ca.cert_pem)};
    snprintf(f->cert, sizeof(f->cert), "%s/cert.pem", test_tmpdir());
    snprintf(f->key, sizeof(f->key), "%s/key.pem", test_tmpdir());
    save(f->cert, &f->ids.client.cert_pem);
    save(f->key, &f->ids.client.key_pem);
}

TEST(tls_files, a_change_is_noticed_when_both_files_belong_together)
{
    struct cor_tls_files *files;
    struct cor_tls *first;
    struct fix f;

    fix_init(&f);
    assert_int_equal(cor_tls_files_new(&f.opts, f.cert, f.key, &files), 0);
    first = cor_tls_ref(cor_tls_files_peek(files));
    assert_int_equal(cor_tls_files_look(files), 0);
    save(f.cert, &f.ids.server.cert_pem);
    assert_int_equal(cor_tls_files_look(files), -COR_EINVAL);
    assert_ptr_equal(cor_tls_files_peek(files), first);
    save(f.key, &f.ids.server.key_pem);
    assert_int_equal(cor_tls_files_look(files), 1);
    assert_ptr_not_equal(cor_tls_files_peek(files), first);
    assert_int_equal(cor_tls_files_look(files), 0);
    unlink(f.key);
    assert_int_equal(cor_tls_files_look(files), -COR_ENOTFOUND);
    assert_non_null(cor_tls_files_peek(files));
    cor_tls_unref(first);
    cor_tls_files_free(files);
    identities_deinit(&f.ids);
}

TEST(tls_files, a_file_that_is_missing_at_the_start_is_told)
{
    struct cor_tls_files *files;
    struct fix f;

    fix_init(&f);
    assert_int_equal(cor_tls_files_new(&f.opts, "/no/such/file", f.key, &files), -COR_ENOTFOUND);
    identities_deinit(&f.ids);
}

TEST(tls_files, survives_every_failed_allocation)
{
    struct fix f;

    fix_init(&f);
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_tls_files *files = NULL;
        int r = cor_tls_files_new(&f.opts, f.cert, f.key, &files);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        cor_tls_files_free(files);
    }
    identities_deinit(&f.ids);
}
