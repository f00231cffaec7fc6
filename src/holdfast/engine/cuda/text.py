"""The CUDA text around the functions of the driver language: what a thread reads, its loop, what it leaves behind."""

from __future__ import annotations

PREAMBLE = """typedef long long int64_t;
typedef unsigned long long uint64_t;
#define new hf_new  // a word of C++, and an array of the drivers
#define INT64_C(n) n##LL
#define NAN hf_of_bits(0x7ff8000000000000LL)
#define INFINITY hf_of_bits(0x7ff0000000000000LL)
#define FUSED(a, b, c) fma(a, b, c)

__forceinline__ int64_t hf_bits(double a) { return __double_as_longlong(a); }
__forceinline__ double hf_of_bits(int64_t w) { return __longlong_as_double(w); }
__forceinline__ bool hf_below(real a) { return copysign((real)1, a) < 0; }
__forceinline__ real hf_smaller(real a, real b) { return a < b || a != a || (a == b && hf_below(a)) ? a : b; }
__forceinline__ real hf_larger(real a, real b) { return a > b || a != a || (a == b && !hf_below(a)) ? a : b; }
"""

JOB = """struct Job {
    int64_t cases, first, count, every, kept, attempts;
    double t0, h, end, relative, longest;
    real *x;
    const real *p;
    uint64_t *below;
    int *status;
    int64_t *done;
    real *rows, *margins;
    double *sums;
    const double *wanted, *absolutes;
    double *control;
    int64_t *counts;
    real common[%(common)d];
};
"""

BEGIN = """extern "C" __global__ void __launch_bounds__(%(threads)d) hf_%(name)s(const Job job)
{
    const int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= job.cases) return;
    real x[%(n)d], f[%(n)d], p[%(parameters)d];
    uint64_t below[%(masks)d];  // a bit for each pivot that was negative at the start
    double *const sums = job.sums + j * %(sums)d;
    int status = job.status[j];
    int64_t done = job.done[j];
    #pragma unroll
    for (int i = 0; i < %(size)d; i++) x[i] = job.x[j * %(size)d + i];
%(load)s
"""

WATCH = """        real watch[%(pivots)d];
        #pragma unroll
        for (int i = 0; i < %(watched)d; i++) watch[i] = below[i / 64] >> (i %% 64) & 1 ? -1 : 1;
"""

WATCHED = """    {
        real all[%(width)d];
        hf_rates(%(now)s, x, p, all, 0);
        #pragma unroll
        for (int i = 0; i < %(size)d; i++) f[i] = all[i];
        if (%(fresh)s) {
            #pragma unroll
            for (int i = 0; i < %(masks)d; i++) below[i] = 0;
            #pragma unroll
            for (int i = 0; i < %(watched)d; i++)
                below[i / 64] |= (uint64_t)(all[%(size)d + i] < 0) << (i %% 64);
            #pragma unroll
            for (int i = 0; i < %(masks)d; i++) job.below[j * %(masks)d + i] = below[i];
%(watch)s
            status = (int)hf_judged(x, all, watch);
%(begin_sums)s
        } else {
            #pragma unroll
            for (int i = 0; i < %(masks)d; i++) below[i] = job.below[j * %(masks)d + i];
        }
    }
"""

END = """    job.status[j] = status;
    job.done[j] = done;
    #pragma unroll
    for (int i = 0; i < %(size)d; i++) job.x[j * %(size)d + i] = x[i];
    if (%(watched)d) {
        real all[%(width)d];
%(watch)s
        hf_rates(%(end)s, x, p, all, 0);
        #pragma unroll
        for (int i = 0; i < %(watched)d; i++) {
            const real scale = all[%(size)d + %(watched)d + i];
            job.margins[j * %(watched)d + i] = all[%(size)d + i] * watch[i] / (scale < 0 ? -scale : scale);
        }
    }
}
"""

