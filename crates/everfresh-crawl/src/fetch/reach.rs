use ipnet::IpNet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Which addresses of the internet protocol may be connected to.
///
/// By default only those that are reachable for everybody: not this machine, its networks, multicast, or where clouds
/// keep the secrets of a machine (the IANA special-purpose registries of RFC 6890, as of 2025). An IPv6 address that
/// carries an IPv4 address (mapped, compatible, NAT64, 6to4) is judged by that.
///
/// ```
/// use everfresh_crawl::fetch::Reach;
///
/// let reach = Reach::public();
/// assert!(reach.permits("93.184.215.14".parse().unwrap()));
/// assert!(!reach.permits("::ffff:10.0.0.1".parse().unwrap()));
/// assert!(reach.and("10.0.0.0/8".parse().unwrap()).permits("10.0.0.1".parse().unwrap()));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reach {
    anywhere: bool,
    also: Vec<IpNet>,
}

impl Reach {
    /// What everybody can reach, and nothing else.
    pub fn public() -> Reach {
        Reach::default()
    }

    /// Everything: for an operator who trusts every address and every redirect.
    pub fn anywhere() -> Reach {
        Reach { anywhere: true, also: Vec::new() }
    }

    /// This network too.
    #[must_use]
    pub fn and(mut self, network: IpNet) -> Reach {
        self.also.push(network);
        self
    }

    /// May it be connected to?
    pub fn permits(&self, ip: IpAddr) -> bool {
        let ip = carried(ip);
        self.anywhere || self.also.iter().any(|network| network.contains(&ip)) || is_public(ip)
    }
}

/// The IPv4 address that an IPv6 address carries, or the address itself.
fn carried(ip: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = ip else { return ip };
    let bytes = v6.octets();
    let four = |at: usize| IpAddr::V4(Ipv4Addr::new(bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]));
    match v6.segments() {
        // ::1 and :: are no IPv4 addresses, though they look compatible with one.
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => ip,
        [0, 0, 0, 0, 0, 0 | 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => four(12),
        [0x2002, ..] => four(2),
        _ => ip,
    }
}

fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => is_public_v6(v6),
    }
}

fn is_public_v4(ip: Ipv4Addr) -> bool {
    // The wire server of Azure's machines answers on an address that looks public.
    const AZURE: Ipv4Addr = Ipv4Addr::new(168, 63, 129, 16);
    let special = match ip.octets() {
        [0 | 10 | 127 | 224.., ..]
        | [169, 254, ..]
        | [192, 168, ..]
        | [192, 0, 0 | 2, _]
        | [192, 88, 99, _]
        | [198, 18..=19, ..]
        | [198, 51, 100, _]
        | [203, 0, 113, _] => true,
        [100, second, ..] => second & 0xc0 == 64,
        [172, second, ..] => second & 0xf0 == 16,
        _ => false,
    };
    !special && ip != AZURE
}

/// Only `2000::/3` is given out for everybody, and parts of it are set aside.
fn is_public_v6(ip: Ipv6Addr) -> bool {
    let [first, second, ..] = ip.segments();
    let protocols = first == 0x2001 && second < 0x200;
    let documentation = (first == 0x2001 && second == 0xdb8) || (first == 0x3fff && second < 0x1000);
    first & 0xe000 == 0x2000 && !protocols && !documentation
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_addresses_are_refused() {
        for text in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "100.100.100.200",
            "127.0.0.1",
            "127.255.255.254",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.192",
            "192.0.2.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "239.1.1.1",
            "240.0.0.1",
            "255.255.255.255",
            "168.63.129.16",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::127.0.0.1",
            "64:ff9b::10.0.0.1",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2002:c0a8:101::1",
            "fe80::1",
            "fec0::1",
            "fc00::1",
            "fd00:ec2::254",
            "ff02::1",
            "100::1",
            "2001::1",
            "2001:db8::1",
            "3fff::1",
            "5f00::1",
        ] {
            assert!(!Reach::public().permits(text.parse().unwrap()), "{text}");
            assert!(Reach::anywhere().permits(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn public_addresses_are_permitted() {
        for text in [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "172.15.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "198.17.0.1",
            "198.20.0.1",
            "223.255.255.255",
            "2606:4700::1111",
            "2001:4860:4860::8888",
            "2a00:1450::1",
            "::ffff:8.8.8.8",
            "64:ff9b::8.8.8.8",
            "2002:808:808::1",
        ] {
            assert!(Reach::public().permits(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn a_permitted_network_is_reached_under_every_spelling() {
        let reach = Reach::public().and("127.0.0.0/8".parse().unwrap());
        assert!(reach.permits("127.0.0.1".parse().unwrap()));
        assert!(reach.permits("::ffff:127.0.0.1".parse().unwrap()));
        assert!(!reach.permits("::1".parse().unwrap()));
        assert!(!reach.permits("10.0.0.1".parse().unwrap()));
    }
}
