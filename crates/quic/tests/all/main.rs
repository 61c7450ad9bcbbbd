//! Two endpoints with a link between them, in virtual time.

mod acks;
mod hostile;
mod integrity;
mod pair;
mod repeat;
