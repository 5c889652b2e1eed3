//! numpy's `.npy` files.
//!
//! numpy has no bfloat16 and no 8-bit floats. Tensors of these types are written as records of one field whose name says
//! the type and whose value is the bits: `[('bfloat16', '<u2')]`, `[('float8_e5m2', '|u1')]`. numpy reads such a file as
//! it is; `a['bfloat16']` are the bits. `|V2`, which the `ml_dtypes` package writes for bfloat16, is read as such.

use super::error::{Result, RuntimeError};
use super::tensor::Tensor;
use rinductor_scalar::DType;
use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::Path;

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// Longest header that is read; numpy's own limit for untrusted files is 10000.
const MAX_HEADER: usize = 1 << 16;

/// What a header says.
struct Header {
    dtype: DType,
    big_endian: bool,
    fortran: bool,
    sizes: Vec<usize>,
}

/// Reads a `.npy` file.
pub fn read_npy(path: &Path) -> Result<Tensor> {
    let file = File::open(path).map_err(|e| RuntimeError::io(path, e))?;
    let len = file.metadata().map_err(|e| RuntimeError::io(path, e))?.len();
    read_npy_from(&mut BufReader::new(file), len, path)
}

/// Writes by way of a temporary file in the same folder, which then takes the name.
pub fn write_atomically(path: &Path, write: impl FnOnce(&mut File) -> Result<()>) -> Result<()> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut temporary =
        tempfile::Builder::new().prefix(".rinductor-").tempfile_in(folder).map_err(|e| RuntimeError::io(path, e))?;
    write(temporary.as_file_mut())?;
    temporary.persist(path).map_err(|e| RuntimeError::io(path, e.error))?;
    Ok(())
}

/// Reads the text of one array from a stream of at most `len` bytes; `path` is for messages.
pub fn read_npy_from(input: &mut impl Read, len: u64, path: &Path) -> Result<Tensor> {
    let fail = |what: &str| RuntimeError::format(path, what);
    let io = |e: std::io::Error| {
        if e.kind() == std::io::ErrorKind::UnexpectedEof {
            fail("the file ends early")
        } else {
            RuntimeError::io(path, e)
        }
    };
    let mut start = [0u8; 8];
    input.read_exact(&mut start).map_err(io)?;
    if &start[..6] != MAGIC {
        return Err(fail("not a .npy file"));
    }
    let header_len = if start[6] == 1 {
        let mut n = [0u8; 2];
        input.read_exact(&mut n).map_err(io)?;
        usize::from(u16::from_le_bytes(n))
    } else {
        let mut n = [0u8; 4];
        input.read_exact(&mut n).map_err(io)?;
        u32::from_le_bytes(n) as usize
    };
    if header_len > MAX_HEADER {
        return Err(fail("the header is too long"));
    }
    let mut header = vec![0u8; header_len];
    input.read_exact(&mut header).map_err(io)?;
    let text = std::str::from_utf8(&header).map_err(|_| fail("the header is not text"))?;
    let header = parse_header(text).map_err(|what| RuntimeError::format(path, what))?;
    let bytes = header
        .sizes
        .iter()
        .try_fold(header.dtype.size(), |n, s| n.checked_mul(*s))
        .filter(|n| *n as u64 <= len)
        .ok_or_else(|| fail("the file ends early"))?;
    let mut data = vec![0u8; bytes];
    input.read_exact(&mut data).map_err(io)?;
    if header.big_endian {
        let unit = header.dtype.real().size();
        data.chunks_exact_mut(unit).for_each(<[u8]>::reverse);
    }
    if !header.fortran {
        return Tensor::from_le_bytes(header.dtype, &header.sizes, &data);
    }
    let reversed: Vec<usize> = header.sizes.iter().rev().copied().collect();
    let t = Tensor::from_le_bytes(header.dtype, &reversed, &data)?;
    let strides: Vec<usize> = t.strides().iter().rev().copied().collect();
    t.as_strided(&header.sizes, &strides, 0)
}

