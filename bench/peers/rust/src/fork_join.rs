//! Programs that split their work in two, or in many, and wait for the parts. Futures that call themselves are boxed.

use crate::measurement::{check, read_memory, Arguments, Measurement};
use crate::numbers::random;
use std::future::Future;
use std::pin::Pin;
use std::time::Instant;

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Runs work twice, the first time to warm up, and reports the second.
async fn time_fork_join<F: Future<Output = ()>>(a: &Arguments, tasks: u64, work: impl Fn() -> F) -> Measurement {
    work().await;
    let begin = Instant::now();
    work().await;
    let elapsed = begin.elapsed().as_nanos() as f64;

    let mut result = Measurement::default();
    result.add("ms", elapsed / 1e6);
    result.add("tasks", tasks as f64);
    result.add("core_ns", elapsed * a.p as f64 / tasks as f64);
    result.add("peak_mib", read_memory().peak / (1 << 20) as f64);
    result
}

/// Runs all but the last as tasks and the last one here; the sum of what they return.
async fn fork_each(count: usize, f: impl Fn(usize) -> Boxed<u64>) -> u64 {
    if count == 0 {
        return 0;
    }
    let mut joins = Vec::with_capacity(count - 1);
    for i in 0..count - 1 {
        joins.push(tokio::spawn(f(i)));
    }
    let mut sum = f(count - 1).await;
    for join in joins {
        sum += join.await.unwrap();
    }
    sum
}

fn fibonacci(n: u64) -> Boxed<u64> {
    Box::pin(async move {
        if n < 2 {
            return n;
        }
        let a = tokio::spawn(fibonacci(n - 1));
        let b = fibonacci(n - 2).await;
        a.await.unwrap() + b
    })
}

pub async fn run_fib(a: &Arguments) -> Measurement {
    let (n, mut value, mut next) = (a.n as u64, 0, 1);
    for _ in 0..n {
        (value, next) = (next, value + next);
    }
    time_fork_join(a, next - 1, || async move { check(fibonacci(n).await == value, "fib: the value") }).await
}

const LARGEST_BOARD: usize = 16;

/// The queens on the first rows of a board, by column.
#[derive(Clone, Copy, Default)]
struct Board([i8; LARGEST_BOARD]);

impl Board {
    fn admits(&self, row: usize, at: usize) -> bool {
        (0..row).all(|i| {
            let other = self.0[i] as usize;
            other != at && other.abs_diff(at) != row - i
        })
    }

    fn with(mut self, row: usize, at: usize) -> Self {
        self.0[row] = at as i8;
        self
    }
}

/// Also counts the tasks that `queens` starts.
fn queens_in_sequence(board: Board, row: usize, size: usize, forks: &mut u64) -> u64 {
    if row == size {
        return 1;
    }
    let (mut ways, mut children) = (0, 0u64);
    for at in (0..size).filter(|&at| board.admits(row, at)) {
        children += 1;
        ways += queens_in_sequence(board.with(row, at), row + 1, size, forks);
    }
    *forks += children.saturating_sub(1);
    ways
}

fn queens(board: Board, row: usize, size: usize) -> Boxed<u64> {
    Box::pin(async move {
        if row == size {
            return 1;
        }
        let mut places = [0i8; LARGEST_BOARD];
        let mut children = 0;
        for at in 0..size {
            if board.admits(row, at) {
                places[children] = at as i8;
                children += 1;
            }
        }
        fork_each(children, |i| queens(board.with(row, places[i] as usize), row + 1, size)).await
    })
}

pub async fn run_nqueens(a: &Arguments) -> Measurement {
    check(a.n <= LARGEST_BOARD, "nqueens: a board of at most 16 rows");
    let mut forks = 0;
    let ways = queens_in_sequence(Board::default(), 0, a.n, &mut forks);
    let size = a.n;
    time_fork_join(a, forks, || async move {
        check(queens(Board::default(), 0, size).await == ways, "nqueens: the number of solutions");
    })
    .await
}

const TREE_ROOT: u64 = 42;
const TREE_CHILDREN_MAX: usize = 8;

/// An unbalanced tree: how many children a node has follows from its hash.
fn tree_children(node: u64, levels: usize) -> usize {
    let mut count = 0;
    while levels > 0 && count < TREE_CHILDREN_MAX && (node >> (8 * count)) & 255 < 205 {
        count += 1;
    }
    count
}

