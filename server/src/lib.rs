//! The server: rooms lock, coherence, session and net over wire, master and store.
