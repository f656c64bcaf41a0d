/* Makes each reply of a server cost a share more CPU than it did (tools/plant): loaded before the C
 * library, it takes the place of send(), through which a PostgreSQL backend's replies go, and spins
 * for PLANT_SHARE of the CPU time that the process has used since its last reply. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <time.h>

#define READS 1000
/* More than this of one statement is not a statement's: the process had something else to do. */
#define SPENT_NS_MAX 10e9

static ssize_t (*plain_send)(int, const void *, size_t, int);
static double share;
static double read_ns; /* what one reading of the clock costs; part of what is planted */
static double last_ns = -1;
static double owed_ns;

static double cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

__attribute__((constructor)) static void begin(void)
{
    const char *written = getenv("PLANT_SHARE");
    double begun;
    plain_send = (ssize_t(*)(int, const void *, size_t, int))dlsym(RTLD_NEXT, "send");
    share = written ? atof(written) : 0;
    begun = cpu_ns();
    for (int i = 0; i < READS; i++)
        cpu_ns();
    read_ns = (cpu_ns() - begun) / (READS + 1);
}

ssize_t send(int socket, const void *buffer, size_t length, int flags)
{
    double now = cpu_ns();
    double spent = now - last_ns;
    /* A process that was just forked counts its own time from 0. */
    if (last_ns >= 0 && spent > 0 && spent < SPENT_NS_MAX) {
        owed_ns += spent * share - read_ns;
        while (owed_ns > 0) {
            double later = cpu_ns();
            owed_ns -= later - now;
            now = later;
        }
    }
    last_ns = now;
    return plain_send(socket, buffer, length, flags);
}
