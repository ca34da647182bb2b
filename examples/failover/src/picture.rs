//! The density as a heat map of half blocks, two rows of the picture a line.

/// Rows and columns of the field.
const CELLS: usize = 256;
const ESCAPE: &str = "\x1b[";

/// Lines of `columns` characters, each two values high. `field`: 256 rows of 256 little-endian
/// doubles, the lowest first. No lines if it is not whole.
pub fn lines(field: &[u8], columns: usize, lines: usize) -> Vec<String> {
    if field.len() != CELLS * CELLS * 8 || columns == 0 || lines == 0 {
        return Vec::new();
    }
    let value = |row: usize, column: usize| {
        let row = CELLS - 1 - row * CELLS / (2 * lines);
        let at = (row * CELLS + column * CELLS / columns) * 8;
        f64::from_le_bytes(field[at..at + 8].try_into().expect("eight bytes"))
    };
    let all = || (0..2 * lines).flat_map(|row| (0..columns).map(move |column| (row, column)));
    let low = all()
        .map(|(row, column)| value(row, column))
        .fold(f64::MAX, f64::min);
    let high = all()
        .map(|(row, column)| value(row, column))
        .fold(f64::MIN, f64::max);
    let colour = |row, column| colour((value(row, column) - low) / (high - low).max(1e-9));
    let line = |line: usize| {
        let mut text = String::new();
        for column in 0..columns {
            let (upper, lower) = (colour(2 * line, column), colour(2 * line + 1, column));
            text += &format!("{ESCAPE}38;5;{upper};48;5;{lower}m\u{2580}");
        }
        text + ESCAPE + "0m"
    };
    (0..lines).map(line).collect()
}

/// Of the terminal's 256 colours, from blue over green to yellow.
fn colour(share: f64) -> u8 {
    const COLOURS: [u8; 12] = [17, 18, 19, 25, 31, 37, 36, 71, 77, 113, 149, 185];
    let at = (share.clamp(0.0, 1.0) * (COLOURS.len() - 1) as f64).round();
    COLOURS[at as usize]
}
