// Faults of a disk, for LD_PRELOAD. Counts the calls that change files below a directory. At a chosen call it kills the
// process, lets this and all later calls fail, or removes the directory. Lists what is not on the disk: the content of
// files without a later fsync, and entries of directories (new, renamed and removed files) without a later fsync of the
// directory. Keeps hard links to removed files, so that the harness can undo a removal.
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
enum { MAX_DIRTY = 4096, MAX_CHANGES = 4096, MAX_PATH = 512 };
enum { CREATED, RENAMED, REMOVED, DIRECTORY_REMOVED };

// Change of the entries of a directory. An empty `from` is on the disk. `kept` is a link to the file that a change
// removed, or empty.
struct change {
    int kind;
    char from[MAX_PATH], to[MAX_PATH], kept[MAX_PATH];
};

// Shared with child processes.
static struct {
    long calls;
    int dirty_files, changes, is_full;
    ino_t dirty[MAX_DIRTY];
    struct change change[MAX_CHANGES];
} *shared;
static char directory[PATH_MAX], keep[MAX_PATH / 2];
static int mode, error;
static long at;
static __thread int inside;

void disk_arm(const char *below, const char *links, int how, long when, int number) {
    snprintf(directory, sizeof directory, "%s", below);
    snprintf(keep, sizeof keep, "%s", links);
    mode = how, at = when, error = number;
    shared->calls = shared->dirty_files = shared->changes = 0;
}

// A program without the harness is killed at the call that the environment gives. At its end, it prints its calls.
__attribute__((constructor)) static void begin(void) {
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const char *below = getenv("DISK_BELOW"), *call = getenv("DISK_KILL_AT");
    if (below && call) disk_arm(below, "", KILL, atol(call), 0);
}

__attribute__((destructor)) static void end(void) {
    if (getenv("DISK_BELOW")) fprintf(stderr, "calls: %ld\n", shared->calls);
}

long disk_calls(void) { return shared->calls; }
int disk_dirty(ino_t **files) {
    *files = shared->dirty;
    return shared->dirty_files;
}

// Returns the number of changes that are not on the disk; -1 if there were too many to record.
int disk_changes(struct change **changes) {
    *changes = shared->change;
    return shared->is_full ? -1 : shared->changes;
}

static int remove_one(const char *path, const struct stat *s, int type, struct FTW *f) {
    (void)s, (void)f;
    return (int)syscall(SYS_unlinkat, AT_FDCWD, path, type == FTW_DP ? AT_REMOVEDIR : 0);
}

static int is_below(const char *path) {
    size_t length = strlen(directory);
    return length && !strncmp(path, directory, length) && (path[length] == '/' || !path[length]);
}

// Writes the path of an open file. Returns 0 if it has none.
static int path_of(int file, char whole[PATH_MAX]) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t n = readlink(link, whole, PATH_MAX - 1);
    whole[n < 0 ? 0 : n] = 0;
    return n > 0;
}

static int whole_path(int folder, const char *path, char whole[PATH_MAX]) {
    whole[0] = 0;
    if (path[0] != '/') {
        if (folder == AT_FDCWD ? !getcwd(whole, PATH_MAX) : !path_of(folder, whole)) return 0;
        strncat(whole, "/", PATH_MAX - strlen(whole) - 1);
    }
    strncat(whole, path, PATH_MAX - strlen(whole) - 1);
    return 1;
}

static int is_below_at(int folder, const char *path) {
    char whole[PATH_MAX];
    return whole_path(folder, path, whole) && is_below(whole);
}

