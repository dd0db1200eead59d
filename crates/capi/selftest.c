/*
 * cinoc-selftest: replays recorded decisions on this machine.
 *
 *     cinoc-selftest POLICY DECISIONS [TOLERANCE]
 *
 * DECISIONS is made by `cinoc export POLICY --decisions DECISIONS`, on any machine. The decisions there are in double
 * precision; here they may differ by TOLERANCE, as a share of the bounds of the actions (default 1e-4). Ends with
 * 0 if all agree, 1 if not, 2 if the files cannot be used. The format is in docs/deploy.md.
 */
#include <cinoc.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const unsigned char *at, *end;
    int short_of_bytes;
} Reader;

static const unsigned char *take(Reader *reader, size_t bytes)
{
    if ((size_t)(reader->end - reader->at) < bytes) {
        reader->short_of_bytes = 1;
        return NULL;
    }
    reader->at += bytes;
    return reader->at - bytes;
}

/* Numbers are little-endian, whatever this machine is. */
static uint64_t take_integer(Reader *reader, size_t bytes)
{
    const unsigned char *from = take(reader, bytes);
    uint64_t value = 0;
    for (size_t i = bytes; from != NULL && i > 0; i--)
        value = value << 8 | from[i - 1];
    return value;
}

static void take_floats(Reader *reader, float *to, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint32_t bits = (uint32_t)take_integer(reader, 4);
        memcpy(&to[i], &bits, sizeof bits);
    }
}

static uint64_t fnv1a(const unsigned char *bytes, size_t length)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

/* The files cannot be used. */
static void refuse(const char *about, const char *why)
{
    fprintf(stderr, "cinoc-selftest: %s%s\n", about, why);
    exit(2);
}

static void *must(void *memory)
{
    if (memory == NULL)
        refuse("", "no memory");
    return memory;
}

static unsigned char *read_file(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    size_t room = 1 << 20, read = 0, got;
    unsigned char *bytes = must(malloc(room));
    if (file == NULL)
        refuse(path, " cannot be opened");
    while ((got = fread(bytes + read, 1, room - read, file)) > 0) {
        read += got;
        if (read == room)
            bytes = must(realloc(bytes, room *= 2));
    }
    fclose(file);
    *length = read;
    return bytes;
}

/* Largest difference, as a share of a bound; NaN counts as infinite. */
static double difference(const float *found, const float *expected, size_t count, double bound, double largest)
{
    for (size_t i = 0; i < count; i++) {
        const double share = fabs((double)found[i] - (double)expected[i]) / (bound > 0.0 ? bound : 1.0);
        largest = share <= largest ? largest : isnan(share) ? (double)INFINITY : share;
    }
    return largest;
}

/* What is there until the end, however it comes. */
static unsigned char *policy, *bytes;
static CinocController *controller;

