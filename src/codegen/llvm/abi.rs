//! The functions of the binary interface (`codegen::abi`) in LLVM IR.

use super::build::{LlvmBuild, T};
use crate::codegen::vector::build::Build as _;
use inkwell::module::Linkage;
use inkwell::values::FunctionValue;

/// Declares a kernel.
pub(super) fn declare_kernel<'c>(b: &LlvmBuild<'c>, name: &str) -> FunctionValue<'c> {
    let (p, i) = (b.ptr_type(), b.int_type(64, 1));
    let f = b.declare(name, &[p, p, i, i, p], None);
    for (k, name) in ["buffers", "symbols", "begin", "end", "error"].iter().enumerate() {
        if let Some(v) = f.get_nth_param(k as u32) {
            v.set_name(name);
        }
    }
    b.add_attribute(f, "nounwind", None);
    f
}

/// `void report(error, check, value, bound)`: keeps the first error.
pub(super) fn report_function<'c>(b: &LlvmBuild<'c>) -> FunctionValue<'c> {
    const NAME: &str = "rinductor.report";
    if let Some(f) = b.module.get_function(NAME) {
        return f;
    }
    let i: T = b.int_type(64, 1);
    let f = b.declare(NAME, &[b.ptr_type(), i, i, i], None);
    f.set_linkage(Linkage::Internal);
    b.add_attribute(f, "noinline", None);
    b.add_attribute(f, "cold", None);
    let saved = b.place();
    let entry = b.ctx.append_basic_block(f, "entry");
    let first = b.ctx.append_basic_block(f, "first");
    let done = b.ctx.append_basic_block(f, "done");
    b.at_end(entry);
    let params = f.get_params();
    let (_, mine) = b.cmpxchg(params[0], b.i64(0), b.i64(1));
    b.branch(mine, first, done);
    b.at_end(first);
    for k in 1..4 {
        b.store(params[k], b.element_ptr(i, params[0], b.i64(k as i64)), 8);
    }
    b.jump(done);
    b.at_end(done);
    b.ret(None);
    b.go_to(saved);
    f
}
