// For tests on the host: large products that are rounded as the matrix units of a device round them.
//
// A unit multiplies exactly. It shifts all terms, and the number they are added to, to the largest exponent among them,
// cuts off what lies 25 bits below it, adds, and cuts the sum to 24 bits. (Fasi, Higham, Mikaitis and Pranesh, 2021, found
// out how by experiments; the two bits more than single precision has are those of the devices with TF32.)

#define LIKE_UNITS
#include <cmath>
#include <cstring>

template <class To, class From> static inline To same_bits(From x) {
    static_assert(sizeof(To) == sizeof(From), "as many bits");
    To y;
    memcpy(&y, &x, sizeof(y));
    return y;
}

// start + sum over k of a[k] b[k], as one instruction of a unit has it.
static inline float eight_terms(float start, const float (&a)[8], const float (&b)[8]) {
    double terms[8], most = std::fabs(double(start));
    for (int k = 0; k < 8; k++) {
        terms[k] = double(a[k]) * double(b[k]);
        most = std::fmax(most, std::fabs(terms[k]));
    }
    const int exponent = int(same_bits<unsigned long long>(most) >> 52);
    if (exponent < 200 || exponent > 1800) { // nothing, or not finite
        double sum = start;
        for (int k = 0; k < 8; k++) sum += terms[k];
        return float(sum);
    }
    // 2^25 over the largest power of two, and its inverse
    const double up = same_bits<double>((2046ull + 25 - exponent) << 52);
    const double down = same_bits<double>((exponent - 25ull) << 52);
    long long sum = (long long)(start * up);
    for (int k = 0; k < 8; k++) sum += (long long)(terms[k] * up);
    return float(same_bits<double>(same_bits<unsigned long long>(double(sum) * down) >> 29 << 29));
}

// As split in units.h.
static inline void split_number(float x, float &high, float &low) {
    high = same_bits<float>((same_bits<unsigned>(x) + 0x1000u) & 0xffffe000u);
    low = same_bits<float>(same_bits<unsigned>(x - high) & 0xffffe000u);
}

// sum + sum over k of a[k apart] b[k other_apart], 8 terms at a time, as add_products in units.h does it.
static inline float sum_by_units(float sum, int count, const float *a, int apart, const float *b, int other_apart) {
    for (int k = 0; k < count; k += 8) {
        float high[8] = {}, low[8] = {}, other_high[8] = {}, other_low[8] = {};
        for (int i = 0; i < 8 && k + i < count; i++) {
            split_number(a[(k + i) * apart], high[i], low[i]);
            split_number(b[(k + i) * other_apart], other_high[i], other_low[i]);
        }
        sum = eight_terms(sum, low, other_high);
        sum = eight_terms(sum, high, other_low);
        sum = eight_terms(sum, high, other_high);
    }
    return sum;
}

// The same with 8 large terms only in a sum of the units, as small_tile in fields.h does it.
static inline float rounded_sum_by_units(int count, const float *a, int apart, const float *b, int other_apart) {
    float large = 0, small[2] = {};
    for (int k = 0; k < count; k += 8) {
        float high[8] = {}, low[8] = {}, other_high[8] = {}, other_low[8] = {};
        for (int i = 0; i < 8 && k + i < count; i++) {
            split_number(a[(k + i) * apart], high[i], low[i]);
            split_number(b[(k + i) * other_apart], other_high[i], other_low[i]);
        }
        small[0] = eight_terms(small[0], low, other_high);
        small[1] = eight_terms(small[1], high, other_low);
        large += eight_terms(0, high, other_high);
    }
    return small[0] + small[1] + large;
}
