//! Random pairs of a check file and an input, from a seed: mostly sensible, some malformed, some not text at all.

#![allow(dead_code, reason = "each user needs a part of it")]

/// A small generator of random numbers (SplitMix64).
pub struct Random {
    state: u64,
    /// Whether to make what is not valid too.
    wild: bool,
    /// Variables that the check file defines so far.
    defined: Vec<String>,
}

impl Random {
    /// From a seed.
    pub fn new(seed: u64) -> Random {
        Random { state: seed, wild: true, defined: Vec::new() }
    }

    /// The next 64 bits.
    pub fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    /// True once in `times`.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// Whether a variable can be used; where only what is valid is wanted it must be defined.
    fn may_use(&self, name: &str) -> bool {
        self.wild || self.defined.iter().any(|defined| defined == name)
    }

    /// One of several; of the last `wild`, which are not valid, only where such are wanted.
    pub fn pick_valid<'t>(&mut self, from: &[&'t str], wild: usize) -> &'t str {
        let count = if self.wild { from.len() } else { from.len() - wild };
        from[self.below(count)]
    }

    /// One of several.
    pub fn pick<'t, T: ?Sized>(&mut self, from: &[&'t T]) -> &'t T {
        from[self.below(from.len())]
    }
}

/// A check to make.
#[derive(Clone, Debug)]
pub struct Case {
    /// The check file.
    pub check: Vec<u8>,
    /// The input.
    pub input: Vec<u8>,
    /// Options, as arguments.
    pub arguments: Vec<String>,
}

const WORDS: &[&str] = &[
    "add", "mul", "ret", "%a", "%b1", "%tmp", "a", "ab", "aab", "b", "x", "foo", "foobar", "bar", "0x1F", "0xff", "1",
    "2", "3", "10", "11", "42", "-5", "007", "FF", "dead", "i32", ",", "(", ")", "=", "[", "]", "{", "}", "*", "+",
    ":", "|", "\\", ".", "$x", "^", "?", "#", "@f", "label:", "CHECK", "x y", "\"s\"", "a.b", "a-b", "_",
];

fn line(random: &mut Random) -> Vec<u8> {
    let mut text = Vec::new();
    for index in 0..random.below(6) {
        if index > 0 || random.once_in(5) {
            text.extend_from_slice(random.pick(&[" ", " ", " ", " ", "  ", "\t", "", " \t "]).as_bytes());
        }
        text.extend_from_slice(random.pick(WORDS).as_bytes());
        if random.once_in(60) {
            text.push(random.below(256) as u8);
        }
    }
    if random.once_in(12) {
        text.extend_from_slice(random.pick(&[" ", "\t", "  "]).as_bytes());
    }
    text
}

fn lines(random: &mut Random) -> Vec<Vec<u8>> {
    let count = 1 + random.below(9);
    let mut lines: Vec<Vec<u8>> = Vec::new();
    for _ in 0..count {
        let new = match lines.len() {
            0 => line(random),
            known if random.once_in(4) => lines[random.below(known)].clone(),
            _ => line(random),
        };
        lines.push(new);
    }
    lines
}

fn join(random: &mut Random, lines: &[Vec<u8>]) -> Vec<u8> {
    let mut text = Vec::new();
    let end = if random.once_in(12) { "\r\n" } else { "\n" };
    for (index, line) in lines.iter().enumerate() {
        text.extend_from_slice(line);
        if index + 1 < lines.len() || !random.once_in(6) {
            text.extend_from_slice(if random.once_in(40) { "\r" } else { end }.as_bytes());
        }
    }
    text
}

