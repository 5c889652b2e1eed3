//! Options of built-in commands in the manner of GNU getopt: anywhere among the operands, up to `--`.

/// The options found, each with its value (empty if it takes none), and the operands.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Parsed {
    /// `("-r", "")`, `("-U", "3")`, `("--recursive", "")`.
    pub options: Vec<(String, String)>,
    /// The rest.
    pub operands: Vec<String>,
}

/// Parses arguments. `short` lists letters, those followed by `:` with a value; `long` lists names without dashes.
pub fn parse(args: &[String], short: &str, long: &[&str]) -> Result<Parsed, String> {
    let mut parsed = Parsed::default();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        if arg == "--" {
            parsed.operands.extend(args.cloned());
            break;
        }
        if let Some(name) = arg.strip_prefix("--") {
            // As in getopt, a prefix is enough where it is unambiguous.
            let matching: Vec<&&str> = long.iter().filter(|l| l.starts_with(name)).collect();
            match matching.as_slice() {
                [one] => parsed.options.push((format!("--{one}"), String::new())),
                [] => return Err(format!("option --{name} not recognized")),
                _ => return Err(format!("option --{name} not a unique prefix")),
            }
        } else if arg.len() > 1 && arg.starts_with('-') {
            let mut letters = arg[1..].chars();
            while let Some(letter) = letters.next() {
                let Some(at) = short.find(letter).filter(|_| letter != ':') else {
                    return Err(format!("option -{letter} not recognized"));
                };
                if !short[at + 1..].starts_with(':') {
                    parsed.options.push((format!("-{letter}"), String::new()));
                    continue;
                }
                let mut value: String = letters.by_ref().collect();
                if value.is_empty() {
                    value = args.next().ok_or_else(|| format!("option -{letter} requires argument"))?.clone();
                }
                parsed.options.push((format!("-{letter}"), value));
            }
        } else {
            parsed.operands.push(arg.clone());
        }
    }
    Ok(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_anywhere() {
        let args = ["a", "-rf", "-U", "3", "-U5", "--rec", "-", "--", "-x"].map(str::to_string);
        let parsed = parse(&args, "rfU:", &["recursive"]).expect("parses");
        let options: Vec<(&str, &str)> = parsed.options.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        assert_eq!(options, [("-r", ""), ("-f", ""), ("-U", "3"), ("-U", "5"), ("--recursive", "")]);
        assert_eq!(parsed.operands, ["a", "-", "-x"]);
        assert!(parse(&["-q".to_string()], "rf", &[]).is_err());
    }
}
