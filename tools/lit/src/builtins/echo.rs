//! `echo`, with `-n` and `-e`.

/// What `echo` with these arguments writes.
pub fn echo(args: &[String]) -> Vec<u8> {
    let (mut escapes, mut newline) = (false, true);
    let mut words = args;
    while let Some((first, rest)) = words.split_first() {
        match first.as_str() {
            "-e" => escapes = true,
            "-n" => newline = false,
            _ => break,
        }
        words = rest;
    }
    let mut out = Vec::new();
    for (index, word) in words.iter().enumerate() {
        if index > 0 {
            out.push(b' ');
        }
        if escapes {
            unescape(word, &mut out);
        } else {
            out.extend_from_slice(word.as_bytes());
        }
    }
    if newline {
        out.push(b'\n');
    }
    out
}

fn unescape(word: &str, out: &mut Vec<u8>) {
    let mut chars = word.chars().peekable();
    let number = |chars: &mut std::iter::Peekable<std::str::Chars<'_>>, radix: u32, most: usize| {
        let mut value = 0;
        let mut count = 0;
        while count < most {
            let Some(digit) = chars.peek().and_then(|c| c.to_digit(radix)) else { break };
            value = value * radix + digit;
            count += 1;
            chars.next();
        }
        (value, count)
    };
    let push = |c: char, out: &mut Vec<u8>| out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    while let Some(c) = chars.next() {
        if c != '\\' {
            push(c, out);
            continue;
        }
        match chars.peek().copied() {
            Some('n') => out.push(b'\n'),
            Some('t') => out.push(b'\t'),
            Some('r') => out.push(b'\r'),
            Some('a') => out.push(7),
            Some('b') => out.push(8),
            Some('f') => out.push(12),
            Some('v') => out.push(11),
            Some(quote @ ('\\' | '\'' | '"')) => out.push(quote as u8),
            Some('x') => {
                chars.next();
                let (value, count) = number(&mut chars, 16, 2);
                match char::from_u32(value).filter(|_| count > 0) {
                    Some(c) => push(c, out),
                    None => out.extend_from_slice(b"\\x"),
                }
                continue;
            }
            Some('0'..='7') => {
                let (value, _) = number(&mut chars, 8, 3);
                push(char::from_u32(value).unwrap_or('\u{fffd}'), out);
                continue;
            }
            _ => {
                out.push(b'\\');
                continue;
            }
        }
        chars.next();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_and_escapes() {
        for (args, expected) in [
            (vec!["a", "b"], "a b\n"),
            (vec!["-n", "a"], "a"),
            (vec!["-e", r"a\tb\\n\x41\101\q"], "a\tb\\nAA\\q\n"),
            (vec!["-e", "-n", "a"], "a"),
            (vec!["a", "-n"], "a -n\n"),
            (vec!["-D x"], "-D x\n"),
            (vec![], "\n"),
        ] {
            let args: Vec<String> = args.into_iter().map(str::to_string).collect();
            assert_eq!(String::from_utf8_lossy(&echo(&args)), expected, "{args:?}");
        }
    }
}
