//! `echo`, with `-n` and `-e`: in two ways, for lit has one of its own where the command stands alone, and takes that of the system in a pipeline.

/// What `echo` writes where it stands alone: each flag is a word of its own, escapes are those of Python, in UTF-8.
pub fn alone(args: &[String]) -> Vec<u8> {
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

/// What `echo` writes in a pipeline: flags may stand together (`-ne`), escapes are those of GNU, and stand for bytes.
pub fn piped(args: &[String]) -> Vec<u8> {
    let (mut escapes, mut newline) = (false, true);
    let mut words = args;
    while let Some((first, rest)) = words.split_first() {
        let Some(flags) = first.strip_prefix('-').filter(|f| !f.is_empty() && f.chars().all(|c| "neE".contains(c)))
        else {
            break;
        };
        newline &= !flags.contains('n');
        if let Some(last) = flags.chars().rev().find(|&c| c != 'n') {
            escapes = last == 'e';
        }
        words = rest;
    }
    let text = words.join(" ");
    let mut out = Vec::new();
    if !escapes {
        out.extend_from_slice(text.as_bytes());
    } else if unescape_bytes(text.as_bytes(), &mut out).is_none() {
        return out;
    }
    if newline {
        out.push(b'\n');
    }
    out
}

/// Escapes of GNU's `echo`; none where `\c` ends the output.
fn unescape_bytes(text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let mut rest = text;
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        let Some(&next) = tail.first().filter(|_| byte == b'\\') else {
            out.push(byte);
            continue;
        };
        rest = &tail[1..];
        // Digits in some base after the escape, and what they are.
        let mut number = |base: u32, most: usize| {
            let digits = rest.iter().take(most).take_while(|b| char::from(**b).is_digit(base)).count();
            let value =
                rest[..digits].iter().filter_map(|b| char::from(*b).to_digit(base)).fold(0, |v, d| v * base + d);
            rest = &rest[digits..];
            (value as u8, digits)
        };
        match next {
            b'c' => return None,
            b'a' => out.push(7),
            b'b' => out.push(8),
            b'e' => out.push(27),
            b'f' => out.push(12),
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'v' => out.push(11),
            b'\\' => out.push(b'\\'),
            b'0' => out.push(number(8, 3).0),
            b'1'..=b'7' => {
                let (value, digits) = number(8, 2);
                out.push((next - b'0').wrapping_mul(8u8.wrapping_pow(digits as u32)).wrapping_add(value));
            }
            b'x' => match number(16, 2) {
                (_, 0) => out.extend_from_slice(b"\\x"),
                (value, _) => out.push(value),
            },
            other => out.extend_from_slice(&[b'\\', other]),
        }
    }
    Some(())
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
            assert_eq!(String::from_utf8_lossy(&alone(&args)), expected, "{args:?}");
        }
    }

    #[test]
    fn in_a_pipeline_as_gnu() {
        for (args, expected) in [
            (vec!["-ne", r#"a\tb\101\0101\x41\q\""#], b"a\tbAAA\\q\\\"".as_slice()),
            (vec!["-e", r"a\xe9\777\cb"], b"a\xe9\xff"),
            (vec!["-e", "-E", r"\n"], b"\\n\n"),
            (vec!["-E", "a"], b"a\n"),
            (vec!["-nx", "a"], b"-nx a\n"),
            (vec!["-"], b"-\n"),
        ] {
            let args: Vec<String> = args.into_iter().map(str::to_string).collect();
            assert_eq!(piped(&args), expected, "{args:?}");
        }
    }
}
