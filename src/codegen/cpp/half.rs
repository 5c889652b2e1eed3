//! What instructions of some machines do in emitted C++, with what stands for them elsewhere: conversion between `f16` and `float`, products
//! with powers of two, tables in registers.

/// What the instructions need.
pub const INCLUDE: &str = "#if defined(__F16C__)\n#include <immintrin.h>\n#endif\n";

/// Of one number.
pub const SCALAR: &str = "
// Floats of 16 bits, which are held as integers.
static inline float from_half(int16_t a) {
#if defined(__F16C__)
  return _cvtsh_ss(uint16_t(a));
#else
  const uint32_t sign = uint32_t(uint16_t(a) & 0x8000) << 16, rest = uint16_t(a) & 0x7fff;
  uint32_t wide = (rest << 13) + 0x38000000;
  if (rest >= 0x7c00) wide += 0x38000000;  // infinity and NaN
  float b;
  if (rest < 0x0400) {  // a denormal, exact as a product
    b = float(rest) * 0x1p-24f;
    __builtin_memcpy(&wide, &b, 4);
  }
  wide |= sign | (rest > 0x7c00 ? 0x400000 : 0);
  __builtin_memcpy(&b, &wide, 4);
  return b;
#endif
}
// Rounded to nearest, ties to even.
static inline int16_t to_half(float a) {
#if defined(__F16C__)
  return int16_t(_cvtss_sh(a, 0));
#else
  uint32_t wide;
  __builtin_memcpy(&wide, &a, 4);
  const uint32_t sign = (wide >> 16) & 0x8000, rest = wide & 0x7fffffff;
  if (rest > 0x7f800000) return int16_t(sign | 0x7e00 | ((rest >> 13) & 0x3ff));
  if (rest >= 0x477ff000) return int16_t(sign | 0x7c00);  // beyond the greatest
  if (rest < 0x38800000) {  // a denormal: the sum with a half rounds it
    float b;
    __builtin_memcpy(&b, &rest, 4);
    b += 0.5f;
    uint32_t low;
    __builtin_memcpy(&low, &b, 4);
    return int16_t(sign | (low - 0x3f000000));
  }
  return int16_t(sign | ((rest - 0x38000000 + 0xfff + ((rest >> 13) & 1)) >> 13));
#endif
}
";

/// Of vectors.
pub const VECTOR: &str = "
template <int N> static inline Vec<float, N> from_half(Vec<int16_t, N> a) {
  if constexpr (Vec<float, N>::halved) {
    return {from_half(low(a)), from_half(high(a))};
  } else {
    Vec<float, N> r;
#if defined(__AVX512F__)
    if constexpr (N == 16) return Vec<float, N>(_mm512_cvtph_ps((__m256i)a.v));
#endif
#if defined(__F16C__)
    if constexpr (N == 8) return Vec<float, N>(_mm256_cvtph_ps((__m128i)a.v));
#endif
    for (int k = 0; k < N; k++) r.v[k] = from_half(a.v[k]);
    return r;
  }
}
template <int N> static inline Vec<int16_t, N> to_half(Vec<float, N> a) {
  if constexpr (Vec<float, N>::halved) {
    return join(to_half(a.lo), to_half(a.hi));
  } else {
    Vec<int16_t, N> r;
#if defined(__AVX512F__)
    if constexpr (N == 16) return Vec<int16_t, N>(typename Vec<int16_t, N>::Native(_mm512_cvtps_ph(a.v, 0)));
#endif
#if defined(__F16C__)
    if constexpr (N == 8) return Vec<int16_t, N>(typename Vec<int16_t, N>::Native(_mm256_cvtps_ph(a.v, 0)));
#endif
    for (int k = 0; k < N; k++) r.v[k] = to_half(a.v[k]);
    return r;
  }
}
";

/// Products with powers of two.
pub const SCALED: &str = "
// x * 2^n, rounded once.
template <typename T, int N> static inline Vec<T, N> scaled(Vec<T, N> x, Vec<int32_t, N> n) {
  if constexpr (Vec<T, N>::halved) {
    return {scaled(x.lo, low(n)), scaled(x.hi, high(n))};
  } else {
#if defined(__AVX512F__) && defined(__AVX512VL__)
    const typename Vec<T, N>::Native by = convert<Vec<T, N>>(n).v;
    if constexpr (sizeof(T) == 4) {
      if constexpr (N == 16) return Vec<T, N>(__builtin_ia32_scalefps512_mask(x.v, by, x.v, -1, 4));
      if constexpr (N == 8) return Vec<T, N>(__builtin_ia32_scalefps256_mask(x.v, by, x.v, -1));
      if constexpr (N == 4) return Vec<T, N>(__builtin_ia32_scalefps128_mask(x.v, by, x.v, -1));
    } else {
      if constexpr (N == 8) return Vec<T, N>(__builtin_ia32_scalefpd512_mask(x.v, by, x.v, -1, 4));
      if constexpr (N == 4) return Vec<T, N>(__builtin_ia32_scalefpd256_mask(x.v, by, x.v, -1));
      if constexpr (N == 2) return Vec<T, N>(__builtin_ia32_scalefpd128_mask(x.v, by, x.v, -1));
    }
#endif
    Vec<T, N> r;
    for (int k = 0; k < N; k++) r.v[k] = T(__builtin_ldexp(double(x.v[k]), n.v[k]));
    return r;
  }
}
";

