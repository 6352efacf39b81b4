// The Go worker of the orders example: it checks orders, takes and returns payments, and notifies customers. What it
// calls outside is simulated; everything else is as in production: typed handlers, idempotent effects, heartbeats with
// progress, a clean end on SIGTERM.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"hash/fnv"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/orrery-dev/orrery/shared/worker"
)

// Order is what a customer sends.
type Order struct {
	Order    string `json:"order"`
	Customer string `json:"customer"`
	Items    []Item `json:"items"`
}

// Item is one line of an order.
type Item struct {
	SKU        string `json:"sku"`
	Quantity   int    `json:"quantity"`
	PriceCents int    `json:"price_cents"`
}

// Checked is the output of orders.validate.
type Checked struct {
	Total int `json:"total"` // in cents
}

// Charge is the input of payments.charge.
type Charge struct {
	Order  string `json:"order"`
	Card   string `json:"card"`
	Amount int    `json:"amount"` // in cents
}

// Payment is the output of payments.charge.
type Payment struct {
	ID string `json:"id"`
}

// Refund is the input of payments.refund.
type Refund struct {
	Order   string `json:"order"`
	Payment string `json:"payment"`
}

func main() {
	url := flag.String("url", cmp.Or(os.Getenv("ORRERY_URL"), "http://127.0.0.1:8080"), "address of a node or a gateway")
	id := flag.String("id", "orders-go", "worker id")
	concurrency := flag.Int("concurrency", 16, "tasks at work at once")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	w := worker.New(worker.Config{URL: *url, ID: *id, Concurrency: *concurrency})
	bank := bank{done: map[string]Payment{}}
	worker.Handle(w, "orders.validate", 1, validate)
	worker.Handle(w, "payments.charge", 1, bank.charge)
	worker.Handle(w, "payments.refund", 1, bank.refund)
	worker.Handle(w, "orders.notify", 1, notify)
	if err := w.Run(ctx); err != nil {
		slog.Error("the worker has ended", "error", err)
		os.Exit(1)
	}
}

func validate(ctx context.Context, _ worker.Task, o Order) (Checked, error) {
	var c Checked
	for _, i := range o.Items {
		if i.Quantity < 1 {
			return c, worker.Finalf("OrderInvalid", "%s: the quantity of %s is %d", o.Order, i.SKU, i.Quantity)
		}
		c.Total += i.Quantity * i.PriceCents
	}
	return c, work(ctx, 10*time.Millisecond)
}

// bank stands for a payment service that remembers idempotency keys, as real ones do.
type bank struct {
	mu   sync.Mutex
	done map[string]Payment
}

func (b *bank) charge(ctx context.Context, t worker.Task, c Charge) (Payment, error) {
	if strings.HasSuffix(c.Card, "declined") {
		return Payment{}, worker.Finalf("CardDeclined", "the bank declines card %s", c.Card)
	}
	// A third of the charges meet a service that is away, once or twice.
	if n := spread(c.Order); n%3 == 0 && t.Attempt <= int(n%2)+1 {
		return Payment{}, worker.Errorf("PaymentUnavailable", "the payment service is away (attempt %d)", t.Attempt)
	}
	if err := t.Progress(map[string]string{"step": "authorised"}); err != nil {
		return Payment{}, err
	}
	if err := work(ctx, 60*time.Millisecond); err != nil {
		return Payment{}, err
	}
	return b.once(t.IdempotencyKey, Payment{ID: "pay-" + c.Order}), nil
}

func (b *bank) refund(ctx context.Context, t worker.Task, r Refund) (Payment, error) {
	if err := work(ctx, 30*time.Millisecond); err != nil {
		return Payment{}, err
	}
	return b.once(t.IdempotencyKey, Payment{ID: "refund-" + r.Payment}), nil
}

// once gives what was done under the key before, else does it.
func (b *bank) once(key string, p Payment) Payment {
	b.mu.Lock()
	defer b.mu.Unlock()
	if earlier, ok := b.done[key]; ok {
		return earlier
	}
	b.done[key] = p
	return p
}

func notify(ctx context.Context, _ worker.Task, o Order) (string, error) {
	return fmt.Sprintf("%s: your order %s is on its way", o.Customer, o.Order), work(ctx, 5*time.Millisecond)
}

// work stands for a call that takes d.
func work(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// spread is a number that only depends on s.
func spread(s string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(s))
	return h.Sum32()
}