FIXED = """    const real h = (real)job.h;
%(watched_text)s
    real *row = job.rows + (j * job.kept + job.first / job.every) * %(size)d;
    if (job.first == 0) for (int i = 0; i < %(size)d; i++) row[i] = x[i];
    for (int64_t s = job.first; s < job.first + job.count && status == 0; s++) {
        const double later = job.t0 + (double)(s + 1) * job.h;
        const real t = (real)(job.t0 + (double)s * job.h);
        real next[%(n)d], after[%(width)d];
%(step)s
        hf_rates((real)later, next, p, after, 0);
%(watch)s
        status = (int)hf_judged(next, after, watch);
        if (status != 0) break;
        #pragma unroll
        for (int i = 0; i < %(size)d; i++) { x[i] = next[i]; f[i] = after[i]; }
        done = s + 1;
%(add_sums)s
        if (done %% job.every == 0) {
            row += %(size)d;
            #pragma unroll
            for (int i = 0; i < %(size)d; i++) row[i] = x[i];
        }
    }
"""

CHAINED = """        real k[%(n)d], sum[%(n)d];
        #pragma unroll
        for (int i = 0; i < %(size)d; i++) { k[i] = f[i]; sum[i] = %(first)s * f[i]; }
        #pragma unroll 1
        for (int stage = 1; stage < %(stages)d; stage++) {
            const real a = %(slopes)s, b = %(weights)s;
            real all[%(width)d];
            #pragma unroll
            for (int i = 0; i < %(size)d; i++) next[i] = FUSED(h, a * k[i], x[i]);
            hf_rates(t + a * h, next, p, all, 0);
            #pragma unroll
            for (int i = 0; i < %(size)d; i++) { k[i] = all[i]; sum[i] = FUSED(b, k[i], sum[i]); }
        }
        #pragma unroll
        for (int i = 0; i < %(size)d; i++) next[i] = FUSED(h, sum[i], x[i]);"""

WHOLE = """        real work[%(work)d];
        status = (int)hf_take_step(t, h, x, f, p, next, work);
        if (status != 0) break;"""

ADAPTIVE = """    double *const control = job.control + j * 9;
    int64_t *const counts = job.counts + j * 5;
    const double *const absolutes = job.absolutes + j * %(size)d;
%(watched_text)s
    if (done == 0 && counts[0] + counts[1] == 0) {
        real *const row = job.rows + j * job.kept * %(size)d;
        while (done < job.kept && job.wanted[done] <= control[0]) {
            for (int i = 0; i < %(size)d; i++) row[done * %(size)d + i] = x[i];
            done++;
        }
        if (status == 0 && control[1] > control[0]) {
            real trial[%(n)d + %(width)d];
            control[2] = hf_first_step(control, x, f, p, (double *)absolutes, trial);
        }
    }
    for (int64_t tried = 0; tried < job.attempts && status == 0; tried++) {
        const double t = control[0], end = control[1];
        if (t >= end) break;
        double h = hf_smaller(control[2], control[7]);
        double later = t + h;
        if (t + 1.01 * h >= end) { h = end - t; later = end; }
        if (h <= %(resolution)s * fabs(t)) {
            status = control[5] == 0.0 || control[5] == %(not_converged)s ? %(collapsed)s : (int)control[5];
            break;
        }
        real next[%(n)d], after[%(width)d], work[%(work)d];
%(watch)s
        const double verdict =
            hf_attempt(t, later, h, x, f, p, watch, next, after, (double *)absolutes, control, counts, work);
        if (control[8] <= 1.0 && verdict == 0.0) {
            if (done < job.kept && job.wanted[done] <= later) {
                real terms[%(terms)d * %(n)d];
                hf_interpolant(t, h, x, f, p, next, after, terms, work);
                while (done < job.kept && job.wanted[done] <= later) {
                    const double theta = (job.wanted[done] - t) / (later - t);
                    real *const row = job.rows + (j * job.kept + done) * %(size)d;
                    for (int i = 0; i < %(size)d; i++) {
                        double value = 0.0;
                        for (int k = %(terms)d - 1; k >= 0; k--)
                            value = (value + terms[k * %(size)d + i]) * (k %% 2 == 0 ? theta : 1 - theta);
                        row[i] = x[i] + value;
                    }
                    done++;
                }
            }
            for (int i = 0; i < %(size)d; i++) { x[i] = next[i]; f[i] = after[i]; }
            control[0] = later;
            control[2] = hf_next_step(h, control, counts, work);
            control[5] = 0.0;
            counts[0]++;
            counts[3] = 0;
        } else {
            control[2] = hf_shorter_step(h, verdict, control, counts, work);
            control[5] = verdict;
            counts[1]++;
            counts[3] = 1;
        }
    }
"""
