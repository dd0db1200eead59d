/*
 * Decisions between two calls of getppid, which stand out in a trace: there must be no system call between them.
 *
 *     strace -f -o TRACE no_system_call POLICY DECISIONS
 */
#define _GNU_SOURCE

#include <cinoc.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int count, char **arguments)
{
    const unsigned long decisions = count > 2 ? strtoul(arguments[2], NULL, 10) : 1000;
    CinocOptions options = {0};
    options.abi_version = CINOC_ABI_VERSION;
    CinocController *controller = NULL;
    char text[256];
    if (count < 2 || cinoc_load(arguments[1], &options, &controller, text, sizeof text) != CINOC_OK) {
        fprintf(stderr, "no_system_call: %s\n", count < 2 ? "which policy?" : text);
        return 2;
    }
    CinocInfo info;
    cinoc_describe(controller, &info);
    const size_t agents = info.max_agents;
    float *z = calloc(info.numbers, sizeof *z), *target = calloc(info.numbers, sizeof *target);
    float *xi = calloc(agents * info.dims, sizeof *xi), *u = calloc(agents, sizeof *u);
    float *v = calloc(agents * info.dims, sizeof *v);
    if (z == NULL || target == NULL || xi == NULL || u == NULL || v == NULL)
        return 2;
    for (size_t i = 0; i < info.numbers; i++)
        z[i] = target[i] = 0.4f + 0.3f * sinf(0.07f * (float)i);
    cinoc_start_positions(controller, agents, xi);

    unsigned long wrong = 0;
    syscall(SYS_getppid);
    for (unsigned long k = 0; k < decisions; k++) {
        wrong += cinoc_set_target(controller, target, info.numbers) != CINOC_OK;
        wrong += cinoc_decide(controller, z, info.numbers, xi, NULL, agents, u, v) != CINOC_OK;
        target[k % info.numbers] += 1e-3f;
    }
    /* a fault makes none either */
    z[0] = NAN;
    wrong += cinoc_decide(controller, z, info.numbers, xi, NULL, agents, u, v) != CINOC_ERROR_NOT_FINITE;
    syscall(SYS_getppid);

    free(z);
    free(target);
    free(xi);
    free(u);
    free(v);
    cinoc_free(controller);
    return wrong == 0 ? 0 : 1;
}
