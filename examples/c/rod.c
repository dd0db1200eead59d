/*
 * A control loop at 1 kHz: twelve agents keep a rod at a profile of temperatures.
 *
 *     rod POLICY [STEPS] [--fast]
 *
 * POLICY is policies/heat1d.safetensors, trained with 8 agents. One third of the time has passed: two agents
 * fail. Two thirds: the target changes. Then the sensor gives NaN for 10 ms, and the last good action is held.
 * --fast does not wait for the clock. Ends with 1 if the rod does not do what it should.
 */
#define _POSIX_C_SOURCE 200809L

#include <cinoc.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "histogram.h"
#include "rod.h"

enum { AGENTS = 12, PERIOD_NS = 1000000, BLIND_STEPS = 10 };

/* Everything that the loop touches is there before it begins. */
static Rod rod;
static float z[ROD_POINTS], targets[2][ROD_POINTS], xi[AGENTS], u[AGENTS], v[AGENTS];
static uint8_t alive[AGENTS];
static Histogram decisions, lateness;

static int fail(const char *what, CinocStatus status, const char *message)
{
    fprintf(stderr, "rod: %s: %s (%s)\n", what, message, cinoc_status_text(status));
    return 1;
}

/* Sleeps until the next period begins, and says how late it is then. */
static uint64_t wait_until(uint64_t moment)
{
    const struct timespec at = {(time_t)(moment / 1000000000u), (long)(moment % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR) {
    }
    return now_ns() - moment;
}

int main(int count, char **arguments)
{
    long steps = 1500;
    bool fast = false;
    for (int i = 2; i < count; i++) {
        if (strcmp(arguments[i], "--fast") == 0)
            fast = true;
        else
            steps = strtol(arguments[i], NULL, 10);
    }
    if (count < 2 || steps < 1) {
        fprintf(stderr, "usage: rod POLICY [STEPS] [--fast]\n");
        return 2;
    }

    /* set-up: as much time and memory as it takes */
    CinocOptions options = {0};
    options.abi_version = CINOC_ABI_VERSION;
    options.max_agents = AGENTS;
    CinocController *controller = NULL;
    char text[256];
    CinocStatus status = cinoc_load(arguments[1], &options, &controller, text, sizeof text);
    if (status != CINOC_OK)
        return fail("cannot load the policy", status, text);
    CinocInfo info;
    cinoc_describe(controller, &info);
    if (strcmp(info.task, "heat1d") != 0 || info.numbers != ROD_POINTS) {
        fprintf(stderr, "rod: this is a policy for %s, must be one for heat1d\n", info.task);
        cinoc_free(controller);
        return 2;
    }
    for (size_t i = 0; i < ROD_POINTS; i++) {
        const double x = rod_x(i), pi = 3.14159265358979;
        rod.z[i] = 0.8 * sin(2.0 * pi * x);
        targets[0][i] = (float)((0.5 + x) * sin(pi * x));
        targets[1][i] = (float)(-0.6 * sin(pi * x));
    }
    /* the ends are 0, and sin(pi) is not quite */
    rod.z[ROD_POINTS - 1] = targets[0][ROD_POINTS - 1] = targets[1][ROD_POINTS - 1] = 0.0f;
    memset(alive, 1, sizeof alive);
    status = cinoc_start_positions(controller, AGENTS, xi);
    if (status == CINOC_OK)
        status = cinoc_set_target(controller, targets[0], ROD_POINTS);
    if (status != CINOC_OK)
        return fail("set-up", status, cinoc_message(controller));
    const double first = rod_error(&rod, targets[0]);
    double before_failure = first, before_change = first;

    /* from here on: no allocation, no lock, no system call but the clock's */
    const float *target = targets[0];
    long faults = 0, unexpected = 0;
    const uint64_t start = now_ns();
    for (long step = 0; step < steps; step++) {
        if (!fast)
            histogram_add(&lateness, wait_until(start + (uint64_t)(step + 1) * PERIOD_NS));
        if (step == steps / 3) {
            before_failure = rod_error(&rod, target);
            alive[2] = alive[9] = 0;
        }
        if (step == 2 * steps / 3) {
            before_change = rod_error(&rod, target);
            target = targets[1];
            unexpected += cinoc_set_target(controller, target, ROD_POINTS) != CINOC_OK;
        }
        rod_measure(&rod, z);
        const bool blind = step >= 2 * steps / 3 + 20 && step < 2 * steps / 3 + 20 + BLIND_STEPS;
        if (blind)
            z[40] = NAN;

        const uint64_t begin = now_ns();
        status = cinoc_decide(controller, z, ROD_POINTS, xi, alive, AGENTS, u, v);
        histogram_add(&decisions, now_ns() - begin);

        /* u and v can be used in any case: after a fault they are the last good action */
        faults += status == CINOC_ERROR_NOT_FINITE;
        unexpected += status != (blind ? CINOC_ERROR_NOT_FINITE : CINOC_OK);
        rod_step(&rod, xi, u, AGENTS);
        for (size_t k = 0; k < AGENTS; k++)
            xi[k] = rod_move(xi[k], v[k]);
    }
    const double last = rod_error(&rod, target);

    printf("heat1d, %d agents (2 of them fail), %ld decisions%s\n", AGENTS, steps, fast ? "" : " at 1 kHz");
    printf("mean square error: %.1e at the start, %.1e before two agents fail, %.1e before the target changes, "
           "%.1e at the end\n", first, before_failure, before_change, last);
    printf("faults: %ld decisions without a sensor%s%s\n", faults, faults ? ", the last: " : "",
           faults ? cinoc_message(controller) : "");
    histogram_print(&decisions, "decision");
    if (!fast)
        histogram_print(&lateness, "begin of a period, late by");
    cinoc_free(controller);

    if (unexpected > 0) {
        fprintf(stderr, "rod: %ld calls ended otherwise than they should\n", unexpected);
        return 1;
    }
    /* a run that is long enough ends at the target */
    if (steps >= 1500 && !(before_failure < 1e-3 && before_change < 1e-3 && last < 1e-3)) {
        fprintf(stderr, "rod: the error is above 1e-3\n");
        return 1;
    }
    return 0;
}
