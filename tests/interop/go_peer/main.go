// A River client for the tests beside this folder: it works jobs of two kinds, obeys commands on its standard
// input and answers on its standard output, one JSON object a line. What River logs goes to standard error.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
)

// options are the peer's own; durations are spelled as Go spells them.
type options struct {
	url         string
	id          string
	queues      string
	ledger      string
	jobTimeout  time.Duration
	rescueAfter time.Duration
}

// command is one line of standard input. Which fields count depends on Do.
type command struct {
	Do    string            `json:"do"`
	ID    int64             `json:"id"`
	Queue string            `json:"queue"`
	Kind  string            `json:"kind"`
	Args  []json.RawMessage `json:"args"`
}

// answer is one line of standard output.
type answer struct {
	Done  string  `json:"done"`
	ID    string  `json:"id,omitempty"`
	IDs   []int64 `json:"ids,omitempty"`
	State string  `json:"state,omitempty"`
	Error string  `json:"error,omitempty"`
}

func main() {
	var given options
	flag.StringVar(&given.url, "url", "", "the database")
	flag.StringVar(&given.id, "id", "", "client id; River's own choice without it")
	flag.StringVar(&given.queues, "queues", "go=10", "NAME=WORKERS, separated by commas")
	flag.StringVar(&given.ledger, "ledger", "", "file that each body's begin and end is appended to")
	flag.DurationVar(&given.jobTimeout, "job-timeout", -1, "time-out of a job; -1 for none")
	flag.DurationVar(&given.rescueAfter, "rescue-after", time.Hour, "River's RescueStuckJobsAfter")
	flag.Parse()
	if err := run(context.Background(), given); err != nil {
		fmt.Fprintln(os.Stderr, "level=ERROR", "msg="+strconv.Quote(err.Error()))
		os.Exit(1)
	}
}

func run(ctx context.Context, given options) error {
	pool, err := pgxpool.New(ctx, given.url)
	if err != nil {
		return err
	}
	defer pool.Close()
	book, err := openLedger(given.ledger)
	if err != nil {
		return err
	}
	client, err := newClient(pool, given, book)
	if err != nil {
		return err
	}
	book.client = client.ID()
	if err := client.Start(ctx); err != nil {
		return err
	}
	say(answer{Done: "start", ID: client.ID()})
	return obey(ctx, client)
}

func newClient(pool *pgxpool.Pool, given options, book *ledger) (*river.Client[pgx.Tx], error) {
	queues, err := parseQueues(given.queues)
	if err != nil {
		return nil, err
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, &workWorker{book: book})
	river.AddWorker(workers, &holdWorker{book: book})
	return river.NewClient(riverpgxv5.New(pool), &river.Config{
		ID:                   given.id,
		JobTimeout:           given.jobTimeout,
		Logger:               slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelInfo})),
		Queues:               queues,
		RescueStuckJobsAfter: given.rescueAfter,
		SkipUnknownJobCheck:  true,
		Workers:              workers,
	})
}

func parseQueues(text string) (map[string]river.QueueConfig, error) {
	queues := make(map[string]river.QueueConfig)
	for _, item := range strings.Split(text, ",") {
		name, number, _ := strings.Cut(item, "=")
		workers, err := strconv.Atoi(number)
		if err != nil {
			return nil, fmt.Errorf("queue %q: want NAME=WORKERS", item)
		}
		queues[name] = river.QueueConfig{MaxWorkers: workers}
	}
	return queues, nil
}

// -- commands

func obey(ctx context.Context, client *river.Client[pgx.Tx]) error {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var given command
		if err := json.Unmarshal(lines.Bytes(), &given); err != nil {
			return err
		}
		said, err := carryOut(ctx, client, given)
		said.Done = given.Do
		if err != nil {
			said.Error = err.Error()
		}
		say(said)
		if given.Do == "stop" {
			return nil
		}
	}
	return errors.Join(lines.Err(), client.StopAndCancel(ctx))
}

func carryOut(ctx context.Context, client *river.Client[pgx.Tx], given command) (answer, error) {
	switch given.Do {
	case "insert":
		return insert(ctx, client, given)
	case "cancel":
		row, err := client.JobCancel(ctx, given.ID)
		if err != nil {
			return answer{}, err
		}
		return answer{State: string(row.State)}, nil
	case "retry":
		row, err := client.JobRetry(ctx, given.ID)
		if err != nil {
			return answer{}, err
		}
		return answer{State: string(row.State)}, nil
	case "pause":
		return answer{}, client.QueuePause(ctx, given.Queue, nil)
	case "resume":
		return answer{}, client.QueueResume(ctx, given.Queue, nil)
	case "resign":
		return answer{}, client.Notify().RequestResign(ctx)
	case "stop":
		return answer{}, client.Stop(ctx)
	default:
		return answer{}, fmt.Errorf("unknown command %q", given.Do)
	}
}

