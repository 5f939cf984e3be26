//! Router in the kernel. The program `bpf/router.bpf.c` stamps and counts packets that leave a device. The law closes
//! control intervals in user space.
//!
//! User space and the program exchange the words of [`Offload`](levelflow_laws::offload::Offload). Two sets of words
//! exist, and one byte selects the active set. The program therefore never reads a set that is only partly written.
//!
//! For sums of integers, user space computes the difference between two readings. With floats, this difference would
//! lose precision. Sums of floats therefore begin at zero after each reading. User space changes another byte, `bank`,
//! to request this. When the next packet arrives, the program moves the sums to `done` and clears them, under its lock.

mod hook;
mod names;
#[cfg(test)]
mod tests;

use aya::maps::{Array, PerCpuArray};
use aya::programs::SchedClassifier;
use aya::{Ebpf, EbpfLoader};
use levelflow_laws::offload::{Counts, Offload, Words};
use levelflow_laws::{AnyRouter, AnyRouterParams, Counting, LAWS, PortInfo, RouterLaw};
use levelflow_units::Bytes;

pub use hook::{Hook, attached, detach};
pub use names::PROGRAM;

use names::failed;

use super::device::DataPath;
use levelflow_host::{Error, clock};
use levelflow_path::port::Traffic;

#[cfg(kernel_router)]
const OBJECT: Option<&[u8]> = Some(aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/router.bpf.o")));
#[cfg(not(kernel_router))]
const OBJECT: Option<&[u8]> = None;

/// True if this build contains the BPF program. The build needs clang for it.
pub const COMPILED: bool = OBJECT.is_some();

/// Flag of map reads. With this flag, the kernel copies the value under its lock.
const F_LOCK: u64 = 4;
/// Number of counters for display at the start of `struct count`. The law's words follow these counters.
const COUNTERS: usize = 5;
type Counted = [u64; COUNTERS + 8];

/// BPF program attached to a device. When this value is dropped, the program is detached.
#[derive(Debug)]
pub struct Program {
    program: Ebpf,
    counting: Counting,
    serial: u64,
    slot: u8,
    bank: u8,
    seen: Counted,
    hook: Option<Hook>,
}

impl Program {
    /// Attaches the program to the egress of a device. The program starts with the words of a new router with these
    /// parameters.
    ///
    /// # Errors
    /// In any of these cases:
    ///
    /// - The kernel router does not implement the law.
    /// - The build lacks the program.
    /// - Privileges are missing.
    /// - The device is not Ethernet, or already has a router.
    pub fn attach(device: &str, params: &AnyRouterParams, info: &PortInfo, hook: Option<Hook>) -> Result<Self, Error> {
        hook::check(device)?;
        let mut path = Self::load(params, info)?;
        path.hook = Some(hook::attach(path.classifier()?, device, hook)?);
        Ok(path)
    }

    fn load(params: &AnyRouterParams, info: &PortInfo) -> Result<Self, Error> {
        let signalling = params.signalling();
        let Some(counting) = signalling.routers.kernel else {
            let allowed = LAWS.iter().filter(|law| law.signalling.routers.kernel.is_some());
            let allowed = allowed.map(|law| law.name).collect::<Vec<_>>().join(", ");
            return Err(Error::input(format!(
                "law {}: it has no kernel form; allowed: {allowed}",
                signalling.name
            )));
        };
        let router = AnyRouter::new(params, info);
        if let Some(value) = router.lacks(params) {
            return Err(Error::input(format!(
                "law {}: {value} has no kernel form; allowed: other values, or a relay",
                signalling.name
            )));
        }
        let object = OBJECT.ok_or_else(|| {
            Error::failed("this build has no kernel router: install clang and build levelflow-net again")
        })?;
        let program = EbpfLoader::new()
            .override_global("SIGNALLING", &signalling.number, true)
            .override_global("ORIGIN", &clock::stamp(), true)
            .load(object)
            .map_err(|e| failed("load", &e))?;
        let mut path = Self {
            program,
            counting,
            serial: 0,
            slot: 0,
            bank: 0,
            seen: [0; COUNTERS + 8],
            hook: None,
        };
        path.load_words(&router.words(params, Bytes::ZERO))?;
        path.classifier()?.load().map_err(|e| failed("load", &e))?;
        Ok(path)
    }

    /// Returns the hook at which the program is attached.
    #[must_use]
    pub fn hook(&self) -> Option<Hook> {
        self.hook
    }

    /// Sums the counters over all CPUs.
    fn counted(&self) -> Result<Counted, Error> {
        let map: PerCpuArray<_, Counted> = self.map("COUNT")?;
        let each = map.get(&0, 0).map_err(|e| failed("collect", &e))?;
        let mut sum: Counted = [0; COUNTERS + 8];
        for counts in each.iter() {
            for (sum, count) in sum.iter_mut().zip(counts) {
                *sum = sum.wrapping_add(*count);
            }
        }
        Ok(sum)
    }

    /// Returns the sums since the last call, the words `kept`, and the number of intervals since the last packet. If no
    /// packet has arrived since the last call, the program has not moved the sums yet. In this case, the last call has
    /// already returned them, and this call returns zero.
    fn banked(&mut self) -> Result<Counts, Error> {
        let mut state = self.state()?;
        let sums = if state.bank == self.bank {
            self.bank ^= 1;
            self.control()?;
            state = self.state()?;
            if state.bank == self.bank {
                state.done
            } else {
                state.sums
            }
        } else {
            [0; 3]
        };
        let mut counts = Counts::default();
        counts[..3].copy_from_slice(&sums);
        counts[3..21].copy_from_slice(&state.kept[..18]);
        counts[21] = self.serial - state.serial;
        Ok(counts)
    }

    fn state(&self) -> Result<State, Error> {
        let map: Array<_, [u64; 29]> = self.map("STATE")?;
        let [first, serial, _now, s0, s1, s2, d0, d1, d2, kept @ ..] =
            map.get(&0, F_LOCK).map_err(|e| failed("collect", &e))?;
        let [_, _, _, _, bank @ ..] = first.to_ne_bytes();
        Ok(State {
            bank: u32::from_ne_bytes(bank) as u8,
            serial,
            sums: [s0, s1, s2],
            done: [d0, d1, d2],
            kept,
        })
    }

    /// Writes `slot`, the active set of words, and `bank`. Each is one byte, so the program never reads an incomplete
    /// change.
    fn control(&mut self) -> Result<(), Error> {
        let value = [self.slot, self.bank, 0, 0, 0, 0, 0, 0];
        let mut map: Array<_, [u8; 8]> = self.map_mut("CONTROL")?;
        map.set(0, value, 0).map_err(|e| failed("update", &e))
    }

    fn classifier(&mut self) -> Result<&mut SchedClassifier, Error> {
        let program = self.program.program_mut(PROGRAM);
        let program = program.ok_or_else(|| Error::failed("kernel router: its program is missing"))?;
        program.try_into().map_err(|e| failed("load", &e))
    }

    fn map<'a, T: TryFrom<&'a aya::maps::Map, Error = aya::maps::MapError>>(&'a self, name: &str) -> Result<T, Error> {
        let map = self.program.map(name);
        let map = map.ok_or_else(|| Error::failed(format!("kernel router: its map {name} is missing")))?;
        T::try_from(map).map_err(|e| failed("load", &e))
    }

    fn map_mut<'a, T: TryFrom<&'a mut aya::maps::Map, Error = aya::maps::MapError>>(
        &'a mut self,
        name: &str,
    ) -> Result<T, Error> {
        let map = self.program.map_mut(name);
        let map = map.ok_or_else(|| Error::failed(format!("kernel router: its map {name} is missing")))?;
        T::try_from(map).map_err(|e| failed("load", &e))
    }
}

impl DataPath for Program {
    fn load_words(&mut self, words: &Words) -> Result<(), Error> {
        self.serial += 1;
        self.refresh(words)
    }

    fn refresh(&mut self, words: &Words) -> Result<(), Error> {
        let slot = self.slot ^ 1;
        let mut value = [0; 9];
        value[0] = self.serial;
        value[1..].copy_from_slice(words);
        let mut map: Array<_, [u64; 9]> = self.map_mut("INPUT")?;
        map.set(u32::from(slot), value, 0).map_err(|e| failed("update", &e))?;
        self.slot = slot;
        self.control()
    }

    fn collect(&mut self) -> Result<(Counts, Traffic), Error> {
        let now = self.counted()?;
        let mut since = now;
        for (count, seen) in since.iter_mut().zip(self.seen) {
            *count = count.wrapping_sub(seen);
        }
        self.seen = now;
        let [packets, bytes, stamped, acks, refused, words @ ..] = since;
        let traffic = Traffic {
            packets,
            bytes,
            stamped,
            acks,
            refused,
        };
        let counts = match self.counting {
            Counting::PerProcessor => {
                let mut counts = Counts::default();
                counts[..8].copy_from_slice(&words);
                counts
            }
            Counting::Locked => self.banked()?,
        };
        Ok((counts, traffic))
    }
}

/// State of the program, with the fields of `struct state` in the BPF code.
#[derive(Debug)]
struct State {
    bank: u8,
    serial: u64,
    sums: [u64; 3],
    done: [u64; 3],
    kept: [u64; 20],
}
