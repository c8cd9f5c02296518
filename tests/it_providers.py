"""Every provider's deliveries through the real binary. The senders' side is written here
from the providers' documentation, apart from the product's own (scheme_sign.c)."""
import base64
import hashlib
import hmac
import json
import os
import subprocess
import time
import unittest
import urllib.parse

import hook

URL = "https://example.com/hooks/"
FORM = "application/x-www-form-urlencoded"


def mac(secret, text, hash="sha256"):
    return hmac.new(secret, text, hash).digest()


def b64(data):
    return base64.b64encode(data).decode()


def whsec(seed):
    return "whsec_" + b64(hashlib.sha256(seed.encode()).digest())


def whsec_key(secret):
    return base64.b64decode(secret[6:])


def body_of(tag, **more):
    return json.dumps({"id": "evt_" + tag, "type": "thing.done", "event_id": "evt_" + tag,
                       "event_type": "thing.done", "event": "thing.done", "tag": tag,
                       **more}).encode()


# Each signs: (secret, body, t, tag) to the CGI variables that differ from a plain POST.
def stripe(secret, body, t, tag):
    return {"HTTP_STRIPE_SIGNATURE": hook.sign(body, secret, t)}


def standard(names):
    def signs(secret, body, t, tag):
        msg = "msg_" + tag
        sig = b64(mac(whsec_key(secret), ("%s.%s." % (msg, t)).encode() + body))
        return {"HTTP_%s_ID" % names: msg, "HTTP_%s_TIMESTAMP" % names: str(t),
                "HTTP_%s_SIGNATURE" % names: "v1," + sig}
    return signs


def github(secret, body, t, tag):
    return {"HTTP_X_HUB_SIGNATURE_256": "sha256=" + mac(secret.encode(), body).hex(),
            "HTTP_X_GITHUB_DELIVERY": "gh-" + tag, "HTTP_X_GITHUB_EVENT": "push"}


def gitlab(secret, body, t, tag):
    return {"HTTP_X_GITLAB_TOKEN": secret, "HTTP_IDEMPOTENCY_KEY": "gl-" + tag,
            "HTTP_X_GITLAB_EVENT_UUID": "uuid-of-all", "HTTP_X_GITLAB_EVENT": "Push Hook"}


def gitlab_signed(secret, body, t, tag):
    return {**standard("WEBHOOK")(secret, body, t, tag), "HTTP_X_GITLAB_EVENT": "Push Hook"}


def shopify(secret, body, t, tag):
    return {"HTTP_X_SHOPIFY_HMAC_SHA256": b64(mac(secret.encode(), body)),
            "HTTP_X_SHOPIFY_EVENT_ID": "sh-" + tag, "HTTP_X_SHOPIFY_WEBHOOK_ID": "wh-" + tag,
            "HTTP_X_SHOPIFY_TOPIC": "orders/paid"}


def slack(secret, body, t, tag):
    sig = mac(secret.encode(), b"v0:%d:" % t + body).hex()
    return {"HTTP_X_SLACK_SIGNATURE": "v0=" + sig, "HTTP_X_SLACK_REQUEST_TIMESTAMP": str(t)}


def square(secret, body, t, tag):
    return {"HTTP_X_SQUARE_HMACSHA256_SIGNATURE":
            b64(mac(secret.encode(), (URL + "square").encode() + body))}


def paddle(secret, body, t, tag):
    return {"HTTP_PADDLE_SIGNATURE":
            "ts=%d;h1=%s" % (t, mac(secret.encode(), b"%d:" % t + body).hex())}


def lemonsqueezy(secret, body, t, tag):
    return {"HTTP_X_SIGNATURE": mac(secret.encode(), body).hex(),
            "HTTP_X_EVENT_NAME": "order_created"}


def razorpay(secret, body, t, tag):
    return {"HTTP_X_RAZORPAY_SIGNATURE": mac(secret.encode(), body).hex(),
            "HTTP_X_RAZORPAY_EVENT_ID": "rp-" + tag}


def woocommerce(secret, body, t, tag):
    return {"HTTP_X_WC_WEBHOOK_SIGNATURE": b64(mac(secret.encode(), body)),
            "HTTP_X_WC_WEBHOOK_DELIVERY_ID": "wc", "HTTP_X_WC_WEBHOOK_TOPIC": "order.updated"}