/// Writes a tensor as `.npy` text; `path` is for messages.
pub fn write_npy_to(out: &mut impl Write, tensor: &Tensor, path: &Path) -> Result<()> {
    let descr = match tensor.dtype().numpy_name() {
        Some(name) => format!("'{name}'"),
        None if tensor.dtype() == DType::BF16 => format!("[('{}', '<u2')]", tensor.dtype().torch_name()),
        None => format!("[('{}', '|u1')]", tensor.dtype().torch_name()),
    };
    let sizes: String = tensor.sizes().iter().map(|s| format!("{s}, ")).collect();
    let mut header = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': ({}), }}", sizes.trim_end());
    // The data begins at a multiple of 64; the header ends with a newline.
    let unpadded = MAGIC.len() + 4 + header.len() + 1;
    header.extend(std::iter::repeat_n(' ', unpadded.next_multiple_of(64) - unpadded));
    header.push('\n');
    let io = |e| RuntimeError::io(path, e);
    out.write_all(MAGIC).map_err(io)?;
    out.write_all(&[1, 0]).map_err(io)?;
    let len = u16::try_from(header.len()).map_err(|_| RuntimeError::format(path, "too many dimensions"))?;
    out.write_all(&len.to_le_bytes()).map_err(io)?;
    out.write_all(header.as_bytes()).map_err(io)?;
    out.write_all(&tensor.to_le_bytes()?).map_err(io)
}

/// Reads `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`, keys in any order.
fn parse_header(text: &str) -> std::result::Result<Header, String> {
    let mut scan = Scan { rest: text };
    let (mut descr, mut fortran, mut sizes) = (None, None, None);
    scan.expect("{")?;
    while !scan.take("}") {
        let key = scan.string()?;
        scan.expect(":")?;
        match key {
            "descr" => descr = Some(scan.descr()?),
            "fortran_order" => {
                fortran = Some(scan.take("True"));
                if fortran == Some(false) {
                    scan.expect("False")?;
                }
            }
            "shape" => sizes = Some(scan.sizes()?),
            other => return Err(format!("the header has an unknown key '{other}'")),
        }
        if !scan.take(",") {
            scan.expect("}")?;
            break;
        }
    }
    let missing = |what: &str| format!("the header lacks '{what}'");
    let (dtype, big_endian) = descr.ok_or_else(|| missing("descr"))?;
    Ok(Header {
        dtype,
        big_endian,
        fortran: fortran.ok_or_else(|| missing("fortran_order"))?,
        sizes: sizes.ok_or_else(|| missing("shape"))?,
    })
}

struct Scan<'a> {
    rest: &'a str,
}

