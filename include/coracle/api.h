/* Marks what libcoracle exports; all else is hidden. */
#ifndef CORACLE_API_H
#define CORACLE_API_H

#define COR_API __attribute__((visibility("default")))

#endif
