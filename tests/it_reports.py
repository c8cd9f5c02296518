"""The faults that people reported of such software, replayed: tests/reports. Each input is
signed and sent by plain CGI; what must come of it stands in a table here."""
import itertools
import json
import os
import sys
import unittest

import hook

sys.path.insert(0, hook.REPORTS)
import replay  # noqa: E402

OK, DUP, IGN, PARK = (200, "processed"), (200, "duplicate"), (200, "ignored"), (200, "parked")


def bad(word, status=400):
    return status, word


# Input -> the answers to its requests, in their order; then counts of invoices, ledger
# entries and outbox messages (None: not looked at).
EXPECT = {
    "r01-blank": ([OK], 1), "r02-merge": ([OK], 1), "r03-a-first": ([OK], 1), "r03-b-last": ([OK], 1),
    "r03-c-middle": ([OK], 1), "r05-a-old-first": ([bad("timestamp_given_twice")], 0),
    "r05-b-old-last": ([bad("timestamp_given_twice")], 0), "r07-a-past290": ([OK], 1),
    "r07-b-past310": ([bad("signature_stale")], 0), "r07-c-future290": ([OK], 1),
    "r07-d-future310": ([OK], 1), "r09-a-only-v0": ([bad("signature_malformed")], 0),
    "r09-b-v2-and-v1": ([OK], 1), "r12-a-empty-key": ([bad("signature_mismatch")], 0),
    "r12-b-unsigned": ([bad("signature_missing")], 0), "r17-none": ([bad("signature_missing")], 0),
    **{"r20-" + n: ([bad("signature_malformed")], 0) for n in
       ("a-none", "b-2", "c-63", "d-65", "e-128", "f-nonhex", "g-0x")},
    "r22-wrong": ([bad("signature_mismatch")], 0), "r23-compact": ([bad("signature_mismatch")], 0),
    "r24-string": ([bad("not_an_object")], 0), "r25-utf8": ([OK], 1),
    "r27-chars": ([bad("signature_mismatch")], 0), "r28-eof": ([bad("body_short")], 0),
    "r30-a-minus1": ([bad("length_malformed")], 0), "r30-b-large": ([bad("length_malformed")], 0),
    "r32-a-letters": ([bad("length_malformed")], 0), "r32-b-blanks": ([bad("length_malformed")], 0),
    "r32-c-hex": ([bad("length_malformed")], 0), "r32-d-jndi": ([bad("length_malformed")], 0),
    "r32-e-empty": ([bad("length_required", 411)], 0), "r33-absent": ([bad("length_required", 411)], 0),
    "r36-gzip": ([bad("content_encoding", 415)], 0), "r37-a-with-header": ([bad("content_encoding", 415)], 0),
    "r37-b-no-header": ([bad("not_json")], 0), "r38-mark": ([bad("not_json")], 0),
    "r39-continue": ([OK], 1), "r40-138275": ([OK], 1), "r46-description": ([OK], 1), "r48-high": ([OK], 1),
    "r50-a-escaped": ([OK], 1), "r50-b-raw": ([OK], 1), "r50-c-both": ([OK], 1), "r52-arrays": ([OK], 1),
    **{n: ([PARK], 0) for n in ("r54-a-int", "r54-b-float", "r54-c-1e30", "r54-d-2pow64", "r56-a-string",
                                "r56-b-fraction", "r56-c-true", "r56-d-null", "r56-e-minus", "r56-g-exp",
                                "r84-a-paid")},
    "r56-f-nan": ([bad("not_json")], 0), "r57-steps": ([OK, bad("no_event_id")], 1), "r59-type": ([OK], 1),
    **{"r61-" + n: ([bad("not_an_object")], 0) for n in ("a-null", "b-array", "c-string", "d-number", "e-true")},
    "r61-f-empty-object": ([bad("no_event_id")], 0),
    **{"r62-" + n: ([bad("not_json")], 0) for n in ("a-empty", "b-blanks", "c-newline")},
    "r63-half": ([bad("not_json")], 0), "r65-bad-sig-bad-json": ([bad("signature_mismatch")], 0),
    **{"r66-" + n: ([bad("not_json")], 0) for n in ("a-fffe", "b-overlong", "c-surrogate", "d-cut")},
    "r67-a-no-id": ([IGN], 0), "r67-b-null-id": ([IGN], 0), "r69-a-parent-null": ([OK], 1),
    "r69-b-parent-quote": ([OK], 1), "r69-c-old": ([OK], 1), "r71-2020-08-27": ([OK], 1),
    "r71-2023-10-16": ([OK], 1), "r71-2025-03-31.basil": ([OK], 1), "r72-deleted": ([OK], 1),
    "r72-expanded": ([OK], 1), "r72-null": ([OK], 1), "r74-meter": ([IGN], 0), "r76-a-invoice": ([IGN], 0),
    "r76-b-account": ([IGN], 0), "r80-steps": ([OK, DUP], 1), "r81-zero": ([OK], 0), "r83-500": ([OK], 1),
    "r84-b-due": ([OK], 0), "r85-a-type": ([IGN], 0), "r86-steps": ([OK, OK], 1), "r87-steps": ([OK, OK], 0),
    "r88-steps": ([OK, OK], 1), "r94-steps": ([OK, OK], 0), "r95-steps": ([OK, OK], 1),
    "r96-steps": ([OK, IGN], 1), "r98-steps": ([OK, IGN, OK], 1), "r107-twice": ([OK, DUP], 1),
    "r113-steps": ([OK, DUP], 1), "r175-steps": ([OK, bad("length_required", 411)], 1),
    **{"r189-" + n: ([OK], 1) for n in ("a-v", "b-config", "c-worker", "d-s")},
    **{"r205-" + n: ([bad("method_not_allowed", 405)], 0) for n in
       ("DELETE", "GET", "OPTIONS", "PATCH", "PUT", "lower")},
    "r208-steps": ([OK, DUP], 1), "r210-a-newline": ([bad("no_event_type")], 0),
    "r210-b-esc": ([bad("no_event_type")], 0), "r210-c-long": ([bad("no_event_type")], 0),
    "r210-d-bidi": ([IGN], 0), "r214-other": ([OK, DUP], 1),
}

