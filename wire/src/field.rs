//! The fields of a body: little-endian integers, length-prefixed strings and bytes.

use crate::message::Malformed;

/// Takes fields off the front of a body, never past its end.
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(crate) fn new(body: &'a [u8]) -> Self {
        Self { rest: body }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], Malformed> {
        let (field, rest) = self.rest.split_at_checked(len).ok_or(Malformed::Short)?;
        self.rest = rest;
        Ok(field)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (field, rest) = self.rest.split_first_chunk().ok_or(Malformed::Short)?;
        self.rest = rest;
        Ok(*field)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Malformed> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Malformed> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Malformed> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    pub(crate) fn i64(&mut self) -> Result<i64, Malformed> {
        Ok(i64::from_le_bytes(self.array()?))
    }

    /// 0 is false, anything else is true: the public peer is lenient here.
    pub(crate) fn bool(&mut self) -> Result<bool, Malformed> {
        Ok(self.u8()? != 0)
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let len = self.u32()? as usize;
        self.take(len)
    }

    pub(crate) fn string(&mut self) -> Result<&'a str, Malformed> {
        std::str::from_utf8(self.bytes()?).map_err(|_| Malformed::NotUtf8)
    }

    /// 1 is present, anything else is absent: the public peer is lenient here.
    pub(crate) fn opt<T>(
        &mut self,
        field: impl FnOnce(&mut Self) -> Result<T, Malformed>,
    ) -> Result<Option<T>, Malformed> {
        if self.u8()? == 1 { field(self).map(Some) } else { Ok(None) }
    }

    /// A count of elements of at least `element` bytes each: refused when above the protocol's limit or when
    /// that many cannot be in what is left, before anything is allocated for them.
    pub(crate) fn count(&mut self, element: usize) -> Result<usize, Malformed> {
        let count = self.u32()? as usize;
        if count > crate::limits::MAX_COUNT {
            return Err(Malformed::Count);
        }
        if count.saturating_mul(element) > self.rest.len() {
            return Err(Malformed::Short);
        }
        Ok(count)
    }
}

/// Puts fields at the end of a body.
pub(crate) trait PutFields {
    fn put_u32(&mut self, value: u32);
    fn put_u64(&mut self, value: u64);
    fn put_i64(&mut self, value: i64);
    fn put_bytes(&mut self, value: &[u8]);
    fn put_opt<T>(&mut self, value: Option<T>, field: impl FnOnce(&mut Self, T));
}

impl PutFields for Vec<u8> {
    fn put_u32(&mut self, value: u32) {
        self.extend_from_slice(&value.to_le_bytes());
    }

    fn put_u64(&mut self, value: u64) {
        self.extend_from_slice(&value.to_le_bytes());
    }

    fn put_i64(&mut self, value: i64) {
        self.extend_from_slice(&value.to_le_bytes());
    }

    /// A value longer than `u32::MAX` makes a frame that is refused as too long when its length is settled.
    fn put_bytes(&mut self, value: &[u8]) {
        self.put_u32(u32::try_from(value.len()).unwrap_or(u32::MAX));
        self.extend_from_slice(value);
    }

    fn put_opt<T>(&mut self, value: Option<T>, field: impl FnOnce(&mut Self, T)) {
        match value {
            Some(value) => {
                self.push(1);
                field(self, value);
            }
            None => self.push(0),
        }
    }
}
