use lopsided_capture::{Analysis, Report, Sketch, Towards};
use std::fs::File;
fn q(s: &Sketch) -> String {
    let v = [0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98, 1.0].map(|p| {
        let x = s.quantile(p);
        if x.is_nan() { "null".into() } else { format!("{x:.2}") }
    });
    let m = s.mode().unwrap_or((0.0, 0.0));
    format!("{{\"n\":{},\"q\":[{}],\"mode\":[{:.3},{:.3}]}}", s.count(), v.join(","), m.0, m.1)
}
fn main() -> Result<(), Box<dyn std::error::Error>> {
    for path in std::env::args_os().skip(1) {
        let found = Analysis::read(File::open(&path)?, false, |_p, _s| true)?;
        let carried = found.connections.iter().flat_map(|connection| [(connection, 0), (connection, 1)]);
        for (connection, sender) in carried.filter(|(of, sender)| of.directions[*sender].data_segments > 0).take(20) {
            let d = &connection.directions[sender];
            let r = Report::of(connection, sender, &found.loads);
            let (f, t) = (connection.ends[sender].address, connection.ends[1 - sender].address);
            let share = found.loads.data_share(f, Towards::Network).max(found.loads.data_share(t, Towards::Host));
            println!(
                "{{\"path\":{:?},\"to\":\"{}\",\"port\":{},\"loss\":{},\"pk\":{},\"wait\":{},\"ep\":{},\"rise\":{},\"epk\":{},\"longest\":{:.2},\"share\":{:.3},\"seg\":{},\"again\":{},\"rate\":{:.0},\"mss\":{},\"floor\":{:.2},\"said\":\"{}\"}}",
                path.to_string_lossy(),
                t,
                connection.ends[1 - sender].port,
                q(&d.wait_at_loss_ms),
                q(&d.packets_at_loss),
                q(&d.data_wait_ms),
                q(&d.wait_at_episode_ms),
                q(&d.rise),
                q(&d.packets_at_episode),
                r.data.longest_wait_ms,
                share,
                d.data_segments,
                d.retransmitted_segments,
                if r.data.rate_bps.is_nan() { 0.0 } else { r.data.rate_bps },
                d.largest.min(1448),
                connection.halves(sender).into_iter().flatten().sum::<u64>() as f64 * 1e-6,
                r.data.discipline.name()
            );
        }
    }
    Ok(())
}
