use std::ffi::OsStr;

use bcmr_policy::{Permit, request};
use bcmr_publish::NewDirs;
use rustix::io::Errno;

use crate::failure::Failure;
use crate::tree::{Place, Tree};

/// Makes a directory and its missing parents; one that exists is as good.
pub(crate) fn mkdir(tree: &Tree, permit: Permit<request::Mkdir>, sync: bool) -> Result<(), Failure> {
    let place = match tree.place_to_write(permit.path())?.1 {
        Place::Entry(entry) if entry.is_dir() => return Ok(()),
        Place::Entry(_) => return Err(Failure::os("creating a directory")(Errno::NOTDIR)),
        place => place,
    };
    let (dir, name, parents) = tree.parent(place)?;
    let (_, made) = NewDirs::make(dir, [OsStr::new(&name)], tree.dir_mode())?;
    if sync {
        made.sync()?;
        parents.sync()?;
    }
    made.keep();
    parents.keep();
    Ok(())
}
