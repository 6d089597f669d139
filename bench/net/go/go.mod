module servers

go 1.19
