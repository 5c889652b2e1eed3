//! `rinductor-tune`: the program is [`rinductor::driver::main_tune`].

fn main() {
    std::process::exit(rinductor::driver::io::run_main(rinductor::driver::main_tune));
}
