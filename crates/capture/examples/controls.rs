use lopsided_capture::{Analysis, Limit, Report, guess};
use std::fs::File;
fn main() -> Result<(), Box<dyn std::error::Error>> {
    for path in std::env::args_os().skip(1) {
        let found = Analysis::read(File::open(&path)?, false, |_p, _s| true)?;
        let carried = found.connections.iter().flat_map(|connection| [(connection, 0), (connection, 1)]);
        for (connection, sender) in carried.filter(|(of, sender)| of.directions[*sender].data_segments > 0).take(20) {
            let d = &connection.directions[sender];
            let r = Report::of(connection, sender, &found.loads);
            let (g, fits) = guess(d.steps(), d.full_segment(), d.start_segments(), r.shares[Limit::Pacing as usize]);
            let t = &connection.ends[1 - sender];
            let fits: Vec<String> = fits
                .iter()
                .map(|f| {
                    format!(
                        "[\"{}\",{:.3},{},{:.3},{},{:.4}]",
                        f.name, f.reduction, f.reductions, f.growth, f.periods, f.probability
                    )
                })
                .collect();
            println!(
                "{{\"path\":{:?},\"to\":\"{}\",\"port\":{},\"said\":\"{}\",\"p\":{:.4},\"fits\":[{}]}}",
                path.to_string_lossy(),
                t.address,
                t.port,
                g.name,
                g.probability,
                fits.join(",")
            );
        }
    }
    Ok(())
}
