module observing

go 1.19
