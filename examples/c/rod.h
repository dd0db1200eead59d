/*
 * The plant of the examples: a heated rod,
 *
 *     z_t = nu z_xx + sum_i u_i exp(-(x - xi_i)^2 / (2 sigma^2)),   z = 0 at both ends,
 *
 * with the numbers of the task heat1d: length 1, nu = 0.2, sigma = 0.1, steps of 1 ms. A step is that of the
 * task, Crank-Nicolson: (I - r D) z' = (I + r D) z + dt f, with r = dt nu / (2 h^2) and D = [1 -2 1].
 *
 * In a machine this file is replaced by sensors and actuators.
 */
#ifndef ROD_H
#define ROD_H

#include <math.h>
#include <stddef.h>

#define ROD_POINTS 100
#define ROD_DT 0.001
#define ROD_NU 0.2
#define ROD_SIGMA 0.1

typedef struct {
    double z[ROD_POINTS];
} Rod;

/* Where grid point i is. */
static double rod_x(size_t i) { return (double)i / (ROD_POINTS - 1); }

/* One control step: agents at xi heat with u for 1 ms. */
static void rod_step(Rod *rod, const float *xi, const float *u, size_t agents)
{
    const double h = 1.0 / (ROD_POINTS - 1), r = ROD_DT * ROD_NU / (2.0 * h * h);
    const double *z = rod->z;
    double upper[ROD_POINTS], right[ROD_POINTS];
    upper[0] = right[0] = 0.0;
    for (size_t i = 1; i + 1 < ROD_POINTS; i++) {
        double f = 0.0;
        for (size_t k = 0; k < agents; k++) {
            const double d = (rod_x(i) - (double)xi[k]) / ROD_SIGMA;
            f += (double)u[k] * exp(-0.5 * d * d);
        }
        /* the tridiagonal system is solved on the way (Thomas) */
        const double pivot = 1.0 + 2.0 * r + r * upper[i - 1];
        upper[i] = -r / pivot;
        right[i] = (z[i] + r * (z[i - 1] - 2.0 * z[i] + z[i + 1]) + ROD_DT * f + r * right[i - 1]) / pivot;
    }
    rod->z[ROD_POINTS - 1] = 0.0;
    for (size_t i = ROD_POINTS - 2; i > 0; i--)
        rod->z[i] = right[i] - upper[i] * rod->z[i + 1];
    rod->z[0] = 0.0;
}

/* An agent drives for one control step, and stays on the rod. */
static float rod_move(float xi, float v)
{
    const float next = xi + (float)ROD_DT * v;
    return next < 0.0f ? 0.0f : next > 1.0f ? 1.0f : next;
}

/* What thermometers say: the field in single precision. */
static void rod_measure(const Rod *rod, float *z)
{
    for (size_t i = 0; i < ROD_POINTS; i++)
        z[i] = (float)rod->z[i];
}

/* Mean square of what is left to do. */
static double rod_error(const Rod *rod, const float *target)
{
    double sum = 0.0;
    for (size_t i = 0; i < ROD_POINTS; i++) {
        const double e = rod->z[i] - (double)target[i];
        sum += e * e;
    }
    return sum / ROD_POINTS;
}

#endif
