package main

import (
	"reflect"
	"sync"
	"sync/atomic"
	"time"
)

const selectBatch = 128

// N selects among four channels of which one has values: 128 of them, then the next channel has. Filling is not timed.
func runSelectReady(a arguments) measurement {
	var channels [4]chan int64
	for i := range channels {
		channels[i] = make(chan int64, selectBatch)
	}
	batches := a.n/selectBatch + 1
	var sums [4]int64
	var elapsed time.Duration
	for batch := -batches / 10; batch < batches; batch++ {
		if batch == 0 {
			elapsed = 0
			sums = [4]int64{}
		}
		ready := channels[batch&3]
		for i := 0; i < selectBatch; i++ {
			ready <- 1
		}
		begin := time.Now()
		for i := 0; i < selectBatch; i++ {
			select {
			case value := <-channels[0]:
				sums[0] += value
			case value := <-channels[1]:
				sums[1] += value
			case value := <-channels[2]:
				sums[2] += value
			case value := <-channels[3]:
				sums[3] += value
			}
		}
		elapsed += time.Since(begin)
	}
	for i := range sums {
		turns := (batches + 3 - i) / 4
		check(sums[i] == int64(turns*selectBatch), "select_ready: what each channel carried")
	}

	var m measurement
	m.addPerOp("ns_per_op", elapsed, batches*selectBatch)
	return m
}

// A producer sends N values to four unbuffered channels in turn; the consumer selects among them.
func runSelectBlock(arg arguments) measurement {
	var elapsed time.Duration
	transfer := func(messages int64) {
		a, b, c, d := make(chan int64), make(chan int64), make(chan int64), make(chan int64)
		var sums [4]int64
		var done sync.WaitGroup
		done.Add(1)
		begin := time.Now()
		go func() {
			for i := int64(0); i < messages; i += 4 {
				a <- i
				b <- i + 1
				c <- i + 2
				d <- i + 3
			}
			done.Done()
		}()
		for i := int64(0); i < messages; i++ {
			select {
			case value := <-a:
				sums[0] += value
			case value := <-b:
				sums[1] += value
			case value := <-c:
				sums[2] += value
			case value := <-d:
				sums[3] += value
			}
		}
		done.Wait()
		elapsed = time.Since(begin)
		turns := messages / 4
		for i := range sums {
			check(sums[i] == 4*(turns*(turns-1)/2)+int64(i)*turns, "select_block: what each channel carried")
		}
	}
	transfer(int64(arg.n)/40*4 + 4)
	transfer(int64(arg.n) / 4 * 4)

	var m measurement
	m.addPerOp("ns_per_op", elapsed, arg.n/4*4)
	return m
}

// N selects that find nothing ready and take the way out; K cases, 1 or 4.
func runSelectDefault(arg arguments) measurement {
	check(arg.k == 1 || arg.k == 4, "select_default: k is 1 or 4")
	a, b, c, d := make(chan int64), make(chan int64), make(chan int64), make(chan int64)
	never := func() { check(false, "select_default: a value that no task sent") }
	nothing := 0
	begin := time.Now()
	if arg.k == 1 {
		for i := 0; i < arg.n; i++ {
			select {
			case <-a:
				never()
			default:
				nothing++
			}
		}
	} else {
		for i := 0; i < arg.n; i++ {
			select {
			case <-a:
				never()
			case <-b:
				never()
			case <-c:
				never()
			case <-d:
				never()
			default:
				nothing++
			}
		}
	}
	elapsed := time.Since(begin)
	check(nothing == arg.n, "select_default: every select took the default")

	var m measurement
	m.addPerOp("ns_per_op", elapsed, arg.n)
	return m
}

