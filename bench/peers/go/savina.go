package main

import (
	"sync"
	"sync/atomic"
	"time"
)

const mailboxSize = 128

type letter struct{ kind, from, value int64 }

// timeProgram runs work twice, the first time to warm up, and reports the second.
func timeProgram(a arguments, work func(n int) time.Duration) measurement {
	work(a.n)
	elapsed := work(a.n)

	var m measurement
	m.add("ms", float64(elapsed.Nanoseconds())/1e6)
	m.addPerOp("ns_per_op", elapsed, a.n)
	return m
}

// One actor counts N letters and answers how many there were.
func runSavinaCount(a arguments) measurement {
	const (
		increment = iota
		retrieve
	)
	return timeProgram(a, func(letters int) time.Duration {
		begin := time.Now()
		counter := make(chan letter, mailboxSize)
		answer := make(chan int64)
		var done sync.WaitGroup
		done.Add(1)
		go func() {
			var count int64
			for received := range counter {
				if received.kind == increment {
					count++
				} else {
					answer <- count
				}
			}
			done.Done()
		}()
		for i := 0; i < letters; i++ {
			counter <- letter{kind: increment}
		}
		counter <- letter{kind: retrieve}
		check(<-answer == int64(letters), "savina_count: the count")
		close(counter)
		done.Wait()
		return time.Since(begin)
	})
}

// N actors are made; each computes for a moment and ends.
func runSavinaFjcreate(a arguments) measurement {
	const steps = 40
	return timeProgram(a, func(actors int) time.Duration {
		begin := time.Now()
		var sum uint64
		var done sync.WaitGroup
		done.Add(actors)
		for i := 0; i < actors; i++ {
			go func(i int) {
				atomic.AddUint64(&sum, hashOver(uint64(i), steps))
				done.Done()
			}(i)
		}
		done.Wait()
		elapsed := time.Since(begin)
		var expected uint64
		for i := 0; i < actors; i++ {
			expected += hashOver(uint64(i), steps)
		}
		check(sum == expected, "savina_fjcreate: what all computed")
		return elapsed
	})
}

// K actors; each sends a ping to another, drawn at random, and answers others' pings until its pong comes; N pings altogether.
func runSavinaBig(a arguments) measurement {
	const (
		ping = iota
		pong
	)
	actors := int64(a.k)
	check(actors >= 2 && actors < mailboxSize, "savina_big: from 2 to 127 actors")
	return timeProgram(a, func(pings int) time.Duration {
		each := int64(pings) / actors
		begin := time.Now()
		boxes := make([]chan letter, actors)
		for i := range boxes {
			boxes[i] = make(chan letter, mailboxSize)
		}
		var answered int64
		var played, done sync.WaitGroup
		played.Add(a.k)
		done.Add(a.k)
		for me := int64(0); me < actors; me++ {
			go func(me int64) {
				sendPing := func(turn int64) {
					other := randomBelow(me<<32|turn, actors-1)
					if other >= me {
						other++
					}
					boxes[other] <- letter{ping, me, turn}
				}
				var sent, mine int64
				sendPing(sent)
				sent++
				for received := range boxes[me] {
					if received.kind == ping {
						mine++
						boxes[received.from] <- letter{pong, me, received.value}
						continue
					}
					check(received.value == sent-1, "savina_big: the answer to the latest ping")
					if sent < each {
						sendPing(sent)
						sent++
					} else {
						played.Done()
					}
				}
				atomic.AddInt64(&answered, mine)
				done.Done()
			}(me)
		}
		played.Wait()
		for _, box := range boxes {
			close(box)
		}
		done.Wait()
		check(answered == each*actors, "savina_big: every ping was answered once")
		return time.Since(begin)
	})
}

// A boundedBuffer is a manager between K producers and K consumers: it keeps up to 50 items.
type boundedBuffer struct {
	pairs   int64
	manager chan letter
	workers []chan letter // producers, then consumers
}

const (
	offer = iota
	ask
	finished
)

const (
	bufferSteps = 25
	itemMask    = 0xffff
	bufferRoom  = 50
)

func (b *boundedBuffer) produce(me, items int64) {
	for i := int64(0); i < items; i++ {
		item := int64(hashOver(uint64(me<<32|i), bufferSteps) & itemMask)
		b.manager <- letter{offer, me, item}
		_, open := <-b.workers[me]
		check(open, "savina_bndbuffer: the manager answers a producer")
	}
	b.manager <- letter{finished, me, 0}
}

