//! `rinductor-translate`: the program is [`rinductor::driver::main_translate`].

fn main() {
    std::process::exit(rinductor::driver::io::run_main(rinductor::driver::main_translate));
}
