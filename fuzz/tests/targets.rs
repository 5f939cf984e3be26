//! Runs each target on seeded random bytes. If cargo-bolero sets `fuzzing`, the bytes are guided by coverage.

use levelflow_fuzz::{damaged_datagram, datagrams, headers, logs, quantities, queues, scenarios};

macro_rules! target {
    ($name:ident, $inputs:literal, $target:expr) => {
        #[test]
        fn $name() {
            let target: fn(&[u8]) = $target;
            #[cfg(fuzzing)]
            bolero::check!().for_each(target);
            #[cfg(not(fuzzing))]
            for seed in 0..$inputs {
                target(&levelflow_fuzz::bytes::random(seed));
            }
        }
    };
}

target!(headers_decode_and_encode, 200_000, headers);
target!(datagrams_decode_and_encode, 200_000, |bytes| {
    datagrams(bytes);
    datagrams(&damaged_datagram(bytes));
});
target!(logs_are_replayed_or_refused, 30_000, |bytes| {
    logs::any(bytes);
    logs::driven(bytes);
});
target!(scenario_text_is_read_or_refused, 20_000, |bytes| {
    scenarios::text(bytes);
    scenarios::text(&scenarios::damaged_text(bytes));
});
target!(scenario_structure_is_run_or_refused, 40_000, |bytes| {
    scenarios::structure(&scenarios::damaged_structure(bytes));
});
target!(options_of_queues_get_another_limit_or_are_refused, 100_000, |bytes| {
    queues::options(bytes);
    queues::options(&queues::attributes(bytes));
});
target!(files_of_undo_are_read_or_refused, 50_000, |bytes| {
    queues::undo(bytes);
    queues::undo(&queues::damaged_undo(bytes));
});
target!(quantities_print_what_they_read, 200_000, |bytes| {
    quantities(bytes);
    quantities(&levelflow_fuzz::bytes::quantity(bytes));
});
