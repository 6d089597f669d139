module servers

go 1.19

require observing v0.0.0

replace observing => ../../observe/go
