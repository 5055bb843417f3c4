//! Tries the methods of the LanceDB client for Rust over the service and on a folder, and compares what they come to.

mod checks;
mod tables;

use std::env;
use std::process::Command;
use std::time::Duration;

use checks::{CHECKS, Check, Seen};
use lancedb::{Connection, connect};
use tokio::time::timeout;

const CHECK_SECONDS_MAX: u64 = 120;

#[tokio::main]
async fn main() -> lancedb::Result<()> {
    let remote = connect(&format!("db://{}", variable("TILTYARD_DATABASE")))
        .api_key(&variable("TILTYARD_API_KEY"))
        .region("local")
        .host_override(&variable("TILTYARD_URL"))
        .execute()
        .await?;
    let local = connect(&variable("TILTYARD_SCRATCH")).execute().await?;
    for (method, check) in CHECKS {
        let name = method.replace(|letter: char| !letter.is_alphanumeric(), "_");
        let there = observe(*check, &remote, &name).await;
        let here = observe(*check, &local, &name).await;
        let (outcome, detail) = compare(there, here);
        print_outcome(method, outcome, &detail);
    }
    let (outcome, detail) = run_guide();
    print_outcome("Guide.rust", outcome, &detail);
    Ok(())
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}

async fn observe(check: Check, db: &Connection, name: &str) -> Seen {
    let running = check(db.clone(), name.to_string());
    match timeout(Duration::from_secs(CHECK_SECONDS_MAX), running).await {
        Ok(seen) => seen,
        Err(_) => Err(format!("no reply within {CHECK_SECONDS_MAX} seconds").into()),
    }
}

fn compare(there: Seen, here: Seen) -> (&'static str, String) {
    match (there, here) {
        (Ok(there), Ok(here)) if there == here => ("works", String::new()),
        (Ok(there), Ok(here)) => ("differs", format!("{there}; on local tables: {here}")),
        // Jobs, for example, are of services alone.
        (Ok(_), Err(here)) if is_refused(&here.to_string()) => ("works", String::new()),
        (Ok(_), Err(here)) => ("differs", format!("local tables refuse it: {here}")),
        (Err(there), _) => {
            let detail = describe(there.as_ref());
            if detail.contains("not offered by this service") {
                ("not offered", detail)
            } else if is_refused(&detail) {
                ("refused by the client", detail)
            } else {
                ("fails", detail)
            }
        }
    }
}

fn is_refused(message: &str) -> bool {
    ["not supported", "not implemented", "only supported", "not available"].iter().any(|each| message.contains(each))
}

/// With its causes.
fn describe(error: &(dyn std::error::Error + 'static)) -> String {
    match error.source() {
        Some(source) => format!("{error}; {}", describe(source)),
        None => error.to_string(),
    }
}

/// The program of the guide, which stands beside this one.
fn run_guide() -> (&'static str, String) {
    let guide = env::current_exe().expect("the path of this program").with_file_name("guide");
    match Command::new(guide).env("TILTYARD_KEY", variable("TILTYARD_API_KEY")).output() {
        Ok(run) if run.status.success() => ("works", String::new()),
        Ok(run) => ("fails", String::from_utf8_lossy(&run.stderr).into_owned()),
        Err(error) => ("fails", error.to_string()),
    }
}

fn print_outcome(method: &str, outcome: &str, detail: &str) {
    let escaped: String = detail.chars().take(800).flat_map(escape).collect();
    println!(r#"{{"method":"{method}","outcome":"{outcome}","detail":"{escaped}"}}"#);
}

/// For a text in JSON.
fn escape(letter: char) -> Vec<char> {
    match letter {
        '"' | '\\' => vec!['\\', letter],
        letter if letter.is_control() => vec![' '],
        letter => vec![letter],
    }
}
