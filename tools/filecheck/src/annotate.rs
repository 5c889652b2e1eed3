//! The annotated input: its lines, with what was found and what was not marked below them.

use std::collections::HashMap;

use crate::finding::{Finding, FindingKind};
use crate::message::{Report, style};
use crate::options::DumpFilter;
use crate::source::{BufferId, CHECK_FILE, Loc, Sources};

/// How to show the input.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// Which lines.
    pub filter: DumpFilter,
    /// How many around them.
    pub context: usize,
    /// The least width of the column of labels.
    pub label_width: usize,
    /// Whether what is not matched is set off.
    pub verbose: bool,
}

/// How a finding is marked.
struct Marker {
    lead: u8,
    color: &'static str,
    note: Vec<u8>,
    is_error: bool,
}

/// A mark below one line of the input.
struct Annotation {
    /// Number of the finding.
    finding: usize,
    label: String,
    is_first_line: bool,
    line: usize,
    first_column: usize,
    /// The column after the last; none where the mark goes on in the next line.
    end_column: Option<usize>,
    marker: Marker,
    is_good_match: bool,
}

fn marker(finding: &Finding) -> Marker {
    let (lead, color, note, is_error) = match finding.kind {
        FindingKind::Found => (b'^', style::GREEN, "", false),
        FindingKind::Excluded => (b'!', style::RED, "error: no match expected", true),
        FindingKind::WrongLine => (b'!', style::RED, "error: match on wrong line", true),
        FindingKind::Discarded => (b'!', style::CYAN, "discard: overlaps earlier match", false),
        FindingKind::Absent => (b'X', style::GREEN, "", false),
        FindingKind::Missing => (b'X', style::RED, "error: no match found", true),
        FindingKind::Invalid => (b'X', style::RED, "error: match failed for invalid pattern", true),
        FindingKind::Nearest => (b'?', style::MAGENTA, "possible intended match", true),
    };
    let mut marker = Marker { lead, color, note: note.into(), is_error };
    if !finding.note.is_empty() {
        marker.note.clone_from(&finding.note);
        // A note without a range has no mark: there is nothing at that place.
        if finding.span.is_empty() {
            marker.lead = b' ';
        }
    }
    marker
}

fn annotations(sources: &Sources<'_>, implicit: &[BufferId], findings: &[Finding]) -> Vec<Annotation> {
    let mut totals: HashMap<Loc, usize> = HashMap::new();
    for finding in findings {
        *totals.entry(finding.check).or_default() += 1;
    }
    let mut numbers: HashMap<Loc, usize> = HashMap::new();
    let mut result = Vec::new();
    for (index, finding) in findings.iter().enumerate() {
        let place = match implicit.iter().position(|&buffer| buffer == finding.check.buffer) {
            Some(number) => format!("imp{}", number + 1),
            None => sources.position(Loc { buffer: CHECK_FILE, ..finding.check }).line.to_string(),
        };
        let mut label = format!("{}:{place}", finding.directive.abbreviation());
        if totals.get(&finding.check).is_some_and(|&total| total > 1) {
            let number = numbers.entry(finding.check).or_default();
            label.push_str(&format!("'{number}"));
            *number += 1;
        }
        let start = sources.position(finding.span.loc());
        let end = sources.position(Loc { offset: finding.span.end, ..finding.span.loc() });
        let is_one_line = start.line == end.line;
        let annotation = |line, first_column, end_column, marker| Annotation {
            finding: index,
            label: label.clone(),
            is_first_line: line == start.line,
            line,
            first_column,
            end_column,
            marker,
            is_good_match: finding.kind == FindingKind::Found,
        };
        // A place is shown as the character after it.
        let end_column = is_one_line.then(|| end.column.max(start.column + 1));
        result.push(annotation(start.line, start.column, end_column, marker(finding)));
        for line in start.line + 1..=end.line {
            if line == end.line && end.column == 1 {
                break;
            }
            let mut marker = marker(finding);
            marker.lead = b'~';
            marker.note.clear();
            result.push(annotation(line, 1, (line == end.line).then_some(end.column), marker));
        }
    }
    result.sort_by_key(|annotation| (annotation.line, annotation.finding));
    result
}

