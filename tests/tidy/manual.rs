//! What the hand-written page of the policy says. The other pages are checked where they are generated.

use bcmr_policy::file::{CAS_KEYS, DIRECT_KEYS, PROFILE_KEYS};

use crate::{none, read};

/// The keys that the page explains between one heading and the next.
fn explained(page: &str, heading: &str) -> Vec<String> {
    let section = page.split(heading).nth(1).unwrap_or_else(|| panic!("no {heading}"));
    let section = section.split("\n.S").next().unwrap();
    let key = |pair: &[&str]| (pair[0] == ".TP").then(|| pair[1].strip_prefix(".B ").map(str::to_owned))?;
    section.lines().collect::<Vec<_>>().windows(2).filter_map(key).collect()
}

#[test]
fn the_page_of_the_policy_explains_every_key_and_no_other() {
    let page = read("packaging/man/bcmr-policy.5");
    let mut places = Vec::new();
    for (heading, keys) in [
        (".SH \"THE FILE\"", &["version", "personal", "profile"][..]),
        (".SS [personal]", &["allow"]),
        (".SH PROFILES", &PROFILE_KEYS),
        (".SS [profile.NAME.cas]", &CAS_KEYS),
        (".SS [profile.NAME.direct]", &DIRECT_KEYS),
    ] {
        let explained = explained(&page, heading);
        let missing = keys.iter().filter(|key| !explained.iter().any(|e| e == *key));
        places.extend(missing.map(|key| format!("{heading}: {key} is missing")));
        let surplus = explained.iter().filter(|e| !keys.contains(&e.as_str()));
        places.extend(surplus.map(|key| format!("{heading}: {key} is no key")));
    }
    none("keys of the policy", &places);
}

/// The example is what operators copy: it must be a policy, and have the profiles that the rest speaks of.
#[test]
fn the_example_policy_has_the_profiles_of_the_snippet_and_of_the_groups() {
    let policy: toml::Table = read("packaging/examples/policy.toml").parse().unwrap();
    let snippet = read("packaging/examples/sshd.conf");
    let groups = read("packaging/bcmr-serve.sysusers");
    let profiles: Vec<_> = policy["profile"].as_table().unwrap().keys().cloned().collect();
    assert_eq!(profiles, ["dropbox", "mirror", "upload"]);
    for profile in profiles {
        assert!(
            snippet.contains(&format!("ForceCommand /usr/bin/bcmr-serve --profile {profile}\n")),
            "{profile}"
        );
        assert!(snippet.contains(&format!("Match Group bcmr-{profile}\n")), "{profile}");
        assert!(groups.contains(&format!("\ng bcmr-{profile} - -\n")), "{profile}");
        for script in ["packaging/deb/bcmr-serve.postinst", "packaging/rpm/bcmr-serve.spec"] {
            assert!(read(script).contains(&format!("bcmr-{profile}")), "{script}: {profile}");
        }
    }
    assert!(
        snippet.trim_end().ends_with("Match all"),
        "an open Match block takes in whatever sshd reads next"
    );
}
