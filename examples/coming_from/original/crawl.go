// crawl.go: follows the links of a site, four fetches at a time, and reports pages that are
// missing or slow. Run it: go run crawl.go
package main

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"sync"
	"time"
)

var site = map[string][]string{
	"/":         {"/about", "/blog", "/shop"},
	"/about":    {"/", "/team"},
	"/blog":     {"/blog/1", "/blog/2", "/old"},
	"/blog/1":   {"/", "/blog/2"},
	"/blog/2":   {"/shop", "/slow"},
	"/shop":     {"/shop/tea", "/cart"},
	"/shop/tea": {},
	"/slow":     {},
	"/team":     {"/blog"},
}

var errNotFound = errors.New("not found")

func fetch(ctx context.Context, url string) ([]string, error) {
	delay := time.Millisecond
	if url == "/slow" {
		delay = time.Hour
	}
	select {
	case <-time.After(delay):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	links, ok := site[url]
	if !ok {
		return nil, errNotFound
	}
	return links, nil
}

type result struct {
	url   string
	links []string
	err   error
}

func worker(ctx context.Context, urls <-chan string, results chan<- result) {
	for url := range urls {
		ctx, cancel := context.WithTimeout(ctx, 250*time.Millisecond)
		links, err := fetch(ctx, url)
		cancel()
		results <- result{url, links, err}
	}
}

func crawl(ctx context.Context, start string, workers int) (pages int, broken []string) {
	urls := make(chan string)
	results := make(chan result)
	var running sync.WaitGroup
	for i := 0; i < workers; i++ {
		running.Add(1)
		go func() {
			defer running.Done()
			worker(ctx, urls, results)
		}()
	}
	seen := map[string]bool{start: true}
	queue := []string{start}
	for busy := 0; busy > 0 || len(queue) > 0; {
		var out chan<- string // nil, so its case is never ready
		var next string
		if len(queue) > 0 {
			out, next = urls, queue[0]
		}
		select {
		case out <- next:
			queue = queue[1:]
			busy++
		case r := <-results:
			busy--
			if r.err != nil {
				broken = append(broken, fmt.Sprintf("%s: %v", r.url, r.err))
				continue
			}
			pages++
			for _, link := range r.links {
				if !seen[link] {
					seen[link] = true
					queue = append(queue, link)
				}
			}
		}
	}
	close(urls)
	running.Wait()
	sort.Strings(broken)
	return pages, broken
}

func main() {
	pages, broken := crawl(context.Background(), "/", 4)
	fmt.Println(pages, "pages")
	for _, b := range broken {
		fmt.Println(b)
	}
}
