//! Connection whose client changes its address.

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

/// Forwards datagrams in both directions. On request, it continues from another port.
struct Translator {
    address: SocketAddr,
    moved: Arc<AtomicBool>,
}

impl Translator {
    fn start(server: SocketAddr) -> Self {
        let front = UdpSocket::bind("127.0.0.1:0").unwrap();
        let (address, moved) = (front.local_addr().unwrap(), Arc::new(AtomicBool::new(false)));
        let outside = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
        let wait = Some(Duration::from_millis(1));
        for socket in [&front, &outside[0], &outside[1]] {
            socket.set_read_timeout(wait).unwrap();
        }
        let has_moved = Arc::clone(&moved);
        std::thread::spawn(move || {
            let (mut buffer, mut client) = ([0; 2000], None);
            // The thread ends after the test, when the client sends no more datagrams.
            let mut last_packet = Instant::now();
            while last_packet.elapsed() < Duration::from_secs(20) {
                let own = &outside[usize::from(has_moved.load(Ordering::Relaxed))];
                while let Ok((length, from)) = front.recv_from(&mut buffer) {
                    (client, last_packet) = (Some(from), Instant::now());
                    let _ = own.send_to(&buffer[..length], server);
                }
                while let (Some(client), Ok(length)) = (client, own.recv(&mut buffer)) {
                    let _ = front.send_to(&buffer[..length], client);
                }
            }
        });
        Self { address, moved }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acks_reach_a_client_that_moved() {
    let place = sink();
    let translator = Translator::start(place.0);
    let connection = client(config("jetmax"), (translator.address, place.1)).await.unwrap();
    assert_eq!(echo_total(&connection, 200_000).await, 200_000);
    translator.moved.store(true, Ordering::Relaxed);
    let before = connection.status().unwrap().counters;
    assert_eq!(echo_total(&connection, 200_000).await, 200_000);
    let counters = connection.status().unwrap().counters;
    assert!(counters.acks > before.acks, "{before:?}, {counters:?}");
    assert_eq!(counters.refused.total(), 0);
}