/// A regular expression, valid as a rule.
pub fn regex(random: &mut Random, depth: usize) -> String {
    let mut text = String::new();
    for _ in 0..1 + random.below(3) {
        let atom = match random.below(if depth == 0 { 11 } else { 14 }) {
            0 => ".".into(),
            1 => "[a-z]".into(),
            2 => "[0-9]".into(),
            3 => random
                .pick(&["[^ ]", "[^,]", "[^a]", "[[:alnum:]_]", "[[:space:]]", "[^[:space:]]", "[ab]", "[]x]", "[a-]"])
                .into(),
            4 => random.pick(&["a", "b", "ab", "x", "foo", "%", " ", "1", "0x"]).into(),
            5 => random.pick(&["\\.", "\\(", "\\+", "\\d", "\\w", "\\b", "\\s", "\\[", "\\\\", "\\n"]).into(),
            6 => random
                .pick_valid(
                    &["[[:xdigit:]]", "[[:<:]]", "[[:>:]]", "^", "$", "[[.hyphen.]]", "[[=a=]]", "[[:foo:]]"],
                    1,
                )
                .into(),
            7..=9 => random
                .pick(&[".*", "[a-z]+", "[0-9]+", "[^ ]+", ".+", "a*", "(a|ab)", "(foo|foobar)", "[a-z0-9_]*"])
                .into(),
            10 => random
                .pick_valid(
                    &[
                        "a{2}", "a{1,2}", "a{0,1}", "(a)", "(b)", "(a)\\1", "\\1", "b{0}", "[b-a]", "*", "(", ")", "[",
                        "{1}", "a**",
                    ],
                    10,
                )
                .into(),
            11 => format!("({})", regex(random, depth - 1)),
            12 => format!("({}|{})", regex(random, depth - 1), regex(random, depth - 1)),
            _ => format!("{}|{}", regex(random, depth - 1), regex(random, depth - 1)),
        };
        text.push_str(&atom);
        let is_repeatable = atom.len() == 1 && atom != "^" || atom.ends_with([']', ')']) || atom == "\\.";
        if random.once_in(if is_repeatable { 3 } else { 20 }) && (random.wild || is_repeatable) {
            text.push_str(random.pick(&["*", "+", "?", "{2}", "{1,}", "{0,2}"]));
        }
    }
    text
}

fn expression(random: &mut Random, depth: usize) -> String {
    match random.below(if depth == 0 { 5 } else { 9 }) {
        0 | 1 => {
            let name = random.pick_valid(&["N", "M", "N", "D", "$G", "V", "UNDEF"], 4);
            if random.may_use(name) { name.into() } else { "1".into() }
        }
        2 => random
            .pick(&["1", "0", "10", "0x10", "-3", "007", "0b11", "18446744073709551616", "9999999999999999999999"])
            .into(),
        3 => "@LINE".into(),
        4 if !random.may_use("N") || !random.may_use("M") => random.pick(&["@LINE+1", "@LINE - 2", "2+3"]).into(),
        4 => random
            .pick_valid(&["N+1", "N-1", "@LINE+1", "@LINE-2", "N + 1", "M - N", "N+", "1 2", "08", "0x", "N*2"], 5)
            .into(),
        5 | 8 => format!("{}+{}", expression(random, depth - 1), expression(random, depth - 1)),
        6 => format!("({}-{})", expression(random, depth - 1), expression(random, depth - 1)),
        7 => {
            let function = random.pick_valid(&["add", "sub", "mul", "div", "min", "max", "foo"], 1);
            format!("{function}({}, {})", expression(random, depth - 1), expression(random, depth - 1))
        }
        _ => format!("{} - {}", expression(random, depth - 1), expression(random, depth - 1)),
    }
}

