//! The server: a page and its simulations, on the loopback interface, for whoever knows the address.
//!
//! The address has a random token in it, and the `Host` of every request and the `Origin` of every WebSocket
//! must be the server's own: other users of the machine do not know the token, other sites cannot use a name
//! that points here. Only the files of the page and the policies of the [`Library`] can be reached.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::connection::converse;
use crate::http::{Head, answer};
use crate::library::Library;
use crate::page;

/// Most connections at a time; each has a thread.
const MOST_CONNECTIONS: usize = 256;
/// Most simulations at a time.
pub const MOST_SIMULATIONS: usize = 8;
/// Longest wait for a client to take what it is sent.
const SLOWEST_WRITE: Duration = Duration::from_secs(5);

/// A server that waits for pages.
pub struct Server {
    listener: TcpListener,
    shared: Arc<Shared>,
}

/// What all connections know.
struct Shared {
    token: String,
    address: SocketAddr,
    library: Library,
    connections: AtomicUsize,
    simulations: AtomicUsize,
}

/// One of a limited number; gives its place back when it goes.
struct Place<'a>(&'a AtomicUsize);

impl<'a> Place<'a> {
    fn take(taken: &'a AtomicUsize, most: usize) -> Option<Place<'a>> {
        let more = |now: usize| (now < most).then_some(now + 1);
        taken.fetch_update(Ordering::SeqCst, Ordering::SeqCst, more).ok().map(|_| Place(taken))
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Server {
    /// A server at a port of an interface; port 0 is any that is free. Without a token it takes a random one.
    pub fn new(host: IpAddr, port: u16, token: Option<&str>, library: Library) -> io::Result<Server> {
        let listener = TcpListener::bind((host, port))?;
        let mut random = [0u8; 16];
        getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
        let random = || random.iter().map(|byte| format!("{byte:02x}")).collect();
        let token = token.map_or_else(random, String::from);
        let shared = Shared {
            token,
            address: listener.local_addr()?,
            library,
            connections: AtomicUsize::new(0),
            simulations: AtomicUsize::new(0),
        };
        Ok(Server { listener, shared: Arc::new(shared) })
    }

    /// Where the page is.
    pub fn address(&self) -> String {
        format!("http://{}/{}/", self.shared.address, self.shared.token)
    }

    /// Serves pages until the process ends.
    pub fn run(&self) {
        for stream in self.listener.incoming() {
            // a connection that breaks before it begins is gone
            let Ok(stream) = stream else { continue };
            let shared = self.shared.clone();
            let serve = move || {
                if let Some(_place) = Place::take(&shared.connections, MOST_CONNECTIONS) {
                    shared.serve(stream);
                }
            };
            // without room for a thread the connection is dropped
            let _ = std::thread::Builder::new().name("page".into()).spawn(serve);
        }
    }
}

impl Shared {
    fn serve(&self, mut stream: TcpStream) {
        let ready = stream.set_write_timeout(Some(SLOWEST_WRITE)).and_then(|()| stream.set_nodelay(true));
        let Some(head) = ready.ok().and_then(|()| Head::read(&mut stream)) else { return };
        let mut refuse = |status: &str, reason: &str| {
            answer(&mut stream, status, "text/plain; charset=utf-8", "default-src 'none'", reason.as_bytes());
        };
        let Some(host) = head.header("host").filter(|host| self.is_own(host)).map(String::from) else {
            return refuse("403 Forbidden", "this name is not the server's; use the address it printed\n");
        };
        if head.method != "GET" {
            return refuse("405 Method Not Allowed", "only GET\n");
        }
        let Some(path) = self.below_token(&head.path) else {
            return refuse("404 Not Found", "use the address that the server printed, with its token\n");
        };
        if path == "live" {
            if head.header("origin") != Some(&format!("http://{host}")) {
                return refuse("403 Forbidden", "another site may not open a simulation\n");
            }
            let Some(_place) = Place::take(&self.simulations, MOST_SIMULATIONS) else {
                let reason = format!("there are {MOST_SIMULATIONS} simulations already; close a tab\n");
                return refuse("503 Service Unavailable", &reason);
            };
            return match head.header("sec-websocket-key").map(String::from) {
                Some(key) => converse(stream, &key, &self.library),
                None => refuse("400 Bad Request", "a WebSocket is needed here\n"),
            };
        }
        match page::FILES.iter().find(|file| file.path == path) {
            Some(file) => {
                let policy = format!(
                    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; \
                     connect-src 'self' ws://{host}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
                );
                answer(&mut stream, "200 OK", file.kind, &policy, file.bytes);
            }
            None => refuse("404 Not Found", "there is no such file\n"),
        }
    }

    /// Whether a `Host` header names this server.
    fn is_own(&self, host: &str) -> bool {
        let port = self.address.port();
        let local = [format!("localhost:{port}"), format!("127.0.0.1:{port}"), format!("[::1]:{port}")];
        let named = host == self.address.to_string();
        // on all interfaces, a request may come by any address, but not by a name
        let any = self.address.ip().is_unspecified()
            && host.parse::<SocketAddr>().is_ok_and(|address| address.port() == port);
        named || any || local.iter().any(|own| own == host)
    }

    /// The path after the token; every byte is compared, so that time tells nothing.
    fn below_token<'a>(&self, path: &'a str) -> Option<&'a str> {
        let (token, rest) = path.strip_prefix('/')?.split_once('/')?;
        let same = token.len() == self.token.len()
            && token.bytes().zip(self.token.bytes()).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0;
        same.then_some(rest)
    }
}
