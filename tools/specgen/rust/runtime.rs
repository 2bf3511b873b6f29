//! What all modules use: input with a position, errors, and values as trees.

use std::fmt;
use std::ops::{Deref, DerefMut};

pub use super::reasons::Reason;

/// The place of a field: its path from the structure that holds it, and where the specification
/// describes it.
#[derive(Clone, Copy, Debug)]
pub struct Place(pub &'static str, pub &'static str);

/// Why bytes are refused, and where.
///
/// In a box, which keeps results small: what succeeds need not move it around.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(Box<Cause>);

/// What an [`Error`] says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// Why, from the closed list of reasons.
    pub reason: Reason,
    /// One sentence for people, without the position.
    pub detail: String,
    /// Position in the input, in bytes, at which the field begins; for decompressed data, that of
    /// the compressed payload.
    pub position: u64,
    /// For decompressed data, the position in it.
    pub inner_position: Option<u64>,
    /// Path of the field in the data: ids of the specification, joined by slashes.
    pub path: String,
    /// File and place in the specification that decides; empty where no single field does.
    pub spec: &'static str,
}

impl Deref for Error {
    type Target = Cause;

    fn deref(&self) -> &Cause {
        &self.0
    }
}

impl DerefMut for Error {
    fn deref_mut(&mut self) -> &mut Cause {
        &mut self.0
    }
}

impl Error {
    /// Returns an error about the field at a place.
    #[cold]
    pub fn new(reason: Reason, detail: impl Into<String>, position: u64, place: &Place) -> Self {
        let detail = detail.into();
        let (path, spec) = (place.0.to_owned(), place.1);
        Error(Box::new(Cause { reason, detail, position, inner_position: None, path, spec }))
    }

    /// Returns the error with a step before its path.
    #[cold]
    #[must_use]
    pub fn inside(mut self, step: &str) -> Self {
        self.path.insert_str(0, step);
        self
    }

    /// Returns the error with the number of an item before its path.
    #[cold]
    #[must_use]
    pub fn inside_item(self, step: &str, index: usize) -> Self {
        self.inside(&format!("{step}/{index}"))
    }

    /// Returns the error with another position.
    #[cold]
    #[must_use]
    pub fn at(mut self, position: u64) -> Self {
        self.position = position;
        self
    }

    /// Returns the error for a value that the specification forbids.
    #[cold]
    pub fn invalid(position: u64, value: impl fmt::Display, place: &Place) -> Self {
        Error::new(Reason::InvalidValue, format!("the value {value} is not allowed"), position, place)
    }

    /// Returns the error for a checksum that is not that of the bytes.
    #[cold]
    pub fn mismatch(position: u64, stored: u32, computed: u32, place: &Place) -> Self {
        let detail = format!("the checksum is {stored:#x}, that of the bytes {computed:#x}");
        Error::new(Reason::ChecksumMismatch, detail, position, place)
    }

    /// Returns the error for a field that is cut, in a structure that is complete or not.
    #[cold]
    fn missing(complete: bool, position: u64, place: &Place) -> Self {
        let (reason, detail) = if complete {
            (Reason::Overrun, "the field reaches beyond the end of the structure that holds it")
        } else {
            (Reason::Truncated, "the input ends inside the field")
        };
        Error::new(reason, detail, position, place)
    }

    /// Returns the error for so many bytes where a structure should end.
    #[cold]
    fn trailing(left: usize, position: u64, place: &Place) -> Self {
        let detail = format!("{left} bytes are left after the last field");
        Error::new(Reason::TrailingBytes, detail, position, place)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "byte {}", self.position)?;
        if let Some(inner) = self.inner_position {
            write!(to, " (+{inner} decompressed)")?;
        }
        if !self.path.is_empty() {
            write!(to, ", {}", self.path)?;
        }
        write!(to, ": {} [{}]", self.detail, self.reason)?;
        if !self.spec.is_empty() {
            write!(to, " ({})", self.spec)?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

/// Bytes that are read from front to back, up to the end of the structure that holds them.
///
/// Its functions pass no reference to it to a function that is not inlined, so that the one of a
/// record stays in registers.
#[derive(Clone, Debug)]
pub struct Input<'a> {
    rest: &'a [u8],
    size: usize,
    end: u64,
    complete: bool,
}

impl<'a> Input<'a> {
    /// Returns an input to which more bytes may be added later: a field that is cut is truncated.
    pub fn new(bytes: &'a [u8]) -> Self {
        Input::at(bytes, 0)
    }

