//! Private device whose queue tests configure, read and fill.

use levelflow_testbed::Namespace;

/// Creates a namespace with the device `lf0` and no listening sockets. The device carries only the test's packets.
#[must_use]
pub fn with_device(name: &str) -> Namespace {
    let namespace = Namespace::new(name).unwrap();
    if std::fs::exists("/proc/sys/net/ipv6").unwrap() {
        // With IPv6, a device would send packets that announce its multicast groups.
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
