//! How emitted C++ is compiled.

/// The flags that decide what is computed: products are not fused with sums (the polynomials call `fma`), nothing is said about NaN or infinity.
/// Without `errno` and traps, functions that are an instruction become one.
pub const FLAGS: &[&str] =
    &["-std=c++17", "-O3", "-march=native", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fPIC"];

/// What the first lines of a file say.
pub const SHOWN: &str =
    "g++ -std=c++17 -O3 -march=native -ffp-contract=off -fno-math-errno -fno-trapping-math -fopenmp -shared -fPIC";
