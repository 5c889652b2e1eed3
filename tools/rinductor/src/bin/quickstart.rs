//! `rinductor-quickstart`: the program is [`rinductor::driver::main_quickstart`].

fn main() {
    std::process::exit(rinductor::driver::io::run_main(rinductor::driver::main_quickstart));
}