def twilio(secret, body, t, tag):
    query = "bodySHA256=" + hashlib.sha256(body).hexdigest()
    sig = mac(secret.encode(), (URL + "twilio?" + query).encode(), "sha1")
    return {"HTTP_X_TWILIO_SIGNATURE": b64(sig), "QUERY_STRING": query,
            "HTTP_I_TWILIO_IDEMPOTENCY_TOKEN": "tw-" + tag}


def twilio_form(secret, body, t, tag):
    fields = sorted(urllib.parse.parse_qsl(body.decode(), True, encoding="latin-1"))
    text = URL + "twilio" + "".join(k + v for k, v in fields)
    return {"HTTP_X_TWILIO_SIGNATURE": b64(mac(secret.encode(), text.encode("latin-1"), "sha1")),
            "CONTENT_TYPE": FORM + "; charset=UTF-8", "HTTP_I_TWILIO_IDEMPOTENCY_TOKEN": "tw-" + tag}


def acme(secret, body, t, tag):
    text = b"acme:%s|%d|" % (tag.encode(), t) + body
    return {"HTTP_X_ACME_SIGN": "sha512:" + b64(mac(secret.encode(), text, "sha512")),
            "HTTP_X_ACME_TIME": str(t), "HTTP_X_ACME_ID": tag}


def stripelike(secret, body, t, tag):
    sig = mac(secret.encode(), b"%d." % t + body, "sha1").hex()
    return {"HTTP_X_LIKE": "at=%d;s=%s" % (t, sig)}


PLAIN = "a secret's text"
# endpoint, provider, signs, its header, secret, expected id, expected type
ROWS = [
    ("stripe", "stripe", stripe, "HTTP_STRIPE_SIGNATURE", "whsec_x", "evt_%s", "thing.done"),
    ("standard", "standard-webhooks", standard("WEBHOOK"), "HTTP_WEBHOOK_SIGNATURE", whsec("a"),
     "msg_%s", "thing.done"),
    ("svix", "standard-webhooks", standard("SVIX"), "HTTP_SVIX_SIGNATURE", whsec("b"), "msg_%s",
     "thing.done"),
    ("github", "github", github, "HTTP_X_HUB_SIGNATURE_256", PLAIN, "gh-%s", "push"),
    ("gitlab", "gitlab", gitlab, "HTTP_X_GITLAB_TOKEN", PLAIN, "gl-%s", "Push Hook"),
    ("gitlab2", "gitlab", gitlab_signed, "HTTP_WEBHOOK_SIGNATURE", whsec("c"), "msg_%s",
     "Push Hook"),
    ("shopify", "shopify", shopify, "HTTP_X_SHOPIFY_HMAC_SHA256", PLAIN, "sh-%s:orders/paid",
     "orders/paid"),
    ("slack", "slack", slack, "HTTP_X_SLACK_SIGNATURE", PLAIN, "evt_%s", "thing.done"),
    ("square", "square", square, "HTTP_X_SQUARE_HMACSHA256_SIGNATURE", PLAIN, "evt_%s",
     "thing.done"),
    ("paddle", "paddle", paddle, "HTTP_PADDLE_SIGNATURE", PLAIN, "evt_%s", "thing.done"),
    ("lemon", "lemonsqueezy", lemonsqueezy, "HTTP_X_SIGNATURE", PLAIN, None, "order_created"),
    ("razorpay", "razorpay", razorpay, "HTTP_X_RAZORPAY_SIGNATURE", PLAIN, "rp-%s", "thing.done"),
    ("woo", "woocommerce", woocommerce, "HTTP_X_WC_WEBHOOK_SIGNATURE", PLAIN, None,
     "order.updated"),
    ("twilio", "twilio", twilio, "HTTP_X_TWILIO_SIGNATURE", PLAIN, "tw-%s", "callback"),
    ("acme", "hmac", acme, "HTTP_X_ACME_SIGN", PLAIN, "%s", "thing.done"),
    ("like", "hmac", stripelike, "HTTP_X_LIKE", PLAIN, "evt_%s", "fixed"),
]
MORE = {
    "square": "url = %ssquare\n" % URL,
    "twilio": "url = %stwilio\n" % URL,
    "acme": "sender = acme\nheader = X-Acme-Sign\nprefix = sha512:\nhash = sha512\n"
            "encoding = base64\nsigned = acme:{id}|{time}|{body}\ntimestamp = X-Acme-Time\n"
            "id = header:X-Acme-Id\ntype = body:type\n",
    "like": "header = X-Like\nprefix = s=\ntimestamp = at=\nseparator = semicolon\nhash = sha1\n"
            "signed = {time}.{body}\nid = body:event_id\nid = digest\ntype = is:fixed\n",
}
OTHER = {True: whsec("another one"), False: "another secret"}


