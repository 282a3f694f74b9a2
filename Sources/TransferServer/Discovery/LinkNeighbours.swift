import TransferIO
import TransferModel
import TransferSystem

/// Decides by this machine's interfaces whether a sender is on the same link. Used by one thread.
struct LinkNeighbours {
    /// How long interfaces are kept: addresses change seldom, and reading them costs as much as about a hundred datagrams.
    private static let age = Interval.seconds(5)

    private let look: () -> [NetworkInterface]
    private var seen: (interfaces: [NetworkInterface], at: MonotonicTime)?

    /// - Parameter look: reads the interfaces; returns an empty array if it cannot.
    init(_ look: @escaping () -> [NetworkInterface]) {
        self.look = look
    }

    mutating func interfaces(at now: MonotonicTime) -> [NetworkInterface] {
        if let seen, now - seen.at < Self.age { return seen.interfaces }
        let found = look()
        seen = (found, now)
        return found
    }

    /// Whether a sender is on the link of the interface that has received its datagram: its IPv4 address is in a network of that interface,
    /// or its IPv6 address is one that routers do not forward.
    mutating func include(_ source: IPAddress, on interface: UInt32, at now: MonotonicTime) -> Bool {
        if case .ipv6 = source { return source.isLinkLocal || source.isLoopback }
        return interfaces(at: now).contains { $0.index == interface && $0.contains(source) }
    }
}
