//! Command `levelflow-net testbed`.

mod each_law;
mod progress;
mod warnings;

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value;

use self::progress::{bar, print, stopped};

use levelflow_host::Error;
use levelflow_host::stop::Stop;
use levelflow_testbed::{Chosen, Form, Outcome, Plan, Setup, choose, plan, run};

const EXAMPLES: &str = "Examples:
  A scenario here, the same in the simulator, and a comparison
    sudo levelflow-net testbed scenarios/t1-network.toml --out results/network
    levelflow run results/network/scenario.toml --out results/simulator
    levelflow compare results/simulator results/network
  A network that is too fast for this machine, at a tenth of its rates
    sudo levelflow-net testbed scenarios/parking-lot.toml --scale 0.1 --set duration=\"30 s\"
  Queues and routers of the kernel instead of user space
    sudo levelflow-net testbed scenarios/t1-network.toml --form kernel
  A flow of the kernel's TCP that competes with one of JetMax
    sudo levelflow-net testbed scenarios/t1-network.toml --set flow.x2.law=cubic
  Several laws, one table
    sudo levelflow-net testbed scenarios/shared-wire.toml --each-law jetmax,rcp,cubic,bbr
  Each law with a queue discipline at all links
    sudo levelflow-net testbed line.toml --each-law prague+dualpi2,cubic+fq_codel,bbr";

/// Options of `testbed`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Testbed {
    /// Scenario file, as for `levelflow run`.
    scenario: PathBuf,
    /// Changes a value, e.g. flow.x1.start="3 s" or "flow.*.law=rcp"; may be repeated.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    changes: Vec<String>,
    /// Seed of all random streams.
    #[arg(long)]
    seed: Option<u64>,
    /// Multiplies link rates, buffers, arrival rates and constant rates, so that a fast network fits this machine.
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    /// Place where queues and laws run.
    #[arg(long, value_enum, default_value_t = Form::User)]
    form: Form,
    /// Uses IPv6 instead of IPv4.
    #[arg(long)]
    ipv6: bool,
    #[arg(long, value_name = "LAW[+QUEUE],...", value_delimiter = ',', help = each_law())]
    each_law: Vec<String>,
    /// Result directory; with --each-law, it contains one directory per law and queue [default: results/NAME-network].
    #[arg(long)]
    out: Option<PathBuf>,
    /// Prints only the counters, as JSON.
    #[arg(long)]
    json: bool,
}

fn each_law() -> String {
    format!(
        "Runs all flows under each of these laws, one law per run, and prints one table. LAW+QUEUE also sets the queue \
         discipline of all links, as in prague+dualpi2. Laws: {}",
        levelflow_testbed::laws()
    )
}

impl Testbed {
    /// Runs the command.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn run(self) -> Result<(), Error> {
        let chosen = choose(&self.scenario, &self.changes, self.seed, self.scale)?;
        let name = format!("results/{}-network", chosen.scenario.name);
        let out = self.out.clone().unwrap_or_else(|| PathBuf::from(name));
        self.must_lie_outside(&out)?;
        if self.each_law.is_empty() {
            let plan = plan(&chosen.resolved, self.setup())?;
            must_be_root()?;
            self.run_one(&chosen, &plan, &out)
        } else {
            let runs = self.runs(&chosen)?;
            must_be_root()?;
            each_law::compare(&runs, self.scale, &out, self.json)
        }
    }

    /// Rejects a result directory that contains the scenario, because result files could replace it.
    fn must_lie_outside(&self, out: &Path) -> Result<(), Error> {
        let folder = self.scenario.canonicalize().ok();
        match (folder.as_deref().and_then(Path::parent), out.canonicalize()) {
            (Some(folder), Ok(results)) if folder == results => Err(Error::input(format!(
                "{}: holds the scenario that is to run; choose another with --out",
                out.display()
            ))),
            _ => Ok(()),
        }
    }

    /// Prepares the scenario with each law. All of these scenarios are checked before the first run.
    fn runs(&self, chosen: &Chosen) -> Result<Vec<(String, Chosen, Plan)>, Error> {
        let flows = chosen.raw["flow"].as_array().map_or(0, Vec::len);
        let under = |name: &String| {
            let (law, queue) = name
                .split_once('+')
                .map_or((name.as_str(), None), |(law, queue)| (law, Some(queue)));
            let laws = (1..=flows).map(|number| format!("flow.{number}.law={law}"));
            let queue = queue.map(|queue| format!("link.*.queue={queue}"));
            let changes: Vec<String> = self.changes.iter().cloned().chain(laws).chain(queue).collect();
            let chosen = choose(&self.scenario, &changes, self.seed, self.scale)?;
            let plan = plan(&chosen.resolved, self.setup())?;
            Ok((name.clone(), chosen, plan))
        };
        self.each_law.iter().map(under).collect()
    }

    fn setup(&self) -> Setup {
        let (form, ipv6) = (self.form, self.ipv6);
        Setup { form, ipv6 }
    }

    fn run_one(&self, chosen: &Chosen, plan: &Plan, out: &Path) -> Result<(), Error> {
        let name = &chosen.scenario.name;
        let stop = Stop::on_signals()?;
        let length = chosen.scenario.duration.as_secs_f64();
        let bar = bar(name, length);
        let outcome = run(chosen, plan, self.scale, out, &stop, |t| {
            bar.set_position((t * 1e3) as u64);
        });
        bar.finish_and_clear();
        let outcome = outcome?;
        warnings::print([(chosen, &outcome)]);
        if self.json {
            print(&format!("{:#}", outcome.counters));
        } else {
            print(&show(&outcome));
        }
        if outcome.stopped {
            return Err(stopped(&outcome));
        }
        Ok(())
    }
}

