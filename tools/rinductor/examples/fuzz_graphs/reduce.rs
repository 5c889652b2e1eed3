//! Makes a graph that fails smaller, as long as it fails in the same way.

use crate::graph::{Graph, Input, Size};
use crate::run;
use rinductor::driver::session::Dialects;
use rinductor::interp::value::Array;

/// What a message is about: the pass, without values.
fn kind(message: &str) -> String {
    let head = message.split(':').next().unwrap_or("");
    let tail = message.split_once(':').map_or("", |(_, t)| t);
    let words: Vec<&str> = tail.split_whitespace().filter(|w| w.chars().all(char::is_alphabetic)).take(3).collect();
    format!("{head}:{}", words.join(" "))
}

/// The smallest graph that was found, with its message.
pub fn reduce(graph: &Graph, passes: &str, dialects: &Dialects, message: String) -> (Graph, String) {
    let wanted = kind(&message);
    let mut best = (graph.clone(), message);
    let mut tries = 0;
    loop {
        let mut smaller = false;
        for candidate in candidates(&best.0, dialects) {
            tries += 1;
            if tries > 400 {
                return best;
            }
            let result =
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run::check(&candidate, passes, dialects)));
            let failed = match result {
                Ok(Ok(_)) => None,
                Ok(Err(message)) => Some(message),
                Err(_) => Some("panic".to_string()),
            };
            if let Some(message) = failed.filter(|m| kind(m) == wanted) {
                best = (candidate, message);
                smaller = true;
                break;
            }
        }
        if !smaller {
            return best;
        }
    }
}

fn candidates(graph: &Graph, dialects: &Dialects) -> Vec<Graph> {
    let mut list = Vec::new();
    for k in 0..graph.outputs.len() {
        if graph.outputs.len() > 1 {
            let mut one = graph.clone();
            one.outputs = vec![graph.outputs[k]];
            list.push(one.without_dead());
        }
    }
    for k in 0..graph.outputs.len() {
        if graph.outputs.len() > 2 {
            let mut less = graph.clone();
            less.outputs.remove(k);
            list.push(less.without_dead());
        }
    }
    // A value from inside as the only output.
    let total = graph.inputs.len() + graph.nodes.iter().map(|n| n.results).sum::<usize>();
    for v in graph.inputs.len()..total {
        if graph.outputs != [v] {
            let mut earlier = graph.clone();
            earlier.outputs = vec![v];
            let earlier = earlier.without_dead();
            if earlier.nodes.len() < graph.nodes.len() {
                list.push(earlier);
            }
        }
    }
    // What a node gives as an input.
    for node in 0..graph.nodes.len() {
        if let Some(inputs) = results_of(graph, node, dialects) {
            list.push(graph.with_inputs_for(node, inputs).without_dead());
        }
    }
    for k in 0..graph.inputs.len() {
        let mut plain = graph.clone();
        let input = &mut plain.inputs[k];
        let rank = input.sizes.len();
        let in_order = input.order.iter().copied().eq(0..rank);
        if !in_order || input.steps.iter().any(|&s| s != 1) {
            input.order = (0..rank).collect();
            input.steps = vec![1; rank];
            list.push(plain);
        }
    }
    if !graph.symbols.is_empty() && graph.inputs.iter().any(|i| i.sizes.iter().any(|s| matches!(s, Size::Symbol(_)))) {
        let mut known = graph.clone();
        for input in &mut known.inputs {
            for size in &mut input.sizes {
                if let Size::Symbol(k) = *size {
                    *size = Size::Known(graph.symbols[k].0);
                }
            }
        }
        list.push(known);
    }
    list
}

/// What a node gives, as inputs.
fn results_of(graph: &Graph, node: usize, dialects: &Dialects) -> Option<Vec<Input>> {
    let first = graph.inputs.len() + graph.nodes[..node].iter().map(|n| n.results).sum::<usize>();
    let mut one = graph.clone();
    one.outputs = (first..first + graph.nodes[node].results).collect();
    let one = one.without_dead();
    let built = one.build(&dialects.library)?;
    let reference = run::reference(&built, dialects).ok()?;
    let input = |a: &Array| {
        let mut order: Vec<usize> = (0..a.sizes.len()).collect();
        order.sort_by_key(|&d| std::cmp::Reverse(a.strides[d]));
        let sizes = a.sizes.iter().map(|&n| Size::Known(n)).collect();
        let steps = vec![1; a.sizes.len()];
        Input { dtype: a.dtype, sizes, order, steps, elements: a.elements() }
    };
    Some(reference.results.iter().map(input).collect())
}