/// Tables of 16.
pub const TABLE: &str = "
// Entries of a table at the lowest four bits of each lane.
template <int N> static inline Vec<float, N> table(Vec<float, 16> entries, Vec<int32_t, N> i) {
  if constexpr (N > 16) {
    return {table(entries, low(i)), table(entries, high(i))};
  } else {
#if defined(__AVX512F__) && defined(__clang__)
    return Vec<float, N>(__builtin_shufflevector(entries.v, i.v));
#elif defined(__AVX512F__)
    return Vec<float, N>(__builtin_shuffle(entries.v, i.v));
#else
    Vec<float, N> r;
    for (int k = 0; k < N; k++) r.set(k, entries[i[k] & 15]);
    return r;
#endif
  }
}
";

/// Halves of blocks swapped.
pub const TURNED: &str = "
// Of two rows of blocks with `half` lanes a side: the first with the second's block above the diagonal, and the other way round.
template <int half, typename T, int N, int... k> static inline Vec<T, N> upper(Vec<T, N> a, Vec<T, N> b, Indices<k...>) {
  if constexpr (Vec<T, N>::halved) {
    Vec<T, N> r;
    for (int i = 0; i < N; i++) r.set(i, i & half ? b[i - half] : a[i]);
    return r;
  } else {
    return Vec<T, N>(typename Vec<T, N>::Native(__builtin_shufflevector(a.v, b.v, (k & half ? N + k - half : k)...)));
  }
}
template <int half, typename T, int N, int... k> static inline Vec<T, N> lower(Vec<T, N> a, Vec<T, N> b, Indices<k...>) {
  if constexpr (Vec<T, N>::halved) {
    Vec<T, N> r;
    for (int i = 0; i < N; i++) r.set(i, i & half ? b[i] : a[i + half]);
    return r;
  } else {
    return Vec<T, N>(typename Vec<T, N>::Native(__builtin_shufflevector(a.v, b.v, (k & half ? N + k : k + half)...)));
  }
}
template <int half, typename T, int N> static inline Vec<T, N> upper(Vec<T, N> a, Vec<T, N> b) {
  return upper<half>(a, b, typename Count<N>::type());
}
template <int half, typename T, int N> static inline Vec<T, N> lower(Vec<T, N> a, Vec<T, N> b) {
  return lower<half>(a, b, typename Count<N>::type());
}
";

/// `a * b + c`, rounded once.
pub const FUSED: &str = "
template <typename T, int N> static inline Vec<T, N> fused(Vec<T, N> a, Vec<T, N> b, Vec<T, N> c) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4 && N == 16) return Vec<T, N>(__builtin_ia32_vfmaddps512_mask(a.v, b.v, c.v, -1, 4));
  if constexpr (sizeof(T) == 8 && N == 8) return Vec<T, N>(__builtin_ia32_vfmaddpd512_mask(a.v, b.v, c.v, -1, 4));
#endif
#if defined(__FMA__)
  if constexpr (sizeof(T) == 4 && N == 8) return Vec<T, N>(__builtin_ia32_vfmaddps256(a.v, b.v, c.v));
  if constexpr (sizeof(T) == 4 && N == 4) return Vec<T, N>(__builtin_ia32_vfmaddps(a.v, b.v, c.v));
  if constexpr (sizeof(T) == 8 && N == 4) return Vec<T, N>(__builtin_ia32_vfmaddpd256(a.v, b.v, c.v));
  if constexpr (sizeof(T) == 8 && N == 2) return Vec<T, N>(__builtin_ia32_vfmaddpd(a.v, b.v, c.v));
#endif
  Vec<T, N> r;
  for (int k = 0; k < N; k++) r.v[k] = fma(a.v[k], b.v[k], c.v[k]);
  return r;
}
";

/// The square root.
pub const ROOT: &str = "
template <typename T, int N> static inline Vec<T, N> root(Vec<T, N> a) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4 && N == 16) return Vec<T, N>(__builtin_ia32_sqrtps512_mask(a.v, a.v, -1, 4));
  if constexpr (sizeof(T) == 8 && N == 8) return Vec<T, N>(__builtin_ia32_sqrtpd512_mask(a.v, a.v, -1, 4));
#endif
#if defined(__AVX__)
  if constexpr (sizeof(T) == 4 && N == 8) return Vec<T, N>(__builtin_ia32_sqrtps256(a.v));
  if constexpr (sizeof(T) == 8 && N == 4) return Vec<T, N>(__builtin_ia32_sqrtpd256(a.v));
#endif
  Vec<T, N> r;
  for (int k = 0; k < N; k++) r.v[k] = sqrt(a.v[k]);
  return r;
}
";