/// Adds the annotated input to the report.
pub fn annotate(
    report: &mut Report,
    sources: &Sources<'_>,
    (input, implicit): (BufferId, &[BufferId]),
    findings: &[Finding],
    view: View,
) {
    report.push("Input was:\n<<<<<<\n");
    let annotations = annotations(sources, implicit, findings);
    let text: &[u8] = &sources.buffer(input).text;
    let mut lines: Vec<&[u8]> = text.split_inclusive(|&b| b == b'\n').collect();
    let label_width = annotations.iter().map(|annotation| annotation.label.len()).max().unwrap_or(0);
    let width = (label_width.max(lines.len().to_string().len()) + 3).max(view.label_width);
    // A mark may stand after the last line break.
    let last = annotations.last().map_or(0, |annotation| annotation.line);
    lines.resize(lines.len().max(last), b"");

    let shown = shown_lines(&annotations, lines.len(), view);
    let mut elided = Report { color: report.color, ..Report::default() };
    let mut elided_lines = 0;
    let mut next = 0;
    for (index, line) in lines.iter().enumerate() {
        let number = index + 1;
        let count = annotations[next..].iter().take_while(|annotation| annotation.line == number).count();
        let marks = &annotations[next..next + count];
        next += count;
        if shown[index] {
            end_elision(report, &mut elided, &mut elided_lines, width);
            show_line(report, line, number, marks, width, view.verbose);
        } else if elided_lines <= ELLIPSIS {
            show_line(&mut elided, line, number, marks, width, view.verbose);
            elided_lines += 1 + count;
        }
    }
    end_elision(report, &mut elided, &mut elided_lines, width);
    report.push(">>>>>>\n");
}

/// Height of the sign for lines that are left out; no more lines than this are left out.
const ELLIPSIS: usize = 3;

fn end_elision(report: &mut Report, elided: &mut Report, lines: &mut usize, width: usize) {
    if *lines > ELLIPSIS {
        for _ in 0..ELLIPSIS {
            report.style(style::GREY);
            report.push(format!("{:>width$}", "."));
            report.style(style::RESET);
            report.push("\n");
        }
    } else {
        report.push(&elided.text);
    }
    elided.text.clear();
    *lines = 0;
}

fn shown_lines(annotations: &[Annotation], count: usize, view: View) -> Vec<bool> {
    if view.filter == DumpFilter::All {
        return vec![true; count];
    }
    let mut shown = vec![false; count];
    // Annotations are in the order of lines, so nothing before this is to be filled again.
    let mut done = 0;
    for annotation in annotations {
        let wanted = match view.filter {
            DumpFilter::All | DumpFilter::AnnotationFull => true,
            DumpFilter::Annotation => annotation.is_first_line,
            DumpFilter::Error => annotation.is_first_line && annotation.marker.is_error,
        };
        if wanted {
            let first = (annotation.line - 1).saturating_sub(view.context).max(done);
            let end = annotation.line.saturating_add(view.context).min(count);
            shown[first.min(end)..end].fill(true);
            done = end;
        }
    }
    shown
}

fn show_line(report: &mut Report, line: &[u8], number: usize, marks: &[Annotation], width: usize, verbose: bool) {
    report.style(style::GREY);
    report.push(format!("{number:>width$}: "));
    report.style(style::RESET);
    let good = |column: usize| {
        marks.iter().any(|mark| {
            mark.is_good_match && mark.first_column <= column && mark.end_column.is_none_or(|end| column < end)
        })
    };
    let sets_off = report.color && verbose;
    let mut was_good = !sets_off;
    if sets_off {
        report.push(style::ON_CYAN);
        was_good = false;
    }
    for (index, &byte) in line.iter().enumerate() {
        if sets_off && good(index + 1) != was_good {
            was_good = !was_good;
            report.push(if was_good { style::RESET } else { style::ON_CYAN });
        }
        // The line break shows as a blank, so that it can be marked.
        report.push([if byte == b'\n' { b' ' } else { byte }]);
    }
    if sets_off && !was_good {
        report.push(style::RESET);
    }
    report.push("\n");
    for mark in marks {
        show_mark(report, line.len(), mark, width);
    }
}

fn show_mark(report: &mut Report, line_width: usize, mark: &Annotation, width: usize) {
    report.style(mark.marker.color);
    report.push(format!("{:<width$}  {:indent$}", mark.label, "", indent = mark.first_column - 1));
    report.push([mark.marker.lead]);
    let mut column = mark.first_column + 1;
    while mark.end_column.is_none_or(|end| column < end) && column <= line_width {
        report.push("~");
        column += 1;
    }
    if !mark.marker.note.is_empty() {
        // Notes stand after the line, lest they be taken for marks.
        let padding = (line_width + 1).saturating_sub(column);
        report.push(format!("{:padding$} ", ""));
        report.push(&mark.marker.note);
    }
    report.style(style::RESET);
    report.push("\n");
}
