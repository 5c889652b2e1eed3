//! `rinductor-exec`: the program is [`rinductor::driver::main_exec`].

fn main() {
    std::process::exit(rinductor::driver::io::run_main(rinductor::driver::main_exec));
}
