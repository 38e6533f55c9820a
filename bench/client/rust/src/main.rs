// The peer of `decode` in ../../subject.c: the types that kube-rs has, read by serde_json, with the same arguments and the
// same answer.
//
//     bench-decode decode KIND URL TOKEN FILE N
use k8s_openapi::api::core::v1::Pod;

fn cpu_ms() -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut t) };
    t.tv_sec as f64 * 1e3 + t.tv_nsec as f64 / 1e6
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    assert!(args.len() == 7 && args[1] == "decode", "usage: bench-decode decode KIND URL TOKEN FILE N");
    let text = std::fs::read(&args[5]).expect("pod");
    let n: usize = args[6].parse().expect("N");
    let mut found = 0;
    let (wall, cpu) = (std::time::Instant::now(), cpu_ms());
    for _ in 0..n {
        let pod: Pod = serde_json::from_slice(&text).expect("decode");
        found += pod.metadata.name.map_or(0, |name| name.len());
    }
    println!("wall_ms {}\ncpu_ms {}\nfound {}", wall.elapsed().as_secs_f64() * 1e3, cpu_ms() - cpu, found);
}