    /// Returns an input whose first byte has a position of its own.
    pub fn at(bytes: &'a [u8], origin: u64) -> Self {
        let end = origin.wrapping_add(bytes.len() as u64);
        Input { rest: bytes, size: bytes.len(), end, complete: false }
    }

    /// Returns the input as one that is complete: a field that is cut reaches beyond its structure.
    #[must_use]
    pub fn complete(mut self) -> Self {
        self.complete = true;
        self
    }

    /// Returns the number of bytes that were read.
    #[inline]
    pub fn position(&self) -> usize {
        self.size - self.rest.len()
    }

    /// Returns the number of all bytes.
    #[inline]
    pub fn size(&self) -> usize {
        self.size
    }

    /// Returns the number of bytes that are left.
    #[inline]
    pub fn left(&self) -> usize {
        self.rest.len()
    }

    /// Returns whether no byte is left.
    #[inline]
    pub fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// Returns the position of the next byte in the whole input.
    #[inline]
    pub fn absolute(&self) -> u64 {
        self.end.wrapping_sub(self.rest.len() as u64)
    }

    /// Returns the error for bytes where a structure should end.
    #[inline]
    pub fn trailing(&self, place: &Place) -> Error {
        Error::trailing(self.left(), self.absolute(), place)
    }

    /// Reads so many bytes.
    #[inline]
    pub fn array<const N: usize>(&mut self, place: &Place) -> Result<[u8; N], Error> {
        match self.rest.split_first_chunk::<N>() {
            Some((found, rest)) => {
                self.rest = rest;
                Ok(*found)
            }
            None => Err(Error::missing(self.complete, self.absolute(), place)),
        }
    }

    /// Returns bytes after the next ones, and reads nothing.
    #[inline]
    pub fn peek<const N: usize>(&self, after: usize, place: &Place) -> Result<[u8; N], Error> {
        match self.rest.get(after..).and_then(<[u8]>::first_chunk::<N>) {
            Some(found) => Ok(*found),
            None => Err(Error::missing(self.complete, self.absolute() + after as u64, place)),
        }
    }

    /// Reads as many bytes as a field says.
    #[inline]
    pub fn sized(&mut self, size: i64, place: &Place) -> Result<&'a [u8], Error> {
        let found = usize::try_from(size).ok().and_then(|size| self.rest.split_at_checked(size));
        match found {
            Some((found, rest)) => {
                self.rest = rest;
                Ok(found)
            }
            None if size < 0 => Err(Error::invalid(self.absolute(), size, place)),
            None => Err(Error::missing(self.complete, self.absolute(), place)),
        }
    }

    /// Reads as many bytes as a field says, as an input of their own.
    #[inline]
    pub fn part(&mut self, size: i64, place: &Place) -> Result<Input<'a>, Error> {
        let rest = self.sized(size, place)?;
        Ok(Input { rest, size: rest.len(), end: self.absolute(), complete: true })
    }

    /// Reads all bytes that are left, as an input of their own.
    #[inline]
    pub fn remainder(&mut self) -> Input<'a> {
        let (end, complete) = (self.end, self.complete);
        let rest = self.rest();
        Input { rest, size: rest.len(), end, complete }
    }

    /// Reads all bytes that are left.
    #[inline]
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    /// Reads an integer of groups of seven bits, the lowest first; bits beyond `bits` are dropped.
    #[inline]
    pub fn varint(&mut self, most: usize, bits: u32, place: &Place) -> Result<u64, Error> {
        match *self.rest {
            [first, ref rest @ ..] if first < 0x80 => {
                self.rest = rest;
                Ok(u64::from(first))
            }
            [first, second, ref rest @ ..] if second < 0x80 => {
                self.rest = rest;
                Ok(u64::from(first & 0x7f) | u64::from(second) << 7)
            }
            _ => match long_varint(self.rest, most) {
                (Varint::Whole(value), rest) => {
                    self.rest = rest;
                    Ok(value & (u64::MAX >> (64 - bits)))
                }
                (Varint::Cut, _) => Err(Error::missing(self.complete, self.absolute(), place)),
                (Varint::TooLong, _) => {
                    let detail = "the last byte that the varint may have says that another follows";
                    Err(Error::new(Reason::VarintTooLong, detail, self.absolute(), place))
                }
            },
        }
    }

    /// Returns room for items, each of which takes so many bytes: no more than the input can hold.
    pub fn room(&self, count: i64, least: usize) -> usize {
        (count.max(0) as u64).min((self.left() / least.max(1)) as u64) as usize
    }
}

