//! What a compiled graph needs when it runs: buffers, tensor files, generated inputs and their expected outputs, and the
//! operations that are not compiled but called (matrix products, convolutions, attention, sorting, random numbers).
//!
//! Only `exec` knows of the IR: an op is called by its aten name with tensors and a small map of attributes.

pub mod cache;
pub mod compare;
pub mod element;
pub mod error;
pub mod exec;
pub mod npy;
pub mod npz;
pub mod ops;
pub mod recycle;
pub mod safetensor;
pub mod seed;
pub mod storage;
pub mod tensor;

pub use compare::{Expectation, Summary, compare_tensors};
pub use element::Element;
pub use error::RuntimeError;
pub use exec::{Argument, Executable, HostCall, HostInput, HostOps, Returned};
pub use ops::{Attr, Attrs, ExternOp, extern_op, extern_op_names};
pub use seed::{InputKind, generate};
pub use storage::Storage;
pub use tensor::{Dims, Tensor, contiguous_strides};
