module sim_peers

go 1.25
