/* Fails a call of the operating system on a file: preloaded, this stands before the C library.

   fault_arm chooses the file or the folder, the kind of call (open, write, read, fsync, truncate, close, rename, link,
   stat), which one of them fails, from 1 on, 0 for none, and the error. fault_calls counts the calls of that kind. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static int calls, chosen_at, chosen_error;
static char chosen_place[PATH_MAX], chosen_kind[16];

void fault_arm(const char *place, const char *kind, int at, int error) {
    snprintf(chosen_place, sizeof chosen_place, "%s", place);
    snprintf(chosen_kind, sizeof chosen_kind, "%s", kind);
    calls = 0, chosen_at = at, chosen_error = error;
}

int fault_calls(void) { return calls; }

static int fails(const char *kind, const char *path) {
    size_t size = strlen(chosen_place);
    if (!size || strcmp(chosen_kind, kind) != 0 || strncmp(path, chosen_place, size) != 0) return 0;
    if (path[size] != '/' && path[size] != 0) return 0;
    if (__sync_add_and_fetch(&calls, 1) != chosen_at) return 0;
    errno = chosen_error;
    return 1;
}

static int fails_at(const char *kind, int folder, const char *path) {
    char link[64], name[PATH_MAX], whole[2 * PATH_MAX];
    if (path && path[0] == '/') return fails(kind, path);
    if (folder == AT_FDCWD) {
        if (syscall(SYS_getcwd, name, sizeof name) < 0) return 0;
    } else {
        snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
        ssize_t size = readlink(link, name, sizeof name - 1);
        if (size < 0) return 0;
        name[size] = 0;
    }
    snprintf(whole, sizeof whole, path ? "%s/%s" : "%s", name, path);
    return fails(kind, whole);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define ON_DESCRIPTOR(kind, name, type, parameters, ...) \
    type name parameters { return fails_at(kind, fd, NULL) ? -1 : REAL(name)(__VA_ARGS__); }
#define ON_TWO(kind, name) \
    int name(const char *from, const char *to) { return fails_at(kind, AT_FDCWD, to) ? -1 : REAL(name)(from, to); }
#define ON_OPENING(name) \
    int name(const char *path, int flags, ...) { \
        va_list more; va_start(more, flags); int mode = va_arg(more, int); va_end(more); \
        return fails_at("open", AT_FDCWD, path) ? -1 : REAL(name)(path, flags, mode); }

ON_OPENING(open)
ON_OPENING(open64)
ON_DESCRIPTOR("write", write, ssize_t, (int fd, const void *data, size_t size), fd, data, size)
ON_DESCRIPTOR("write", writev, ssize_t, (int fd, const struct iovec *parts, int number), fd, parts, number)
ON_DESCRIPTOR("write", pwrite, ssize_t, (int fd, const void *data, size_t size, off_t at), fd, data, size, at)
ON_DESCRIPTOR("write", pwrite64, ssize_t, (int fd, const void *data, size_t size, off64_t at), fd, data, size, at)
ON_DESCRIPTOR("read", read, ssize_t, (int fd, void *data, size_t size), fd, data, size)
ON_DESCRIPTOR("read", pread, ssize_t, (int fd, void *data, size_t size, off_t at), fd, data, size, at)
ON_DESCRIPTOR("read", pread64, ssize_t, (int fd, void *data, size_t size, off64_t at), fd, data, size, at)
ON_DESCRIPTOR("fsync", fsync, int, (int fd), fd)
ON_DESCRIPTOR("fsync", fdatasync, int, (int fd), fd)
ON_DESCRIPTOR("truncate", ftruncate, int, (int fd, off_t size), fd, size)
ON_DESCRIPTOR("truncate", ftruncate64, int, (int fd, off64_t size), fd, size)

int close(int fd) {
    int failed = fails_at("close", fd, NULL); /* Linux frees the descriptor all the same */
    int ended = REAL(close)(fd);
    if (failed) errno = chosen_error;
    return failed ? -1 : ended;
}

ON_TWO("rename", rename)
ON_TWO("link", link)

#define ON_STATUS(name, type) \
    int name(const char *path, struct type *to) { return fails_at("stat", AT_FDCWD, path) ? -1 : REAL(name)(path, to); }

ON_STATUS(stat, stat)
ON_STATUS(stat64, stat64)
ON_STATUS(lstat, stat)
ON_STATUS(lstat64, stat64)
ON_DESCRIPTOR("stat", fstat, int, (int fd, struct stat *to), fd, to)
ON_DESCRIPTOR("stat", fstat64, int, (int fd, struct stat64 *to), fd, to)