impl<'a> Scan<'a> {
    fn take(&mut self, token: &str) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, token: &str) -> std::result::Result<(), String> {
        if self.take(token) {
            Ok(())
        } else {
            let found: String = self.rest.chars().take(12).collect();
            Err(format!("the header has '{found}' where '{token}' should be"))
        }
    }

    fn string(&mut self) -> std::result::Result<&'a str, String> {
        let quote = if self.take("'") {
            '\''
        } else {
            self.expect("\"")?;
            '"'
        };
        let (text, rest) = self.rest.split_once(quote).ok_or("the header has a string without end")?;
        self.rest = rest;
        Ok(text)
    }

    /// An element type, and whether its bytes are big end first.
    fn descr(&mut self) -> std::result::Result<(DType, bool), String> {
        if self.take("[") {
            self.expect("(")?;
            let name = self.string()?;
            self.expect(",")?;
            let bits = self.string()?;
            self.take(",");
            self.expect(")")?;
            self.take(",");
            self.expect("]")?;
            let dtype = DType::from_torch_name(name).filter(|d| d.numpy_name().is_none());
            let dtype = dtype.ok_or_else(|| format!("records of a field '{name}' are not tensors"))?;
            let expected = if dtype.size() == 2 { ["<u2", "<V2"] } else { ["|u1", "|V1"] };
            return if expected.contains(&bits) {
                Ok((dtype, false))
            } else {
                Err(format!("'{name}' is stored as '{bits}' instead of '{}'", expected[0]))
            };
        }
        let name = self.string()?;
        if matches!(name, "|V2" | "<V2") {
            return Ok((DType::BF16, false));
        }
        let (order, kind) = name.split_at_checked(1).ok_or("the header has an empty type")?;
        let dtype = DType::ALL
            .into_iter()
            .find(|d| *d != DType::Index && d.numpy_name().is_some_and(|n| &n[1..] == kind))
            .ok_or_else(|| format!("elements of type '{name}' are not supported"))?;
        match order {
            "<" | "|" | "=" => Ok((dtype, false)),
            ">" => Ok((dtype, true)),
            _ => Err(format!("elements of type '{name}' are not supported")),
        }
    }

    fn sizes(&mut self) -> std::result::Result<Vec<usize>, String> {
        self.expect("(")?;
        let mut sizes = Vec::new();
        while !self.take(")") {
            self.rest = self.rest.trim_start();
            let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
            let (digits, rest) = self.rest.split_at(end);
            sizes.push(digits.parse().map_err(|_| "the header has a size that is not a number")?);
            self.rest = rest;
            if !self.take(",") {
                self.expect(")")?;
                break;
            }
        }
        Ok(sizes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes_of(t: &Tensor) -> Vec<u8> {
        let mut out = Vec::new();
        write_npy_to(&mut out, t, Path::new("x.npy")).expect("writes to memory");
        out
    }

    fn parse(bytes: &[u8]) -> Result<Tensor> {
        read_npy_from(&mut &bytes[..], bytes.len() as u64, Path::new("x.npy"))
    }

    #[test]
    fn all_types_lead_back() {
        for d in DType::ALL {
            let t = Tensor::zeros(d, &[2, 2]).expect("small");
            t.assign(&[0i64, 1, 1, 0]).expect("four");
            let bytes = bytes_of(&t);
            assert_eq!((bytes.len() - 4 * d.size()) % 64, 0);
            let back = parse(&bytes).expect("what was written");
            assert_eq!(back.dtype(), if d == DType::Index { DType::I64 } else { d });
            assert_eq!(back.to_le_bytes().expect("reads"), t.to_le_bytes().expect("reads"));
        }
        let view = Tensor::from_slice(&[2, 2], &[1f32, 2.0, 3.0, 4.0]).and_then(|t| t.transpose(0, 1)).expect("fits");
        assert_eq!(parse(&bytes_of(&view)).expect("a view").to_vec::<f32>().expect("f32"), [1.0, 3.0, 2.0, 4.0]);
    }

    fn with_header(header: &str, data: &[u8]) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend([1, 0]);
        out.extend((header.len() as u16).to_le_bytes());
        out.extend(header.as_bytes());
        out.extend(data);
        out
    }

    #[test]
    fn other_layouts_are_read() {
        let fortran = with_header("{'descr': '>i2', 'fortran_order': True, 'shape': (2, 1)}\n", &[0, 1, 0, 2]);
        assert_eq!(parse(&fortran).expect("fortran").to_vec::<i16>().expect("i16"), [1, 2]);
        let scalar = with_header("{'shape': (), \"fortran_order\": False, 'descr': '|V2', }", &[0x80, 0x3f]);
        assert_eq!(parse(&scalar).expect("scalar").to_vec::<f32>().expect("converts"), [1.0]);
    }

    #[test]
    fn bad_files_are_errors() {
        let good = with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", &[0, 0, 128, 63]);
        assert!(parse(&good).is_ok());
        for n in 0..good.len() {
            assert!(parse(&good[..n]).is_err(), "cut at {n}");
        }
        for (header, message) in [
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999,)}", "ends early"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", "ends early"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "not a number"),
            ("{'descr': '<U4', 'fortran_order': False, 'shape': (1,)}", "not supported"),
            ("{'descr': '', 'fortran_order': False, 'shape': (1,)}", "empty type"),
            ("{'descr': '<f4', 'shape': (1,)}", "lacks 'fortran_order'"),
            ("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "not tensors"),
            ("{'descr': 'é", "string without end"),
            ("", "should be"),
        ] {
            let e = parse(&with_header(header, &[0; 4])).expect_err(header).to_string();
            assert!(e.contains(message), "{header}: {e}");
        }
    }
}
