//! The cache keeps what it was given, and nothing else.

use super::*;

fn cache(folder: &Path, limit: u64) -> Cache {
    Cache::new(Settings { folder: folder.to_path_buf(), limit })
}

fn key(n: usize) -> Key {
    Key::of(&[("number", &n.to_le_bytes())])
}

fn variables<'a>(list: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<OsString> + 'a {
    |name| list.iter().find(|v| v.0 == name).map(|v| v.1.into())
}

#[test]
fn keys_tell_lists_apart() {
    let lists: [&[(&str, &[u8])]; 7] = [
        &[],
        &[("a", b"")],
        &[("a", b"bc")],
        &[("ab", b"c")],
        &[("a", b"b"), ("", b"c")],
        &[("a", b"b"), ("c", b"")],
        &[("c", b""), ("a", b"b")],
    ];
    for (i, a) in lists.iter().enumerate() {
        for (j, b) in lists.iter().enumerate() {
            assert_eq!(Key::of(a) == Key::of(b), i == j, "{a:?} {b:?}");
        }
    }
    assert_eq!(Key::of(lists[3]).to_string().len(), 64);
}

#[test]
fn what_is_kept_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("a/b");
    let cache = cache(&folder, 1 << 20);
    assert_eq!(cache.find(&key(1)), None);
    let long = vec![7u8; 100_000];
    let lists: [&[&[u8]]; 4] = [&[], &[b""], &[b"text", b"", b"\0\xff"], &[&long]];
    for (n, parts) in lists.iter().enumerate() {
        cache.keep(&key(n), parts);
        assert_eq!(cache.find(&key(n)).unwrap(), *parts);
    }
    // The last one that is kept counts.
    cache.keep(&key(0), &[b"new"]);
    assert_eq!(cache.find(&key(0)).unwrap(), [b"new"]);
    assert_eq!(cache.find(&key(9)), None);
    assert_eq!(cache.warnings(), [""; 0]);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), lists.len(), "nothing but entries is left");
}

#[test]
fn no_changed_byte_goes_unnoticed() {
    let good = entry::write(&key(1), &[b"some text", b"", b"code"]);
    assert!(entry::read(&good, &key(1)).is_ok());
    for at in 0..good.len() {
        assert!(entry::read(&good[..at], &key(1)).is_err(), "cut at {at}");
        for bit in [0x01, 0x80, 0xff] {
            let mut bad = good.clone();
            bad[at] ^= bit;
            assert!(entry::read(&bad, &key(1)).is_err(), "changed at {at}");
        }
    }
    assert!(entry::read(&[good.clone(), vec![0]].concat(), &key(1)).is_err());
    assert_eq!(entry::read(&good, &key(2)).unwrap_err(), "it belongs to another key");
    assert_eq!(entry::read(b"\x7fELF", &key(1)).unwrap_err(), "it is no entry of this version's cache");
}

#[test]
fn a_bad_entry_is_removed_with_a_warning() {
    let dir = tempfile::tempdir().unwrap();
    let cache = cache(dir.path(), 1 << 20);
    let good = entry::write(&key(1), &[b"some text"]);
    let foreign = entry::write(&key(2), &[b"some text"]);
    for (bytes, why) in [
        (&good[..good.len() / 2], "was cut off"),
        (&good[..good.len() - 1], "bytes after its lengths"),
        (&foreign[..], "belongs to another key"),
        (b"", "no entry of this version's cache"),
    ] {
        fs::write(cache.path(&key(1)), bytes).unwrap();
        assert_eq!(cache.find(&key(1)), None);
        let said = cache.warnings();
        assert!(said.len() == 1 && said[0].contains(why) && said[0].contains(&key(1).to_string()), "{said:?}");
        assert!(!cache.path(&key(1)).exists());
    }
    // A folder in its place is no entry either, and no reason to fail.
    fs::create_dir(cache.path(&key(1))).unwrap();
    assert_eq!(cache.find(&key(1)), None);
    assert_eq!(cache.warnings().len(), 1);
}

#[test]
fn a_folder_that_takes_nothing_costs_one_warning() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, b"").unwrap();
    for folder in [file.clone(), file.join("below")] {
        let cache = cache(&folder, 1 << 20);
        for n in 0..3 {
            assert_eq!(cache.find(&key(n)), None);
            cache.keep(&key(n), &[b"text"]);
        }
        let said = cache.warnings();
        assert!(said.len() == 1 && said[0].contains(&folder.display().to_string()), "{said:?}");
    }
}

