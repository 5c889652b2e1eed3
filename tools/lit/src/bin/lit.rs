//! The program `rinductor-lit`.

fn main() {
    std::process::exit(rinductor_lit::main(std::env::args_os(), rinductor_lit::Extensions::default()));
}