int main(int count, char **arguments)
{
    if (count < 3 || count > 4) {
        fprintf(stderr, "usage: cinoc-selftest POLICY DECISIONS [TOLERANCE]\n");
        return 2;
    }
    const double tolerance = count > 3 ? strtod(arguments[3], NULL) : 1e-4;
    size_t policy_length, length;
    policy = read_file(arguments[1], &policy_length);
    bytes = read_file(arguments[2], &length);

    /* the head, and the hash of everything at the end */
    Reader reader = {bytes, bytes + (length < 8 ? 0 : length - 8), 0};
    Reader tail = {reader.end, bytes + length, 0};
    const unsigned char *magic = take(&reader, 8);
    if (magic == NULL || memcmp(magic, "CINOCDEC", 8) != 0 || take_integer(&reader, 4) != 1)
        refuse(arguments[2], " holds no decisions of version 1");
    if (take_integer(&tail, 8) != fnv1a(bytes, length - 8))
        refuse(arguments[2], " is damaged");
    const uint32_t decisions = (uint32_t)take_integer(&reader, 4);
    const uint32_t max_agents = (uint32_t)take_integer(&reader, 4);
    const uint32_t dims = (uint32_t)take_integer(&reader, 4);
    const uint32_t numbers = (uint32_t)take_integer(&reader, 4);
    const uint32_t has = (uint32_t)take_integer(&reader, 4);
    const uint64_t policy_hash = take_integer(&reader, 8);
    if (policy_hash != fnv1a(policy, policy_length))
        refuse("the decisions are those of another policy than ", arguments[1]);

    CinocOptions options = {0};
    options.abi_version = CINOC_ABI_VERSION;
    options.max_agents = max_agents;
    char text[256];
    if (cinoc_load_bytes(policy, policy_length, &options, &controller, text, sizeof text) != CINOC_OK)
        refuse("", text);
    CinocInfo info;
    cinoc_describe(controller, &info);
    if (info.numbers != numbers || info.dims != dims || (info.has_u | info.has_v << 1) != has)
        refuse(arguments[2], " was recorded with other sizes than the policy has");
    const size_t agents_dims = (size_t)max_agents * dims;
    float *z = must(calloc(numbers, sizeof *z)), *target = must(calloc(numbers, sizeof *target));
    float *xi = must(calloc(agents_dims, sizeof *xi));
    uint8_t *alive = must(calloc(max_agents, sizeof *alive));
    float *u = must(calloc(max_agents, sizeof *u)), *expected_u = must(calloc(max_agents, sizeof *u));
    float *v = must(calloc(agents_dims, sizeof *v)), *expected_v = must(calloc(agents_dims, sizeof *v));

    double largest = 0.0;
    uint32_t few = max_agents, many = 0;
    CinocStatus status = CINOC_OK;
    for (uint32_t k = 0; k < decisions && status == CINOC_OK && !reader.short_of_bytes; k++) {
        const uint32_t agents = (uint32_t)take_integer(&reader, 4);
        if (agents < 1 || agents > max_agents) {
            reader.short_of_bytes = 1;
            break;
        }
        few = agents < few ? agents : few;
        many = agents > many ? agents : many;
        take_floats(&reader, target, numbers);
        take_floats(&reader, z, numbers);
        take_floats(&reader, xi, (size_t)agents * dims);
        for (uint32_t i = 0; i < agents; i++)
            alive[i] = (uint8_t)take_integer(&reader, 1);
        take_floats(&reader, expected_u, info.has_u ? agents : 0);
        take_floats(&reader, expected_v, info.has_v ? (size_t)agents * dims : 0);
        if (reader.short_of_bytes)
            break;
        status = cinoc_set_target(controller, target, numbers);
        if (status == CINOC_OK)
            status = cinoc_decide(controller, z, numbers, xi, alive, agents, u, v);
        if (info.has_u)
            largest = difference(u, expected_u, agents, info.u_max, largest);
        if (info.has_v)
            largest = difference(v, expected_v, (size_t)agents * dims, info.v_max, largest);
        if (status == CINOC_OK && k + 1 == decisions) {
            /* a fault must leave the last decision as it was */
            z[numbers / 2] = NAN;
            if (cinoc_decide(controller, z, numbers, xi, alive, agents, u, v) != CINOC_ERROR_NOT_FINITE)
                largest = (double)INFINITY;
            if (info.has_u)
                largest = difference(u, expected_u, agents, info.u_max, largest);
            if (info.has_v)
                largest = difference(v, expected_v, (size_t)agents * dims, info.v_max, largest);
        }
    }
    int code = 0;
    if (reader.short_of_bytes || reader.at != reader.end) {
        fprintf(stderr, "cinoc-selftest: %s is not what its head says\n", arguments[2]);
        code = 2;
    } else if (status != CINOC_OK) {
        fprintf(stderr, "cinoc-selftest: %s\n", cinoc_message(controller));
        code = 1;
    } else {
        code = largest <= tolerance ? 0 : 1;
        printf("%s: %u decisions of %u to %u agents %s: the largest difference is %.1e of the bounds, %.1e is "
               "allowed\n", info.task, decisions, few, many, code == 0 ? "agree" : "DIFFER", largest, tolerance);
    }
    cinoc_free(controller);
    free(expected_v);
    free(v);
    free(expected_u);
    free(u);
    free(alive);
    free(xi);
    free(target);
    free(z);
    free(bytes);
    free(policy);
    return code;
}
