//! The store room: what makes an acknowledged release survive.
