use super::points::{Point, combine};
use super::sketch::Sketch;
use crate::error::{Error, Result};
use crate::units::Period;
use rapidhash::v3::rapidhash_v3;
use std::collections::VecDeque;

/// How much is remembered of a page: h profiles, m fragments of each base version, and points of each profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    profiles: usize,
    fragments: usize,
    points: usize,
}

impl Memory {
    /// One profile, eight fragments, twelve points: at most 128 bytes a page (OP08 section 5.2).
    pub const SMALL: Memory = Memory { profiles: 1, fragments: 8, points: 12 };

    /// `profiles` (h) from 1 to 16, `fragments` (m) from 1 to 4096, `points` from 2 to 255 for each profile.
    pub fn new(profiles: usize, fragments: usize, points: usize) -> Result<Memory> {
        let check = |what, bound, value: usize, least, most| {
            let is_legal = (least..=most).contains(&value);
            if is_legal { Ok(value) } else { Err(Error::OutOfBounds { what, bound, value: value as f64 }) }
        };
        Ok(Memory {
            profiles: check("number of profiles", "between 1 and 16", profiles, 1, 16)?,
            fragments: check("number of fragments of a base", "between 1 and 4096", fragments, 1, Sketch::MOST)?,
            points: check("number of points of a profile", "between 2 and 255", points, 2, 255)?,
        })
    }

    /// How many profiles (h).
    pub const fn profiles(&self) -> usize {
        self.profiles
    }

    /// How many fragments of a base version (m).
    pub const fn fragments(&self) -> usize {
        self.fragments
    }

    /// How many points of a profile.
    pub const fn points(&self) -> usize {
        self.points
    }

    /// After how many visits that found a difference the next profile begins: all h together span `points` of them.
    fn stride(&self) -> u32 {
        u32::try_from(self.points.div_ceil(self.profiles)).unwrap_or(u32::MAX)
    }
}

/// A measurement as it is kept: elapsed seconds, and the divergence in parts of 65,535.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kept {
    elapsed_s: u32,
    parts: u16,
}

impl Kept {
    fn new(elapsed_s: u32, divergence: f64) -> Kept {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share is between 0 and 1")]
        let parts = (divergence.clamp(0.0, 1.0) * f64::from(u16::MAX)).round() as u16;
        Kept { elapsed_s, parts }
    }

    fn point(self) -> Option<Point> {
        Point::new(Period::raw(f64::from(self.elapsed_s)), f64::from(self.parts) / f64::from(u16::MAX)).ok()
    }
}

/// A change profile: a base version, and how different the page was from it at later visits (OP08 section 4.1).
///
/// Divergence that falls, because content came back (OP08 footnote 3), is kept as it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeProfile {
    base_time_s: u64,
    base: Sketch,
    /// In order of time.
    points: Vec<Kept>,
    /// Visits since the page first differed from the base.
    differing: u32,
}

impl ChangeProfile {
    fn new(base_time_s: u64, base: Sketch) -> Self {
        ChangeProfile { base_time_s, base, points: Vec::new(), differing: 0 }
    }

    /// When the base version was seen.
    pub const fn base_time_s(&self) -> u64 {
        self.base_time_s
    }

    /// The base version.
    pub const fn base(&self) -> &Sketch {
        &self.base
    }

    /// The points that are kept, in order of time.
    pub fn points(&self) -> Vec<Point> {
        self.points.iter().filter_map(|kept| kept.point()).collect()
    }

    fn last_time_s(&self) -> u64 {
        self.base_time_s + self.points.last().map_or(0, |last| u64::from(last.elapsed_s))
    }

    fn extend(&mut self, elapsed_s: u32, version: &Sketch, most: usize) {
        let seen = Kept::new(elapsed_s, self.base.distance(version).value);
        if seen.parts > 0 || self.differing > 0 {
            self.differing = self.differing.saturating_add(1);
        }
        self.points.push(seen);
        if self.points.len() > most {
            self.thin();
        }
    }

    /// Drops the point that is missed least, never the last.
    ///
    /// Between two points divergence is known only to lie between theirs (OP08 figure 7); what a point tells is by how much
    /// the area of that doubt is smaller with it. A point between two of the same divergence tells nothing.
    fn thin(&mut self) {
        let area = |from: Kept, to: Kept, a: Kept, b: Kept| {
            f64::from(to.elapsed_s - from.elapsed_s) * f64::from(a.parts.abs_diff(b.parts))
        };
        let told = |at: usize| {
            let before = if at == 0 { Kept { elapsed_s: 0, parts: 0 } } else { self.points[at - 1] };
            let (here, behind) = (self.points[at], self.points[at + 1]);
            area(before, here, here, behind) + area(here, behind, before, here)
        };
        let least = (0..self.points.len() - 1).min_by(|a, b| told(*a).total_cmp(&told(*b)));
        if let Some(least) = least {
            self.points.remove(least);
        }
    }
}

