// rafter/export.h: which symbols leave the shared library. Everything else is hidden.
#ifndef RAFTER_EXPORT_H_
#define RAFTER_EXPORT_H_

#define RAFTER_EXPORT __attribute__((visibility("default")))

#endif  // RAFTER_EXPORT_H_
