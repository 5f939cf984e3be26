//! A device of its own whose queue tests set, read and fill.

use levelflow_testbed::Namespace;

/// A namespace with the device `lf0`, nobody who listens, and nothing on the wire but what the tests send.
#[must_use]
pub fn with_device(name: &str) -> Namespace {
    let namespace = Namespace::new(name).unwrap();
    if std::fs::exists("/proc/sys/net/ipv6").unwrap() {
        // A device that comes up with IPv6 says which groups it listens to, at once and once more seconds later.
        namespace.sysctl("ipv6/conf/default/disable_ipv6", "1").unwrap();
    }
    namespace
        .ip("link add lf0 type veth peer name lf1\nlink set lf0 up\nlink set lf1 up\naddr add 10.9.8.1/24 dev lf0")
        .unwrap();
    namespace
        .ip("neigh add 10.9.8.2 lladdr 02:00:00:00:00:02 dev lf0")
        .unwrap();
    namespace
}