# Replayed elsewhere: through a configuration of their own, or for other providers.
ELSEWHERE = {
    "r78-test": "it_cgi: livemode", "r85-b-path": "it_cgi: 404", "r115-two-secrets": "it_cgi: two secrets",
    "r192-odd-paths": "it_cgi: paths", "r90-steps": "every order, below",
    "r91-steps": "no subscription handler is shipped", "r92-steps": "no subscription handler is shipped",
    "r173-readme": "it_fcgi: hostile records", "r182-readme": "it_fcgi: silent peers",
    **{n: "another provider" for n in ("r217-plus", "r219-a-bad-good", "r219-b-v1a-good", "r219-c-no-prefix",
                                       "r219-d-comma-list", "r222-steps")},
}


class Reports(hook.Case):
    def replay(self, name):
        """The answers to an input's requests."""
        args = type("Args", (), {"secret": hook.SECRET, "path": hook.PATH})
        answers = []
        for method, target, headers, body in replay.load(os.path.join(hook.REPORTS, name + ".txt"), args):
            path, _, query = target.partition("?")
            own, merged = {"QUERY_STRING": query}, {}
            for k, v in headers:
                if k.lower() in ("content-length", "content-type"):
                    own[k.upper().replace("-", "_")] = v
                else:  # a server joins headers of one name
                    merged[k] = merged[k] + ", " + v if k in merged else v
            v = hook.variables(body, method, path, merged, length=False, **own)
            answers.append(hook.cgi(self.env, v, body, argv=query.split("+") if query else ()))
        return answers

    def state(self):
        return [self.db.count(t) for t in ("webhook_inbox", "ledger_entries", "outbox")]

    def test_inputs(self):
        """Every input: its answers, its receipts, its effects."""
        seen = set()
        for file in sorted(os.listdir(hook.REPORTS)):
            name, kind = os.path.splitext(file)
            if kind != ".txt" or name in ELSEWHERE:
                continue
            self.assertIn(name, EXPECT, "an input without an expectation")
            expected, booked = EXPECT[name]
            with self.subTest(input=name):
                seen.add(name)
                got = [(a.status, a.word) for a in self.replay(name)]
                self.assertEqual(got, expected)
                stored = sum(1 for e in expected if e[0] == 200 and e[1] != "duplicate")
                self.assertEqual(self.state(), [stored, booked, booked])
                parked = sum(1 for e in expected if e[1] == "parked")
                self.assertEqual(self.db.count("webhook_reviews", "reason = 'parked'"), parked)
            self.db.sql("TRUNCATE webhook_inbox, webhook_reviews, invoices, ledger_entries, outbox")
        self.assertEqual(seen, set(EXPECT))

    def test_states(self):
        """What the rows say after the inputs that are about rows."""
        for name, sql, want in (
                ("r25-utf8", None, None), ("r46-description", None, None),
                ("r50-c-both", "SELECT payload::text LIKE '%\U0001f600%' AND raw_body IS NULL FROM webhook_inbox", "t"),
                ("r59-type", "SELECT (event_type = payload->>'type')::text FROM webhook_inbox", "true"),
                ("r72-deleted", "SELECT customer_id LIKE 'cus_%' FROM invoices", "t"),
                ("r72-expanded", "SELECT customer_id LIKE 'cus_%' FROM invoices", "t"),
                ("r72-null", "SELECT customer_id IS NULL FROM invoices", "t"),
                ("r76-a-invoice", "SELECT account LIKE 'acct_%' FROM webhook_inbox", "t"),
                ("r81-zero", "SELECT status FROM invoices", "paid"),
                ("r83-500", "SELECT amount || ' ' || currency FROM ledger_entries", "500 jpy"),
                ("r86-steps", "SELECT status FROM invoices", "paid"),
                ("r87-steps", "SELECT status FROM invoices", "open"),
                ("r88-steps", "SELECT status FROM invoices", "paid"),
                ("r94-steps", "SELECT reason FROM webhook_reviews", "payment_for_void_invoice"),
                ("r95-steps", "SELECT status FROM invoices WHERE id = (SELECT invoice_id FROM ledger_entries)", "paid"),
                ("r95-steps", "SELECT payload #>> '{data,object,latest_revision}' = (SELECT invoice_id FROM"
                              " ledger_entries) FROM webhook_inbox WHERE event_type = 'invoice.voided'", "t"),
                ("r98-steps", "SELECT sum(amount) FROM ledger_entries", "2000")):
            self.replay(name)
            if name == "r25-utf8":
                with open(os.path.join(hook.REPORTS, "r25-utf8.json"), encoding="utf-8") as f:
                    wanted = json.load(f)["data"]["object"]["customer_name"]
                got = self.db.one("SELECT payload #>> '{data,object,customer_name}' FROM webhook_inbox")
                self.assertEqual(got, wanted)
            elif name == "r46-description":
                raw = bytes.fromhex(self.db.one("SELECT encode(raw_body, 'hex') FROM webhook_inbox"))
                with open(os.path.join(hook.REPORTS, "r46-description.json"), "rb") as f:
                    self.assertEqual(raw, f.read())
            else:
                self.assertEqual(self.db.one(sql), want, name)
            self.db.sql("TRUNCATE webhook_inbox, webhook_reviews, invoices, ledger_entries, outbox")

    def test_same_second(self):
        """R90: four events of one second, in all 24 orders: paid, booked once, told once."""
        bodies = []
        for n in "1234":
            with open(os.path.join(hook.REPORTS, "r90-%s.json" % n), "rb") as f:
                bodies.append(f.read())
        for order in itertools.permutations(bodies):
            for body in order:
                self.assertEqual(self.cgi(body).status, 200)
            self.assertEqual(self.db.sql("SELECT status FROM invoices"), [("paid",)])
            self.assertEqual(self.state()[1:], [1, 1])
            self.db.sql("TRUNCATE webhook_inbox, webhook_reviews, invoices, ledger_entries, outbox")

    def test_fixtures(self):
        """R71: the story of an invoice in three API versions: the same rows from each."""
        states = []
        for version in ("2020-08-27", "2023-10-16", "2025-03-31.basil"):
            for file in sorted(os.listdir(os.path.join(hook.FIXTURES, version))):
                self.assertEqual(self.cgi(hook.fixture(version + "/" + file)).status, 200, file)
            states.append(self.db.sql("SELECT status, amount_paid, paid_at, currency, livemode, account,"
                                      " customer_id IS NOT NULL FROM invoices ORDER BY status") +
                          self.db.sql("SELECT kind, amount, currency FROM ledger_entries") +
                          self.db.sql("SELECT event_type FROM outbox") +
                          self.db.sql("SELECT event_type, outcome FROM webhook_inbox ORDER BY received_at"))
            self.db.sql("TRUNCATE webhook_inbox, webhook_reviews, invoices, ledger_entries, outbox")
        self.assertEqual(states[0], states[1])
        self.assertEqual(states[1], states[2])
        self.assertEqual([row[0] for row in states[0][:3]], ["paid", "uncollectible", "void"])
        self.assertEqual(states[0][3], ("payment", "2000", "usd"))

    def test_all_fixtures(self):
        """Every shipped event is received; only what is for us is applied."""
        for folder in ("extra", "connect", "v2"):
            for file in sorted(os.listdir(os.path.join(hook.FIXTURES, folder))):
                a = self.cgi(hook.fixture(folder + "/" + file))
                self.assertEqual(a.status, 200, (file, a))
                want = "processed" if folder == "extra" and not file.startswith(
                    ("unknown", "invoice.upcoming", "invoice_payment")) else "ignored"
                self.assertEqual(a.word, want, file)
        self.assertEqual(self.db.count("ledger_entries", "amount <= 0"), 0)
        self.assertEqual(self.db.count("invoices", "account IS NOT NULL"), 0)


if __name__ == "__main__":
    hook.main()
