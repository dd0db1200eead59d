//! Numbers on their way between the machine's memory and that of the device.

use cudarc::driver::{
    CudaSlice, CudaStream, DevicePtr, DeviceRepr, DriverError, PinnedHostSlice, ValidAsZeroBits, result,
};
use std::ops::Range;
use std::sync::Arc;

/// Memory that the device itself can reach: through it numbers travel several times as fast as from and to
/// other memory of the machine.
pub(crate) struct Dock<T> {
    room: Option<PinnedHostSlice<T>>,
}

/// Numbers that travel at once, at most: the system has little of such memory.
const MOST: usize = 4 << 20;

impl<T> Default for Dock<T> {
    fn default() -> Dock<T> {
        Dock { room: None }
    }
}

fn failed(error: DriverError) -> String {
    format!("the device failed: {error}")
}

/// At least so many numbers in a room on the device, and its address.
pub(crate) fn reserve<X: DeviceRepr + ValidAsZeroBits>(
    stream: &Arc<CudaStream>,
    room: &mut Option<CudaSlice<X>>,
    len: usize,
) -> Result<u64, String> {
    if room.as_ref().is_none_or(|room| room.len() < len) {
        *room = None; // before the new one is asked for
        let bytes = len.max(1) * size_of::<X>();
        let made = stream.alloc_zeros::<X>(len.max(1)).map_err(|error| {
            let gigabytes = bytes as f64 / 1e9;
            format!("{gigabytes:.2} GB of device memory were refused: {error}; take fewer samples at once")
        });
        *room = Some(made?);
    }
    let slice = room.as_ref().ok_or("no memory")?;
    Ok(slice.device_ptr(stream).0)
}

fn bytes<T>(numbers: usize) -> u64 {
    (numbers * size_of::<T>()) as u64
}

impl<T: DeviceRepr + ValidAsZeroBits + Copy> Dock<T> {
    /// Room for so many numbers. Nothing may be on its way from or to it.
    fn room(&mut self, stream: &CudaStream, len: usize) -> Result<&mut [T], String> {
        if self.room.as_ref().is_none_or(|room| room.len() < len) {
            self.room = None;
            // SAFETY: every number is written before it is read.
            let made = unsafe { stream.context().alloc_pinned_with_flags(len, 0) };
            self.room = Some(made.map_err(failed)?);
        }
        let room = self.room.as_mut().ok_or("no memory")?;
        Ok(&mut room.as_mut_slice().map_err(failed)?[..len])
    }

    /// Sends lists of numbers to their places behind an address. The lists, and this dock, must be left alone
    /// until the device has been waited for.
    pub(crate) fn send(
        &mut self,
        stream: &Arc<CudaStream>,
        lists: &[(usize, &[T])],
        to: u64,
    ) -> Result<(), String> {
        let all = lists.iter().map(|(at, list)| at + list.len()).max().unwrap_or(0);
        let lost = |error: DriverError| format!("inputs do not reach the device: {error}");
        stream.context().bind_to_thread().map_err(lost)?;
        if all > MOST {
            for (at, list) in lists {
                // SAFETY: the room on the device is as long as all lists.
                unsafe { result::memcpy_htod_async(to + bytes::<T>(*at), list, stream.cu_stream()) }
                    .map_err(lost)?;
            }
            return Ok(());
        }
        if all > 0 {
            let room = self.room(stream, all)?;
            lists.iter().for_each(|(at, list)| room[*at..at + list.len()].copy_from_slice(list));
            // SAFETY: as above.
            unsafe { result::memcpy_htod_async(to, room, stream.cu_stream()) }.map_err(lost)?;
        }
        Ok(())
    }

    /// Waits for the device, then fetches the numbers in some places behind an address, which follow each
    /// other.
    pub(crate) fn fetch(
        &mut self,
        stream: &Arc<CudaStream>,
        from: u64,
        places: &[Range<usize>],
    ) -> Result<Vec<Vec<T>>, String> {
        stream.synchronize().map_err(failed)?;
        let mut lists: Vec<Vec<T>> = places.iter().map(|place| Vec::with_capacity(place.len())).collect();
        let all = places.iter().map(|place| place.end).max().unwrap_or(0);
        for first in (0..all).step_by(MOST) {
            let last = all.min(first + MOST);
            let room = self.room(stream, last - first)?;
            // SAFETY: the room on the device holds all places, and nothing else uses this room meanwhile.
            unsafe { result::memcpy_dtoh_async(room, from + bytes::<T>(first), stream.cu_stream()) }
                .map_err(failed)?;
            stream.synchronize().map_err(failed)?;
            for (list, place) in lists.iter_mut().zip(places) {
                let (begin, end) = (place.start.max(first), place.end.min(last));
                if begin < end {
                    list.extend_from_slice(&room[begin - first..end - first]);
                }
            }
        }
        Ok(lists)
    }
}
