/*
 * Latencies without an allocation: a count per range of times, ranges 3 % wide, from 1 ns to 18 minutes. The worst
 * one is exact.
 */
#ifndef HISTOGRAM_H
#define HISTOGRAM_H

#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define HISTOGRAM_PARTS 32 /* ranges per power of two */
#define HISTOGRAM_POWERS 36

typedef struct {
    uint64_t counts[HISTOGRAM_POWERS * HISTOGRAM_PARTS];
    uint64_t total, worst;
} Histogram;

/* Nanoseconds since some moment. */
static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Times below 64 ns have a range each; above, the five bits after the first one tell the range. */
static unsigned histogram_range(uint64_t ns)
{
    unsigned power = 0;
    while (ns >> power >= 2 * HISTOGRAM_PARTS)
        power++;
    const unsigned range = power * HISTOGRAM_PARTS + (unsigned)(ns >> power);
    const unsigned last = HISTOGRAM_POWERS * HISTOGRAM_PARTS - 1;
    return range < last ? range : last;
}

static void histogram_add(Histogram *histogram, uint64_t ns)
{
    histogram->counts[histogram_range(ns)]++;
    histogram->total++;
    if (ns > histogram->worst)
        histogram->worst = ns;
}

/* The time that a share of all stays below, in microseconds: the upper end of its range. */
static double histogram_us(const Histogram *histogram, double share)
{
    const double wanted = share * (double)histogram->total;
    uint64_t sum = 0;
    for (unsigned range = 0; range < HISTOGRAM_POWERS * HISTOGRAM_PARTS; range++) {
        sum += histogram->counts[range];
        if (sum > 0 && (double)sum >= wanted) {
            const unsigned power = range < 2 * HISTOGRAM_PARTS ? 0 : range / HISTOGRAM_PARTS - 1;
            const uint64_t end = ((uint64_t)(range - power * HISTOGRAM_PARTS) + 1) << power;
            return 1e-3 * (double)(end < histogram->worst ? end : histogram->worst);
        }
    }
    return 1e-3 * (double)histogram->worst;
}

static void histogram_print(const Histogram *histogram, const char *what)
{
    printf("%s: p50 %.1f us, p99 %.1f us, p99.9 %.1f us, worst %.1f us\n", what, histogram_us(histogram, 0.5),
           histogram_us(histogram, 0.99), histogram_us(histogram, 0.999), 1e-3 * (double)histogram->worst);
}

#endif
