/*
 * How long decisions take on this machine: p50, p99, p99.9 and the worst.
 *
 *     latency POLICY [AGENTS] [DECISIONS] [--targets]
 *
 * Works with the policy of every task. AGENTS is 0 for the number of the training. --targets sets a new target before
 * every decision and times both. Nothing is allocated while it measures.
 */
#define _POSIX_C_SOURCE 200809L

#include <cinoc.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "histogram.h"

static Histogram times;

static float *numbers(size_t count)
{
    float *made = calloc(count > 0 ? count : 1, sizeof *made);
    if (made == NULL) {
        fprintf(stderr, "latency: no memory\n");
        exit(1);
    }
    return made;
}

int main(int count, char **arguments)
{
    unsigned long given[2] = {0, 100000};
    int targets = 0;
    for (int i = 2, k = 0; i < count; i++) {
        if (strcmp(arguments[i], "--targets") == 0)
            targets = 1;
        else if (k < 2)
            given[k++] = strtoul(arguments[i], NULL, 10);
    }
    if (count < 2 || given[1] == 0) {
        fprintf(stderr, "usage: latency POLICY [AGENTS] [DECISIONS] [--targets]\n");
        return 2;
    }
    CinocOptions options = {0};
    options.abi_version = CINOC_ABI_VERSION;
    options.max_agents = (uint32_t)given[0];
    CinocController *controller = NULL;
    char text[256];
    if (cinoc_load(arguments[1], &options, &controller, text, sizeof text) != CINOC_OK) {
        fprintf(stderr, "latency: %s\n", text);
        return 1;
    }
    CinocInfo info;
    cinoc_describe(controller, &info);
    const size_t agents = info.max_agents;
    float *z = numbers(info.numbers), *target = numbers(info.numbers);
    float *xi = numbers(agents * info.dims), *u = numbers(agents), *v = numbers(agents * info.dims);
    for (size_t i = 0; i < info.numbers; i++) {
        z[i] = 0.4f + 0.3f * sinf(0.07f * (float)i);
        target[i] = 0.4f + 0.2f * cosf(0.05f * (float)i);
    }
    CinocStatus status = cinoc_start_positions(controller, agents, xi);
    if (status == CINOC_OK)
        status = cinoc_set_target(controller, target, info.numbers);

    for (unsigned long k = 0; status == CINOC_OK && k < given[1]; k++) {
        /* another field every time: a decision may not profit from the last one */
        z[k % info.numbers] = 0.4f + 0.3f * sinf(0.07f * (float)(k % 977));
        const uint64_t begin = now_ns();
        if (targets)
            status = cinoc_set_target(controller, target, info.numbers);
        if (status == CINOC_OK)
            status = cinoc_decide(controller, z, info.numbers, xi, NULL, agents, info.has_u ? u : NULL,
                                  info.has_v ? v : NULL);
        histogram_add(&times, now_ns() - begin);
    }
    if (status == CINOC_OK) {
        printf("%s, %lu agents, %lu decisions%s\n", info.task, (unsigned long)agents, given[1],
               targets ? ", each with a new target" : "");
        histogram_print(&times, "decision");
    } else {
        fprintf(stderr, "latency: %s\n", cinoc_message(controller));
    }
    free(z);
    free(target);
    free(xi);
    free(u);
    free(v);
    cinoc_free(controller);
    return status == CINOC_OK ? 0 : 1;
}