fn block(random: &mut Random) -> String {
    let name = random.pick_valid(&["V", "W", "$G", "X1", "N", "M"], 2);
    let format = random
        .pick_valid(&["", "", "", "", "%u,", "%d,", "%x,", "%X,", "%#x,", "%.2u,", "%#.4X,", "% x,", "%y,", "%.3,"], 3);
    match random.below(if random.wild { 14 } else { 12 }) {
        0..=3 => format!("[[{name}:{}]]", regex(random, 1)),
        4..=6 => text_use(random),
        7 | 8 => format!("[[#{format}{}:]]", random.pick_valid(&["N", "M", "K", "V"], 1)),
        9 | 10 => format!("[[#{format}{}]]", expression(random, 2)),
        11 => format!("[[#{format}{}:{}]]", random.pick_valid(&["N", "M", "K", "V"], 1), expression(random, 1)),
        12 => random
            .pick(&["[[@LINE]]", "[[@LINE+1]]", "[[@LINE-1]]", "[[ @LINE]]", "[[@LINE+N]]", "[[#@LINE]]", "[[@FOO]]"])
            .into(),
        _ => random
            .pick(&[
                "[[",
                "]]",
                "[[]]",
                "[[#]]",
                "[[V:",
                "[[#==N]]",
                "[[#N:==1]]",
                "[[[V]]]",
                "[[V W]]",
                "[[1]]",
                "[[#,]]",
            ])
            .into(),
    }
}

fn text_definition(random: &mut Random, name: &str) -> String {
    random.defined.push(name.to_owned());
    let body = random.pick(&["[^ ]+", ".*", "[a-z0-9%]+", "[a-z]*", "a|ab", "[0-9]+"]);
    format!("[[{name}:{body}]]")
}

/// The use of a string variable, or its definition where it has none.
fn text_use(random: &mut Random) -> String {
    let name = random.pick_valid(&["V", "W", "$G", "X1", "N", "D"], 2);
    if random.may_use(name) { format!("[[{name}]]") } else { text_definition(random, name) }
}

/// A pattern made from a line: parts of it stay, parts become expressions or blocks.
fn pattern(random: &mut Random, line: &[u8]) -> Vec<u8> {
    let start = if random.once_in(2) { 0 } else { random.below(line.len() + 1) };
    let end = if random.once_in(2) { line.len() } else { start + random.below(line.len() - start + 1) };
    let source = &line[start..end];
    if random.once_in(3) {
        return source.to_vec();
    }
    let mut text = Vec::new();
    let mut at = 0;
    while at < source.len() {
        let word = source[at..].iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'%').count().max(1);
        let piece = &source[at..at + word];
        at += word;
        match random.below(12) {
            0 => {
                let class = if piece.iter().all(u8::is_ascii_digit) { "{{[0-9]+}}" } else { "{{[^ ]+}}" };
                text.extend_from_slice(if random.once_in(2) { class } else { "{{.*}}" }.as_bytes());
            }
            1 => {
                let name = random.pick(&["V", "W", "$G", "X1"]);
                text.extend(text_definition(random, name).bytes());
            }
            2 if piece.iter().all(u8::is_ascii_digit) => {
                let name = random.pick_valid(&["N", "M", "$G"], 1);
                random.defined.push(name.to_owned());
                text.extend(format!("[[#{name}:]]").bytes());
            }
            3 if piece.iter().all(u8::is_ascii_digit) => text.extend(format!("[[#{}]]", expression(random, 1)).bytes()),
            4 => text.extend(text_use(random).bytes()),
            5 if random.once_in(2) => {
                let regex = regex(random, 2);
                // An expression that ends in a brace must not run into those of the block.
                let closes = regex.ends_with('}') && !random.wild;
                text.extend(if closes { format!("{{{{({regex})}}}}") } else { format!("{{{{{regex}}}}}") }.bytes());
            }
            6 if random.once_in(4) => text.extend(block(random).bytes()),
            _ => text.extend_from_slice(piece),
        }
    }
    text
}

/// A pattern without blocks that the line matches.
fn plain(line: &[u8]) -> Vec<u8> {
    let word: Vec<u8> = line.iter().copied().filter(|b| !b"[]{}\r\n".contains(b)).collect();
    let trimmed = word.trim_ascii();
    if trimmed.is_empty() {
        b"{{.*}}".to_vec()
    } else {
        trimmed.split(|&b| b == b' ').next().unwrap_or(trimmed).to_vec()
    }
}