enum Varint {
    Whole(u64),
    Cut,
    TooLong,
}

/// Returns the integer that some bytes begin with, and the bytes after it.
fn long_varint(bytes: &[u8], most: usize) -> (Varint, &[u8]) {
    let mut value = 0_u64;
    for group in 0..most {
        let Some(&byte) = bytes.get(group) else { return (Varint::Cut, bytes) };
        value |= u64::from(byte & 0x7f) << (7 * group);
        if byte < 0x80 {
            return (Varint::Whole(value), &bytes[group + 1..]);
        }
    }
    (Varint::TooLong, bytes)
}

/// Returns a number in the type of a field, if it fits.
#[inline]
pub fn fit<T: TryFrom<i64>>(number: i64, place: &Place) -> Result<T, Error> {
    T::try_from(number).map_err(|_| {
        Error::new(Reason::Unencodable, format!("{number} does not fit the field"), 0, place)
    })
}

/// Writes an integer in groups of seven bits, the lowest first.
pub fn varint(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

/// A value of any type as a tree.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// No value.
    Null,
    /// A single bit.
    Bool(bool),
    /// An integer.
    Integer(i128),
    /// A floating-point number.
    Float(f64),
    /// A byte string.
    Bytes(&'a [u8]),
    /// An array.
    List(Vec<Value<'a>>),
    /// A structure: its fields, then its value instances, by the names of the specification.
    Structure(Vec<(&'static str, Value<'a>)>),
}

macro_rules! integers {
    ($($kind:ty),*) => {$(
        impl From<$kind> for Value<'_> {
            fn from(value: $kind) -> Self {
                Value::Integer(i128::from(value))
            }
        }
    )*};
}

integers!(i8, i16, i32, i64, u8, u16, u32, u64);

impl From<bool> for Value<'_> {
    fn from(value: bool) -> Self {
        Value::Bool(value)
    }
}

impl From<f32> for Value<'_> {
    fn from(value: f32) -> Self {
        Value::Float(f64::from(value))
    }
}

impl From<f64> for Value<'_> {
    fn from(value: f64) -> Self {
        Value::Float(value)
    }
}

impl<'a> From<&'a [u8]> for Value<'a> {
    fn from(value: &'a [u8]) -> Self {
        Value::Bytes(value)
    }
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Null, Into::into)
    }
}

/// An argument of a type that is read by its key.
#[derive(Clone, Debug)]
pub enum Argument<'a> {
    /// A number.
    Integer(i64),
    /// A structure, which is read first.
    Structure(&'a [u8], Vec<Argument<'a>>),
}

/// Why a type is not read by its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypeError {
    /// There is no such type.
    Unknown,
    /// An argument is missing, or is of another kind.
    Arguments,
    /// The bytes are refused.
    Refused(Error),
}

impl From<Error> for TypeError {
    fn from(error: Error) -> Self {
        TypeError::Refused(error)
    }
}

/// Returns an argument that is a number.
pub fn integer(arguments: &[Argument<'_>], index: usize) -> Result<i64, TypeError> {
    match arguments.get(index) {
        Some(Argument::Integer(value)) => Ok(*value),
        _ => Err(TypeError::Arguments),
    }
}

/// Returns the bytes and the arguments of an argument that is a structure.
pub fn structure<'a, 'b>(
    arguments: &'b [Argument<'a>],
    index: usize,
) -> Result<(Input<'a>, &'b [Argument<'a>]), TypeError> {
    match arguments.get(index) {
        Some(Argument::Structure(bytes, inner)) => Ok((Input::new(bytes), inner)),
        _ => Err(TypeError::Arguments),
    }
}
