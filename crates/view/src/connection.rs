//! One page and its simulation, on one thread: read what the page asks for, step, answer.
//!
//! The simulation keeps its own time: it does the control steps that are due, a few milliseconds of work at
//! most, and then listens again. It stands still when the page has asked for no frame for a while, because
//! then nobody looks.

use std::io::{ErrorKind, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use tungstenite::handshake::derive_accept_key;
use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tungstenite::{Error, Message, WebSocket};

use crate::library::{Library, Offered};
use crate::protocol::{Answer, Choice, LARGEST_REQUEST, Request};
use crate::simulation::{Refused, Simulation};

/// Work between two looks at the page.
const WORK: Duration = Duration::from_millis(8);
/// Nobody looks any more when no frame was asked for in this time.
const UNSEEN: Duration = Duration::from_secs(2);
/// A page that says nothing for so long is gone.
const GONE: Duration = Duration::from_secs(600);
/// Most requests per second.
const MOST_REQUESTS: u32 = 500;
/// Fastest chosen speed, in control steps per second.
const FASTEST: f64 = 10_000.0;

/// Answers the handshake, then serves the page until it goes.
pub fn converse(mut stream: TcpStream, key: &str, library: &Library) {
    let accept = derive_accept_key(key.as_bytes());
    let switch = format!(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Accept: {accept}\r\n\r\n"
    );
    if stream.write_all(switch.as_bytes()).is_err() {
        return;
    }
    let limits = WebSocketConfig::default()
        .max_message_size(Some(LARGEST_REQUEST))
        .max_frame_size(Some(LARGEST_REQUEST));
    let socket = WebSocket::from_raw_socket(stream, Role::Server, Some(limits));
    let mut page = Page {
        socket,
        library,
        simulation: None,
        playing: false,
        speed: 60.0,
        owed: 0.0,
        last: Instant::now(),
        seen: Instant::now(),
        heard: Instant::now(),
        told: Instant::now(),
        wanted: false,
        rate: Rate { since: Instant::now(), count: 0 },
    };
    if let Err(Ended::Because(reason)) = page.serve() {
        let frame = CloseFrame { code: CloseCode::Policy, reason: reason.into() };
        let _ = page.socket.close(Some(frame));
        let _ = page.socket.flush();
    }
}

/// How a conversation ends.
enum Ended {
    /// The page has gone.
    Gone,
    /// It is ended for this reason.
    Because(&'static str),
}

impl From<Error> for Ended {
    fn from(error: Error) -> Ended {
        match error {
            Error::Capacity(_) => Ended::Because("the message is too large"),
            Error::Protocol(_) | Error::Utf8(_) => Ended::Because("this is no valid WebSocket message"),
            _ => Ended::Gone,
        }
    }
}

struct Page<'a> {
    socket: WebSocket<TcpStream>,
    library: &'a Library,
    simulation: Option<Simulation>,
    playing: bool,
    /// Control steps per second; 0 for as many as possible.
    speed: f64,
    /// Steps that are due.
    owed: f64,
    /// When steps were last counted.
    last: Instant,
    /// When a frame was last asked for.
    seen: Instant,
    /// When anything was last heard.
    heard: Instant,
    /// When trainings were last told of.
    told: Instant,
    /// Whether a frame is asked for and not yet sent.
    wanted: bool,
    rate: Rate,
}

/// Requests of the current second.
struct Rate {
    since: Instant,
    count: u32,
}

impl Page<'_> {
    fn serve(&mut self) -> Result<(), Ended> {
        let choice = |offered: &Offered| {
            let task = &offered.policy().config.task;
            Choice { name: offered.name.clone(), task: task.name.clone(), title: task.title.to_string() }
        };
        self.say(&Answer::Policies(self.library.offered.iter().map(choice).collect()))?;
        loop {
            self.listen()?;
            self.work()?;
            if self.wanted && self.simulation.is_some() {
                self.show()?;
            }
            self.tell_learning()?;
            if self.heard.elapsed() > GONE {
                return Err(Ended::Because("nothing was heard for ten minutes; reload to go on"));
            }
        }
    }

    /// Waits for requests until there is work to do, and does what they ask for.
    fn listen(&mut self) -> Result<(), Ended> {
        let mut wait = self.until_work();
        loop {
            // a timeout of zero would mean to wait for ever
            let timeout = wait.max(Duration::from_micros(100));
            self.socket.get_ref().set_read_timeout(Some(timeout)).map_err(|_| Ended::Gone)?;
            match self.socket.read() {
                Ok(Message::Text(text)) => self.heed(text.as_str())?,
                Ok(Message::Binary(_)) => return Err(Ended::Because("requests are texts")),
                Ok(Message::Close(_)) => return Err(Ended::Gone),
                Ok(_) => {}
                Err(Error::Io(error))
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
                {
                    return Ok(());
                }
                Err(error) => return Err(error.into()),
            }
            self.heard = Instant::now();
            if self.wanted {
                return Ok(());
            }
            wait = Duration::ZERO;
        }
    }

    /// Tells how far trainings are, once a second while somebody looks.
    fn tell_learning(&mut self) -> Result<(), Ended> {
        if self.told.elapsed() < Duration::from_secs(1) || self.seen.elapsed() > UNSEEN {
            return Ok(());
        }
        self.told = Instant::now();
        let library = self.library;
        for learning in library.offered.iter().filter_map(Offered::learning) {
            self.say(&Answer::Learning(learning))?;
        }
        Ok(())
    }

    fn runs(&self) -> bool {
        self.playing && self.simulation.is_some() && self.seen.elapsed() < UNSEEN
    }

    /// How long it is until the next step is due.
    fn until_work(&self) -> Duration {
        match (self.runs(), self.speed) {
            (false, _) => Duration::from_millis(500),
            (true, 0.0) => Duration::ZERO,
            (true, speed) => {
                let due = Duration::from_secs_f64(((1.0 - self.owed) / speed).clamp(0.0, 0.5));
                due.saturating_sub(self.last.elapsed())
            }
        }
    }

    /// Does the steps that are due.
    fn work(&mut self) -> Result<(), Ended> {
        let passed = self.last.elapsed().as_secs_f64();
        self.last = Instant::now();
        if !self.runs() {
            self.owed = 0.0;
            return Ok(());
        }
        // what cannot be done in a quarter of a second is not caught up
        let most = if self.speed == 0.0 { f64::INFINITY } else { (self.speed * 0.25).max(1.0) };
        self.owed = if self.speed == 0.0 { most } else { (self.owed + passed * self.speed).min(most) };
        let start = Instant::now();
        while self.owed >= 1.0 && start.elapsed() < WORK {
            self.owed -= 1.0;
            self.step()?;
            if !self.playing {
                break;
            }
        }
        if self.speed == 0.0 {
            self.owed = 0.0;
        }
        Ok(())
    }

    fn step(&mut self) -> Result<(), Ended> {
        let Some(simulation) = &mut self.simulation else { return Ok(()) };
        simulation.advance();
        if !simulation.finite() {
            self.playing = false;
            return self.say(&Answer::Refused(
                "the field has left the finite numbers; reset, or take smaller coefficients".into(),
            ));
        }
        Ok(())
    }

    fn heed(&mut self, text: &str) -> Result<(), Ended> {
        self.rate.count += 1;
        if self.rate.since.elapsed() > Duration::from_secs(1) {
            self.rate = Rate { since: Instant::now(), count: 1 };
        }
        if self.rate.count > MOST_REQUESTS {
            return Err(Ended::Because("too many requests"));
        }
        let request = serde_json::from_str(text).map_err(|_| Ended::Because("this is no request"))?;
        match request {
            Request::Open { setup } => match Simulation::new(setup, self.library) {
                Ok(simulation) => {
                    self.say(&Answer::Scene(Box::new(simulation.scene())))?;
                    self.simulation = Some(simulation);
                    self.wanted = true;
                }
                Err(refused) => self.refuse(refused)?,
            },
            Request::Happen { what } => {
                let Some(simulation) = &mut self.simulation else { return Ok(()) };
                match simulation.happen(what) {
                    Ok((event, changed)) => {
                        let scene = changed.then(|| simulation.scene());
                        self.say(&Answer::Happened(event))?;
                        if let Some(scene) = scene {
                            self.say(&Answer::Scene(Box::new(scene)))?;
                        }
                    }
                    Err(refused) => self.refuse(refused)?,
                }
            }
            Request::Play {} => (self.playing, self.last) = (true, Instant::now()),
            Request::Pause {} => self.playing = false,
            Request::Step {} => {
                self.playing = false;
                self.step()?;
            }
            Request::Speed { steps } if (0.0..=FASTEST).contains(&steps) => self.speed = steps,
            Request::Speed { .. } => return Err(Ended::Because("there is no such speed")),
            Request::Frame {} => (self.wanted, self.seen) = (true, Instant::now()),
        }
        Ok(())
    }

    fn show(&mut self) -> Result<(), Ended> {
        let Some(simulation) = &mut self.simulation else { return Ok(()) };
        let mut frame = Vec::new();
        simulation.frame(&mut frame);
        self.wanted = false;
        Ok(self.socket.send(Message::Binary(frame.into()))?)
    }

    fn refuse(&mut self, Refused(reason): Refused) -> Result<(), Ended> {
        self.say(&Answer::Refused(reason))
    }

    fn say(&mut self, answer: &Answer) -> Result<(), Ended> {
        let text =
            serde_json::to_string(answer).map_err(|_| Ended::Because("an answer cannot be written"))?;
        Ok(self.socket.send(Message::Text(text.into()))?)
    }
}
