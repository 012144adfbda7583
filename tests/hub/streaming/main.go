// Command streaming-server serves one file over HTTP, for the tests of readers of answers. It prints its port.
//
// The path is /SIZE/PAUSE/...: the file goes out in pieces of SIZE bytes, each flushed, with PAUSE microseconds after every
// hundredth piece. A client that accepts gzip gets gzip, as behind a proxy that compresses.
package main

import (
	"compress/gzip"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

func main() {
	body, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	log.Fatal(http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		parts := strings.SplitN(strings.TrimPrefix(r.URL.Path, "/"), "/", 3)
		size, _ := strconv.Atoi(parts[0])
		pause := 0
		if len(parts) > 1 {
			pause, _ = strconv.Atoi(parts[1])
		}
		if size < 1 {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		var out io.Writer = w
		flush := w.(http.Flusher).Flush
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			w.Header().Set("Content-Encoding", "gzip")
			packed := gzip.NewWriter(w)
			defer packed.Close()
			out, flush = packed, func() { packed.Flush(); w.(http.Flusher).Flush() }
		}
		for at, pieces := 0, 1; at < len(body); at, pieces = at+size, pieces+1 {
			if _, err := out.Write(body[at:min(at+size, len(body))]); err != nil {
				return
			}
			flush()
			if pause > 0 && pieces%100 == 0 {
				time.Sleep(time.Duration(pause) * time.Microsecond)
			}
		}
	})))
}
