// Package bench is `renga bench`: it starts servers of this binary, loads them as clients would, and prints
// each figure beside what the same machine does bare in the same run, or beside its limit.
package bench
