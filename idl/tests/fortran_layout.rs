//! The types of a Fortran module are those of C: a program of either language prints the sizes of
//! all types and the offsets of all members, and the two must print the same. C's are the tables'
//! (see tests/layout/print.c), Fortran's are asked of variables of the types. For another machine:
//! IW_TEST_MACHINE="powerpc-linux-gnu qemu-ppc-static", the compilers' prefix
//! and what runs programs.

mod golden;

use golden::tests_dir;
use interweave_idl::{run, CompileOptions, DataLanguage, Output};
use std::path::{Path, PathBuf};
use std::process::Command;

fn command(dir: &Path, program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .current_dir(dir)
        .args(arguments)
        .output()
        .unwrap_or_else(|error| panic!("cannot run {program}: {error}"));
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program}:\n{messages}");
    String::from_utf8(output.stdout).unwrap()
}

/// Of this machine's if none is asked for.
struct Machine {
    prefix: String,
    runner: Option<String>,
}

impl Machine {
    fn asked_for() -> Self {
        let asked = std::env::var("IW_TEST_MACHINE").unwrap_or_default();
        let mut words = asked.split_whitespace().map(str::to_string);
        Machine {
            prefix: words
                .next()
                .map(|triplet| triplet + "-")
                .unwrap_or_default(),
            runner: words.next(),
        }
    }

    fn compile(&self, dir: &Path, compiler: &str, arguments: &[&str]) {
        let is_other = !self.prefix.is_empty();
        let linking: &[&str] = if is_other { &["-static"] } else { &[] };
        let compiler = format!("{}{compiler}", self.prefix);
        command(dir, &compiler, &[linking, arguments].concat());
    }

    /// The lines that a program prints, sorted.
    fn lines_of(&self, dir: &Path, program: &str) -> Vec<String> {
        let text = match &self.runner {
            Some(runner) => command(dir, runner, &[program]),
            None => command(dir, program, &[]),
        };
        let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
        lines.sort();
        lines
    }
}

/// What the module says: the types' names with those of their components and of their arms.
struct Written {
    name: String,
    components: Vec<String>,
    /// Name and function of each arm.
    arms: Vec<(String, String)>,
}

fn written_types(module: &str) -> Vec<Written> {
    let mut types: Vec<Written> = Vec::new();
    let mut inside = false;
    for line in module.lines() {
        let line = line.trim();
        if let Some(name) = line.strip_prefix("type, bind(C) :: ") {
            inside = true;
            types.push(Written {
                name: name.to_string(),
                components: Vec::new(),
                arms: Vec::new(),
            });
        } else if line.starts_with("end type") {
            inside = false;
        } else if let (true, Some((_, component))) = (inside, line.split_once(" :: ")) {
            let name = component.split('(').next().unwrap().to_string();
            types.last_mut().unwrap().components.push(name);
        } else if let Some(function) = line.strip_prefix("function ") {
            let function = function.split('(').next().unwrap();
            let owner = |ty: &&mut Written| function.starts_with(&format!("{}_u_", ty.name));
            let ty = types
                .iter_mut()
                .filter(owner)
                .max_by_key(|ty| ty.name.len());
            let ty = ty.unwrap();
            let arm = function[ty.name.len() + 3..].to_string();
            ty.arms.push((arm, function.to_string()));
            // The storage itself has no name in the tables.
            ty.components.truncate(1);
        }
    }
    types
}

/// A program that prints what print.c prints.
fn asking_program(module: &str, types: &[Written]) -> String {
    let mut calls = String::new();
    let mut procedures = String::new();
    for (index, ty) in types.iter().enumerate() {
        let name = &ty.name;
        calls += &format!("  call zz_{index}()\n");
        procedures +=
            &format!("  subroutine zz_{index}()\n    type({name}), target, save :: zz_v\n");
        procedures += &format!("    print '(a, i0)', '{name}% ', c_sizeof(zz_v)\n");
        for component in &ty.components {
            procedures += &format!(
                "    call zz_place('{name}%{component} ', c_loc(zz_v), c_loc(zz_v%{component}))\n"
            );
        }
        for (arm, function) in &ty.arms {
            procedures += &format!(
                "    call zz_place('{name}%{arm} ', c_loc(zz_v), c_loc({function}(zz_v)))\n"
            );
        }
        procedures += &format!("  end subroutine zz_{index}\n");
    }
    format!(
        "program zz_main\n  use, intrinsic :: iso_c_binding\n  use {module}\n  implicit none\n\
         {calls}contains\n{procedures}  subroutine zz_place(name, whole, part)\n    \
         character(len=*), intent(in) :: name\n    \
         type(c_ptr), intent(in) :: whole, part\n    print '(a, i0)', name, &\n      \
         transfer(part, 0_c_intptr_t) - transfer(whole, 0_c_intptr_t)\n  end subroutine zz_place\n\
         end program zz_main\n"
    )
}

