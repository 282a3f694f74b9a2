// Emulates a wide-area link between two network namespaces, for kernels without netem. Each namespace has a TUN device;
// this program carries packets from one device to the other, with a rate, a delay, random loss, and a queue that drops
// packets when it is full.
//
// usage: emulator NAMESPACE_A NAMESPACE_B MEGABITS DELAY_MS LOSS_PERCENT
//
// Rate, delay and loss apply to each direction. The namespaces must exist (ip netns add). The program makes tun0 in
// each, prints "ready" on standard error, and runs until it is killed. The caller assigns the addresses.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum {
    mtu = 1500,

    // Packets in transit in one direction. A direction with 1 Gbit/s and a delay of 400 ms holds half as many packets
    // of full size.
    capacity = 1 << 16,

    // Number of packets to take from one device before the other one has its turn.
    at_once = 256,
};

// Bytes in the smallest queue. By rule of thumb, the queue of a router holds the bytes of one round trip. On a short or
// slow link these are very few, but the queue must still hold a burst of one sender.
static const double smallest_queue = 65536;

// Any number except 0 works. The state is equal in every run, so that runs differ less.
static uint64_t random_state = 88172645463325252u;

struct packet {
    uint64_t due;
    size_t length;
    unsigned char bytes[mtu];
};

// One direction. `sent` and `arrived` count packets; the packets between the two counts are in transit, the oldest
// first.
struct direction {
    int from, to;
    struct packet *ring;
    uint64_t arrived, sent;

    // Time at which the last byte of the newest packet leaves the queue. Times are nanoseconds of the monotonic clock.
    uint64_t idle_from;
};

struct link {
    double nanoseconds_per_byte;
    double loss;
    uint64_t delay;

    // Longest time that a packet may wait in the queue.
    uint64_t longest_wait;
};

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

// A number from 0 to below 1, from the generator xorshift64 (Marsaglia, 2003); the upper 53 bits fill a double.
static double random_fraction(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (double)(random_state >> 11) / (double)(1ull << 53);
}

// A TUN device stays in the namespace in which it was made when this program enters another one.
static int make_device(const char *namespace) {
    char path[256];
    snprintf(path, sizeof path, "/var/run/netns/%s", namespace);
    int entrance = open(path, O_RDONLY | O_CLOEXEC);
    if (entrance < 0 || setns(entrance, CLONE_NEWNET) != 0) fail(path);
    close(entrance);
    int device = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI, .ifr_name = "tun0"};
    if (device < 0 || ioctl(device, TUNSETIFF, &request) != 0) fail("/dev/net/tun");
    return device;
}

static struct direction make_direction(int from, int to) {
    struct direction made = {.from = from, .to = to, .ring = calloc(capacity, sizeof(struct packet))};
    if (made.ring == NULL) fail("memory");
    return made;
}

static struct packet *slot(const struct direction *direction, uint64_t number) {
    return &direction->ring[number % capacity];
}

static void enqueue(struct direction *direction, const struct link *link, uint64_t time, const void *bytes,
                    size_t length) {
    if (random_fraction() < link->loss) return;
    uint64_t start = direction->idle_from > time ? direction->idle_from : time;
    bool is_full = start - time > link->longest_wait || direction->sent - direction->arrived == capacity;
    if (is_full) return;
    direction->idle_from = start + (uint64_t)((double)length * link->nanoseconds_per_byte);
    struct packet *packet = slot(direction, direction->sent++);
    packet->due = direction->idle_from + link->delay;
    packet->length = length;
    memcpy(packet->bytes, bytes, length);
}

static void take(struct direction *direction, const struct link *link, uint64_t time) {
    unsigned char bytes[mtu];
    for (int count = 0; count < at_once; count++) {
        ssize_t length = read(direction->from, bytes, sizeof bytes);
        if (length <= 0) return;
        enqueue(direction, link, time, bytes, (size_t)length);
    }
}

// A packet that the other device refuses is lost, as on any network, unless the device is only busy.
static void deliver(struct direction *direction, uint64_t time) {
    while (direction->arrived != direction->sent) {
        const struct packet *packet = slot(direction, direction->arrived);
        if (packet->due > time) return;
        if (write(direction->to, packet->bytes, packet->length) < 0 && errno == EAGAIN) return;
        direction->arrived++;
    }
}

// Uses a timer because poll(2) counts in milliseconds, and a packet of 1,500 bytes takes only 0.12 ms at 100 Mbit/s.
static void set_timer(int timer, const struct direction *directions) {
    uint64_t next = UINT64_MAX;
    for (int number = 0; number < 2; number++) {
        const struct direction *direction = &directions[number];
        if (direction->arrived == direction->sent) continue;
        uint64_t due = slot(direction, direction->arrived)->due;
        if (due < next) next = due;
    }
    if (next == UINT64_MAX) return;
    struct itimerspec at = {.it_value = {(time_t)(next / 1000000000u), (long)(next % 1000000000u)}};
    timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, NULL);
}

static void carry(struct direction *directions, const struct link *link, int timer) {
    struct pollfd waiting[] = {{directions[0].from, POLLIN, 0}, {directions[1].from, POLLIN, 0}, {timer, POLLIN, 0}};
    for (;;) {
        uint64_t time = now(), expirations;
        for (int number = 0; number < 2; number++) {
            take(&directions[number], link, time);
            deliver(&directions[number], time);
        }
        set_timer(timer, directions);
        if (poll(waiting, 3, -1) < 0 && errno != EINTR) fail("poll");
        // The read only keeps the timer from waking the next poll; the number of expirations does not matter.
        bool is_over = waiting[2].revents != 0;
        if (is_over && read(timer, &expirations, sizeof expirations) < 0 && errno != EAGAIN) fail("timer");
    }
}

int main(int argc, char **argv) {
    if (argc != 6) {
        fprintf(stderr, "usage: emulator NAMESPACE_A NAMESPACE_B MEGABITS DELAY_MS LOSS_PERCENT\n");
        return 2;
    }
    struct link link = {.nanoseconds_per_byte = 8000 / atof(argv[3]), .loss = atof(argv[5]) / 100};
    link.delay = (uint64_t)(atof(argv[4]) * 1e6);
    uint64_t shortest = (uint64_t)(smallest_queue * link.nanoseconds_per_byte);
    link.longest_wait = 2 * link.delay > shortest ? 2 * link.delay : shortest;

    int first = make_device(argv[1]), second = make_device(argv[2]);
    struct direction directions[] = {make_direction(first, second), make_direction(second, first)};
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (timer < 0) fail("timer");
    fprintf(stderr, "ready\n");
    carry(directions, &link, timer);
}