fn check_lines(random: &mut Random, input: &[Vec<u8>], prefixes: &[&str]) -> Vec<Vec<u8>> {
    let mut result = Vec::new();
    let mut at = 0;
    let mut first = true;
    let count = 1 + random.below(4);
    for _ in 0..count {
        let step = if first || random.once_in(5) { 0 } else { 1 + random.below(2) };
        let target = (at + step).min(input.len() - 1);
        let prefix = random.pick(prefixes);
        let suffix = match (random.below(16), step) {
            (0..=2, _) => "",
            (3..=5, 1) if !first => "-NEXT",
            (3..=5, 0) if !first => "-SAME",
            (6 | 7, _) => "-DAG",
            (8, _) => "-NOT",
            (9, _) => "-LABEL",
            (10, _) => random
                .pick_valid(&["-COUNT-2", "-COUNT-1", "-COUNT-3", "-COUNT-0", "-COUNT-x", "-COUNT-99999999999"], 3),
            (11, _) if !first || random.wild => "-EMPTY",
            (12, _) => random.pick_valid(
                &["{LITERAL}", "-DAG{LITERAL}", "-NOT{LITERAL}", "{LITERAL,LITERAL}", "{BAD}", "-NEXT{LITERAL}"],
                2,
            ),
            (13, _) if random.wild => {
                random.pick(&["-NEXT", "-SAME", "-DAG", "-NOT", "_NEXT", "-DAG-NOT", "-FOO", "-NOT-DAG"])
            }
            _ => "",
        };
        let source = if suffix.contains("NOT") && !random.once_in(4) { line(random) } else { input[target].clone() };
        let mut text: Vec<u8> = random.pick_valid(&["", "; ", "// ", "x", "RUN: "], 2).into();
        if !random.once_in(8) {
            text.clear();
        }
        text.extend(format!("{prefix}{suffix}").bytes());
        text.extend_from_slice(random.pick(&[":", ": ", ": ", ": ", ":  "]).as_bytes());
        if suffix != "-EMPTY" || (random.wild && random.once_in(10)) {
            let made = pattern(random, &source);
            let is_plain = suffix == "-LABEL" && !random.wild;
            text.extend(if is_plain || (made.iter().all(|b| b" \t".contains(b)) && !random.wild) {
                plain(&source)
            } else {
                made
            });
        }
        result.push(text);
        if random.once_in(8) {
            result.push(random.pick(&["", "COM: CHECK: x", "CHECKER: y", "some text", "RUN: tool | CHECK: no"]).into());
        }
        first &= suffix.contains("-DAG") || suffix.contains("-NOT");
        at = target;
    }
    result
}

fn mutate(random: &mut Random, text: &mut Vec<u8>) {
    for _ in 0..1 + random.below(3) {
        let at = random.below(text.len() + 1);
        let byte = match random.below(3) {
            0 => random.below(256) as u8,
            _ => *b"[]{}#:%@$()*+?|^\\.,-=0 \n\t\rCab1".get(random.below(31)).unwrap_or(&b'['),
        };
        match random.below(3) {
            0 => text.insert(at, byte),
            1 if at < text.len() => text[at] = byte,
            _ if at < text.len() => {
                text.remove(at);
            }
            _ => {}
        }
    }
}

