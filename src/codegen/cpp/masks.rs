//! Halves of vectors, and masks, in emitted C++.

/// The halves of a vector, and a vector of two.
pub const HALVES: &str = "
template <int... k> struct Indices {};
template <int n, int... k> struct Count : Count<n - 1, n - 1, k...> {};
template <int... k> struct Count<0, k...> { typedef Indices<k...> type; };

template <int first, typename T, int N, int... k> static inline Vec<T, N / 2> half(Vec<T, N> a, Indices<k...>) {
  return Vec<T, N / 2>(typename Vec<T, N / 2>::Native(__builtin_shufflevector(a.v, a.v, first + k...)));
}
template <typename T, int N> static inline Vec<T, N / 2> low(Vec<T, N> a) {
  if constexpr (Vec<T, N>::halved) return a.lo;
  else return half<0>(a, typename Count<N / 2>::type());
}
template <typename T, int N> static inline Vec<T, N / 2> high(Vec<T, N> a) {
  if constexpr (Vec<T, N>::halved) return a.hi;
  else return half<N / 2>(a, typename Count<N / 2>::type());
}
template <typename T, int N, int... k> static inline Vec<T, 2 * N> joined(Vec<T, N> a, Vec<T, N> b, Indices<k...>) {
  return Vec<T, 2 * N>(typename Vec<T, 2 * N>::Native(__builtin_shufflevector(a.v, b.v, k...)));
}
template <typename T, int N> static inline Vec<T, 2 * N> join(Vec<T, N> a, Vec<T, N> b) {
  if constexpr (Vec<T, 2 * N>::halved) return {a, b};
  else return joined(a, b, typename Count<2 * N>::type());
}
template <typename To, typename T, int N> static inline To convert(Vec<T, N> a);
";

/// Masks: one truth value a lane.
pub const MASKS: &str = "
// One truth value a lane: all bits of an integer of W bytes, or none.
template <int W, int N> struct Mask {
  typedef Vec<Signed<W>, N> Bits;
  typedef typename Register<Signed<W>, N>::type Native;
  Bits bits;

  Mask() = default;
  inline explicit Mask(bool all) : bits(Signed<W>(all ? -1 : 0)) {}
  inline explicit Mask(Bits bits) : bits(bits) {}
  inline explicit Mask(Native v) : bits(Bits(v)) {}
  inline Mask(Mask<W, N / 2> lo, Mask<W, N / 2> hi) : bits(join(lo.bits, hi.bits)) {}
  template <int W2> inline Mask(Mask<W2, N> other) : bits(convert<Bits>(other.bits)) {}
  inline bool operator[](int k) const { return bits[k] != 0; }
  inline Mask<W, N / 2> low() const { return Mask<W, N / 2>(kernels::low(bits)); }
  inline Mask<W, N / 2> high() const { return Mask<W, N / 2>(kernels::high(bits)); }
  inline Mask operator!() const { return Mask(~bits); }
};
template <int A, int B, int N> using Narrower = Mask<(A < B ? A : B), N>;
template <int A, int B, int N> static inline Narrower<A, B, N> operator&(Mask<A, N> a, Mask<B, N> b) {
  return Narrower<A, B, N>(Narrower<A, B, N>(a).bits & Narrower<A, B, N>(b).bits);
}
template <int A, int B, int N> static inline Narrower<A, B, N> operator|(Mask<A, N> a, Mask<B, N> b) {
  return Narrower<A, B, N>(Narrower<A, B, N>(a).bits | Narrower<A, B, N>(b).bits);
}
template <int A, int B, int N> static inline Narrower<A, B, N> operator^(Mask<A, N> a, Mask<B, N> b) {
  return Narrower<A, B, N>(Narrower<A, B, N>(a).bits ^ Narrower<A, B, N>(b).bits);
}
";
