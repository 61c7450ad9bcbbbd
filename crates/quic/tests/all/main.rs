//! Two endpoints and a line between them, in virtual time.

mod acks;
mod hostile;
mod integrity;
mod pair;
mod repeat;
