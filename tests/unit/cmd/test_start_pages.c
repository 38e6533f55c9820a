#include "start_pages.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test.h"

#define PAGES 3

/* Is the page in the memory of this process? The highest bit of its entry. */
static bool is_present(const char *page)
{
    int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    uint64_t entry = 0;
    off_t at = (off_t)((uintptr_t)page / (uintptr_t)sysconf(_SC_PAGESIZE) * sizeof(entry));

    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &entry, sizeof(entry), at), sizeof(entry));
    close(fd);
    return entry >> 63;
}

/* Maps a file whose pages are full of 'f'. */
static char *map_file(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    FILE *file = tmpfile();
    char *bytes;

    assert_non_null(file);
    for (size_t i = 0; i < PAGES * page; i++)
        assert_int_equal(fputc('f', file), 'f');
    assert_int_equal(fflush(file), 0);
    bytes = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE, fileno(file), 0);
    assert_true(bytes != MAP_FAILED);
    assert_int_equal(fclose(file), 0);
    return bytes;
}

TEST(start_pages, pages_of_a_file_leave_the_process_and_come_back_unchanged)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *bytes = map_file();

    assert_int_equal(mprotect(bytes, PAGES * page, PROT_READ), 0);
    assert_int_equal(*(volatile char *)&bytes[page], 'f');
    assert_true(is_present(&bytes[page]));
    assert_true(start_pages_drop() >= PAGES * page);
    assert_false(is_present(&bytes[page]));
    assert_int_equal(bytes[page], 'f');
    munmap(bytes, PAGES * page);
}

TEST(start_pages, what_was_written_before_a_mapping_became_read_only_stays)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *bytes = map_file();

    bytes[page] = 'w';
    assert_int_equal(mprotect(bytes, PAGES * page, PROT_READ), 0);
    (void)start_pages_drop();
    assert_int_equal(*(volatile char *)&bytes[page], 'w');
    munmap(bytes, PAGES * page);
}

TEST(start_pages, writable_mappings_stay)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *bytes = map_file();

    bytes[0] = 'w';
    assert_int_equal(*(volatile char *)&bytes[page], 'f');
    (void)start_pages_drop();
    assert_true(is_present(&bytes[0]));
    assert_int_equal(*(volatile char *)&bytes[0], 'w');
    munmap(bytes, PAGES * page);
}

/* Drops the pages of a mapping that the system describes in this way. */
static size_t drop_described(const char *bytes, size_t n, unsigned anonymous_kb, unsigned swap_kb)
{
    FILE *list = tmpfile();
    size_t dropped;

    assert_non_null(list);
    assert_true(fprintf(list,
                        "%lx-%lx r--p 00000000 08:01 1234 /usr/lib/x.so\nRss: 12 kB\n"
                        "Anonymous: %u kB\nSwap: %u kB\nSwapPss: 0 kB\n",
                        (unsigned long)(uintptr_t)bytes, (unsigned long)(uintptr_t)(bytes + n),
                        anonymous_kb, swap_kb) > 0);
    rewind(list);
    dropped = start_pages_drop_listed(list);
    assert_int_equal(fclose(list), 0);
    return dropped;
}

TEST(start_pages, what_was_written_stays_when_it_is_in_swap_space)
{
    size_t n = PAGES * (size_t)sysconf(_SC_PAGESIZE);
    char *bytes = map_file();

    bytes[0] = 'w';
    assert_int_equal(mprotect(bytes, n, PROT_READ), 0);
    assert_int_equal(drop_described(bytes, n, 0, 4), 0);
    assert_int_equal(*(volatile char *)&bytes[0], 'w');
    assert_int_equal(drop_described(bytes, n, 4, 0), 0);
    assert_int_equal(*(volatile char *)&bytes[0], 'w');
    /* Without pages of its own in the list the mapping is dropped, and the byte is lost. */
    assert_int_equal(drop_described(bytes, n, 0, 0), n);
    assert_int_equal(*(volatile char *)&bytes[0], 'f');
    munmap(bytes, n);
}
