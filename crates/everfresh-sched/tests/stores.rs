//! Every store passes the suite.

use everfresh_sched::{Memory, checks};

#[test]
fn memory_conforms() {
    assert_eq!(checks::conforms(Memory::new(), Ok), Ok(()));
}