fn tree_child(node: u64, i: usize) -> u64 {
    random(node.wrapping_add(i as u64))
}

fn tree_size_in_sequence(node: u64, levels: usize, forks: &mut u64) -> u64 {
    let children = tree_children(node, levels);
    *forks += children.saturating_sub(1) as u64;
    1 + (0..children).map(|i| tree_size_in_sequence(tree_child(node, i), levels - 1, forks)).sum::<u64>()
}

fn tree_size(node: u64, levels: usize) -> Boxed<u64> {
    Box::pin(
        async move { 1 + fork_each(tree_children(node, levels), |i| tree_size(tree_child(node, i), levels - 1)).await },
    )
}

/// N is the greatest depth.
pub async fn run_uts(a: &Arguments) -> Measurement {
    let root = random(TREE_ROOT);
    let mut forks = 0;
    let size = tree_size_in_sequence(root, a.n, &mut forks);
    let levels = a.n;
    time_fork_join(a, forks, || async move {
        check(tree_size(root, levels).await == size, "uts: the number of nodes");
    })
    .await
}

/// A square part of a matrix that is `stride` wide.
#[derive(Clone, Copy)]
struct Square {
    first: *mut f64,
    stride: usize,
}

// Tasks that run together write different squares.
unsafe impl Send for Square {}
unsafe impl Sync for Square {}

const MATMUL_LEAF: usize = 32;

impl Square {
    fn of(cells: &mut [f64], stride: usize) -> Self {
        Self { first: cells.as_mut_ptr(), stride }
    }

    fn quarter(self, row: usize, column: usize, half: usize) -> Self {
        Self { first: unsafe { self.first.add(row * half * self.stride + column * half) }, stride: self.stride }
    }

    unsafe fn row<'a>(self, row: usize) -> &'a mut [f64] {
        std::slice::from_raw_parts_mut(self.first.add(row * self.stride), MATMUL_LEAF)
    }
}

fn multiply_leaf(a: Square, b: Square, c: Square) {
    for i in 0..MATMUL_LEAF {
        let (factors, sums) = unsafe { (a.row(i), c.row(i)) };
        for (k, factor) in factors.iter().enumerate() {
            for (sum, value) in sums.iter_mut().zip(unsafe { b.row(k) }.iter()) {
                *sum += factor * value;
            }
        }
    }
}

/// c += a × b, by quarters: four products at once, then the four that add to the same quarters.
fn multiply(a: Square, b: Square, c: Square, size: usize) -> Boxed<u64> {
    Box::pin(async move {
        if size == MATMUL_LEAF {
            multiply_leaf(a, b, c);
            return 0;
        }
        let half = size / 2;
        for k in 0..2 {
            fork_each(4, |i| {
                multiply(a.quarter(i / 2, k, half), b.quarter(k, i % 2, half), c.quarter(i / 2, i % 2, half), half)
            })
            .await;
        }
        0
    })
}

/// N rows and columns, 32 times a power of two.
pub async fn run_matmul(arguments: &Arguments) -> Measurement {
    let n = arguments.n;
    let (mut a, mut b) = (vec![0.0; n * n], vec![0.0; n * n]);
    let mut expected = 0.0;
    for k in 0..n {
        let (mut column_of_a, mut row_of_b) = (0.0, 0.0);
        for i in 0..n {
            a[i * n + k] = ((i + k) % 7) as f64;
            b[k * n + i] = ((i + 2 * k) % 5) as f64;
            column_of_a += a[i * n + k];
            row_of_b += b[k * n + i];
        }
        expected += column_of_a * row_of_b;
    }
    let (mut forks, mut nodes, mut size) = (0, 1, n);
    while size > MATMUL_LEAF {
        forks += nodes * 6;
        (size, nodes) = (size / 2, nodes * 8);
    }
    let (a, b) = (Square::of(&mut a, n), Square::of(&mut b, n));
    time_fork_join(arguments, forks, || async move {
        let mut c = vec![0.0; n * n];
        let target = Square::of(&mut c, n);
        multiply(a, b, target, n).await;
        check(c.iter().sum::<f64>() == expected, "matmul: the sum of the product");
    })
    .await
}
