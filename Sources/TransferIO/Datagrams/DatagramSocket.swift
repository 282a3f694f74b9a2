internal import CLinux
import Glibc
package import TransferSystem

/// A UDP socket whose calls never block.
package final class DatagramSocket: Sendable {
    /// At least the longest datagram of IPv4 (RFC 768: 16 bits of length, including a header of 8 bytes).
    package static let longest = 65_535

    /// The actual address. If port 0 was requested, it has the port that the kernel has chosen.
    package let address: SocketAddress

    /// The descriptor; valid until `close`.
    let number: Int32

    private let isOpen = Locked(true)

    /// Binds a socket. Each address has a separate socket, so that `[::]` and `0.0.0.0` can be bound side by side, and
    /// no two sockets share an address.
    ///
    /// - Parameter broadcasts: whether it may send broadcasts.
    /// - Throws: errors of socket(2), setsockopt(2) and bind(2), such as EADDRINUSE if another program has the address.
    package init(_ wanted: SocketAddress, broadcasts: Bool = false) throws(SystemError) {
        let type = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = Descriptor(try system("socket") { socket(wanted.family, type, 0) })
        let number = descriptor.number
        var on: Int32 = 1
        let size = socklen_t(MemoryLayout<Int32>.size)
        if wanted.family == AF_INET6 {
            try system("setsockopt") { setsockopt(number, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &on, size) }
        }
        if broadcasts { try system("setsockopt") { setsockopt(number, SOL_SOCKET, SO_BROADCAST, &on, size) } }
        try system("setsockopt") { clinux_describe_datagrams(number, wanted.family) }
        try system("bind") { wanted.withPointer { bind(number, $0, $1) } }
        address = try SocketAddress.filled(by: "getsockname") { getsockname(number, $0, &$1) }
        self.number = descriptor.release()
    }

    deinit {
        close()
    }

    /// Closes the socket. No other thread may use it afterwards.
    package func close() {
        let wasOpen = isOpen.withLock { isOpen in
            defer { isOpen = false }
            return isOpen
        }
        if wasOpen { Glibc.close(number) }
    }

    /// Receives one datagram.
    ///
    /// - Parameter buffer: memory for `longest` bytes; a longer datagram is cut.
    /// - Returns: nil if no datagram has arrived.
    package func receive(into buffer: inout [UInt8]) throws(SystemError) -> DatagramArrival? {
        var arrival = clinux_arrival()
        let taken = try nonBlocking("recvmsg") {
            buffer.withUnsafeMutableBytes { clinux_receive_datagram(number, $0.baseAddress, $0.count, &arrival) }
        }
        guard let taken else { return nil }
        return DatagramArrival(arrival, count: min(taken, buffer.count), family: address.family)
    }

    /// Waits until a socket is readable or has failed.
    ///
    /// - Parameter milliseconds: timeout.
    package static func wait(for sockets: [DatagramSocket], milliseconds: Int32) {
        var waiting = sockets.map { pollfd(fd: $0.number, events: Int16(POLLIN), revents: 0) }
        // A signal can end the wait early.
        _ = poll(&waiting, nfds_t(waiting.count), milliseconds)
    }

    /// Sends one datagram. If the kernel has no memory for it, it is lost, as any datagram can be.
    ///
    /// - Parameters:
    ///   - from: local source address; nil to let the kernel choose.
    ///   - interface: interface of the source address; used for link-local addresses.
    ///   - hops: hop limit, 1 to 255.
    ///   - trafficClass: the byte of the IP header (RFC 2474).
    package func send(
        _ bytes: ArraySlice<UInt8>, to: SocketAddress, from: IPAddress? = nil, interface: UInt32 = 0, hops: UInt8 = 64,
        trafficClass: UInt8 = 0
    ) throws(SystemError) {
        _ = try nonBlocking("sendmsg") {
            bytes.withUnsafeBytes { content in
                to.withPointer { target, length in
                    let send = { (local: UnsafePointer<UInt8>?) in
                        clinux_send_datagram(
                            self.number, content.baseAddress, content.count, target, length, local, interface,
                            Int32(hops),
                            Int32(trafficClass))
                    }
                    guard let from, from.family == to.family else { return send(nil) }
                    return from.bytes.withUnsafeBufferPointer { send($0.baseAddress) }
                }
            }
        }
    }
}

/// Metadata of a received datagram.
package struct DatagramArrival: Sendable {
    /// Source address, which can be forged.
    package let source: SocketAddress
    /// Destination address; nil if the kernel doesn't report it.
    package let destination: IPAddress?
    /// The local IPv4 address that received the datagram; nil for IPv6.
    package let local: IPAddress?
    /// Index of the receiving interface; 0 if the kernel doesn't report it.
    package let interface: UInt32
    /// The remaining hop limit; nil if the kernel doesn't report it.
    package let hops: UInt8?
    /// Traffic class byte of the IP header (RFC 2474); nil if the kernel doesn't report it.
    package let trafficClass: UInt8?
    /// Size of the datagram in bytes.
    package let count: Int

    fileprivate init(_ arrival: clinux_arrival, count: Int, family: Int32) {
        source = SocketAddress(storage: arrival.source, length: arrival.source_length)
        let isDescribed = arrival.interface != 0
        destination =
            isDescribed ? withUnsafeBytes(of: arrival.destination) { IPAddress($0, family: family) } : nil
        local =
            isDescribed && family == AF_INET
            ? withUnsafeBytes(of: arrival.local) { IPAddress($0, family: family) } : nil
        interface = arrival.interface
        hops = UInt8(exactly: arrival.hops)
        trafficClass = UInt8(exactly: arrival.traffic_class)
        self.count = count
    }

    /// Whether the datagram was sent by broadcast or multicast, or the kernel doesn't report its destination.
    package var isForMany: Bool {
        guard let destination else { return true }
        // For a broadcast, the local address differs from the destination (ip(7), IP_PKTINFO).
        return destination.isMulticast || destination == .limitedBroadcast || local.map { $0 != destination } ?? false
    }
}
