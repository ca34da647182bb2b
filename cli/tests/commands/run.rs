//! `interweave run`: ranks as processes of a shell, which say what they were given.

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output, Stdio};

use crate::program::{call, refused, Running};

fn run(arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_interweave"))
        .arg("run")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // A job that reads nothing may have ended.
    let _ = child
        .stdin
        .take()
        .expect("its input")
        .write_all(input.as_bytes());
    child.wait_with_output().expect("its end")
}

fn lines(bytes: &[u8]) -> Vec<String> {
    let mut lines: Vec<String> = String::from_utf8_lossy(bytes)
        .lines()
        .map(str::to_string)
        .collect();
    lines.sort();
    lines
}

#[test]
fn every_rank_has_its_number_the_size_and_one_folder_of_the_user_alone() {
    let script = "f=${IW_RENDEZVOUS#file:}; echo $IW_RANK $IW_SIZE $(stat -c %a $f) $f";
    let output = run(&["-n", "3", "sh", "-c", script], "");
    assert!(output.status.success());
    let said = lines(&output.stdout);
    assert_eq!(said.len(), 3);
    let folder = said[0].rsplit(' ').next().expect("a folder");
    for (rank, line) in said.iter().enumerate() {
        assert_eq!(*line, format!("{rank} 3 700 {folder}"));
    }
    assert!(
        !std::path::Path::new(folder).exists(),
        "the folder was left"
    );
}

#[test]
fn input_goes_to_rank_0_alone() {
    let script = "echo $IW_RANK:$(cat)";
    let output = run(&["-n", "3", "sh", "-c", script], "words");
    assert_eq!(lines(&output.stdout), ["0:words", "1:", "2:"]);
}

#[test]
fn lines_of_ranks_are_not_mixed_and_begin_with_a_label_if_asked() {
    let script = "for i in $(seq 200); do printf x; printf 'y %s\\n' $IW_RANK; done; printf end";
    let output = run(&["-n", "4", "--label", "--", "sh", "-c", script], "");
    assert!(output.status.success());
    let said = lines(&output.stdout);
    assert_eq!(said.len(), 4 * 201);
    for line in said {
        let rank = &line[1..2];
        let expected = [format!("[{rank}] xy {rank}"), format!("[{rank}] end")];
        assert!(expected.contains(&line), "{line}");
    }
}

#[test]
fn one_rank_passes_its_bytes_unchanged() {
    let output = run(&["-n", "1", "printf", "no end"], "");
    assert_eq!(output.stdout, b"no end");
}

#[test]
fn the_first_failure_ends_the_others_and_is_the_status() {
    let script = "if [ $IW_RANK = 1 ]; then exit 7; fi; exec sleep 1000";
    let output = run(&["-n", "3", "sh", "-c", script], "");
    assert_eq!(output.status.code(), Some(7));
    let said = String::from_utf8_lossy(&output.stderr).to_string();
    assert!(said.contains("rank 1 failed with status 7"), "{said}");
}

#[test]
fn the_others_may_speak_when_a_rank_has_failed() {
    let script = "f=${IW_RENDEZVOUS#file:}/one
        if [ $IW_RANK = 1 ]; then echo $$ > $f.new; mv $f.new $f; exit 2; fi
        until [ -e $f ]; do :; done; read one < $f
        while kill -0 $one 2> /dev/null; do :; done
        echo usage; kill -9 $$";
    let output = run(&["-n", "2", "sh", "-c", script], "");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(lines(&output.stdout), ["usage"]);
    let said = String::from_utf8_lossy(&output.stderr).to_string();
    assert!(said.contains("rank 1 failed with status 2"), "{said}");
    assert!(said.contains("rank 0 was ended by signal 9"), "{said}");
}

#[test]
fn a_signal_that_ends_a_rank_is_the_status_and_128() {
    let script = "if [ $IW_RANK = 0 ]; then kill -9 $$; fi; exec sleep 1000";
    let output = run(&["-n", "2", "sh", "-c", script], "");
    assert_eq!(output.status.code(), Some(137));
}

#[test]
fn a_signal_to_run_ends_all_ranks() {
    for (name, status) in [("INT", 130), ("TERM", 143)] {
        let mut job = Running::start(&["run", "-n", "2", "sh", "-c", "echo $$; exec sleep 1000"]);
        let pids = [job.line(), job.line()];
        job.signal(name);
        let (end, _) = job.end();
        assert_eq!((end.code(), end.signal()), (Some(status), None));
        for pid in pids {
            assert!(
                !std::path::Path::new(&format!("/proc/{pid}")).exists(),
                "{pid} is there"
            );
        }
    }
}

#[test]
fn a_program_that_is_not_there_and_a_wrong_count_are_told() {
    let said = refused(&["run", "-n", "2", "./no-such-program"]);
    assert!(said.contains("./no-such-program"), "{said}");
    assert!(refused(&["run", "-n", "0", "true"]).contains("1..=1024"));
    assert!(refused(&["run", "true"]).contains("--ranks"));
    assert!(call(&["run", "--help"]).out.contains("Examples:"));
}
