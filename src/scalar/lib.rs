//! The closed scalar vocabulary of rinductor: element types, torch's promotion rules, scalar values with exact
//! rounding, the scalar operations with their evaluation, and the names these operations have in the IR.
//!
//! Every back end and the interpreter match [`ScalarOp`] exhaustively, so adding an operation shows each place that
//! must learn it. Nothing here knows of tensors or of the IR's data structures.

mod dtype;
mod eval;
mod eval_complex;
mod eval_float;
mod eval_int;
mod irname;
mod op;
pub mod philox;
mod promote;
mod round;
mod special;
mod value;

pub use dtype::{DType, Kind};
pub use eval::{EvalError, eval};
pub use eval_float::{f64_binary, f64_unary};
pub use irname::{IrName, cast_from_ir, cast_to_ir, from_ir, to_ir};
pub use num_complex::Complex64;
pub use op::{Classes, ResultRule, ScalarOp, SpecialFn};
pub use philox::philox4x32;
pub use promote::{Operand, Rank, combine, int_to_float, opmath, promote_types, result_type, sum_dtype};
pub use round::{
    bf16_bits, bits_to_f8e4m3fn, bits_to_f8e5m2, f8e4m3fn_bits, f8e5m2_bits, f16_bits, float_to_i64, round_to,
};
pub use value::{Scalar, Value};
