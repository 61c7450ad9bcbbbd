//! The interface between the Rust crates and Python. It contains only conversions, no logic.
//!
//! Simulations run on separate threads, so signals work as in other Python code. Columns are passed as bytes in the
//! machine's byte order.

#![deny(missing_docs)]

mod aligned;
mod analyze;
mod batch;
mod captures;
mod columns;
mod controller;
mod draws;
#[cfg(target_os = "linux")]
mod endpoint;
mod error;
mod fetching;
mod inferred;
mod json_rows;
mod live;
#[cfg(target_os = "linux")]
mod live_world;
mod packet_log;
mod page;
mod queue;
mod replay;
mod scenario;
mod steps;
mod tables;
mod traces;
mod verdict;

use pyo3::prelude::*;

#[pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::aligned::{align, count_packets};
    #[pymodule_export]
    use crate::analyze::{analysis_tables, analyze};
    #[pymodule_export]
    use crate::batch::Batch;
    #[pymodule_export]
    use crate::controller::{
        Acked, Controller, Idle, Lost, PathState, RateSample, Setup, Signal, Window, WindowAlgorithm,
        simulate_controller,
    };
    #[pymodule_export]
    use crate::draws::first_draw;
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use crate::endpoint::{TcpAcceptor, TcpHost, TcpSocket};
    #[pymodule_export]
    use crate::fetching::Transfer;
    #[pymodule_export]
    use crate::inferred::infer_tcp_events;
    #[pymodule_export]
    use crate::json_rows::json_members;
    #[pymodule_export]
    use crate::live::{emulate, reflect, shape};
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use crate::live_world::LivePath;
    #[pymodule_export]
    use crate::packet_log::capture_packets;
    #[pymodule_export]
    use crate::page::{page_description, page_picture};
    #[pymodule_export]
    use crate::queue::{PacketView, QueueDiscipline, QueueSetup, register_queue};
    #[pymodule_export]
    use crate::replay::replay;
    #[pymodule_export]
    use crate::scenario::{Scenario, axis, presets, schema};
    #[pymodule_export]
    use crate::steps::Steps;
    #[pymodule_export]
    use crate::tables::{catalogue, reasons};
    #[pymodule_export]
    use crate::traces::{round_trips, trace};
    #[pymodule_export]
    use crate::verdict::{difference, millis_text, percent_text, rate_text, size_text, verdict};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("PACKET_FIELDS", lopsided_trace::Field::ALL.map(lopsided_trace::Field::name).to_vec())?;
        module.add("PROFILES", lopsided_tcp::PROFILES.to_vec())?;
        module.add("CONGESTION_CONTROLS", lopsided_tcp::CONTROLLERS.to_vec())?;
        let rules = <lopsided_rdra::WindowRule as lopsided_spec::Choice>::WORDS;
        module.add("WINDOW_RULES", rules.iter().map(|(word, _)| *word).collect::<Vec<_>>())?;
        let texts = lopsided_tcp::CONTROLLERS.iter().map(|name| (*name, lopsided_tcp::cc::text(name)));
        module.add("CONGESTION_CONTROL_TEXTS", texts.collect::<Vec<_>>())
    }
}
