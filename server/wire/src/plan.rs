//! Translation plans.
