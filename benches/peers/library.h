// Search for functions in a shared library.
#pragma once
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

// Finds a function of a library, or ends the process. `library` is null if `dlopen` failed.
template <class Function> void find(void *library, const char *name, Function &function) {
    function = reinterpret_cast<Function>(library ? dlsym(library, name) : nullptr);
    if (!function) {
        std::fprintf(stderr, "%s: %s\n", name, dlerror());
        std::exit(2);
    }
}
