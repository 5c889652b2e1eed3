//! The parser for the inside of `[[#...]]`, of `[[@LINE...]]` and of a number's definition in the options.

use num_bigint::BigInt;

use crate::expression::{Expression, ExpressionKind, Fault, Function, NumericBlock};
use crate::format::{Format, Kind};
use crate::source::Span;
use crate::variables::Variables;

/// How deep expressions may nest, and how many operators a block may have: their values are found by recursion.
const MAX_DEPTH: usize = 500;
const MAX_OPERATORS: usize = 1000;

/// A variable's name as it stands.
#[derive(Clone, Copy, Debug)]
pub struct VariableName {
    /// Where it stands, with its `$` or `@`.
    pub span: Span,
    /// Whether it begins with `@`.
    pub is_pseudo: bool,
}

/// What may stand as an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operand {
    /// Only `@LINE`: the first in the old form `[[@LINE+1]]`.
    LineVariable,
    /// Only a decimal number: the second in the old form.
    Decimal,
    /// Anything.
    Any,
}

/// A part of a text that is being read from its front.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'t> {
    /// The whole buffer.
    text: &'t [u8],
    /// What is left.
    pub rest: Span,
}

impl<'t> Cursor<'t> {
    /// Begins to read a range of the buffer with this text.
    pub fn new(text: &'t [u8], rest: Span) -> Cursor<'t> {
        Cursor { text, rest }
    }

    /// What is left.
    pub fn bytes(&self) -> &'t [u8] {
        &self.text[self.rest.start..self.rest.end]
    }

    /// Skips some bytes and gives their range.
    pub fn take(&mut self, length: usize) -> Span {
        let taken = self.rest.part(0, length);
        self.rest.start += length;
        taken
    }

    /// Skips this text if it stands here.
    pub fn eat(&mut self, text: &[u8]) -> bool {
        let there = self.bytes().starts_with(text);
        self.rest.start += if there { text.len() } else { 0 };
        there
    }

    fn skip_blanks(&mut self) {
        self.rest.start += self.bytes().iter().take_while(|&&b| is_blank(b)).count();
    }

    fn drop_trailing_blanks(&mut self) {
        self.rest.end -= self.bytes().iter().rev().take_while(|&&b| is_blank(b)).count();
    }

    fn after_blanks(&self) -> &'t [u8] {
        self.bytes().trim_start_with_blanks()
    }

    /// Reads a variable's name.
    pub fn variable(&mut self) -> Result<VariableName, Fault> {
        let bytes = self.bytes();
        let fault = |span: Span, text: &str| Err(Fault::in_block(span, text));
        let Some(&first) = bytes.first() else { return fault(self.rest, "empty variable name") };
        let is_pseudo = first == b'@';
        let mut length = usize::from(is_pseudo || first == b'$');
        let Some(&start) = bytes.get(length) else {
            let kind = if is_pseudo { "pseudo" } else { "global" };
            return fault(self.rest.part(length, length), &format!("empty {kind} variable name"));
        };
        if start != b'_' && !start.is_ascii_alphabetic() {
            return fault(self.rest, "invalid variable name");
        }
        length += bytes[length..].iter().take_while(|&&b| b == b'_' || b.is_ascii_alphanumeric()).count();
        Ok(VariableName { span: self.take(length), is_pseudo })
    }

    /// Reads an integer; base 0 goes by its prefix. Nothing is read if there is none.
    fn integer(&mut self, base: u32) -> Option<BigInt> {
        let start = self.rest.start;
        let base = if base == 0 { self.base() } else { base };
        if self.rest.is_empty() {
            self.rest.start = start;
            return None;
        }
        let digits = self.bytes().iter().take_while(|&&b| char::from(b).is_digit(base)).count();
        let span = self.take(digits);
        if self.rest.start == start {
            return None;
        }
        // A prefix without digits is zero.
        Some(BigInt::parse_bytes(&self.text[span.start..span.end], base).unwrap_or_default())
    }

    fn base(&mut self) -> u32 {
        for (prefix, base) in [("0x", 16), ("0X", 16), ("0b", 2), ("0B", 2), ("0o", 8)] {
            if self.eat(prefix.as_bytes()) {
                return base;
            }
        }
        if self.bytes().first() == Some(&b'0') && self.bytes().get(1).is_some_and(u8::is_ascii_digit) {
            self.take(1);
            return 8;
        }
        10
    }
}

