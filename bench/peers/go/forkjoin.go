package main

import (
	"sync"
	"time"
)

// timeForkJoin runs work twice, the first time to warm up, and reports the second.
func timeForkJoin(a arguments, tasks int64, work func()) measurement {
	work()
	begin := time.Now()
	work()
	elapsed := time.Since(begin)

	var m measurement
	m.add("ms", float64(elapsed.Nanoseconds())/1e6)
	m.add("tasks", float64(tasks))
	m.add("core_ns", float64(elapsed.Nanoseconds()*int64(a.p))/float64(tasks))
	m.add("peak_mib", readMemory().peak/(1<<20))
	return m
}

// forkEach runs f(0) … f(count - 2) as tasks and f(count - 1) here, and returns when all have ended.
func forkEach(count int, f func(int)) {
	if count == 0 {
		return
	}
	var done sync.WaitGroup
	done.Add(count - 1)
	for i := 0; i < count-1; i++ {
		go func(i int) {
			f(i)
			done.Done()
		}(i)
	}
	f(count - 1)
	done.Wait()
}

func fibonacci(n int) int64 {
	if n < 2 {
		return int64(n)
	}
	var a int64
	var done sync.WaitGroup
	done.Add(1)
	go func() {
		a = fibonacci(n - 1)
		done.Done()
	}()
	b := fibonacci(n - 2)
	done.Wait()
	return a + b
}

func runFib(a arguments) measurement {
	var value, next int64 = 0, 1
	for i := 0; i < a.n; i++ {
		value, next = next, value+next
	}
	return timeForkJoin(a, next-1, func() { check(fibonacci(a.n) == value, "fib: the value") })
}

const largestBoard = 16

// A board holds the queens on its first rows, by column.
type board [largestBoard]int8

func (b *board) admits(row, at int) bool {
	for i := 0; i < row; i++ {
		other := int(b[i])
		if other == at || other-at == row-i || at-other == row-i {
			return false
		}
	}
	return true
}

func (b board) with(row, at int) board {
	b[row] = int8(at)
	return b
}

// queensInSequence also counts the tasks that queens starts.
func queensInSequence(b board, row, size int, forks *int64) int64 {
	if row == size {
		return 1
	}
	var ways, children int64
	for at := 0; at < size; at++ {
		if b.admits(row, at) {
			children++
			ways += queensInSequence(b.with(row, at), row+1, size, forks)
		}
	}
	if children > 0 {
		*forks += children - 1
	}
	return ways
}

func queens(b board, row, size int) int64 {
	if row == size {
		return 1
	}
	var places [largestBoard]int8
	var ways [largestBoard]int64
	children := 0
	for at := 0; at < size; at++ {
		if b.admits(row, at) {
			places[children] = int8(at)
			children++
		}
	}
	forkEach(children, func(i int) { ways[i] = queens(b.with(row, int(places[i])), row+1, size) })
	var sum int64
	for i := 0; i < children; i++ {
		sum += ways[i]
	}
	return sum
}

func runNqueens(a arguments) measurement {
	check(a.n <= largestBoard, "nqueens: a board of at most 16 rows")
	var forks int64
	ways := queensInSequence(board{}, 0, a.n, &forks)
	return timeForkJoin(a, forks, func() {
		check(queens(board{}, 0, a.n) == ways, "nqueens: the number of solutions")
	})
}

// An unbalanced tree: how many children a node has follows from its hash.
const (
	treeRoot        = 42
	treeChildrenMax = 8
)

func treeChildren(node uint64, levels int) int {
	count := 0
	for levels > 0 && count < treeChildrenMax && (node>>(8*uint(count)))&255 < 205 {
		count++
	}
	return count
}

func treeChild(node uint64, i int) uint64 { return random(node + uint64(i)) }

func treeSizeInSequence(node uint64, levels int, forks *int64) int64 {
	children := treeChildren(node, levels)
	var size int64 = 1
	for i := 0; i < children; i++ {
		size += treeSizeInSequence(treeChild(node, i), levels-1, forks)
	}
	if children > 0 {
		*forks += int64(children) - 1
	}
	return size
}

func treeSize(node uint64, levels int) int64 {
	children := treeChildren(node, levels)
	var sizes [treeChildrenMax]int64
	forkEach(children, func(i int) { sizes[i] = treeSize(treeChild(node, i), levels-1) })
	var size int64 = 1
	for i := 0; i < children; i++ {
		size += sizes[i]
	}
	return size
}

// N is the greatest depth.
func runUts(a arguments) measurement {
	root := random(treeRoot)
	var forks int64
	size := treeSizeInSequence(root, a.n, &forks)
	return timeForkJoin(a, forks, func() { check(treeSize(root, a.n) == size, "uts: the number of nodes") })
}

// A square is a part of a matrix that is `stride` wide.
type square struct {
	cells  []float64
	stride int
}

func (s square) quarter(row, column, half int) square {
	return square{s.cells[row*half*s.stride+column*half:], s.stride}
}

const matmulLeaf = 32

func multiplyLeaf(a, b, c square) {
	for i := 0; i < matmulLeaf; i++ {
		row := c.cells[i*c.stride : i*c.stride+matmulLeaf]
		for k := 0; k < matmulLeaf; k++ {
			factor := a.cells[i*a.stride+k]
			with := b.cells[k*b.stride : k*b.stride+matmulLeaf]
			for j := range row {
				row[j] += factor * with[j]
			}
		}
	}
}

// multiply adds a × b to c by quarters: four products at once, then the four that add to the same quarters.
func multiply(a, b, c square, size int) {
	if size == matmulLeaf {
		multiplyLeaf(a, b, c)
		return
	}
	half := size / 2
	for k := 0; k < 2; k++ {
		forkEach(4, func(i int) {
			multiply(a.quarter(i/2, k, half), b.quarter(k, i%2, half), c.quarter(i/2, i%2, half), half)
		})
	}
}

// N rows and columns, 32 times a power of two.
func runMatmul(arg arguments) measurement {
	n := arg.n
	a, b := make([]float64, n*n), make([]float64, n*n)
	expected := 0.0
	for k := 0; k < n; k++ {
		columnOfA, rowOfB := 0.0, 0.0
		for i := 0; i < n; i++ {
			a[i*n+k] = float64((i + k) % 7)
			b[k*n+i] = float64((i + 2*k) % 5)
			columnOfA += a[i*n+k]
			rowOfB += b[k*n+i]
		}
		expected += columnOfA * rowOfB
	}
	var forks, nodes int64 = 0, 1
	for size := n; size > matmulLeaf; size, nodes = size/2, nodes*8 {
		forks += nodes * 6
	}
	return timeForkJoin(arg, forks, func() {
		c := make([]float64, n*n)
		multiply(square{a, n}, square{b, n}, square{c, n}, n)
		sum := 0.0
		for _, cell := range c {
			sum += cell
		}
		check(sum == expected, "matmul: the sum of the product")
	})
}