/// All that is remembered of how a page changes: up to h profiles, and what dropped ones left behind.
///
/// Every visit extends every profile. A new one begins with the first visit, and whenever the newest has seen enough visits
/// since the page first differed from its base (`points / h`); over h the oldest is dropped. So a quiet page keeps
/// its base, however long, and a page that changes is measured from a new base before the old one has nothing left to
/// tell. The points of a dropped profile stay for the fit, the oldest leaving first, while there is room: at most `h x points`
/// in all. Without that, h = 1 would know nothing after each new beginning.
///
/// ```
/// use everfresh::longevity::{Cut, Memory, Profiles, Sketch};
/// let sketch = |text: &str| Sketch::of(text, Cut::words(1).unwrap(), 8);
/// let mut page = Profiles::new(Memory::SMALL);
/// page.visit(1_000, &sketch("soup salad bread")?)?;
/// page.visit(1_060, &sketch("soup salad bread")?)?;
/// page.visit(1_180, &sketch("soup salad fish")?)?;
/// let seen: Vec<_> = page.points().iter().map(|p| (p.elapsed().seconds(), p.divergence())).collect();
/// assert_eq!(seen[0], (60.0, 0.0));
/// assert!(seen[1].0 == 180.0 && (seen[1].1 - 0.5).abs() < 1e-5);
/// let error = page.visit(1_180, &sketch("soup")?).unwrap_err();
/// assert_eq!(error.to_string(), "cannot extend a profile: time must be after the last visit at 1180 s, got 1180 s");
/// assert_eq!(Profiles::decode(&page.encode())?, page);
/// # Ok::<(), everfresh::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profiles {
    memory: Memory,
    /// Oldest first.
    live: VecDeque<ChangeProfile>,
    /// Points of dropped profiles, oldest first.
    retired: VecDeque<Kept>,
}

impl Profiles {
    /// A page that was never visited.
    pub fn new(memory: Memory) -> Self {
        Profiles { memory, live: VecDeque::new(), retired: VecDeque::new() }
    }

    /// How much is remembered.
    pub const fn memory(&self) -> Memory {
        self.memory
    }

    /// The profiles that go on, oldest first.
    pub fn profiles(&self) -> impl ExactSizeIterator<Item = &ChangeProfile> {
        self.live.iter()
    }

    /// All points as one profile, averaged where elapsed times are the same (OP08 section 4.2, step 1).
    pub fn points(&self) -> Vec<Point> {
        let kept = self.live.iter().flat_map(|profile| &profile.points).chain(&self.retired);
        let points: Vec<Point> = kept.filter_map(|kept| kept.point()).collect();
        combine([points.as_slice()])
    }

    /// When the page was last visited.
    pub fn last_time_s(&self) -> Option<u64> {
        self.live.back().map(ChangeProfile::last_time_s)
    }

    /// Takes in the version that a visit found, a sketch of m fragments or more.
    ///
    /// A time that is not after the last visit, or more than 2^32 seconds after a base, is an error and changes nothing.
    pub fn visit(&mut self, time_s: u64, version: &Sketch) -> Result<()> {
        let m = self.memory.fragments;
        if version.most() < m {
            return Err(cannot(&format!(
                "a version must be a sketch of at least {m} fragments, got {}",
                version.most()
            )));
        }
        if let Some(last) = self.last_time_s().filter(|last| time_s <= *last) {
            return Err(cannot(&format!("time must be after the last visit at {last} s, got {time_s} s")));
        }
        let elapsed = |base: u64| {
            let message =
                || cannot(&format!("time must be less than 2^32 s after the base at {base} s, got {time_s} s"));
            u32::try_from(time_s - base).map_err(|_| message())
        };
        let elapsed = self.live.iter().map(|profile| elapsed(profile.base_time_s)).collect::<Result<Vec<u32>>>()?;
        for (profile, elapsed_s) in self.live.iter_mut().zip(elapsed) {
            profile.extend(elapsed_s, version, self.memory.points);
        }
        if self.live.back().is_none_or(|newest| newest.differing >= self.memory.stride()) {
            self.begin(time_s, version.shortened(m));
        }
        self.make_room();
        Ok(())
    }

    fn begin(&mut self, time_s: u64, base: Sketch) {
        self.live.push_back(ChangeProfile::new(time_s, base));
        if self.live.len() > self.memory.profiles
            && let Some(oldest) = self.live.pop_front()
        {
            self.retired.extend(oldest.points);
        }
    }

    fn make_room(&mut self) {
        let live: usize = self.live.iter().map(|profile| profile.points.len()).sum();
        let room = (self.memory.profiles * self.memory.points).saturating_sub(live);
        self.retired.drain(..self.retired.len().saturating_sub(room));
    }
}

fn cannot(why: &str) -> Error {
    Error::Inconsistent(format!("cannot extend a profile: {why}"))
}

/// The first byte of what [`Profiles::encode`] writes.
const VERSION: u8 = 1;