fn must_be_root() -> Result<(), Error> {
    if rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let hint = "sudo levelflow-net testbed, or unshare --map-root-user --net";
    Err(Error::failed(format!(
        "the testbed creates network namespaces; run it as root: {hint}"
    )))
}

fn show(outcome: &Outcome) -> String {
    let mut lines = vec![format!(
        "{:<20} {:>10} {:>12} {:>9} {:>9} {:>10} {:>7}",
        "flow", "packets", "throughput", "RTT p50", "p99", "excess p99", "lost"
    )];
    let rows = |kind: &str| outcome.counters[kind].as_array().cloned().unwrap_or_default();
    for (flow, throughput) in rows("flows").iter().zip(&outcome.throughput_bps) {
        let number = |key: &str| flow[key].as_f64().unwrap_or(0.0);
        let sent = number("sent_packets").max(1.0);
        lines.push(format!(
            "{:<20} {:>10} {:>7.3} Mb/s {} {} {} {:>5.2} %",
            flow["name"].as_str().unwrap_or_default(),
            number("delivered_packets"),
            throughput * 1e-6,
            ms(&flow["rtt_s"]["p50"], 1e3),
            ms(&flow["rtt_s"]["p99"], 1e3),
            ms(&flow["one_way_excess_s"]["p99"], 1e3),
            100.0 * (number("dropped_packets") + number("lost_packets")) / sent,
        ));
    }
    lines.push(format!(
        "\n{:<20} {:>11} {:>18} {:>9} {:>9} {:>12} {:>8} {:>8}",
        "link", "utilisation", "queueing delay p50", "p99", "max", "max backlog", "drops", "lost"
    ));
    for link in rows("links") {
        let number = |value: &Value| value.as_f64().unwrap_or(0.0);
        lines.push(format!(
            "{:<20} {:>9.1} % {:>18} {} {} {:>10} B {:>8} {:>8}",
            link["name"].as_str().unwrap_or_default(),
            100.0 * number(&link["utilisation"]),
            ms(&link["queueing_delay_s"]["p50"], 1e3).trim_start(),
            ms(&link["queueing_delay_s"]["p99"], 1e3),
            ms(&link["queueing_delay_s"]["max"], 1e3),
            number(&link["backlog_bytes"]["max"]),
            number(&link["dropped_packets"]),
            number(&link["lost_packets"]),
        ));
    }
    let path = outcome.path.display();
    lines.push(format!(
        "\nThroughput is the mean over the whole run; excess is one-way delay beyond that of an idle path. {path}; compare with the \
         simulator:"
    ));
    lines.push(format!(
        "  levelflow run {path}/scenario.toml --out {path}-simulated && levelflow compare {path}-simulated {path}"
    ));
    lines.join("\n")
}

fn ms(seconds: &Value, factor: f64) -> String {
    seconds
        .as_f64()
        .map_or(format!("{:>9}", "-"), |s| format!("{:>6.2} ms", s * factor))
}
