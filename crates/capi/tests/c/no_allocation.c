/*
 * A million decisions with an allocator that ends the program if it is asked for anything.
 *
 *     no_allocation POLICY DECISIONS
 */
#define _GNU_SOURCE

#include <cinoc.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* glibc's own allocator, under the names that cannot be replaced */
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

static int armed;
static unsigned long requests;

static void asked(void)
{
    requests++;
    if (armed) {
        static const char text[] = "no_allocation: memory was asked for after the set-up\n";
        if (write(2, text, sizeof text - 1) < 0)
            _exit(3);
        abort();
    }
}

void *malloc(size_t size)
{
    asked();
    return __libc_malloc(size);
}
void *calloc(size_t count, size_t size)
{
    asked();
    return __libc_calloc(count, size);
}
void *realloc(void *memory, size_t size)
{
    asked();
    return __libc_realloc(memory, size);
}
void *memalign(size_t alignment, size_t size)
{
    asked();
    return __libc_memalign(alignment, size);
}
void *aligned_alloc(size_t alignment, size_t size)
{
    asked();
    return __libc_memalign(alignment, size);
}
int posix_memalign(void **memory, size_t alignment, size_t size)
{
    asked();
    *memory = __libc_memalign(alignment, size);
    return *memory == NULL ? ENOMEM : 0;
}
void free(void *memory)
{
    asked();
    __libc_free(memory);
}

enum { AGENTS = 3, NUMBERS = 100 };
static float z[NUMBERS], broken[NUMBERS], targets[2][NUMBERS], xi[AGENTS], u[AGENTS], v[AGENTS];

int main(int count, char **arguments)
{
    const unsigned long decisions = count > 2 ? strtoul(arguments[2], NULL, 10) : 1000000;
    CinocOptions options = {0};
    options.abi_version = CINOC_ABI_VERSION;
    options.max_agents = AGENTS;
    CinocController *controller = NULL;
    char text[256];
    if (count < 2 || cinoc_load(arguments[1], &options, &controller, text, sizeof text) != CINOC_OK) {
        fprintf(stderr, "no_allocation: %s\n", count < 2 ? "which policy?" : text);
        return 2;
    }
    for (size_t i = 0; i < NUMBERS; i++) {
        broken[i] = z[i] = 0.4f + 0.3f * sinf(0.07f * (float)i);
        targets[0][i] = 0.1f;
        targets[1][i] = -0.2f;
    }
    broken[7] = NAN;
    if (cinoc_start_positions(controller, AGENTS, xi) != CINOC_OK ||
        cinoc_set_target(controller, targets[0], NUMBERS) != CINOC_OK) {
        fprintf(stderr, "no_allocation: %s\n", cinoc_message(controller));
        return 2;
    }
    if (requests == 0) {
        fprintf(stderr, "no_allocation: the library does not use this allocator, so nothing is tested\n");
        return 1;
    }
    const uint8_t alive[AGENTS] = {1, 0, 1};
    unsigned long wrong = 0;
    armed = 1;
    for (unsigned long k = 0; k < decisions; k++) {
        z[k % NUMBERS] += 1e-3f;
        /* now and then what happens in a machine: faults, failing agents, another target, fewer agents */
        const int fault = k % 100 == 50;
        if (k % 1000 == 0)
            wrong += cinoc_set_target(controller, targets[k / 1000 % 2], NUMBERS) != CINOC_OK;
        const CinocStatus status =
            cinoc_decide(controller, fault ? broken : z, NUMBERS, xi, k % 3 == 0 ? alive : NULL,
                         k % 7 == 0 ? 2 : AGENTS, u, v);
        wrong += status != (fault ? CINOC_ERROR_NOT_FINITE : CINOC_OK);
    }
    armed = 0;
    printf("%lu decisions without an allocation (%lu in the set-up), %lu with a wrong code\n", decisions,
           requests, wrong);
    cinoc_free(controller);
    return wrong == 0 ? 0 : 1;
}
