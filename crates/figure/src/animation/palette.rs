//! Reduces many colours to a few, by median cut (P. Heckbert, "Color image quantization for frame buffer
//! display", 1982): the box of colours with the largest spread is cut at its median until there are enough
//! boxes; each becomes the mean of its colours.

/// At most 256 colours.
pub(super) struct Palette {
    entries: Vec<[u8; 3]>,
}

/// Colours, each with the number of its pixels.
type Counted = ([u8; 3], u64);

impl Palette {
    /// At most `size` colours for these pixels. The most frequent colour, which is the paper, stays exactly
    /// as it is.
    pub fn of(mut counts: Vec<Counted>, size: usize) -> Palette {
        counts.sort_unstable(); // the order of the pixels must not matter
        let Some(paper) = counts.iter().copied().max_by_key(|&(_, count)| count) else {
            return Palette { entries: Vec::new() };
        };
        counts.retain(|&(colour, _)| colour != paper.0);
        let mut boxes: Vec<Cell> = if counts.is_empty() { vec![] } else { vec![Cell::of(counts)] };
        while boxes.len() + 1 < size {
            let by_spread = |&a: &usize, &b: &usize| boxes[a].spread.total_cmp(&boxes[b].spread);
            let Some(widest) = (0..boxes.len()).max_by(by_spread) else { break };
            if boxes[widest].spread == 0.0 {
                break; // only single colours are left
            }
            let [lower, upper] = boxes.swap_remove(widest).cut();
            boxes.extend([lower, upper]);
        }
        let entries = std::iter::once(paper.0).chain(boxes.iter().map(Cell::mean)).collect();
        Palette { entries }
    }

    /// The colours.
    pub fn entries(&self) -> &[[u8; 3]] {
        &self.entries
    }

    /// The entry nearest to a colour.
    pub fn nearest(&self, colour: [u8; 3]) -> u8 {
        let distance = |entry: &[u8; 3]| -> i32 {
            entry.iter().zip(colour).map(|(&a, b)| (i32::from(a) - i32::from(b)).pow(2)).sum()
        };
        (0..self.entries.len()).min_by_key(|&i| distance(&self.entries[i])).unwrap_or(0) as u8
    }
}

/// A box of colours that become one palette entry.
struct Cell {
    colours: Vec<Counted>,
    /// The channel in which they differ most.
    channel: usize,
    /// The sum of squares around their mean in this channel.
    spread: f64,
}

/// The square root of the count, so that large plain areas do not take all entries.
fn weight(&(_, count): &Counted) -> f64 {
    (count as f64).sqrt()
}

impl Cell {
    fn of(colours: Vec<Counted>) -> Cell {
        let total: f64 = colours.iter().map(weight).sum();
        let spread = |channel: usize| {
            let value = |counted: &Counted| f64::from(counted.0[channel]);
            let mean = colours.iter().map(|counted| weight(counted) * value(counted)).sum::<f64>() / total;
            colours.iter().map(|counted| weight(counted) * (value(counted) - mean).powi(2)).sum::<f64>()
        };
        // a single colour has spread 0, even if rounding gives another number
        let spreads = [0, 1, 2].map(|channel| if colours.len() > 1 { spread(channel) } else { 0.0 });
        let channel =
            (0..3).fold(0, |most, channel| if spreads[channel] > spreads[most] { channel } else { most });
        Cell { colours, channel, spread: spreads[channel] }
    }

    /// Two boxes with about half of the weight each; colours are not split. The box has at least two colours.
    fn cut(mut self) -> [Cell; 2] {
        let channel = self.channel;
        self.colours.sort_unstable_by_key(|&(colour, _)| (colour[channel], colour));
        let half = self.colours.iter().map(weight).sum::<f64>() / 2.0;
        let mut sum = 0.0;
        let below = self.colours.iter().take_while(|counted| {
            sum += weight(counted);
            sum < half
        });
        let at = below.count().clamp(1, self.colours.len() - 1);
        let upper = self.colours.split_off(at);
        [Cell::of(self.colours), Cell::of(upper)]
    }

    fn mean(&self) -> [u8; 3] {
        let total: u64 = self.colours.iter().map(|&(_, count)| count).sum();
        [0, 1, 2].map(|channel| {
            let sum: u64 =
                self.colours.iter().map(|&(colour, count)| count * u64::from(colour[channel])).sum();
            ((sum + total / 2) / total) as u8
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_colours_are_kept_as_they_are() {
        let colours = [[255, 255, 255], [0, 0, 0], [200, 10, 10], [10, 10, 200]];
        let palette = Palette::of(colours.iter().map(|&c| (c, 5)).collect(), 255);
        assert_eq!(palette.entries().len(), 4);
        for colour in colours {
            assert_eq!(palette.entries()[usize::from(palette.nearest(colour))], colour);
        }
        assert!(Palette::of(vec![], 255).entries().is_empty());
    }

    #[test]
    fn a_ramp_is_divided_evenly_and_the_paper_stays_white() {
        let ramp = (0..=254u8).map(|level| ([level, 0, 255 - level], 3));
        let palette = Palette::of(ramp.chain([([255; 3], 100_000)]).collect(), 33);
        assert_eq!(palette.entries().len(), 33);
        assert_eq!(palette.entries()[0], [255; 3]);
        for level in 0..=254u8 {
            let entry = palette.entries()[usize::from(palette.nearest([level, 0, 255 - level]))];
            assert!(entry[0].abs_diff(level) <= 8, "{level} became {entry:?}");
        }
    }

    #[test]
    fn the_order_of_the_pixels_does_not_matter() {
        let colours: Vec<Counted> =
            (0..2000u32).map(|i| ([i as u8, (i / 7) as u8, (i / 3) as u8], u64::from(i % 9 + 1))).collect();
        let backwards = colours.iter().rev().copied().collect();
        assert_eq!(Palette::of(colours, 64).entries(), Palette::of(backwards, 64).entries());
    }
}
