//! As much of HTTP/1.1 as a page needs: read one request, send one answer, close.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Longest head of a request, in bytes.
const LONGEST_HEAD: usize = 8 * 1024;
/// Longest wait for a whole head.
const PATIENCE: Duration = Duration::from_secs(5);
/// Most header lines.
const MOST_HEADERS: usize = 64;

/// The head of a request.
#[derive(Debug, PartialEq)]
pub struct Head {
    /// `GET` and the like.
    pub method: String,
    /// What is asked for, without the part after `?`.
    pub path: String,
    headers: Vec<(String, String)>,
}

impl Head {
    /// A header, by its name in any case; none if it is there twice, since then nobody knows which one
    /// counts.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name));
        match (found.next(), found.next()) {
            (Some((_, value)), None) => Some(value),
            _ => None,
        }
    }

    /// Reads a head; none if it does not come, is too long, or is no HTTP.
    pub fn read(stream: &mut TcpStream) -> Option<Head> {
        let (start, mut bytes) = (Instant::now(), Vec::new());
        loop {
            let left = PATIENCE.checked_sub(start.elapsed()).filter(|left| !left.is_zero())?;
            stream.set_read_timeout(Some(left)).ok()?;
            let mut part = [0; 1024];
            match stream.read(&mut part) {
                Ok(0) | Err(_) => return None,
                Ok(count) => bytes.extend(&part[..count]),
            }
            if let Some(head) = Head::parse(&bytes)? {
                return Some(head);
            }
            if bytes.len() > LONGEST_HEAD {
                return None;
            }
        }
    }

    /// The head in these bytes: `None` if they are no HTTP, `Some(None)` if there is more to come. What
    /// follows the head is ignored: a page waits for the answer before it says more.
    fn parse(bytes: &[u8]) -> Option<Option<Head>> {
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        if request.parse(bytes).ok()?.is_partial() {
            return Some(None);
        }
        let text = |value: &[u8]| String::from_utf8(value.to_vec()).ok();
        let headers = request
            .headers
            .iter()
            .map(|header| Some((header.name.to_string(), text(header.value)?)))
            .collect::<Option<Vec<_>>>()?;
        let path = request.path?.split('?').next()?.to_string();
        Some(Some(Head { method: request.method?.to_string(), path, headers }))
    }
}

/// Sends an answer and closes.
pub fn answer(stream: &mut TcpStream, status: &str, kind: &str, policy: &str, body: &[u8]) {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\
         Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\n\
         Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n\
         Content-Security-Policy: {policy}\r\n\r\n",
        body.len()
    );
    // a reader that has gone away is no failure of the server
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
    let _ = stream.shutdown(std::net::Shutdown::Write);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_and_nonsense_is_not() {
        let head = Head::parse(b"GET /a?b HTTP/1.1\r\nHost: x\r\nOrigin: y\r\norigin: z\r\n\r\n");
        let head = head.unwrap().unwrap();
        assert_eq!((head.method.as_str(), head.path.as_str()), ("GET", "/a"));
        assert_eq!((head.header("host"), head.header("Origin"), head.header("no")), (Some("x"), None, None));
        assert_eq!(Head::parse(b"GET / HTTP/1.1\r\nHo"), Some(None));
        assert_eq!(Head::parse(b"\x16\x03\x01\x02\x00"), None);
    }
}
