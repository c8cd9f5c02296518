# hookonce: make help lists the targets. One Makefile, sources listed by hand.

# Where make install puts things; DESTDIR is for packagers.
PREFIX ?= /usr/local
DESTDIR ?=
FCGIDIR ?= $(PREFIX)/lib/hookonce
DOCDIR ?= $(PREFIX)/share/doc/hookonce
MANDIR ?= $(PREFIX)/share/man

# What a build may be told: CC, OPT, WERROR= (to accept a newer compiler's warnings), B.
CC = gcc
OPT = -O2 -g
WERROR = -Werror
B = build
WARN = -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes $(WERROR)
HARDEN = -fstack-protector-strong -fPIE -D_FORTIFY_SOURCE=2
HARDEN_LD = -pie -Wl,-z,relro -Wl,-z,now -Wl,--as-needed
SAN =

# Each library by pkg-config, and each can be given by hand. libpq is loaded when it is
# first needed (include/pq.h), so only its headers are used here. libfcgi has no .pc file.
PQ_CFLAGS = $(shell pkg-config --cflags libpq)
JSON_CFLAGS = $(shell pkg-config --cflags json-c)
JSON_LIBS = $(shell pkg-config --libs json-c)
CRYPTO_LIBS = $(shell pkg-config --libs libcrypto)
INIH_LIBS = $(shell pkg-config --libs inih)
CURL_LIBS = $(shell pkg-config --libs libcurl)
CRITERION_LIBS = $(shell pkg-config --libs criterion)
FCGI_LIBS = -lfcgi

CPPFLAGS = -Iinclude -D_DEFAULT_SOURCE -DOPENSSL_NO_DEPRECATED
CFLAGS = -std=c11 $(OPT) $(WARN) $(HARDEN) $(SAN)
LDFLAGS = $(HARDEN_LD) $(SAN)
LIBS = $(JSON_LIBS) $(INIH_LIBS) $(CRYPTO_LIBS)

# The modules, lowest layer first; a file includes headers of its own layer or a lower one.
# make check-layers reads these lists.
L0 = compiler version status clock log buf stop text
L1 = digest encode jsontext field form sqlstate pq db_hosts db_session db db_params http http_cgi http_fcgi \
	http_serve secret
L2 = scheme scheme_content scheme_key scheme_sign scheme_table event
L3 = conf conf_check conf_hmac conf_keys conf_use
L4 = handler handler_invoice
L5 = apply inbox claim
L6 = delivery worker supervise receive ops ops_receipts ops_purge
L7 = responder operator cmd cmd_json cmd_config cmd_list cmd_migrate cmd_purge cmd_retry cmd_review \
	cmd_send cmd_show cmd_sign cmd_signer cmd_status cmd_worker

SHARED = status clock log buf stop digest encode jsontext field form sqlstate pq db_hosts db_session db \
	db_params http secret scheme scheme_content scheme_key scheme_table event conf conf_check conf_hmac \
	conf_keys conf_use handler handler_invoice apply inbox claim worker
RESPONDER = responder http_cgi http_fcgi http_serve delivery receive
OPERATOR = operator cmd cmd_json cmd_config cmd_list cmd_migrate cmd_purge cmd_retry cmd_review \
	cmd_send cmd_show cmd_sign cmd_signer cmd_status cmd_worker scheme_sign supervise text ops ops_receipts ops_purge
MAN = src/hookonce.1 src/hookonce.conf.5 src/hookonce.fcgi.8
MIGRATIONS = db/001_inbox.sql db/002_billing.sql db/003_handlers.sql

# Criterion tests mirror the sources.
TESTS = status clock log buf stop digest encode jsontext field form sqlstate db http secret scheme event \
	text conf handler_invoice inbox claim ops

# Debian's packages: to build and run it, and further ones to test it.
PACKAGES = gcc libc6-dev pkg-config libfcgi-dev libpq-dev libssl-dev libjson-c-dev libinih-dev \
	libcurl4-openssl-dev postgresql lighttpd
TEST_PACKAGES = libcriterion-dev python3 curl pgbouncer faketime apache2 libapache2-mod-fcgid nginx-light spawn-fcgi \
	multiwatch valgrind strace procps clang-format clang-tidy cppcheck mandoc systemd

OBJ = $(patsubst %,$(B)/%.o,$(1))
RESPONDER_OBJ = $(call OBJ,$(SHARED) $(RESPONDER))
OPERATOR_OBJ = $(call OBJ,$(SHARED) $(OPERATOR) migrations)
TEST_OBJ = $(call OBJ,$(SHARED) scheme_sign delivery receive text ops ops_receipts ops_purge migrations) \
	$(patsubst %,$(B)/test_%.o,$(TESTS) support database)

.PHONY: all run test unit lint check-format check-headers check-layers check-man check-tidy asan valgrind \
	install clean deps test-deps help
.DELETE_ON_ERROR:

all: $(B)/hookonce.fcgi $(B)/hookonce ## build both programs

