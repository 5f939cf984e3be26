// Faults of a disk, for LD_PRELOAD. Counts the calls that change files below a directory. At a chosen call it kills the
// process, lets this and all later calls fail, or removes the directory. Lists files whose content is not on the disk.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { COUNT, KILL, FAIL, REMOVE };
enum { MAX_DIRTY = 4096 };

// Shared with child processes.
static struct {
    long calls;
    int dirty_files;
    ino_t dirty[MAX_DIRTY];
} *shared;
static char directory[PATH_MAX];
static int mode, error;
static long at;
static __thread int inside;

__attribute__((constructor)) static void begin(void) {
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

void disk_arm(const char *below, int how, long when, int number) {
    snprintf(directory, sizeof directory, "%s", below);
    mode = how, at = when, error = number;
    shared->calls = shared->dirty_files = 0;
}

long disk_calls(void) { return shared->calls; }
int disk_dirty(ino_t **files) {
    *files = shared->dirty;
    return shared->dirty_files;
}

static int remove_one(const char *path, const struct stat *s, int type, struct FTW *f) {
    (void)s, (void)f;
    return (int)syscall(SYS_unlinkat, AT_FDCWD, path, type == FTW_DP ? AT_REMOVEDIR : 0);
}

static int is_below(const char *path) {
    size_t length = strlen(directory);
    return length && !strncmp(path, directory, length) && (path[length] == '/' || !path[length]);
}

static int is_below_at(int folder, const char *path) {
    char whole[PATH_MAX], link[64];
    if (path[0] == '/') return is_below(path);
    if (folder == AT_FDCWD) {
        if (!getcwd(whole, sizeof whole)) return 0;
    } else {
        snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
        ssize_t n = readlink(link, whole, sizeof whole - 1);
        if (n < 0) return 0;
        whole[n] = 0;
    }
    strncat(whole, "/", sizeof whole - strlen(whole) - 1);
    strncat(whole, path, sizeof whole - strlen(whole) - 1);
    return is_below(whole);
}

static int is_file_below(int file) {
    char path[PATH_MAX], link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0) return 0;
    path[n] = 0;
    return is_below(path);
}

// Counts a call; returns true if it must fail. `allocates` is true if the call needs space on the disk.
static int fails(int allocates) {
    if (inside) return 0;
    long call = __atomic_add_fetch(&shared->calls, 1, __ATOMIC_SEQ_CST);
    if (mode == KILL && call == at) {
        kill(getpid(), SIGKILL);
        pause();
    }
    if (mode == REMOVE && call == at) {
        inside = 1;
        nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
        inside = 0;
    }
    if (mode == FAIL && call >= at && (allocates || error == EROFS)) {
        errno = error;
        return 1;
    }
    return 0;
}

static pthread_mutex_t marking = PTHREAD_MUTEX_INITIALIZER;

static void mark_inode(ino_t inode, int is_dirty) {
    for (int i = 0; i < shared->dirty_files; i++)
        if (shared->dirty[i] == inode) {
            if (!is_dirty) shared->dirty[i] = shared->dirty[--shared->dirty_files];
            return;
        }
    if (is_dirty && shared->dirty_files < MAX_DIRTY) shared->dirty[shared->dirty_files++] = inode;
}

static void mark(int file, int is_dirty) {
    struct stat found;
    if (fstat(file, &found) || !S_ISREG(found.st_mode)) return;
    pthread_mutex_lock(&marking);
    mark_inode(found.st_ino, is_dirty);
    pthread_mutex_unlock(&marking);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define OPEN(name, signature, call, folder)                                          \
    int name signature {                                                             \
        mode_t bits = 0;                                                             \
        if (flags & (O_CREAT | O_TMPFILE)) {                                         \
            va_list list;                                                            \
            va_start(list, flags);                                                   \
            bits = va_arg(list, mode_t);                                             \
            va_end(list);                                                            \
        }                                                                            \
        int changes = (flags & O_TRUNC) || ((flags & O_CREAT) && faccessat(folder, path, F_OK, 0)); \
        if (changes && is_below_at(folder, path) && fails(1)) return -1;             \
        return REAL(name) call;                                                      \
    }
OPEN(open, (const char *path, int flags, ...), (path, flags, bits), AT_FDCWD)
OPEN(open64, (const char *path, int flags, ...), (path, flags, bits), AT_FDCWD)
OPEN(openat, (int folder, const char *path, int flags, ...), (folder, path, flags, bits), folder)
OPEN(openat64, (int folder, const char *path, int flags, ...), (folder, path, flags, bits), folder)

#define WRITE(type, name, signature, call)                  \
    type name signature {                                   \
        int counts = is_file_below(file);                   \
        if (counts && fails(1)) return -1;                  \
        type done = REAL(name) call;                        \
        if (counts && done >= 0) mark(file, 1);             \
        return done;                                        \
    }
WRITE(ssize_t, write, (int file, const void *bytes, size_t count), (file, bytes, count))
WRITE(ssize_t, pwrite, (int file, const void *bytes, size_t count, off_t to), (file, bytes, count, to))
WRITE(ssize_t, pwrite64, (int file, const void *bytes, size_t count, off64_t to), (file, bytes, count, to))
WRITE(ssize_t, writev, (int file, const struct iovec *parts, int count), (file, parts, count))
WRITE(int, ftruncate, (int file, off_t size), (file, size))
WRITE(int, ftruncate64, (int file, off64_t size), (file, size))

#define SYNC(name)                                          \
    int name(int file) {                                    \
        if (is_file_below(file) && fails(0)) return -1;     \
        int done = REAL(name)(file);                        \
        if (!done) mark(file, 0);                           \
        return done;                                        \
    }
SYNC(fsync)
SYNC(fdatasync)

#define CHANGE(name, allocates, signature, call, folder, path)             \
    int name signature {                                                   \
        if (is_below_at(folder, path) && fails(allocates)) return -1;      \
        return REAL(name) call;                                            \
    }
CHANGE(rename, 0, (const char *from, const char *to), (from, to), AT_FDCWD, to)
CHANGE(renameat, 0, (int a, const char *from, int b, const char *to), (a, from, b, to), b, to)
CHANGE(unlink, 0, (const char *path), (path), AT_FDCWD, path)
CHANGE(unlinkat, 0, (int folder, const char *path, int flags), (folder, path, flags), folder, path)
CHANGE(rmdir, 0, (const char *path), (path), AT_FDCWD, path)
CHANGE(mkdir, 1, (const char *path, mode_t bits), (path, bits), AT_FDCWD, path)
CHANGE(mkdirat, 1, (int folder, const char *path, mode_t bits), (folder, path, bits), folder, path)
CHANGE(truncate, 1, (const char *path, off_t size), (path, size), AT_FDCWD, path)
CHANGE(truncate64, 1, (const char *path, off64_t size), (path, size), AT_FDCWD, path)
