//! rinductor: a tensor compiler that you can read.