$(B)/hookonce.fcgi: $(RESPONDER_OBJ)
	$(CC) $(LDFLAGS) -o $@ $^ $(FCGI_LIBS) $(LIBS)

$(B)/hookonce: $(OPERATOR_OBJ)
	$(CC) $(LDFLAGS) -o $@ $^ $(LIBS) $(CURL_LIBS)

$(B)/tests: $(TEST_OBJ)
	$(CC) $(LDFLAGS) -o $@ $^ $(LIBS) $(CRITERION_LIBS)

$(B)/%.o: src/%.c Makefile | $(B)
	$(CC) $(CPPFLAGS) $(PQ_CFLAGS) $(JSON_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/test_%.o: tests/test_%.c Makefile | $(B)
	$(CC) $(CPPFLAGS) -Itests $(PQ_CFLAGS) $(JSON_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/migrations.o: $(B)/migrations.c
	$(CC) $(CPPFLAGS) $(PQ_CFLAGS) $(CFLAGS) -c -o $@ $<

# The numbered files of db/, as C strings.
$(B)/migrations.c: $(MIGRATIONS) Makefile | $(B)
	{ echo '#include "ops.h"'; echo 'const struct migration migrations[] = {'; \
	for f in $(MIGRATIONS); do n=$${f#db/}; \
		echo "    {1$${n%%_*} - 1000, \"$$n\","; \
		sed 's/\\/\\\\/g; s/"/\\"/g; s/^/     "/; s/$$/\\n"/' $$f; echo "    },"; done; \
	echo '};'; echo 'const size_t migrations_count = ARRAY_LEN(migrations);'; } > $@

$(B):
	mkdir -p $(B)

-include $(wildcard $(B)/*.d)

run: deps ## one command: install, build, start everything, send events, show what happened
	@$(MAKE) --no-print-directory -s all
	@tests/demo.sh

test: test-deps ## install what is missing and run all tests
	@$(MAKE) --no-print-directory -s all $(B)/tests
	@B=$(B) tests/run.sh

unit: $(B)/tests ## the Criterion tests alone (those of the database need DATABASE_URL)
	$(B)/tests

asan: test-deps ## all tests under AddressSanitizer and UBSan
	@$(MAKE) --no-print-directory -s B=build-asan OPT='-O1 -g' HARDEN='-fPIE' \
		SAN='-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer' \
		all build-asan/tests
	@B=build-asan tests/run.sh

lint: check-format check-headers check-layers check-man check-tidy ## format, headers, layers, manual, static analysis

check-format:
	clang-format --dry-run --Werror src/*.c include/*.h tests/*.c tests/*.h

check-man:
	mandoc -T lint -W warning $(MAN)

# Every header compiles alone.
check-headers:
	@for h in include/*.h; do \
		$(CC) $(CPPFLAGS) $(PQ_CFLAGS) $(JSON_CFLAGS) -std=c11 $(WARN) -x c -fsyntax-only $$h || exit 1; done

check-layers:
	@L0='$(L0)' L1='$(L1)' L2='$(L2)' L3='$(L3)' L4='$(L4)' L5='$(L5)' L6='$(L6)' L7='$(L7)' \
		tests/layers.sh

check-tidy: $(B)/migrations.c
	cppcheck -q --std=c11 --error-exitcode=1 --inline-suppr --enable=warning,performance,portability \
		-Iinclude $(CPPFLAGS) src
	@ls src/*.c | xargs -P 2 -n 8 sh -c 'clang-tidy --quiet --warnings-as-errors="*" "$$@" -- \
		$(CPPFLAGS) $(PQ_CFLAGS) $(JSON_CFLAGS) -std=c11 2>/dev/null' clang-tidy

install: all ## install under $(DESTDIR)$(PREFIX)
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(FCGIDIR) $(DESTDIR)$(DOCDIR)/db \
		$(DESTDIR)$(DOCDIR)/httpd-conf
	install $(B)/hookonce $(DESTDIR)$(PREFIX)/bin/hookonce
	install $(B)/hookonce.fcgi $(DESTDIR)$(FCGIDIR)/hookonce.fcgi
	install -m 644 README.md $(DESTDIR)$(DOCDIR)
	for m in $(MAN); do install -D -m 644 $$m \
		$(DESTDIR)$(MANDIR)/man$${m##*.}/$${m##*/} || exit 1; done
	install -m 644 db/*.sql $(DESTDIR)$(DOCDIR)/db
	install -m 644 $(wildcard httpd-conf/* httpd-conf/.htaccess) $(DESTDIR)$(DOCDIR)/httpd-conf

deps: ## install what building and running needs (Debian, root or sudo)
	@tests/packages.sh $(PACKAGES)

test-deps: ## install what the tests and lint need besides
	@tests/packages.sh $(PACKAGES) $(TEST_PACKAGES)

clean: ## remove what was built (var/ belongs to make run, which cleans it itself)
	rm -rf build build-*

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | \
		awk -F'|' '{ printf "%-20s %s\n", $$1, $$2 }'
