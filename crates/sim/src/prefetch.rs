//! Memory that deliveries to come need is asked for while other work goes on.

use crate::ring::Ring;

/// The packet so many places behind the next one is asked for: until it is due, its link and others deliver, which takes about
/// as long as reading memory.
const AHEAD: usize = 1;
/// Its place in the line is asked for when it is so far behind, as it has to be read to find the packet.
const FURTHER: usize = 3 * AHEAD;

/// Of a line of packets, the first one and one further back, if there are so many: where few are on their way, all are in
/// the cache. Asks for a place of the line still further back.
#[inline]
pub fn ahead<T: Copy + Default, I>(line: &Ring<T>, packet: impl Fn(&T) -> I) -> Option<[I; 2]> {
    let later = line.get(AHEAD)?;
    if let Some(further) = line.get(FURTHER) {
        prefetch(further);
    }
    Some([packet(&line[0]), packet(later)])
}

/// Cache lines of a value that are asked for: what most laws need of a flow.
const LINES: usize = 4;

/// Asks for the memory of a value, or the beginning of a large one, and does not wait for it.
#[inline]
pub fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    for line in (0..size_of::<T>()).step_by(64).take(LINES) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let address = std::ptr::from_ref(value).cast::<i8>().wrapping_add(line);
        // SAFETY: a prefetch accesses nothing that a program can see, and every x86-64 processor has it.
        #[allow(unsafe_code, reason = "the instruction has no safe name yet")]
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
    fn it_looks_ahead_only_where_many_are_under_way() {
        let mut line = Ring::default();
        (0..AHEAD).for_each(|i| line.push_back(i));
        assert_eq!(ahead(&line, |&i| i), None);
        line.push_back(AHEAD);
        assert_eq!(ahead(&line, |&i| i), Some([0, AHEAD]));
    }
}
