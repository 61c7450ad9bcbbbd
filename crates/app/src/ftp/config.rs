//! Settings of file transfers over FTP.

use lopsided_core::{Bytes, Duration};
use lopsided_spec::{Fault, Key, Part, key};

/// Settings of an FTP session that transfers several files one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FtpConfig {
    /// Size of each file.
    pub size: Bytes,
    /// True for an upload: the client is the data sender (STOR). False for a download: the client is the data receiver
    /// (RETR).
    pub store: bool,
    /// Number of files; `None` to continue until the flow stops.
    pub repeat: Option<u32>,
    /// Time from the end of a file to the command for the next file.
    pub pause: Duration,
}

impl Default for FtpConfig {
    fn default() -> FtpConfig {
        FtpConfig { size: Bytes::new(1), store: false, repeat: Some(1), pause: Duration::ZERO }
    }
}

impl Part for FtpConfig {
    const NAME: &'static str = "ftp";
    const TEXT: &'static str = "Transfers files by FTP, with a control connection for the login and the commands, and a data connection for each file.";
    const KEYS: &'static [Key<FtpConfig>] = &[
        key("size", |ftp: &mut Self| &mut ftp.size, "Size of each file.").required("\"100 kB\""),
        key(
            "store",
            |ftp| &mut ftp.store,
            "If true, the client sends the files (STOR). If false, the client retrieves the files (RETR).",
        ),
        key("repeat", |ftp: &mut Self| &mut ftp.repeat, "Number of files in the session.").none_word("forever"),
        key("pause", |ftp| &mut ftp.pause, "Time from the end of a file to the command for the next file."),
    ];

    fn check(&self) -> Result<(), Fault> {
        if self.size == Bytes::ZERO {
            return Err(Fault::new("size", "the size must be at least 1 B"));
        }
        if self.repeat == Some(0) {
            return Err(Fault::new("repeat", "this must be at least 1"));
        }
        Ok(())
    }
}
