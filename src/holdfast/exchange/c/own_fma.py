"""a b + c with one rounding in whole numbers, for libraries whose `fma` rounds twice (some of microcontrollers do).

    a b = P 2^e, P of 106 bits; both terms are put with their leading bit at place 126 of 128, the smaller one is moved
    to the exponent of the larger, what falls off being kept as one bit, and the sum is rounded to nearest, ties to even

With two terms that far apart, one bit is enough: at most one leading bit cancels where more than 21 fall off.
"""

OWN_FMA = """#ifdef HOLDFAST_OWN_FMA
typedef struct { uint64_t high, low; int exponent, negative; } hf_wide;

static hf_wide hf_leading_at_126(hf_wide a)
{
    if (a.high >> 63) {
        a.low = a.low >> 1 | a.high << 63 | (a.low & 1);
        a.high >>= 1;
        a.exponent++;
    }
    while (!(a.high >> 62)) {
        a.high = a.high << 1 | a.low >> 63;
        a.low <<= 1;
        a.exponent--;
    }
    return a;
}

static hf_wide hf_moved_right(hf_wide a, int count)
{
    for (; count >= 64; count -= 64) {
        a.low = a.high | (a.low != 0);
        a.high = 0;
        if (!a.high && a.low <= 1) return a;
    }
    if (count > 0) {
        const uint64_t lost = a.low << (64 - count);
        a.low = a.low >> count | a.high << (64 - count) | (lost != 0);
        a.high >>= count;
    }
    return a;
}

static hf_wide hf_whole(double x)
{
    hf_wide a;
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    a.negative = (int)(bits >> 63);
    a.exponent = (int)(bits >> 52 & 2047);
    a.high = 0;
    a.low = bits & 0xFFFFFFFFFFFFFu;
    if (a.exponent) a.low |= (uint64_t)1 << 52; else a.exponent = 1;
    a.exponent -= 1075;
    return a;
}

static hf_wide hf_product(hf_wide a, hf_wide b)
{
    const uint64_t mask = 0xFFFFFFFFu, a0 = a.low & mask, a1 = a.low >> 32, b0 = b.low & mask, b1 = b.low >> 32;
    const uint64_t low = a0 * b0, middle = a1 * b0 + (low >> 32), other = a0 * b1 + (middle & mask);
    a.high = a1 * b1 + (middle >> 32) + (other >> 32);
    a.low = other << 32 | (low & mask);
    a.exponent += b.exponent;
    a.negative ^= b.negative;
    return a;
}

static double hf_rounded(hf_wide a)
{
    const int short_by = -1074 - (a.exponent + 74);
    uint64_t mantissa, rest, bits;
    double result;
    int exponent = a.exponent + 74;
    if (short_by > 0) {
        a = hf_moved_right(a, short_by < 200 ? short_by : 200);
        exponent = -1074;
    }
    mantissa = a.high >> 10;
    rest = a.high & 1023;
    if (rest > 512 || (rest == 512 && (a.low || (mantissa & 1)))) mantissa++;
    if (mantissa >> 52) {
        const int field = exponent + 1075;
        bits = ((uint64_t)field << 52) + (mantissa - ((uint64_t)1 << 52));
        if (field >= 2047 || bits >> 52 >= 2047) bits = (uint64_t)2047 << 52;
    } else {
        bits = mantissa;
    }
    bits |= (uint64_t)a.negative << 63;
    memcpy(&result, &bits, sizeof result);
    return result;
}

static double hf_fma(double x, double y, double z)
{
    hf_wide a, b, c;
    if (!(x - x == 0) || !(y - y == 0) || !(z - z == 0) || x == 0 || y == 0) return x * y + z;
    a = hf_leading_at_126(hf_product(hf_whole(x), hf_whole(y)));
    if (z == 0) return hf_rounded(a);
    b = hf_leading_at_126(hf_whole(z));
    if (b.exponent > a.exponent
        || (b.exponent == a.exponent && (b.high > a.high || (b.high == a.high && b.low > a.low)))) {
        c = a;
        a = b;
        b = c;
    }
    b = hf_moved_right(b, a.exponent - b.exponent < 200 ? a.exponent - b.exponent : 200);
    if (a.negative == b.negative) {
        a.low += b.low;
        a.high += b.high + (a.low < b.low);
    } else {
        a.high -= b.high + (a.low < b.low);
        a.low -= b.low;
        if (!a.high && !a.low) return 0.0;
    }
    return hf_rounded(hf_leading_at_126(a));
}
#else
#define hf_fma fma
#endif
"""
