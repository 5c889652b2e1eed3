//! `rinductor-opt`: the program is [`rinductor::driver::main_opt`].

fn main() {
    std::process::exit(rinductor::driver::io::run_main(rinductor::driver::main_opt));
}
