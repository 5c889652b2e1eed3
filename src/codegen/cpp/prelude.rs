//! What stands before the kernels of a C++ file: vectors, masks, and the functions on them that the file uses, no others.
//!
//! A `Vec<T, N>` is one register, or two halves where it is longer. Its operators are written from a table, once for a register and once for
//! halves. The compilers' vector extensions have operators, comparisons, choices and conversions; what they lack is a loop over lanes, which
//! both compilers make one instruction where there is one.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::node::{Kind, Type};

/// What starts a file. `note` says how it was made.
pub fn head(note: &str) -> String {
    format!(
        "// {note}\n\
         //\n\
         // Compile with: {}\n\
         // C++17 with the vector extensions of GCC 12 or Clang 15, or later ones; without -fopenmp it runs on one thread.\n\n\
         #include <stddef.h>\n#include <stdint.h>\n",
        super::flags::SHOWN
    )
}

/// A function of vectors, as a friend of their class.
struct Friend {
    name: &'static str,
    /// The functions that it needs.
    needs: &'static [&'static str],
    /// Arguments of the type of the vector; `m` is a mask.
    args: &'static [&'static str],
    /// What it gives: `Vec` or `Mask<sizeof(T), N>`.
    result: &'static str,
    /// Of a register: an expression over `a.v` and the like; or a lane's, over `a.v[k]`.
    register: Body,
}