class Providers(hook.Case):
    def setUp(self):
        super().setUp()
        path = os.path.join(hook.tempfile.mkdtemp(prefix="prov"), "hookonce.conf")
        self.addCleanup(hook.shutil.rmtree, os.path.dirname(path), True)
        text = "database = %s\n" % self.db.url
        for name, provider, _, _, secret, _, _ in ROWS:
            text += "[endpoint %s]\npath = /%s\nprovider = %s\nsecret = %s\n" % (
                name, name, provider, secret)
            text += MORE.get(name, "")
        self.write(path, text)
        self.conf = path
        self.env = hook.environment(HOOKONCE_CONF=path)

    def write(self, path, text):
        with open(path, "w") as f:
            f.write(text)
        os.chmod(path, 0o600)

    def start(self):
        return self.responder()

    def send(self, r, endpoint, body, extra):
        v = hook.variables(body, path="/" + endpoint)
        v.update(extra)
        return r.request({k: x for k, x in v.items() if x is not None}, body)

    def receipts(self, where="true"):
        return self.db.sql("SELECT provider, endpoint, event_id, event_type, deliveries FROM "
                           "webhook_inbox WHERE %s ORDER BY received_at" % where)

    def test_every_provider(self):
        r, t = self.start(), int(time.time())
        for name, provider, signs, header, secret, want_id, want_type in ROWS:
            with self.subTest(name):
                tag = "one"
                body = body_of(tag)
                good = signs(secret, body, t, tag)
                other = signs(OTHER[secret.startswith("whsec_") and provider != "stripe"], body, t,
                              tag)
                self.assertAnswer(self.send(r, name, body, {**good, header: None}), 400,
                                  "signature_missing")
                forged = self.send(r, name, body, other)
                self.assertAnswer(forged, 400, "signature_mismatch")
                self.assertNotIn(secret, repr(forged) + repr(forged.headers))
                if name != "gitlab":  # whose token signs no body
                    self.assertEqual(
                        self.send(r, name, body.replace(b"one", b"two"), good).status, 400)
                self.assertEqual(self.receipts("endpoint = '%s'" % name), [])
                self.assertAnswer(self.send(r, name, body, good), 200, "ignored")
                self.assertAnswer(self.send(r, name, body, good), 200, "duplicate")
                later = signs(secret, body, t - 2, tag)
                self.assertAnswer(self.send(r, name, body, later), 200, "duplicate")
                (row,) = self.receipts("endpoint = '%s'" % name)
                digest = hashlib.sha256(body).hexdigest()
                ids = {"lemon": digest, "woo": "wc:" + digest[:32]}
                self.assertEqual(row[0], "acme" if name == "acme" else provider)
                self.assertEqual(row[2], want_id % tag if want_id else ids[name])
                self.assertEqual(row[3], want_type)
                self.assertEqual(row[4], "3")
                body = body_of("two")
                self.assertAnswer(self.send(r, name, body, signs(secret, body, t, "two")), 200,
                                  "ignored")

    def test_age(self):
        """Where the time is signed, old is stale; the future is bounded where the SDK bounds it."""
        r, t = self.start(), int(time.time())
        for name, old, ahead in (("stripe", 310, 200), ("standard", 310, 400), ("svix", 310, 400),
                                 ("gitlab2", 310, 400), ("slack", 310, 400), ("paddle", 9, 200),
                                 ("acme", 310, 200), ("like", 310, 200)):
            row = next(x for x in ROWS if x[0] == name)
            body = body_of("age")
            with self.subTest(name):
                self.assertAnswer(self.send(r, name, body, row[2](row[4], body, t - old, "age")), 400,
                                  "signature_stale")
                answer = self.send(r, name, body, row[2](row[4], body, t + 900, "age"))
                self.assertAnswer(answer, ahead, "signature_early" if ahead == 400 else "ignored")

    def test_rotation(self):
        """Every secret is tried; the log says by its position which one it was."""
        path = self.conf
        for name, provider, signs, _, secret, _, _ in ROWS:
            new = OTHER[secret.startswith("whsec_") and provider != "stripe"]
            self.write(path, "database = %s\n[endpoint %s]\npath = /%s\nprovider = %s\nsecret = %s\n"
                       "secret = %s\n%s" % (self.db.url, name, name, provider, new, secret,
                                            MORE.get(name, "")))
            r, t = self.start(), int(time.time())
            with self.subTest(name):
                for position, key in ((1, new), (2, secret)):
                    body = body_of("rot%d" % position)
                    answer = self.send(r, name, body, signs(key, body, t, str(position)))
                    self.assertAnswer(answer, 200, "ignored")
                    self.assertIn("secret=%d " % position, answer.log)
            r.stop()

    def test_same_id(self):
        """The same id from two providers, and at two endpoints, are two receipts."""
        r, t, body = self.start(), int(time.time()), body_of("same")
        for name in ("stripe", "square", "paddle", "slack", "standard", "svix"):
            row = next(x for x in ROWS if x[0] == name)
            self.assertAnswer(self.send(r, name, body, row[2](row[4], body, t, "same")), 200, "ignored")
        self.assertEqual([x[2] for x in self.receipts()], ["evt_same"] * 4 + ["msg_same"] * 2)

    def test_names(self):
        """An id or a type that a header tells must be there, and be a name."""
        r, t, body = self.start(), int(time.time()), body_of("names")
        for name, header, word in (
                ("github", "HTTP_X_GITHUB_DELIVERY", "no_event_id"),
                ("github", "HTTP_X_GITHUB_EVENT", "no_event_type"),
                ("shopify", "HTTP_X_SHOPIFY_TOPIC", "no_event_type"),
                ("razorpay", "HTTP_X_RAZORPAY_EVENT_ID", "no_event_id"),
                ("woo", "HTTP_X_WC_WEBHOOK_DELIVERY_ID", "no_event_id")):
            row = next(x for x in ROWS if x[0] == name)
            for value in (None, "", "a\nb", "x" * 256, "\udcff", "\x7f"):
                with self.subTest(name, value=value):
                    v = {**row[2](row[4], body, t, "names"), header: value}
                    self.assertAnswer(self.send(r, name, body, v), 400, word)
        self.assertEqual(self.receipts(), [])

    def test_standard_webhooks_signs_its_id(self):
        r, t, body = self.start(), int(time.time()), body_of("x")
        for name, change in (("standard", {"HTTP_WEBHOOK_ID": "msg_other"}),
                             ("standard", {"HTTP_WEBHOOK_TIMESTAMP": str(t - 1)}),
                             ("acme", {"HTTP_X_ACME_ID": "other"})):
            row = next(x for x in ROWS if x[0] == name)
            v = {**row[2](row[4], body, t, "x"), **change}
            self.assertAnswer(self.send(r, name, body, v), 400, "signature_mismatch")

    def test_gitlab_event_uuid_is_no_id_while_there_is_a_better_one(self):
        """A recursive hook repeats its UUID: two deliveries with one UUID are two events."""
        r, body = self.start(), body_of("x")
        for tag in ("a", "b"):
            self.assertAnswer(self.send(r, "gitlab", body, gitlab(PLAIN, body, 0, tag)), 200, "ignored")
        old = {**gitlab(PLAIN, body, 0, "c"), "HTTP_IDEMPOTENCY_KEY": None}
        self.assertAnswer(self.send(r, "gitlab", body, old), 200, "ignored")
        self.assertEqual([x[2] for x in self.receipts()], ["gl-a", "gl-b", "uuid-of-all"])

    def test_shopify_one_event_two_topics(self):
        """One event may come under two topics: neither is lost."""
        r, body = self.start(), body_of("x")
        v = shopify(PLAIN, body, 0, "x")
        self.assertAnswer(self.send(r, "shopify", body, v), 200, "ignored")
        v["HTTP_X_SHOPIFY_TOPIC"] = "orders/updated"
        self.assertAnswer(self.send(r, "shopify", body, v), 200, "ignored")
        v["HTTP_X_SHOPIFY_WEBHOOK_ID"] = "another delivery"
        self.assertAnswer(self.send(r, "shopify", body, v), 200, "duplicate")

    def test_slack(self):
        r, t = self.start(), int(time.time())

        def send(body, **more):
            return self.send(r, "slack", body, {**slack(PLAIN, body, t, ""), **more})

        asked = json.dumps({"type": "url_verification", "challenge": "3eZ\"\u00e4\n", "token": "x"}).encode()
        answer = send(asked)
        self.assertAnswer(answer, 200)
        self.assertEqual(answer.json, {"challenge": "3eZ\"\u00e4\n"})
        self.assertEqual(answer.headers["content-type"], "application/json")
        self.assertIn("asked=\"url_verification\"", answer.log)
        self.assertEqual(self.receipts(), [])
        forged = self.send(r, "slack", asked, slack("another", asked, t, ""))
        self.assertAnswer(forged, 400, "signature_mismatch")
        self.assertNotIn(b"3eZ", forged.body)
        # an event, a command, an interaction
        event = json.dumps({"type": "event_callback", "event_id": "Ev1",
                            "event": {"type": "message", "text": "hi"}}).encode()
        self.assertAnswer(send(event), 200, "ignored")
        command = b"command=%2Fweather&text=94070+now&trigger_id=13345224609.738474920.8088930838d8"
        self.assertAnswer(send(command, CONTENT_TYPE=FORM), 200, "ignored")
        self.assertAnswer(send(command, CONTENT_TYPE=FORM), 200, "duplicate")
        action = b"payload=" + urllib.parse.quote_plus(json.dumps(
            {"type": "block_actions", "trigger_id": "12", "user": {"id": "U1"}})).encode()
        self.assertAnswer(send(action, CONTENT_TYPE=FORM), 200, "ignored")
        rows = self.db.sql("SELECT event_id, event_type, payload->>'text', payload->'user'->>'id', "
                           "convert_from(raw_body, 'UTF8') FROM webhook_inbox ORDER BY received_at")
        self.assertEqual(rows, [
            ("Ev1", "message", "", "", ""),
            ("13345224609.738474920.8088930838d8", "/weather", "94070 now", "", command.decode()),
            ("12", "block_actions", "", "U1", action.decode())])

    def test_woocommerce_ping(self):
        """Its first, unsigned ping gets exactly 200, and nothing is recorded or let in by it."""
        r = self.start()
        ping = {"CONTENT_TYPE": FORM, "HTTP_X_WC_WEBHOOK_TOPIC": None}
        answer = self.send(r, "woo", b"webhook_id=7", ping)
        self.assertAnswer(answer, 200, "ignored")
        self.assertIn("asked=\"ping\"", answer.log)
        for body in (b"webhook_id=7&x=1", b"webhook_id=", b"webhook_id=7a", b"webhook_id", b"x=7",
                     b'{"webhook_id":7}', b"webhook_id=" + b"1" * 100, b""):
            self.assertAnswer(self.send(r, "woo", body, ping), 400, "signature_missing")
        self.assertAnswer(self.send(r, "github", b"webhook_id=7", ping), 400, "signature_missing")
        signed = {**ping, **woocommerce("another", b"webhook_id=7", 0, "")}
        self.assertAnswer(self.send(r, "woo", b"webhook_id=7", signed), 400, "signature_mismatch")
        self.assertEqual(self.receipts(), [])

    def test_twilio_forms(self):
        r = self.start()

        def send(body, tag, **more):
            return self.send(r, "twilio", body, {**twilio_form(PLAIN, body, 0, tag), **more})

        call = b"CallSid=CA1&From=%2B14158675309&CallStatus=completed&Digits=1+2%26&Empty="
        self.assertAnswer(send(call, "a"), 200, "ignored")
        self.assertAnswer(send(call, "a"), 200, "duplicate")
        self.assertAnswer(send(b"MessageSid=SM1&MessageStatus=failed", "b"), 200, "ignored")
        self.assertAnswer(send(b"To=1", "c", HTTP_I_TWILIO_IDEMPOTENCY_TOKEN=None), 200, "ignored")
        self.assertAnswer(send(b"A=2&B=x&A=1&A=%00%ff", "d"), 200, "ignored")
        self.assertAnswer(send(b"A=1", "e", CONTENT_TYPE="application/json"), 400, "body_not_signed")
        changed = {**twilio_form(PLAIN, call, 0, "f")}
        self.assertAnswer(self.send(r, "twilio", call.replace(b"CA1", b"CA2"), changed), 400,
                          "signature_mismatch")
        many = b"&".join(b"f%d=1" % i for i in range(1001))
        self.assertAnswer(send(many, "g"), 400, "form_malformed")
        rows = self.db.sql("SELECT event_id, event_type, payload::text FROM webhook_inbox "
                           "ORDER BY received_at")
        self.assertEqual([x[:2] for x in rows], [
            ("tw-a", "call.completed"), ("tw-b", "message.failed"),
            (hashlib.sha256(b"To=1").hexdigest(), "callback"), ("tw-d", "callback")])
        self.assertEqual(json.loads(rows[0][2]), {
            "CallSid": "CA1", "From": "+14158675309", "CallStatus": "completed", "Digits": "1 2&",
            "Empty": ""})
        self.assertEqual(json.loads(rows[3][2]), {"A": ["2", "1", "\ufffd\ufffd"], "B": "x"})
        self.assertEqual(self.db.one("SELECT encode(raw_body, 'escape') FROM webhook_inbox WHERE "
                                     "event_id = 'tw-d'"), "A=2&B=x&A=1&A=%00%ff")

    def test_twilio_json_must_be_covered(self):
        """A JSON body is signed by its digest in the URL alone: without it, it is not signed."""
        r, body = self.start(), body_of("x")
        bare = {"HTTP_X_TWILIO_SIGNATURE": b64(mac(PLAIN.encode(), (URL + "twilio").encode(), "sha1"))}
        self.assertAnswer(self.send(r, "twilio", body, bare), 400, "body_not_signed")
        good = twilio(PLAIN, body, 0, "x")
        self.assertAnswer(self.send(r, "twilio", body_of("y"), good), 400, "body_not_signed")
        self.assertEqual(self.receipts(), [])

    def test_github_form(self):
        """R217: a hook that sends forms is unwrapped, and its bytes are kept."""
        r = self.start()
        with open(os.path.join(hook.REPORTS, "r217-plus.bin"), "rb") as f:
            body = f.read()
        v = {**github(PLAIN, body, 0, "f"), "CONTENT_TYPE": FORM}
        self.assertAnswer(self.send(r, "github", body, v), 200, "ignored")
        (row,) = self.db.sql("SELECT event_type, payload->>'ref', payload->>'msg', "
                             "convert_from(raw_body, 'UTF8') FROM webhook_inbox")
        self.assertEqual(row, ("push", "refs/heads/main", "a+b c%2Bd", body.decode()))
        body = b"something=else"
        v = {**github(PLAIN, body, 0, "g"), "CONTENT_TYPE": FORM}
        self.assertAnswer(self.send(r, "github", body, v), 400, "form_malformed")

    def test_standard_webhooks_lists(self):
        """R219: several signatures, parted by blanks; without its version one is none."""
        r, t, body = self.start(), int(time.time()), body_of("l")
        v = standard("WEBHOOK")(whsec("a"), body, t, "l")
        good = v["HTTP_WEBHOOK_SIGNATURE"]
        zeros = "v1," + b64(bytes(32))
        for value, status in ((zeros + " " + good, 200), ("v1a,AAAA " + good, 200),
                              (good + " " + zeros, 200), (good[3:], 400),
                              (zeros + "," + good, 400), ("v2," + good[3:], 400)):
            answer = self.send(r, "standard", body, {**v, "HTTP_WEBHOOK_SIGNATURE": value})
            self.assertAnswer(answer, status)

    def test_key_mode(self):
        """R221: the key is the secret's text or what it encodes; the log names a mix-up."""
        secret, t, body = whsec("k"), int(time.time()), body_of("k")
        text_sig = "v1," + b64(mac(secret.encode(), b"msg_k.%d." % t + body))
        v = standard("WEBHOOK")(secret, body, t, "k")
        for key, good, bad in (("base64", v["HTTP_WEBHOOK_SIGNATURE"], text_sig),
                               ("text", text_sig, v["HTTP_WEBHOOK_SIGNATURE"])):
            self.write(self.conf, "database = %s\n[endpoint s]\npath = /s\nkey = %s\n"
                       "provider = standard-webhooks\nsecret = %s\n" % (self.db.url, key, secret))
            r = self.start()
            answer = self.send(r, "s", body, {**v, "HTTP_WEBHOOK_SIGNATURE": bad})
            self.assertAnswer(answer, 400, "signature_mismatch")
            self.assertIn("matches with key=%s" % ("text" if key == "base64" else "base64"), answer.log)
            self.assertEqual(self.send(r, "s", body, {**v, "HTTP_WEBHOOK_SIGNATURE": good}).status, 200)
            r.stop()

    def test_no_id_and_a_body_that_differs(self):
        """R222: without an id the body is the id; where that differs on each retry, two
        receipts are two events, and a business key must guard the effect."""
        self.write(self.conf, "database = %s\n[endpoint h]\npath = /h\nprovider = hmac\nsecret = k\n"
                   "header = X-Signature\nid = digest\ntype = body:event\n" % self.db.url)
        r = self.start()
        for name in ("r222-first.json", "r222-again.json", "r222-first.json"):
            with open(os.path.join(hook.REPORTS, name), "rb") as f:
                body = f.read()
            answer = self.send(r, "h", body, {"HTTP_X_SIGNATURE": mac(b"k", body).hex()})
            self.assertEqual(answer.status, 200, answer)
        self.assertEqual([x[4] for x in self.receipts()], ["2", "1"])

    def test_endpoints_differ(self):
        """Each endpoint has its own limits, mode and filters, in one process."""
        self.write(self.conf, "database = %s\n"
                   "[endpoint a]\npath = /a\nprovider = github\nsecret = k\nmax_body = 1K\n"
                   "[endpoint b]\npath = /b\nprovider = github\nsecret = k2\nmode = async\n"
                   "[endpoint c]\npath = /c\nprovider = stripe\nsecret = k\nlivemode = true\n"
                   "tolerance = 60\n"
                   "[endpoint d]\npath = /d\nprovider = stripe\nsecret = k\naccount = acct_1\n"
                   % self.db.url)
        r, t = self.start(), int(time.time())
        big = body_of("big", filler="x" * 1100)
        self.assertAnswer(self.send(r, "a", big, github("k", big, 0, "a")), 413)
        self.assertAnswer(self.send(r, "b", big, github("k", big, 0, "a")), 400)
        self.assertAnswer(self.send(r, "b", big, github("k2", big, 0, "a")), 200, "accepted")
        test = body_of("test", livemode=False, account="acct_1")
        self.assertAnswer(self.send(r, "c", test, stripe("k", test, t - 61, "")), 400)
        self.assertAnswer(self.send(r, "c", test, stripe("k", test, t, "")), 200, "ignored")
        self.assertAnswer(self.send(r, "d", test, stripe("k", test, t - 61, "")), 200, "ignored")
        self.assertEqual(self.db.sql("SELECT endpoint, last_error FROM webhook_inbox ORDER BY 1"), [
            ("b", ""), ("c", "not for this endpoint: livemode"), ("d", "")])

    def test_sent_by_our_own_program(self):
        """hookonce sign and this file agree for every provider, and its forged ones are refused."""
        r, t = self.start(), int(time.time())
        path = os.path.join(os.path.dirname(self.conf), "body")
        for name, _, signs, header, secret, _, _ in ROWS:
            body = body_of("own")
            with open(path, "wb") as f:
                f.write(body)
            url = {"twilio": URL + "twilio", "square": URL + "square"}.get(name, "")
            run = subprocess.run([hook.OPERATOR, "sign", "--config", self.conf, "--endpoint", name,
                                  "--time", str(t), "--type", "t", "--id", "own"] + ["--url", url] * bool(url)
                                 + [path], capture_output=True, text=True, check=True)
            lines = dict(l.split(": ", 1) for l in run.stdout.splitlines())
            v = {"HTTP_" + k.upper().replace("-", "_"): x for k, x in lines.items()}
            if name == "twilio":
                v["QUERY_STRING"] = "bodySHA256=" + hashlib.sha256(body).hexdigest()
            with self.subTest(name):
                if name not in ("standard", "svix", "gitlab2", "acme"):  # whose id is signed
                    self.assertEqual(v[header], signs(secret, body, t, "own")[header])
                if name != "svix":  # sign writes the newer names
                    self.assertAnswer(self.send(r, name, body, v), 200, "ignored")


if __name__ == "__main__":
    hook.main()
