// How drivers find what shared libraries export.
#pragma once
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

// A function of a library, or the end of the process; `library` is null where `dlopen` found none.
template <class Function> void find(void *library, const char *name, Function &function) {
    function = reinterpret_cast<Function>(library ? dlsym(library, name) : nullptr);
    if (!function) {
        std::fprintf(stderr, "%s: %s\n", name, dlerror());
        std::exit(2);
    }
}
