//! `rinductor-reduce`: the program is [`rinductor::driver::main_reduce`].

fn main() {
    std::process::exit(rinductor::driver::io::run_main(rinductor::driver::main_reduce));
}
