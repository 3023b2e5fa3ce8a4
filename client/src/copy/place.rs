//! Where the copies of local sources go.

use std::path::PathBuf;

use bcmr_wire::Message;

use super::Outcomes;
use super::names::{self, Into, Standing};
use crate::exchange::{Dead, Exchange, Reply};
use crate::exit::Fatal;
use crate::plan::{Source, join};
use crate::rerun;

/// What stands where the copies go.
pub(super) fn look(to: &str, link: &mut Exchange) -> Result<Standing, Dead> {
    Ok(match link.call(&Message::Stat { path: to })? {
        Reply::Stat(stat) if stat.is_dir => Standing::Directory,
        Reply::Stat(_) => Standing::File,
        // Absent, or a profile that answers no Stat: then the slash decides.
        Reply::Error(_) => Standing::Absent,
        _ => return Err(Dead),
    })
}

/// Decides where the copies go.
pub(super) fn place(
    sources: &[PathBuf],
    to: &str,
    standing: Standing,
    outcomes: &Outcomes,
) -> Result<Vec<Source>, Fatal> {
    if let [source] = sources
        && outcomes.settings.recursive
        && source.is_dir()
    {
        match standing {
            Standing::File => return Err(names::not_over_a_file(to)),
            Standing::Absent if names::decide(to, to, standing, 1)? == Into::Name(to) => {
                rerun::is_renamed(&source.to_string_lossy());
            }
            _ => {}
        }
    }
    if outcomes.settings.overwrite {
        names::check_distinct(sources.iter().filter_map(|source| names::own_name(source)?.to_str()))?;
    }
    let remote = |source: &PathBuf| match names::decide(to, to, standing, sources.len())? {
        Into::Name(name) => Ok(Some(name.to_owned())),
        Into::Directory(dir) => Ok(match names::own_name(source).map(|name| name.to_str()) {
            None => Some(dir.to_owned()),
            Some(Some(name)) => Some(join(dir, name)),
            Some(None) => {
                let name = source.as_os_str().as_encoded_bytes().escape_ascii();
                outcomes.fail(name, "the name is not UTF-8, so the protocol cannot carry it");
                None
            }
        }),
    };
    sources
        .iter()
        .filter_map(|source| match remote(source) {
            Ok(None) => None,
            Ok(Some(remote)) => Some(Ok(Source { local: source.clone(), remote })),
            Err(fatal) => Some(Err(fatal)),
        })
        .collect()
}
