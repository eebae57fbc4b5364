CREATE TABLE shared (
    number INTEGER PRIMARY KEY, kind TEXT NOT NULL, status TEXT NOT NULL, scenario TEXT NOT NULL, agent TEXT NOT NULL,
    campaign TEXT NOT NULL, owner TEXT NOT NULL, entries INTEGER NOT NULL DEFAULT 0, scored INTEGER NOT NULL DEFAULT 0,
    shares REAL NOT NULL DEFAULT 0, has_failed INTEGER NOT NULL, judges TEXT NOT NULL, agents TEXT NOT NULL,
    words TEXT NOT NULL
);
CREATE INDEX shared_by_campaign ON shared (campaign);
CREATE INDEX shared_of_campaigns ON shared (kind) WHERE kind = 'campaign';
CREATE TABLE contents (number INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, content TEXT NOT NULL);
CREATE TABLE entries (
    id TEXT NOT NULL UNIQUE, fence INTEGER NOT NULL, at INTEGER NOT NULL, date TEXT NOT NULL,
    shared INTEGER NOT NULL, started REAL NOT NULL, ended REAL NOT NULL, seed INTEGER, cost REAL, share REAL,
    origin TEXT, is_indexed INTEGER NOT NULL, own TEXT NOT NULL
);
CREATE INDEX entries_by_time ON entries (started, id, shared);
CREATE INDEX entries_by_shared ON entries (shared, started);
CREATE INDEX entries_by_share ON entries (share, started, id);
CREATE INDEX entries_by_cost ON entries (cost, started, id);
CREATE INDEX entries_by_seed ON entries (seed, started, id, shared, share);
CREATE INDEX entries_by_end ON entries (ended);
CREATE INDEX entries_by_origin ON entries (origin) WHERE origin IS NOT NULL;
CREATE INDEX entries_not_indexed ON entries (is_indexed) WHERE is_indexed = 0;
CREATE TRIGGER entries_more AFTER INSERT ON entries BEGIN
    UPDATE shared SET entries = entries + 1, scored = scored + (new.share IS NOT NULL),
        shares = shares + ifnull(new.share, 0) WHERE number = new.shared; END;
CREATE TRIGGER entries_less AFTER DELETE ON entries BEGIN
    UPDATE shared SET entries = entries - 1, scored = scored - (old.share IS NOT NULL),
        shares = shares - ifnull(old.share, 0) WHERE number = old.shared; END;
CREATE TRIGGER entries_moved AFTER UPDATE OF shared, share ON entries BEGIN
    UPDATE shared SET entries = entries - 1, scored = scored - (old.share IS NOT NULL),
        shares = shares - ifnull(old.share, 0) WHERE number = old.shared;
    UPDATE shared SET entries = entries + 1, scored = scored + (new.share IS NOT NULL),
        shares = shares + ifnull(new.share, 0) WHERE number = new.shared; END;
CREATE TABLE letters (letter TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE removed (folder TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE pending (folder TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE damaged (folder TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE files (path TEXT PRIMARY KEY, version TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE closed (day TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE notes (name TEXT PRIMARY KEY) WITHOUT ROWID;