func (b *boundedBuffer) consume(me int64) int64 {
	var sum int64
	for {
		b.manager <- letter{ask, b.pairs + me, 0}
		item, open := <-b.workers[b.pairs+me]
		if !open {
			return sum
		}
		sum += item.value + int64(hashOver(uint64(item.value), bufferSteps)&1)
	}
}

func (b *boundedBuffer) manage() {
	producing := b.pairs
	var items, held, waiting []int64
	for producing > 0 || len(items) > 0 || int64(len(waiting)) < b.pairs {
		switch received := <-b.manager; received.kind {
		case finished:
			producing--
		case ask:
			waiting = append(waiting, received.from)
		default:
			items = append(items, received.value)
			held = append(held, received.from)
		}
		for len(items) > 0 && len(waiting) > 0 {
			last := len(waiting) - 1
			b.workers[waiting[last]] <- letter{0, 0, items[0]}
			waiting = waiting[:last]
			items = items[1:]
		}
		for len(held) > 0 && len(items) <= bufferRoom {
			b.workers[held[0]] <- letter{}
			held = held[1:]
		}
	}
	for _, consumer := range waiting {
		close(b.workers[consumer])
	}
}

func sumOfItems(me, items int64) int64 {
	var sum int64
	for i := int64(0); i < items; i++ {
		item := hashOver(uint64(me<<32|i), bufferSteps) & itemMask
		sum += int64(item + hashOver(item, bufferSteps)&1)
	}
	return sum
}

func runSavinaBndbuffer(a arguments) measurement {
	pairs := int64(a.k)
	check(2*pairs < mailboxSize, "savina_bndbuffer: at most 63 producers")
	return timeProgram(a, func(allItems int) time.Duration {
		items := int64(allItems) / pairs
		begin := time.Now()
		buffer := &boundedBuffer{pairs: pairs, manager: make(chan letter, mailboxSize), workers: make([]chan letter, 2*pairs)}
		for i := range buffer.workers {
			buffer.workers[i] = make(chan letter, 2)
		}
		var sum int64
		var done sync.WaitGroup
		done.Add(2 * a.k)
		for i := int64(0); i < pairs; i++ {
			go func(i int64) {
				buffer.produce(i, items)
				done.Done()
			}(i)
			go func(i int64) {
				atomic.AddInt64(&sum, buffer.consume(i))
				done.Done()
			}(i)
		}
		buffer.manage()
		done.Wait()
		elapsed := time.Since(begin)
		var expected int64
		for i := int64(0); i < pairs; i++ {
			expected += sumOfItems(i, items)
		}
		check(sum == expected, "savina_bndbuffer: every item was consumed once")
		return elapsed
	})
}

// K accounts; N transfers from one to a later one, 64 of them under way at once.
func runSavinaBanking(a arguments) measurement {
	const (
		transfer = iota
		deposit
	)
	const underWay = 64
	accounts := int64(a.k)
	check(accounts >= 2, "savina_banking needs two accounts")
	return timeProgram(a, func(transfers int) time.Duration {
		type account struct {
			box, answer chan letter
			balance     int64
		}
		begin := time.Now()
		bank := make([]account, accounts)
		for i := range bank {
			bank[i] = account{box: make(chan letter, mailboxSize), answer: make(chan letter, 2)}
		}
		teller := make(chan letter, mailboxSize)
		var done sync.WaitGroup
		done.Add(a.k)
		for me := int64(0); me < accounts; me++ {
			go func(me int64) {
				mine := &bank[me]
				for received := range mine.box {
					if received.kind == deposit {
						mine.balance += received.value
						bank[received.from].answer <- letter{}
						continue
					}
					mine.balance -= received.value
					bank[received.from].box <- letter{deposit, me, received.value}
					<-mine.answer
					teller <- letter{}
				}
				done.Done()
			}(me)
		}

		expected := make([]int64, accounts)
		for i := int64(0); i < int64(transfers)+underWay; i++ {
			if i >= underWay {
				<-teller
			}
			if i >= int64(transfers) {
				continue
			}
			payer := randomBelow(2*i, accounts-1)
			payee := payer + 1 + randomBelow(2*i+1, accounts-payer-1)
			amount := i % 100
			expected[payer] -= amount
			expected[payee] += amount
			bank[payer].box <- letter{transfer, payee, amount}
		}
		for i := range bank {
			close(bank[i].box)
		}
		done.Wait()
		elapsed := time.Since(begin)
		for i := range bank {
			check(bank[i].balance == expected[i], "savina_banking: the balance of every account")
		}
		return elapsed
	})
}
