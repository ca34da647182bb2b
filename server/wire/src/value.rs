//! Travelling form and slot form.
