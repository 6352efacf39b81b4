package node

import (
	"context"
	"log/slog"
	"time"

	"github.com/orrery-dev/orrery/shared/history"
	"github.com/orrery-dev/orrery/shared/store"
	"github.com/orrery-dev/orrery/shared/telemetry"
)

// listener is the goroutine that hears bells. While its connection is broken they are lost: the heartbeat finds within a
// second what they would have told, and after a new beginning everything is looked at once.
type listener struct {
	node  *Node
	fence history.FenceNumber
	loop  *loop
	log   *slog.Logger
}

func (x *listener) run(ctx context.Context) error {
	pause := backoff{next: 50 * time.Millisecond, most: time.Second}
	for {
		err := x.node.store.Listen(ctx, x.fence, func(b store.Bell) {
			pause = backoff{next: 50 * time.Millisecond, most: time.Second}
			x.hear(ctx, b)
		})
		x.node.definitions.hears(false)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		x.log.Warn("the connection for bells is gone", telemetry.KeyError, err)
		if !pause.wait(ctx) {
			return context.Cause(ctx)
		}
	}
}

func (x *listener) hear(ctx context.Context, b store.Bell) {
	switch b.Kind {
	case store.BellConnected:
		x.node.definitions.hears(true)
		x.node.claims.rangAll()
		x.node.ends.rangAll()
		x.node.replies.rangAll()
		x.loop.send(x.loop.ctx, belled{everything: true})
		x.loop.owners.look()
		x.node.scheduler.Ring()
	case store.BellInbox:
		x.loop.send(x.loop.ctx, belled{})
	case store.BellTasks:
		x.node.claims.rangAll()
	case store.BellEnded:
		x.node.ends.rang(b.Execution)
	case store.BellReply:
		x.node.replies.rang(b.Entry)
	case store.BellDefinitions:
		x.node.definitions.published()
		x.node.renewContracts(ctx, readTime)
	case store.BellSchedules:
		x.node.scheduler.Ring()
	}
}

// belled tells the loop that somebody has something for it.
type belled struct{ everything bool }

func (m belled) apply(l *loop) {
	if m.everything {
		l.wantAll()
		return
	}
	l.looks.inbox.wanted, l.looks.belled = true, true
	l.looks.due.belledDue()
}
