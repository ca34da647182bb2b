//! The master room: the newest version of each segment, in wire format.
