//! Prefetches memory for upcoming deliveries.

use crate::ring::Ring;

/// Prefetch distance of packets, in deliveries. These deliveries take about one memory latency.
const PREFETCH_DISTANCE_PACKETS: usize = 1;
/// Prefetch distance of queue positions, in deliveries. A position must be in the cache before its packet can be
/// prefetched.
const PREFETCH_DISTANCE_PLACES: usize = 3 * PREFETCH_DISTANCE_PACKETS;

/// Prefetches a position of the queue that will be needed later. Returns the first packet of the queue and the packet
/// to prefetch. Returns `None` for a short queue, whose packets are in the cache anyway.
#[inline]
pub fn ahead<T: Copy + Default, I>(line: &Ring<T>, packet: impl Fn(&T) -> I) -> Option<[I; 2]> {
    let later = line.get(PREFETCH_DISTANCE_PACKETS)?;
    if let Some(further) = line.get(PREFETCH_DISTANCE_PLACES) {
        prefetch(further);
    }
    Some([packet(&line[0]), packet(later)])
}

/// Number of cache lines of a value to prefetch. Most laws use only these lines of a flow.
#[cfg(target_arch = "x86_64")]
const MAX_LINES: usize = 4;

/// Prefetches a value without waiting for the memory. For a large value, prefetches only its beginning.
#[inline]
pub fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    for line in (0..size_of::<T>()).step_by(64).take(MAX_LINES) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let address = std::ptr::from_ref(value).cast::<i8>().wrapping_add(line);
        // SAFETY: a prefetch changes nothing that a program can observe, and every x86-64 processor has the
        // instruction.
        #[allow(unsafe_code, reason = "no safe function has this instruction yet")]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(address);
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefetch_starts_above_a_number_of_packets_in_flight() {
        let mut line = Ring::default();
        (0..PREFETCH_DISTANCE_PACKETS).for_each(|i| line.push_back(i));
        assert_eq!(ahead(&line, |&i| i), None);
        line.push_back(PREFETCH_DISTANCE_PACKETS);
        assert_eq!(ahead(&line, |&i| i), Some([0, PREFETCH_DISTANCE_PACKETS]));
    }
}
