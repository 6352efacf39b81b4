// Package store is the database: SQL and nothing else. It decides nothing; what a process wants written comes as
// values of package history, and what it reads goes back as such.
package store
