//! The server, as pages and as strangers meet it.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use cinoc_view::library::Library;
use cinoc_view::server::{MOST_SIMULATIONS, Server};
use tungstenite::client::{ClientRequestBuilder, client};
use tungstenite::{Message, WebSocket};

/// A server, and its address in parts.
struct Place {
    address: SocketAddr,
    token: String,
}

fn served() -> Place {
    let library = Library::new(Vec::new()).unwrap();
    let server = Server::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0, None, library).unwrap();
    let address = server.address();
    std::thread::spawn(move || server.run());
    let rest = address.strip_prefix("http://").unwrap();
    let (host, token) = rest.trim_end_matches('/').split_once('/').unwrap();
    Place { address: host.parse().unwrap(), token: token.to_string() }
}

impl Place {
    /// Status and answer of a request with these header lines.
    fn ask(&self, method: &str, path: &str, headers: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        write!(stream, "{method} {path} HTTP/1.1\r\n{headers}\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        (answer.split(' ').nth(1).unwrap().parse().unwrap(), answer)
    }

    fn page(&self, path: &str) -> (u16, String) {
        self.ask("GET", &format!("/{}/{path}", self.token), &format!("Host: {}", self.address))
    }

    fn open(&self, origin: &str) -> Result<WebSocket<TcpStream>, String> {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let uri = format!("ws://{}/{}/live", self.address, self.token).parse().unwrap();
        let request = ClientRequestBuilder::new(uri).with_header("Origin", origin);
        client(request, stream).map(|(socket, _)| socket).map_err(|error| error.to_string())
    }

    fn tab(&self) -> WebSocket<TcpStream> {
        self.open(&format!("http://{}", self.address)).unwrap()
    }
}

fn say(socket: &mut WebSocket<TcpStream>, text: &str) {
    socket.send(Message::Text(text.to_string().into())).unwrap();
}

/// The next text that contains something.
fn hear(socket: &mut WebSocket<TcpStream>, part: &str) -> String {
    loop {
        if let Message::Text(text) = socket.read().unwrap()
            && text.contains(part)
        {
            return text.to_string();
        }
    }
}

fn frame(socket: &mut WebSocket<TcpStream>) -> Vec<u8> {
    loop {
        if let Message::Binary(bytes) = socket.read().unwrap() {
            return bytes.to_vec();
        }
    }
}

fn step_of(frame: &[u8]) -> u32 {
    u32::from_le_bytes(frame[..4].try_into().unwrap())
}

const OPEN: &str = r#"{"do":"open","setup":{"task":"heat1d","policy":"heat1d"}}"#;

/// Whether a page can start, run and see a simulation.
fn works(place: &Place) {
    let mut tab = place.tab();
    say(&mut tab, OPEN);
    assert!(hear(&mut tab, "scene").contains(r#""trained_agents":8"#));
    assert_eq!(step_of(&frame(&mut tab)), 0);
    say(&mut tab, r#"{"do":"step"}"#);
    say(&mut tab, r#"{"do":"frame"}"#);
    assert_eq!(step_of(&frame(&mut tab)), 1);
    tab.close(None).unwrap();
    while tab.read().is_ok() {}
}

#[test]
fn a_tab_runs_a_simulation() {
    let place = served();
    let (status, page) = place.page("");
    assert!(
        status == 200
            && page.contains("<canvas")
            && page.contains("Content-Security-Policy: default-src 'none'")
    );
    assert_eq!(place.page("main.js").0, 200);
    works(&place);
    let mut tab = place.tab();
    assert!(hear(&mut tab, "policies").contains("turb2d"));
    say(&mut tab, OPEN);
    frame(&mut tab);
    say(&mut tab, r#"{"do":"speed","steps":0}"#);
    say(&mut tab, r#"{"do":"play"}"#);
    let mut steps = Vec::new();
    while steps.last().is_none_or(|&step| step < 30) {
        say(&mut tab, r#"{"do":"frame"}"#);
        steps.push(step_of(&frame(&mut tab)));
    }
    assert!(steps.windows(2).all(|pair| pair[0] <= pair[1]), "{steps:?}");
    say(&mut tab, r#"{"do":"happen","what":{"kill":99}}"#);
    assert!(hear(&mut tab, "refused").contains("no agent 99"));
    say(&mut tab, r#"{"do":"happen","what":{"kill":2}}"#);
    assert!(hear(&mut tab, "happened").contains(r#"{"kill":2}"#));
}

#[test]
fn strangers_are_turned_away() {
    let place = served();
    let host = format!("Host: {}", place.address);
    let live = format!("/{}/live", place.token);
    for (method, path, headers, status) in [
        ("GET", "/", host.clone(), 404),
        ("GET", "/00000000000000000000000000000000/", host.clone(), 404),
        ("GET", &format!("/{}/../../etc/passwd", place.token), host.clone(), 404),
        ("GET", &format!("/{}/", place.token), "Host: evil.example".into(), 403),
        ("GET", &format!("/{}/", place.token), format!("{host}\r\nHost: evil.example"), 403),
        ("GET", &format!("/{}/", place.token), "X: y".into(), 403),
        ("POST", &format!("/{}/", place.token), host.clone(), 405),
        ("GET", &live, host.clone(), 403),
        ("GET", &live, format!("{host}\r\nOrigin: http://evil.example"), 403),
        ("GET", &live, format!("{host}\r\nOrigin: http://{}", place.address), 400),
    ] {
        assert_eq!(place.ask(method, path, &headers).0, status, "{method} {path} {headers}");
    }
    assert!(place.open("http://evil.example").is_err());
    assert!(place.open("null").is_err());
    works(&place);
}

#[test]
fn nonsense_closes_its_connection_with_a_reason_and_no_other() {
    let place = served();
    let mut calm = place.tab();
    say(&mut calm, OPEN);
    frame(&mut calm);
    let binary = Message::Binary(vec![1, 2, 3].into());
    let large = Message::Text("x".repeat(100_000).into());
    let text = |text: &str| Message::Text(text.to_string().into());
    let wrong = [
        binary,
        large,
        text(""),
        text("{}"),
        text(r#"{"do":"format"}"#),
        text(r#"{"do":"speed","steps":-1}"#),
        text(r#"{"do":"speed","steps":1e300}"#),
        text(&format!(r#"{{"do":"open","setup":{}1{}}}"#, "[".repeat(500), "]".repeat(500))),
    ];
    for message in wrong {
        let mut tab = place.tab();
        // the server may close while a large message is still on its way
        let _ = tab.send(message.clone());
        let reason = loop {
            match tab.read() {
                Ok(Message::Close(Some(frame))) => break frame.reason.to_string(),
                Ok(_) => {}
                Err(error) => break error.to_string(),
            }
        };
        assert!(!reason.is_empty(), "{message:?}");
    }
    say(&mut calm, r#"{"do":"frame"}"#);
    assert_eq!(step_of(&frame(&mut calm)), 0);
}

#[test]
fn there_are_only_so_many_simulations() {
    let place = served();
    let mut tabs: Vec<_> = (0..MOST_SIMULATIONS).map(|_| place.tab()).collect();
    let own = format!("http://{}", place.address);
    assert!(place.open(&own).unwrap_err().contains("503"));
    let mut gone = tabs.pop().unwrap();
    gone.close(None).unwrap();
    while gone.read().is_ok() {}
    // the place is free as soon as the server has noticed
    let again = (0..100).find_map(|_| {
        std::thread::sleep(Duration::from_millis(20));
        place.open(&own).ok()
    });
    assert!(again.is_some());
}

#[test]
fn random_and_mutated_messages_harm_nobody() {
    let place = served();
    let mut calm = place.tab();
    say(&mut calm, OPEN);
    frame(&mut calm);
    // a small generator of our own, so that the messages are the same every time
    let mut state = 1u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % below
    };
    let whole = [
        OPEN,
        r#"{"do":"happen","what":{"move":[3,[0.25,0]]}}"#,
        r#"{"do":"happen","what":{"agents":3}}"#,
        r#"{"do":"happen","what":{"set":["physics.nu",0.3]}}"#,
        r#"{"do":"happen","what":{"disturb":[[0.5,0.5],0.4]}}"#,
        r#"{"do":"speed","steps":0}"#,
        r#"{"do":"play"}"#,
        r#"{"do":"frame"}"#,
    ];
    let mut tab = place.tab();
    let mut sent = 0;
    while sent < 10_000 {
        let mut bytes = whole[random(whole.len())].as_bytes().to_vec();
        for _ in 0..random(4) {
            let at = random(bytes.len());
            match random(3) {
                0 => bytes[at] = b' ' + random(94) as u8,
                1 => bytes.truncate(at.max(1)),
                _ => bytes.insert(at, b"0123456789-e.[]{}\""[random(18)]),
            }
        }
        sent += 1;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if tab.send(Message::Text(text.into())).is_err() {
            tab = place.tab();
        }
        // what the server says is read now and then, as a page would
        if random(3) == 0 {
            tab.get_ref().set_read_timeout(Some(Duration::from_millis(1))).unwrap();
            if let Err(tungstenite::Error::ConnectionClosed | tungstenite::Error::AlreadyClosed) = tab.read()
            {
                tab = place.tab();
            }
        }
    }
    drop(tab);
    say(&mut calm, r#"{"do":"frame"}"#);
    assert_eq!(step_of(&frame(&mut calm)), 0);
    works(&place);
}

#[test]
fn half_open_connections_do_not_keep_others_out() {
    let place = served();
    let mut calm = place.tab();
    say(&mut calm, OPEN);
    frame(&mut calm);
    let mut silent = Vec::new();
    for number in 0..100 {
        let mut stream = TcpStream::connect(place.address).unwrap();
        if number % 2 == 0 {
            let _ = stream.write_all(b"GET / HTTP/1.1\r\nHos");
        }
        silent.push(stream);
    }
    say(&mut calm, r#"{"do":"frame"}"#);
    assert_eq!(step_of(&frame(&mut calm)), 0);
    assert_eq!(place.page("").0, 200);
    works(&place);
}
