//! A host function with every kind of step, run through LLVM.

#![allow(clippy::needless_range_loop)] // rows and columns are compared by their numbers

use std::sync::Arc;

use super::{Argument, Executable, Returned};
use crate::codegen::llvm::{CompiledKernels, Options};
use crate::ir::Ir;
use crate::runtime::Tensor;

/// Doubles a buffer of symbolic size, multiplies matrices, adds a constant through a view, writes into an input.
const TEXT: &str = r#"
"kernels.func"() <{sym_name = "double", function_type = (memref<?x4xf32, #aten.layout<sizes = [s0, 4]>>, memref<?x4xf32, #aten.layout<sizes = [s0, 4]>>, index) -> (), arg_attrs = [{}, {}, {aten.symbol = "s0"}], axes = [{name = "x", extent = #index.map<() -> (s0)>, tile = 1 : i64, kind = "parallel"}, {name = "y", extent = #index.map<() -> (4)>, tile = 8 : i64, kind = "parallel"}]}> ({
^bb0(%a: memref<?x4xf32, #aten.layout<sizes = [s0, 4]>>, %o: memref<?x4xf32, #aten.layout<sizes = [s0, 4]>>, %s: index):
  %x = "kernels.axis"() <{axis = "x"}> : () -> vector<1x1xindex>
  %y = "kernels.axis"() <{axis = "y"}> : () -> vector<1x8xindex>
  %v = "kernels.load"(%a, %x, %y) <{map = #index.map<(d0, d1) -> (d0, d1)>}> : (memref<?x4xf32, #aten.layout<sizes = [s0, 4]>>, vector<1x1xindex>, vector<1x8xindex>) -> vector<1x8xf32>
  %w = "arith.addf"(%v, %v) : (vector<1x8xf32>, vector<1x8xf32>) -> vector<1x8xf32>
  "kernels.store"(%w, %o, %x, %y) <{map = #index.map<(d0, d1) -> (d0, d1)>}> : (vector<1x8xf32>, memref<?x4xf32, #aten.layout<sizes = [s0, 4]>>, vector<1x1xindex>, vector<1x8xindex>) -> ()
  "kernels.return"() : () -> ()
}) : () -> ()
"kernels.func"() <{sym_name = "add_column", function_type = (memref<?xf32, #aten.layout<sizes = [s0], strides = [3], offset = 1>>, memref<1xf32>, index) -> (), arg_attrs = [{}, {}, {aten.symbol = "s0"}], axes = [{name = "x", extent = #index.map<() -> (s0)>, tile = 8 : i64, kind = "parallel"}]}> ({
^bb0(%a: memref<?xf32, #aten.layout<sizes = [s0], strides = [3], offset = 1>>, %c: memref<1xf32>, %s: index):
  %x = "kernels.axis"() <{axis = "x"}> : () -> vector<8xindex>
  %v = "kernels.load"(%a, %x) <{map = #index.map<(d0) -> (d0)>}> : (memref<?xf32, #aten.layout<sizes = [s0], strides = [3], offset = 1>>, vector<8xindex>) -> vector<8xf32>
  %k = "kernels.load"(%c) <{map = #index.map<() -> (0)>}> : (memref<1xf32>) -> vector<1xf32>
  %b = "kernels.broadcast"(%k) : (vector<1xf32>) -> vector<8xf32>
  %w = "arith.addf"(%v, %b) : (vector<8xf32>, vector<8xf32>) -> vector<8xf32>
  "kernels.store"(%w, %a, %x) <{map = #index.map<(d0) -> (d0)>}> : (vector<8xf32>, memref<?xf32, #aten.layout<sizes = [s0], strides = [3], offset = 1>>, vector<8xindex>) -> ()
  "kernels.return"() : () -> ()
}) : () -> ()
"func.func"() <{sym_name = "forward", function_type = (memref<?x4xf32, #aten.layout<sizes = [s0, 4]>>, memref<4x3xf32>, index) -> (memref<?x3xf32, #aten.layout<sizes = [s0, 3]>>, index, none), arg_attrs = [{}, {}, {aten.symbol = "s0"}]}> ({
^bb0(%a: memref<?x4xf32, #aten.layout<sizes = [s0, 4]>>, %m: memref<4x3xf32>, %s: index):
  %d = "kernels.alloc"() : () -> memref<?x4xf32, #aten.layout<sizes = [s0, 4]>>
  %n = "kernels.size"() <{map = #index.map<() -> (s0)>}> : () -> index
  "kernels.launch"(%a, %d, %n) <{callee = @double}> : (memref<?x4xf32, #aten.layout<sizes = [s0, 4]>>, memref<?x4xf32, #aten.layout<sizes = [s0, 4]>>, index) -> ()
  %arena = "kernels.alloc"() : () -> memref<256xi8>
  %part = "kernels.alloc"(%arena) <{offset = 64 : i64}> : (memref<256xi8>) -> memref<4x3xf32>
  "kernels.copy"(%m, %part) : (memref<4x3xf32>, memref<4x3xf32>) -> ()
  %o = "kernels.alloc"() : () -> memref<?x3xf32, #aten.layout<sizes = [s0, 3]>>
  "kernels.extern"(%d, %part, %o) <{callee = "aten.mm", outs = 1 : i64, properties = {}}> : (memref<?x4xf32, #aten.layout<sizes = [s0, 4]>>, memref<4x3xf32>, memref<?x3xf32, #aten.layout<sizes = [s0, 3]>>) -> ()
  "kernels.dealloc"(%d) : (memref<?x4xf32, #aten.layout<sizes = [s0, 4]>>) -> ()
  %c = "kernels.constant"() <{value = dense<100.0> : tensor<1xf32>}> : () -> memref<1xf32>
  %column = "kernels.view"(%o) : (memref<?x3xf32, #aten.layout<sizes = [s0, 3]>>) -> memref<?xf32, #aten.layout<sizes = [s0], strides = [3], offset = 1>>
  "kernels.launch"(%column, %c, %n) <{callee = @add_column}> : (memref<?xf32, #aten.layout<sizes = [s0], strides = [3], offset = 1>>, memref<1xf32>, index) -> ()
  %again = "kernels.alloc"() : () -> memref<?x4xf32, #aten.layout<sizes = [s0, 4]>>
  "kernels.launch"(%a, %again, %n) <{callee = @double}> : (memref<?x4xf32, #aten.layout<sizes = [s0, 4]>>, memref<?x4xf32, #aten.layout<sizes = [s0, 4]>>, index) -> ()
  "kernels.copy"(%again, %a) : (memref<?x4xf32, #aten.layout<sizes = [s0, 4]>>, memref<?x4xf32, #aten.layout<sizes = [s0, 4]>>) -> ()
  %none = "kernels.none"() : () -> none
  "func.return"(%o, %s, %none) : (memref<?x3xf32, #aten.layout<sizes = [s0, 3]>>, index, none) -> ()
}) : () -> ()
"#;

fn parse(text: &str) -> Ir {
    let mut sources = rinductor_support::SourceMap::default();
    let source = sources.add("test.ir", text).expect("a short text");
    let registry = crate::ir::registry::Registry::default();
    let options = crate::text::ParseOptions::new(&registry).allow_unregistered(true);
    let (ir, errors) = crate::text::parse(&sources, source, &options);
    assert!(errors.is_empty(), "{errors:?}");
    ir.expect("a text without errors is an IR")
}

fn executable() -> Executable {
    let ir = parse(TEXT);
    let kernels = CompiledKernels::compile(&ir, &Options::default()).expect("compiles");
    Executable::new(&ir, "forward", Arc::new(kernels)).expect("a plan")
}

#[test]
fn a_function_runs_for_every_size() {
    let f = executable();
    assert_eq!(f.arity(), (2, 1));
    for n in [3usize, 1, 20, 0] {
        for transposed in [false, true] {
            let data: Vec<f32> = (0..n * 4).map(|i| i as f32).collect();
            let a = if transposed {
                // The same numbers in other memory: it is copied in, and what is written is copied back.
                let a = Tensor::zeros_strided(rinductor_scalar::DType::F32, &[n, 4], &[1, n.max(1)]).expect("small");
                a.copy_from(&Tensor::from_slice(&[n, 4], &data).expect("fits")).expect("same sizes");
                a
            } else {
                Tensor::from_slice(&[n, 4], &data).expect("fits")
            };
            let m = Tensor::from_slice(&[4, 3], &(0..12).map(|i| i as f32).collect::<Vec<_>>()).expect("fits");
            let out = if transposed {
                f.run(&[Argument::Tensor(a.clone()), Argument::Tensor(m), Argument::Int(n as i64)]).expect("runs")
            } else {
                f.run_tensors(&[a.clone(), m]).expect("runs")
            };
            let [Returned::Tensor(o), Returned::Int(s), Returned::Nothing] = &out[..] else { panic!("{out:?}") };
            assert_eq!((o.sizes(), *s), (&[n, 3][..], n as i64));
            let got = o.to_vec::<f32>().expect("f32");
            for i in 0..n {
                for j in 0..3 {
                    let product: f32 = (0..4).map(|k| 2.0 * data[i * 4 + k] * (k * 3 + j) as f32).sum();
                    assert_eq!(got[i * 3 + j], product + if j == 1 { 100.0 } else { 0.0 });
                }
            }
            assert_eq!(a.to_vec::<f32>().expect("f32"), data.iter().map(|x| 2.0 * x).collect::<Vec<_>>());
        }
    }
}

#[test]
fn wrong_inputs_are_errors() {
    let f = executable();
    let m = Tensor::from_slice(&[4, 3], &[0f32; 12]).expect("fits");
    let a = Tensor::from_slice(&[2, 5], &[0f32; 10]).expect("fits");
    let e = f.run_tensors(&[a, m.clone()]).expect_err("five columns");
    assert_eq!(e.to_string(), "input %a is f32 of sizes [2, 5], the function takes f32 of sizes [2, 4]");
    let e = f.run_tensors(&[m]).expect_err("one tensor");
    assert_eq!(e.to_string(), "no tensor for input %m");
}
