//! Files of the safetensors format.

use super::error::{Result, RuntimeError};
use super::npy::write_atomically;
use super::tensor::Tensor;
use rinductor_scalar::DType;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use std::io::Write;
use std::path::Path;

fn to_file(dtype: DType) -> Option<Dtype> {
    Some(match dtype {
        DType::I1 => Dtype::BOOL,
        DType::U8 => Dtype::U8,
        DType::I8 => Dtype::I8,
        DType::I16 => Dtype::I16,
        DType::I32 => Dtype::I32,
        DType::I64 | DType::Index => Dtype::I64,
        DType::F16 => Dtype::F16,
        DType::BF16 => Dtype::BF16,
        DType::F32 => Dtype::F32,
        DType::F64 => Dtype::F64,
        DType::F8E4M3FN => Dtype::F8_E4M3,
        DType::F8E5M2 => Dtype::F8_E5M2,
        DType::C64 => Dtype::C64,
        DType::C128 => return None,
    })
}

/// Reads all tensors of a file, by name in the file's order.
pub fn read_safetensors(path: &Path) -> Result<Vec<(String, Tensor)>> {
    let bytes = std::fs::read(path).map_err(|e| RuntimeError::io(path, e))?;
    let file = SafeTensors::deserialize(&bytes).map_err(|e| RuntimeError::format(path, e.to_string()))?;
    let mut tensors = Vec::new();
    for (name, view) in file.iter() {
        let dtype = DType::ALL.into_iter().find(|d| *d != DType::Index && to_file(*d) == Some(view.dtype()));
        let dtype = dtype.ok_or_else(|| {
            RuntimeError::format(path, format!("'{name}' has elements of type {:?}, not supported", view.dtype()))
        })?;
        tensors.push((name.to_owned(), Tensor::from_le_bytes(dtype, view.shape(), view.data())?));
    }
    Ok(tensors)
}

/// Writes a file; it appears under its name only when it is complete. `complex<f64>` has no place in the format.
pub fn write_safetensors<'a>(path: &Path, tensors: impl IntoIterator<Item = (&'a str, &'a Tensor)>) -> Result<()> {
    let bad = |e: safetensors::SafeTensorError| RuntimeError::format(path, e.to_string());
    let mut held = Vec::new();
    for (name, tensor) in tensors {
        let dtype = to_file(tensor.dtype()).ok_or_else(|| {
            RuntimeError::format(path, format!("'{name}': safetensors files hold no {}", tensor.dtype()))
        })?;
        held.push((name, dtype, tensor.sizes().to_vec(), tensor.to_le_bytes()?));
    }
    let mut views = Vec::new();
    for (name, dtype, sizes, bytes) in &held {
        views.push((*name, TensorView::new(*dtype, sizes.clone(), bytes).map_err(bad)?));
    }
    let bytes = safetensors::serialize(views, None).map_err(bad)?;
    write_atomically(path, |file| file.write_all(&bytes).map_err(|e| RuntimeError::io(path, e)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_lead_back_and_bad_ones_are_errors() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("x.safetensors");
        let mut tensors = Vec::new();
        for d in DType::ALL.into_iter().filter(|d| to_file(*d).is_some() && *d != DType::Index) {
            let t = Tensor::zeros(d, &[3]).expect("small");
            t.assign(&[0i64, 1, 1]).expect("three");
            tensors.push((d.torch_name(), t));
        }
        write_safetensors(&path, tensors.iter().map(|(n, t)| (*n, t))).expect("writes");
        let back = read_safetensors(&path).expect("reads");
        assert_eq!(back.len(), tensors.len());
        for (name, t) in back {
            assert_eq!(t.dtype().torch_name(), name);
            assert_eq!(t.to_vec::<f64>().expect("converts"), [0.0, 1.0, 1.0]);
        }
        let bytes = std::fs::read(&path).expect("there");
        for n in (0..bytes.len()).step_by(11) {
            std::fs::write(&path, &bytes[..n]).expect("writes");
            assert!(read_safetensors(&path).is_err(), "cut at {n}");
        }
        let c = Tensor::zeros(DType::C128, &[1]).expect("small");
        assert!(write_safetensors(&path, [("c", &c)]).is_err());
    }
}
