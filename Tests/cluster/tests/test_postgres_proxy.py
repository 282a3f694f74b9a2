"""The proxy for PostgreSQL, in front of a real server."""

from __future__ import annotations

import threading
import unittest
import urllib.parse
from typing import ClassVar

from cluster import engines
from cluster.postgres import Failed, Lost, Session
from cluster.postgres_proxy import PostgresProxy


class PostgresProxyTests(unittest.TestCase):
    url: ClassVar[str]
    direct: ClassVar[Session]

    @classmethod
    def setUpClass(cls) -> None:
        cls.url = engines.postgres()["ENGINES_POSTGRES"]
        cls.direct = Session(cls.url)
        cls.addClassCleanup(cls.direct.close)
        cls.direct.query("CREATE TABLE IF NOT EXISTS proxied (id bigint PRIMARY KEY)")
        cls.addClassCleanup(cls.direct.query, "DROP TABLE proxied")

    def setUp(self) -> None:
        parts = urllib.parse.urlsplit(self.url)
        self.proxy = PostgresProxy(parts.hostname or "", parts.port or 0)
        self.addCleanup(self.proxy.close)
        self.direct.query("TRUNCATE proxied")

    def connect(self) -> Session:
        session = Session(self.url, self.proxy.port)
        self.addCleanup(session.close)
        return session

    def rows(self) -> int:
        """The number of rows once no other transaction works on them."""
        self.direct.query("LOCK TABLE proxied IN ACCESS EXCLUSIVE MODE; SELECT")
        value = self.direct.query("SELECT count(*) FROM proxied").rows[0][0]
        return int(value or 0)

    # Both protocols: the same transaction as one simple query and as a pipeline.

    def simple(self, session: Session) -> list[str]:
        return session.query("BEGIN; INSERT INTO proxied VALUES (1); COMMIT").tags

    def extended(self, session: Session) -> list[str]:
        return session.pipeline("BEGIN", "INSERT INTO proxied VALUES (1)", "COMMIT").tags

    def apart(self, session: Session) -> list[str]:
        """A round trip for each statement."""
        statements = ("BEGIN", "INSERT INTO proxied VALUES (1)", "commit ;")
        return [tag for statement in statements for tag in session.query(statement).tags]

    def ways(self) -> tuple[tuple[str, int], ...]:
        return (("simple", 1), ("extended", 1), ("apart", 3))

    def test_it_passes_and_counts(self) -> None:
        for way, trips in self.ways():
            with self.subTest(way=way):
                self.direct.query("TRUNCATE proxied")
                session = self.connect()
                self.proxy.faults.reset()
                self.assertEqual(getattr(self, way)(session), ["BEGIN", "INSERT 0 1", "COMMIT"])
                counts = self.proxy.faults.counts
                self.assertEqual((counts["round trips"], counts["commits"]), (trips, 1))

    def test_cuts_before_commit(self) -> None:
        for way, _ in self.ways():
            with self.subTest(way=way):
                self.proxy.faults.add("cut-before", method="COMMIT", times=1)
                self.assertRaises(Lost, getattr(self, way), self.connect())
                self.assertEqual(self.rows(), 0)

    def test_cuts_in_commit(self) -> None:
        for way, _ in self.ways():
            with self.subTest(way=way):
                self.direct.query("TRUNCATE proxied")
                self.proxy.faults.add("cut-in", method="COMMIT", times=1)
                self.assertRaises(Lost, getattr(self, way), self.connect())
                # Both outcomes are possible; the row is there once or not at all.
                self.assertIn(self.rows(), (0, 1))

    def test_cuts_behind_commit(self) -> None:
        for way, _ in self.ways():
            with self.subTest(way=way):
                self.direct.query("TRUNCATE proxied")
                self.proxy.faults.add("cut-behind", method="COMMIT", times=1)
                self.assertRaises(Lost, getattr(self, way), self.connect())
                self.assertEqual(self.rows(), 1)

    def test_a_commit_that_rolls_back_is_not_counted(self) -> None:
        session = self.connect()
        with self.assertRaises(Failed) as failed:
            session.query("BEGIN; SELECT 1/0")
        self.assertEqual(failed.exception.code, "22012")
        self.assertEqual(session.query("COMMIT").tags, ["ROLLBACK"])
        self.assertEqual(self.proxy.faults.counts["commits"], 0)

    def test_an_error_in_a_pipeline_skips_its_commit(self) -> None:
        """The fault of the skipped COMMIT does not happen to the next one."""
        self.proxy.faults.add("cut-behind", method="COMMIT", times=1)
        session = self.connect()
        self.assertRaises(Failed, session.pipeline, "BEGIN", "SELECT 1/0", "COMMIT")
        session.query("ROLLBACK")
        self.assertEqual(self.extended(session), ["BEGIN", "INSERT 0 1", "COMMIT"])

    def test_a_warning_of_a_cancelled_wait(self) -> None:
        for way, _ in self.ways():
            with self.subTest(way=way):
                self.direct.query("TRUNCATE proxied")
                self.proxy.faults.add("warn", method="COMMIT", times=1)
                session = self.connect()
                if way == "extended":
                    results = session.pipeline("BEGIN", "INSERT INTO proxied VALUES (1)", "COMMIT")
                else:
                    results = session.query("BEGIN; INSERT INTO proxied VALUES (1); COMMIT")
                self.assertIn("01000: canceling wait for synchronous replication", results.notices[0])

    def test_a_round_trip_is_cut(self) -> None:
        for kind, rows in (("cut-before", 0), ("cut-behind", 1)):
            with self.subTest(kind=kind):
                self.proxy.faults.add(kind, method="QUERY", contains="INSERT", times=1)
                session = self.connect()
                session.query("SELECT 1")
                self.assertRaises(Lost, session.query, "INSERT INTO proxied VALUES (1)")
                self.assertEqual(self.rows(), rows)

    def test_an_answer_is_held(self) -> None:
        self.proxy.faults.add("hold", method="COMMIT", times=1)
        session, tags = self.connect(), []
        thread = threading.Thread(target=lambda: tags.extend(self.extended(session)))
        thread.start()
        # The row is visible to others although the client has no answer.
        while self.rows() == 0:
            self.assertEqual(tags, [])
        while self.proxy.faults.counts["held"] == 0:
            self.assertEqual(tags, [])
        self.proxy.release()
        thread.join()
        self.assertEqual(tags, ["BEGIN", "INSERT 0 1", "COMMIT"])

    def test_new_connections_are_refused(self) -> None:
        self.proxy.faults.add("refuse", method="CONNECT", times=1)
        self.assertRaises(Lost, self.connect)
        self.assertEqual(self.connect().query("SELECT 1").rows, [[b"1"]])

    def test_all_connections_are_cut(self) -> None:
        sessions = [self.connect() for _ in range(3)]
        self.proxy.cut_all()
        for session in sessions:
            self.assertRaises(Lost, session.query, "SELECT 1")

    def test_a_wrong_password(self) -> None:
        parts = urllib.parse.urlsplit(self.url)
        with self.assertRaises(Failed) as failed:
            Session(self.url.replace(f":{parts.password}@", ":wrong@"), self.proxy.port)
        self.assertEqual(failed.exception.code, "28P01")


if __name__ == "__main__":
    unittest.main()
