//! A server that has much to read before it answers says nothing meanwhile, and is not taken for one that is gone.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, Instant};

use bcmr_tests::Site;

use crate::client;

const GIB: u64 = 1 << 30;

fn sparse(path: &Path, size: u64) {
    File::create(path).unwrap().set_len(size).unwrap();
}

#[test]
fn backuppc_373_a_hash_that_takes_longer_than_the_bound_is_waited_for() {
    let site = Site::new();
    // As much as takes the server longer than it may keep silent, by a bound that is looked at twice a second.
    let (mut size, mut took) = (GIB, Duration::ZERO);
    while took < Duration::from_secs(2) {
        size *= 2;
        sparse(&site.path("big"), size);
        let begun = Instant::now();
        client(&site).args(["--stall", "1", "hash", ":big"]).run().succeeds();
        took = begun.elapsed();
    }
    sparse(&site.path("half"), size / 2);
    sparse(&site.outside().join("big"), size);
    client(&site).args(["--stall", "1", "check", "--strict", "big", ":big"]).run().succeeds();
    let resumed = ["--compress", "none", "-C", "-f", "-y", "big", ":half"];
    client(&site).args(["--stall", "1"]).copy(resumed).succeeds();
    assert_eq!(fs::metadata(site.path("half")).unwrap().len(), size);
}
