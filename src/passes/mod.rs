//! The passes, one file each, and the one table of all of them.
//!
//! To add a pass: write its file (see [`crate::pass`]), name the module and put its `PASS` into [`TABLE`], both in alphabetical order, and
//! add tests in the folder of its name under `test/`.

use crate::pass::AnyPass;

pub mod apply_schedule;
pub mod aten_canonicalize;
pub mod aten_decompose;
pub mod canonicalize;
pub mod cse;
pub mod dce;
pub mod form_kernels;
pub mod kernels_in_place;
pub mod kernels_join;
pub mod kernels_keep;
pub mod kernels_split;
pub mod kernels_tile;
pub mod kernels_traffic;
pub mod loops_fuse;
pub mod loops_inline;
pub mod loops_split_reductions;
pub mod lower_aten_to_loops;
pub mod lower_products_to_loops;
pub mod plan_memory;
pub mod symbol_dce;
pub mod test_failure;
pub mod util;

/// All passes, by name.
pub static TABLE: &[&dyn AnyPass] = &[
    &apply_schedule::PASS,
    &aten_canonicalize::PASS,
    &aten_decompose::PASS,
    &canonicalize::PASS,
    &cse::PASS,
    &dce::PASS,
    &form_kernels::PASS,
    &kernels_in_place::PASS,
    &kernels_join::PASS,
    &kernels_keep::PASS,
    &kernels_split::PASS,
    &kernels_tile::PASS,
    &kernels_traffic::PASS,
    &loops_fuse::PASS,
    &loops_inline::PASS,
    &loops_split_reductions::PASS,
    &lower_aten_to_loops::PASS,
    &lower_products_to_loops::PASS,
    &plan_memory::PASS,
    &symbol_dce::PASS,
    &test_failure::PASS,
];

/// The pass of a name.
pub fn find(name: &str) -> Option<&'static dyn AnyPass> {
    TABLE.iter().copied().find(|p| p.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_every_pass_says_what_it_does() {
        assert!(TABLE.is_sorted_by(|a, b| a.name() < b.name()));
        for pass in TABLE {
            assert!(!crate::pass::summary(*pass).is_empty(), "{} has no //! comment", pass.name());
            for option in pass.options() {
                let values = [(option.name.as_str(), option.default.as_str())];
                assert!(pass.with_options(&values).is_ok(), "{}: default of {}", pass.name(), option.name);
            }
        }
    }
}