/// Version 1: version, h, m, points; the number of profiles and of each base time, fragments, visits that differed and
/// points; the points that dropped profiles left; a check of two bytes. Numbers are in LEB128, fragments in four bytes, divergences in
/// two, the least byte first; the times of a profile's points are written as steps, those of left points in four bytes.
impl Profiles {
    /// Everything as bytes, to be stored: at most 128 with [`Memory::SMALL`] while visits are less than 8 years apart.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        for number in [self.memory.profiles, self.memory.fragments, self.memory.points, self.live.len()] {
            put(&mut bytes, number as u64);
        }
        for profile in &self.live {
            put(&mut bytes, profile.base_time_s);
            put(&mut bytes, profile.base.len() as u64);
            bytes.extend(profile.base.kept().iter().flat_map(|kept| kept.to_le_bytes()));
            put(&mut bytes, u64::from(profile.differing));
            put(&mut bytes, profile.points.len() as u64);
            let mut before = 0;
            for kept in &profile.points {
                put(&mut bytes, u64::from(kept.elapsed_s - before));
                bytes.extend(kept.parts.to_le_bytes());
                before = kept.elapsed_s;
            }
        }
        put(&mut bytes, self.retired.len() as u64);
        for kept in &self.retired {
            bytes.extend(kept.elapsed_s.to_le_bytes());
            bytes.extend(kept.parts.to_le_bytes());
        }
        let check = check(&bytes);
        bytes.extend(check);
        bytes
    }

    /// What [`Profiles::encode`] wrote; bytes that are cut off, damaged or of another version are an error.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let bad = |why: &str| Error::Inconsistent(format!("cannot read profiles: {why}"));
        match bytes.first() {
            Some(&VERSION) => {}
            Some(other) => return Err(bad(&format!("version must be {VERSION}, got {other}"))),
            None => return Err(bad("there must be at least one byte, got none")),
        }
        let (body, sum) = bytes.split_last_chunk::<2>().ok_or_else(|| bad("the check is missing"))?;
        if check(body) != *sum {
            return Err(bad("the check does not match: the bytes are damaged or cut off"));
        }
        let mut reader = Reader(&body[1..]);
        let profiles = reader.profiles().ok_or_else(|| bad("the bytes are not what was written"))?;
        if reader.0.is_empty() { Ok(profiles) } else { Err(bad("there are bytes left over")) }
    }
}

fn check(bytes: &[u8]) -> [u8; 2] {
    let [a, b, ..] = rapidhash_v3(bytes).to_le_bytes();
    [a, b]
}

/// Seven bits in each byte, least first; the highest bit says that more follow.
fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    bytes.push(number.to_le_bytes()[0]);
}

/// What is left to read; nothing is believed, least of all a length.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*bytes)
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for place in 0..10 {
            let [byte] = self.bytes()?;
            let bits = u64::from(byte & 0x7F);
            if bits.leading_zeros() < 7 * place {
                return None;
            }
            number |= bits << (7 * place);
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn length(&mut self, most: usize) -> Option<usize> {
        usize::try_from(self.number()?).ok().filter(|length| *length <= most)
    }

    fn profiles(&mut self) -> Option<Profiles> {
        let [h, m, points] = [self.length(16)?, self.length(Sketch::MOST)?, self.length(255)?];
        let memory = Memory::new(h, m, points).ok()?;
        let live = (0..self.length(h)?).map(|_| self.profile(memory)).collect::<Option<_>>()?;
        let retired = (0..self.length(h * points)?).map(|_| self.left()).collect::<Option<_>>()?;
        Some(Profiles { memory, live, retired })
    }

    fn profile(&mut self, memory: Memory) -> Option<ChangeProfile> {
        let base_time_s = self.number()?;
        let fragments = self.length(memory.fragments)?;
        let fragments = (0..fragments).map(|_| self.bytes().map(u32::from_le_bytes)).collect::<Option<_>>()?;
        let base = Sketch::from_parts(fragments, u32::try_from(memory.fragments).ok()?)?;
        let differing = u32::try_from(self.number()?).ok()?;
        let mut points: Vec<Kept> = Vec::new();
        for _ in 0..self.length(memory.points)? {
            points.push(self.kept(points.last().map_or(0, |before| before.elapsed_s))?);
        }
        base_time_s.checked_add(u64::from(u32::MAX))?;
        Some(ChangeProfile { base_time_s, base, points, differing })
    }

    /// A point that a dropped profile left: never at once after its base.
    fn left(&mut self) -> Option<Kept> {
        let elapsed_s = Some(u32::from_le_bytes(self.bytes()?)).filter(|elapsed| *elapsed > 0)?;
        Some(Kept { elapsed_s, parts: u16::from_le_bytes(self.bytes()?) })
    }

    /// A point some time after another: never at once.
    fn kept(&mut self, before_s: u32) -> Option<Kept> {
        let step = u32::try_from(self.number()?).ok().filter(|step| *step > 0)?;
        Some(Kept { elapsed_s: before_s.checked_add(step)?, parts: u16::from_le_bytes(self.bytes()?) })
    }
}
