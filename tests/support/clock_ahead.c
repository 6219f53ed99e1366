/* Sets the system's clock CLOCK_AHEAD seconds ahead for one process: a library to preload. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now) {
    int failed = syscall(SYS_clock_gettime, clock, now);
    if (!failed && clock == CLOCK_REALTIME) now->tv_sec += atol(getenv("CLOCK_AHEAD"));
    return failed;
}