#[cfg(unix)]
#[test]
fn code_that_anyone_may_have_written_is_not_used() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    cache(dir.path(), 1 << 20).keep(&key(1), &[b"text"]);
    let open = |mode| fs::set_permissions(dir.path(), fs::Permissions::from_mode(mode)).unwrap();
    open(0o777);
    let shared = cache(dir.path(), 1 << 20);
    for _ in 0..2 {
        assert_eq!(shared.find(&key(1)), None);
        shared.keep(&key(2), &[b"text"]);
    }
    let said = shared.warnings();
    assert!(said.len() == 1 && said[0].contains("all users may write"), "{said:?}");
    open(0o775);
    assert!(cache(dir.path(), 1 << 20).find(&key(1)).is_some());
}

#[test]
fn the_oldest_entries_make_room() {
    let dir = tempfile::tempdir().unwrap();
    let start = SystemTime::now() - Duration::from_secs(100_000);
    let set = |path: &Path, k: u64| {
        fs::File::open(path).unwrap().set_modified(start + Duration::from_secs(k)).unwrap();
    };
    let stranger = dir.path().join("notes.txt");
    fs::write(&stranger, b"mine").unwrap();
    let unfinished = dir.path().join("x.rinductor-part");
    fs::write(&unfinished, b"half").unwrap();
    set(&unfinished, 0);
    let part = vec![0u8; 1000];
    let small = cache(dir.path(), 10_000);
    for n in 0..8 {
        small.keep(&key(n), &[&part]);
        set(&small.path(&key(n)), n as u64);
    }
    // It is the oldest, but was used now.
    assert!(small.find(&key(0)).is_some());
    for n in 8..12 {
        small.keep(&key(n), &[&part]);
    }
    let left: Vec<bool> = (0..12).map(|n| small.path(&key(n)).exists()).collect();
    assert!(left[0] && !left[1] && !left[2] && left[7..].iter().all(|&l| l), "{left:?}");
    assert!(stranger.exists() && !unfinished.exists());
    let size: u64 = fs::read_dir(dir.path()).unwrap().flatten().map(|f| f.metadata().unwrap().len()).sum();
    assert!(size <= 10_000, "{size}");
    assert_eq!(small.warnings(), [""; 0]);
}

#[test]
fn many_writers_and_readers_see_whole_entries() {
    let dir = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for writer in 0..8u8 {
            let folder = dir.path();
            scope.spawn(move || {
                // Each has a cache of its own, as processes have.
                let cache = cache(folder, 1 << 30);
                for round in 0..50usize {
                    let part = vec![writer; 1000 + 100 * usize::from(writer)];
                    cache.keep(&key(round % 4), &[&part, &[writer]]);
                    let found = cache.find(&key(round % 4)).expect("an entry is replaced, not taken away");
                    let by = found[1][0];
                    assert_eq!(found[0], vec![by; 1000 + 100 * usize::from(by)]);
                }
                assert_eq!(cache.warnings(), [""; 0]);
            });
        }
    });
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 4);
}

#[test]
fn variables_say_where_and_how_large() {
    let of = |list: &[(&str, &str)]| Settings::from_variables(variables(list));
    let at = |folder: &str, limit| Ok(Some(Settings { folder: folder.into(), limit }));
    assert_eq!(of(&[("HOME", "/h")]), at("/h/.cache/rinductor", 4 << 30));
    assert_eq!(of(&[("HOME", "/h"), ("XDG_CACHE_HOME", "/x")]), at("/x/rinductor", 4 << 30));
    assert_eq!(of(&[("HOME", "/h"), ("XDG_CACHE_HOME", "x")]), at("/h/.cache/rinductor", 4 << 30));
    assert_eq!(of(&[("HOME", "/h"), (FOLDER, "here"), (LIMIT, "3M")]), at("here", 3 << 20));
    assert_eq!(of(&[("HOME", "/h"), (FOLDER, ""), (SWITCH, "1")]), at("/h/.cache/rinductor", 4 << 30));
    assert_eq!(of(&[("HOME", "/h"), (SWITCH, "0")]), Ok(None));
    assert_eq!(of(&[]), Ok(None));
    for (name, value) in [(SWITCH, "yes"), (LIMIT, "4 GiB"), (LIMIT, "-1"), (LIMIT, "99999999T")] {
        let said = of(&[(name, value)]).unwrap_err();
        assert!(said.starts_with(name) && said.contains(value), "{said}");
    }
}