/// Whether FileCheck takes a byte for horizontal white space.
pub fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

trait TrimBlanks {
    fn trim_start_with_blanks(&self) -> &Self;
}

impl TrimBlanks for [u8] {
    fn trim_start_with_blanks(&self) -> &[u8] {
        &self[self.iter().take_while(|&&b| is_blank(b)).count()..]
    }
}

/// The parser of one block.
pub struct BlockParser<'t, 'v> {
    variables: &'v mut Variables,
    text: &'t [u8],
    line: Option<usize>,
    depth: usize,
    operators: usize,
}

type Parsed<T> = Result<T, Fault>;

fn fail<T>(span: Span, text: impl Into<Vec<u8>>) -> Parsed<T> {
    Err(Fault::in_block(span, text))
}

impl<'t, 'v> BlockParser<'t, 'v> {
    /// A parser for blocks in the buffer with this text, on this line of the check file (on none in the options).
    pub fn new(variables: &'v mut Variables, text: &'t [u8], line: Option<usize>) -> BlockParser<'t, 'v> {
        BlockParser { variables, text, line, depth: 0, operators: 0 }
    }

    fn bytes(&self, span: Span) -> &'t [u8] {
        &self.text[span.start..span.end]
    }

    fn quoted(&self, before: &str, span: Span, after: &str) -> Vec<u8> {
        [before.as_bytes(), self.bytes(span), after.as_bytes()].concat()
    }

    /// Parses what stands after the `#`, or all of the old form `@LINE+1`.
    pub fn block(&mut self, block: Span, is_old_line: bool) -> Parsed<NumericBlock> {
        let mut cursor = Cursor::new(self.text, block);
        let (explicit, precision) = self.format_specifier(&mut cursor)?;

        let mut definition = None;
        if let Some(colon) = memchr::memchr(b':', cursor.bytes()) {
            definition = Some(cursor.take(colon));
            cursor.take(1);
        }

        cursor.skip_blanks();
        let has_constraint = cursor.eat(b"==");
        cursor.skip_blanks();
        let expression = if cursor.rest.is_empty() {
            if has_constraint {
                return fail(cursor.rest, "empty numeric expression should not have a constraint");
            }
            None
        } else {
            cursor.drop_trailing_blanks();
            Some(self.whole_expression(&mut cursor, is_old_line, has_constraint)?)
        };

        let mut format = explicit;
        if !format.is_some()
            && let Some(expression) = &expression
        {
            let text = self.text;
            format = expression.format(self.variables, &|span| text[span.start..span.end].to_vec())?;
        }
        if !format.is_some() {
            format = Format { kind: Kind::Unsigned, precision, alternate: false };
        }
        let defines = match definition {
            None => None,
            Some(span) => Some(self.definition(span, format)?),
        };
        Ok(NumericBlock { expression, format, defines })
    }

    /// Reads `%x,` and the like, if it stands here: the format and the precision, which may be given without a kind.
    fn format_specifier(&mut self, cursor: &mut Cursor<'t>) -> Parsed<(Format, u32)> {
        let none = (Format::default(), 0);
        let comma = memchr::memchr(b',', cursor.bytes());
        let call = memchr::memchr(b'(', cursor.bytes()).unwrap_or(usize::MAX);
        let Some(comma) = comma.filter(|&comma| comma < call) else { return Ok(none) };
        let mut specifier = Cursor::new(self.text, cursor.take(comma));
        cursor.take(1);
        specifier.skip_blanks();
        specifier.drop_trailing_blanks();
        if !specifier.eat(b"%") {
            return fail(specifier.rest, "invalid matching format specification in expression");
        }
        let flag = specifier.rest;
        let alternate = specifier.eat(b"#");
        let mut precision = 0;
        if specifier.eat(b".") {
            let at = specifier.rest;
            let parsed = specifier.integer(10).and_then(|value| u32::try_from(value).ok());
            precision = match parsed {
                Some(precision) => precision,
                None => return fail(at, "invalid precision in format specifier"),
            };
        }
        let mut format = Format::default();
        if let Some(&letter) = specifier.bytes().first() {
            let kind = match letter {
                b'u' => Kind::Unsigned,
                b'd' => Kind::Signed,
                b'x' => Kind::LowerHex,
                b'X' => Kind::UpperHex,
                _ => return fail(specifier.rest, "invalid format specifier in expression"),
            };
            specifier.take(1);
            let is_hex = matches!(kind, Kind::LowerHex | Kind::UpperHex);
            format = Format { kind, precision, alternate: alternate && is_hex };
        }
        if alternate && !format.alternate {
            return fail(flag, "alternate form only supported for hex values");
        }
        specifier.skip_blanks();
        if !specifier.rest.is_empty() {
            return fail(specifier.rest, "invalid matching format specification in expression");
        }
        Ok((format, precision))
    }

    fn whole_expression(
        &mut self,
        cursor: &mut Cursor<'t>,
        is_old_line: bool,
        has_constraint: bool,
    ) -> Parsed<Expression> {
        let outer = cursor.rest;
        let first = if is_old_line { Operand::LineVariable } else { Operand::Any };
        let mut expression = self.operand(cursor, first, !has_constraint)?;
        while !cursor.rest.is_empty() {
            expression = self.binary(outer, cursor, expression, is_old_line)?;
            if is_old_line && !cursor.rest.is_empty() {
                let text = self.quoted("unexpected characters at end of expression '", cursor.rest, "'");
                return fail(cursor.rest, text);
            }
        }
        Ok(expression)
    }

    /// Reads an operator and its right operand after `left`, in the expression that starts where `outer` does.
    fn binary(
        &mut self,
        outer: Span,
        cursor: &mut Cursor<'t>,
        left: Expression,
        is_old_line: bool,
    ) -> Parsed<Expression> {
        cursor.skip_blanks();
        let Some(&operator) = cursor.bytes().first() else { return Ok(left) };
        self.operators += 1;
        if self.operators > MAX_OPERATORS {
            return fail(cursor.rest, "expression has too many operators");
        }
        let at = cursor.take(1);
        let function = match operator {
            b'+' => Function::Add,
            b'-' => Function::Sub,
            _ => return fail(at, self.quoted("unsupported operation '", at, "'")),
        };
        cursor.skip_blanks();
        if cursor.rest.is_empty() {
            return fail(cursor.rest, "missing operand in expression");
        }
        let allowed = if is_old_line { Operand::Decimal } else { Operand::Any };
        let right = self.operand(cursor, allowed, false)?;
        let span = Span { end: cursor.rest.start.max(outer.start), ..outer };
        Ok(Expression { span, kind: ExpressionKind::Apply(function, Box::new(left), Box::new(right)) })
    }

    fn operand(&mut self, cursor: &mut Cursor<'t>, allowed: Operand, maybe_constraint: bool) -> Parsed<Expression> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return fail(cursor.rest, "expression nests too deeply");
        }
        let operand = self.operand_inside(cursor, allowed, maybe_constraint);
        self.depth -= 1;
        operand
    }

    fn operand_inside(
        &mut self,
        cursor: &mut Cursor<'t>,
        allowed: Operand,
        maybe_constraint: bool,
    ) -> Parsed<Expression> {
        if cursor.bytes().starts_with(b"(") {
            if allowed != Operand::Any {
                return fail(cursor.rest, "parenthesized expression not permitted here");
            }
            return self.parenthesized(cursor);
        }
        if allowed != Operand::Decimal {
            match cursor.variable() {
                Ok(variable) if cursor.after_blanks().starts_with(b"(") => {
                    if allowed != Operand::Any {
                        return fail(variable.span, "unexpected function call");
                    }
                    return self.call(cursor, variable.span);
                }
                Ok(variable) => return self.variable_use(variable),
                Err(fault) if allowed == Operand::LineVariable => return Err(fault),
                Err(_) => {}
            }
        }
        let start = cursor.rest;
        let negative = cursor.eat(b"-");
        match cursor.integer(if allowed == Operand::Decimal { 10 } else { 0 }) {
            Some(value) => {
                let span = Span { end: cursor.rest.start, ..start };
                Ok(Expression { span, kind: ExpressionKind::Literal(if negative { -value } else { value }) })
            }
            None => {
                let constraint = if maybe_constraint { "matching constraint or " } else { "" };
                fail(start, format!("invalid {constraint}operand format"))
            }
        }
    }

    fn variable_use(&mut self, variable: VariableName) -> Parsed<Expression> {
        let text = self.bytes(variable.span);
        if variable.is_pseudo && text != b"@LINE" {
            return fail(variable.span, self.quoted("invalid pseudo numeric variable '", variable.span, "'"));
        }
        let name = self.variables.name(text);
        let number = self.variables.number_or_insert(name, Format::new(Kind::Unsigned), None);
        if number.line.is_some() && number.line == self.line {
            let text =
                self.quoted("numeric variable '", variable.span, "' defined earlier in the same CHECK directive");
            return fail(variable.span, text);
        }
        Ok(Expression { span: variable.span, kind: ExpressionKind::Variable(name) })
    }

    fn parenthesized(&mut self, cursor: &mut Cursor<'t>) -> Parsed<Expression> {
        cursor.eat(b"(");
        cursor.skip_blanks();
        if cursor.rest.is_empty() {
            return fail(cursor.rest, "missing operand in expression");
        }
        let mut inner = self.operand(cursor, Operand::Any, false)?;
        cursor.skip_blanks();
        while !cursor.rest.is_empty() && !cursor.bytes().starts_with(b")") {
            inner = self.binary(cursor.rest, cursor, inner, false)?;
            cursor.skip_blanks();
        }
        if !cursor.eat(b")") {
            return fail(cursor.rest, "missing ')' at end of nested expression");
        }
        Ok(inner)
    }

    fn call(&mut self, cursor: &mut Cursor<'t>, function_name: Span) -> Parsed<Expression> {
        cursor.skip_blanks();
        let Some(function) = Function::named(self.bytes(function_name)) else {
            return fail(function_name, self.quoted("call to undefined function '", function_name, "'"));
        };
        cursor.eat(b"(");
        cursor.skip_blanks();
        let mut arguments = Vec::new();
        while !cursor.rest.is_empty() && !cursor.bytes().starts_with(b")") {
            if cursor.bytes().starts_with(b",") {
                return fail(cursor.rest, "missing argument");
            }
            let outer = cursor.rest;
            let mut argument = self.operand(cursor, Operand::Any, false)?;
            while !cursor.rest.is_empty() {
                cursor.skip_blanks();
                if matches!(cursor.bytes().first(), Some(b',' | b')')) {
                    break;
                }
                argument = self.binary(outer, cursor, argument, false)?;
            }
            arguments.push(argument);
            cursor.skip_blanks();
            if !cursor.eat(b",") {
                break;
            }
            cursor.skip_blanks();
            if cursor.bytes().starts_with(b")") {
                return fail(cursor.rest, "missing argument");
            }
        }
        if !cursor.eat(b")") {
            return fail(cursor.rest, "missing ')' at end of call expression");
        }
        let given = arguments.len();
        match <[Expression; 2]>::try_from(arguments) {
            Ok([left, right]) => {
                let kind = ExpressionKind::Apply(function, Box::new(left), Box::new(right));
                Ok(Expression { span: cursor.rest, kind })
            }
            Err(_) => {
                let after = format!("' takes 2 arguments but {given} given");
                fail(function_name, self.quoted("function '", function_name, &after))
            }
        }
    }

    fn definition(&mut self, span: Span, format: Format) -> Parsed<crate::variables::Name> {
        let mut cursor = Cursor::new(self.text, span);
        cursor.skip_blanks();
        let variable = cursor.variable()?;
        if variable.is_pseudo {
            return fail(variable.span, "definition of pseudo numeric variable unsupported");
        }
        let name = self.variables.name(self.bytes(variable.span));
        if self.variables.is_text(name) {
            let text = self.quoted("string variable with name '", variable.span, "' already exists");
            return fail(variable.span, text);
        }
        cursor.skip_blanks();
        if !cursor.rest.is_empty() {
            return fail(cursor.rest, "unexpected characters after numeric variable name");
        }
        let line = self.line;
        if self.variables.number_or_insert(name, format, line).format != format {
            return fail(cursor.rest, "format different from previous variable definition");
        }
        Ok(name)
    }
}
