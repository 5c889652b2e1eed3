//! Extern ops as C++, for programs that have no library: plain, blocked, on all threads.

/// What a function of a model needs: memory, copies, threads, failures.
pub const HOST: &str = r#"
// Memory that goes with its scope.
struct Memory {
  char *at;
  inline explicit Memory(int64_t bytes) : at((char *)aligned_alloc(64, size_t((bytes + 64) / 64 * 64))) {}
  inline ~Memory() { free(at); }
  Memory(const Memory &) = delete;
};

// Rounded down, and what is left.
static inline int64_t floordiv(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
static inline int64_t floormod(int64_t a, int64_t b) { return a - floordiv(a, b) * b; }
static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t greatest(int64_t a, int64_t b) { return a > b ? a : b; }

// Says why a call failed.
static int fail(char *message, size_t size, const char *why) {
  if (message && size) snprintf(message, size, "%s", why);
  return 1;
}
static int out_of_range(char *message, size_t size, const char *kernel, const Error &error) {
  if (message && size)
    snprintf(message, size, "kernel %s: index %lld is out of range for size %lld (check %lld)", kernel, (long long)error.value,
             (long long)error.bound, (long long)error.check);
  return 1;
}

// Steps of a kernel, in parts on all threads where there is enough to do: a step takes about `cost` nanoseconds.
template <typename F> static void run(int64_t steps, int64_t cost, F kernel) {
  if (steps <= 0) return;
#ifdef _OPENMP
  const int64_t parts = least(least(double(steps) * double(cost) > 1e15 ? steps : steps * cost / 10000, steps), 4 * omp_get_max_threads());
  if (parts > 1 && omp_get_max_threads() > 1) {
#pragma omp parallel for schedule(dynamic)
    for (int64_t k = 0; k < parts; k++)
      kernel(int64_t(__int128(steps) * k / parts), int64_t(__int128(steps) * (k + 1) / parts));
    return;
  }
#endif
  kernel(0, steps);
}

// Elements of `size` bytes from one layout to another; strides are in elements.
static inline void copy(int rank, const int64_t *sizes, char *to, const int64_t *to_strides, const char *from, const int64_t *from_strides, int size) {
  if (rank == 0) {
    __builtin_memcpy(to, from, size_t(size));
    return;
  }
  if (rank == 1 && *to_strides == 1 && *from_strides == 1) {
    __builtin_memmove(to, from, size_t(*sizes * size));
    return;
  }
  for (int64_t k = 0; k < *sizes; k++)
    copy(rank - 1, sizes + 1, to + k * *to_strides * size, to_strides + 1, from + k * *from_strides * size, from_strides + 1, size);
}
"#;

/// Matrix products and convolutions. 16-bit floats are computed as `float`.
pub const OPS: &str = r#"
struct Brain { int16_t bits; };
struct Half { int16_t bits; };
static inline float wide(Brain a) {
  const uint32_t bits = uint32_t(uint16_t(a.bits)) << 16;
  float b;
  __builtin_memcpy(&b, &bits, 4);
  return b;
}
static inline float wide(Half a) { return from_half(a.bits); }
template <typename T> static inline T wide(T a) { return a; }
static inline void narrow(float a, Brain *to) {
  uint32_t bits;
  __builtin_memcpy(&bits, &a, 4);
  to->bits = a != a ? 0x7fc0 : int16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
static inline void narrow(float a, Half *to) { to->bits = to_half(a); }
template <typename T> static inline void narrow(T a, T *to) { *to = a; }

// A tensor: where its first element is, and how far apart elements are.
template <typename T> struct Strided {
  T *at;
  int64_t strides[5];
};

// out[b, i, j] = beta * start[b, i, j] + alpha * sum over k of x[b, i, k] * y[b, k, j], a panel of columns at a time.
template <typename T>
static void matmul(int64_t batch, int64_t m, int64_t n, int64_t depth, Strided<T> x, Strided<T> y, Strided<T> out, Strided<T> start, double beta, double alpha) {
  typedef decltype(wide(T())) W;
  constexpr int64_t ROWS = 4, COLUMNS = 32;
  const int64_t panels = (n + COLUMNS - 1) / COLUMNS;
#pragma omp parallel for schedule(dynamic)
  for (int64_t p = 0; p < batch * panels; p++) {
    const int64_t b = p / panels, first = p % panels * COLUMNS, columns = least(COLUMNS, n - first);
    Memory memory(depth * COLUMNS * int64_t(sizeof(W)));
    W *panel = (W *)memory.at;
    for (int64_t k = 0; k < depth; k++)
      for (int64_t j = 0; j < COLUMNS; j++)
        panel[k * COLUMNS + j] =
            j < columns ? wide(y.at[b * y.strides[0] + k * y.strides[1] + (first + j) * y.strides[2]]) : W(0);
    for (int64_t i = 0; i < m; i += ROWS) {
      const int64_t rows = least(ROWS, m - i);
      W sums[ROWS][COLUMNS] = {};
      for (int64_t k = 0; k < depth; k++)
        for (int64_t r = 0; r < ROWS; r++) {
          const W v = r < rows ? wide(x.at[b * x.strides[0] + (i + r) * x.strides[1] + k * x.strides[2]]) : W(0);
          for (int64_t j = 0; j < COLUMNS; j++) sums[r][j] += v * panel[k * COLUMNS + j];
        }
      for (int64_t r = 0; r < rows; r++)
        for (int64_t j = 0; j < columns; j++) {
          W v = alpha == 1 ? sums[r][j] : W(W(alpha) * sums[r][j]);
          if (start.at && beta != 0) {
            const W s = wide(start.at[b * start.strides[0] + (i + r) * start.strides[1] + (first + j) * start.strides[2]]);
            v = W(v + (beta == 1 ? s : W(W(beta) * s)));
          }
          narrow(v, &out.at[b * out.strides[0] + (i + r) * out.strides[1] + (first + j) * out.strides[2]]);
        }
    }
  }
}

// A convolution over three dimensions of space; those that there are not have size 1.
struct Window {
  int64_t images, groups, from, to;  // channels of a group
  int64_t input[3], kernel[3], output[3], stride[3], padding[3], dilation[3];
};
template <typename T> static void convolution(const Window &w, Strided<T> x, Strided<T> weight, Strided<T> bias, Strided<T> out) {
  typedef decltype(wide(T())) W;
#pragma omp parallel for schedule(dynamic)
  for (int64_t p = 0; p < w.images * w.groups * w.to; p++) {
    const int64_t image = p / (w.groups * w.to), channel = p % (w.groups * w.to), group = channel / w.to;
    Memory memory(w.output[2] * int64_t(sizeof(W)));
    W *sums = (W *)memory.at;
    for (int64_t o0 = 0; o0 < w.output[0]; o0++)
      for (int64_t o1 = 0; o1 < w.output[1]; o1++) {
        for (int64_t o2 = 0; o2 < w.output[2]; o2++) sums[o2] = bias.at ? wide(bias.at[channel * bias.strides[0]]) : W(0);
        for (int64_t c = 0; c < w.from; c++)
          for (int64_t k0 = 0; k0 < w.kernel[0]; k0++) {
            const int64_t i0 = o0 * w.stride[0] - w.padding[0] + k0 * w.dilation[0];
            if (i0 < 0 || i0 >= w.input[0]) continue;
            for (int64_t k1 = 0; k1 < w.kernel[1]; k1++) {
              const int64_t i1 = o1 * w.stride[1] - w.padding[1] + k1 * w.dilation[1];
              if (i1 < 0 || i1 >= w.input[1]) continue;
              for (int64_t k2 = 0; k2 < w.kernel[2]; k2++) {
                const W v = wide(weight.at[channel * weight.strides[0] + c * weight.strides[1] + k0 * weight.strides[2] +
                                           k1 * weight.strides[3] + k2 * weight.strides[4]]);
                const T *row = x.at + image * x.strides[0] + (group * w.from + c) * x.strides[1] + i0 * x.strides[2] + i1 * x.strides[3];
                const int64_t shift = k2 * w.dilation[2] - w.padding[2], step = w.stride[2];
                const int64_t begin = shift >= 0 ? 0 : (-shift + step - 1) / step;
                const int64_t end = least(w.output[2], w.input[2] > shift ? (w.input[2] - shift + step - 1) / step : 0);
                for (int64_t o2 = begin; o2 < end; o2++) sums[o2] += v * wide(row[(o2 * step + shift) * x.strides[4]]);
              }
            }
          }
        for (int64_t o2 = 0; o2 < w.output[2]; o2++)
          narrow(sums[o2], &out.at[image * out.strides[0] + channel * out.strides[1] + o0 * out.strides[2] + o1 * out.strides[3] + o2 * out.strides[4]]);
      }
  }
}
"#;
