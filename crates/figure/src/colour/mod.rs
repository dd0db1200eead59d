//! Colours: single ones, the palette for series, and colour maps for fields.

mod map;

pub use map::ColourMap;

/// An opaque sRGB colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour {
    /// Red, 0 to 255.
    pub red: u8,
    /// Green, 0 to 255.
    pub green: u8,
    /// Blue, 0 to 255.
    pub blue: u8,
}

/// The colours of Okabe and Ito, which colour-blind readers can distinguish. Their yellow is hardly visible
/// on white; a dark brown replaces it.
const PALETTE: [Colour; 8] = [
    Colour::rgb(0x00, 0x72, 0xb2), // blue
    Colour::rgb(0xd5, 0x5e, 0x00), // vermillion
    Colour::rgb(0x00, 0x9e, 0x73), // bluish green
    Colour::rgb(0xe6, 0x9f, 0x00), // orange
    Colour::rgb(0xcc, 0x79, 0xa7), // reddish purple
    Colour::rgb(0x56, 0xb4, 0xe9), // sky blue
    Colour::rgb(0x00, 0x00, 0x00), // black
    Colour::rgb(0x8c, 0x51, 0x0a), // brown
];

impl Colour {
    /// Black.
    pub const BLACK: Colour = Colour::rgb(0, 0, 0);
    /// White.
    pub const WHITE: Colour = Colour::rgb(255, 255, 255);
    /// A middle grey, for baselines and other background elements.
    pub const GREY: Colour = Colour::rgb(0x80, 0x80, 0x80);

    /// The colour with these sRGB components.
    pub const fn rgb(red: u8, green: u8, blue: u8) -> Self {
        Colour { red, green, blue }
    }

    /// The `index`-th colour of the palette that series get by default; it repeats after eight.
    pub const fn palette(index: usize) -> Self {
        PALETTE[index % PALETTE.len()]
    }

    pub(crate) fn hex(self) -> String {
        format!("#{:02x}{:02x}{:02x}", self.red, self.green, self.blue)
    }
}
