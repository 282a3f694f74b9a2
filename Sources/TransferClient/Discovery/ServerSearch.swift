import Glibc
import TransferIO
import TransferKeys
import TransferModel
import TransferProtocol
import TransferSystem

/// Searches for servers that can be discovered (`transfer serve --discover`), on this machine and on the networks that
/// it is connected to.
///
/// Answers are not authenticated; see `FoundServer`.
public struct ServerSearch: Sendable {
    /// The port that is asked, 1 to 65535.
    public var port = ServerAddress.defaultPort

    /// How long to wait for answers, in seconds, 0.1 to 60.
    public var patience = 1.0

    /// The servers to ask instead of all machines in the network; their folders are ignored. Unix sockets are not
    /// asked.
    public var places: [ServerAddress] = []

    /// The list with known keys; nil to know none.
    public var known: KnownServers? = .standard

    /// How often the question is sent, because datagrams can be lost.
    private static let rounds = 3

    /// Creates a search that asks the whole network and waits a second.
    public init() {}

    /// Searches for servers.
    ///
    /// - Returns: the servers that answered within `patience` seconds, sorted by name; at most 256.
    /// - Throws: `TransferFailure` if the question cannot be sent, or the list of known servers cannot be read.
    public func servers() async throws(TransferFailure) -> [FoundServer] {
        let pool = BlockingPool(name: "transfer-find", threads: 1)
        defer { pool.close() }
        let found = await pool.run { Result { () throws(TransferFailure) in try look() } }
        return try found.get()
    }

    /// Searches for servers. Blocks the thread for `patience` seconds.
    package func look() throws(TransferFailure) -> [FoundServer] {
        let known: [KnownServers.Entry]
        do throws(KnownServers.Fault) {
            known = try self.known?.entries() ?? []
        } catch {
            throw TransferFailure(reason: .untrusted, message: error.message)
        }
        let targets = try targets()
        var generator = SystemRandomNumberGenerator()
        let nonce = DiscoveryNonce.random(using: &generator)
        var collector = AnswerCollector(nonce)
        do throws(SystemError) {
            try ask(targets, DiscoveryDatagram.probe(with: nonce), &collector)
        } catch {
            throw TransferFailure(reason: .unreachable, message: "Cannot look for servers: \(error).")
        }
        return collector.servers(known)
    }

    private func targets() throws(TransferFailure) -> [SocketAddress] {
        guard !places.isEmpty else {
            return SearchTargets.network((try? NetworkInterface.all()) ?? [], port: port)
        }
        var targets: [SocketAddress] = []
        for place in places {
            guard case .internet(let host, _) = place.endpoint else { continue }
            do throws(ResolutionError) {
                targets += try place.endpoint.resolve()
            } catch {
                throw TransferFailure(
                    reason: .unreachable,
                    message: "Cannot ask \(host.escapedForDisplay) for servers: \(error.reason).")
            }
        }
        return targets
    }

    /// - Throws: if no machine can be asked.
    private func ask(
        _ targets: [SocketAddress], _ probe: [UInt8], _ collector: inout AnswerCollector
    ) throws(SystemError) {
        let sockets = try Self.sockets(Set(targets.map(\.family)))
        let begun = MonotonicTime.now
        let patience = min(max(patience, 0.1), 60)
        var buffer = [UInt8](repeating: 0, count: DatagramSocket.longest)
        for round in 1...Self.rounds {
            try Self.send(probe, to: targets, sockets)
            // The last question has as much time for answers as all earlier ones together.
            let share = Double(round) / Double(2 * (Self.rounds - 1))
            let end = begun + Interval.seconds(round < Self.rounds ? patience * share : patience)
            while Self.wait(for: sockets, until: end) {
                for socket in sockets {
                    while let arrival = try? socket.receive(into: &buffer), MonotonicTime.now < end {
                        collector.take(buffer[..<arrival.count], from: arrival.source)
                    }
                }
            }
        }
    }

    /// Creates a socket for each address family that this machine has.
    private static func sockets(_ families: Set<Int32>) throws(SystemError) -> [DatagramSocket] {
        var sockets: [DatagramSocket] = []
        var failure: SystemError?
        for address in [IPAddress.ipv4(0), .ipv6(high: 0, low: 0)] where families.contains(address.family) {
            do throws(SystemError) {
                sockets.append(
                    try DatagramSocket(SocketAddress(address, port: 0), broadcasts: address.family == AF_INET))
            } catch {
                failure = error
            }
        }
        if sockets.isEmpty, let failure { throw failure }
        return sockets
    }

    /// Sends the question. A target to which it cannot be sent is skipped.
    ///
    /// - Throws: if it cannot be sent to any target.
    private static func send(
        _ probe: [UInt8], to targets: [SocketAddress], _ sockets: [DatagramSocket]
    ) throws(SystemError) {
        var failure: SystemError?
        var isSent = false
        for target in targets {
            guard let socket = sockets.first(where: { $0.address.family == target.family }) else { continue }
            do throws(SystemError) {
                try socket.send(probe[...], to: target)
                isSent = true
            } catch {
                failure = error
            }
        }
        if !isSent, let failure { throw failure }
    }

    /// - Returns: false if the time is over.
    private static func wait(for sockets: [DatagramSocket], until end: MonotonicTime) -> Bool {
        let left = (end - .now).nanoseconds
        guard left > 0 else { return false }
        DatagramSocket.wait(for: sockets, milliseconds: Int32(clamping: left / 1_000_000 + 1))
        return true
    }
}
