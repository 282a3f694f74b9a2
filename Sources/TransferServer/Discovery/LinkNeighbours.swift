import TransferIO
import TransferModel
import TransferSystem

/// Knows this machine's interfaces, and so who is on the same link. Belongs to one thread.
struct LinkNeighbours {
    /// How long what was seen counts: addresses change seldom, and a look costs as much as some hundred datagrams.
    private static let age = Interval.seconds(5)

    private let look: () -> [NetworkInterface]
    private var seen: (interfaces: [NetworkInterface], at: MonotonicTime)?

    /// - Parameter look: finds out anew; nothing of what cannot be found out.
    init(_ look: @escaping () -> [NetworkInterface]) {
        self.look = look
    }

    mutating func interfaces(at now: MonotonicTime) -> [NetworkInterface] {
        if let seen, now - seen.at < Self.age { return seen.interfaces }
        let found = look()
        seen = (found, now)
        return found
    }

    /// Whether a sender is on the link of the interface by which something came from it: its IPv4 address is in a network of
    /// that interface, or its IPv6 address is one that no router passes on.
    mutating func include(_ source: IPAddress, on interface: UInt32, at now: MonotonicTime) -> Bool {
        if case .ipv6 = source { return source.isLinkLocal || source.isLoopback }
        return interfaces(at: now).contains { $0.index == interface && $0.contains(source) }
    }
}
