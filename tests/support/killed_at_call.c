/* Kills the process before its n-th call that changes files, once kill_at_call(n) has been called: a library to preload. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

static long left = -1;

void kill_at_call(long number) { left = number; }

static void count(void) {
    if (left > 0 && --left == 0) kill(getpid(), SIGKILL);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define COUNTED(result, name, parameters, arguments) \
    result name parameters { count(); return NEXT(name) arguments; }

COUNTED(ssize_t, write, (int file, const void *from, size_t size), (file, from, size))
COUNTED(ssize_t, pwrite, (int file, const void *from, size_t size, off_t at), (file, from, size, at))
COUNTED(ssize_t, pwrite64, (int file, const void *from, size_t size, off64_t at), (file, from, size, at))
COUNTED(int, fsync, (int file), (file))
COUNTED(int, fdatasync, (int file), (file))
COUNTED(int, ftruncate, (int file, off_t size), (file, size))
COUNTED(int, ftruncate64, (int file, off64_t size), (file, size))
COUNTED(int, unlink, (const char *name), (name))
COUNTED(int, rename, (const char *from, const char *to), (from, to))
COUNTED(int, fchmod, (int file, mode_t mode), (file, mode))
COUNTED(int, close, (int file), (file))

static mode_t mode_of(int flags, va_list more) { return flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0; }

#define OPENED(name) \
    int name(const char *path, int flags, ...) { \
        va_list more; va_start(more, flags); mode_t mode = mode_of(flags, more); va_end(more); \
        count(); return NEXT(name)(path, flags, mode); \
    }
OPENED(open)
OPENED(open64)
