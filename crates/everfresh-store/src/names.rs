//! Addresses of pages, and names of hosts and groups.

use crate::engine::Engine;
use crate::failed;
use everfresh_sched::{Error, GroupId, HostId, PageId, Result};
use std::collections::HashMap;
use xxhash_rust::xxh3::xxh3_64;

/// The number under which an address is looked for first: its hash by XXH3, which never changes.
pub fn page_id(address: &str) -> PageId {
    PageId(xxh3_64(address.as_bytes()))
}

/// Names of hosts and groups, by number and back. Pages are too many: their addresses stay on disk.
#[derive(Clone, Debug, Default)]
pub struct Names {
    hosts: Numbered,
    groups: Numbered,
}

#[derive(Clone, Debug, Default)]
struct Numbered {
    names: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl Numbered {
    fn get(&self, number: u32) -> Option<&str> {
        self.names.get(number as usize).map(String::as_str).filter(|name| !name.is_empty())
    }

    fn set(&mut self, number: u32, name: &str) {
        let place = number as usize;
        if self.names.len() <= place {
            self.names.resize(place + 1, String::new());
        }
        name.clone_into(&mut self.names[place]);
        self.numbers.insert(name.to_owned(), number);
    }

    fn next(&self) -> Option<u32> {
        u32::try_from(self.names.len()).ok()
    }
}

impl Names {
    pub(crate) fn load(engine: &Engine) -> Result<Names> {
        let mut names = Names::default();
        // Group 0 is where pages are of which nothing was said.
        names.groups.set(0, "default");
        for (keyspace, into) in [(&engine.hosts, &mut names.hosts), (&engine.groups, &mut names.groups)] {
            for entry in keyspace.iter() {
                let (key, value) = entry.into_inner().map_err(|error| failed("names")(&error))?;
                let number = key.as_ref().try_into().map_or(0, u32::from_be_bytes);
                into.set(number, &String::from_utf8_lossy(&value));
            }
        }
        Ok(names)
    }

    /// A host's name.
    pub fn host(&self, host: HostId) -> Option<&str> {
        self.hosts.get(host.0)
    }

    /// A group's name.
    pub fn group(&self, group: GroupId) -> Option<&str> {
        self.groups.get(group.0.into())
    }

    /// A host by its name.
    pub fn find_host(&self, name: &str) -> Option<HostId> {
        self.hosts.numbers.get(name).copied().map(HostId)
    }

    /// A group by its name.
    pub fn find_group(&self, name: &str) -> Option<GroupId> {
        self.groups.numbers.get(name).and_then(|number| u16::try_from(*number).ok()).map(GroupId)
    }

    /// All hosts.
    pub fn hosts(&self) -> impl Iterator<Item = (HostId, &str)> {
        (0..).map(HostId).zip(&self.hosts.names).map(|(host, name)| (host, name.as_str()))
    }

    /// All groups.
    pub fn groups(&self) -> impl Iterator<Item = (GroupId, &str)> {
        (0..).map(GroupId).zip(&self.groups.names).map(|(group, name)| (group, name.as_str()))
    }

    pub(crate) fn set_host(&mut self, host: HostId, name: &str) {
        self.hosts.set(host.0, name);
    }

    pub(crate) fn set_group(&mut self, group: GroupId, name: &str) {
        self.groups.set(group.0.into(), name);
    }

    pub(crate) fn next_host(&self) -> Result<HostId> {
        self.hosts
            .next()
            .map(HostId)
            .ok_or_else(|| Error::Store("there are as many hosts as can be counted".to_owned()))
    }

    pub(crate) fn next_group(&self) -> Result<GroupId> {
        let number = self.groups.next().and_then(|number| u16::try_from(number).ok());
        number.map(GroupId).ok_or_else(|| Error::Store("there must be at most 65536 groups".to_owned()))
    }
}
