package sqldb

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// link is a connection with its prepared statements, which it sends in pipelines: any number in one round trip.
type link struct {
	raw     *pgconn.PgConn
	stmts   map[string]*pgStmt
	made    int       // statements prepared so far, for their names
	planned time.Time // when plans were last discarded
	life    string    // see theLife
	buf     []byte
	packets []packet
}

type pgStmt struct {
	desc    *pgconn.StatementDescription
	formats []int16 // of result columns
}

// packet is an encoded statement.
type packet struct {
	stmt    *pgStmt
	values  [][]byte
	formats []int16
}

func linkOf(c *pgxpool.Conn) *link {
	const key = "link"
	raw := c.Conn().PgConn()
	if l, ok := raw.CustomData()[key].(*link); ok {
		return l
	}
	l := &link{raw: raw, stmts: map[string]*pgStmt{}, planned: time.Now()}
	l.life, _ = raw.CustomData()[lifeKey].(string)
	raw.CustomData()[key] = l
	return l
}

// simple runs statements without arguments and rows in one round trip, and returns the last command tag.
func (l *link) simple(ctx context.Context, query string) (string, error) {
	results, err := l.raw.Exec(ctx, query).ReadAll()
	if err != nil || len(results) == 0 {
		return "", err
	}
	return results[len(results)-1].CommandTag.String(), nil
}

// run runs statements in one round trip up to the first failure; done is called after each success.
func (l *link) run(ctx context.Context, stmts []Stmt, done func()) error {
	if err := l.prepare(ctx, stmts); err != nil {
		return err
	}
	packets, err := l.encode(stmts)
	if err != nil {
		return err
	}
	pipe := l.raw.StartPipeline(ctx)
	for i := range packets {
		c := &packets[i]
		pipe.SendQueryStatement(c.stmt.desc, c.values, c.formats, c.stmt.formats)
	}
	err = pipe.Sync()
	for i := 0; i < len(packets) && err == nil; i++ {
		err = receive(pipe, packets[i].stmt, &stmts[i])
		if err == nil {
			done()
		}
	}
	if e := pipe.Close(); err == nil {
		err = e
	}
	return err
}

func receive(pipe *pgconn.Pipeline, ps *pgStmt, st *Stmt) error {
	got, err := pipe.GetResults()
	if err != nil {
		return err
	}
	result, ok := got.(*pgconn.ResultReader)
	if !ok {
		return fmt.Errorf("sqldb: PostgreSQL answered %T to a statement", got)
	}
	var own error
	for result.NextRow() {
		if st.Row != nil && own == nil {
			own = st.Row(newRow(ps.desc.Fields, result.Values()))
		}
	}
	tag, err := result.Close()
	if err != nil {
		return err
	}
	if st.Changed != nil {
		*st.Changed = tag.RowsAffected()
	}
	return own
}

// prepare prepares unknown statements, in a round trip of its own.
func (l *link) prepare(ctx context.Context, stmts []Stmt) error {
	var queries []string
	for i := range stmts {
		query := stmts[i].Query
		if _, known := l.stmts[query]; !known {
			l.stmts[query] = nil // so that it is prepared once
			queries = append(queries, query)
		}
	}
	if len(queries) == 0 {
		return nil
	}
	defer func() {
		for _, query := range queries {
			if l.stmts[query] == nil {
				delete(l.stmts, query)
			}
		}
	}()
	pipe := l.raw.StartPipeline(ctx)
	names := make([]string, len(queries))
	for i, query := range queries {
		names[i] = "p" + strconv.Itoa(l.made)
		l.made++
		pipe.SendPrepare(names[i], query, nil)
	}
	err := pipe.Sync()
	for i := 0; i < len(queries) && err == nil; i++ {
		var got any
		if got, err = pipe.GetResults(); err == nil {
			err = l.keep(names[i], queries[i], got)
		}
	}
	if e := pipe.Close(); err == nil {
		err = e
	}
	return err
}

func (l *link) keep(name, query string, got any) error {
	desc, ok := got.(*pgconn.StatementDescription)
	if !ok {
		return fmt.Errorf("sqldb: PostgreSQL answered %T to a preparation", got)
	}
	desc.Name = name
	st := &pgStmt{desc: desc, formats: make([]int16, len(desc.Fields))}
	for i, f := range desc.Fields {
		st.formats[i] = resultFormat(f.DataTypeOID)
	}
	l.stmts[query] = st
	return nil
}

// tidy deallocates all statements when there are too many, outside of transactions.
func (l *link) tidy(ctx context.Context) error {
	if len(l.stmts) < maxStatements {
		return nil
	}
	if _, err := l.simple(ctx, "DEALLOCATE ALL"); err != nil {
		return err
	}
	clear(l.stmts)
	return nil
}

// begin is what begins a transaction; every planLife it discards all plans.
func (l *link) begin(how string) []string {
	if now := time.Now(); now.Sub(l.planned) > planLife {
		l.planned = now
		return []string{how, "DISCARD PLANS"}
	}
	return []string{how}
}

// encode makes packets, valid until the next call.
func (l *link) encode(stmts []Stmt) ([]packet, error) {
	if cap(l.buf) > maxScratch {
		l.buf = nil
	}
	buf, packets := l.buf[:0], l.packets[:0]
	for i := range stmts {
		st, ps := &stmts[i], l.stmts[stmts[i].Query]
		oids := ps.desc.ParamOIDs
		if len(oids) != len(st.Args) {
			return nil, fmt.Errorf("sqldb: a statement with %d parameters has %d arguments: %s", len(oids),
				len(st.Args), st.Query)
		}
		c := packet{stmt: ps, values: make([][]byte, len(oids)), formats: make([]int16, len(oids))}
		for k, arg := range st.Args {
			from := len(buf)
			out, format, err := appendArg(buf, oids[k], arg)
			if err != nil {
				return nil, fmt.Errorf("argument %d: %w", k+1, err)
			}
			if out != nil {
				c.values[k] = out[from:len(out):len(out)]
				buf = out
			}
			c.formats[k] = format
		}
		packets = append(packets, c)
	}
	l.buf, l.packets = buf, packets
	return packets, nil
}

// maxScratch is the largest buffer that is kept.
const maxScratch = 1 << 20
