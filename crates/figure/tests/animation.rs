//! Decodes animated files: a viewer shows exactly what was drawn.

use std::io::Cursor;

use cinoc_figure::{Animation, AnimationFormat, ColourMap, Figure, FigureError, Map};

const FRAMES: usize = 6;

/// A map that changes, and a bar that grows.
fn frame(i: usize) -> Figure {
    let values: Vec<f64> = (0..64).map(|cell| ((cell + 3 * i) as f64 * 0.2).sin()).collect();
    let map = Map::new(&values, 8, 8).colour_map(ColourMap::Diverging).limits(-1.0, 1.0).ticks(false, false);
    Figure::new(1, 1).size(90.0, 70.0).panel(0, 0, map).progress(i as f64 / 5.0, format!("t = {i}"))
}

fn animation() -> Animation<fn(usize) -> Figure> {
    Animation::new(FRAMES, frame as fn(usize) -> Figure).scale(1.5).frame_time(5, 80)
}

/// The pixels of a single frame.
fn drawn(i: usize) -> Vec<u8> {
    let bytes = frame(i).to_png(1.5).unwrap();
    let mut reader = png::Decoder::new(Cursor::new(bytes)).read_info().unwrap();
    let mut rgb = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut rgb).unwrap();
    rgb
}

/// Pastes a piece with `channels` bytes per pixel into an RGB canvas; transparent pixels change nothing.
fn paste(canvas: &mut [u8], width: usize, piece: &[u8], channels: usize, [left, top, across]: [usize; 3]) {
    for (i, pixel) in piece.chunks_exact(channels).enumerate() {
        let at = 3 * ((top + i / across) * width + left + i % across);
        if channels == 3 || pixel[3] > 0 {
            canvas[at..at + 3].copy_from_slice(&pixel[..3]);
        }
    }
}

#[test]
fn an_animated_png_shows_every_frame_exactly() {
    let bytes = animation().to_bytes(AnimationFormat::Apng).unwrap();
    let mut reader = png::Decoder::new(Cursor::new(bytes)).read_info().unwrap();
    let control = *reader.info().animation_control().unwrap();
    assert_eq!((control.num_frames as usize, control.num_plays), (FRAMES, 0));
    let (width, height) = (reader.info().width as usize, reader.info().height as usize);
    assert_eq!((width, height), (135, 105));
    let mut canvas = vec![0; 3 * width * height];
    for i in 0..FRAMES {
        let mut piece = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut piece).unwrap();
        let control = *reader.info().frame_control().unwrap();
        assert_eq!((control.delay_num, control.delay_den), (if i + 1 == FRAMES { 80 } else { 5 }, 100));
        let place = [control.x_offset as usize, control.y_offset as usize, control.width as usize];
        paste(&mut canvas, width, &piece[..info.buffer_size()], 3, place);
        assert!(canvas == drawn(i), "frame {i}");
        assert!(i == 0 || control.width < 135, "only what has changed is stored");
    }
}

#[test]
fn a_gif_shows_every_frame_in_nearly_its_colours() {
    let bytes = animation().to_bytes(AnimationFormat::Gif).unwrap();
    let mut options = gif::DecodeOptions::new();
    options.set_color_output(gif::ColorOutput::RGBA);
    let mut reader = options.read_info(&bytes[..]).unwrap();
    let (width, height) = (usize::from(reader.width()), usize::from(reader.height()));
    assert_eq!((width, height), (135, 105));
    let mut canvas = vec![0; 3 * width * height];
    for i in 0..FRAMES {
        let frame = reader.read_next_frame().unwrap().expect("as many frames as asked for");
        assert_eq!(frame.delay, if i + 1 == FRAMES { 80 } else { 5 });
        let place = [usize::from(frame.left), usize::from(frame.top), usize::from(frame.width)];
        paste(&mut canvas, width, &frame.buffer, 4, place);
        let expected = drawn(i);
        let worst = canvas.iter().zip(&expected).map(|(a, b)| a.abs_diff(*b)).max().unwrap();
        assert!(worst <= 24, "frame {i}: a channel is off by {worst}");
        assert_eq!(canvas[..3], [255; 3], "paper stays white");
    }
    assert!(reader.read_next_frame().unwrap().is_none());
}

#[test]
fn the_same_frames_give_the_same_bytes() {
    for format in [AnimationFormat::Apng, AnimationFormat::Gif] {
        assert!(animation().to_bytes(format).unwrap() == animation().to_bytes(format).unwrap());
    }
}

#[test]
fn frames_that_stay_the_same_are_fine() {
    for format in [AnimationFormat::Apng, AnimationFormat::Gif] {
        let still = Animation::new(3, |_| frame(0)).to_bytes(format).unwrap();
        let alone = Animation::new(1, |_| frame(0)).to_bytes(format).unwrap();
        assert!(still.len() < alone.len() + 300);
    }
}

#[test]
fn impossible_animations_are_refused() {
    for format in [AnimationFormat::Apng, AnimationFormat::Gif] {
        let none = Animation::new(0, frame).to_bytes(format);
        assert!(matches!(none, Err(FigureError::FrameCount(0))), "{none:?}");
        let growing = |i: usize| Figure::new(1, 1).size(50.0 + i as f64, 40.0);
        let uneven = Animation::new(3, growing).to_bytes(format);
        assert!(matches!(uneven, Err(FigureError::FrameSize { frame: 1 })), "{uneven:?}");
        let huge = Animation::new(1, frame).scale(1e12).to_bytes(format);
        assert!(matches!(huge, Err(FigureError::ImageSize { .. })), "{huge:?}");
    }
}