enum Body {
    /// The vector.
    Whole(&'static str),
    /// Each lane.
    Lane(&'static str),
    /// A function that follows the class.
    One(&'static str),
}

use Body::{Lane, One, Whole};

const VEC: &str = "Vec";
const MASK: &str = "Mask<sizeof(T), N>";

const fn binary(name: &'static str, text: &'static str) -> Friend {
    Friend { name, needs: &[], args: &["a", "b"], result: VEC, register: Whole(text) }
}
const fn compare(name: &'static str, text: &'static str) -> Friend {
    Friend { name, needs: &["Mask"], args: &["a", "b"], result: MASK, register: Whole(text) }
}
const fn lane(name: &'static str, args: &'static [&'static str], text: &'static str) -> Friend {
    Friend { name, needs: &["scalar"], args, result: VEC, register: Lane(text) }
}

const fn instruction(name: &'static str, args: &'static [&'static str], text: &'static str) -> Friend {
    Friend { name, needs: &[], args, result: VEC, register: One(text) }
}

/// Integers wrap: they are computed as unsigned ones.
const FRIENDS: &[Friend] = &[
    binary("+", "Wrap(a.v) + Wrap(b.v)"),
    binary("-", "Wrap(a.v) - Wrap(b.v)"),
    binary("*", "Wrap(a.v) * Wrap(b.v)"),
    binary("/", "a.v / b.v"),
    binary("%", "a.v % b.v"),
    binary("&", "a.v & b.v"),
    binary("|", "a.v | b.v"),
    binary("^", "a.v ^ b.v"),
    binary(">>", "a.v >> b.v"),
    binary("shl", "Wrap(a.v) << Wrap(b.v)"),
    binary("ushr", "Wrap(a.v) >> Wrap(b.v)"),
    binary("udiv", "Wrap(a.v) / Wrap(b.v)"),
    binary("urem", "Wrap(a.v) % Wrap(b.v)"),
    compare("==", "a.v == b.v"),
    compare("!=", "a.v != b.v"),
    compare("<", "a.v < b.v"),
    compare("<=", "a.v <= b.v"),
    compare(">", "a.v > b.v"),
    compare(">=", "a.v >= b.v"),
    compare("less_unsigned", "Wrap(a.v) < Wrap(b.v)"),
    Friend { name: "prefix -", needs: &[], args: &["a"], result: VEC, register: Whole("-a.v") },
    Friend { name: "prefix ~", needs: &[], args: &["a"], result: VEC, register: Whole("~a.v") },
    Friend { name: "is_nan", needs: &["Mask"], args: &["a"], result: MASK, register: Whole("a.v != a.v") },
    Friend {
        name: "select",
        needs: &["Mask"],
        args: &["m", "a", "b"],
        result: VEC,
        register: Whole("m.bits.v ? a.v : b.v"),
    },
    binary("min", "a.v < b.v ? a.v : b.v"),
    binary("max", "a.v > b.v ? a.v : b.v"),
    binary("umin", "Wrap(a.v) < Wrap(b.v) ? a.v : b.v"),
    binary("umax", "Wrap(a.v) > Wrap(b.v) ? a.v : b.v"),
    Friend { name: "abs", needs: &[], args: &["a"], result: VEC, register: Whole("Bits(a.v) & ~Bits(-Native{})") },
    instruction("fma", &["a", "b", "c"], "fused(a, b, c)"),
    instruction("sqrt", &["a"], "root(a)"),
    lane("floor", &["a"], "floor(a.v[k])"),
    lane("ceil", &["a"], "ceil(a.v[k])"),
    lane("trunc", &["a"], "trunc(a.v[k])"),
    lane("rint", &["a"], "rint(a.v[k])"),
    Friend {
        name: "copysign",
        needs: &[],
        args: &["a", "b"],
        result: VEC,
        register: Whole("(Bits(a.v) & ~Bits(-Native{})) | (Bits(b.v) & Bits(-Native{}))"),
    },
    Friend {
        name: "minimum",
        needs: &[],
        args: &["a", "b"],
        result: VEC,
        register: Whole(
            "a.v != a.v ? a.v : b.v != b.v ? b.v : a.v == b.v ? Native(Bits(a.v) | Bits(b.v)) : a.v < b.v ? a.v : b.v",
        ),
    },
    Friend {
        name: "maximum",
        needs: &[],
        args: &["a", "b"],
        result: VEC,
        register: Whole(
            "a.v != a.v ? a.v : b.v != b.v ? b.v : a.v == b.v ? Native(Bits(a.v) & Bits(b.v)) : a.v > b.v ? a.v : b.v",
        ),
    },
];

/// A function, or more of one name, outside of the class.
struct Helper {
    name: &'static str,
    needs: &'static [&'static str],
    /// Whether it needs vectors.
    vectors: bool,
    text: &'static str,
}

/// In the order in which they stand in a file.
const HELPERS: &[Helper] = &[
    Helper {
        name: "Error",
        needs: &[],
        vectors: false,
        text: "// The first index that was out of range: which check of the kernel found it, the index, the size that it must be below.
struct Error {
  int64_t set, check, value, bound;
};",
    },
    Helper {
        name: "report",
        needs: &["Error"],
        vectors: false,
        text: "static __attribute__((noinline, cold)) void report(Error *error, int64_t check, int64_t value, int64_t bound) {
  int64_t none = 0;
  if (!__atomic_compare_exchange_n(&error->set, &none, 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return;
  error->check = check;
  error->value = value;
  error->bound = bound;
}",
    },
    Helper {
        name: "add",
        needs: &["Unsigned"],
        vectors: false,
        text: "// Integers that wrap.
template <typename T> static inline T add(T a, T b) { return T(Unsigned<T>(a) + Unsigned<T>(b)); }",
    },
    Helper {
        name: "sub",
        needs: &["Unsigned"],
        vectors: false,
        text: "template <typename T> static inline T sub(T a, T b) { return T(Unsigned<T>(a) - Unsigned<T>(b)); }",
    },
    Helper {
        name: "mul",
        needs: &["Unsigned"],
        vectors: false,
        text: "template <typename T> static inline T mul(T a, T b) { return T(uint64_t(a) * uint64_t(b)); }",
    },
    Helper {
        name: "shl",
        needs: &["Unsigned"],
        vectors: false,
        text: "template <typename T> static inline T shl(T a, T b) { return T(Unsigned<T>(a) << b); }",
    },
    Helper {
        name: "ushr",
        needs: &["Unsigned"],
        vectors: false,
        text: "template <typename T> static inline T ushr(T a, T b) { return T(Unsigned<T>(a) >> b); }",
    },
    Helper {
        name: "udiv",
        needs: &["Unsigned"],
        vectors: false,
        text: "template <typename T> static inline T udiv(T a, T b) { return T(Unsigned<T>(a) / Unsigned<T>(b)); }",
    },
    Helper {
        name: "urem",
        needs: &["Unsigned"],
        vectors: false,
        text: "template <typename T> static inline T urem(T a, T b) { return T(Unsigned<T>(a) % Unsigned<T>(b)); }",
    },
    Helper {
        name: "less_unsigned",
        needs: &["Unsigned"],
        vectors: false,
        text: "template <typename T> static inline bool less_unsigned(T a, T b) { return Unsigned<T>(a) < Unsigned<T>(b); }",
    },
    Helper {
        name: "min",
        needs: &[],
        vectors: false,
        text: "template <typename T> static inline T min(T a, T b) { return a < b ? a : b; }",
    },
    Helper {
        name: "max",
        needs: &[],
        vectors: false,
        text: "template <typename T> static inline T max(T a, T b) { return a > b ? a : b; }",
    },
    Helper {
        name: "umin",
        needs: &["less_unsigned"],
        vectors: false,
        text: "template <typename T> static inline T umin(T a, T b) { return less_unsigned(a, b) ? a : b; }",
    },
    Helper {
        name: "umax",
        needs: &["less_unsigned"],
        vectors: false,
        text: "template <typename T> static inline T umax(T a, T b) { return less_unsigned(b, a) ? a : b; }",
    },
    Helper {
        name: "is_nan",
        needs: &[],
        vectors: false,
        text: "static inline bool is_nan(float a) { return a != a; }
static inline bool is_nan(double a) { return a != a; }",
    },
    Helper {
        name: "bits",
        needs: &[],
        vectors: false,
        text: "// The same bits as another type.
template <typename To, typename From> static inline To bits(From a) {
  static_assert(sizeof(To) == sizeof(From), \"the types have as many bits\");
  To b;
  __builtin_memcpy(&b, &a, sizeof b);
  return b;
}",
    },
    Helper {
        name: "minimum",
        needs: &["bits"],
        vectors: false,
        text: "// NaN if either is, and -0 below 0.
template <typename T, typename I> static inline T minimum(T a, T b) {
  return a != a ? a : b != b ? b : a == b ? bits<T>(I(bits<I>(a) | bits<I>(b))) : a < b ? a : b;
}
static inline float minimum(float a, float b) { return minimum<float, int32_t>(a, b); }
static inline double minimum(double a, double b) { return minimum<double, int64_t>(a, b); }",
    },
    Helper {
        name: "maximum",
        needs: &["bits"],
        vectors: false,
        text: "// NaN if either is, and 0 above -0.
template <typename T, typename I> static inline T maximum(T a, T b) {
  return a != a ? a : b != b ? b : a == b ? bits<T>(I(bits<I>(a) & bits<I>(b))) : a > b ? a : b;
}
static inline float maximum(float a, float b) { return maximum<float, int32_t>(a, b); }
static inline double maximum(double a, double b) { return maximum<double, int64_t>(a, b); }",
    },
    Helper {
        name: "copysign",
        needs: &[],
        vectors: false,
        text: "static inline float copysign(float a, float b) { return __builtin_copysignf(a, b); }
static inline double copysign(double a, double b) { return __builtin_copysign(a, b); }",
    },
    Helper {
        name: "abs",
        needs: &[],
        vectors: false,
        text: "static inline float abs(float a) { return __builtin_fabsf(a); }
static inline double abs(double a) { return __builtin_fabs(a); }",
    },
    Helper {
        name: "fma",
        needs: &[],
        vectors: false,
        text: "static inline float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
static inline double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }",
    },
    Helper {
        name: "sqrt",
        needs: &[],
        vectors: false,
        text: "static inline float sqrt(float a) { return __builtin_sqrtf(a); }
static inline double sqrt(double a) { return __builtin_sqrt(a); }",
    },
    Helper {
        name: "floor",
        needs: &[],
        vectors: false,
        text: "static inline float floor(float a) { return __builtin_floorf(a); }
static inline double floor(double a) { return __builtin_floor(a); }",
    },
    Helper {
        name: "ceil",
        needs: &[],
        vectors: false,
        text: "static inline float ceil(float a) { return __builtin_ceilf(a); }
static inline double ceil(double a) { return __builtin_ceil(a); }",
    },
    Helper {
        name: "trunc",
        needs: &[],
        vectors: false,
        text: "static inline float trunc(float a) { return __builtin_truncf(a); }
static inline double trunc(double a) { return __builtin_trunc(a); }",
    },
    Helper {
        name: "rint",
        needs: &[],
        vectors: false,
        text: "static inline float rint(float a) { return __builtin_rintf(a); }
static inline double rint(double a) { return __builtin_rint(a); }",
    },
];

/// Helpers that need vectors; they follow the class.
const VECTOR_HELPERS: &[Helper] = &[
    Helper {
        name: "convert",
        needs: &["low", "high", "join"],
        vectors: true,
        text: "// The lanes as those of another type.
template <typename To, typename T, int N> static inline To convert(Vec<T, N> a) {
  if constexpr (To::halved && Vec<T, N>::halved) {
    return {convert<typename To::Half>(a.lo), convert<typename To::Half>(a.hi)};
  } else if constexpr (To::halved) {
    return {convert<typename To::Half>(low(a)), convert<typename To::Half>(high(a))};
  } else if constexpr (Vec<T, N>::halved) {
    return join(convert<Vec<typename To::Lane, N / 2>>(a.lo), convert<Vec<typename To::Lane, N / 2>>(a.hi));
  } else {
    return To(__builtin_convertvector(a.v, typename To::Native));
  }
}",
    },
    Helper {
        name: "bits_of",
        needs: &[],
        vectors: true,
        text: "// The same bits as another type of lanes.
template <typename To, typename T, int N> static inline To bits_of(Vec<T, N> a) {
  if constexpr (To::halved) return {bits_of<typename To::Half>(a.lo), bits_of<typename To::Half>(a.hi)};
  else return To(typename To::Native(a.v));
}",
    },
    Helper {
        name: "any",
        needs: &["convert"],
        vectors: true,
        text: "// Whether a lane is set.
template <int W, int N> static inline bool any(Mask<W, N> m) {
  if constexpr (Vec<Signed<W>, N>::halved) {
    return any(Mask<W, N / 2>(m.bits.lo | m.bits.hi));
  } else {
    Signed<W> all = 0;
    for (int k = 0; k < N; k++) all |= m.bits.v[k];
    return all != 0;
  }
}",
    },
    Helper {
        name: "first_of",
        needs: &[],
        vectors: true,
        text: "// What the first lane that is set has.
template <int W, int N> static inline int64_t first_of(Mask<W, N> m, Vec<int64_t, N> a) {
  int k = 0;
  while (k + 1 < N && !m[k]) k++;
  return a[k];
}",
    },
    Helper {
        name: "load",
        needs: &[],
        vectors: true,
        text: "// Reads a vector that stands anywhere.
template <typename V> static inline V load(const void *from) {
  if constexpr (!__is_class(V)) {
    V a;
    __builtin_memcpy(&a, from, sizeof a);
    return a;
  } else if constexpr (V::halved) return {load<typename V::Half>(from), load<typename V::Half>((const char *)from + sizeof(V) / 2)};
  else return V(*(const typename Register<typename V::Lane, V::lanes>::anywhere *)from);
}",
    },
    Helper {
        name: "store",
        needs: &[],
        vectors: true,
        text: "template <typename V> static inline void store(void *to, V a) {
  if constexpr (!__is_class(V)) {
    __builtin_memcpy(to, &a, sizeof a);
  } else if constexpr (V::halved) {
    store(to, a.lo);
    store((char *)to + sizeof(V) / 2, a.hi);
  } else {
    *(typename Register<typename V::Lane, V::lanes>::anywhere *)to = a.v;
  }
}",
    },
    Helper {
        name: "load_masked",
        needs: &[],
        vectors: true,
        text: "// Reads the lanes that are set; the others are 0.
template <typename V, int W, int N> static inline V load_masked(const void *from, Mask<W, N> m) {
  typedef typename V::Lane __attribute__((may_alias, aligned(1))) Element;
  const Element *p = (const Element *)from;
  if constexpr (V::halved) {
    return {load_masked<typename V::Half>(p, m.low()), load_masked<typename V::Half>(p + N / 2, m.high())};
  } else {
    V a;
    for (int k = 0; k < N; k++) a.v[k] = m[k] ? p[k] : 0;
    return a;
  }
}",
    },
    Helper {
        name: "store_masked",
        needs: &[],
        vectors: true,
        text: "// Writes the lanes that are set.
template <typename T, int W, int N> static inline void store_masked(void *to, Vec<T, N> a, Mask<W, N> m) {
  typedef T __attribute__((may_alias, aligned(1))) Element;
  Element *p = (Element *)to;
  if constexpr (Vec<T, N>::halved) {
    store_masked(p, a.lo, m.low());
    store_masked(p + N / 2, a.hi, m.high());
  } else {
    for (int k = 0; k < N; k++)
      if (m[k]) p[k] = a.v[k];
  }
}",
    },
    Helper {
        name: "slice",
        needs: &["low", "high"],
        vectors: true,
        text: "// As many lanes as the result has, from lane `start` on.
template <typename To, int start, typename T, int N> static inline To slice(Vec<T, N> a) {
  if constexpr (To::lanes == N) return a;
  else if constexpr (start >= N / 2) return slice<To, start - N / 2>(high(a));
  else return slice<To, start>(low(a));
}",
    },
    Helper {
        name: "slice_mask",
        needs: &["slice"],
        vectors: true,
        text: "template <int count, int start, int W, int N> static inline Mask<W, count> slice_mask(Mask<W, N> m) {
  return Mask<W, count>(slice<Vec<Signed<W>, count>, start>(m.bits));
}",
    },
    Helper {
        name: "iota",
        needs: &[],
        vectors: true,
        text: "// 0, 1, 2, …
template <typename V> static inline V iota(int first = 0) {
  V a;
  if constexpr (V::halved) return {iota<typename V::Half>(first), iota<typename V::Half>(first + V::lanes / 2)};
  else for (int k = 0; k < V::lanes; k++) a.v[k] = first + k;
  return a;
}",
    },
    Helper {
        name: "lanes",
        needs: &[],
        vectors: true,
        text: "// The lanes of a list.
template <typename V, typename T> static inline V lanes(const T (&list)[V::lanes]) {
  V a{};
  for (int k = 0; k < V::lanes; k++) a.set(k, list[k]);
  return a;
}",
    },
    Helper {
        name: "insert",
        needs: &[],
        vectors: true,
        text: "template <typename V, typename T> static inline V insert(V a, T one, int k) {
  a.set(k, one);
  return a;
}",
    },
    Helper {
        name: "each",
        needs: &[],
        vectors: true,
        text: "// A function of scalars, lane by lane; a scalar stands for all lanes.
template <typename T, int N> static inline T lane(Vec<T, N> a, int k) { return a[k]; }
template <typename T> static inline T lane(T a, int) { return a; }
template <typename V, typename F, typename... A> static inline V each(F f, A... a) {
  V r;
  for (int k = 0; k < V::lanes; k++) r.set(k, f(lane(a, k)...));
  return r;
}",
    },
];

/// What some machines have instructions for.
const MACHINE: &[(&str, &str)] = &[
    ("fma", super::half::FUSED),
    ("sqrt", super::half::ROOT),
    ("scaled", super::half::SCALED),
    ("table", super::half::TABLE),
    ("upper", super::half::TURNED),
];

fn needs(name: &str) -> &'static [&'static str] {
    let friend = FRIENDS.iter().find(|f| f.name == name).map(|f| f.needs);
    let helper = HELPERS.iter().chain(VECTOR_HELPERS).find(|h| h.name == name).map(|h| h.needs);
    match (friend, helper) {
        (Some(f), _) if !f.is_empty() => f,
        (_, Some(h)) => h,
        _ => &[],
    }
}

/// Whether a word is the name of something that may stand in a file.
pub fn is_name(name: &str) -> bool {
    const MORE: &[&str] = &[
        "Vec",
        "Mask",
        "Signed",
        "Unsigned",
        "low",
        "high",
        "join",
        "lane",
        "half",
        "pick",
        "zeros",
        "scratch",
        "error",
        "begin",
        "end",
        "step",
        "from_half",
        "to_half",
        "fused",
        "root",
        "special1",
        "special2",
        "int_pow",
        "int_gcd",
        "run",
        "buffers",
        "symbols",
        "kernels",
    ];
    MORE.contains(&name)
        || MACHINE.iter().any(|m| m.0 == name)
        || name == "lower"
        || HELPERS.iter().chain(VECTOR_HELPERS).any(|h| h.name == name)
        || FRIENDS.iter().any(|f| f.name == name)
}

/// All that is called, with what that needs.
fn closure(called: &BTreeSet<String>) -> BTreeSet<String> {
    let mut all = called.clone();
    let mut work: Vec<String> = called.iter().cloned().collect();
    while let Some(name) = work.pop() {
        for need in needs(&name) {
            if all.insert((*need).to_string()) {
                work.push((*need).to_string());
            }
        }
    }
    all
}

/// What stands before the functions of a file that have these types and call these functions.
pub fn text(types: &BTreeSet<(Kind, u32)>, called: &BTreeSet<String>) -> String {
    let all = closure(called);
    let mut out = String::new();
    let vectors = !types.is_empty() || VECTOR_HELPERS.iter().any(|h| all.contains(h.name));
    let mut all = all;
    // Masks are made of these.
    all.extend(["&", "|", "^", "prefix ~", "convert"].into_iter().filter(|_| vectors).map(str::to_string));
    out.push_str(SCALARS);
    for h in HELPERS.iter().filter(|h| all.contains(h.name)) {
        let _ = write!(out, "\n{}\n", h.text);
    }
    if all.contains("pick") {
        out.push_str(PICK);
    }
    if all.contains("from_half") || all.contains("to_half") {
        out.push_str(super::half::SCALAR);
    }
    if vectors {
        out.push_str(&class(&all));
        for h in VECTOR_HELPERS.iter().filter(|h| all.contains(h.name)) {
            debug_assert!(h.vectors);
            let _ = write!(out, "\n{}\n", h.text);
        }
        if all.contains("from_half") || all.contains("to_half") {
            out.push_str(super::half::VECTOR);
        }
        for (name, text) in MACHINE {
            if all.contains(*name) {
                out.push_str(text);
            }
        }
        out.push('\n');
        for &(kind, lanes) in types {
            let ty = Type { kind, lanes };
            if kind == Kind::Int(1) {
                continue;
            }
            let lane = Type { lanes: 1, ..ty }.text();
            let _ = writeln!(out, "using {} = Vec<{lane}, {lanes}>;", ty.text());
        }
    }
    out
}

const SCALARS: &str = "
// Elements in memory, which may be looked at as elements of other types too.
typedef float __attribute__((may_alias)) f32;
typedef double __attribute__((may_alias)) f64;
typedef int8_t __attribute__((may_alias)) i8;
typedef int16_t __attribute__((may_alias)) i16;
typedef int32_t __attribute__((may_alias)) i32;
typedef int64_t __attribute__((may_alias)) i64;

template <int bytes> struct Integer;
template <> struct Integer<1> { typedef int8_t Signed; typedef uint8_t Unsigned; };
template <> struct Integer<2> { typedef int16_t Signed; typedef uint16_t Unsigned; };
template <> struct Integer<4> { typedef int32_t Signed; typedef uint32_t Unsigned; };
template <> struct Integer<8> { typedef int64_t Signed; typedef uint64_t Unsigned; };
template <int bytes> using Signed = typename Integer<bytes>::Signed;
template <typename T> using Unsigned = typename Integer<sizeof(T)>::Unsigned;
";

const PICK: &str = "
// What is read where nothing may be read.
alignas(64) static const char zeros[4096] = {};

// An address, or another one where there is nothing to be read or written.
static inline const void *pick(bool c, const void *a, const void *b) { return c ? a : b; }
static inline void *pick(bool c, void *a, void *b) { return c ? a : b; }
";

/// The classes of vectors and masks with the functions that are used.
fn class(all: &BTreeSet<String>) -> String {
    let used: Vec<&Friend> = FRIENDS.iter().filter(|f| all.contains(f.name)).collect();
    let mask = "template <int W, int N> struct Mask;\n";
    let mut out = String::from(
        "
// Bytes of a vector register.
#if defined(__AVX512F__)
constexpr int REGISTER = 64;
#elif defined(__AVX__)
constexpr int REGISTER = 32;
#else
constexpr int REGISTER = 16;
#endif

template <typename T, int N> struct Register {
  typedef T type __attribute__((vector_size(sizeof(T) * N)));
  typedef T anywhere __attribute__((vector_size(sizeof(T) * N), aligned(1), may_alias));
};
template <bool c, typename A, typename B> struct If { typedef A type; };
template <typename A, typename B> struct If<false, A, B> { typedef B type; };

",
    );
    out.push_str(mask);
    out.push_str(
        "
// N lanes: a register, or two halves.
template <typename T, int N, bool is_halved = (sizeof(T) * N > REGISTER)> struct Vec {
  typedef T Lane;
  typedef typename Register<T, N>::type Native;
  typedef typename Register<Signed<sizeof(T)>, N>::type Bits;
  // Integers are computed as unsigned ones, which wrap.
  typedef typename If<(T(1) / 2 == 0), Unsigned<T>, T>::type WrapLane;
  typedef typename Register<WrapLane, N>::type Wrap;
  static constexpr bool halved = false;
  static constexpr int lanes = N;
  Native v;

  Vec() = default;
  inline Vec(T all) : v(all - Native{}) {}
  inline explicit Vec(Native v) : v(v) {}
  inline T operator[](int k) const { return v[k]; }
  inline void set(int k, T one) { v[k] = one; }
",
    );
    for f in &used {
        out.push_str(&friend(f, false));
    }
    out.push_str(
        "};

template <typename T, int N> struct Vec<T, N, true> {
  typedef T Lane;
  typedef Vec<T, N / 2> Half;
  static constexpr bool halved = true;
  static constexpr int lanes = N;
  Half lo, hi;

  Vec() = default;
  inline Vec(T all) : lo(all), hi(all) {}
  inline Vec(Half lo, Half hi) : lo(lo), hi(hi) {}
  inline T operator[](int k) const { return k < N / 2 ? lo[k] : hi[k - N / 2]; }
  inline void set(int k, T one) {
    if (k < N / 2) lo.set(k, one);
    else hi.set(k - N / 2, one);
  }
",
    );
    for f in &used {
        out.push_str(&friend(f, true));
    }
    out.push_str("};\n");
    out.push_str(super::masks::HALVES);
    out.push_str(super::masks::MASKS);
    out
}

fn friend(f: &Friend, halved: bool) -> String {
    let name = match f.name.strip_prefix("prefix ") {
        Some(op) => format!("operator{op}"),
        None if f.name.starts_with(|c: char| c.is_ascii_alphabetic()) => f.name.to_string(),
        None => format!("operator{}", f.name),
    };
    let args: Vec<String> =
        f.args.iter().map(|&a| if a == "m" { format!("{MASK} m") } else { format!("Vec {a}") }).collect();
    let head = format!("  friend inline {} {name}({})", f.result, args.join(", "));
    if halved {
        let call = |half: &str, mask: &str| {
            let args: Vec<String> =
                f.args.iter().map(|&a| if a == "m" { format!("m.{mask}()") } else { format!("{a}.{half}") }).collect();
            match f.name.strip_prefix("prefix ") {
                Some(op) => format!("{op}{}", args[0]),
                None if name.starts_with("operator") => format!("{} {} {}", args[0], f.name, args[1]),
                None => format!("{name}({})", args.join(", ")),
            }
        };
        let (low, high) = (call("lo", "low"), call("hi", "high"));
        return if f.result == MASK {
            format!("{head} {{ return {MASK}({low}, {high}); }}\n")
        } else {
            format!("{head} {{ return {{{low}, {high}}}; }}\n")
        };
    }
    match f.register {
        Whole(text) if f.result == MASK => format!("{head} {{ return {MASK}(typename {MASK}::Native({text})); }}\n"),
        Whole(text) => format!("{head} {{ return Vec(Native({text})); }}\n"),
        One(text) => format!("{head} {{ return {text}; }}\n"),
        Lane(text) => format!(
            "{head} {{\n    Vec r;\n    for (int k = 0; k < N; k++) r.v[k] = kernels::{text};\n    return r;\n  }}\n"
        ),
    }
}