// Two tasks meet N times, one selecting among sends on sixteen unbuffered channels, the other among receives on the same.
func runSelectMeet(a arguments) measurement {
	var elapsed time.Duration
	meet := func(times int64) {
		var c [16]chan int64
		for i := range c {
			c[i] = make(chan int64)
		}
		var sum int64
		var done sync.WaitGroup
		done.Add(2)
		begin := time.Now()
		go func() {
			for i := int64(0); i < times; i++ {
				select {
				case c[0] <- i:
				case c[1] <- i:
				case c[2] <- i:
				case c[3] <- i:
				case c[4] <- i:
				case c[5] <- i:
				case c[6] <- i:
				case c[7] <- i:
				case c[8] <- i:
				case c[9] <- i:
				case c[10] <- i:
				case c[11] <- i:
				case c[12] <- i:
				case c[13] <- i:
				case c[14] <- i:
				case c[15] <- i:
				}
			}
			done.Done()
		}()
		go func() {
			for i := int64(0); i < times; i++ {
				var value int64
				select {
				case value = <-c[0]:
				case value = <-c[1]:
				case value = <-c[2]:
				case value = <-c[3]:
				case value = <-c[4]:
				case value = <-c[5]:
				case value = <-c[6]:
				case value = <-c[7]:
				case value = <-c[8]:
				case value = <-c[9]:
				case value = <-c[10]:
				case value = <-c[11]:
				case value = <-c[12]:
				case value = <-c[13]:
				case value = <-c[14]:
				case value = <-c[15]:
				}
				sum += value
			}
			done.Done()
		}()
		done.Wait()
		elapsed = time.Since(begin)
		check(sum == times*(times-1)/2, "select_meet: the sum of the messages")
	}
	meet(int64(a.n)/10 + 1)
	meet(int64(a.n))

	var m measurement
	m.addPerOp("ns_per_op", elapsed, a.n)
	return m
}

// N selects among K channels, a number known at run time, of which one has values: 128 of them, then the next channel has.
func runSelectWidth(a arguments) measurement {
	width := a.k
	batches := a.n/selectBatch + 1
	channels := make([]chan int64, width)
	cases := make([]reflect.SelectCase, width)
	for i := range channels {
		channels[i] = make(chan int64, selectBatch)
		cases[i] = reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(channels[i])}
	}
	var sum, expected int64
	var elapsed time.Duration
	for batch := -batches / 10; batch < batches; batch++ {
		if batch == 0 {
			elapsed = 0
		}
		ready := channels[(batch+batches)%width]
		for i := 0; i < selectBatch; i++ {
			ready <- int64(batch + batches)
		}
		expected += selectBatch * int64(batch+batches)
		begin := time.Now()
		for i := 0; i < selectBatch; i++ {
			_, value, _ := reflect.Select(cases)
			sum += value.Int()
		}
		elapsed += time.Since(begin)
	}
	check(sum == expected, "select_width: the sum of the messages")

	var m measurement
	m.addPerOp("ns_per_op", elapsed, batches*selectBatch)
	m.addPerOp("case_ns", elapsed, batches*selectBatch*width)
	return m
}

// A task waits on two channels, N times over. K others wait on the first, for ever; the second always has the value.
func runWithdraw(a arguments) measurement {
	tasks := int64(a.k)
	crowded, call, answer := make(chan int64), make(chan int64), make(chan int64)
	var parked, done, played sync.WaitGroup
	var arrived int64
	parked.Add(1)
	done.Add(a.k)
	played.Add(1)
	for i := 0; i < a.k; i++ {
		go func() {
			if atomic.AddInt64(&arrived, 1) == tasks {
				parked.Done()
			}
			_, carried := <-crowded
			check(!carried, "withdraw: nothing comes by the crowded channel")
			done.Done()
		}()
	}
	parked.Wait()
	go func() {
		for open := true; open; {
			var value int64
			select {
			case <-crowded:
				check(false, "withdraw: nothing comes by the crowded channel")
			case value, open = <-call:
			}
			if open {
				answer <- value + 1
			}
		}
		played.Done()
	}()
	play := func(turns int64) {
		for i := int64(0); i < turns; i++ {
			call <- i
			check(<-answer == i+1, "withdraw: the answer to what was sent")
		}
	}
	play(int64(a.n)/10 + 1)
	begin := time.Now()
	play(int64(a.n))
	elapsed := time.Since(begin)
	close(call)
	played.Wait()
	close(crowded)
	done.Wait()

	var m measurement
	m.addPerOp("ns_per_op", elapsed, a.n)
	return m
}
