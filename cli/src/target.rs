//! What a command line names: a segment, a block, or a place in a block.
//!
//! A MIP `url#block#offset`, where instead of an offset in primitive units a path of fields and
//! indices may stand: `127.0.0.1/astroflow#header#cfl`, `.../list#head#next`. A path alone, as in
//! `/list`, is at the default server (`default_server`).

use interweave_wire::{BlockRef, Mip, Url};

use crate::default_server;
use crate::failure::Failure;

#[derive(Debug, PartialEq)]
pub struct Target {
    pub url: Url,
    pub block: Option<BlockRef>,
    pub place: Place,
}

#[derive(Debug, PartialEq)]
pub enum Place {
    Whole,
    Unit(u64),
    Path(String),
}

impl Target {
    pub fn parse(argument: &str) -> Result<Target, Failure> {
        let argument = default_server::completed(argument)?;
        let mut parts = argument.splitn(3, '#');
        let url = parts.next().unwrap_or_default();
        let block = parts.next();
        let place = match parts.next() {
            None => Place::Whole,
            Some(digits) if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => {
                Place::Unit(
                    digits
                        .parse()
                        .map_err(|_| Failure::new(format!("offset {digits} is too large")))?,
                )
            }
            Some(path) => Place::Path(path.to_string()),
        };
        let mip = match block {
            Some(block) => format!("{url}#{block}"),
            None => url.to_string(),
        };
        let mip = Mip::parse(&mip)?;
        Ok(Target {
            url: mip.url,
            block: mip.block,
            place,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_an_offset_or_a_path() {
        let place = |argument| Target::parse(argument).unwrap().place;
        assert_eq!(place("127.0.0.1/list"), Place::Whole);
        assert_eq!(place("127.0.0.1/list#head"), Place::Whole);
        assert_eq!(place("127.0.0.1/list#head#1"), Place::Unit(1));
        assert_eq!(
            place("127.0.0.1/list#head#next"),
            Place::Path("next".into())
        );
        assert_eq!(place("127.0.0.1/a#1#[3].x"), Place::Path("[3].x".into()));
    }

    #[test]
    fn wrong_text_is_refused() {
        for wrong in [
            "127.0.0.1",
            "127.0.0.1/a#",
            "127.0.0.1/a#1x",
            "http://h/a",
            "127.0.0.1/a#1#99999999999999999999",
        ] {
            assert!(Target::parse(wrong).is_err(), "{wrong}");
        }
    }
}
