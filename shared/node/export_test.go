package node

// Kill ends the node as if its process had been killed.
func (n *Node) Kill() { (*n.kill.Load())(errKilled) }
