//! `rinductor-run`: the program is [`rinductor::driver::main_run`].

fn main() {
    std::process::exit(rinductor::driver::io::run_main(rinductor::driver::main_run));
}
