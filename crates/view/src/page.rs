//! The files of the page, part of the program.

/// A file.
pub struct File {
    /// Its path below the token; the page itself is empty.
    pub path: &'static str,
    /// Its media type.
    pub kind: &'static str,
    /// What is in it.
    pub bytes: &'static [u8],
}

macro_rules! file {
    ($path:literal, $name:literal, $kind:literal) => {
        File { path: $path, kind: $kind, bytes: include_bytes!(concat!("page/", $name)) }
    };
}

/// All files.
pub const FILES: &[File] = &[
    file!("", "index.html", "text/html; charset=utf-8"),
    file!("style.css", "style.css", "text/css; charset=utf-8"),
    file!("main.js", "main.js", "text/javascript; charset=utf-8"),
    file!("link.js", "link.js", "text/javascript; charset=utf-8"),
    file!("protocol.js", "protocol.js", "text/javascript; charset=utf-8"),
    file!("colours.js", "colours.js", "text/javascript; charset=utf-8"),
    file!("line.js", "line.js", "text/javascript; charset=utf-8"),
    file!("plane.js", "plane.js", "text/javascript; charset=utf-8"),
    file!("chart.js", "chart.js", "text/javascript; charset=utf-8"),
    file!("record.js", "record.js", "text/javascript; charset=utf-8"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_small() {
        let bytes: usize = FILES.iter().map(|file| file.bytes.len()).sum();
        assert!(bytes <= 150_000, "{bytes} bytes");
    }

    #[test]
    fn the_page_needs_no_other_server() {
        for file in FILES {
            let text = std::str::from_utf8(file.bytes).unwrap();
            assert!(
                !text.contains("http://") && !text.contains("https://"),
                "{} names an address",
                file.path
            );
        }
    }
}
