//! Packets that fill the queue of a device.

use std::net::UdpSocket;

use levelflow_testbed::Namespace;

/// Sends packets of 1000 bytes each.
pub fn send(namespace: &Namespace, packets: usize) {
    let sent = namespace.run(move || {
        let socket = UdpSocket::bind("10.9.8.1:0").unwrap();
        for _ in 0..packets {
            let _ = socket.send_to(&[0; 958], "10.9.8.2:9"); // the call may fail if the queue is full
        }
    });
    sent.unwrap();
}