fn arguments(random: &mut Random) -> (Vec<String>, Vec<&'static str>) {
    let mut arguments: Vec<String> = Vec::new();
    for flag in [
        "-match-full-lines",
        "--strict-whitespace",
        "-ignore-case",
        "-enable-var-scope",
        "--allow-deprecated-dag-overlap",
        "-allow-unused-prefixes",
        "-allow-empty",
        "-v",
        "-vv",
    ] {
        if random.once_in(9) {
            arguments.push(flag.into());
        }
    }
    if random.once_in(10) {
        arguments.push(format!(
            "-implicit-check-not={}",
            random.pick_valid(&["foobar", "{{a+b}}", "mul", "{{[}}", "[[V]]", "", "a{{*}}"], 4)
        ));
    }
    for _ in 0..2 {
        if random.once_in(8) {
            arguments.push(
                random
                    .pick_valid(
                        &[
                            "-DV=ab",
                            "-DD=foo",
                            "-D#N=1",
                            "-D#M=N+1",
                            "-D#%X,N=10",
                            "-DW=a b",
                            "-DV+1=x",
                            "-D#D=x",
                            "-D@LINE=2",
                        ],
                        3,
                    )
                    .into(),
            );
        }
    }
    if random.once_in(10) {
        arguments.push("-dump-input=never".into());
    }
    let prefixes = match random.below(12) {
        0 => {
            arguments.push("-check-prefixes=A,CHECK".into());
            if !random.wild {
                arguments.push("-allow-unused-prefixes".into());
            }
            vec!["A", "CHECK", "CHECK"]
        }
        1 => {
            arguments.push("--check-prefix=CHECK".into());
            arguments.push("-check-prefix=CHECK-X".into());
            if !random.wild {
                arguments.push("-allow-unused-prefixes".into());
            }
            vec!["CHECK", "CHECK-X"]
        }
        2 => {
            arguments.push("-comment-prefixes=CHECK-NOT,COM".into());
            vec!["CHECK"]
        }
        _ => vec!["CHECK"],
    };
    (arguments, prefixes)
}

/// A case in which all depends on the regular expressions, with captures shown.
fn engine_case(random: &mut Random) -> Case {
    let mut check = b"CHECK: ".to_vec();
    let parts = 1 + random.below(4);
    for part in 0..parts {
        let regex = match random.below(4) {
            0 => random
                .pick(&[
                    "(a|ab)(c|bcd)*",
                    "(a*)(b|ab)*",
                    "((a)|b)*",
                    "(a|b)*abb",
                    "x*",
                    "(ab?)(b?c?)",
                    "(a*b*)+",
                    "(^a|b$)+",
                ])
                .into(),
            _ => regex(random, 3),
        };
        let regex = if regex.ends_with('}') { format!("({regex})") } else { regex };
        let text = match random.below(6) {
            0 | 1 => format!("[[V{part}:{regex}]]"),
            2 if part > 0 => format!("[[V{}]]", part - 1),
            3 => format!("{{{{({regex})}}}}{}", random.pick(&["", "b", "{{\\1}}"])),
            _ => format!("{{{{{regex}}}}}"),
        };
        check.extend(text.bytes());
    }
    check.push(b'\n');
    let letters = b"aaaabbbbabcdx1 2,\n\n";
    let input = (0..1 + random.below(40)).map(|_| letters[random.below(letters.len())]).collect();
    let mut arguments = vec!["-v".to_owned()];
    if random.once_in(6) {
        arguments.push("-ignore-case".into());
    }
    if random.once_in(8) {
        arguments.push("-match-full-lines".into());
    }
    if random.once_in(3) {
        arguments.push("-dump-input=never".into());
    }
    Case { check, input, arguments }
}

/// Makes the case of a seed.
pub fn case(seed: u64) -> Case {
    let mut random = Random::new(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x5bd1_e995);
    random.wild = random.once_in(6);
    if random.once_in(5) {
        random.wild = random.once_in(8);
        return engine_case(&mut random);
    }
    let (arguments, prefixes) = arguments(&mut random);
    let input_lines = lines(&mut random);
    let check_lines = check_lines(&mut random, &input_lines, &prefixes);
    let mut input = join(&mut random, &input_lines);
    let mut check = join(&mut random, &check_lines);
    match random.below(12) {
        0 => mutate(&mut random, &mut check),
        2 => mutate(&mut random, &mut input),
        3 => {
            mutate(&mut random, &mut check);
            mutate(&mut random, &mut input);
        }
        4 if random.once_in(4) => input = (0..random.below(200)).map(|_| random.below(256) as u8).collect(),
        5 if random.once_in(8) => check = (0..random.below(200)).map(|_| random.below(256) as u8).collect(),
        _ => {}
    }
    Case { check, input, arguments }
}
