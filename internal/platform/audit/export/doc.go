// Package export keeps a file up with the audit log: audit_log.jsonl, one line for each
// entry, for people and programs that read files.
//
// The database is the record and the file a copy of it in the data folder of one process;
// several processes over one database each have their own. The copy is at most a second
// behind. Whatever happens to the process, it has every entry once: a place file beside it
// says how much of the file is sure and which entry is the last in there. Lines are made
// durable first and the place after them, so what is behind the place at a start, torn
// lines too, is cut off and written again.
//
// A file that has reached its limit is put away as audit_log-000001.jsonl and so on;
// nothing is deleted. When the folder cannot be written, a warning says so once, the
// system goes on, and the file catches up later.
package export