func insert(ctx context.Context, client *river.Client[pgx.Tx], given command) (answer, error) {
	params := make([]river.InsertManyParams, 0, len(given.Args))
	for _, args := range given.Args {
		params = append(params, river.InsertManyParams{
			Args:       anyArgs{kind: given.Kind, text: args},
			InsertOpts: &river.InsertOpts{Queue: given.Queue},
		})
	}
	results, err := client.InsertMany(ctx, params)
	if err != nil {
		return answer{}, err
	}
	said := answer{IDs: make([]int64, 0, len(results))}
	for _, result := range results {
		said.IDs = append(said.IDs, result.Job.ID)
	}
	return said, nil
}

// anyArgs are arguments of a kind that may be another language's.
type anyArgs struct {
	kind string
	text json.RawMessage
}

func (a anyArgs) Kind() string                 { return a.kind }
func (a anyArgs) MarshalJSON() ([]byte, error) { return a.text, nil }

var speaking sync.Mutex

func say(said answer) {
	text, err := json.Marshal(said)
	if err != nil {
		panic(err) // answer holds nothing that JSON lacks
	}
	speaking.Lock()
	defer speaking.Unlock()
	fmt.Println(string(text))
}

// -- jobs

// workArgs say how an attempt ends: How is ok, error, snooze or cancel; the second attempt is always ok.
type workArgs struct {
	N   int    `json:"n"`
	How string `json:"how"`
}

func (workArgs) Kind() string { return "interop_work" }

type workWorker struct {
	river.WorkerDefaults[workArgs]

	book *ledger
}

func (w *workWorker) NextRetry(*river.Job[workArgs]) time.Time { return time.Now() }

func (w *workWorker) Work(_ context.Context, job *river.Job[workArgs]) error {
	if err := w.book.write(entry{Event: "began", ID: job.ID, Attempt: job.Attempt}); err != nil {
		return err
	}
	_, snoozed := asMap(job.Metadata)["snoozes"]
	switch {
	case job.Args.How == "error" && job.Attempt == 1:
		return errors.New("asked to fail")
	case job.Args.How == "snooze" && !snoozed:
		return river.JobSnooze(0)
	case job.Args.How == "cancel":
		return river.JobCancel(errors.New("asked to cancel"))
	}
	return nil
}

func asMap(text []byte) map[string]any {
	var decoded map[string]any
	if err := json.Unmarshal(text, &decoded); err != nil {
		return nil
	}
	return decoded
}

// holdArgs keep a job running until its context ends or the file Release exists.
type holdArgs struct {
	Release string `json:"release"`
}

func (holdArgs) Kind() string { return "interop_hold" }

type holdWorker struct {
	river.WorkerDefaults[holdArgs]

	book *ledger
}

func (w *holdWorker) NextRetry(*river.Job[holdArgs]) time.Time { return time.Now() }

func (w *holdWorker) Work(ctx context.Context, job *river.Job[holdArgs]) error {
	if err := w.book.write(entry{Event: "began", ID: job.ID, Attempt: job.Attempt}); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			cause := context.Cause(ctx)
			return errors.Join(cause, w.book.write(entry{
				Event: "stopped", ID: job.ID, Attempt: job.Attempt, Why: cause.Error(),
			}))
		case <-time.After(20 * time.Millisecond):
			if _, err := os.Stat(job.Args.Release); job.Args.Release != "" && err == nil {
				return w.book.write(entry{Event: "ended", ID: job.ID, Attempt: job.Attempt})
			}
		}
	}
}

// -- the ledger

// entry is one line of the ledger.
type entry struct {
	Event   string `json:"event"`
	Client  string `json:"client"`
	ID      int64  `json:"id"`
	Attempt int    `json:"attempt"`
	Why     string `json:"why,omitempty"`
}

// ledger is a file that several processes append whole lines to.
type ledger struct {
	client string
	file   *os.File
}

func openLedger(path string) (*ledger, error) {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	return &ledger{file: file}, nil
}

func (l *ledger) write(line entry) error {
	line.Client = l.client
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	_, err = l.file.Write(append(text, '\n'))
	return err
}