static int is_file_below(int file) {
    char path[PATH_MAX];
    return path_of(file, path) && is_below(path);
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

// Records a change of entries. `call` has the paths of the call; before a removal, it links the removed file.
static void record(int kind, const char *from, const char *to, const char *kept) {
    pthread_mutex_lock(&marking);
    if (shared->changes == MAX_CHANGES) shared->is_full = 1;
    if (!shared->is_full) {
        struct change *next = &shared->change[shared->changes++];
        next->kind = kind;
        snprintf(next->from, MAX_PATH, "%s", from);
        snprintf(next->to, MAX_PATH, "%s", to);
        snprintf(next->kept, MAX_PATH, "%s", kept);
    }
    pthread_mutex_unlock(&marking);
}

// Links a file that a call will remove or replace. Writes the path of the link; empty if there is no such file.
static void link_of(const char *path, char kept[MAX_PATH]) {
    static long links;
    snprintf(kept, MAX_PATH, "%s/%d-%ld", keep, getpid(), __atomic_add_fetch(&links, 1, __ATOMIC_SEQ_CST));
    if (linkat(AT_FDCWD, path, AT_FDCWD, kept, 0)) kept[0] = 0;
}

static int is_in(const char *path, const char *folder) {
    const char *last = strrchr(path, '/');
    size_t length = strlen(folder);
    return last && (size_t)(last - path) == length && !strncmp(path, folder, length);
}

// Returns true if change `i` is in a directory that was removed later from `folder`, with its contents.
static int is_in_removed(int i, const char *folder) {
    for (int k = i + 1; k < shared->changes; k++) {
        const char *removed = shared->change[k].to;
        size_t length = strlen(removed);
        if (shared->change[k].kind == DIRECTORY_REMOVED && is_in(removed, folder) &&
            !strncmp(shared->change[i].to, removed, length) && shared->change[i].to[length] == '/')
            return 1;
    }
    return 0;
}

// Forgets the changes of a directory whose entries have reached the disk. A rename is on the disk with its new entry.
static void settle(int file) {
    char folder[PATH_MAX];
    struct stat found;
    if (!path_of(file, folder) || fstat(file, &found) || !S_ISDIR(found.st_mode)) return;
    pthread_mutex_lock(&marking);
    int left = 0;
    for (int i = 0; i < shared->changes; i++)
        if (!is_in(shared->change[i].to, folder) && !is_in_removed(i, folder))
            shared->change[left++] = shared->change[i];
    shared->changes = left;
    pthread_mutex_unlock(&marking);
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
        int creates = (flags & O_CREAT) && faccessat(folder, path, F_OK, 0);         \
        int counts = (creates || (flags & O_TRUNC)) && is_below_at(folder, path);    \
        if (counts && fails(1)) return -1;                                           \
        int file = REAL(name) call;                                                  \
        char whole[PATH_MAX];                                                        \
        if (counts && creates && file >= 0 && whole_path(folder, path, whole)) record(CREATED, "", whole, ""); \
        return file;                                                                 \
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
        if (!done) mark(file, 0), settle(file);             \
        return done;                                        \
    }
SYNC(fsync)
SYNC(fdatasync)

#define CHANGE(name, allocates, signature, call, folder, path, kind)        \
    int name signature {                                                    \
        char whole[PATH_MAX], kept[MAX_PATH] = "";                          \
        if (!is_below_at(folder, path)) return REAL(name) call;             \
        if (fails(allocates)) return -1;                                    \
        whole_path(folder, path, whole);                                    \
        if (kind == REMOVED) link_of(whole, kept);                          \
        int done = REAL(name) call;                                         \
        if (!done) record(kind == REMOVED && !kept[0] ? DIRECTORY_REMOVED : kind, "", whole, kept); \
        return done;                                                        \
    }
CHANGE(unlink, 0, (const char *path), (path), AT_FDCWD, path, REMOVED)
CHANGE(unlinkat, 0, (int folder, const char *path, int flags), (folder, path, flags), folder, path, REMOVED)
CHANGE(rmdir, 0, (const char *path), (path), AT_FDCWD, path, REMOVED)
CHANGE(mkdir, 1, (const char *path, mode_t bits), (path, bits), AT_FDCWD, path, CREATED)
CHANGE(mkdirat, 1, (int folder, const char *path, mode_t bits), (folder, path, bits), folder, path, CREATED)

#define RENAME(name, signature, call, a, b)                                 \
    int name signature {                                                    \
        char before[PATH_MAX], after[PATH_MAX], kept[MAX_PATH];             \
        if (!is_below_at(b, to)) return REAL(name) call;                    \
        if (fails(0)) return -1;                                            \
        whole_path(a, from, before), whole_path(b, to, after);              \
        link_of(after, kept);                                               \
        int done = REAL(name) call;                                         \
        if (!done) record(RENAMED, before, after, kept);                    \
        return done;                                                        \
    }
RENAME(rename, (const char *from, const char *to), (from, to), AT_FDCWD, AT_FDCWD)
RENAME(renameat, (int a, const char *from, int b, const char *to), (a, from, b, to), a, b)

#define CUT(name, type)                                                     \
    int name(const char *path, type size) {                                 \
        if (is_below_at(AT_FDCWD, path) && fails(1)) return -1;             \
        return REAL(name)(path, size);                                      \
    }
CUT(truncate, off_t)
CUT(truncate64, off64_t)
