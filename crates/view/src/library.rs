//! The policies that a viewer offers.

use cinoc_control::Tasks;
use cinoc_learn::policy_file::{PolicyError, PolicyFile};

/// A policy under the name that the page shows.
pub struct Offered {
    /// Its name: the task of a shipped policy, else the path that was given.
    pub name: String,
    /// The policy.
    pub policy: PolicyFile,
}

/// All policies of a viewer. Nothing else can be reached from a page.
pub struct Library {
    /// The policies, the first one to begin with.
    pub offered: Vec<Offered>,
}

macro_rules! files {
    ($($name:literal),*) => {
        [$(($name, include_bytes!(concat!("../policies/", $name, ".safetensors")) as &[u8])),*]
    };
}

/// Name and file of every policy that is part of the program, in the order in which a page offers them.
const SHIPPED: [(&str, &[u8]); 8] =
    files!("fkpp1d", "heat1d", "ks1d", "heat2d", "heat2d-obstacles", "density2d", "ks2d", "turb2d");

/// The file of a policy that is part of the program.
pub fn shipped(name: &str) -> Option<&'static [u8]> {
    SHIPPED.iter().find(|(known, _)| *known == name).map(|(_, bytes)| *bytes)
}

impl Library {
    /// The shipped policies, with those of the command line before them.
    pub fn new(given: Vec<Offered>) -> Result<Library, PolicyError> {
        let mut offered = given;
        for (name, bytes) in SHIPPED {
            let policy = PolicyFile::from_bytes(bytes, name.as_ref(), Tasks::built_in())?;
            offered.push(Offered { name: name.to_string(), policy });
        }
        Ok(Library { offered })
    }

    /// The policy of a name.
    pub fn find(&self, name: &str) -> Option<&Offered> {
        self.offered.iter().find(|offered| offered.name == name)
    }
}
