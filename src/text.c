#include "text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { COLUMNS_MAX = 16, CELL_MAX = 512, NARROWEST = 4, WIDTH_DEFAULT = 100 };

const char *text_age(int64_t seconds, char out[TEXT_AGE_MAX])
{
    if (seconds < 60)
        snprintf(out, TEXT_AGE_MAX, "%" PRId64 "s", seconds);
    else if (seconds < 3600)
        snprintf(out, TEXT_AGE_MAX, "%" PRId64 "m %" PRId64 "s", seconds / 60, seconds % 60);
    else if (seconds < 86400)
        snprintf(out, TEXT_AGE_MAX, "%" PRId64 "h %" PRId64 "m", seconds / 3600, seconds / 60 % 60);
    else
        snprintf(out, TEXT_AGE_MAX, "%" PRId64 "d %" PRId64 "h", seconds / 86400,
                 seconds / 3600 % 24);
    return out;
}

/* One character and its bytes; broken ones count as one byte. */
static unsigned long decode(const char *text, size_t *len)
{
    const unsigned char *s = (const unsigned char *)text;
    unsigned long c;

    *len = s[0] < 0x80 ? 1 : s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : s[0] >= 0xc2 ? 2 : 0;
    if (*len == 0)
        goto broken;
    c = *len == 1 ? s[0] : s[0] & (0xffu >> (*len + 1));
    for (size_t i = 1; i < *len; i++) {
        if ((s[i] & 0xc0) != 0x80)
            goto broken;
        c = c << 6 | (s[i] & 0x3f);
    }
    return c;
broken:
    *len = 1;
    return 0;
}

/* C0, DEL, C1, and what turns the direction of writing or joins lines. */
static bool drives(unsigned long c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x061c || (c >= 0x200b && c <= 0x200f) ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff;
}

static size_t characters(const char *text)
{
    size_t count = 0, len;

    for (; *text != '\0'; text += len, count++)
        (void)decode(text, &len);
    return count;
}

size_t text_clean(char *to, size_t room, const char *from, size_t columns, int newlines)
{
    bool cut = characters(from) > columns;
    size_t written = 0, at = 0, len;

    for (; *from != '\0' && at + 5 < room && written + cut < columns; from += len, written++) {
        unsigned long c = decode(from, &len);

        if (drives(c) && !(newlines && c == '\n')) {
            to[at++] = '?';
        } else {
            memcpy(to + at, from, len);
            at += len;
        }
    }
    if (cut && columns > 0 && at + 4 < room) {
        memcpy(to + at, "\xe2\x80\xa6", 3);
        at += 3;
        written++;
    }
    to[at] = '\0';
    return written;
}

static const char *cell(const struct text_rows *rows, int row, int column)
{
    const char *text = rows->cell(rows->rows, row, column);

    return text == NULL ? "" : text;
}

/* As wide as the widest cell; then the columns that may shrink give up what is too much. */
static void measure(const struct text_column *columns, int count, const struct text_rows *rows,
                    int width, int *widths)
{
    int total = 2 * (count - 1);

    for (int c = 0; c < count; c++) {
        widths[c] = (int)characters(columns[c].title);
        for (int r = 0; r < rows->count; r++) {
            int n = (int)characters(cell(rows, r, c));

            if (n > widths[c])
                widths[c] = n;
        }
        total += widths[c];
    }
    while (total > width) {
        int widest = -1;

        for (int c = 0; c < count; c++) {
            if (columns[c].shrinks && widths[c] > NARROWEST &&
                (widest < 0 || widths[c] > widths[widest]))
                widest = c;
        }
        if (widest < 0)
            return;
        widths[widest]--;
        total--;
    }
}

static void print_row(FILE *to, const struct text_column *columns, int count, const int *widths,
                      const struct text_rows *rows, int row)
{
    char clean[CELL_MAX * 4];

    for (int c = 0; c < count; c++) {
        const char *text = row < 0 ? columns[c].title : cell(rows, row, c);
        int n = (int)text_clean(clean, sizeof(clean), text, (size_t)widths[c], 0);
        int pad = widths[c] - n;
        bool last = c == count - 1;

        fprintf(to, "%*s%s%*s", columns[c].right ? pad : 0, "", clean,
                columns[c].right || last ? 0 : pad, "");
        fputs(last ? "\n" : "  ", to);
    }
}

void text_table(FILE *to, const struct text_column *columns, int count,
                const struct text_rows *rows, int width)
{
    int widths[COLUMNS_MAX];

    if (count < 1 || count > COLUMNS_MAX)
        return;
    measure(columns, count, rows, width, widths);
    for (int row = -1; row < rows->count; row++)
        print_row(to, columns, count, widths, rows, row);
}

int text_width(FILE *stream)
{
    struct winsize size;

    if (ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col >= 40)
        return size.ws_col;
    return WIDTH_DEFAULT;
}