/// Compiles a file to both languages and compares what the two programs print.
fn check(source: &Path, dir: &Path) {
    let options = CompileOptions {
        files: vec![source.to_path_buf()],
        output: Output::Data(DataLanguage::Fortran),
        include_dirs: Vec::new(),
        package: String::new(),
        defines: Vec::new(),
        types: Vec::new(),
    };
    let files = run(options).unwrap_or_else(|diagnostics| panic!("{diagnostics}"));
    files.iter().for_each(|file| file.write(dir).unwrap());
    let module = files
        .iter()
        .find(|file| file.path.extension().unwrap() == "f90");
    let module = module.unwrap();
    let stem = module.path.file_stem().unwrap().to_str().unwrap();
    let name = module
        .text
        .lines()
        .find_map(|line| line.strip_prefix("module "));
    let types = written_types(&module.text);
    assert!(types.len() > 1);
    std::fs::write(dir.join("ask.f90"), asking_program(name.unwrap(), &types)).unwrap();

    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let library = [
        "interface",
        "constants",
        "text",
        "arrays",
        "c_interface",
        "calls",
        "interweave",
    ];
    let library = library.map(|part| format!("{}/fortran/src/{part}.f90", root.display()));
    let mut modules: Vec<&str> = vec!["-fsyntax-only"];
    modules.extend(library.iter().map(String::as_str));
    let machine = Machine::asked_for();
    machine.compile(dir, "gfortran", &modules);
    let fortran = format!("{stem}.f90");
    machine.compile(dir, "gfortran", &["-w", &fortran, "ask.f90", "-o", "ask"]);

    let include = format!("-I{}/native/include", root.display());
    let layout = tests_dir().join("layout");
    let (layout_include, print) = (format!("-I{}", layout.display()), layout.join("print.c"));
    let (print, table) = (print.to_str().unwrap(), format!("{stem}.c"));
    let flags = ["-std=c99", &include, &layout_include, "-I."];
    machine.compile(
        dir,
        "gcc",
        &[&flags[..], &[print, &table, "-o", "print"]].concat(),
    );

    let printed = machine.lines_of(dir, "./print");
    assert!(printed.len() > types.len());
    assert_eq!(
        printed,
        machine.lines_of(dir, "./ask"),
        "{}",
        source.display()
    );
}

fn fresh_dir(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

#[test]
fn fortran_types_have_the_layout_of_the_c_tables() {
    let sources = [
        "layout/layout",
        "dialects/all_types",
        "dialects/ledger",
        "dialects/calendar",
        "dialects/order",
        "dialects/matrices",
        "dialects/trees",
    ];
    for source in sources {
        let name = source.replace('/', "-");
        let source = tests_dir().join(format!("{source}.x"));
        check(&source, &fresh_dir(&format!("fortran-{name}")));
    }
}

/// Numbers that are the same in every run (a linear congruential generator).
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) % limit
    }

    /// A member of a type, which may be one of the `known` types before it.
    fn member(&mut self, name: &str, known: u64) -> String {
        let plain = [
            "char",
            "unsigned char",
            "short",
            "int",
            "bool",
            "hyper",
            "float",
            "double",
        ];
        let size = 1 + self.below(5);
        match self.below(14) {
            0..=5 => format!("{} {name};", plain[self.below(8) as usize]),
            6 => format!("opaque {name}[{size}];"),
            7 => format!("string {name}<{}>;", 3 * size),
            8 => format!("string {name}<>;"),
            9 => format!("int {name}<{size}>;"),
            10 => format!("{} {name}[{size}][3];", plain[self.below(8) as usize]),
            11 => format!("int *{name};"),
            _ if known > 0 => format!("t{} {name};", self.below(known)),
            _ => format!("quadruple {name};"),
        }
    }
}

#[test]
fn random_types_have_the_same_layout_in_fortran_and_c() {
    let mut dice = Dice(2003);
    for batch in 0..10 {
        let text: String = (0..15).map(|index| random_type(&mut dice, index)).collect();
        let dir = fresh_dir(&format!("fortran-random-{batch}"));
        let source = dir.join("random_types.x");
        std::fs::write(&source, text).unwrap();
        check(&source, &dir);
    }
}

/// A struct or a union `t<index>`, perhaps of those before it.
fn random_type(dice: &mut Dice, index: u64) -> String {
    let members = 1 + dice.below(5);
    let is_union = dice.below(2) == 0;
    let mut text = match is_union {
        true => format!("union t{index} switch (int d) {{\n"),
        false => format!("struct t{index} {{\n"),
    };
    for member in 0..members {
        let written = dice.member(&format!("m{member}"), index);
        text += &match is_union {
            true => format!("case {member}: {written}\n"),
            false => format!("  {written}\n"),
        };
    }
    text + "};\n"
}
