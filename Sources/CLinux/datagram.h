#ifndef TRANSFER_CLINUX_DATAGRAM_H
#define TRANSFER_CLINUX_DATAGRAM_H

// Datagrams with the kernel's metadata, because Swift cannot import the macros of cmsg(3).

#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

// Metadata of a datagram. Addresses are in network byte order; an IPv4 address is in the first four bytes.
struct clinux_arrival {
    struct sockaddr_storage source;
    socklen_t source_length;
    // The destination in the IP header, and the local address that received the datagram, which is unknown for IPv6.
    unsigned char destination[16];
    unsigned char local[16];
    // Interface index; 0 if the kernel doesn't report it.
    uint32_t interface;
    // Values of the IP header, -1 if the kernel doesn't report them: the remaining hop limit, and the traffic class
    // byte.
    int32_t hops;
    int32_t traffic_class;
};

// Constants of linux/in.h and linux/in6.h. The C library's <netinet/in.h> has them as well, but if it were included
// here, its types, which every target uses, would become types of this module.
enum {
    clinux_ip = 0,
    clinux_ip_tos = 1,
    clinux_ip_ttl = 2,
    clinux_ip_pktinfo = 8,
    clinux_ip_recvttl = 12,
    clinux_ip_recvtos = 13,
    clinux_ipv6 = 41,
    clinux_ipv6_recvpktinfo = 49,
    clinux_ipv6_pktinfo = 50,
    clinux_ipv6_recvhoplimit = 51,
    clinux_ipv6_hoplimit = 52,
    clinux_ipv6_recvtclass = 66,
    clinux_ipv6_tclass = 67
};

// struct in_pktinfo (ip(7)).
struct clinux_in_pktinfo {
    int32_t interface;
    unsigned char local[4];
    unsigned char destination[4];
};

// struct in6_pktinfo (RFC 3542, section 6.1).
struct clinux_in6_pktinfo {
    unsigned char address[16];
    uint32_t interface;
};

static inline int clinux_describe_datagrams(int fd, int family) {
    int on = 1;
    if (family == AF_INET) {
        return setsockopt(fd, clinux_ip, clinux_ip_pktinfo, &on, sizeof on) |
               setsockopt(fd, clinux_ip, clinux_ip_recvttl, &on, sizeof on) |
               setsockopt(fd, clinux_ip, clinux_ip_recvtos, &on, sizeof on);
    }
    return setsockopt(fd, clinux_ipv6, clinux_ipv6_recvpktinfo, &on, sizeof on) |
           setsockopt(fd, clinux_ipv6, clinux_ipv6_recvhoplimit, &on, sizeof on) |
           setsockopt(fd, clinux_ipv6, clinux_ipv6_recvtclass, &on, sizeof on);
}

static inline void clinux_read_control(struct cmsghdr *item, struct clinux_arrival *arrival) {
    size_t size = item->cmsg_len - CMSG_LEN(0);
    const unsigned char *data = CMSG_DATA(item);
    if (item->cmsg_level == clinux_ip && item->cmsg_type == clinux_ip_pktinfo && size >= sizeof(struct clinux_in_pktinfo)) {
        struct clinux_in_pktinfo info;
        memcpy(&info, data, sizeof info);
        memcpy(arrival->destination, info.destination, 4);
        memcpy(arrival->local, info.local, 4);
        arrival->interface = (uint32_t)info.interface;
    } else if (item->cmsg_level == clinux_ipv6 && item->cmsg_type == clinux_ipv6_pktinfo &&
               size >= sizeof(struct clinux_in6_pktinfo)) {
        struct clinux_in6_pktinfo info;
        memcpy(&info, data, sizeof info);
        memcpy(arrival->destination, info.address, 16);
        arrival->interface = info.interface;
    } else if (item->cmsg_level == clinux_ip && item->cmsg_type == clinux_ip_tos && size >= 1) {
        arrival->traffic_class = data[0];
    } else if (size >= sizeof(int)) {
        int value;
        memcpy(&value, data, sizeof value);
        if (item->cmsg_level == clinux_ip && item->cmsg_type == clinux_ip_ttl) arrival->hops = value;
        if (item->cmsg_level == clinux_ipv6 && item->cmsg_type == clinux_ipv6_hoplimit) arrival->hops = value;
        if (item->cmsg_level == clinux_ipv6 && item->cmsg_type == clinux_ipv6_tclass) arrival->traffic_class = value;
    }
}

// Calls recvmsg(2) without blocking.
static inline ssize_t clinux_receive_datagram(int fd, void *buffer, size_t size, struct clinux_arrival *arrival) {
    union {
        struct cmsghdr first;
        unsigned char bytes[256];
    } control;
    struct iovec space = {buffer, size};
    struct msghdr message = {.msg_name = &arrival->source,
                             .msg_namelen = sizeof arrival->source,
                             .msg_iov = &space,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    memset(arrival, 0, sizeof *arrival);
    arrival->hops = arrival->traffic_class = -1;
    ssize_t count = recvmsg(fd, &message, MSG_DONTWAIT);
    if (count < 0) return count;
    arrival->source_length = message.msg_namelen;
    for (struct cmsghdr *item = CMSG_FIRSTHDR(&message); item; item = CMSG_NXTHDR(&message, item)) {
        clinux_read_control(item, arrival);
    }
    return count;
}

static inline void *clinux_add_control(struct msghdr *message, int level, int type, const void *data, size_t size) {
    struct cmsghdr *item = (struct cmsghdr *)((unsigned char *)message->msg_control + message->msg_controllen);
    item->cmsg_level = level;
    item->cmsg_type = type;
    item->cmsg_len = CMSG_LEN(size);
    memcpy(CMSG_DATA(item), data, size);
    message->msg_controllen += CMSG_SPACE(size);
    return item;
}

// Calls sendmsg(2) without blocking. `local` is the source address in network byte order, or NULL to let the kernel
// choose.
static inline ssize_t clinux_send_datagram(int fd, const void *bytes, size_t size, const struct sockaddr *to,
                                           socklen_t to_length, const unsigned char *local, uint32_t interface,
                                           int hops, int traffic_class) {
    union {
        struct cmsghdr first;
        unsigned char bytes[256];
    } control;
    memset(&control, 0, sizeof control);
    struct iovec content = {(void *)bytes, size};
    struct msghdr message = {.msg_name = (void *)to,
                             .msg_namelen = to_length,
                             .msg_iov = &content,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = 0};
    if (to->sa_family == AF_INET) {
        if (local) {
            struct clinux_in_pktinfo info = {0};
            memcpy(info.local, local, 4);
            clinux_add_control(&message, clinux_ip, clinux_ip_pktinfo, &info, sizeof info);
        }
        clinux_add_control(&message, clinux_ip, clinux_ip_ttl, &hops, sizeof hops);
        clinux_add_control(&message, clinux_ip, clinux_ip_tos, &traffic_class, sizeof traffic_class);
    } else {
        if (local) {
            struct clinux_in6_pktinfo info = {.interface = interface};
            memcpy(info.address, local, 16);
            clinux_add_control(&message, clinux_ipv6, clinux_ipv6_pktinfo, &info, sizeof info);
        }
        clinux_add_control(&message, clinux_ipv6, clinux_ipv6_hoplimit, &hops, sizeof hops);
        clinux_add_control(&message, clinux_ipv6, clinux_ipv6_tclass, &traffic_class, sizeof traffic_class);
    }
    return sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

#endif
