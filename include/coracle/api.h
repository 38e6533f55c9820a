/* What every public header shares: the mark of exported functions, and the rule of option structs.
 *
 * An option struct begins with its size as it was when the program was compiled. Its macro, which
 * has the struct's name in capitals, sets the size; every other member may be left zero:
 *
 *   const struct cor_request req = {COR_REQUEST, .verb = COR_VERB_GET, ...};
 *
 * C++ before C++20 has no designated initialisers, so a program writes:
 *
 *   struct cor_request req = cor_request();
 *   req.size = sizeof(req);
 *
 * Later versions of the library append members to these structs. The library accepts the smaller
 * struct of an older program: the members that it lacks have their defaults. It accepts the larger
 * struct of a newer program as long as the members that the library does not know are zero, and
 * returns -COR_ENOTSUP otherwise. A size that is not set (0) is refused with -COR_EINVAL. */
#ifndef CORACLE_API_H
#define CORACLE_API_H

/* The library exports these functions; all other symbols are hidden. */
#define COR_API __attribute__((visibility("default")))

/* Enclose declarations of functions that have the name of a struct, as stat() does. Needed in C++
 * only, where g++ -Wshadow warns that a constructor is hidden, although these structs have none. */
#define COR_STRUCT_NAMES_BEGIN                                                                     \
    _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wshadow\"")
#define COR_STRUCT_NAMES_END _Pragma("GCC diagnostic pop")

#endif
