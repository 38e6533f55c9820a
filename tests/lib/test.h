/* The suite's small frame around cmocka: TEST() registers itself, every test ends with a check that
 * nothing it allocated is left and no descriptor it opened, and FOR_EACH_FAILED_ALLOC fails each
 * allocation in turn.
 *
 *   TEST(buf, grows_up_to_its_maximum)
 *   {
 *       ...
 *   }
 *
 * tests/lib/main.c holds main(). `PROGRAM test_buf.c` runs the tests of that file, which is how the
 * suite runs a program of many files; `PROGRAM [test_buf.c] 'buf: grows*'` those of a pattern. */
#ifndef COR_TEST_H
#define COR_TEST_H

/* cmocka needs these first. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
/* clang-format on */

/* cmocka 2 has it, and calls the older name deprecated. */
#ifndef assert_uint_in_range
#define assert_uint_in_range assert_in_range
#endif
/* A macro of cmocka 2, which has the name of functions and members here. */
#undef stop

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef void (*test_fn)(void **state);

void test_register(const char *file, const char *name, test_fn fn);

#define TEST(suite, name)                                                                          \
    static void test_##suite##_##name(void **state);                                               \
    __attribute__((constructor)) static void register_##suite##_##name(void)                       \
    {                                                                                              \
        test_register(__BASE_FILE__, #suite ": " #name, test_##suite##_##name);                    \
    }                                                                                              \
    static void test_##suite##_##name(__attribute__((unused)) void **state)

void test_register_need(const char *file, const char *variable);

/* The tests of this file are skipped where the environment does not have the variable. */
#define TEST_FILE_NEEDS(variable)                                                                  \
    __attribute__((constructor)) static void register_need_of_##variable(void)                     \
    {                                                                                              \
        test_register_need(__BASE_FILE__, #variable);                                              \
    }

/* Counts of the allocator seam since the program began; main.c installs the counting allocator. */
size_t test_live_allocs(void);
/* Their bytes, with what the C library rounded up. */
size_t test_live_bytes(void);

/* Lets so much time pass: for a callback that takes long, where that is what is tested. No test
 * waits for anything so. */
void test_spend_ms(int ms);

/* Descriptors that are open now may stay open after the test, because something keeps them until
 * the program ends. */
void test_keep_fds(void);

/* Makes the n-th allocation from now on this thread fail (1 = the next), and all after it while
 * `persistent`. 0 turns it off. */
void test_fail_alloc(size_t n, bool persistent);

/* True when the armed failure has happened since test_fail_alloc(). */
bool test_alloc_failed(void);

/* Runs the body again and again, each time with another allocation failing, until a run meets no
 * failure. `n` is the number of the allocation that fails, counted from the beginning of the body,
 * or from where the body calls test_fail_alloc(n, false) itself.
 *
 * The first 64 allocations fail in turn, and of those after them a sample that is drawn from the
 * seed, with steps that grow: about 64 of 4,000. $COR_TEST_ALLOCATIONS is how many fail in turn, or
 * `all` (./dev allocations).
 *
 * The body must release what it made, whatever happened, and may use test_alloc_failed(). */
#define FOR_EACH_FAILED_ALLOC(n) for (size_t n = test_next_alloc(0); n > 0; n = test_next_alloc(n))

/* Arms the failure of the run after the one in which allocation `n` was to fail (0: of the first
 * run), and returns its number; 0: allocation `n` was not reached, and the loop is over. */
size_t test_next_alloc(size_t n);

/* Equality with both values printed. */
#define assert_str(s, lit)                                                                         \
    do {                                                                                           \
        struct cor_str assert_str_ = (s);                                                          \
        assert_int_equal(assert_str_.n, strlen(lit));                                              \
        assert_memory_equal(assert_str_.p, lit, strlen(lit));                                      \
    } while (0)

/* A fresh empty folder, removed with its content at exit. */
const char *test_tmpdir(void);

/* A seeded generator: the seed is $COR_TEST_SEED or the clock, and is printed when a test fails. */
uint64_t test_random(void);

#endif
