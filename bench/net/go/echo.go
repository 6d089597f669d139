package main

import "net"

func echo(connection net.Conn, size int) {
	defer connection.Close()
	buffer := make([]byte, size)
	for {
		n, err := connection.Read(buffer)
		if err != nil {
			return
		}
		if _, err := connection.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func serveEcho(listener net.Listener, size int) {
	for {
		connection, err := listener.Accept()
		if err != nil {
			fail(err)
		}
		go echo(connection, size)
	}
}
