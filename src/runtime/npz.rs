//! numpy's `.npz` archives: a zip file with one `.npy` member for each name.

use super::error::{Result, RuntimeError};
use super::npy::{read_npy_from, write_atomically, write_npy_to};
use super::tensor::Tensor;
use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::Path;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

/// Reads all arrays of an archive, in its order, by name without `.npy`.
pub fn read_npz(path: &Path) -> Result<Vec<(String, Tensor)>> {
    let file = File::open(path).map_err(|e| RuntimeError::io(path, e))?;
    let bad = |e: zip::result::ZipError| RuntimeError::format(path, e.to_string());
    let mut archive = ZipArchive::new(BufReader::new(file)).map_err(bad)?;
    let mut tensors = Vec::new();
    for i in 0..archive.len() {
        let mut member = archive.by_index(i).map_err(bad)?;
        let name = member.name().to_owned();
        let Some(stem) = name.strip_suffix(".npy") else {
            return Err(RuntimeError::format(path, format!("the member '{name}' is not an array")));
        };
        let len = member.size();
        // An archive can claim any size; nothing that compresses by more than deflate can is believed.
        if len / 1100 > member.compressed_size() {
            return Err(RuntimeError::format(path, format!("the member '{name}' claims an impossible size")));
        }
        let tensor = read_npy_from(&mut member, len, &path.join(&name))?;
        tensors.push((stem.to_owned(), tensor));
    }
    Ok(tensors)
}

/// Writes an archive, uncompressed as `numpy.savez` does; it appears under its name only when it is complete.
pub fn write_npz<'a>(path: &Path, tensors: impl IntoIterator<Item = (&'a str, &'a Tensor)>) -> Result<()> {
    write_atomically(path, |file| {
        let bad = |e: zip::result::ZipError| RuntimeError::format(path, e.to_string());
        let mut zip = ZipWriter::new(BufWriter::new(file));
        // A fixed date keeps the bytes the same from run to run.
        let date = zip::DateTime::default();
        for (name, tensor) in tensors {
            let large = tensor.numel() as u64 * tensor.dtype().size() as u64 >= u64::from(u32::MAX) - 4096;
            let options = SimpleFileOptions::default()
                .compression_method(CompressionMethod::Stored)
                .last_modified_time(date)
                .large_file(large);
            zip.start_file(format!("{name}.npy"), options).map_err(bad)?;
            write_npy_to(&mut zip, tensor, path)?;
        }
        zip.finish().map_err(bad)?.flush().map_err(|e| RuntimeError::io(path, e))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_lead_back_and_bad_ones_are_errors() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("x.npz");
        let a = Tensor::from_slice(&[2], &[1f32, 2.0]).expect("fits");
        let b = Tensor::from_slice(&[1, 1], &[7i64]).expect("fits");
        write_npz(&path, [("a", &a), ("b/c", &b)]).expect("writes");
        let back = read_npz(&path).expect("reads");
        assert_eq!(back.len(), 2);
        assert_eq!(back[1].0, "b/c");
        assert_eq!(back[1].1.to_vec::<i64>().expect("i64"), [7]);
        let bytes = std::fs::read(&path).expect("there");
        let cut = dir.path().join("cut.npz");
        for n in (0..bytes.len()).step_by(7) {
            std::fs::write(&cut, &bytes[..n]).expect("writes");
            assert!(read_npz(&cut).is_err(), "cut at {n}");
        }
        assert_eq!(std::fs::read_dir(dir.path()).expect("there").count(), 2, "no temporary file is left");
        assert!(read_npz(&dir.path().join("none.npz")).is_err());
        assert!(write_npz(&dir.path().join("none/x.npz"), [("a", &a)]).is_err());
    }
}
