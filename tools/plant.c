/* Makes each reply of a server cost a share more CPU than it did (tools/plant): loaded before the C
 * library, it takes the place of send(), through which a PostgreSQL backend's replies go, and spins
 * for PLANT_SHARE of the CPU time that the process uses for a reply.
 *
 * That time is read once for many short replies: a reading is a call of the kernel, which beside a
 * statement of 30 us would itself be a slowdown of several percent. In between the spin is timed by
 * a clock that needs no call.
 *
 * PLANT_TURNS in place of a share: a loop of so many turns, about a nanosecond each, for each reply.
 * A server of any kind takes it by LD_PRELOAD, also one with a thread for each session. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <time.h>

/* The CPU time is read after so many replies, or where so much time has passed since. */
#define REPLIES 100
#define INTERVAL_NS 20e6
/* More than this of one statement is not a statement's: the process had something else to do. */
#define SPENT_NS_MAX 10e9

static ssize_t (*plain_send)(int, const void *, size_t, int);
static double share;
static long turns;
static double cpu_last_ns = -1; /* at the last reading */
static double last_ns;          /* when that was */
static double planted_ns;       /* since then */
static double each_ns;          /* what a reply gets now */
static int replies;             /* since the last reading */

static double read_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

__attribute__((constructor)) static void begin(void)
{
    const char *written = getenv("PLANT_SHARE");
    plain_send = (ssize_t(*)(int, const void *, size_t, int))dlsym(RTLD_NEXT, "send");
    share = written ? atof(written) : 0;
    written = getenv("PLANT_TURNS");
    turns = written ? atol(written) : 0;
}

static void settle(double now_ns)
{
    double cpu_ns = read_ns(CLOCK_THREAD_CPUTIME_ID);
    double own_ns = cpu_ns - cpu_last_ns - planted_ns;
    /* A process that was just forked counts its own time from 0. */
    int known = cpu_last_ns >= 0 && own_ns > 0 && own_ns < SPENT_NS_MAX;
    each_ns = known ? share * own_ns / replies : 0;
    cpu_last_ns = cpu_ns;
    last_ns = now_ns;
    planted_ns = 0;
    replies = 0;
}

static void burn(void)
{
    uint64_t mixed = (uintptr_t)&mixed;
    for (long turn = 0; turn < turns; turn++)
        mixed = (mixed ^ (mixed >> 29)) * UINT64_C(0x9E3779B97F4A7C15);
    __asm__ volatile("" : : "r"(mixed));
}

ssize_t send(int socket, const void *buffer, size_t length, int flags)
{
    if (turns) {
        burn();
        return plain_send(socket, buffer, length, flags);
    }
    double begun_ns = read_ns(CLOCK_MONOTONIC), now_ns = begun_ns;
    replies++;
    if (replies >= REPLIES || begun_ns - last_ns > INTERVAL_NS)
        settle(begun_ns);
    while (now_ns - begun_ns < each_ns)
        now_ns = read_ns(CLOCK_MONOTONIC);
    planted_ns += now_ns - begun_ns;
    return plain_send(socket, buffer, length, flags);
}
