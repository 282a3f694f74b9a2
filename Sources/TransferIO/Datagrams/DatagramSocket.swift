internal import CLinux
import Glibc
package import TransferSystem

/// A UDP socket. Receiving and sending never wait.
package final class DatagramSocket: Sendable {
    /// The longest datagram of IPv4, and room to spare (RFC 768: 16 bits of length, of which the header takes 8).
    package static let longest = 65_535

    /// The address that it is really bound to: the port is known even when 0 was asked for.
    package let address: SocketAddress

    /// The descriptor's, until `close`.
    let number: Int32

    private let isOpen = Locked(true)

    /// Binds it. Each address has its own socket, so that `[::]` and `0.0.0.0` can be bound side by side, and no two sockets
    /// share one.
    ///
    /// - Parameter broadcasts: whether it may send to everybody on a link.
    /// - Throws: what socket(2), setsockopt(2) and bind(2) say; EADDRINUSE where somebody else has the address.
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

    /// Gives the address back. Nobody may send or receive by the socket any more, or be about to.
    package func close() {
        let wasOpen = isOpen.withLock { isOpen in
            defer { isOpen = false }
            return isOpen
        }
        if wasOpen { Glibc.close(number) }
    }

    /// Takes one datagram.
    ///
    /// - Parameter buffer: for `longest` bytes; of a longer datagram the rest is lost.
    /// - Returns: nothing when none has come.
    package func receive(into buffer: inout [UInt8]) throws(SystemError) -> DatagramArrival? {
        var arrival = clinux_arrival()
        let taken = try nonBlocking("recvmsg") {
            buffer.withUnsafeMutableBytes { clinux_receive_datagram(number, $0.baseAddress, $0.count, &arrival) }
        }
        guard let taken else { return nil }
        return DatagramArrival(arrival, count: min(taken, buffer.count), family: address.family)
    }

    /// Waits until one of them has something, or has failed.
    ///
    /// - Parameter milliseconds: at most.
    package static func wait(for sockets: [DatagramSocket], milliseconds: Int32) {
        var waiting = sockets.map { pollfd(fd: $0.number, events: Int16(POLLIN), revents: 0) }
        // An interrupted wait is a short one.
        _ = poll(&waiting, nfds_t(waiting.count), milliseconds)
    }

    /// Sends one datagram. What the kernel has no room for is lost, as any datagram can be.
    ///
    /// - Parameters:
    ///   - from: this machine's address to send it from; nothing to leave that to the kernel.
    ///   - interface: that this address belongs to; counts for link-local ones.
    ///   - hops: at most, 1 to 255.
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

/// What came with a datagram.
package struct DatagramArrival: Sendable {
    /// Where it says that it comes from.
    package let source: SocketAddress
    /// Where it was sent to; nothing where the kernel doesn't say.
    package let destination: IPAddress?
    /// This machine's address for that, of IPv4.
    package let local: IPAddress?
    /// The number of the interface that it came by; 0 where the kernel doesn't say.
    package let interface: UInt32
    /// How many more routers could have passed it on; nothing where the kernel doesn't say.
    package let hops: UInt8?
    /// The byte of the IP header (RFC 2474); nothing where the kernel doesn't say.
    package let trafficClass: UInt8?
    /// Bytes.
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

    /// Whether it was sent to several machines: by broadcast or multicast. So counts, too, what the kernel says nothing about.
    package var isForMany: Bool {
        guard let destination else { return true }
        // This machine's own address for a broadcast is another one (ip(7), IP_PKTINFO).
        return destination.isMulticast || destination == .limitedBroadcast || local.map { $0 != destination } ?? false
    }
}
