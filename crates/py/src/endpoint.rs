//! Lopsided's TCP on real packets, as sockets for Python.

use lopsided_live::endpoint::{self, OwnPorts, SocketSettings, way_to};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::net::{IpAddr, Shutdown, SocketAddr};
use std::ops::RangeInclusive;
use std::sync::Mutex;
use std::time::Duration;

fn address(text: &str) -> PyResult<IpAddr> {
    text.parse().map_err(|_| PyOSError::new_err(format!("{text:?} is not an IP address")))
}

fn settings(profile: &str, cc: &str, mtu: u32) -> PyResult<SocketSettings> {
    SocketSettings::named(profile, cc, mtu).map_err(PyOSError::new_err)
}

fn time_limit(seconds: Option<f64>) -> Option<Duration> {
    seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds.max(0.0)).ok())
}

/// Lopsided's TCP on ports of this machine's own address. Requires root.
#[pyclass(frozen)]
pub(crate) struct TcpHost {
    host: Mutex<Option<endpoint::TcpHost>>,
    /// Ports that no connection has used yet.
    free: Mutex<RangeInclusive<u16>>,
    mtu: u32,
}

impl TcpHost {
    fn on(device: OwnPorts, address: IpAddr, mtu: u32) -> PyResult<TcpHost> {
        let free = Mutex::new(device.ports());
        let host = endpoint::TcpHost::start(address, device)?;
        Ok(TcpHost { host: Mutex::new(Some(host)), free, mtu })
    }

    fn with<T>(&self, act: impl FnOnce(&endpoint::TcpHost) -> std::io::Result<T>) -> PyResult<T> {
        let host = self.host.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let host = host.as_ref().ok_or_else(|| PyOSError::new_err("the host is closed"))?;
        Ok(act(host)?)
    }
}

#[pymethods]
impl TcpHost {
    /// Reserves free ports of the local address from which packets to `peer` are sent.
    #[staticmethod]
    fn towards(py: Python<'_>, peer: &str, ports: u16) -> PyResult<TcpHost> {
        let peer = address(peer)?;
        py.detach(|| {
            let (own, mtu) = way_to(peer)?;
            TcpHost::on(OwnPorts::reserve(own, ports)?, own, mtu)
        })
    }

    /// Reserves one port of a local address.
    #[staticmethod]
    fn at(py: Python<'_>, own: &str, port: u16) -> PyResult<TcpHost> {
        let own = address(own)?;
        py.detach(|| TcpHost::on(OwnPorts::take(own, port..=port)?, own, 1500))
    }

    /// Opens a connection, and waits until the handshake is complete.
    fn connect(
        &self,
        py: Python<'_>,
        peer: (String, u16),
        profile: &str,
        cc: &str,
        timeout_s: f64,
    ) -> PyResult<TcpSocket> {
        let peer = SocketAddr::new(address(&peer.0)?, peer.1);
        let settings = settings(profile, cc, self.mtu)?;
        // Never reuse a port: its previous connection may be in TIME-WAIT.
        let port = self.free.lock().unwrap_or_else(std::sync::PoisonError::into_inner).next();
        let port = port.ok_or_else(|| PyOSError::new_err("no port is left"))?;
        let socket = self.with(|host| host.connect(port, peer, &settings))?;
        // Release the interpreter during the handshake.
        py.detach(|| socket.established(time_limit(Some(timeout_s))))?;
        Ok(TcpSocket { socket: Mutex::new(Some(socket.into())) })
    }

    fn listen(&self, port: u16, profile: &str, cc: &str, backlog: usize) -> PyResult<TcpAcceptor> {
        let settings = settings(profile, cc, self.mtu)?;
        let acceptor = self.with(|host| host.listen(port, backlog, &settings))?;
        Ok(TcpAcceptor { acceptor })
    }

    /// Waits up to `timeout_s` for closed connections to end, and then resets all remaining connections.
    fn close(&self, py: Python<'_>, timeout_s: f64) {
        let host = self.host.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        py.detach(|| {
            if let Some(host) = host {
                host.linger(Duration::from_secs_f64(timeout_s.clamp(0.0, 1e6)));
            }
        });
    }
}

#[pyclass(frozen)]
pub(crate) struct TcpAcceptor {
    acceptor: endpoint::TcpAcceptor,
}

#[pymethods]
impl TcpAcceptor {
    /// Returns the next connection. Raises `BlockingIOError` if none arrives within `timeout_s`.
    fn accept(&self, py: Python<'_>, timeout_s: f64) -> PyResult<TcpSocket> {
        let socket = py.detach(|| self.acceptor.accept(time_limit(Some(timeout_s))))?;
        Ok(TcpSocket { socket: Mutex::new(Some(socket.into())) })
    }
}

/// One end of a connection. If a call waits longer than its timeout, it raises `BlockingIOError`; a timeout of `None`
/// means no limit.
#[pyclass(frozen)]
pub(crate) struct TcpSocket {
    socket: Mutex<Option<std::sync::Arc<endpoint::TcpSocket>>>,
}

impl TcpSocket {
    fn get(&self) -> PyResult<std::sync::Arc<endpoint::TcpSocket>> {
        let socket = self.socket.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        socket.clone().ok_or_else(|| PyOSError::new_err("the socket is closed"))
    }
}

#[pymethods]
impl TcpSocket {
    fn peer(&self) -> PyResult<(String, u16)> {
        let peer = self.get()?.peer();
        Ok((peer.ip().to_string(), peer.port()))
    }

    fn send(&self, py: Python<'_>, octets: &[u8], timeout_s: Option<f64>) -> PyResult<usize> {
        let socket = self.get()?;
        Ok(py.detach(|| socket.write(octets, time_limit(timeout_s)))?)
    }

    fn recv<'py>(&self, py: Python<'py>, most: usize, timeout_s: Option<f64>) -> PyResult<Bound<'py, PyBytes>> {
        let socket = self.get()?;
        let octets = py.detach(|| socket.read(most, time_limit(timeout_s)))?;
        Ok(PyBytes::new(py, &octets))
    }

    fn set_cc(&self, name: &str) -> PyResult<()> {
        Ok(self.get()?.set_cc(name)?)
    }

    /// Closes the sending direction: a FIN is sent after the written data.
    fn shutdown_write(&self) -> PyResult<()> {
        self.get()?.shutdown(Shutdown::Write);
        Ok(())
    }

    fn abort(&self) -> PyResult<()> {
        self.get()?.abort();
        Ok(())
    }

    fn close(&self) {
        self.socket.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
    }

    /// Returns the state of the connection. The keys are named as in Linux's tcp_info, but windows are in bytes.
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let info = self.get()?.info();
        let found = PyDict::new(py);
        found.set_item("rtt_us", info.srtt.map_or(0, |rtt| rtt.as_nanos() / 1000))?;
        found.set_item("rttvar_us", info.rttvar.as_nanos() / 1000)?;
        found.set_item("snd_ssthresh_bytes", info.snd_ssthresh.map(|octets| octets.get()))?;
        found.set_item("snd_cwnd_bytes", info.snd_cwnd.get())?;
        found.set_item("rcv_space_bytes", info.rcv_space.get())?;
        found.set_item("snd_wnd_bytes", info.snd_wnd.get())?;
        found.set_item("delivery_rate_bps", info.delivery_rate.map(|rate| rate.as_bps()))?;
        found.set_item("total_retrans", info.counters.retransmits)?;
        found.set_item("timeouts", info.counters.timeouts)?;
        found.set_item("ca_state", info.ca_state.name())?;
        found.set_item("in_flight_bytes", info.in_flight.get())?;
        Ok(found)
    }
}
